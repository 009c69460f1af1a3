/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event.h - from the name of an event to counters of the kernel.
 *
 * A resolver for each kind of name turns it into terms, each of which is one counter.
 */
#ifndef CPCI_EVENT_H
#define CPCI_EVENT_H

#include "../perf/perf.h"

#include <libcpc.h>

#define CPCI_MAX_SYMBOL 256

/* One counter of the kernel. */
struct cpci_term {
	bool minus;   /* its count is taken away from the event's, not added to it */
	bool one_pmu; /* its PMU was named: no other kind of cores counts it, too */
	struct perf_event_attr attr;
	/*
	 * Breakpoints: "", or what attr.bp_addr is an offset to.  attr.bp_len may be 0 then:
	 * as long as the symbol.  Uprobes: the function that attr.probe_offset is an offset to.
	 */
	char symbol[CPCI_MAX_SYMBOL];
	/*
	 * Uprobes: "", or the file that has it: a path, which begins with a slash, or the name
	 * of a program or a library that the process has mapped.
	 */
	union {
		char file[CPCI_MAX_SYMBOL];
		char filter[CPCI_MAX_SYMBOL]; /* tracepoints: "", or which of them count */
	};
	uint_t site; /* uprobes: 0, or of the probe that `symbol` names, which of its sites */
};

#define CPCI_MAX_SITES 16 /* of a probe in a file */

#define CPCI_MAX_TERMS 1024

/* What a name stands for: a sum and difference of terms, mostly one. */
struct cpci_event {
	const struct cpci_defs *defs; /* given: the definitions to look in */
	uint_t depth;		      /* given: how many led here, lest they go in circles */
	const char *resolver;	      /* who knew the name */
	double scale;		      /* what a count is to be multiplied with... */
	char unit[16];		      /* ...to be in this unit; "": it is a number */
	struct cpci_def *redefined;   /* NULL, or the user's definition of a name that... */
	const char *known_as;	      /* ...others know, too */
	const struct cpci_def *ratio; /* set with CPC_IS_RATIO: the definition that is one */
	uint_t nterms;
	struct cpci_term *term; /* see cpci_event_free() */
};

/* ---- event.c ------------------------------------------------------------------ */

/*
 * Fills in `event`, whose defs and depth are given, by its name and CPC_COUNT flags.
 * -1: see `diag`; there is nothing to free.
 */
int cpci_event_resolve(const char *name, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag);

/*
 * The resolvers.  1: the terms of `event` are it; 0: not one of mine; -1: mine, but
 * it cannot be had, and `diag` says why.
 */
typedef int cpci_resolver(const char *name, uint_t flags, struct cpci_event *event,
			  struct cpci_diag *diag);
cpci_resolver cpci_event_user, cpci_event_solaris, cpci_event_generic; /* definition.c */
cpci_resolver cpci_event_vendor;
cpci_resolver cpci_event_pfm;			   /* pfm.c */
cpci_resolver cpci_event_software, cpci_event_raw; /* kernel.c */
cpci_resolver cpci_event_breakpoint;		   /* breakpoint.c */
cpci_resolver cpci_event_uprobe, cpci_event_sdt;   /* uprobe.c */
cpci_resolver cpci_event_sysfs;			   /* sysfs.c */
cpci_resolver cpci_event_tracepoint;		   /* tracepoint.c */

/* ---- terms.c: the terms of an event -------------------------------------------------- */

/* Adds a term.  -1: no memory, or too many, see `diag`. */
int cpci_event_add(struct cpci_event *event, const struct cpci_term *term, struct cpci_diag *diag);
/* Makes `event` the one term `attr`, in the modes of `flags`.  1, or -1: see `diag`. */
int cpci_event_single(struct cpci_event *event, const struct perf_event_attr *attr, uint_t flags,
		      struct cpci_diag *diag);
void cpci_event_free(struct cpci_event *event); /* its terms */

