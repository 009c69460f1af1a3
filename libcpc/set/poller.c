/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * poller.c - the library's own thread, which waits for ring buffers of overflows to fill.
 *
 * It exists while there is a ring buffer.  It takes no signals and no lock but its own, and it is
 * not counted, because counters belong to the LWPs that bound them.
 */
#include "set.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock; /* of the list, which only holders of cpci_lock() change */
	LIST_HEAD(, cpci_watch) watches;
	int epoll, end; /* an eventfd: it becomes readable when the poller must end */
	pthread_t thread;
} poller = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Notifies the LWP of a watch, unless the watch was forgotten after epoll_wait(2) reported it.  If
 * too many signals are pending, the next records try again.
 */
static void notify(const void *reported)
{
	struct cpci_watch *watch;

	pthread_mutex_lock(&poller.lock);
	LIST_FOREACH(watch, &poller.watches, entry) {
		if (watch == reported && !atomic_exchange(&watch->noticing, true) &&
		    syscall(SYS_tgkill, getpid(), watch->lwp, cpci_notice_sig()) == -1)
			watch->noticing = false;
	}
	pthread_mutex_unlock(&poller.lock);
}

static void *poll_rings(void *arg)
{
	struct epoll_event event;

	(void)arg;
	for (;;) {
		if (epoll_wait(poller.epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.ptr == NULL)
			return NULL;
		notify(event.data.ptr);
	}
}

static int add_to_epoll(int fd, uint32_t events, void *arg)
{
	struct epoll_event event = {.events = events, .data.ptr = arg};

	return epoll_ctl(poller.epoll, EPOLL_CTL_ADD, fd, &event);
}

static int start_thread(void)
{
	int err = cpci_thread_create(&poller.thread, poll_rings, NULL);

	if (err == 0)
		pthread_setname_np(poller.thread, "cpc-poller");
	return err == 0 ? 0 : cpci_errno(err);
}

static void close_files(void)
{
	cpci_close(poller.end);
	cpci_close(poller.epoll);
}

static int start(void)
{
	poller.end = -1;
	poller.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (poller.epoll != -1)
		poller.end = eventfd(0, EFD_CLOEXEC);
	if (poller.end != -1 && add_to_epoll(poller.end, EPOLLIN, NULL) == 0 && start_thread() == 0)
		return 0;
	close_files();
	return -1;
}

static void stop(void)
{
	eventfd_write(poller.end, 1);
	pthread_join(poller.thread, NULL);
	close_files();
}

int cpci_poller_watch(struct cpci_watch *watch)
{
	int err;

	if (LIST_EMPTY(&poller.watches) && start() == -1)
		return -1;
	pthread_mutex_lock(&poller.lock);
	LIST_INSERT_HEAD(&poller.watches, watch, entry);
	pthread_mutex_unlock(&poller.lock);
	watch->live = true;
	/* Edge-triggered: the exit of an LWP would be reported for ever. */
	if (add_to_epoll(watch->fd, EPOLLIN | EPOLLET, watch) == 0)
		return 0;
	err = errno;
	cpci_poller_forget(watch);
	return cpci_errno(err);
}

void cpci_poller_forget(struct cpci_watch *watch)
{
	if (!watch->live)
		return;
	watch->live = false;
	epoll_ctl(poller.epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	pthread_mutex_lock(&poller.lock);
	LIST_REMOVE(watch, entry);
	pthread_mutex_unlock(&poller.lock);
	if (LIST_EMPTY(&poller.watches))
		stop();
}

void cpci_poller_forked(void)
{
	pthread_mutex_init(&poller.lock, NULL); /* the poller may have held it */
	if (!LIST_EMPTY(&poller.watches))
		close_files();
	LIST_INIT(&poller.watches);
}
