/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * untraced.h - start processes without tracing them, for cputrack.  Not installed.
 */
#ifndef UNTRACED_H
#define UNTRACED_H

#include <libpctx.h>
#include <signal.h>

#pragma GCC visibility push(default)

/*
 * Starts a program as pctx_create(3CPC) does, but does not trace it.  SIGCHLD has the action `chld`
 * there, for a caller that has changed its own; NULL: the caller's.  Returns the process id once
 * the exec has succeeded; or -1 and errno, as pctx_create() but for EBUSY and EPERM.
 */
pid_t pctx_spawn(const char *filename, char *const *argv, const struct sigaction *chld,
		 pctx_errfn_t *errfn);

/*
 * Waits for the end of such a program, and stores its wait(2) status.  A program that has made us
 * its tracer (PTRACE_TRACEME) is detached when it stops; with `block` 0 this is all that is done,
 * and only if it is stopped now.  Returns 0, or -1 and errno: ECHILD.
 */
int pctx_spawn_wait(pid_t pid, int *status, int block);

/*
 * Can a process be tracked at all?  Returns 0; or reports to `errfn` why not, and returns -1 with
 * errno: ESRCH, EINVAL or ENOENT, as pctx_capture(3CPC).
 */
int pctx_exists(pid_t pid, pctx_errfn_t *errfn);

#pragma GCC visibility pop

#endif /* UNTRACED_H */