/*
 * ---- modifier.c ---------------------------------------------------------------------
 *
 * Is the modifier `word` of `n` bytes, in the event `name`, one that makes samples precise?
 * True: `diag` says that counts take none.
 */
bool cpci_event_precise(const char *name, const char *word, size_t n, struct cpci_diag *diag);

/* ---- fields.c: names of the form "kind/field=value,field/" --------------------------- */

/*
 * One field, whose value may be NULL, in the order of the name, and NULL at their end.
 * Returns NULL, or what is wrong with it.
 */
typedef const char *cpci_field_fn(void *arg, char *field, char *value);
/* 1: all are parsed; 0: the name is not of that kind; -1: see `diag`. */
int cpci_event_fields(const char *name, const char *kind, void *arg, cpci_field_fn *parse,
		      struct cpci_diag *diag);
/* "symbol+offset", which is changed.  NULL, or what is wrong with it. */
const char *cpci_event_symbol(char *text, char *symbol, uint64_t *offset);

/* Names and descriptions of an event each. */
typedef void cpci_walk_fn(void *arg, const char *name, const char *desc);
void cpci_software_walk(void *arg, cpci_walk_fn *action);   /* the kernel's software events */
void cpci_pfm_walk(void *arg, cpci_walk_fn *action);	    /* its generic hardware events, short */
void cpci_pfm_walk_core(void *arg, cpci_walk_fn *action);   /* those of the core PMU */
void cpci_vendor_walk(void *arg, cpci_walk_fn *action);	    /* of event files */
void cpci_sysfs_walk(void *arg, cpci_walk_fn *action);	    /* those of all other PMUs */
void cpci_tracepoint_walk(void *arg, cpci_walk_fn *action); /* all of them */
/* Does it happen between a restart of a set and the return of the handler that does that? */
bool cpci_tracepoint_is_own(const struct perf_event_attr *attr);

/* ---- expr.c: expressions of definitions ------------------------------------------- */

#define CPCI_MAX_PART 200 /* the name of an event in an expression */

enum cpci_token { CPCI_TOKEN_END, CPCI_TOKEN_EVENT, CPCI_TOKEN_NUMBER, CPCI_TOKEN_OPERATOR };
/* The next word of an expression, of `n` characters; *p is moved behind it. */
enum cpci_token cpci_token_next(const char **p, const char **word, size_t *n);

/* Is it computed from counts, and no event that can be counted? */
bool cpci_expr_is_ratio(const char *expr);

#define CPCI_MAX_NEST 64 /* parentheses within each other */
/* Each nest, and what is around all, has a sum and a product that are not finished. */
#define CPCI_RATIO_STACK (2 * (CPCI_MAX_NEST + 1) + 1)

/* A ratio in the order of a stack machine, which has room with CPCI_RATIO_STACK numbers. */
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

/* NULL and errno, EINVAL or ENOMEM, with what is `wrong`. */
struct cpc_ratio *cpci_ratio_parse(const char *expr, const char **wrong);
void cpci_ratio_free(struct cpc_ratio *ratio);

/* ---- defs.c: definitions of events, in the order in which they are looked at ----- */

enum cpci_source { CPCI_DEF_USER, CPCI_DEF_SOLARIS, CPCI_DEF_GENERIC, CPCI_DEF_VENDOR };

struct cpci_def {
	enum cpci_source source;
	const char *file;
	int line;
	const char *section; /* NULL, or for which PMUs it is: its names are those of that PMU */
	bool ratio;	     /* it is computed from counts, and no event */
	bool past; /* of a CPU of the past: `expr` lists what is nearest to it today, or "none" */
	size_t order; /* among those of vendors */
	const char *name, *expr, *desc;
	const char *error; /* NULL, or what is wrong with it: only who uses it fails */
	_Atomic int told;  /* that it redefines another's name, once */
};

