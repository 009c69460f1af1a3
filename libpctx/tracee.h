/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tracee.h - the tables of processes and LWPs that a thread controls.
 *
 * A loop belongs to one thread and contains everything that this thread controls: processes
 * (pctx_t) and their LWPs.  LWPs are found by thread id for waitpid(2), and by LWP id for the
 * caller.
 */
#ifndef PCTXI_TRACEE_H
#define PCTXI_TRACEE_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <libpctx.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum pctxi_lwp_state {
	PCTXI_LWP_BORN,	     /* its creator has stopped; its first stop is still to come */
	PCTXI_LWP_EARLY,     /* in its first stop; its creator's stop is still to come */
	PCTXI_LWP_GONE,	     /* it exited before its creator's stop */
	PCTXI_LWP_RUNNING,   /* it runs or sleeps: it may stop at any time */
	PCTXI_LWP_STOPPED,   /* in a stop that is being handled */
	PCTXI_LWP_LISTENING, /* in a group-stop, until SIGCONT */
};

/* Answers the requests of an LWP. */
struct pctxi_answerer {
	pctx_answerfn_t *answer; /* NULL: none */
	void *arg;
	void (*release)(void *arg); /* or NULL */
};

struct pctxi_lwp {
	pid_t tid;
	id_t id;	  /* counted from 1 in its process */
	struct pctx *ctx; /* its process; NULL while EARLY or GONE */
	enum pctxi_lwp_state state;
	bool begun;	  /* its init_lwp handler was called */
	bool group_stop;  /* its current stop is a group-stop */
	bool no_forks;	  /* PTRACE_O_TRACEFORK and -VFORK are off */
	bool cloning;	  /* it may be in a clone(2) that began before the seize; see seize.c */
	bool interrupted; /* and was interrupted, but has not stopped yet */
	bool maps_code;	  /* in an mmap(2) call that maps code; see solib.c */
	void *data;	  /* a pointer of the caller */
	struct pctxi_answerer answerer;
	int status;	  /* PCTXI_LWP_GONE: its wait status */
	int64_t since_ns; /* PCTXI_LWP_EARLY and _GONE: the time of its report */
	int64_t due_ns;	  /* and of the next check whether its creator can still report it */
	pid_t tgid, ppid; /* of an early LWP, once they are read */
	pid_t holds;	  /* its parent, which waits until it is detached; 0: none */
	RB_ENTRY(pctxi_lwp) by_tid;
	RB_ENTRY(pctxi_lwp) by_id;
	LIST_ENTRY(pctxi_lwp) early; /* while PCTXI_LWP_EARLY or _GONE */
};
RB_HEAD(pctxi_tids, pctxi_lwp);
RB_HEAD(pctxi_ids, pctxi_lwp);

/* How a process came under control. */
enum pctxi_origin {
	PCTXI_CREATED,	/* by pctx_create(): our child */
	PCTXI_CAPTURED, /* by pctx_capture(); or the handle of pctx_open(), without a process */
	PCTXI_ADDED,	/* by pctx_add(): the library frees it */
	PCTXI_FORKED,	/* a process under control created it: the library frees it */
};

enum pctxi_proc_state {
	PCTXI_PROC_HELD,      /* pctx_run() was not called yet */
	PCTXI_PROC_FOLLOWED,  /* events go to the handlers */
	PCTXI_PROC_DETACHING, /* every LWP is detached as soon as it stops */
	PCTXI_PROC_DETACHED,  /* not under control any more */
	PCTXI_PROC_PAUSED,    /* not under control any more, and stopped by job control */
	PCTXI_PROC_ENDED,     /* its wait status is known */
};

struct pctxi_handlers {
	void *arg;
	pctx_errfn_t *errfn;
	pctx_sysc_execfn_t *exec;
	pctx_sysc_forkfn_t *fork;
	pctx_sysc_exitfn_t *exit;
	pctx_sysc_lwp_createfn_t *lwp_create;
	pctx_init_lwpfn_t *init_lwp;
	pctx_fini_lwpfn_t *fini_lwp;
	pctx_sysc_lwp_exitfn_t *lwp_exit;
	pctx_idlefn_t *idle;
	pctx_mappedfn_t *mapped;
	pctx_lostfn_t *lost;
	pctx_endingfn_t *ending;
	pctx_childfn_t *child;
	int (*tick)(pctx_t *, pid_t, id_t, void *);
};

