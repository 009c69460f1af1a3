/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * json.c - JSON Lines: an object for the run, one for each row, one for the end.
 */
#include "../base/util.h"
#include "jsonwrite.h"
#include "means.h"

#include <math.h>
#include <sys/wait.h>

struct json {
	struct sink sink;
	FILE *file;
	const struct run *run;
	uint64_t nrows; /* written so far */
};

static void put_line(FILE *f, json_object *object)
{
	jsonwrite_put(f, object);
	fputc('\n', f);
}

/* ---- the run ----------------------------------------------------------------- */

/* replay.c computes the values again: write the expression and its events. */
static json_object *ratios_of(const struct run_set *set)
{
	json_object *ratios = xmade(json_object_new_array());

	for (unsigned i = 0; i < set->nratios; i++) {
		const struct run_ratio *from = &set->ratio[i];
		json_object *ratio = xmade(json_object_new_object());
		json_object *events = xmade(json_object_new_array());

		jsonwrite_add_text(ratio, "ratio", from->label);
		jsonwrite_add_text(ratio, "expression", cpc_ratio_text(from->ratio));
		for (unsigned k = 0; k < cpc_ratio_nevents(from->ratio); k++)
			jsonwrite_append(events, xmade(json_object_new_string(
							 set->event[from->event[k]].label)));
		jsonwrite_add(ratio, "events", events);
		jsonwrite_append(ratios, ratio);
	}
	return ratios;
}

static json_object *set_object(const struct run_set *set)
{
	json_object *object = xmade(json_object_new_object());
	json_object *events = xmade(json_object_new_array());

	jsonwrite_add_text(object, "spec", set->spec);
	for (unsigned i = 0; i < set->nevents; i++) {
		const struct run_event *from = &set->event[i];
		json_object *event = xmade(json_object_new_object());

		jsonwrite_add_text(event, "event", from->label);
		jsonwrite_add_text(event, "name", from->name);
		jsonwrite_add_int(event, "pic", from->slot);
		jsonwrite_add_text(event, "unit", from->unit);
		jsonwrite_add(event, "scale", xmade(json_object_new_double(from->scale)));
		jsonwrite_add_flag(event, "signed", from->is_signed);
		jsonwrite_append(events, event);
	}
	jsonwrite_add(object, "events", events);
	if (set->nratios > 0)
		jsonwrite_add(object, "ratios", ratios_of(set));
	return object;
}

static json_object *cpus_of(const struct run *run)
{
	json_object *cpus = xmade(json_object_new_array());

	for (size_t i = 0; i < run->ncpus; i++) {
		json_object *cpu = xmade(json_object_new_object());

		jsonwrite_add_int(cpu, "cpu", run->cpu[i].id);
		jsonwrite_add_int(cpu, "core", run->cpu[i].core);
		jsonwrite_add_int(cpu, "socket", run->cpu[i].socket);
		jsonwrite_add_int(cpu, "node", run->cpu[i].node);
		if (run->cpu[i].pmu != NULL)
			jsonwrite_add_text(cpu, "pmu", run->cpu[i].pmu);
		jsonwrite_append(cpus, cpu);
	}
	return cpus;
}

/* The members that runs and means have in common. */
static json_object *head_object(const char *kind, const struct run *run)
{
	json_object *object = xmade(json_object_new_object());
	json_object *command = xmade(json_object_new_array());

	jsonwrite_add_text(object, "kind", kind);
	jsonwrite_add_int(object, "schema", JSON_SCHEMA);
	jsonwrite_add_text(object, "tool", run->tool);
	for (char **arg = run->argv; arg != NULL && *arg != NULL; arg++)
		jsonwrite_append(command, xmade(json_object_new_string(*arg)));
	jsonwrite_add(object, "command", command);
	jsonwrite_add_text(object, "host", run->host);
	jsonwrite_add_time(object, "start", run->start_ns);
	return object;
}

