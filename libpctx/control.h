/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * control.h - the mechanics of control: begin it, wait, resume, end it.  Of these files
 * none calls a handler; those that do are above.
 */
#ifndef PCTXI_CONTROL_H
#define PCTXI_CONTROL_H

#include "tracee.h"

#include <sys/ptrace.h>

/*
 * resume.c - LWPs go on, or are let go
 */

/* Options of LWPs under control: the stops of the life cycle, but none at exit. */
#define PCTXI_TRACE_FORKS ((unsigned long)(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK))
#define PCTXI_TRACE_OPTIONS                                                                  \
	((unsigned long)(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) | \
	 PCTXI_TRACE_FORKS)

/* Does a handler ask for the children of a process? */
bool pctxi_sees_forks(const struct pctx *ctx);
/* The parent that waits for a child of ours to be let go goes on; `parent` 0: there is none. */
void pctxi_resume_parent(struct pctxi_loop *loop, pid_t parent);
/* Lets a stopped LWP go on with the signal `sig`; of a leaving process, it is detached. */
void pctxi_resume(struct pctxi_lwp *lwp, int sig);
/* Begins the end of control: all LWPs are interrupted, and are detached as they stop. */
void pctxi_leave(struct pctx *ctx);
/* The same, but LWPs that run are not interrupted. */
void pctxi_leave_running(struct pctx *ctx);
/* Detaches an LWP that has no process yet, and frees it. */
void pctxi_drop(struct pctxi_loop *loop, struct pctxi_lwp *lwp);
/*
 * A thread that is no LWP of ours stopped with `status`.  Detaches it if it is one that
 * made itself our tracee by PTRACE_TRACEME; false: it is not.
 */
bool pctxi_disown(pid_t tid, int status);

/*
 * report.c - what waitpid(2) tells
 */

/* Only what this thread made or controls: other threads' children are theirs. */
#define PCTXI_WAIT_FLAGS (__WALL | __WNOTHREAD)

/* Takes the next report: 1; 0: there is none now (WNOHANG); -1: nobody can report. */
int pctxi_report_next(struct pctxi_loop *loop, struct pctxi_report *report, int flags);
/* Is there a report? */
bool pctxi_report_pending(void);
/*
 * Takes all reports that there are, or that there is memory for, into the loop.  Also in
 * the signal handler of seize.c.
 */
void pctxi_reports_keep(struct pctxi_loop *loop);

/* Waits for a report, and keeps all that there are.  False: nobody can report, or no memory. */
bool pctxi_reports_wait(struct pctxi_loop *loop);

/* Forgets what was kept of an LWP that is there no more. */
void pctxi_reports_drop(struct pctxi_loop *loop, pid_t tid);

/*
 * spawn.c - start a program, seized and stopped right after its exec
 */

/* The process, or -1 and errno, and `errfn` was told. */
pid_t pctxi_spawn(pctx_errfn_t *errfn, const char *filename, char *const *argv,
		  const struct sigaction *chld);

/*
 * seize.c - take all LWPs of a running process
 */

/* Of ctx->pid: 0, or -1 and errno; EAGAIN: it executes without end. */
int pctxi_seize_all(struct pctx *ctx);

/*
 * attach.c - the same, or tell why not
 */

/* 0, or -1 and errno, and the error handler was told. */
int pctxi_attach(struct pctx *ctx);

/*
 * An untraced LWP of a process under control, created with CLONE_UNTRACED;
 * 0: there is none.
 */
pid_t pctxi_find_untraced(struct pctx *ctx);

/*
 * early.c - LWPs that report before their maker named them
 */

/* How long until such an LWP is looked at first. */
#define PCTXI_EARLY_NS (10 * PCTXI_MSEC)

enum pctxi_early_verdict {
	PCTXI_EARLY_WAITS,   /* its maker can still name it */
	PCTXI_EARLY_THREAD,  /* a thread of `*ctx` */
	PCTXI_EARLY_PROCESS, /* made by `*ctx`; NULL: by the process that ended last */
	PCTXI_EARLY_FOREIGN, /* no process of ours can have made it */
	PCTXI_EARLY_UNKNOWN, /* without /proc that cannot be known */
};

/* Of an LWP that is due: what is to be done with it, at `now_ns`. */
enum pctxi_early_verdict pctxi_early_judge(struct pctxi_loop *loop, struct pctxi_lwp *lwp,
					   int64_t now_ns, struct pctx **ctx);
/*
 * When `maker` ends, or executes a program, so that its LWPs name nobody any more: did it
 * make `lwp`, a process?
 */
bool pctxi_early_made_by(struct pctxi_loop *loop, struct pctxi_lwp *lwp, const struct pctx *maker,
			 bool ends);
/* Does an early LWP wait in its first stop? */
bool pctxi_early_any(const struct pctxi_loop *loop);
/* Is there an LWP under control that has not reported yet? */
bool pctxi_early_to_come(struct pctxi_loop *loop);

/*
 * solib.c - the libraries of a program, as its dynamic linker maps them
 */

enum pctxi_solib {
	PCTXI_SOLIB_NOTHING, /* nothing new */
	PCTXI_SOLIB_MAPPED,  /* one more was mapped */
	PCTXI_SOLIB_DONE,    /* all are there */
};

/* What the system call meant that an LWP is stopped at, while libraries are watched for. */
enum pctxi_solib pctxi_solib_stop(struct pctxi_lwp *lwp);

/*
 * request.c - pctx_request()
 */

/* Is the signal that an LWP is stopped with a request?  Then it is answered now. */
bool pctxi_request_answer(struct pctxi_lwp *lwp, int sig);

#endif /* PCTXI_CONTROL_H */
