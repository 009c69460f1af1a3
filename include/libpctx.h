/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * libpctx.h - follow a process, its LWPs and its children from start to exit.
 *
 * A handle stands for one process.  The caller sets handlers for events of that process
 * (pctx_set_events) and calls pctx_run, which calls the handlers as events happen.  The
 * process is controlled with ptrace(2): all calls on a handle must come from the thread that
 * made it, and pctx_run also reaps the other children of that thread.  A thread has one
 * handle at a time; pctx_add() adds further processes to it.
 *
 * Names and types follow pctx_capture(3CPC), pctx_set_events(3CPC) and pctx_run(3CPC) of
 * Solaris.  What Solaris does not have is marked Extension.
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
 * Receives error messages: the function's name ("create", "capture", "run", "set_events"), a
 * printf format, and its arguments.  The message ends in a newline.  If it is NULL, the library
 * writes "libpctx: pctx_<fn>: <text>" to stderr.
 */
typedef void(pctx_errfn_t)(const char *fn, const char *fmt, va_list ap);

/*
 * Starts `filename` with `argv`, and stops it before the first instruction of the new
 * program.  PATH is searched as execvp(3) does, but a file in an unknown format is not run by
 * a shell.  When the calling thread exits, the process continues untraced.  Every handler
 * gets `arg`.  `verbose` exists for Solaris programs and has no effect.
 *
 * Returns the handle, or NULL and errno: ENOENT, EACCES, ENOEXEC and the other errors of
 * execve(2); EAGAIN, ENOMEM (fork failed); EBUSY (this thread has another handle); EPERM
 * (ptrace(2) is not permitted).
 */
pctx_t *pctx_create(const char *filename, char *const *argv, void *arg, int verbose,
		    pctx_errfn_t *errfn);

/*
 * Takes control of all LWPs of a running process, without stopping them.  The process
 * continues untraced when the calling thread exits.
 *
 * Returns the handle, or NULL and errno: ESRCH (no such process, or a zombie), EPERM (another
 * user's process, or ptrace(2) is restricted), EBUSY (already traced, also by the caller;
 * stopped and then frozen; or this thread has another handle), EINVAL (the caller itself, a
 * kernel thread, or not a process id), ENOENT (no /proc of this PID namespace), ENOMEM.
 */
pctx_t *pctx_capture(pid_t pid, void *arg, int verbose, pctx_errfn_t *errfn);

/*
 * Extension.  Makes a handle without a process, for pctx_add().  Processes that are added
 * later get its handlers and its `arg`.
 *
 * Returns the handle, or NULL and errno: EBUSY (this thread has another handle), ENOMEM.
 */
pctx_t *pctx_open(void *arg, pctx_errfn_t *errfn);

/*
 * Extension.  Takes control of another running process, as pctx_capture() does, with the
 * present handlers of `pctx`; pctx_run() on `pctx` runs all of them.  Adding a process again
 * has no effect.
 *
 * Returns the process's handle, which lives until its exit handler returns and must not be
 * released; or NULL and the errno of pctx_capture(), in which case the other processes are
 * kept.  EINVAL also if `pctx` is running, or belongs to another thread.
 */
pctx_t *pctx_add(pctx_t *pctx, pid_t pid);

/*
 * Extension.  Like pctx_add(), for a process that the caller found in /proc: if the process has
 * exited since, the call returns NULL and ESRCH without an error message.
 */
pctx_t *pctx_add_found(pctx_t *pctx, pid_t pid);

/*
 * The handlers.  `pid` and `lwp` say where the event happened; LWPs of a process count from 1
 * in the order of their creation, and start again at 1 after an exec.  If a handler returns
 * non-zero, control of its process ends, and the process continues untraced.
 *
 *  exec        the process executed a new program, whose command line is `cmd`
 *  fork        LWP `lwp` of `pid` created the process `child`; `pctx` is the
 *              child's handle: call pctx_run() on it in the handler to follow the
 *              child; otherwise the child is detached.  The handle lives until the
 *              child's exit handler returns.
 *  exit        the process exited with the wait(2) status `status`
 *  lwp_create  a thread was created; its init_lwp came first
 *  init_lwp    an LWP came under control and has not run yet; after pctx_capture() it runs
 *              already
 *  fini_lwp    an LWP has stopped running: it exited, or its program was replaced.  Its
 *              last values can still be sampled
 *  lwp_exit    a thread exited; its fini_lwp came first
 */
