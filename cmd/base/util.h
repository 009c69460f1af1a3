/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * util.h - small things that both programs need.
 */
#ifndef UTIL_H
#define UTIL_H

#include <libcpc.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit statuses of our own; cputrack also passes on those of its command. */
enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

#define NSEC 1000000000LL

int64_t now_ns(void);  /* CLOCK_MONOTONIC */
int64_t wall_ns(void); /* since the Epoch */

/*
 * Parses seconds with a fraction into ns.  False: not a number, or not from 0 to a
 * million.
 */
bool parse_seconds(const char *text, int64_t *ns);

/*
 * Keeps the last message of libcpc instead of printing it, for cpcerr_text().  With
 * `debug` it begins with the name of the function that failed.
 */
void cpcerr_install(cpc_t *cpc, bool debug);
const char *cpcerr_text(void); /* never NULL: errno's text if there was none */
int cpcerr_subcode(void);      /* of that message; 0: there was none */
bool cpcerr_is_usage(void);    /* the spec is wrong: exit with STATUS_USAGE */

/*
 * Fills closed standard descriptors, so that no file of ours gets their number.  They are
 * close-on-exec: a command that we start sees them closed.
 */
void guard_streams(void);

/*
 * Raises the soft limit of open files to the hard one, since each event takes a descriptor
 * for each LWP or CPU.  Programs that are started later inherit it.
 */
void raise_file_limit(void);

/* Like cpc_open(3), but exits with a message when it fails. */
cpc_t *xcpc_open(void);

/* Like their namesakes, but exit with a message when there is no memory. */
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *text);
__attribute__((format(printf, 1, 2))) char *xasprintf(const char *fmt, ...);

#endif /* UTIL_H */
