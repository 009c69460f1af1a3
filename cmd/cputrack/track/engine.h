/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine.h - engines, which follow processes, count their LWPs, and report events by track_event().
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "../pids.h"
#include "track.h"

#include <libcpc.h>
#include <libpctx.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct owners;

enum engine_choice { ENGINE_AUTO, ENGINE_KERNEL, ENGINE_PTRACE };

enum choice_kind { CHOICE_NONE, CHOICE_ALL, CHOICE_CGROUP, CHOICE_USER };

/* The processes of --all, --cgroup and --user. */
struct choice {
	enum choice_kind kind;
	const char *name; /* of the option, "--all" */
	uint64_t id;	  /* of the cgroup or user */
	uint64_t root_id; /* CHOICE_CGROUP: of the root of its hierarchy... */
	unsigned depth;	  /* ...and the number of levels from there to the cgroup */
};

struct engine_config {
	bool follow_exec, follow_fork;
	bool start_off;		 /* counters are off until the program calls cpc_enable(3) */
	const struct pids *pids; /* the processes to attach to; NULL: it starts one */
	bool descendants;	 /* attaches to all descendants of these, too */
	uint_t max_lwps;	 /* with rows of their own at a time; 0: the engine chooses */
	struct choice choice;	 /* the processes of --all, --cgroup or --user */
	struct owners *owners;	 /* events carry the owners of LWPs; NULL: they do not */
	bool comm;		 /* events carry names of LWPs */
	bool debug;		 /* report what is found, and how */
	bool again;		 /* another run may follow: see `renew` */
	bool reopens;		 /* SIGHUP asks to open the output again */
	uint_t interval_ms;	 /* between samples; 0: none are taken */
	uint_t count;		 /* of samples; 0: no limit */
};

struct engine;

struct engine_ops {
	const char *name; /* as in --engine */
	/*
	 * Starts the program, and sets `command->pid`; or attaches to processes.  -1 after a
	 * message; errno is the reason if the program itself cannot be started, else 0.
	 */
	int (*start)(struct engine *engine, char **argv, struct command *command);
	int (*attach)(struct engine *engine);
	/* Follows the processes until none is left or `stop`; detaches.  -1 after a message. */
	int (*run)(struct engine *engine);
	/* Makes `run` return.  Signal handlers may call it once `start` or `attach` is done. */
	void (*stop)(struct engine *engine);
	/* Has job control stopped the command? */
	bool (*stopped)(const struct engine *engine);
	/* Begins to count, after `waiting`. */
	void (*begin)(struct engine *engine);
	/* Waits for the end of the command.  -1: its status is not known. */
	int (*wait)(struct engine *engine, int *wstatus);
	/* Releases the processes, and reports what was not counted. */
	void (*release)(struct engine *engine);
	/*
	 * After `release`: prepares another run, with the same config but for `owners`.  NULL, or
	 * false: it needs a new engine.
	 */
	bool (*renew)(struct engine *engine, const struct engine_config *config);
	void (*free)(struct engine *engine);
};

struct engine {
	const struct engine_ops *ops;
	struct engine_config config;
	cpc_t *cpc;
	const struct setgrp *grp;
	struct track *track;	       /* receives the events */
	bool waiting;		       /* counting has not begun: engine_ops.begin begins it */
	bool lost;		       /* LWPs were not counted, or not to their end */
	void *own;		       /* the engine's */
	volatile sig_atomic_t suspend; /* ^Z: stop once the command has stopped */
	volatile sig_atomic_t reopen;  /* open the output again */
	uint64_t nchildren;	       /* processes that are not followed; after `release` */
};

/* The engines of this program, for --version. */
extern const char engine_names[];

/* Parses the argument of --engine.  False: unknown. */
bool engine_parse(const char *name, enum engine_choice *choice);

/*
 * ENGINE_AUTO: the kernel engine if it can count this exactly, else ptrace.  NULL after a message.
 */
struct engine *engine_new(enum engine_choice choice, const struct engine_config *config, cpc_t *cpc,
			  const struct setgrp *grp, struct track *track);

/*
 * Counts in the kernel, and stops no process.  NULL: it cannot count these sets exactly, or not on
 * this machine; `why` is the reason, also in builds without CPC_KERNEL_ENGINE.
 */
struct engine *engine_kernel(const struct engine *common, char *why, size_t size);

/* Follows processes by ptrace(2), and counts with a set per LWP. */
struct engine *engine_ptrace(const struct engine *common);

/* The message if -p found processes by their names, but all of them have ended since. */
#define ENGINE_ALL_ENDED "cannot track the processes of -p: they have ended"

/* Prints messages of libpctx. */
pctx_errfn_t *engine_errors(const struct engine_config *config);

/* Copies the counts in a buffer of a set. */
void engine_counts(const struct engine *engine, size_t set, cpc_buf_t *buf,
		   struct track_counts *counts);

/* The name of an LWP, if events carry names, in `comm`, which is "" otherwise.  NULL: unknown. */
const char *engine_comm(const struct engine *engine, pid_t tid, char comm[COMM_SIZE]);

#endif /* ENGINE_H */