typedef int pctx_sysc_execfn_t(pctx_t *pctx, pid_t pid, id_t lwp, char *cmd, void *arg);
typedef void pctx_sysc_forkfn_t(pctx_t *pctx, pid_t pid, id_t lwp, pid_t child, void *arg);
typedef void pctx_sysc_exitfn_t(pctx_t *pctx, pid_t pid, id_t lwp, int status, void *arg);
typedef int pctx_sysc_lwp_createfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);
typedef int pctx_init_lwpfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);
typedef int pctx_fini_lwpfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);
typedef int pctx_sysc_lwp_exitfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);

/*
 * Extension.  Called with the handle given to pctx_run when no event is pending, for instance
 * to write buffered output.  Returns the number of milliseconds without an event after which to
 * call it again; 0: only after the next event.
 */
typedef uint_t pctx_idlefn_t(pctx_t *pctx, void *arg);

/*
 * Extension.  The dynamic linker has mapped a library, whose code has not run yet.  If `done` is
 * not 0, all libraries that the program starts with are mapped; this is the last call except
 * with PCTX_LIBRARIES_ALL.  Only for processes for which pctx_watch_libraries requested it.
 */
typedef int pctx_mappedfn_t(pctx_t *pctx, pid_t pid, id_t lwp, int done, void *arg);

/*
 * Extension.  LWP `tid` (the kernel's number) of process `pid` is not followed, for a reason that
 * `errfn` received: memory ran out, the LWP was created with CLONE_UNTRACED, or its creator is
 * unknown.  `pctx` is the handle of `pid`, or, for a new process, that of its parent, as far as
 * that is known.
 */
typedef void pctx_lostfn_t(pctx_t *pctx, pid_t pid, pid_t tid, void *arg);

/*
 * Extension.  LWP `lwp` has exited and is about to be reaped: the last moment at which /proc
 * has information about it.  Its fini_lwp, lwp_exit and exit come later.  There is no such
 * event for LWPs that an exec or the end of control removes.
 */
typedef void pctx_endingfn_t(pctx_t *pctx, pid_t pid, id_t lwp, void *arg);

/*
 * Extension.  Without a fork handler: LWP `lwp` of the process of `pctx` created process
 * `child`, which was detached before its parent continued.
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
 * Sets handlers: pairs of an event and its function, ended by PCTX_NULL_EVENT.  Other events
 * keep their handlers.  Without an exec handler, control ends at the first exec; without a
 * fork handler, children are detached.  Children inherit the handlers of their parent.
 *
 * Returns 0, or -1 and errno: EINVAL (unknown event).  All calls look their handle up: if it is
 * NULL or freed, they do nothing, set errno to EINVAL, and return -1, NULL, or 0 (pctx_stopped).
 */
int pctx_set_events(pctx_t *pctx, ...);

/*
 * Runs the process and calls the handlers until the process and all followed children have
 * exited, `nsamples` samples are taken (0: no limit) or pctx_terminate() is called.  Every
 * `msec` milliseconds `tick` is called for each LWP, without stopping any; 0 means never.  A
 * tick that would come too late is skipped, and the schedule does not drift.
 *
 * Called in a fork handler, on the handle given to it, it adds the child to the running loop
 * and its schedule, and returns at once.
 *
 * Meanwhile SIGCHLD is blocked in the calling thread; a program with several threads must
 * block it in the others, too.  While there are handles, SIGCHLD has its default action, or a
 * handler of the library: the program's own handler is not called.
 *
 * Returns 0, or -1 and errno: EINVAL (a handle of another thread, or already run), ECHILD
 * (control was lost).  When memory runs out, a child or thread is detached and reported to
 * `errfn` and by PCTX_LOST_EVENT.
 */
int pctx_run(pctx_t *pctx, uint_t msec, uint_t nsamples,
	     int (*tick)(pctx_t *pctx, pid_t pid, id_t lwp, void *arg));

/* Makes pctx_run return soon.  May be called in handlers and signal handlers. */
void pctx_terminate(pctx_t *pctx);

/*
 * Extension.  Ends the control of a process made by pctx_create and of all its followed
 * children, waits until that process has exited and stores its wait(2) status.  Returns 0, or
 * -1 and errno: ECHILD (not made by pctx_create).
 */
int pctx_wait(pctx_t *pctx, int *status);

/*
 * Ends the control of the process and its followed children, which all continue as if they
 * had never been controlled, and frees the handle.  Not for the handles given to fork
 * handlers.
 */
void pctx_release(pctx_t *pctx);

