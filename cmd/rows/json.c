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

static json_object *count_object(bool known, bool is_signed, uint64_t val)
{
	return known ? jsonwrite_count(is_signed, val) : NULL; /* null */
}

static void put(FILE *f, json_object *object)
{
	jsonwrite_put(f, object);
	fputc('\n', f);
}

/* ---- the run ----------------------------------------------------------------- */

/* replay.c computes the values again: write the expression and its events. */
static json_object *ratios_of(const struct run_set *set)
{
	json_object *ratios = jsonwrite_made(json_object_new_array());

	for (unsigned i = 0; i < set->nratios; i++) {
		const struct run_ratio *from = &set->ratio[i];
		json_object *ratio = jsonwrite_made(json_object_new_object());
		json_object *events = jsonwrite_made(json_object_new_array());

		jsonwrite_add_text(ratio, "ratio", from->label);
		jsonwrite_add_text(ratio, "expression", cpc_ratio_text(from->ratio));
		for (unsigned k = 0; k < cpc_ratio_nevents(from->ratio); k++)
			jsonwrite_append(events, jsonwrite_made(json_object_new_string(
							 set->event[from->event[k]].label)));
		jsonwrite_add(ratio, "events", events);
		jsonwrite_append(ratios, ratio);
	}
	return ratios;
}

static json_object *set_object(const struct run_set *set)
{
	json_object *object = jsonwrite_made(json_object_new_object());
	json_object *events = jsonwrite_made(json_object_new_array());

	jsonwrite_add_text(object, "spec", set->spec);
	for (unsigned i = 0; i < set->nevents; i++) {
		const struct run_event *from = &set->event[i];
		json_object *event = jsonwrite_made(json_object_new_object());

		jsonwrite_add_text(event, "event", from->label);
		jsonwrite_add_text(event, "name", from->name);
		jsonwrite_add_int(event, "pic", from->slot);
		jsonwrite_add_text(event, "unit", from->unit);
		jsonwrite_add(event, "scale", jsonwrite_made(json_object_new_double(from->scale)));
		jsonwrite_add(event, "signed",
			      jsonwrite_made(json_object_new_boolean(from->is_signed)));
		jsonwrite_append(events, event);
	}
	jsonwrite_add(object, "events", events);
	if (set->nratios > 0)
		jsonwrite_add(object, "ratios", ratios_of(set));
	return object;
}

static json_object *cpu_object(const struct run_cpu *cpu)
{
	json_object *object = jsonwrite_made(json_object_new_object());

	jsonwrite_add_int(object, "cpu", cpu->id);
	jsonwrite_add_int(object, "core", cpu->core);
	jsonwrite_add_int(object, "socket", cpu->socket);
	jsonwrite_add_int(object, "node", cpu->node);
	return object;
}

/* What ran, where, and since when. */
static json_object *head_object(const char *kind, const struct run *run)
{
	json_object *object = jsonwrite_made(json_object_new_object());
	json_object *command = jsonwrite_made(json_object_new_array());

	jsonwrite_add_text(object, "kind", kind);
	jsonwrite_add_int(object, "schema", JSON_SCHEMA);
	jsonwrite_add_text(object, "tool", run->tool);
	for (char **arg = run->argv; arg != NULL && *arg != NULL; arg++)
		jsonwrite_append(command, jsonwrite_made(json_object_new_string(*arg)));
	jsonwrite_add(object, "command", command);
	jsonwrite_add_text(object, "host", run->host);
	jsonwrite_add_time(object, "start", run->start_ns);
	return object;
}

static void json_begin(struct sink *sink, const struct run *run)
{
	struct json *json = (struct json *)sink;
	json_object *object = head_object("run", run);
	json_object *sets = jsonwrite_made(json_object_new_array());
	json_object *cpus = jsonwrite_made(json_object_new_array());

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
	for (size_t i = 0; i < run->ncpus; i++)
		jsonwrite_append(cpus, cpu_object(&run->cpu[i]));
	if (run->of_cpus || scope_has_keys(run->scope))
		jsonwrite_add_text(object, "unit", cpu_scope_name(run->scope));
	if (run->of_cpus) {
		jsonwrite_add(object, "cpus", cpus);
	} else {
		json_object_put(cpus);
		jsonwrite_add(object, "many", jsonwrite_made(json_object_new_boolean(run->many)));
	}
	put(json->file, object);
}

static void add_ratios(json_object *object, const struct run *run, const struct row *row)
{
	const struct run_set *set = &run->set[row->set];
	json_object *ratios = jsonwrite_made(json_object_new_object());

	for (unsigned i = 0; i < set->nratios; i++)
		jsonwrite_add(ratios, set->ratio[i].label, jsonwrite_ratio(row_ratio(run, row, i)));
	jsonwrite_add(object, "ratios", ratios);
}

static void add_counts(json_object *object, const struct run *run, const struct row *row)
{
	const struct run_set *set = &run->set[row->set];
	json_object *counts = jsonwrite_made(json_object_new_object());

	for (unsigned i = 0; i < set->nevents; i++)
		jsonwrite_add(
			counts, set->event[i].label,
			count_object(row->valid >> i & 1, set->event[i].is_signed, row->val[i]));
	jsonwrite_add_int(object, "set", (int64_t)row->set);
	jsonwrite_add(object, "counts", counts);
	jsonwrite_add(object, "cycles", count_object(row->valid != 0, false, row->cycles));
	if (row->span_ns > 0)
		jsonwrite_add_int(object, "span", row->span_ns);
	if (set->nratios > 0)
		add_ratios(object, run, row);
}

