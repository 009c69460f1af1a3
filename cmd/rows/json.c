/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * json.c - JSON Lines: a record of the run, one for each row, one for the end.
 */
#include "../base/util.h"
#include "format.h"
#include "jsonwrite.h"

#include <stdlib.h>
#include <sys/wait.h>

struct json {
	struct sink sink;
	FILE *file;
	const struct run *run;
	uint64_t rows; /* told so far */
};

static json_object *count(bool known, bool is_signed, uint64_t val)
{
	return known ? jsonw_count(is_signed, val) : NULL; /* null */
}

static void put(const struct json *json, json_object *object)
{
	jsonw_put(json->file, object);
	fputc('\n', json->file);
}

/* ---- records ----------------------------------------------------------------- */

/* What it takes to compute them again. */
static json_object *ratios_of(const struct run_set *set)
{
	json_object *ratios = jsonw_made(json_object_new_array());

	for (unsigned i = 0; i < set->nratios; i++) {
		const struct run_ratio *from = &set->ratio[i];
		json_object *ratio = jsonw_made(json_object_new_object());
		json_object *events = jsonw_made(json_object_new_array());

		jsonw_add_text(ratio, "ratio", from->label);
		jsonw_add_text(ratio, "expression", cpc_ratio_text(from->ratio));
		for (unsigned k = 0; k < cpc_ratio_nevents(from->ratio); k++)
			jsonw_append(events, jsonw_made(json_object_new_string(
						     set->event[from->event[k]].label)));
		jsonw_add(ratio, "events", events);
		jsonw_append(ratios, ratio);
	}
	return ratios;
}

static json_object *set_object(const struct run_set *set)
{
	json_object *object = jsonw_made(json_object_new_object());
	json_object *events = jsonw_made(json_object_new_array());

	jsonw_add_text(object, "spec", set->spec);
	for (unsigned i = 0; i < set->nevents; i++) {
		const struct run_event *from = &set->event[i];
		json_object *event = jsonw_made(json_object_new_object());

		jsonw_add_text(event, "event", from->label);
		jsonw_add_text(event, "name", from->name);
		jsonw_add_int(event, "pic", from->slot);
		jsonw_add_text(event, "unit", from->unit);
		jsonw_add(event, "scale", jsonw_made(json_object_new_double(from->scale)));
		jsonw_add(event, "signed", jsonw_made(json_object_new_boolean(from->is_signed)));
		jsonw_append(events, event);
	}
	jsonw_add(object, "events", events);
	if (set->nratios > 0)
		jsonw_add(object, "ratios", ratios_of(set));
	return object;
}

static json_object *cpu_object(const struct run_cpu *cpu)
{
	json_object *object = jsonw_made(json_object_new_object());

	jsonw_add_int(object, "cpu", cpu->id);
	jsonw_add_int(object, "core", cpu->core);
	jsonw_add_int(object, "socket", cpu->socket);
	jsonw_add_int(object, "node", cpu->node);
	return object;
}

static void begin(struct sink *sink, const struct run *run)
{
	struct json *json = (struct json *)sink;
	json_object *object = jsonw_made(json_object_new_object());
	json_object *command = jsonw_made(json_object_new_array());
	json_object *sets = jsonw_made(json_object_new_array());
	json_object *cpus = jsonw_made(json_object_new_array());

	json->run = run;
	json->rows = 0;
	jsonw_add_text(object, "kind", "run");
	jsonw_add_int(object, "schema", JSON_SCHEMA);
	jsonw_add_text(object, "tool", run->tool);
	for (char **arg = run->argv; arg != NULL && *arg != NULL; arg++)
		jsonw_append(command, jsonw_made(json_object_new_string(*arg)));
	jsonw_add(object, "command", command);
	jsonw_add_text(object, "host", run->host);
	jsonw_add_time(object, "start", run->start_ns);
	jsonw_add_text(object, "cycles", run->cycles);
	if (run->engine != NULL)
		jsonw_add_text(object, "engine", run->engine);
	for (size_t k = 0; k < run->nsets; k++)
		jsonw_append(sets, set_object(&run->set[k]));
	jsonw_add(object, "sets", sets);
	for (size_t i = 0; i < run->ncpus; i++)
		jsonw_append(cpus, cpu_object(&run->cpu[i]));
	if (run->of_cpus) {
		jsonw_add_text(object, "unit", cpu_scope_name(run->scope));
		jsonw_add(object, "cpus", cpus);
	} else {
		json_object_put(cpus);
		jsonw_add(object, "many", jsonw_made(json_object_new_boolean(run->many)));
	}
	put(json, object);
}

