/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tracee.h - the tables of what a thread controls.
 *
 * A loop belongs to one thread and holds everything that this thread controls: processes
 * (pctx_t) and their LWPs, found by thread id when waitpid(2) names one and by LWP id
 * when the caller does.
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
	PCTXI_LWP_BORN,	     /* named by its maker's stop; its first stop is to come */
	PCTXI_LWP_EARLY,     /* in its first stop; its maker's stop is to come */
	PCTXI_LWP_GONE,	     /* died before its maker's stop came */
	PCTXI_LWP_RUNNING,   /* runs or sleeps: it may report a stop at any time */
	PCTXI_LWP_STOPPED,   /* in a stop that is being handled */
	PCTXI_LWP_LISTENING, /* in a group-stop, until SIGCONT */
};

/* Who answers the requests of an LWP. */
struct pctxi_answerer {
	pctx_answerfn_t *answer; /* NULL: nobody */
	void *arg;
	void (*release)(void *arg); /* or NULL */
};

struct pctxi_lwp {
	pid_t tid;
	id_t id;	  /* from 1 in its process */
	struct pctx *ctx; /* its process; NULL while early or gone */
	enum pctxi_lwp_state state;
	bool begun;	  /* its init_lwp handler was called */
	bool group_stop;  /* the stop that it is in is a group-stop */
	bool no_forks;	  /* PTRACE_O_TRACEFORK and -VFORK are off */
	bool cloning;	  /* it may be in a clone(2) that is older than our control; see seize.c */
	bool interrupted; /* and is to stop, so that it is seen outside */
	bool maps_code;	  /* it is in an mmap(2) call that maps code; see solib.c */
	void *data;	  /* the caller's */
	struct pctxi_answerer answerer;
	int status;	  /* PCTXI_LWP_GONE: its wait status */
	int64_t since_ns; /* PCTXI_LWP_EARLY and _GONE: when it reported */
	int64_t due_ns;	  /* and when to look again whether its maker can still name it */
	pid_t tgid, ppid; /* of an early one, once they were read */
	pid_t holds;	  /* its parent, which goes on when it has been let go; 0: none */
	RB_ENTRY(pctxi_lwp) by_tid;
	RB_ENTRY(pctxi_lwp) by_id;
	LIST_ENTRY(pctxi_lwp) early; /* while PCTXI_LWP_EARLY or _GONE */
};
RB_HEAD(pctxi_tids, pctxi_lwp);
RB_HEAD(pctxi_ids, pctxi_lwp);

/* How a process came under control. */
enum pctxi_origin {
	PCTXI_OPENED,	/* not a process: the handle of pctx_open() */
	PCTXI_CREATED,	/* by pctx_create(): our child */
	PCTXI_CAPTURED, /* by pctx_capture() */
	PCTXI_ADDED,	/* by pctx_add(): the library frees it */
	PCTXI_FORKED,	/* made by a process under control: the library frees it */
};

enum pctxi_proc_state {
	PCTXI_PROC_HELD,     /* pctx_run() has not been called */
	PCTXI_PROC_FOLLOWED, /* events go to the handlers */
	PCTXI_PROC_LEAVING,  /* every LWP is detached as soon as it stops */
	PCTXI_PROC_LEFT,     /* no longer under control */
	PCTXI_PROC_PAUSED,   /* no longer under control, and stopped by job control */
	PCTXI_PROC_ENDED,    /* its wait status is known */
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
	int status; /* PCTXI_PROC_ENDED: its wait status; before: that of a leader found dead */
	struct pctxi_handlers handlers;
	void *data; /* the caller's */
	struct pctxi_ids lwps;
	struct pctxi_lwp *recent; /* the LWP being handled: mostly the next to be looked up */
	id_t next_id;
	bool may_be_gone;	/* that it has ended before it was attached to is no error */
	bool untraced_told;	/* that it has LWPs which cannot be followed */
	bool exec_killed;	/* an exec ended LWPs of it, which may have made others unseen */
	uint64_t r_debug;	/* while its libraries are watched for, see solib.c; else 0 */
	unsigned r_debug_width; /* of its words */
	bool watch_all;		/* so are those that come later */
	struct pctx *parent;	/* while its fork handler runs */
	TAILQ_ENTRY(pctx) link;
	LIST_ENTRY(pctx) left; /* while PCTXI_PROC_LEFT, if the library frees it */
};
TAILQ_HEAD(pctxi_procs, pctx);

