/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * table.c - tables in the format of Solaris, byte for byte.
 */
#include "../base/util.h"
#include "line.h"

#include <stdlib.h>
#include <string.h>

struct table {
	struct sink sink;
	FILE *file;
	struct style style;
	const struct run *run;
	unsigned ncols, col[RUN_MAX_EVENTS]; /* the slots of all sets, ascending */
	/* By set and column: the index of the event, or -1. */
	int (*event)[RUN_MAX_EVENTS];
	size_t nratios;
	const char **ratio; /* the titles of the columns of ratios */
	size_t key_width;
	bool stamped; /* the time of this sample was printed */
	struct line line;
};

#define TID_WIDTH 7 /* the largest id on Linux is 4194304 */

static void find_columns(struct table *t)
{
	uint64_t used = 0;

	for (size_t k = 0; k < t->run->nsets; k++) {
		for (unsigned i = 0; i < t->run->set[k].nevents; i++)
			used |= UINT64_C(1) << t->run->set[k].event[i].slot;
	}
	t->ncols = 0;
	for (unsigned slot = 0; slot < RUN_MAX_EVENTS; slot++) {
		if (used >> slot & 1)
			t->col[t->ncols++] = slot;
	}
	free(t->event);
	t->event = xcalloc(t->run->nsets + 1, sizeof(*t->event));
	for (size_t k = 0; k < t->run->nsets; k++) {
		for (unsigned c = 0; c < t->ncols; c++) {
			t->event[k][c] = -1;
			for (unsigned i = 0; i < t->run->set[k].nevents; i++) {
				if (t->run->set[k].event[i].slot == t->col[c])
					t->event[k][c] = (int)i;
			}
		}
	}
}

static void table_begin(struct sink *sink, const struct run *run)
{
	struct table *t = (struct table *)sink;
	FILE *f = t->file;

	t->run = run;
	t->stamped = false;
	t->key_width = KEY_WIDTH;
	find_columns(t);
	free(t->ratio);
	t->nratios = run_ratio_labels(run, &t->ratio);
	if (t->style.no_header)
		return;
	fprintf(f, "%7s ", "time");
	if (run->of_cpus && scope_has_keys(run->scope)) {
		line_key(&t->line, cpu_scope_name(run->scope), &t->key_width);
		line_write(&t->line, f);
		fprintf(f, " %5s ", "event");
	} else if (run->of_cpus) {
		fprintf(f, "%3s %5s ", "cpu", "event");
	} else {
		if (run->many)
			fprintf(f, "%6s ", "pid");
		fprintf(f, "%*s ", t->style.tids ? TID_WIDTH : 3, "lwp");
		if (t->style.comm)
			fprintf(f, "%*s ", COMM_WIDTH, "comm");
		fprintf(f, "%10s ", "event");
	}
	if (t->style.cycles)
		fprintf(f, "%9s ", run->cycles);
	for (unsigned i = 0; i < t->ncols; i++)
		fprintf(f, t->style.rate ? "%6s%u/s " : "%8s%-2u", "pic", t->col[i]);
	for (size_t i = 0; i < t->nratios; i++) {
		line_label(&t->line, t->ratio[i], 9);
		line_blank(&t->line);
	}
	line_word(&t->line, "\n", 0);
	line_write(&t->line, f);
}

static void put_id(struct table *t, const struct row *row)
{
	struct line *line = &t->line;
	bool total = row->kind == ROW_TOTAL;

	if (t->run->of_cpus && scope_has_keys(t->run->scope)) {
		line_key_of_row(line, row, &t->key_width);
		line_blank(line);
		line_word(line, line_event(row->kind), 5);
	} else if (t->run->of_cpus) {
		if (total)
			line_number(line, row->ncpus, false, 3);
		else if (row->scope == SCOPE_ALL)
			line_word(line, cpu_scope_name(SCOPE_ALL), 3);
		else
			line_number(line, (uint64_t)row->id, false, 3);
		line_blank(line);
		line_word(line, line_event(row->kind), 5);
	} else {
		if (t->run->many) {
			line_number(line, total ? row->runs : (uint64_t)row->pid, false, 6);
			line_blank(line);
		}
		if (total)
			line_word(line, "-", t->style.tids ? TID_WIDTH : 3);
		else if (t->style.tids)
			line_number(line, (uint64_t)row->tid, false, TID_WIDTH);
		else
			line_number(line, (uint64_t)row->lwp, false, 3);
		line_blank(line);
		if (t->style.comm) {
			line_comm(line, row->comm, COMM_WIDTH);
			line_blank(line);
		}
		line_word(line, line_event(row->kind), 10);
	}
	line_blank(line);
}

static void put_ratio(struct table *t, const struct row *row, const char *label)
{
	const struct run_set *set = &t->run->set[row->set];
	int i = row->val != NULL ? run_find_ratio(set, label) : -1;
	size_t width = strlen(label) > 9 ? strlen(label) : 9;

	if (i == -1)
		line_word(&t->line, "", width);
	else
		line_ratio(&t->line, t->run, row, (unsigned)i, width);
	line_blank(&t->line);
}

static void put_counts(struct table *t, const struct row *row)
{
	struct line *line = &t->line;

	if (t->style.cycles) {
		if (row->val == NULL)
			line_word(line, "", 9);
		else
			line_cycles(line, &t->style, row, 9);
		line_blank(line);
	}
	for (unsigned c = 0; c < t->ncols; c++) {
		int i = row->val != NULL ? t->event[row->set][c] : -1;

		if (i == -1)
			line_word(line, "", 9);
		else
			line_count(line, &t->style, t->run, row, (unsigned)i, 9);
		line_blank(line);
	}
	for (size_t c = 0; c < t->nratios; c++)
		put_ratio(t, row, t->ratio[c]);
}

static void table_row(struct sink *sink, const struct row *row)
{
	struct table *t = (struct table *)sink;

	if (row->ncpus == 0 && t->run->of_cpus && row->kind == ROW_TICK)
		return; /* not counted; a message reported this */
	if (!t->stamped && row->kind == ROW_TICK)
		line_stamp(t->file, &t->style, row->wall_ns);
	t->stamped = true;
	line_time(&t->line, row->time_ns);
	line_blank(&t->line);
	put_id(t, row);
	put_counts(t, row);
	line_notes(&t->line, t->run, row, &t->style, t->run->nsets > 1);
	line_word(&t->line, "\n", 0);
	line_write(&t->line, t->file);
}

static void table_sampled(struct sink *sink)
{
	struct table *t = (struct table *)sink;

	t->stamped = false;
}

static void table_free(struct sink *sink)
{
	struct table *t = (struct table *)sink;

	line_free(&t->line);
	free(t->event);
	free(t->ratio);
	free(t);
}

struct sink *table_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = table_begin,
					    .row = table_row,
					    .sampled = table_sampled,
					    .free = table_free};
	struct table *t = xcalloc(1, sizeof(*t));

	t->sink.ops = &ops;
	t->file = file;
	t->style = *style;
	return &t->sink;
}
