/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * children.h - our own children, while LWPs are counted in the kernel: nobody traces them, and
 * so they are waited for as by any parent.
 */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct children {
	bool caught;
	bool ended;	      /* the command has, and was waited for... */
	int wstatus;	      /* ...with this status */
	struct sigaction old; /* what our caller does with SIGCHLD */
};

/* From now on SIGCHLD is noticed; and no more. */
void children_catch(struct children *children);
void children_leave(const struct children *children);

/*
 * Signals that somebody looks for between two calls of children_sleep() come in the second one;
 * that of children does so also if our caller had blocked it.  `mask` is what was blocked.
 */
void children_hold(sigset_t *mask);
void children_sleep(struct pollfd *fds, nfds_t n, int ms, const sigset_t *mask);

/*
 * Looks after what SIGCHLD told of: children that stand still because they want to be traced,
 * and those that became ours (CLONE_PARENT, or we are the init of a container), for whom nobody
 * else waits.  The kernel tells of the oldest first: it is waited for even if it is the command.
 */
void children_look(struct children *children, pid_t command);

#endif /* CHILDREN_H */
