/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pctx_impl.h - what the files of libpctx know of each other.
 *
 * A loop belongs to one thread and holds everything that thread controls:
 * processes (pctx_t) and their LWPs, found by thread id when waitpid(2) names
 * one and by LWP id when the caller does.
 */
#ifndef PCTX_IMPL_H
#define PCTX_IMPL_H

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <libpctx.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

enum pctxi_lwp_state {
	LWP_BORN,      /* named by its creator's event; its first stop is to come */
	LWP_EARLY,     /* in its first stop; its creator's event is to come */
	LWP_GONE,      /* died before its creator's event came */
	LWP_RUNNING,   /* runs, or sleeps: it may report a stop at any time */
	LWP_STOPPED,   /* in a stop that is being handled */
	LWP_LISTENING, /* in a group-stop, until SIGCONT */
};

struct pctxi_lwp {
	pid_t tid;
	id_t id;	  /* from 1 in its process */
	struct pctx *ctx; /* its process; NULL while early or gone */
	enum pctxi_lwp_state state;
	bool begun;	  /* its init_lwp handler was called */
	bool group_stop;  /* the stop it is in is a group-stop */
	bool no_forks;	  /* it does not stop at forks (any more) */
	bool maps;	  /* it is in a call that maps code; see mapped.c */
	int status;	  /* LWP_GONE: how it died */
	int64_t since_ns; /* LWP_EARLY and LWP_GONE: when it reported */
	int64_t due_ns;	  /* and when to look again whether its maker can still name it */
	pid_t tgid, ppid; /* of an early one, once they were read */
	RB_ENTRY(pctxi_lwp) by_tid;
	RB_ENTRY(pctxi_lwp) by_id;
	LIST_ENTRY(pctxi_lwp) early; /* while LWP_EARLY or LWP_GONE */
};
RB_HEAD(pctxi_tids, pctxi_lwp);
RB_HEAD(pctxi_ids, pctxi_lwp);

enum pctxi_state {
	PCTX_HELD,     /* created or captured; pctx_run has not been called */
	PCTX_FOLLOWED, /* events go to the handlers */
	PCTX_LEAVING,  /* every LWP is detached as soon as it stops */
	PCTX_LEFT,     /* no longer under control, or ended */
};

struct pctx {
	struct pctxi_loop *loop;
	pid_t pid;
	enum pctxi_state state;
	bool created; /* by pctx_create: our child */
	bool adopted; /* given to a fork handler, or by pctx_add: the library frees it */
	bool cut;     /* an exec ended LWPs of it, perhaps while they made others */
	bool stopped; /* by job control, after it was left */
	bool ended;   /* `status` is known */
	int status;   /* of wait(2) */
	struct pctxi_ids lwps;
	id_t next_id;
	bool linking;	     /* its LWPs stop at system calls, too */
	uint64_t debug_slot; /* while linking: see mapped.c */

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
	pctx_callfn_t *call;
	pctx_mappedfn_t *mapped;
	int (*tick)(pctx_t *, pid_t, id_t, void *);
	TAILQ_ENTRY(pctx) link;
	bool forgettable;      /* it became PCTX_LEFT, and waits to be freed */
	LIST_ENTRY(pctx) left; /* while forgettable */
};
TAILQ_HEAD(pctxi_list, pctx);

/* What waitpid(2) said. */
struct pctxi_report {
	pid_t tid;
	int status;
};

struct pctxi_loop {
	pid_t owner;		 /* the thread it belongs to */
	bool own_proc;		 /* /proc is there, and speaks of our PID namespace */
	struct pctx *root;	 /* the handle that the caller holds */
	struct pctx last;	 /* who ended last, for what it left behind; pid 0: nobody did */
	struct pctxi_tids tids;	 /* all LWPs */
	struct pctxi_list procs; /* all processes, oldest first */
	LIST_HEAD(pctxi_left, pctx) left;
	LIST_HEAD(pctxi_early, pctxi_lwp) early;
	bool took_in; /* some process is known before its maker named it, see orphan.c */
	struct pctxi_report *report; /* those that are still to be acted on */
	size_t nreports, max_reports;
	struct sigaction old_chld; /* what SIGCHLD did before */
	bool running;
	volatile sig_atomic_t terminate;
	int64_t interval_ns; /* 0: no ticks */
	int64_t next_tick_ns;
	uint_t samples_left; /* 0: no limit */
};

/* pctx.c */
__attribute__((format(printf, 3, 4))) void pctxi_error(pctx_errfn_t *errfn, const char *fn,
						       const char *fmt, ...);

/* spawn.c: the new process, seized and stopped right after its exec; -1 and errno. */
pid_t pctxi_spawn(const char *filename, char *const *argv, const struct sigaction *chld);

/* attach.c: seize all LWPs of ctx->pid, or say why not; -1 and errno. */
int pctxi_attach(struct pctx *ctx);

/* What /proc/TID/status says. */
struct pctxi_task {
	char state; /* R, S, Z, ... */
	pid_t tgid; /* the process it is an LWP of */
	pid_t ppid;
	pid_t tracer; /* thread id; 0: none */
	uid_t uid;    /* real */
};
int pctxi_task_read(pid_t tid, struct pctxi_task *task); /* -1: no such task */
bool pctxi_is_zombie(pid_t tid);
bool pctxi_own_proc(void); /* is /proc there, and that of our PID namespace? */
/* With which wait(2) status a zombie ended, by /proc; `status` when it is gone already. */
int pctxi_exit_status(pid_t pid, int status);

