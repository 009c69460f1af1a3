/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* untraced.h - start processes without tracing them, for cputrack.  Not installed. */
#ifndef UNTRACED_H
#define UNTRACED_H

#include <libpctx.h>
#include <signal.h>

#pragma GCC visibility push(default)

/*
 * Starts a program as pctx_create(3CPC) does, but does not trace it.  The program gets the action
 * `chld` for SIGCHLD, for a caller that has changed its own; NULL: the caller's.  Returns the
 * process id once the exec has succeeded; or -1 and errno, as pctx_create() except EBUSY and EPERM.
 */
pid_t pctx_spawn(const char *filename, char *const *argv, const struct sigaction *chld,
		 pctx_errfn_t *errfn);

/*
 * Waits for the exit of such a program, and stores its wait(2) status.  If the program has made us
 * its tracer (PTRACE_TRACEME), it is detached when it stops.  With `block` 0 the call does not
 * wait: it only detaches a program that is stopped now.  Returns 0, or -1 and errno: ECHILD.
 */
int pctx_spawn_wait(pid_t pid, int *status, int block);

/*
 * Can a process be tracked at all?  Returns 0; or reports to `errfn` why not, and returns -1 with
 * errno: ESRCH, EINVAL or ENOENT, as pctx_capture(3CPC).
 */
int pctx_exists(pid_t pid, pctx_errfn_t *errfn);

#pragma GCC visibility pop

#endif /* UNTRACED_H */
