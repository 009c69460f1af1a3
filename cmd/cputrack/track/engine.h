/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine.h - what happens in a tree of processes, with counts.
 *
 * An engine follows processes and counts their LWPs.  It tells a watcher of births, execs,
 * ends and ticks, as they happen, and has the counts that go with them.  How it does either
 * is its own affair: rows and options know nothing of it.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "../../base/setgrp.h"
#include "../command.h"
#include "../pids.h"
#include "comm.h"

#include <bsd/sys/queue.h>
#include <libcpc.h>
#include <libpctx.h>
#include <stdbool.h>
#include <stdint.h>

/* Engines have more behind these two. */
struct lwp {
	id_t id;	      /* from 1 in its process */
	pid_t tid;	      /* the kernel's thread id */
	size_t turn;	      /* index of the set that counts */
	char comm[COMM_SIZE]; /* its name when it was last looked at; "": not known */
	/* The watcher's: number of the last sample that it was in; when it was born, and that. */
	uint64_t tick;
	int64_t born_ns, since_ns;
	TAILQ_ENTRY(lwp) link;
};

struct proc {
	pid_t pid;
	bool incomplete;	/* some LWP was not counted, or not to its end */
	int64_t born_ns;	/* the watcher's: when its program began */
	TAILQ_HEAD(, lwp) lwps; /* in the order of their births */
	TAILQ_ENTRY(proc) link;
};

/*
 * What the watcher is told, in the order of events.  An LWP is first in `init_lwp` and last
 * in `lwp_exit`, `exec` or `exit`.  `lwp` may be NULL where it has gone.
 */
struct watcher {
	void (*init_lwp)(void *arg, struct proc *proc, struct lwp *lwp);
	void (*lwp_create)(void *arg, struct proc *proc, struct lwp *lwp);
	void (*tick)(void *arg, struct proc *proc, struct lwp *lwp);
	/* Its counts are final: the engine has their totals. */
	void (*fini_lwp)(void *arg, struct proc *proc, struct lwp *lwp);
	void (*lwp_exit)(void *arg, struct proc *proc, struct lwp *lwp);
	/* LWP `id` of process `pid` made a process. */
	void (*fork)(void *arg, pid_t pid, id_t id, struct lwp *lwp, pid_t child);
	/* LWP `id` has executed a program: the totals of the one before it, and then what runs. */
	void (*exec)(void *arg, struct proc *proc, id_t id, struct lwp *lwp);
	void (*image)(void *arg, pid_t pid, const char *comm, const char *command);
	/* `status` is that of waitpid(2). */
	void (*exit)(void *arg, struct proc *proc, id_t id, struct lwp *lwp, int status);
	/* Nothing happens.  Returns when to be called again, in ms; 0: when something did. */
	uint_t (*idle)(void *arg);
};

struct engine_config {
	bool follow_exec, follow_fork;
	bool start_off;		 /* counters are off until the program calls cpc_enable(3) */
	bool waiting;		 /* nothing is counted before engine_ops.begin */
	bool attaches;		 /* to processes; else, it starts one */
	bool descendants;	 /* attaches to all descendants of these, too */
	bool comm;		 /* names of LWPs are wanted */
	bool debug;		 /* report what is found, and how */
	uint_t interval_ms;	 /* 0: no ticks */
	uint_t count;		 /* ticks; 0: no limit */
	bool (*must_stop)(void); /* a signal has asked for the end; NULL: none can */
};

struct engine;

struct engine_ops {
	const char *name; /* as in --engine */
	/*
	 * Starts the program, and tells `command`; or attaches to processes.  -1 after a message;
	 * errno says why a program cannot be started, and is 0 if that is not the reason.
	 */
	int (*start)(struct engine *engine, char **argv, struct command *command);
	int (*attach)(struct engine *engine, const struct pids *pids, bool *some_failed);
	/* Follows them until nothing is left or `stop`.  -1 after a message. */
	int (*run)(struct engine *engine);
	/* Makes `run` return.  Signal handlers may call it once there is something to run. */
	void (*stop)(struct engine *engine);
	/* Has job control stopped the command? */
	bool (*stopped)(const struct engine *engine);
	/* Counting begins, which has waited until now. */
	void (*begin)(struct engine *engine);
	/* Waits for the end of the command.  -1: its status is not known. */
	int (*wait)(struct engine *engine, int *wstatus);

	/*
	 * Counts, of the set whose turn it is since its turn began, or since the last tick.
	 * They hold until the next call.  NULL: they are not known.
	 */
	cpc_buf_t *(*sample)(struct engine *engine, struct proc *proc, struct lwp *lwp);
	cpc_buf_t *(*sample_tick)(struct engine *engine, struct proc *proc, struct lwp *lwp);
	/* Ends counting an LWP that lives on. */
	void (*finish)(struct engine *engine, struct proc *proc, struct lwp *lwp);
	/* Totals, of an LWP whose counts are final, and of all such of a process. */
	cpc_buf_t *(*lwp_total)(const struct engine *engine, const struct lwp *lwp, size_t set);
	cpc_buf_t *(*proc_total)(const struct engine *engine, const struct proc *proc, size_t set);
	/* A process is followed no longer. */
	void (*leave)(struct engine *engine, struct proc *proc);

	/* Reports the symbols that no program had.  True: there are some. */
	bool (*lacks_symbols)(const struct engine *engine);
	/* Detaches from what is still followed; no more is told. */
	void (*release)(struct engine *engine);
	void (*free)(struct engine *engine);
};

struct engine {
	const struct engine_ops *ops;
	struct engine_config config;
	cpc_t *cpc;
	const struct setgrp *grp;
	const struct watcher *watcher; /* of engine_watch() */
	void *arg;		       /* the watcher's */
	int64_t event_ns;	       /* when that happened which is being told; 0: now */
	bool lost;		       /* LWPs were not counted, or not to their end */
	uint64_t nchildren;	       /* processes that are not followed; after `release` */
	bool ever_on;		       /* the counters of some LWP were */
	TAILQ_HEAD(, proc) procs;      /* in the order of their births */
};

/* To be called before there is something to tell. */
void engine_watch(struct engine *engine, const struct watcher *watcher, void *arg);

/* Who says what libpctx has to tell. */
pctx_errfn_t *engine_errors(const struct engine_config *config);

/* All processes, `*n`, in the order of their ids; to be freed.  Never NULL. */
struct proc **engine_sort_procs(const struct engine *engine, size_t *n);

#endif /* ENGINE_H */