static void json_begin(struct sink *sink, const struct run *run)
{
	struct json *json = (struct json *)sink;
	json_object *object = head_object("run", run);
	json_object *sets = xmade(json_object_new_array());

	json->run = run;
	json->nrows = 0;
	jsonwrite_add_text(object, "cycles", run->cycles);
	if (run->engine != NULL)
		jsonwrite_add_text(object, "engine", run->engine);
	if (run->side != SIDE_NONE)
		jsonwrite_add_text(object, "side", run_side_name(run->side));
	for (size_t k = 0; k < run->nsets; k++)
		jsonwrite_append(sets, set_object(&run->set[k]));
	jsonwrite_add(object, "sets", sets);
	if (run->of_cpus || scope_has_keys(run->scope))
		jsonwrite_add_text(object, "unit", scope_name(run->scope));
	if (run->of_cpus)
		jsonwrite_add(object, "cpus", cpus_of(run));
	else
		jsonwrite_add_flag(object, "many", run->many);
	put_line(json->file, object);
}

static void add_ratios(json_object *object, const struct run *run, const struct row *row)
{
	const struct run_set *set = &run->set[row->set];
	json_object *ratios = xmade(json_object_new_object());

	for (unsigned i = 0; i < set->nratios; i++)
		jsonwrite_add(ratios, set->ratio[i].label, jsonwrite_ratio(row_ratio(run, row, i)));
	jsonwrite_add(object, "ratios", ratios);
}

static void add_counts(json_object *object, const struct run *run, const struct row *row)
{
	const struct run_set *set = &run->set[row->set];
	json_object *counts = xmade(json_object_new_object());

	for (unsigned i = 0; i < set->nevents; i++) {
		const struct run_event *event = &set->event[i];
		bool known = row->valid >> i & 1;

		jsonwrite_add(counts, event->label,
			      known ? jsonwrite_count(event->is_signed, row->val[i]) : NULL);
	}
	jsonwrite_add_int(object, "set", (int64_t)row->set);
	jsonwrite_add(object, "counts", counts);
	jsonwrite_add(object, "cycles",
		      row->valid != 0 ? jsonwrite_count(false, row->cycles) : NULL);
	if (row->span_ns > 0)
		jsonwrite_add_int(object, "span", row->span_ns);
	if (set->nratios > 0)
		add_ratios(object, run, row);
}

static void add_status(json_object *object, int wstatus)
{
	if (WIFSIGNALED(wstatus))
		jsonwrite_add_int(object, "signal", WTERMSIG(wstatus));
	else
		jsonwrite_add_int(object, "status", WEXITSTATUS(wstatus));
}

static void add_key(json_object *object, const struct row *row)
{
	if (row->key_kind == KEY_NAME)
		jsonwrite_add_text(object, scope_member(row->scope), row->key);
	else
		jsonwrite_add(object, scope_member(row->scope), NULL); /* null */
	jsonwrite_add_text(object, "key_kind", key_kind_name(row->key_kind));
}

static void json_row(struct sink *sink, const struct row *row)
{
	struct json *json = (struct json *)sink;
	json_object *object = xmade(json_object_new_object());

	jsonwrite_add_text(object, "kind", row_kind_name(row->kind));
	if (row->kind == ROW_SUM)
		jsonwrite_add_text(object, "by",
				   row->key != NULL ? scope_name(row->scope)
						    : scope_name(json->run->by));
	jsonwrite_add_int(object, "ns", row->time_ns);
	jsonwrite_add_time(object, "time", row->wall_ns);
	if (row->key != NULL)
		add_key(object, row);
	else if (json->run->of_cpus)
		jsonwrite_add_int(object, scope_name(row->scope), row->id);
	if (row->user != NULL)
		jsonwrite_add_text(object, "user", row->user);
	if (json->run->of_cpus)
		jsonwrite_add_int(object, "ncpus", row->ncpus);
	if (row->container != NULL)
		jsonwrite_add_text(object, "container_id", row->container);
	if (row->pod != NULL)
		jsonwrite_add_text(object, "pod_id", row->pod);
	if (row->outer != NULL)
		jsonwrite_add_text(object, "outer_container", row->outer);
	if (row->pid > 0)
		jsonwrite_add_int(object, "pid", row->pid);
	if (row->lwp > 0)
		jsonwrite_add_int(object, "lwp", row->lwp);
	if (row->tid > 0)
		jsonwrite_add_int(object, "tid", row->tid);
	if (row->runs > 0 || (row->kind == ROW_TOTAL && !json->run->of_cpus))
		jsonwrite_add_int(object, "runs", (int64_t)row->runs);
	if (row->comm != NULL)
		jsonwrite_add_text(object, "comm", row->comm);
	if (row->val != NULL)
		add_counts(object, json->run, row);
	if (row->shared)
		jsonwrite_add(object, "share", xmade(json_object_new_double(row->share)));
	if (row->kind == ROW_FORK)
		jsonwrite_add_int(object, "child", row->child);
	if (row->kind == ROW_IMAGE)
		jsonwrite_add_text(object, "command", row->command);
	if (row->ended)
		add_status(object, row->status);
	if (row->incomplete)
		jsonwrite_add_flag(object, "incomplete", true);
	if (row->late > 0)
		jsonwrite_add(object, "late", jsonwrite_count(false, row->late));
	put_line(json->file, object);
	json->nrows++;
}