struct pctx {
	struct pctxi_loop *loop;
	pid_t pid;
	enum pctxi_origin origin;
	enum pctxi_proc_state state;
	/* PCTXI_PROC_ENDED: its wait status; before: that of a leader that had exited */
	int status;
	struct pctxi_handlers handlers;
	void *data; /* a pointer of the caller */
	struct pctxi_ids lwps;
	/* the LWP whose event is being handled: the likely next lookup */
	struct pctxi_lwp *recent;
	id_t next_id;
	bool may_be_gone;	/* do not report an error if it has exited before the attach */
	bool untraced_reported; /* an LWP created with CLONE_UNTRACED was reported */
	bool exec_killed;	/* an exec has killed LWPs, which may have created others unseen */
	uint64_t r_debug;	/* while its libraries are watched, see solib.c; else 0 */
	unsigned r_debug_width; /* of its words */
	bool watch_all;		/* also watch libraries that are mapped later */
	struct pctx *parent;	/* while its fork handler runs */
	TAILQ_ENTRY(pctx) link;
	LIST_ENTRY(pctx) detached; /* while PCTXI_PROC_DETACHED, if the library frees it */
};
TAILQ_HEAD(pctxi_procs, pctx);

/* A report of waitpid(2). */
struct pctxi_report {
	pid_t tid;
	int status;
};

/* The creator of an LWP, which may have exited before the LWP is found. */
struct pctxi_creator {
	struct pctx *ctx; /* NULL: it has exited */
	pid_t pid;
	id_t lwp;
	bool followed; /* its events go to the handlers */
	bool no_forks;
	const struct pctxi_handlers *handlers;
};

struct pctxi_loop {
	LIST_ENTRY(pctxi_loop) all;	     /* in the list of all loops of the program */
	pid_t owner;			     /* the thread that it belongs to */
	bool own_proc;			     /* /proc is mounted and shows our PID namespace */
	struct pctx *root;		     /* the handle of the caller */
	struct pctxi_creator last_ended;     /* the process that exited last; pid 0: none */
	struct pctxi_handlers last_handlers; /* of that process */
	struct pctxi_tids tids;		     /* all LWPs */
	struct pctxi_procs procs;	     /* all processes, oldest first */
	LIST_HEAD(pctxi_detached, pctx) detached;
	LIST_HEAD(pctxi_early, pctxi_lwp) early;
	/* A creator's stop may report an LWP that is known already: ask /proc. */
	bool check_births;
	struct pctxi_report *report; /* reports that are not handled yet */
	size_t nreports, max_reports;
	struct sigaction old_chld; /* the action of SIGCHLD before the loop */
	bool running;
	bool lost; /* no report can be taken any more */
	volatile sig_atomic_t terminate;
	int64_t interval_ns; /* 0: no ticks */
	int64_t next_tick_ns;
	uint_t samples_left; /* 0: no limit */
};

/* NULL and errno: ENOMEM, or EBUSY: this thread already has a loop. */
struct pctxi_loop *pctxi_loop_new(void);
void pctxi_loop_free(struct pctxi_loop *loop);

/* Is it a handle?  Reads nothing of it; safe in signal handlers. */
bool pctxi_proc_is_known(const struct pctx *ctx);

/* NULL: out of memory. */
struct pctx *pctxi_proc_new(struct pctxi_loop *loop, pid_t pid, enum pctxi_origin origin,
			    const struct pctxi_handlers *handlers);
void pctxi_proc_free(struct pctx *ctx);
/* Finds a process that has LWPs under control; its leader may have exited. */
struct pctx *pctxi_proc_find(struct pctxi_loop *loop, pid_t pid);
/* Is it no longer under control? */
bool pctxi_proc_is_detached(const struct pctx *ctx);
/* Does the library free it, rather than the caller? */
bool pctxi_proc_is_own(const struct pctx *ctx);
/* Ends control of a process without LWPs. */
void pctxi_proc_detached_if_empty(struct pctx *ctx);
/* A process that had been detached has an LWP again: detach that, too. */
void pctxi_proc_detach_again(struct pctx *ctx);

/* Makes an LWP without a process.  NULL: out of memory. */
struct pctxi_lwp *pctxi_lwp_new(struct pctxi_loop *loop, pid_t tid, enum pctxi_lwp_state state);
void pctxi_lwp_free(struct pctxi_loop *loop, struct pctxi_lwp *lwp);
/* Adds it to a process as its next LWP. */
void pctxi_lwp_join(struct pctxi_lwp *lwp, struct pctx *ctx);
/* After an exec: removes all other LWPs of its process, and makes it LWP 1. */
void pctxi_lwp_sole(struct pctxi_lwp *lwp);
void pctxi_lwp_rename(struct pctxi_loop *loop, struct pctxi_lwp *lwp, pid_t tid);
/* Sets the function that answers its requests, and releases the previous one. */
void pctxi_lwp_answerer(struct pctxi_lwp *lwp, struct pctxi_answerer answerer);

struct pctxi_lwp *pctxi_lwp_find(struct pctxi_loop *loop, pid_t tid);
struct pctxi_lwp *pctxi_lwp_first(struct pctx *ctx);
struct pctxi_lwp *pctxi_lwp_next(struct pctxi_lwp *lwp);
struct pctxi_lwp *pctxi_lwp_by_id(const struct pctx *ctx, id_t id);

#endif /* PCTXI_TRACEE_H */