/* tracee.c */
struct pctxi_loop *pctxi_loop_new(void);
void pctxi_loop_free(struct pctxi_loop *loop);
struct pctx *pctxi_proc_new(struct pctxi_loop *loop, pid_t pid);
void pctxi_proc_free(struct pctx *ctx);
struct pctxi_lwp *pctxi_lwp_find(struct pctxi_loop *loop, pid_t tid);
struct pctxi_lwp *pctxi_lwp_new(struct pctxi_loop *loop, pid_t tid, enum pctxi_lwp_state state);
void pctxi_lwp_join(struct pctxi_lwp *lwp, struct pctx *ctx);
void pctxi_lwp_free(struct pctxi_loop *loop, struct pctxi_lwp *lwp);
void pctxi_lwp_sole(struct pctxi_lwp *lwp);
void pctxi_lwp_rename(struct pctxi_loop *loop, struct pctxi_lwp *lwp, pid_t tid);
struct pctxi_lwp *pctxi_lwp_first(struct pctx *ctx);
struct pctxi_lwp *pctxi_lwp_next(struct pctxi_lwp *lwp);
struct pctxi_lwp *pctxi_lwp_by_id(const struct pctx *ctx, id_t id);

/*
 * stop.c: what a status of waitpid(2) means, and what the loop owes the LWP.
 */
enum pctxi_what {
	PCTXI_DIED,	  /* exited or killed; nothing: it is reaped */
	PCTXI_BIRTH,	  /* it made a thread or process, its id is the event message; resume */
	PCTXI_EXEC,	  /* it runs a new program, all other LWPs are gone; resume */
	PCTXI_GROUP_STOP, /* its process is stopped by job control; listen */
	PCTXI_SYSCALL,	  /* a system call begins or ends; resume */
	PCTXI_SIGNAL,	  /* a signal is to be delivered; resume with it */
	PCTXI_HELD,	  /* first stop, interrupted, or out of a group-stop; resume */
};

struct pctxi_stop {
	enum pctxi_what what;
	int sig;     /* PCTXI_SIGNAL: to deliver */
	bool thread; /* PCTXI_BIRTH: most likely a thread, not a process */
};

struct pctxi_stop pctxi_stop_decode(int status);

#define PCTXI_FN_CREATE "create"
#define PCTXI_FN_CAPTURE "capture"
#define PCTXI_FN_RUN "run"

/* life.c */
/* The stops of the life cycle, never at exit; and what tells those of mapped.c from signals. */
extern const unsigned long pctxi_ptrace_options;
/* Those of them that nobody needs who does not follow children. */
#define PCTXI_TRACE_FORKS ((unsigned long)(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK))

/* Acts on a status that waitpid(2) gave for thread `tid`. */
void pctxi_dispatch(struct pctxi_loop *loop, pid_t tid, int status);
/* Lets go a stranger who stopped with `status`, since he had himself traced: did he? */
bool pctxi_disown(pid_t tid, int status);
/* Starts following: init_lwp for all LWPs that are there; resumes what is stopped. */
void pctxi_follow(struct pctx *ctx);
/* Begins the end of the control of a process; its LWPs leave as they stop. */
void pctxi_leave(struct pctx *ctx);

/* A handle with the handlers of another; NULL: out of memory. */
struct pctx *pctxi_child_of(struct pctx *parent, pid_t pid);
/* `lwp` gets its process: that of its maker, or one of its own; what it reported is due now. */
void pctxi_claim(struct pctxi_lwp *lwp, const struct pctxi_lwp *maker, bool thread);

/* orphan.c */
/* Before it is told that a process ends, or executes: it made what nobody else can name. */
void pctxi_orphans(const struct pctxi_lwp *maker, bool ends);
/* When an LWP that reports before its maker named it is looked at first. */
#define PCTXI_EARLY_NS (10 * 1000000LL)
/* Takes in who has waited too long for the word of its maker. */
void pctxi_orphans_late(struct pctxi_loop *loop, int64_t now_ns);
/* Is somebody under control who has not reported yet? */
bool pctxi_orphans_to_come(struct pctxi_loop *loop);

/* call.c: is the signal that an LWP stopped with a call?  Then it is answered now. */
bool pctxi_call(struct pctxi_lwp *lwp, int sig);
/* mapped.c: an LWP stopped at a system call, while libraries are waited for. */
void pctxi_syscall_stop(struct pctxi_lwp *lwp);

/* loop.c */
int64_t pctxi_now_ns(void); /* CLOCK_MONOTONIC */
int pctxi_loop_run(struct pctxi_loop *loop);
/* Takes all reports that there are, or that there is memory for, to be acted on later. */
void pctxi_reports_keep(struct pctxi_loop *loop);
/* Waits for the end of the root, which was created and left; -1 and errno. */
int pctxi_loop_wait(struct pctxi_loop *loop);
/* Waits until this process, which is leaving, has left. */
void pctxi_leave_wait(struct pctx *ctx);
/* Waits until all have. */
void pctxi_leave_finish(struct pctxi_loop *loop);

#endif /* PCTX_IMPL_H */