static void add_ratios(json_object *object, const struct run *run, const struct row *row)
{
	const struct run_set *set = &run->set[row->set];
	json_object *ratios = jsonw_made(json_object_new_object());

	for (unsigned i = 0; i < set->nratios; i++)
		jsonw_add(ratios, set->ratio[i].label, jsonw_ratio(row_ratio(run, row, i)));
	jsonw_add(object, "ratios", ratios);
}

static void add_counts(json_object *object, const struct run *run, const struct row *row)
{
	const struct run_set *set = &run->set[row->set];
	json_object *counts = jsonw_made(json_object_new_object());

	for (unsigned i = 0; i < set->nevents; i++)
		jsonw_add(counts, set->event[i].label,
			  count(row->valid >> i & 1, set->event[i].is_signed, row->val[i]));
	jsonw_add_int(object, "set", (int64_t)row->set);
	jsonw_add(object, "counts", counts);
	jsonw_add(object, "cycles", count(row->valid != 0, false, row->cycles));
	if (row->span_ns > 0)
		jsonw_add_int(object, "span", row->span_ns);
	if (set->nratios > 0)
		add_ratios(object, run, row);
}

static void put_row(struct sink *sink, const struct row *row)
{
	struct json *json = (struct json *)sink;
	json_object *object = jsonw_made(json_object_new_object());

	jsonw_add_text(object, "kind", row_kind_name(row->kind));
	if (row->kind == ROW_SUM)
		jsonw_add_text(object, "by", row_by_name(json->run->by));
	jsonw_add_int(object, "ns", row->time_ns);
	jsonw_add_time(object, "time", row->wall_ns);
	if (json->run->of_cpus) {
		jsonw_add_int(object, cpu_scope_name(row->scope), row->id);
		jsonw_add_int(object, "ncpus", row->ncpus);
	}
	if (row->pid > 0)
		jsonw_add_int(object, "pid", row->pid);
	if (row->lwp > 0)
		jsonw_add_int(object, "lwp", row->lwp);
	if (row->tid > 0)
		jsonw_add_int(object, "tid", row->tid);
	if (row->runs > 0 || (row->kind == ROW_TOTAL && !json->run->of_cpus))
		jsonw_add_int(object, "runs", (int64_t)row->runs);
	if (row->comm != NULL)
		jsonw_add_text(object, "comm", row->comm);
	if (row->val != NULL)
		add_counts(object, json->run, row);
	if (row->shared)
		jsonw_add(object, "share", jsonw_made(json_object_new_double(row->share)));
	if (row->kind == ROW_FORK)
		jsonw_add_int(object, "child", row->child);
	if (row->kind == ROW_IMAGE)
		jsonw_add_text(object, "command", row->command);
	if (row->ended && WIFSIGNALED(row->status))
		jsonw_add_int(object, "signal", WTERMSIG(row->status));
	else if (row->ended)
		jsonw_add_int(object, "status", WEXITSTATUS(row->status));
	if (row->incomplete)
		jsonw_add(object, "incomplete", jsonw_made(json_object_new_boolean(1)));
	put(json, object);
	json->rows++;
}

/* A record without it was cut. */
static void end(struct sink *sink)
{
	struct json *json = (struct json *)sink;
	json_object *object = jsonw_made(json_object_new_object());

	jsonw_add_text(object, "kind", "end");
	jsonw_add_int(object, "rows", (int64_t)json->rows);
	if (json->run->lacks)
		jsonw_add(object, "incomplete", jsonw_made(json_object_new_boolean(1)));
	if (json->run->cut)
		jsonw_add(object, "cut", jsonw_made(json_object_new_boolean(1)));
	put(json, object);
}

static void json_free(struct sink *sink)
{
	free(sink);
}

struct sink *json_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {
		.begin = begin, .row = put_row, .end = end, .free = json_free};
	struct json *json = xcalloc(1, sizeof(*json));

	(void)style; /* a record has everything */
	json->sink.ops = &ops;
	json->file = file;
	return &json->sink;
}
