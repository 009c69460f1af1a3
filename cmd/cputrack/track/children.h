/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * children.h - wait for our own children, which are not traced while LWPs are counted in the
 * kernel.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct children {
	bool caught;	      /* SIGCHLD has a handler of ours */
	bool ended;	      /* the command has ended... */
	int wstatus;	      /* ...with this status */
	struct sigaction old; /* our caller's action for SIGCHLD */
};

/* Installs and removes the handler of SIGCHLD. */
void children_catch(struct children *children);
void children_leave(const struct children *children);

/*
 * Blocks SIGCHLD and SIGTSTP, except in children_sleep().  So a signal that arrives between a check
 * and the sleep ends the sleep.  `mask`: the signals that were blocked before.  `ms` 0: no limit.
 * children_sleep() returns -1 and errno if no sleep is possible.
 */
void children_hold(sigset_t *mask);
int children_sleep(struct pollfd *fds, nfds_t n, unsigned ms, const sigset_t *mask);

/*
 * After a SIGCHLD: detaches from children that stopped because they made us their tracer, and waits
 * for all children that ended.  Other processes may have created some (CLONE_PARENT, or we are the
 * init of a container).  waitid(2) returns the oldest first, so this also waits for the command.
 */
void children_look(struct children *children, pid_t command);

#endif /* CHILDREN_H */
