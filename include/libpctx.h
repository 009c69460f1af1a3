/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * libpctx.h - follow a process, its LWPs and its children through their life.
 *
 * A handle stands for one process.  The caller says which events of its life
 * it wants to hear of (pctx_set_events) and hands the thread over to pctx_run,
 * which calls the handlers as things happen.  The process is controlled with
 * ptrace(2): all calls on a handle belong to the thread that made it, and that
 * thread's other children are reaped by pctx_run.  A thread has one handle at a
 * time; pctx_add() takes further processes into it.
 *
 * Names and types follow pctx_capture(3CPC), pctx_set_events(3CPC) and
 * pctx_run(3CPC) of Solaris.  What Solaris does not have is marked Extension.
 */
#ifndef LIBPCTX_H
#define LIBPCTX_H

#include <cpc_types.h>
#include <stdarg.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pctx pctx_t;

/*
 * Receives what went wrong: the function's name ("create", "capture", "run",
 * "set_events"), a printf format without newline, and its arguments.  NULL in
 * its place writes "libpctx: pctx_<fn>: <text>" to stderr.
 */
typedef void(pctx_errfn_t)(const char *fn, const char *fmt, va_list ap);

/*
 * Starts `filename` with `argv`, and stops it before the first instruction of the
 * new program.  PATH is searched as execvp(3) does, but a file that is no program
 * is not given to a shell.  The process runs on, untraced, when the calling thread ends.  `arg`
 * goes to every handler; `verbose` is taken for the sake of Solaris programs, and changes nothing.
 *
 * Returns the handle, or NULL and errno: ENOENT, EACCES, ENOEXEC and the other
 * errors of execve(2); EAGAIN, ENOMEM (no process could be made); EBUSY (this
 * thread has another handle); EPERM (ptrace(2) is not allowed here).
 */
pctx_t *pctx_create(const char *filename, char *const *argv, void *arg, int verbose,
		    pctx_errfn_t *errfn);

struct sigaction;

/*
 * Extension.  Starts a program in the same way, which then runs without anybody's control: for
 * those who watch it by other means.  It does with SIGCHLD what `chld` says, for a caller that
 * has changed that for itself; NULL: the same as the caller.  Returns its process id once its
 * exec has succeeded, to be waited for; or -1 and errno, as pctx_create() but for EBUSY and
 * EPERM.
 */
pid_t pctx_spawn(const char *filename, char *const *argv, const struct sigaction *chld,
		 pctx_errfn_t *errfn);

/*
 * Extension.  Waits for the end of such a program, and stores its wait(2) status.  If it has
 * itself traced by its parent (PTRACE_TRACEME), it is let go when it stops; with `block` 0 that
 * alone is done, if it stands still now.  Returns 0, or -1 and errno: ECHILD.
 */
int pctx_spawn_wait(pid_t pid, int *status, int block);

/*
 * Extension.  Tells `errfn` why process `pid` could not be followed by any means.  Returns 0 if
 * nothing speaks against it, or -1 and errno: ESRCH, EINVAL or ENOENT, as pctx_capture().
 */
int pctx_exists(pid_t pid, pctx_errfn_t *errfn);

/*
 * Takes control of all LWPs of a running process, without stopping them.  It
 * runs on untouched when the calling thread ends.
 *
 * Returns the handle, or NULL and errno: ESRCH (no such process, or a zombie),
 * EPERM (somebody else's, or ptrace(2) is restricted), EBUSY (already traced, also
 * by the caller; stopped and then frozen; or this thread has another handle), EINVAL
 * (the caller itself, a kernel thread, or no process id), ENOENT (no /proc of this
 * PID namespace), ENOMEM.
 */
pctx_t *pctx_capture(pid_t pid, void *arg, int verbose, pctx_errfn_t *errfn);

/*
 * Extension.  A handle without a process, for pctx_add().  Its handlers and its `arg` are
 * those of the processes that are added later.
 *
 * Returns the handle, or NULL and errno: EBUSY (this thread has another handle), ENOMEM.
 */
