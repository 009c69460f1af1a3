/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event.h - finds the counters of the kernel for the name of an event.
 *
 * For each kind of name there is a resolver, which turns names into terms.  A term is one
 * counter.
 */
#ifndef CPCI_EVENT_H
#define CPCI_EVENT_H

#include "../perf/perf.h"

#include <libcpc.h>

#define CPCI_MAX_SYMBOL 256

/* One counter of the kernel. */
struct cpci_term {
	bool minus;   /* its count is subtracted from the event's */
	bool one_pmu; /* its PMU was named explicitly: do not add the other kinds of cores */
	struct perf_event_attr attr;
	/*
	 * Breakpoints: the symbol that attr.bp_addr is an offset from, or "".  attr.bp_len
	 * may be 0: as long as the symbol.  Uprobes: the function that attr.probe_offset is
	 * an offset from.
	 */
	char symbol[CPCI_MAX_SYMBOL];
	/*
	 * Uprobes: the file of the function, or "".  It is a path, which begins with a slash,
	 * or the name of a program or library that the process has mapped.
	 */
	union {
		char file[CPCI_MAX_SYMBOL];
		char filter[CPCI_MAX_SYMBOL]; /* tracepoints: the filter, or "" */
	};
	bool exact;  /* the symbol itself, without its other versions and clones */
	bool probe;  /* uprobes: it is a probe rather than a function */
	uint_t site; /* uprobes: the number of the site, from 1; 0: there must be one only */
};

#define CPCI_MAX_SITES 256  /* of a probe in a file */
#define CPCI_MAX_ENTRIES 16 /* of a function in a file: its versions and clones */

#define CPCI_MAX_TERMS 4096

/* A resolved name: a sum and difference of terms, usually a single one. */
struct cpci_event {
	const struct cpci_defs *defs; /* input: the definitions to search */
	uint_t depth;		      /* input: the number of nested definitions */
	const char *resolver;	      /* the kind of the name */
	double scale;		      /* the factor from counts... */
	char unit[16];		      /* ...to this unit; "": plain counts */
	struct cpci_def *redefined;   /* the user's definition that replaces another event... */
	const char *replaced;	      /* ...of this kind; NULL: none */
	const struct cpci_def *ratio; /* with CPC_IS_RATIO: the definition of the ratio */
	uint_t lacking;		      /* the kinds of cores that lack it, a bit for each */
	bool unknown;		      /* with CPC_INVALID_EVENT: not even a similar name is known */
	uint_t nterms;
	struct cpci_term *term; /* allocated: see cpci_event_free() */
};

/* ---- event.c ------------------------------------------------------------------ */

/*
 * Fills in `event`, whose defs and depth are set, by its name and CPC_COUNT flags.  -1: see
 * `diag`; there is nothing to free.
 */
int cpci_event_resolve(const char *name, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag);

/* Resolvers return 1: `event` has its terms; 0: another kind of name; -1: refused, see `diag`. */
typedef int cpci_resolver(const char *name, uint_t flags, struct cpci_event *event,
			  struct cpci_diag *diag);
cpci_resolver cpci_event_defined, cpci_event_vendor; /* definition.c */
cpci_resolver cpci_event_pfm;			     /* pfm.c */
cpci_resolver cpci_event_software, cpci_event_raw;   /* kernel.c */
cpci_resolver cpci_event_breakpoint;		     /* breakpoint.c */
cpci_resolver cpci_event_uprobe, cpci_event_sdt;     /* uprobe.c */
cpci_resolver cpci_event_sysfs;			     /* sysfs.c */
cpci_resolver cpci_event_tracepoint;		     /* tracepoint.c */

/* ---- terms.c: the terms of an event -------------------------------------------------- */

/* Adds a term.  -1: out of memory, or too many terms: see `diag`. */
int cpci_event_add(struct cpci_event *event, const struct cpci_term *term, struct cpci_diag *diag);
/* Makes `attr` the only term of `event`, in the modes of `flags`.  1, or -1: see `diag`. */
int cpci_event_single(struct cpci_event *event, const struct perf_event_attr *attr, uint_t flags,
		      struct cpci_diag *diag);
void cpci_event_free(struct cpci_event *event); /* frees the terms */
/* How many sites of its function or probe can be counted. */
static inline uint_t cpci_term_most_sites(const struct cpci_term *term)
{
	return term->probe ? CPCI_MAX_SITES : CPCI_MAX_ENTRIES;
}

/* ---- fields.c: parts of names, such as "kind/field=value,field/" --------------------- */