/* replay.c reports a record without this object as cut. */
static void json_end(struct sink *sink)
{
	struct json *json = (struct json *)sink;
	json_object *object = xmade(json_object_new_object());

	jsonwrite_add_text(object, "kind", "end");
	jsonwrite_add_int(object, "rows", (int64_t)json->nrows);
	if (json->run->incomplete)
		jsonwrite_add_flag(object, "incomplete", true);
	if (json->run->cut)
		jsonwrite_add_flag(object, "cut", true);
	if (json->run->ended)
		add_status(object, json->run->status);
	put_line(json->file, object);
}

/* Each file is a record. */
static void json_next_file(struct sink *sink, bool begins)
{
	const struct json *json = (const struct json *)sink;

	if (begins)
		json_begin(sink, json->run);
	else
		json_end(sink);
}

struct sink *json_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {
		.begin = json_begin, .row = json_row, .end = json_end, .next_file = json_next_file};
	struct json *json = sink_new(sizeof(*json), &ops, NULL);

	(void)style; /* a record contains everything */
	json->file = file;
	return &json->sink;
}

/* ---- means --------------------------------------------------------------------- */

static json_object *real(double val)
{
	char text[REAL_SIZE];

	if (!isfinite(val))
		return NULL; /* null */
	real_text(text, val);
	return xmade(json_object_new_double_s(val, text));
}

static void add_series(json_object *object, const struct series *series)
{
	json_object *values = xmade(json_object_new_array());

	jsonwrite_add_int(object, "runs", (int64_t)series->n);
	jsonwrite_add(object, "mean", real(series_mean(series)));
	jsonwrite_add(object, "median", real(series_median(series)));
	jsonwrite_add(object, "deviation", real(series_deviation(series)));
	jsonwrite_add(object, "least", real(series_least(series)));
	jsonwrite_add(object, "most", real(series_most(series)));
	for (size_t i = 0; i < series->n; i++)
		jsonwrite_append(values, real(series->val[i]));
	jsonwrite_add(object, "values", values);
	jsonwrite_add_int(object, "outliers", (int64_t)series_outliers(series));
	if (series->incomplete)
		jsonwrite_add_flag(object, "incomplete", true);
	if (series->turns)
		jsonwrite_add_flag(object, "turns", true);
}

static void add_comparison(json_object *object, const struct means *means,
			   const struct means_row *row)
{
	const struct comparison *c = &row->comparison;
	json_object *old = xmade(json_object_new_object());

	add_series(old, row->old);
	jsonwrite_add(object, "old", old);
	jsonwrite_add(object, "change", real(c->change));
	jsonwrite_add(object, "median_change", real(c->median_change));
	jsonwrite_add(object, "p", real(c->p));
	jsonwrite_add_text(object, "verdict", verdict_name(c->verdict));
	if (c->reason != NULL)
		jsonwrite_add_text(object, "reason", c->reason);
	if (!isnan(means->limit))
		jsonwrite_add_flag(object, "above", c->above);
}

void means_json(FILE *f, const struct style *style, const struct means *means)
{
	json_object *object = head_object("means", means->about);

	(void)style;
	if (!isnan(means->limit))
		jsonwrite_add(object, "limit", real(means->limit));
	put_line(f, object);
	for (size_t i = 0; i < means->n; i++) {
		const struct means_row *row = &means->row[i];

		object = xmade(json_object_new_object());
		jsonwrite_add_text(object, "kind", "mean");
		jsonwrite_add_text(object, "event", row->now->label);
		jsonwrite_add_text(object, "unit", row->now->unit);
		add_series(object, row->now);
		if (means->compared)
			add_comparison(object, means, row);
		put_line(f, object);
	}
}