pctx_t *pctx_open(void *arg, pctx_errfn_t *errfn);

/*
 * Extension.  Takes control of one more running process, as pctx_capture() does, with the
 * handlers that `pctx` has by now; pctx_run() on `pctx` runs them all.  A process that was
 * added before stays as it is.
 *
 * Returns its handle, which is not to be released and lives until its exit handler returns;
 * or NULL and the errno of pctx_capture(): the others are still there.  EINVAL, too:
 * `pctx` is running, or belongs to another thread.
 */
pctx_t *pctx_add(pctx_t *pctx, pid_t pid);

/*
 * Extension.  The same for a process that was found in /proc and not added before: if it has
 * ended meanwhile, that is not reported.  NULL and ESRCH then.
 */
pctx_t *pctx_add_found(pctx_t *pctx, pid_t pid);

/*
 * The handlers.  `pid` and `lwp` tell where the event happened; LWPs of a
 * process count from 1 in the order of their creation, and again after an exec.
 * A handler that returns non-zero ends the control of its process, which runs
 * on untouched.
 *
 *  exec        the process runs a new program, whose command line is `cmd`
 *  fork        LWP `lwp` of `pid` made the process `child`; `pctx` is the
 *              child's handle: call pctx_run() on it here to follow the child,
 *              or it is let go.  It lives until the child's exit handler returns.
 *  exit        the process ended with the wait(2) status `status`
 *  lwp_create  a thread was born; its init_lwp came first
 *  init_lwp    an LWP came under control and has not run yet (capture: it runs)
 *  fini_lwp    an LWP runs no more: it died or its program was replaced.  Its
 *              last values can still be sampled
 *  lwp_exit    a thread died; its fini_lwp came first
 */
typedef int pctx_sysc_execfn_t(pctx_t *pctx, pid_t pid, id_t lwp, char *cmd, void *arg);
typedef void pctx_sysc_forkfn_t(pctx_t *pctx, pid_t pid, id_t lwp, pid_t child, void *arg);
typedef void pctx_sysc_exitfn_t(pctx_t *pctx, pid_t pid, id_t lwp, int status, void *arg);
typedef int pctx_sysc_lwp_createfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);
typedef int pctx_init_lwpfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);
typedef int pctx_fini_lwpfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);
typedef int pctx_sysc_lwp_exitfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);

/*
 * Extension.  Called with the handle given to pctx_run when there is nothing to do for
 * now: the time to write what was put off.  Returns after how many milliseconds to call
 * it again if it still is so, or 0: not before something has happened.
 */
typedef uint_t pctx_idlefn_t(pctx_t *pctx, void *arg);

/*
 * Extension.  The dynamic linker has mapped a library, none of whose code has run.  With
 * `done` not 0: all libraries that the program starts with are there; the last call but
 * for PCTX_LIBRARIES_ALL.  Only in processes for which pctx_watch_libraries asked for it.
 */
typedef int pctx_mappedfn_t(pctx_t *pctx, pid_t pid, id_t lwp, int done, void *arg);

/*
 * Extension.  Out of memory, LWP `tid` (the kernel's number) of process `pid` was let go
 * uncontrolled; `errfn` was told the reason.  `pctx` is the handle of `pid`; or, when that
 * is a new process, of the one that made it, as far as that is known.
 */
typedef void pctx_lostfn_t(pctx_t *pctx, pid_t pid, pid_t tid, void *arg);

/*
 * Extension.  LWP `lwp` has ended, and what is left of it is about to be waited for: the last
 * moment at which /proc tells of it.  Its fini_lwp, lwp_exit and exit come later.  LWPs that an
 * exec or the end of control removes are not told.
 */
typedef void pctx_endingfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);

/*
 * Extension.  Without a fork handler: LWP `lwp` of the process of `pctx` created process `child`,
 * which was let go before its parent went on.
 */
