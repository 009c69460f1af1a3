/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * row.h - the model of all output: a run and its rows.
 *
 * A sink (sink.h) gets the description of a run, its rows and its end.  Counts are exact 64-bit
 * numbers, neither scaled nor rounded; the writers decide how to print them.  The source of the
 * rows owns all strings; they are valid until the call returns.
 */
#ifndef ROW_H
#define ROW_H

#include "../base/say.h"

#include <libcpc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_MAX_EVENTS 64 /* per set: row.valid has a bit for each */

/* An event of a set. */
struct run_event {
	char *name;  /* as in the spec, without attributes */
	char *label; /* the name with the mode, ":k" or ":uk"; unique in its set */
	unsigned slot;
	bool is_signed; /* a difference of events: its counts are int64_t */
	double scale;	/* multiply a count by this to get `unit` */
	char *unit;	/* "": a plain number */
};

/* A ratio of the counts of a row.  Rows do not store its value: row_ratio() computes it. */
struct run_ratio {
	char *label; /* the name with the mode of its events; unique in its set */
	cpc_ratio_t *ratio;
	unsigned *event; /* for each of its events, the index in the set */
};

#define RUN_MAX_RATIOS 1000 /* per set */

/* Events that are counted together: one -c. */
struct run_set {
	char *spec;
	unsigned nevents, nratios;
	struct run_event *event; /* in the order of the spec */
	struct run_ratio *ratio; /* likewise */
};

/* A CPU and its place in the machine. */
struct run_cpu {
	int id, core, socket, node; /* the core is the number of its first CPU */
	int kind;		    /* the number of the first CPU with this PMU */
	char *pmu;		    /* of its kind of core; "": none; NULL: an old record */
};
#define RUN_MAX_KINDS 64 /* of cores */

/*
 * The object that a row counts.  cpustat has rows of CPUs, of groups of them (-A core, ...), or of
 * keys: it divides the counts of all CPUs among commands, cgroups, ....  A summary of LWPs (--by)
 * has a row for each LWP, process, command or owner.
 */
enum scope {
	SCOPE_NONE,
	SCOPE_LWP,
	SCOPE_PROCESS,
	SCOPE_CPU, /* the first one of cpustat */
	SCOPE_CORE,
	SCOPE_SOCKET,
	SCOPE_NODE,
	SCOPE_KIND, /* of cores; rows have the name of a PMU as key */
	SCOPE_ALL,
	SCOPE_COMMAND, /* the first one with keys */
	SCOPE_CGROUP,  /* the first owner of LWPs */
	SCOPE_SERVICE,
	SCOPE_CONTAINER,
	SCOPE_USER,
	SCOPES
};

/*
 * A key is the name of a cgroup, service, ..., or one of the fixed keys.  Users choose names: a
 * thread can be called "(idle)".  So the kind, not the text, distinguishes fixed keys.
 */
enum key_kind {
	KEY_NAME,
	KEY_IDLE,    /* no task ran */
	KEY_KERNEL,  /* kernel threads */
	KEY_NONE,    /* in no container */
	KEY_OTHERS,  /* the sum over all keys without a row */
	KEY_UNKNOWN, /* LWPs whose cgroup or user is unknown */
	KEY_KINDS
};

/* "name", "idle", ....  The parse function returns -1 for an unknown name. */
const char *key_kind_name(enum key_kind kind);
int key_kind_parse(const char *name);
/* The text of a fixed key, such as "(idle)". */
const char *key_fixed_text(enum key_kind kind);
/* The kind of a key of which only the text is known, as in old records. */
enum key_kind key_kind_of_text(const char *text);

static inline bool scope_has_keys(enum scope scope)
{
	return scope >= SCOPE_COMMAND;
}

/* Do rows have a key, of whatever kind, instead of a number? */
static inline bool scope_has_names(enum scope scope)
{
	return scope_has_keys(scope) || scope == SCOPE_KIND;
}

static inline bool scope_is_owner(enum scope scope)
{
	return scope >= SCOPE_CGROUP;
}

/* The two commands that cputrack --compare compares. */
enum run_side { SIDE_NONE, SIDE_OLD, SIDE_NEW };

struct run {
	char *tool;  /* "cputrack" or "cpustat" */
	char **argv; /* its command line; ends with NULL */
	char *host;
	int64_t start_ns; /* since the Epoch, when the time of rows is 0 */
	bool of_cpus;	  /* the rows are of CPUs, not of LWPs */
	/* Of CPUs: the scope of all rows except totals.  Of LWPs: the kind of owners in rows;
	 * SCOPE_NONE: owners are unknown. */
	enum scope scope;
	bool many; /* rows can be of several processes */
	/* SCOPE_NONE: not a summary.  A summary of CPUs always has SCOPE_CPU. */
	enum scope by;
	bool interval;	    /* with `by`: the summary is of an interval of the run */
	char *cycles;	    /* the name of the cycles of rows: "tsc" or "tick" */
	char *engine;	    /* of cputrack: "kernel" or "ptrace"; NULL: an old record */
	enum run_side side; /* of this run's command */
	/* Known at the end: */
	bool incomplete; /* totals lack some LWP or process */
	bool cut;	 /* a signal ended this run of cputrack -r; means leave it out */
	bool ended;	 /* its command has ended, with `status` as of waitpid(2) */
	int status;
	size_t nsets, ncpus;
	struct run_set *set;
	struct run_cpu *cpu; /* of cpustat; ascending */
};

