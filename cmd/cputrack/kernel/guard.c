/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * guard.c - a process that ends what this one has started, should this one be killed.
 */
#include "guard.h"

#include "../../common/util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 10000000000LL /* for those that are in the middle of a system call */
#define PAUSE_NS 1000000L

/* Who has ended is not killed: its id may be another's. */
static void forget_ended(struct lwps *lwps)
{
	struct lwps_record record;

	while (lwps_next(lwps, &record)) {
		if (record.slot != LWPS_NONE &&
		    (record.event == LWPS_EXIT || record.event == LWPS_EXEC))
			lwps_release(lwps, record.slot);
	}
}

/* If there is still an LWP of it in `slot`, once its id cannot become another's. */
static void kill_process(struct lwps *lwps, unsigned slot, pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd == -1)
		return;
	forget_ended(lwps);
	if (slot == LWPS_NONE || lwps_process(lwps, slot) == pid)
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
}

/* `killed`: the process of each slot that was dealt with. */
static void kill_all(struct lwps *lwps, pid_t *killed)
{
	const unsigned n = lwps_slots(lwps);

	forget_ended(lwps);
	for (unsigned slot = 0; slot < n; slot++) {
		pid_t pid = lwps_process(lwps, slot);

		if (pid != 0 && pid != killed[slot])
			kill_process(lwps, slot, pid);
		killed[slot] = pid;
	}
}

/* Those that are being killed may be making others. */
static void end_all(struct lwps *lwps)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	pid_t awaited = lwps_awaited(lwps), *killed = xcalloc(lwps_slots(lwps), sizeof(*killed));
	int64_t end_ns = now_ns() + PATIENCE_NS;

	if (awaited != 0)
		kill_process(lwps, LWPS_NONE, awaited);
	for (;;) {
		kill_all(lwps, killed);
		if (lwps_live(lwps) == 0 || now_ns() > end_ns)
			return;
		nanosleep(&pause, NULL);
	}
}

static _Noreturn void guard_over(struct lwps *lwps, int alive)
{
	char byte;

	/* Neither a name nor a terminal's signals are to reach both. */
	prctl(PR_SET_NAME, "cpc-guard");
	setsid();
	lwps_keep(lwps, alive); /* who waits for the end of our output waits for one process */
	if (read(alive, &byte, 1) != 1)
		end_all(lwps);
	_exit(0);
}

int guard_start(struct guard *guard, struct lwps *lwps)
{
	sigset_t all, mask;
	int fds[2], error;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -1;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &mask);
	guard->pid = fork();
	if (guard->pid == 0) {
		close(fds[1]);
		guard_over(lwps, fds[0]);
	}
	error = errno;
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	close(fds[0]);
	guard->alive = fds[1];
	if (guard->pid != -1)
		return 0;
	close(fds[1]);
	guard->pid = 0;
	errno = error;
	return -1;
}

void guard_dismiss(struct guard *guard)
{
	if (guard->pid == 0 || guard->alive == -1)
		return;
	while (write(guard->alive, "", 1) == -1 && errno == EINTR)
		;
	close(guard->alive);
	guard->alive = -1;
}

void guard_end(struct guard *guard)
{
	if (guard->pid == 0)
		return;
	guard_dismiss(guard);
	while (waitpid(guard->pid, NULL, 0) == -1 && errno == EINTR)
		;
	guard->pid = 0;
}