typedef void pctx_childfn_t(pctx_t *pctx, pid_t pid, id_t lwp, pid_t child, void *arg);

typedef enum {
	PCTX_NULL_EVENT = 0,
	PCTX_SYSC_EXEC_EVENT,
	PCTX_SYSC_FORK_EVENT,
	PCTX_SYSC_EXIT_EVENT,
	PCTX_SYSC_LWP_CREATE_EVENT,
	PCTX_INIT_LWP_EVENT,
	PCTX_FINI_LWP_EVENT,
	PCTX_SYSC_LWP_EXIT_EVENT,
	PCTX_IDLE_EVENT,   /* Extension */
	PCTX_MAPPED_EVENT, /* Extension */
	PCTX_LOST_EVENT,   /* Extension */
	PCTX_ENDING_EVENT, /* Extension */
	PCTX_CHILD_EVENT   /* Extension */
} pctx_event_t;

/*
 * Sets handlers: pairs of an event and its function, ended by PCTX_NULL_EVENT.
 * Events not named keep what they had.  Without an exec handler the control
 * ends at the first exec; without a fork handler children are let go.
 * Children inherit the handlers of their parent.
 *
 * Returns 0, or -1 and errno: EINVAL (unknown event).
 */
int pctx_set_events(pctx_t *pctx, ...);

/*
 * Runs the process and calls the handlers until it and all children that were
 * followed have ended, `nsamples` samples are taken (0: no limit) or
 * pctx_terminate() is called.  Every `msec` milliseconds `tick` is called for
 * every LWP, none of which is stopped for it; 0 means never.  A tick that comes
 * too late is left out, and the schedule does not drift.
 *
 * On the handle that a fork handler was given, called in that handler, it takes
 * the child into the running loop, on the loop's schedule, and returns at once.
 *
 * SIGCHLD is blocked in the calling thread meanwhile; a program with several
 * threads must block it in the others too.  While there are handles, it has its
 * default action, or a handler of the library: the program's own is not called.
 *
 * Returns 0, or -1 and errno: EINVAL (a handle of another thread, or already
 * run), ECHILD (control was lost).  Out of memory, a child or thread is told to
 * `errfn` and by PCTX_LOST_EVENT, and let go.
 */
int pctx_run(pctx_t *pctx, uint_t msec, uint_t nsamples,
	     int (*tick)(pctx_t *pctx, pid_t pid, id_t lwp, void *arg));

/* Makes pctx_run return soon.  May be called in handlers and signal handlers. */
void pctx_terminate(pctx_t *pctx);

/*
 * Extension.  Ends the control of a process made by pctx_create and of all its
 * followed children, waits until that process has ended and stores its wait(2)
 * status.  Returns 0, or -1 and errno: ECHILD (not made by pctx_create).
 */
int pctx_wait(pctx_t *pctx, int *status);

/*
 * Ends the control of the process and its followed children, all of which run
 * on as if they had never been controlled, and frees the handle.  Not for the
 * handles given to fork handlers.
 */
void pctx_release(pctx_t *pctx);

/*
 * Extension.  Ends the control and frees the handle without waiting, for a caller that is
 * about to end: pctx_release() waits for each LWP to stop, which one in an uninterruptible
 * sleep does late.  LWPs that are stopped are let go now, the others by the kernel when the
 * calling thread ends; one that gets a signal before waits until then.  Such processes
 * cannot be captured again by this thread.  A process of pctx_create() is killed then.
 */
void pctx_abandon(pctx_t *pctx);

/* Extension.  The process that the handle stands for; 0: that of pctx_open(). */
pid_t pctx_pid(const pctx_t *pctx);

