/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * format.h - the formats of output, one writer each.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include "sink.h"

#include <stdio.h>

/* A label of all samples of OpenMetrics (--label). */
struct label {
	char *name;
	const char *value;
};

/* How rows are printed; a format ignores members that it does not use. */
struct style {
	bool no_header;
	bool cycles;   /* also print the cycles */
	bool names;    /* tables: a column per event, titled with its name */
	bool tids;     /* tables: print the kernel's thread ids of LWPs */
	bool comm;     /* tables: print names of LWPs, and how processes ended */
	bool means;    /* tables: the mean of the CPUs of a row, not the sum */
	bool human;    /* tables: few digits, a prefix and a unit: 12.3M */
	bool colour;   /* tables: mark what to look at by colours */
	bool rate;     /* tables: counts per second */
	bool summary;  /* the rows are a summary (--by) */
	bool terminal; /* the output is a terminal: fit its size */
	int fd;	       /* the terminal */
	bool replaced; /* each flush replaces the contents of `file` */
	const struct label *label;
	size_t nlabels;
	char stamp; /* tables: 'u' or 'd': print the time before each sample; 0: do not */
	/* A screen: the first grouping of rows of LWPs or CPUs. */
	enum scope group;
};

/* A limit, since series of keys stay for ever, in memory and in Prometheus. */
#define OPENMETRICS_KEYS 1000

struct means;

/*
 * What a screen asks of the source of its rows.  SCREEN_UNIT: end this run, and count by another
 * unit.  SCREEN_GONE: the terminal was closed.
 */
enum screen_asks { SCREEN_NOTHING, SCREEN_QUIT, SCREEN_UNIT, SCREEN_GONE };

/* What a format does with its terminal while the source waits.  There can be one at a time. */
struct screen {
	/* Acts on keys, ^Z and a new size of the terminal, and draws what it has not taken yet. */
	enum screen_asks (*act)(void);
	/* After SCREEN_UNIT. */
	enum scope (*unit)(void);
	/* Restores the terminal while the program is stopped, and draws again. */
	void (*suspend)(void);
	void (*resume)(void);
};

struct format {
	const char *name;
	/* Makes a writer, which copies `style` and does not close `file`. */
	struct sink *(*open)(FILE *file, const struct style *style);
	/* Writes means (means.h); NULL: it cannot. */
	void (*means)(FILE *file, const struct style *style, const struct means *means);
	bool comm;		     /* always prints names of LWPs */
	bool cycles;		     /* always prints the cycles */
	bool whole;		     /* a document of one run: cannot be appended to */
	bool renewed;		     /* each sample replaces the file by a new document */
	const struct screen *screen; /* draws on a terminal; NULL: writes to a file */
	unsigned nkeys;		     /* number of keys that have rows without --keys; 0: all */
};

/* NULL: unknown. */
const struct format *format_find(const char *name);
/* The name of the format that a misspelled name or a word of other tools means; or NULL. */
const char *format_meant(const char *word);

struct sink *table_open(FILE *file, const struct style *style);
struct sink *summary_table_open(FILE *file, const struct style *style);
struct sink *csv_open(FILE *file, const struct style *style);
struct sink *json_open(FILE *file, const struct style *style);
struct sink *openmetrics_open(FILE *file, const struct style *style);
/* Serves the totals to each reader that asks for them. */
struct listener;
struct sink *openmetrics_serve(struct listener *listener, const struct style *style);
struct sink *trace_open(FILE *file, const struct style *style);

/* The version of records: json.c writes it, replay.c requires it. */
#define JSON_SCHEMA 1

#endif /* FORMAT_H */