static void json_row(struct sink *sink, const struct row *row)
{
	struct json *json = (struct json *)sink;
	json_object *object = jsonwrite_made(json_object_new_object());

	jsonwrite_add_text(object, "kind", row_kind_name(row->kind));
	if (row->kind == ROW_SUM)
		jsonwrite_add_text(object, "by",
				   row->key != NULL ? cpu_scope_name(row->scope)
						    : row_by_name(json->run->by));
	jsonwrite_add_int(object, "ns", row->time_ns);
	jsonwrite_add_time(object, "time", row->wall_ns);
	if (row->key != NULL)
		jsonwrite_add_text(object, cpu_scope_name(row->scope), row->key);
	else if (json->run->of_cpus)
		jsonwrite_add_int(object, cpu_scope_name(row->scope), row->id);
	if (row->user != NULL)
		jsonwrite_add_text(object, "user", row->user);
	if (json->run->of_cpus)
		jsonwrite_add_int(object, "ncpus", row->ncpus);
	if (row->container != NULL)
		jsonwrite_add_text(object, "container_id", row->container);
	if (row->pod != NULL)
		jsonwrite_add_text(object, "pod_id", row->pod);
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
		jsonwrite_add(object, "share", jsonwrite_made(json_object_new_double(row->share)));
	if (row->kind == ROW_FORK)
		jsonwrite_add_int(object, "child", row->child);
	if (row->kind == ROW_IMAGE)
		jsonwrite_add_text(object, "command", row->command);
	if (row->ended && WIFSIGNALED(row->status))
		jsonwrite_add_int(object, "signal", WTERMSIG(row->status));
	else if (row->ended)
		jsonwrite_add_int(object, "status", WEXITSTATUS(row->status));
	if (row->incomplete)
		jsonwrite_add(object, "incomplete", jsonwrite_made(json_object_new_boolean(1)));
	put(json->file, object);
	json->nrows++;
}

/* replay.c reports a record without this object as cut. */
static void json_end(struct sink *sink)
{
	struct json *json = (struct json *)sink;
	json_object *object = jsonwrite_made(json_object_new_object());

	jsonwrite_add_text(object, "kind", "end");
	jsonwrite_add_int(object, "rows", (int64_t)json->nrows);
	if (json->run->lacks)
		jsonwrite_add(object, "incomplete", jsonwrite_made(json_object_new_boolean(1)));
	if (json->run->cut)
		jsonwrite_add(object, "cut", jsonwrite_made(json_object_new_boolean(1)));
	put(json->file, object);
}

struct sink *json_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = json_begin, .row = json_row, .end = json_end};
	struct json *json = xcalloc(1, sizeof(*json));

	(void)style; /* a record contains everything */
	json->sink.ops = &ops;
	json->file = file;
	return &json->sink;
}

/* ---- means --------------------------------------------------------------------- */

static json_object *real(bool known, double val)
{
	char text[REAL_SIZE];

	if (!known || !isfinite(val))
		return NULL; /* null */
	real_text(text, val);
	return jsonwrite_made(json_object_new_double_s(val, text));
}

static void add_series(json_object *object, const struct series *series)
{
	json_object *values = jsonwrite_made(json_object_new_array());
	size_t n = series != NULL ? series->n : 0;

	jsonwrite_add_int(object, "runs", (int64_t)n);
	jsonwrite_add(object, "mean", real(n > 0, n > 0 ? series_mean(series) : 0));
	jsonwrite_add(object, "deviation", real(n > 1, n > 1 ? series_deviation(series) : 0));
	jsonwrite_add(object, "least", real(n > 0, n > 0 ? series_least(series) : 0));
	jsonwrite_add(object, "most", real(n > 0, n > 0 ? series_most(series) : 0));
	for (size_t i = 0; i < n; i++)
		jsonwrite_append(values, real(true, series->val[i]));
	jsonwrite_add(object, "values", values);
	if (series != NULL && series->incomplete)
		jsonwrite_add(object, "incomplete", jsonwrite_made(json_object_new_boolean(1)));
	if (series != NULL && series->turns)
		jsonwrite_add(object, "turns", jsonwrite_made(json_object_new_boolean(1)));
}

static void add_comparison(json_object *object, const struct means *means,
			   const struct means_row *row)
{
	const struct comparison *c = &row->comparison;
	json_object *old = jsonwrite_made(json_object_new_object());

	add_series(old, row->old);
	jsonwrite_add(object, "old", old);
	jsonwrite_add(object, "change", real(!isnan(c->change), c->change));
	jsonwrite_add_text(object, "verdict", verdict_name(c->verdict));
	if (c->reason != NULL)
		jsonwrite_add_text(object, "reason", c->reason);
	if (!isnan(means->limit))
		jsonwrite_add(object, "above", jsonwrite_made(json_object_new_boolean(c->above)));
}

void means_json(FILE *f, const struct style *style, const struct means *means)
{
	json_object *object = head_object("means", means->about);

	(void)style;
	if (!isnan(means->limit))
		jsonwrite_add(object, "limit", real(true, means->limit));
	put(f, object);
	for (size_t i = 0; i < means->n; i++) {
		const struct means_row *row = &means->row[i];

		object = jsonwrite_made(json_object_new_object());
		jsonwrite_add_text(object, "kind", "mean");
		jsonwrite_add_text(object, "event", row->now->label);
		jsonwrite_add_text(object, "unit", row->now->unit);
		add_series(object, row->now);
		if (means->compared)
			add_comparison(object, means, row);
		put(f, object);
	}
}
