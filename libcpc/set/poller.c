/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * poller.c - the library's own thread, which waits for ring buffers of overflows to fill.
 *
 * It exists while there is a ring buffer.  It takes no locks and no signals, and it is not
 * counted, because counters belong to the LWPs that bound them.
 */
#include "set.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * A ring buffer, for the poller.  epoll(7) may still report one that has just been forgotten,
 * so a watch is not freed while the poller runs, but reused.
 */
enum { WATCH_FREE, WATCH_LIVE, WATCH_BUSY };
struct cpci_watch {
	atomic_uint state;
	int fd;
	void (*ready)(void *arg);
	void *arg;
	LIST_ENTRY(cpci_watch) entry; /* in the list of free watches */
};

/* cpci_lock() protects the fields that the poller thread does not use. */
static struct {
	unsigned nwatches;
	int epoll, end; /* an eventfd: it becomes readable when the poller must end */
	pthread_t thread;
	LIST_HEAD(, cpci_watch) unused;
} poller;

/* Unless the watch is being removed, calls its function. */
static void call_ready(struct cpci_watch *watch)
{
	unsigned live = WATCH_LIVE;

	if (!atomic_compare_exchange_strong(&watch->state, &live, WATCH_BUSY))
		return;
	watch->ready(watch->arg);
	watch->state = WATCH_LIVE;
}

static void *poll_rings(void *arg)
{
	struct epoll_event event[16];

	(void)arg;
	for (;;) {
		int n = epoll_wait(poller.epoll, event, sizeof(event) / sizeof(*event), -1);

		for (int i = 0; i < n; i++) {
			if (event[i].data.ptr == NULL)
				return NULL;
			call_ready(event[i].data.ptr);
		}
	}
}

static int add_to_epoll(int fd, uint32_t events, void *arg)
{
	struct epoll_event event = {.events = events, .data.ptr = arg};

	return epoll_ctl(poller.epoll, EPOLL_CTL_ADD, fd, &event);
}

static int start_thread(void)
{
	sigset_t old;
	int err;

	cpci_block_signals(&old);
	err = cpci_thread_create(&poller.thread, poll_rings, NULL);
	cpci_unblock_signals(&old);
	if (err == 0)
		pthread_setname_np(poller.thread, "cpc-poller");
	errno = err;
	return err == 0 ? 0 : -1;
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

static void free_unused(void)
{
	struct cpci_watch *watch;

	while ((watch = LIST_FIRST(&poller.unused)) != NULL) {
		LIST_REMOVE(watch, entry);
		free(watch);
	}
}

static void stop(void)
{
	eventfd_write(poller.end, 1);
	pthread_join(poller.thread, NULL);
	close_files();
	free_unused();
}

static struct cpci_watch *get_unused(void)
{
	struct cpci_watch *watch = LIST_FIRST(&poller.unused);

	if (watch == NULL)
		return calloc(1, sizeof(*watch));
	LIST_REMOVE(watch, entry);
	return watch;
}

struct cpci_watch *cpci_poller_watch(int fd, void (*ready)(void *arg), void *arg)
{
	struct cpci_watch *watch = get_unused();
	int err;

	if (watch == NULL)
		return NULL;
	if (poller.nwatches == 0 && start() == -1) {
		free(watch);
		return NULL;
	}
	poller.nwatches++;
	watch->fd = fd;
	watch->ready = ready;
	watch->arg = arg;
	watch->state = WATCH_LIVE;
	/* Edge-triggered: the exit of an LWP would be reported for ever. */
	if (add_to_epoll(fd, EPOLLIN | EPOLLET, watch) == 0)
		return watch;
	err = errno;
	cpci_poller_forget(watch);
	errno = err;
	return NULL;
}

void cpci_poller_forget(struct cpci_watch *watch)
{
	unsigned live = WATCH_LIVE;

	epoll_ctl(poller.epoll, EPOLL_CTL_DEL, watch->fd, NULL);
	while (!atomic_compare_exchange_weak(&watch->state, &live, WATCH_FREE)) {
		live = WATCH_LIVE;
		sched_yield();
	}
	LIST_INSERT_HEAD(&poller.unused, watch, entry);
	if (--poller.nwatches == 0)
		stop();
}

void cpci_poller_forked(void)
{
	if (poller.nwatches > 0)
		close_files();
	poller.nwatches = 0;
	free_unused();
}