/*
 * Extension.  Ends the control and frees the handle without waiting, for a caller that is
 * about to exit.  (pctx_release() waits for each LWP to stop, which takes long in an
 * uninterruptible sleep.)  LWPs that are stopped are detached now.  The kernel detaches the
 * others when the calling thread exits; one that gets a signal earlier stays stopped until
 * then.  This thread cannot capture such processes again.
 */
void pctx_abandon(pctx_t *pctx);

/* Extension.  The process of the handle; 0: the handle is of pctx_open(). */
pid_t pctx_pid(const pctx_t *pctx);

/*
 * Extension.  Requests mapped events; to be called in the init_lwp handler of a new program.
 * PCTX_LIBRARIES_START: until the libraries that the program starts with are mapped;
 * PCTX_LIBRARIES_ALL: also for libraries mapped later, by dlopen(3) or by the program itself.
 * Meanwhile the process also stops at system calls.  PCTX_LIBRARIES_NONE cancels the request,
 * also in a mapped or tick handler.
 *
 * Returns which events will come.  PCTX_LIBRARIES_START: one with `done`, and later ones if
 * they were requested.  PCTX_LIBRARIES_ALL: only later ones.  PCTX_LIBRARIES_NONE: none.
 * There is no event for the libraries of the start if they are already mapped, or if that is
 * unknown, because the program has no dynamic linker or another word size.  There are no events
 * at all if the process is not stopped.  -1 and errno: ESRCH, it was killed; or another error, if
 * its auxiliary vector or its dynamic section cannot be read.
 */
enum { PCTX_LIBRARIES_NONE, PCTX_LIBRARIES_START, PCTX_LIBRARIES_ALL };
int pctx_watch_libraries(pctx_t *pctx, int which);

/* Extension.  Non-zero while the process is stopped by job control. */
int pctx_stopped(const pctx_t *pctx);

/*
 * Extension.  The kernel's thread id of LWP `lwp`; in the fini_lwp, lwp_exit and exit
 * handlers also of LWPs that have exited.  -1 and errno: ESRCH.
 */
pid_t pctx_lwp_tid(const pctx_t *pctx, id_t lwp);

/*
 * Extension.  In a fork handler, the handle of the child's parent.  With it, pctx_lwp_tid() and
 * pctx_lwp_data() find the LWP that created the child.  NULL if the parent has exited, and
 * outside fork handlers.
 */
pctx_t *pctx_parent(const pctx_t *pctx);

/*
 * Extension.  Pointers of the caller, one for each process, which an exec keeps, and one for
 * each LWP.  They are NULL until they are set, and the library does not use them.  They are
 * available in all handlers, also for LWPs that have exited, as in pctx_lwp_tid().  Finding the
 * LWP of the current handler is fast.
 *
 * pctx_lwp_set_data() returns 0, or -1 and errno: ESRCH.  pctx_lwp_data() returns NULL and
 * errno ESRCH if there is no such LWP.
 */
void pctx_set_data(pctx_t *pctx, void *data);
void *pctx_data(const pctx_t *pctx);
int pctx_lwp_set_data(pctx_t *pctx, id_t lwp, void *data);
void *pctx_lwp_data(const pctx_t *pctx, id_t lwp);

/* Extension.  Answers the request `op` of an LWP that waits in pctx_request(): 0, or an errno. */
typedef int pctx_answerfn_t(int op, void *arg);

/*
 * Extension.  Sets the function that answers the requests of an LWP, in place of the previous
 * one; NULL: none.  `release`, if not NULL, is called once with `arg`: when another function
 * replaces this one, after the handlers of the LWP's exit or exec, when the LWP is detached, or
 * when the handle is freed.
 *
 * Returns 0, or -1 and errno: ESRCH (no such LWP; `release` will not be called).
 */
int pctx_lwp_answer(pctx_t *pctx, id_t lwp, pctx_answerfn_t *answer, void *arg,
		    void (*release)(void *arg));

/*
 * Extension.  For a controlled program: the calling LWP requests `op` from its controller's
 * answer function (pctx_lwp_answer), and waits for the answer.  The two programs define the
 * meaning of `op`.  The program's signals stay as they are.
 *
 * A BPF program can answer an LWP that is not traced: the request is a real-time signal that
 * the LWP sends to itself, with PCTX_REQUEST_CODE as si_code and `op` as sival_int.  A signal
 * of the same number and SI_KERNEL, sent at that moment, is the answer.
 *
 * Returns 0, or -1 and errno: ESRCH (no controller, or no answer function), or the errno of
 * the answer.  Safe in signal handlers.
 */
int pctx_request(int op);
#define PCTX_REQUEST_CODE 0x70637478

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* LIBPCTX_H */
