/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * control.h - attach, wait, resume, detach.  Of the caller's functions, these files call only
 * error functions, `ending` handlers (report.c) and answer functions (request.c).
 */
#ifndef PCTXI_CONTROL_H
#define PCTXI_CONTROL_H

#include "tracee.h"

#include <sys/ptrace.h>

/* resume.c - resumes or detaches LWPs */

/* Options of LWPs under control: stops for the whole life cycle except the exit. */
#define PCTXI_TRACE_FORKS ((unsigned long)(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK))
#define PCTXI_TRACE_OPTIONS                                                                  \
	((unsigned long)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) | \
	 PCTXI_TRACE_FORKS)

/* Does a handler need to know the children of a process? */
bool pctxi_sees_forks(const struct pctx *ctx);
/* Resumes the parent that waits until its child is detached; `parent` 0: none. */
void pctxi_resume_parent(struct pctxi_loop *loop, pid_t parent);
/* Resumes a stopped LWP with the signal `sig`; detaches it if its process is leaving. */
void pctxi_resume(struct pctxi_lwp *lwp, int sig);
/* Starts detaching: all LWPs are interrupted, and detached when they stop. */
void pctxi_detach(struct pctx *ctx);
/* The same, but without interrupting the LWPs that run. */
void pctxi_detach_stopped(struct pctx *ctx);
/* Detaches an LWP that has no process yet, and frees it. */
void pctxi_drop(struct pctxi_loop *loop, struct pctxi_lwp *lwp);
/*
 * A thread that is not under control stopped with `status`.  Detaches it if it made itself
 * our tracee by PTRACE_TRACEME; false: it did not.
 */
bool pctxi_detach_stranger(pid_t tid, int status);

/* report.c - reports of waitpid(2) */

/* Only reports of this thread's children and tracees: not of other threads' children. */
#define PCTXI_WAIT_FLAGS (__WALL | __WNOTHREAD)

/* Takes the next report: 1; 0: none now (WNOHANG); -1: no task can report any more. */
int pctxi_report_next(struct pctxi_loop *loop, struct pctxi_report *report, int flags);
/* Is there a report? */
bool pctxi_report_pending(void);
/* Moves pending reports into the loop, as memory permits.  Also in the handler of seize.c. */
void pctxi_reports_keep(struct pctxi_loop *loop);

/* Waits for a report, and keeps all pending ones.  False: no task can report, or no memory. */
bool pctxi_reports_wait(struct pctxi_loop *loop);

/* The number of kept reports up to the first exit of an LWP with this id; 0: none is kept. */
size_t pctxi_reports_until_death(const struct pctxi_loop *loop, pid_t tid);

/* Drops the reports of LWP `tid` among the first `first` kept reports. */
void pctxi_reports_drop(struct pctxi_loop *loop, pid_t tid, size_t first);

/* spawn.c - starts a program, seized and stopped right after its exec */

/* Returns the process, or -1 and errno, after calling `errfn`. */
pid_t pctxi_spawn(pctx_errfn_t *errfn, const char *filename, char *const *argv,
		  const struct sigaction *chld);

/* seize.c - seizes all LWPs of a running process */

/* Seizes ctx->pid: 0, or -1 and errno; EAGAIN: it executes programs without end. */
int pctxi_seize_all(struct pctx *ctx);
/* Finds an untraced LWP, created with CLONE_UNTRACED, of a process under control; 0: none. */
pid_t pctxi_find_untraced(struct pctx *ctx);

/* attach.c - the same with error messages */

/* 0, or -1 and errno, after calling the error function. */
int pctxi_attach(struct pctx *ctx);

/* early.c - LWPs that stop before their creator's stop */

/* How long such an LWP waits before its first check. */
#define PCTXI_EARLY_NS (10 * PCTXI_MSEC)

enum pctxi_early_verdict {
	PCTXI_EARLY_WAITS,   /* its creator can still report it */
	PCTXI_EARLY_THREAD,  /* it is a thread of `*ctx` */
	PCTXI_EARLY_PROCESS, /* `*ctx` created it; NULL: the process that exited last did */
	PCTXI_EARLY_FOREIGN, /* no process under control can have created it */
	PCTXI_EARLY_UNKNOWN, /* unknown, because there is no /proc */
};

/* Decides what to do with an LWP that is due for a check at `now_ns`. */
enum pctxi_early_verdict pctxi_early_check(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
					   int64_t now_ns, struct pctx **ctx);
/*
 * Did `creator` create process `lwp`?  Called when `creator` exits (`ends`) or executes: then it
 * can no longer report earlier births.
 */
bool pctxi_early_created_by(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
			    const struct pctx *creator, bool ends);
/* Does an early LWP wait in its first stop? */
bool pctxi_early_any(const struct pctxi_loop *loop);
/* Is there an LWP under control that has not reported yet? */
bool pctxi_early_to_come(struct pctxi_loop *loop);

/* solib.c - the libraries of a program, as its dynamic linker maps them */

enum pctxi_solib {
	PCTXI_SOLIB_NOTHING, /* nothing new */
	PCTXI_SOLIB_MAPPED,  /* one more was mapped */
	PCTXI_SOLIB_DONE,    /* all are mapped */
};

/* What does the system call mean at which an LWP is stopped, while libraries are watched? */
enum pctxi_solib pctxi_solib_stop(struct pctxi_lwp *lwp);

/* request.c - pctx_request() */

/* If the signal that an LWP is stopped with is a request: answers it and returns true. */
bool pctxi_request_answer(struct pctxi_lwp *lwp, int sig);

#endif /* PCTXI_CONTROL_H */
