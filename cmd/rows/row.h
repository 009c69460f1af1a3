/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * row.h - the model of all output: a run, and the rows that tell what happened in it.
 *
 * A run is told to a sink (sink.h): its description, its rows, its end.  Counts are exact
 * 64-bit numbers, neither scaled nor rounded; how they are shown is the writers' affair.
 * Strings are those of the teller, valid until the call returns.
 */
#ifndef ROW_H
#define ROW_H

#include <libcpc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RUN_MAX_EVENTS 64 /* of a set: valid counts are bits of a word */

/* What is counted on a slot of a set. */
struct run_event {
	char *name;  /* as in the spec, without attributes */
	char *label; /* the name with the mode, ":k" or ":uk"; unique in its set */
	unsigned slot;
	bool is_signed; /* a difference of events: its counts are int64_t */
	double scale;	/* a count times this is in `unit` */
	char *unit;	/* "": a plain number */
};

/* A ratio of counts of a row; it is never added up, nor kept: row_ratio() computes it. */
struct run_ratio {
	char *label; /* its name with the mode of its events; unique in its set */
	cpc_ratio_t *ratio;
	unsigned *event; /* of each of its events, the index in the set */
};

#define RUN_MAX_RATIOS 1000 /* of a set */

/* Events that are counted together: a -c. */
struct run_set {
	char *spec;
	unsigned nevents, nratios;
	struct run_event *event; /* in the order of the spec */
	struct run_ratio *ratio; /* likewise */
};

/* A CPU, and what it is part of. */
struct run_cpu {
	int id, core, socket, node; /* a core has the number of its first CPU */
};

/* What rows of CPUs are about. */
enum row_unit { UNIT_CPU, UNIT_CORE, UNIT_SOCKET, UNIT_NODE, UNIT_ALL, ROW_UNITS };

/* What the rows of a summary are about. */
enum row_by { BY_NOTHING, BY_LWP, BY_PROCESS, BY_COMMAND, BY_CPU, ROW_BYS };

struct run {
	char *tool;  /* "cputrack" or "cpustat" */
	char **argv; /* its command line; NULL at the end */
	char *host;
	int64_t start_ns;   /* since the Epoch */
	bool of_cpus;	    /* rows are of CPUs, not of LWPs */
	enum row_unit unit; /* what the rows of CPUs are of, all but totals */
	bool many;	    /* there may be several processes */
	enum row_by by;	    /* the rows are a summary, and their total */
	char *cycles;	    /* what the cycles of rows are: "tsc" or "tick" */
	char *engine;	    /* of LWPs: "kernel" or "ptrace"; NULL: that is not told */
	/* Known at the end: */
	bool lacks; /* some LWPs or processes were not counted, and totals are incomplete */
	bool cut;   /* a signal ended one run of several, which is in no mean */
	size_t nsets, ncpus;
	struct run_set *set;
	struct run_cpu *cpu; /* ascending; of a run of CPUs only */
};

enum row_kind {
	ROW_TICK,
	ROW_INIT_LWP,
	ROW_FINI_LWP,
	ROW_LWP_CREATE,
	ROW_LWP_EXIT,
	ROW_FORK,  /* of `child`; no counts */
	ROW_EXEC,  /* totals of the program that was replaced */
	ROW_IMAGE, /* an exec, too: `command` is what runs now; no counts */
	ROW_EXIT,
	ROW_DETACH,
	ROW_TOTAL, /* of all CPUs, or of all processes */
	ROW_SUM,   /* of a summary */
	ROW_KINDS
};

struct row {
	enum row_kind kind;
	int64_t time_ns;  /* since the start; the same for all rows of a sample */
	int64_t wall_ns;  /* since the Epoch */
	pid_t pid, tid;	  /* 0: a row of CPUs */
	int lwp;	  /* from 1 in each process */
	const char *comm; /* the LWP's name when it was last looked at; NULL: not known */
	enum row_unit unit;
	int id;		     /* of the unit; UNIT_ALL: 0 */
	unsigned ncpus;	     /* CPUs that the counts are of; 0: a row of an LWP */
	uint64_t runs;	     /* of a summary or total: LWPs or processes in it */
	bool shared;	     /* `share` is known: */
	double share;	     /* of a row of a summary in the total of the first event */
	size_t set;	     /* whose counts these are */
	const uint64_t *val; /* one per event of the set; NULL: a kind without counts */
	uint64_t valid;	     /* bit i: val[i] is known */
	uint64_t cycles;     /* known if any count is */
	int64_t span_ns;     /* the time in which that was counted; 0: not known */
	bool incomplete;     /* a total without the counts of some LWP or CPU */
	pid_t child;
	const char *command;
	bool ended; /* ROW_EXIT: `status` is that of waitpid(2) */
	int status;
};

/*
 * Ratio `i` of the set of a row with counts, whatever the row adds up.  Not a number: it divides
 * by 0, or a count is not known.
 */
double row_ratio(const struct run *run, const struct row *row, unsigned i);
/* Written with so many digits that no reader loses any that tell something. */
#define RATIO_FORMAT "%.12g"

/* The ratio of a set by its label; -1: it has none of that. */
int run_find_ratio(const struct run_set *set, const char *label);
/* The labels of all sets, each once: their number.  The array is to be freed. */
size_t run_ratio_labels(const struct run *run, const char ***label);

/* The totals of a process, or of one of the programs that it ran? */
static inline bool row_is_program_total(const struct row *row)
{
	return row->kind == ROW_EXEC || row->kind == ROW_EXIT || row->kind == ROW_DETACH;
}

/* A count as a number, without its scale. */
static inline double count_real(const struct run_event *event, uint64_t val)
{
	return event->is_signed ? (double)(int64_t)val : (double)val;
}

/* Words for kinds, as in tables, and for units.  -1: it is none of them. */
const char *row_kind_name(enum row_kind kind);
int row_kind_parse(const char *name);
const char *row_unit_name(enum row_unit unit);
int row_unit_parse(const char *name);
const char *row_by_name(enum row_by by);
int row_by_parse(const char *name);

/* ISO 8601 in UTC with nanoseconds: 2026-01-31T23:59:59.123456789Z. */
#define ISO_TIME_SIZE 40
void iso_time(char text[ISO_TIME_SIZE], int64_t ns);
/* False: it is no such time. */
bool iso_time_parse(const char *text, int64_t *ns);

/* Frees what a run has; all of it was allocated by malloc(3). */
void run_free(struct run *run);

#endif /* ROW_H */