struct cpci_defs {
	size_t n;
	struct cpci_def *def;
	size_t ntexts;
	char **text; /* what the strings of definitions are parts of */
	size_t nwarnings;
	char **warning; /* "FILE:LINE: what is wrong", for each malformed line */
};

/* Reads the user's files and the shipped definitions.  NULL: see `diag`. */
struct cpci_defs *cpci_defs_new(struct cpci_diag *diag);
void cpci_defs_free(struct cpci_defs *defs);
/* Is it for this machine?  Only who asks has to wait for libpfm4 to be started. */
bool cpci_def_is_here(const struct cpci_def *def);
/* The files *.def of a directory, which need not be there: what is for this machine. */
struct cpci_defs *cpci_defs_read_dir(const char *const *dirs, size_t n, struct cpci_diag *diag);

/*
 * ---- vendor.c: the event files of vendors, read when a name is not known without them -----
 *
 * Sorted by their names, of which the first of each is there.
 */

/* NULL: see `diag`. */
const struct cpci_defs *cpci_vendor_defs(struct cpci_diag *diag);
const struct cpci_def *cpci_vendor_find(const struct cpci_defs *vendor, const char *name);
/* Those that were read, or NULL: nobody has asked. */
const struct cpci_defs *cpci_vendor_loaded(void);

/* ---- cpuid.c: which CPU this is --------------------------------------------------------- */

/* As perf(1) names it: is it one of a pattern of fnmatch(3), with or without its stepping? */
bool cpci_cpuid_matches(const char *pattern);
/* Does CPC_CPUID name another CPU than this machine's? */
bool cpci_cpuid_is_other(void);

struct cpci_standin {
	const char *cpu; /* a pattern */
	const char *desc, *pmu;
};
/* The PMU of libpfm4 with the same events as this CPU, should it not know it; or NULL. */
const struct cpci_standin *cpci_find_standin(void);

/* ---- kernel.c --------------------------------------------------------------------- */

bool cpci_software_has(const char *name); /* in any case, without modifiers */

/* ---- pfm.c ----------------------------------------------------------------------- */

struct cpci_core_pmu {
	const char *name, *desc;
	uint_t ncounters; /* general and fixed ones */
};
/* What libpfm4 takes this machine's core PMU for; false, or NULL: none that it knows. */
bool cpci_pfm_core(struct cpci_core_pmu *pmu);
const char *cpci_pfm_core_name(void);
/* Is it an event of another CPU, and of which? */
bool cpci_pfm_elsewhere(const char *name, const char **desc);
/* The events of the PMU of libpfm4 whose name is the first `n` bytes of `pmu`. */
void cpci_pfm_walk_prefix(const char *pmu, size_t n, void *arg, cpci_walk_fn *action);

/* ---- tracepoint.c ---------------------------------------------------------------- */

/* A tracepoint, or the entry of a system call, that is called `word` without its system. */
bool cpci_tracepoint_meant(const char *word, char *name, size_t size);
/* The one that is called nearly so. */
bool cpci_tracepoint_near(const char *word, char *name, size_t size);
/* The tracepoint that an event of the kernel is.  False: it cannot be known. */
bool cpci_tracepoint_name(const struct perf_event_attr *attr, char *name, size_t size);
/* The fields of a tracepoint, as text, with a comma between them: as far as there is room. */
void cpci_tracepoint_fields(const char *name, char *fields, size_t size);

/* ---- attr.c: attributes of requests ------------------------------------------------ */

/* Sets an attribute of a resolved event called `name`.  -1: see `diag`. */
int cpci_attr_apply(struct cpci_event *event, const char *name, const cpc_attr_t *attr,
		    struct cpci_diag *diag);
bool cpci_attr_is(const char *name);		  /* on some machine */
void cpci_attr_try(struct cpci_suggest *suggest); /* their names */
/* Those that the core PMU has here. */
void cpci_attr_walk(void *arg, void (*action)(void *arg, const char *attr));

#endif /* CPCI_EVENT_H */