/* What waitpid(2) said. */
struct pctxi_report {
	pid_t tid;
	int status;
};

/* Who made an LWP.  It can be gone by the time that the LWP is found. */
struct pctxi_maker {
	struct pctx *ctx; /* NULL: it has ended */
	pid_t pid;
	id_t lwp;
	bool followed; /* its events go to the handlers */
	bool no_forks;
	const struct pctxi_handlers *handlers;
};

struct pctxi_loop {
	LIST_ENTRY(pctxi_loop) all;	     /* of this program */
	pid_t owner;			     /* the thread that it belongs to */
	bool own_proc;			     /* /proc is there, and speaks of our PID namespace */
	struct pctx *root;		     /* the handle that the caller holds */
	struct pctxi_maker last_ended;	     /* the process that ended last; pid 0: none has */
	struct pctxi_handlers last_handlers; /* its */
	struct pctxi_tids tids;		     /* all LWPs */
	struct pctxi_procs procs;	     /* all processes, oldest first */
	LIST_HEAD(pctxi_left, pctx) left;
	LIST_HEAD(pctxi_early, pctxi_lwp) early;
	/*
	 * The stop of a maker may name an LWP that was claimed, or let go, before: births
	 * are checked against /proc.
	 */
	bool check_births;
	struct pctxi_report *report; /* those that are still to be acted on */
	size_t nreports, max_reports;
	struct sigaction old_chld; /* what SIGCHLD did before */
	bool running;
	volatile sig_atomic_t terminate;
	int64_t interval_ns; /* 0: no ticks */
	int64_t next_tick_ns;
	uint_t samples_left; /* 0: no limit */
};

/* NULL and errno: ENOMEM, or EBUSY: this thread has a loop. */
struct pctxi_loop *pctxi_loop_new(void);
void pctxi_loop_free(struct pctxi_loop *loop);

/* NULL: out of memory. */
struct pctx *pctxi_proc_new(struct pctxi_loop *loop, pid_t pid, enum pctxi_origin origin,
			    const struct pctxi_handlers *handlers);
void pctxi_proc_free(struct pctx *ctx);
/* A process that has LWPs under control; its leader may be gone. */
struct pctx *pctxi_proc_find(struct pctxi_loop *loop, pid_t pid);
/* Is it no longer under control? */
bool pctxi_proc_is_left(const struct pctx *ctx);
/* Does the library free it, not the caller? */
bool pctxi_proc_is_own(const struct pctx *ctx);
/* Without LWPs, it is left. */
void pctxi_proc_left_if_empty(struct pctx *ctx);
/* An LWP turned up in a process that was left: it leaves, too. */
void pctxi_proc_unleave(struct pctx *ctx);

/* An LWP of no process yet.  NULL: out of memory. */
struct pctxi_lwp *pctxi_lwp_new(struct pctxi_loop *loop, pid_t tid, enum pctxi_lwp_state state);
void pctxi_lwp_free(struct pctxi_loop *loop, struct pctxi_lwp *lwp);
/* Makes it the next LWP of a process. */
void pctxi_lwp_join(struct pctxi_lwp *lwp, struct pctx *ctx);
/* After an exec: all other LWPs of its process go, and it starts anew as LWP 1. */
void pctxi_lwp_sole(struct pctxi_lwp *lwp);
void pctxi_lwp_rename(struct pctxi_loop *loop, struct pctxi_lwp *lwp, pid_t tid);
/* Sets who answers its requests, and releases who did before. */
void pctxi_lwp_answerer(struct pctxi_lwp *lwp, const struct pctxi_answerer *answerer);

struct pctxi_lwp *pctxi_lwp_find(struct pctxi_loop *loop, pid_t tid);
struct pctxi_lwp *pctxi_lwp_first(struct pctx *ctx);
struct pctxi_lwp *pctxi_lwp_next(struct pctxi_lwp *lwp);
struct pctxi_lwp *pctxi_lwp_by_id(const struct pctx *ctx, id_t id);

#endif /* PCTXI_TRACEE_H */