/*
 * Parses one field, in the order of the name; its value may be NULL.  Called with NULL after
 * the last field.  Returns NULL, or the error.
 */
typedef const char *cpci_field_fn(void *arg, char *field, char *value);
/* 1: all fields are parsed; 0: a name of another kind; -1: see `diag`. */
int cpci_event_fields(const char *name, const char *kind, void *arg, cpci_field_fn *parse,
		      struct cpci_diag *diag);
/*
 * Splits "symbol+offset", which is modified; the symbol may be in double quotes.  Returns NULL, or
 * the error.
 */
const char *cpci_event_symbol(char *text, struct cpci_term *term, uint64_t *offset);
/*
 * Is `word`, of `n` bytes, a modifier that makes samples precise?  True: `diag` says that it
 * makes no sense for counts of `name`.
 */
bool cpci_event_precise(const char *name, const char *word, size_t n, struct cpci_diag *diag);

/* Called with the name and the description of an event. */
typedef void cpci_walk_fn(void *arg, const char *name, const char *desc);
/* The argument of cpci_take_first(), which keeps the name of the first event. */
struct cpci_first {
	char *name; /* "": none yet */
	size_t size;
};
cpci_walk_fn cpci_take_first;
void cpci_software_walk(void *arg, cpci_walk_fn *action); /* the kernel's software events */
/* the short names of generic hardware events */
void cpci_pfm_walk(void *arg, cpci_walk_fn *action);
void cpci_pfm_walk_core(void *arg, cpci_walk_fn *action);   /* events of the core PMU */
void cpci_vendor_walk(void *arg, cpci_walk_fn *action);	    /* events of vendors' files */
void cpci_sysfs_walk(void *arg, cpci_walk_fn *action);	    /* events of all other PMUs */
void cpci_tracepoint_walk(void *arg, cpci_walk_fn *action); /* all tracepoints */
/* Does restarting a set in a signal handler, or the return from it, hit this tracepoint? */
bool cpci_tracepoint_is_own(const struct perf_event_attr *attr);

/* ---- filter.c: fields and filters of tracepoints ------------------------------------- */

/* Makes the path of a file of the tracepoint "system:event", below tracefs. */
void cpci_tracepoint_path(const char *name, const char *file, char *path, size_t size);
/* Lists the fields of a tracepoint, separated by commas, as far as they fit. */
void cpci_tracepoint_fields(const char *name, char *fields, size_t size);

/*
 * What is wrong with a filter that the kernel does not accept, and at which byte?  NULL: unknown.
 * `tracepoint`: "system:event".
 */
const char *cpci_filter_wrong(const char *tracepoint, const char *filter, size_t *at);
/* Why would a filter that the kernel accepts never match?  NULL: it may match. */
const char *cpci_filter_misleads(const char *tracepoint, const char *filter, size_t *at);

/* ---- expr.c: expressions of definitions ------------------------------------------- */

#define CPCI_MAX_PART 200 /* the longest name of an event in an expression */

enum cpci_token { CPCI_TOKEN_END, CPCI_TOKEN_EVENT, CPCI_TOKEN_NUMBER, CPCI_TOKEN_OPERATOR };
/* Returns the next word of an expression and its length `n`; moves *p behind it. */
enum cpci_token cpci_token_next(const char **p, const char **word, size_t *n);

/* Is the expression a ratio, rather than an event? */
bool cpci_expr_is_ratio(const char *expr);

#define CPCI_MAX_NEST 64 /* nested parentheses */
/* Each nesting level, and the outermost one, has an unfinished sum and product. */
#define CPCI_RATIO_STACK (2 * (CPCI_MAX_NEST + 1) + 1)

/* A ratio as a program for a stack machine, whose stack has CPCI_RATIO_STACK numbers. */
struct cpc_ratio {
	char *text;
	uint_t nevents, nops;
	char **event;
	struct cpci_op {
		char what; /* 'e': an event; 'n': a number; or an operator */
		uint_t event;
		long double number;
	} * op;
};

/* NULL and errno: EINVAL or ENOMEM; `wrong` is the reason. */
struct cpc_ratio *cpci_ratio_parse(const char *expr, const char **wrong);
void cpci_ratio_free(struct cpc_ratio *ratio); /* NULL: nothing */

/* ---- defs.c: definitions of events, in the order in which they are looked at ----- */

enum cpci_source { CPCI_DEF_USER, CPCI_DEF_SOLARIS, CPCI_DEF_GENERIC, CPCI_DEF_VENDOR };