enum row_kind {
	ROW_TICK, /* counts of an interval */
	ROW_INIT_LWP,
	ROW_FINI_LWP,
	ROW_LWP_CREATE,
	ROW_LWP_EXIT,
	ROW_FORK,  /* `child` was created; no counts */
	ROW_EXEC,  /* totals of the program that exec replaced */
	ROW_IMAGE, /* follows ROW_EXEC: `command` is the new program; no counts */
	ROW_EXIT,
	ROW_DETACH,
	ROW_TOTAL, /* of all CPUs or all processes */
	ROW_SUM,   /* of a summary */
	ROW_KINDS
};

struct row {
	enum row_kind kind;
	int64_t time_ns;  /* since the start; the same in all rows of a sample */
	int64_t wall_ns;  /* since the Epoch */
	pid_t pid, tid;	  /* 0 in rows of CPUs */
	int lwp;	  /* from 1 in each process */
	const char *comm; /* the LWP's name when it was last read; NULL: unknown */
	enum scope scope;
	int id;		 /* of the CPU, core, socket or node; else 0 */
	const char *key; /* the name of the cgroup, service, ..., or the text of a fixed key; NULL:
			  * unknown, or the scope has no keys */
	enum key_kind key_kind;
	const char *user;	     /* the name of an LWP's user; NULL: unknown */
	unsigned key_width;	     /* of the longest key of this sample; 0: unknown */
	const char *container, *pod; /* the ids of that service or container; NULL: it has none */
	const char *outer;	     /* the container in which that container runs; NULL: none */
	unsigned ncpus;		     /* number of CPUs whose counts are included; rows of LWPs: 0 */
	uint64_t runs;		     /* ROW_SUM, ROW_TOTAL: number of LWPs or processes */
	bool folded;		     /* ROW_SUM: stands for several, which counted nothing */
	bool shared;		     /* `share` is known */
	double share;		     /* ROW_SUM: of the total of the first event, 0 to 1 */
	size_t set;		     /* index of the set that was counted */
	const uint64_t *val;	     /* counts by event of the set; NULL: a kind without counts */
	uint64_t valid;		     /* bit i: val[i] is known */
	uint64_t cycles;	     /* known if any count is known */
	int64_t span_ns;	     /* length of the time of these counts; 0: unknown */
	bool incomplete;	     /* counts of some LWP or CPU are missing */
	uint64_t late;		     /* how often a running LWP got or lost this key unnoticed; each
				      * time, one slice of counts at most is in another row */
	pid_t child;
	const char *command;
	bool ended; /* ROW_EXIT: `status` is the status of waitpid(2) */
	int status;
};

/* Is this a total of a process, or of one of the programs that a process ran? */
static inline bool row_is_program_total(const struct row *row)
{
	return row->kind == ROW_EXEC || row->kind == ROW_EXIT || row->kind == ROW_DETACH;
}

/* A count as a number, without its scale. */
static inline double count_real(const struct run_event *event, uint64_t val)
{
	return event->is_signed ? (double)(int64_t)val : (double)val;
}

/* Does it count nanoseconds, and has no unit?  Writers print seconds or the like. */
bool run_event_is_clock(const struct run_event *event);
bool run_event_is_cpu_time(const struct run_event *event); /* a clock of what runs on a CPU... */
bool run_event_is_wait(const struct run_event *event);	   /* ...or waits for one */

/* The value of ratio `i` of the row's set.  NaN: a count is unknown, or a division by 0. */
double row_ratio(const struct run *run, const struct row *row, unsigned i);
#define RATIO_FORMAT "%.12g" /* for machines: all significant digits */

/* Sets the kind of each CPU by its PMU.  False: there are too many. */
bool run_find_kinds(struct run *run);
/* The index of an event or a ratio in its set; -1: not in this set. */
int run_find_event(const struct run_set *set, const char *label);
int run_find_ratio(const struct run_set *set, const char *label);

/* Copies all texts of a row; row_free_texts() frees the copies. */
void row_copy_texts(struct row *row);
void row_free_texts(struct row *row);
void row_set_fixed_key(struct row *row, enum key_kind kind);
/*
 * The key for people, escaped; free it.  Fixed keys are in parentheses.  A "(" at the
 * beginning of a name is escaped, so no name looks like a fixed key, or like "(empty)".
 */
char *row_key_text(const struct row *row, enum escape how);
/* The CPU, the group of CPUs or the key that a row counts, as a row of its own. */
struct row row_object(const struct row *row);
/* Orders LWPs, processes, CPUs, keys and commands: by pid, id, lwp, key (fixed first) and comm. */
int row_compare(const struct row *a, const struct row *b);

/* The names of kinds, scopes and sides.  A parse function returns -1 for an unknown name,
 * scope_parse() SCOPE_NONE. */
const char *row_kind_name(enum row_kind kind);
int row_kind_parse(const char *name);
const char *scope_name(enum scope scope);
/* Where "kind" has another meaning: in members of json and labels of OpenMetrics. */
const char *scope_member(enum scope scope);
enum scope scope_parse(const char *name);
/* Our name for a word of other tools, such as "process" for "pid"; or the word itself. */
const char *row_word(const char *word);
const char *run_side_name(enum run_side side);
int run_side_parse(const char *name);

/* ISO 8601 in UTC with nanoseconds: 2026-01-31T23:59:59.123456789Z. */
#define ISO_TIME_SIZE 40
void iso_time(char text[ISO_TIME_SIZE], int64_t ns);
/* False: `text` is not such a time. */
bool iso_time_parse(const char *text, int64_t *ns);

char **run_copy_argv(char *const *argv);
/* Frees all members; malloc(3) allocated them. */
void run_free(struct run *run);

#endif /* ROW_H */