/*
 * Extension.  Called in the init_lwp handler of a new program: asks for mapped events
 * until its libraries are there (PCTX_LIBRARIES_START), or also of what it maps later, by
 * dlopen(3) or itself (PCTX_LIBRARIES_ALL).  The process also stops at system calls until
 * then, or until PCTX_LIBRARIES_NONE takes it back, also in a mapped or a tick handler.
 * Returns which will come: PCTX_LIBRARIES_START, an event with `done`, and if asked for later
 * ones; PCTX_LIBRARIES_ALL, only these; PCTX_LIBRARIES_NONE, none.  Those that the program
 * starts with do not come when they are all there, or this cannot be known, since the program
 * has no dynamic linker or is of another word size; and none come of a process that is not
 * stopped.  -1 with errno: ESRCH, it was killed; or its auxiliary vector or its dynamic
 * section cannot be read.
 */
enum { PCTX_LIBRARIES_NONE, PCTX_LIBRARIES_START, PCTX_LIBRARIES_ALL };
int pctx_watch_libraries(pctx_t *pctx, int which);

/* Extension.  Non-zero while the process is stopped by job control. */
int pctx_stopped(const pctx_t *pctx);

/*
 * Extension.  The kernel's thread id of LWP `lwp`; in the fini_lwp, lwp_exit
 * and exit handlers also of LWPs that are gone.  -1 and errno: ESRCH.
 */
pid_t pctx_lwp_tid(const pctx_t *pctx, id_t lwp);

/*
 * Extension.  In a fork handler, the handle of the process that made the child, which knows
 * the LWP that the handler is called for (pctx_lwp_tid(), pctx_lwp_data()); NULL if it has
 * ended by now, and otherwise.
 */
pctx_t *pctx_parent(const pctx_t *pctx);

/*
 * Extension.  Pointers of the caller's, NULL until they are set, which the library only
 * keeps: one for each process, also through its execs, and one for each LWP.  They can be
 * asked for in all handlers, and of LWPs that are gone as pctx_lwp_tid() can; for the LWP
 * that a handler is called for this takes no search.
 *
 * pctx_lwp_set_data() returns 0, or -1 and errno: ESRCH.  pctx_lwp_data() returns NULL and
 * errno ESRCH when there is no such LWP.
 */
void pctx_set_data(pctx_t *pctx, void *data);
void *pctx_data(const pctx_t *pctx);
int pctx_lwp_set_data(pctx_t *pctx, id_t lwp, void *data);
void *pctx_lwp_data(const pctx_t *pctx, id_t lwp);

/*
 * Extension.  Called when an LWP asks for `op` by pctx_request(), and waits: returns 0, or
 * an errno.
 */
typedef int pctx_answerfn_t(int op, void *arg);

/*
 * Extension.  Sets who answers the requests of an LWP, in place of who did; with `answer`
 * NULL, nobody does.  `release`, if not NULL, is called once with `arg` when another
 * takes its place or the LWP is no longer controlled: after the handlers of its end or
 * its exec, when it is let go, or when the handle is freed.
 *
 * Returns 0, or -1 and errno: ESRCH (no such LWP; nothing will be released).
 */
int pctx_lwp_answer(pctx_t *pctx, id_t lwp, pctx_answerfn_t *answer, void *arg,
		    void (*release)(void *arg));

/*
 * Extension.  For the program that is controlled: the calling LWP asks whoever answers it
 * (pctx_lwp_answer) for `op`, and goes on when it is answered.  What `op` means is theirs
 * to agree on.  The program's signals stay as they are.
 *
 * Where nobody traces it, somebody who watches it in the kernel can take the request: it is
 * a real-time signal that the LWP sends to itself, with PCTX_REQUEST_CODE as si_code and `op`
 * as sival_int.  A signal of the same number and SI_KERNEL, sent in that moment, is the answer.
 *
 * Returns 0, or -1 and errno: ESRCH (nobody controls it, or nobody answers), or what the
 * answer was.  Safe in signal handlers.
 */
int pctx_request(int op);
#define PCTX_REQUEST_CODE 0x70637478

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* LIBPCTX_H */
