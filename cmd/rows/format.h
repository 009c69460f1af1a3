/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * format.h - the formats of output, one writer each.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include "sink.h"

#include <stdio.h>

/* How rows are shown; what a format has no use for is ignored. */
struct style {
	bool no_header;
	bool cycles;   /* also what was counted as cycles */
	bool names;    /* tables: events have columns of their own, under their names */
	bool tids;     /* tables: LWPs by the kernel's thread ids */
	bool comm;     /* tables: names of LWPs, and how processes ended */
	bool means;    /* tables: means over the CPUs of a unit, not sums */
	bool human;    /* tables: three digits and a prefix, as 12.3M, with units */
	bool rate;     /* tables: counts per second */
	bool summary;  /* the rows are a summary (summary.h) */
	bool terminal; /* `file` is one: its size matters */
	bool replaced; /* `file` keeps what was written since the last flush only */
	char stamp;    /* tables: a line with the time before each sample: 'u', 'd', or 0 */
};

struct format {
	const char *name;
	/* A writer, which keeps `style`.  `file` is closed by others. */
	struct sink *(*open)(FILE *file, const struct style *style);
	bool comm;    /* names of LWPs are shown whatever the style */
	bool whole;   /* a document, which cannot be appended to */
	bool renewed; /* a file gets a new document with each sample */
};

/* NULL: there is no such format. */
const struct format *format_find(const char *name);
/* The names of all, in one line. */
const char *format_names(void);

struct sink *table_open(FILE *file, const struct style *style);
struct sink *named_open(FILE *file, const struct style *style);
struct sink *summary_table_open(FILE *file, const struct style *style);
struct sink *csv_open(FILE *file, const struct style *style);
struct sink *json_open(FILE *file, const struct style *style);
struct sink *openmetrics_open(FILE *file, const struct style *style);
struct sink *trace_open(FILE *file, const struct style *style);

/* The version of the records that the writer json makes and replay.h reads. */
#define JSON_SCHEMA 1

#endif /* FORMAT_H */
