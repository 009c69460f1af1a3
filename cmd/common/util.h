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

/* Exit statuses, beside those of a tracked command. */
enum { STATUS_OK = 0, STATUS_FAILED = 1, STATUS_USAGE = 2 };

#define NSEC 1000000000LL

int64_t now_ns(void); /* CLOCK_MONOTONIC */

/*
 * Seconds, with a fraction, in ns.  False: not a number, or not within 0 to
 * a million.
 */
bool parse_seconds(const char *text, int64_t *ns);

/*
 * Keeps the last message of libcpc instead of printing it, for the program to
 * report in its context.  With `debug` the failed function's name is part of it.
 */
void cpcerr_install(cpc_t *cpc, bool debug);
const char *cpcerr_text(void); /* never NULL; errno's text when there was none */
int cpcerr_subcode(void);      /* of that message; 0: none */
bool cpcerr_is_usage(void);    /* was it what the user wrote: exit with STATUS_USAGE? */

/*
 * Makes sure that no file of ours takes the place of a closed standard stream; the
 * programs that we start see them closed.
 */
void guard_streams(void);

/*
 * As many files as may be: each event takes one for each LWP or CPU.  Programs that we
 * start later inherit that.
 */
void raise_file_limit(void);

/* cpc_open(3), but ends the program with a message when there is nothing to count with. */
cpc_t *xcpc_open(void);

/* calloc(3), but ends the program with a message when there is no memory. */
void *xcalloc(size_t n, size_t size);

#endif /* UTIL_H */
