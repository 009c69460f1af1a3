/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * util.h - helpers of all programs.
 */
#ifndef UTIL_H
#define UTIL_H

#include <libcpc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses; cputrack also returns those of its command. */
enum {
	STATUS_OK = 0,
	STATUS_FAILED = 1,
	STATUS_USAGE = 2,
	STATUS_ABOVE = 3,	   /* an event grew by more than the limit */
	STATUS_COMMAND_FAILED = 4, /* compared runs failed */
};

#define NSEC 1000000000LL

int64_t now_ns(void);  /* CLOCK_MONOTONIC */
int64_t wall_ns(void); /* since the Epoch */

/*
 * The first time last + n * step, n > 0, that is in the future on CLOCK_MONOTONIC: missed times are
 * omitted.
 */
int64_t next_on_grid(int64_t last_ns, int64_t step_ns);

/*
 * Parses seconds with a fraction, or a time with a unit: 100ms, 10s, 5m, 2h, 1d.  False: not
 * such a time, or not from 0 to a million seconds.
 */
bool parse_seconds(const char *text, int64_t *ns);

struct cpu_range {
	unsigned first, last;
};

/*
 * Parses a list of CPUs such as 0,2-5.  Returns the number of ranges; free these.  0: not a list.
 */
size_t parse_cpu_list(const char *text, struct cpu_range **range);

/* A word of other tools, and our word for it; a table ends with {0}. */
struct synonym {
	const char *word, *here;
};
const char *synonym_find(const struct synonym *table, const char *word); /* NULL: unknown */

/*
 * Makes libcpc store its last message for cpcerr_text() instead of printing it.  With `debug`, the
 * message begins with the name of the failed function.
 */
void cpcerr_install(cpc_t *cpc, bool debug);
const char *cpcerr_text(void); /* strerror(errno) if there is no message */
int cpcerr_subcode(void);      /* of that message; 0: none */
bool cpcerr_is_usage(void);    /* the spec is invalid: exit with STATUS_USAGE */

/*
 * Opens closed standard descriptors, so that no other file gets their numbers.  They are
 * close-on-exec: they stay closed in a command that we start.
 */
void guard_streams(void);

/*
 * Raises the soft limit of open files to the hard limit, since each event needs a descriptor per
 * LWP or CPU.  Programs that are started later inherit it.
 */
void raise_file_limit(void);

/* Is it a name in C? */
bool is_identifier(const char *name);

/* Is there a file of that name where execvp(3) looks? */
bool is_program(const char *name);

/* Returns `p`.  NULL, since there was no memory: exits with a message. */
void *xmade(const void *p);
/* As calloc(3), ..., but exit with a message if there is no memory. */
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *text);
char *copy_text(const char *text); /* NULL: NULL */
__attribute__((format(printf, 1, 2))) char *xasprintf(const char *fmt, ...);

#endif /* UTIL_H */