struct cpci_def {
	enum cpci_source source;
	const char *file;
	int line;
	/* the PMUs that it is for, whose events its expression names; NULL: all */
	const char *section;
	bool ratio; /* it is a ratio, not an event */
	/* of a CPU of the past: `expr` lists the most similar events of today, or "none" */
	bool past;
	const char *name, *expr, *desc;
	const char *error;  /* why it is malformed; NULL: it is not */
	_Atomic int warned; /* a warning said that it replaces another event */
};

struct cpci_defs {
	size_t n, room;
	struct cpci_def *def;
	size_t ntexts;
	char **text; /* the texts that contain the strings of definitions */
	size_t nwarnings;
	char **warning; /* "FILE:LINE: message", for each malformed line */
};

/* Reads the user's files and the shipped definitions.  NULL: see `diag`. */
struct cpci_defs *cpci_defs_new(struct cpci_diag *diag);
void cpci_defs_free(struct cpci_defs *defs);
/* Is the definition for this machine?  This may start libpfm4, which is slow. */
bool cpci_def_is_here(const struct cpci_def *def);
/* Reads the definitions for this machine in files *.def of directories, which may be missing. */
struct cpci_defs *cpci_defs_read_dir(const char *const *dirs, size_t n, struct cpci_diag *diag);

/* ---- vendor.c: event files of vendors, read when no other resolver knows a name ------- */

/* Sorted by name, each of which occurs once.  NULL: see `diag`. */
const struct cpci_defs *cpci_vendor_defs(struct cpci_diag *diag);
const struct cpci_def *cpci_vendor_find(const struct cpci_defs *vendor, const char *name);
/* The definitions read so far; NULL: not read yet. */
const struct cpci_defs *cpci_vendor_loaded(void);

/* ---- cpuid.c: which CPU this is --------------------------------------------------------- */

/* Does the CPU's name in perf(1), with or without its stepping, match a pattern of fnmatch(3)? */
bool cpci_cpuid_matches(const char *pattern);
/* Does CPC_CPUID name another CPU than this machine's? */
bool cpci_cpuid_is_other(void);

struct cpci_standin {
	const char *cpu; /* a pattern of fnmatch(3) */
	const char *desc, *pmu;
};
/* libpfm4's PMU with the same events as this CPU, if libpfm4 does not know the CPU; or NULL. */
const struct cpci_standin *cpci_find_standin(void);

/* ---- kernel.c --------------------------------------------------------------------- */

bool cpci_software_has(const char *name); /* ignores case; without modifiers */

/* ---- sysfs.c --------------------------------------------------------------------- */

/* Finds a PMU that has the event in sysfs: "power/energy-pkg/" for "energy-pkg". */
bool cpci_sysfs_meant(const char *event, char *name, size_t size);

/* ---- pfm.c ----------------------------------------------------------------------- */

/* The core PMU of this machine.  cpci_pfm_core() may start libpfm4, which is slow. */
struct cpci_core_pmu {
	const char *name;  /* NULL: libpfm4 does not know it */
	const char *alias; /* another PMU with the same events, for definitions; or NULL */
	const char *desc;
};
const struct cpci_core_pmu *cpci_pfm_core(void);
/* Is it an event of another CPU?  `desc` is that CPU. */
bool cpci_pfm_elsewhere(const char *name, const char **desc);
/* Visits the events of the PMU that libpfm4 calls as the first `n` bytes; NULL: of the cores. */
void cpci_pfm_walk_prefix(const char *prefix, size_t n, void *arg, cpci_walk_fn *action);

/* ---- tracepoint.c ---------------------------------------------------------------- */

/* Finds the tracepoint, or the entry of a system call, with the name `word` in any system. */
bool cpci_tracepoint_meant(const char *word, char *name, size_t size);
/* Finds a tracepoint whose name is similar. */
bool cpci_tracepoint_near(const char *word, char *name, size_t size);
/* The name of the tracepoint of an attr.  False: unknown. */
bool cpci_tracepoint_name(const struct perf_event_attr *attr, char *name, size_t size);

/* ---- attr.c: attributes of requests ------------------------------------------------ */

/* Applies an attribute to a resolved event called `name`.  -1: see `diag`. */
int cpci_attr_apply(struct cpci_event *event, const char *name, const cpc_attr_t *attr,
		    struct cpci_diag *diag);
bool cpci_attr_is(const char *name);		  /* on any machine */
void cpci_attr_try(struct cpci_suggest *suggest); /* suggests attributes */
/* Visits the attributes that this machine's core PMU has. */
void cpci_attr_walk(void *arg, void (*action)(void *arg, const char *attr));

#endif /* CPCI_EVENT_H */
