/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * replay.c - reads the records that json.c writes.  A record can be forged: every row is checked
 * completely before it is passed on.
 */
#include "replay.h"

#include "../base/say.h"
#include "../base/util.h"
#include "format.h"
#include "jsonread.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SETS 1000
#define MAX_CPUS 100000
#define MAX_ARGS 1000000
/* Limits the length of printed numbers. */
#define MAX_SCALE 1e9

struct replay {
	const struct replay_config *config;
	struct sink *sink;
	struct jsonread in;
	struct run run;
	bool running;	   /* a run has begun and not ended */
	uint64_t nrows;	   /* of this run */
	int64_t last_ns;   /* time of the previous row */
	int64_t sample_ns; /* time of the current sample; -1: none */
	size_t sample_set;
	uint64_t val[RUN_MAX_EVENTS];
};

/* NULL: the text is missing. */
static const char *read_optional_text(struct jsonread *in, json_object *object, const char *key)
{
	return jsonread_has(object, key) ? jsonread_text(in, object, key) : NULL;
}

/* A missing flag is false. */
static bool read_optional_flag(struct jsonread *in, json_object *object, const char *key)
{
	return jsonread_has(object, key) && jsonread_flag(in, object, key);
}

/* ---- the run --------------------------------------------------------- */

static struct run_event read_event(struct jsonread *in, json_object *object)
{
	struct run_event event = {
		.label = xstrdup(jsonread_text(in, object, "event")),
		.name = xstrdup(jsonread_text(in, object, "name")),
		.unit = xstrdup(jsonread_text(in, object, "unit")),
		.slot = (unsigned)jsonread_int(in, object, "pic", 0, RUN_MAX_EVENTS - 1),
		.scale = jsonread_real(in, object, "scale"),
		.is_signed = jsonread_flag(in, object, "signed"),
	};

	if (!(event.scale > 0 && event.scale <= MAX_SCALE))
		jsonread_bad(in, "invalid 'scale': out of range");
	return event;
}

static void read_ratio(struct jsonread *in, struct run_set *set, json_object *object)
{
	json_object *events;
	size_t n = jsonread_array(in, object, "events", RUN_MAX_EVENTS, &events);
	struct run_ratio *ratio = &set->ratio[set->nratios];
	const char *label = jsonread_text(in, object, "ratio");

	ratio->ratio = cpc_ratio_parse(jsonread_text(in, object, "expression"));
	if (ratio->ratio == NULL || cpc_ratio_nevents(ratio->ratio) != n)
		jsonread_bad(in, "invalid ratio: it cannot be computed");
	if (run_find_ratio(set, label) != -1)
		jsonread_bad(in, "invalid set: two ratios are the same");
	ratio->label = xstrdup(label);
	ratio->event = xcalloc(n + 1, sizeof(*ratio->event));
	for (size_t i = 0; i < n && !in->failed; i++) {
		json_object *event = json_object_array_get_idx(events, i);
		int at = run_find_event(set, jsonread_word(in, event));

		if (at == -1)
			jsonread_bad(in, "invalid ratio: its event is not in the set");
		ratio->event[i] = at != -1 ? (unsigned)at : 0;
	}
	set->nratios++;
}

/* Old records have no ratios. */
static void read_ratios(struct jsonread *in, struct run_set *set, json_object *object)
{
	json_object *ratios;
	size_t n = 0;

	if (jsonread_has(object, "ratios"))
		n = jsonread_array(in, object, "ratios", RUN_MAX_RATIOS, &ratios);
	set->ratio = xcalloc(n + 1, sizeof(*set->ratio));
	for (size_t i = 0; i < n && !in->failed; i++)
		read_ratio(in, set, json_object_array_get_idx(ratios, i));
}

static void read_set(struct jsonread *in, struct run_set *set, json_object *object)
{
	json_object *events;
	size_t n = jsonread_array(in, object, "events", RUN_MAX_EVENTS, &events);

	set->spec = xstrdup(jsonread_text(in, object, "spec"));
	set->event = xcalloc(n + 1, sizeof(*set->event));
	if (n == 0)
		jsonread_bad(in, "invalid set: it has no events");
	for (size_t i = 0; i < n && !in->failed; i++) {
		set->event[i] = read_event(in, json_object_array_get_idx(events, i));
		set->nevents++;
		for (size_t j = 0; j < i; j++) {
			if (set->event[j].slot == set->event[i].slot ||
			    strcmp(set->event[j].label, set->event[i].label) == 0)
				jsonread_bad(in, "invalid set: two events are the same");
		}
	}
	read_ratios(in, set, object);
}

static void read_cpus(struct jsonread *in, struct run *run, json_object *object)
{
	json_object *cpus;
	size_t n = jsonread_array(in, object, "cpus", MAX_CPUS, &cpus);

	run->cpu = xcalloc(n + 1, sizeof(*run->cpu));
	if (n == 0)
		jsonread_bad(in, "invalid record: it has no CPUs");
	for (size_t i = 0; i < n && !in->failed; i++) {
		json_object *from = json_object_array_get_idx(cpus, i);
		struct run_cpu *cpu = &run->cpu[run->ncpus++];

		cpu->id = (int)jsonread_int(in, from, "cpu", 0, INT_MAX);
		cpu->core = (int)jsonread_int(in, from, "core", 0, INT_MAX);
		cpu->socket = (int)jsonread_int(in, from, "socket", 0, INT_MAX);
		cpu->node = (int)jsonread_int(in, from, "node", 0, INT_MAX);
		cpu->pmu = copy_text(read_optional_text(in, from, "pmu"));
		if (i > 0 && cpu[-1].id >= cpu->id)
			jsonread_bad(in, "invalid 'cpus': they are not in order");
	}
	if (!run_find_kinds(run))
		jsonread_bad(in, "invalid 'cpus': they have too many kinds of cores");
}

static void read_argv(struct jsonread *in, struct run *run, json_object *object)
{
	json_object *argv;
	size_t n = jsonread_array(in, object, "command", MAX_ARGS, &argv);

	run->argv = xcalloc(n + 1, sizeof(*run->argv));
	for (size_t i = 0; i < n; i++)
		run->argv[i] = xstrdup(jsonread_word(in, json_object_array_get_idx(argv, i)));
}

static enum scope read_scope(struct jsonread *in, json_object *object)
{
	enum scope scope = scope_parse(jsonread_text(in, object, "unit"));

	if (scope < SCOPE_CPU)
		jsonread_bad(in, "unknown 'unit'");
	return scope;
}

/* Old records do not name the engine. */
static void read_engine(struct jsonread *in, struct run *run, json_object *object)
{
	run->engine = copy_text(read_optional_text(in, object, "engine"));
	if (run->engine != NULL && strcmp(run->engine, "kernel") != 0 &&
	    strcmp(run->engine, "ptrace") != 0)
		jsonread_bad(in, "invalid 'engine': expected kernel or ptrace");
}

/* Only runs of one of two compared commands have a side. */
static enum run_side read_side(struct jsonread *in, json_object *object)
{
	int side = SIDE_NONE;

	if (jsonread_has(object, "side"))
		side = run_side_parse(jsonread_text(in, object, "side"));
	if (side == -1)
		jsonread_bad(in, "invalid 'side': expected old or new");
	return side != -1 ? (enum run_side)side : SIDE_NONE;
}

static void read_run(struct replay *r, json_object *object)
{
	struct jsonread *in = &r->in;
	struct run *run = &r->run;
	json_object *sets;
	size_t n;

	if (jsonread_int(in, object, "schema", 1, INT_MAX) != JSON_SCHEMA) {
		jsonread_bad(in, "unsupported version of records: another release wrote this one");
		return;
	}
	run->tool = xstrdup(jsonread_text(in, object, "tool"));
	if (!in->failed && strcmp(run->tool, r->config->tool) != 0)
		jsonread_bad(in, "invalid record: replay it with %s", run->tool);
	run->of_cpus = strcmp(run->tool, "cpustat") == 0;
	run->host = xstrdup(jsonread_text(in, object, "host"));
	run->cycles = xstrdup(jsonread_text(in, object, "cycles"));
	if (!in->failed && strcmp(run->cycles, "tsc") != 0 && strcmp(run->cycles, "tick") != 0)
		jsonread_bad(in, "invalid 'cycles': expected tsc or tick");
	read_engine(in, run, object);
	run->side = read_side(in, object);
	run->start_ns = jsonread_time(in, object, "start");
	read_argv(in, run, object);
	n = jsonread_array(in, object, "sets", MAX_SETS, &sets);
	run->set = xcalloc(n + 1, sizeof(*run->set));
	for (size_t i = 0; i < n && !in->failed; i++)
		read_set(in, &run->set[run->nsets++], json_object_array_get_idx(sets, i));
	if (run->of_cpus) {
		run->scope = read_scope(in, object);
		read_cpus(in, run, object);
	} else {
		run->many = jsonread_flag(in, object, "many");
		if (jsonread_has(object, "unit"))
			run->scope = read_scope(in, object);
		if (run->scope != SCOPE_NONE && !scope_is_owner(run->scope))
			jsonread_bad(in, "invalid 'unit': LWPs have none of these");
	}
	if (n == 0)
		jsonread_bad(in, "invalid record: it has no events");
}

static void read_begin(struct replay *r, json_object *object)
{
	char *refusal;

	if (r->running) {
		jsonread_bad(&r->in,
			     "invalid record: a run begins before the end of the previous one");
		return;
	}
	read_run(r, object);
	if (r->in.failed)
		return;
	refusal = r->config->check(r->config->arg, &r->run);
	if (refusal != NULL) {
		jsonread_bad(&r->in, "%s", refusal);
		free(refusal);
		return;
	}
	r->running = true;
	r->nrows = 0;
	r->last_ns = 0;
	r->sample_ns = -1;
	sink_begin(r->sink, &r->run);
}

/* ---- rows ------------------------------------------------------------------------ */

static void read_counts(struct replay *r, struct row *row, json_object *object)
{
	struct jsonread *in = &r->in;
	json_object *counts = jsonread_object(in, object, "counts");
	const struct run_set *set;

	row->set = (size_t)jsonread_int(in, object, "set", 0, (int64_t)r->run.nsets - 1);
	if (in->failed)
		return;
	set = &r->run.set[row->set];
	for (unsigned i = 0; i < set->nevents; i++) {
		const struct run_event *event = &set->event[i];

		if (jsonread_count(in, counts, event->label, event->is_signed, &r->val[i]))
			row->valid |= UINT64_C(1) << i;
	}
	if (json_object_object_length(counts) != (int)set->nevents)
		jsonread_bad(in, "invalid 'counts': some event is not in the set");
	if (jsonread_count(in, object, "cycles", false, &row->cycles) != (row->valid != 0))
		jsonread_bad(in, "missing counts or 'cycles'");
	if (jsonread_has(object, "span")) /* old records have no spans */
		row->span_ns = jsonread_int(in, object, "span", 1, INT64_MAX / 2);
	row->val = r->val;
}

static void read_ids(struct jsonread *in, struct row *row, json_object *object)
{
	row->container = read_optional_text(in, object, "container_id");
	row->pod = read_optional_text(in, object, "pod_id");
	row->outer = read_optional_text(in, object, "outer_container");
}

/* Old records have no kind: the texts of fixed keys are not names there. */
static void read_key(struct jsonread *in, struct row *row, json_object *object)
{
	const char *name = scope_member(row->scope);
	int kind = KEY_NAME;

	if (jsonread_has(object, "key_kind"))
		kind = key_kind_parse(jsonread_text(in, object, "key_kind"));
	if (kind == -1)
		jsonread_bad(in, "invalid 'key_kind'");
	else if (kind == KEY_NAME)
		row->key = jsonread_text(in, object, name);
	else if (json_object_object_get(object, name) != NULL)
		jsonread_bad(in, "invalid '%s': expected null for a fixed key", name);
	else
		row_set_fixed_key(row, (enum key_kind)kind);
	if (!in->failed && !jsonread_has(object, "key_kind"))
		row->key_kind = key_kind_of_text(row->key);
}

static void read_owners(struct replay *r, struct row *row, json_object *object)
{
	struct jsonread *in = &r->in;

	row->scope = r->run.scope;
	if (row->scope != SCOPE_USER && scope_is_owner(row->scope) &&
	    jsonread_has(object, scope_name(row->scope)))
		read_key(in, row, object);
	row->user = read_optional_text(in, object, "user");
	read_ids(in, row, object);
}

static void read_cpu_row(struct replay *r, struct row *row, json_object *object)
{
	struct jsonread *in = &r->in;

	row->scope = row->kind == ROW_TOTAL ? SCOPE_ALL : r->run.scope;
	if (scope_has_names(row->scope))
		read_key(in, row, object);
	else
		row->id = (int)jsonread_int(in, object, scope_name(row->scope), 0, INT_MAX);
	read_ids(in, row, object);
	row->ncpus = (unsigned)jsonread_int(in, object, "ncpus", 0, INT_MAX);
	if (jsonread_has(object, "late"))
		row->late = (uint64_t)jsonread_int(in, object, "late", 1, INT64_MAX);
	if (row->kind != ROW_TICK && row->kind != ROW_TOTAL)
		jsonread_bad(in, "invalid row: CPUs have no '%s'", row_kind_name(row->kind));
}

/* Reads how a process or command ended, as by waitpid(2).  False: that is unknown. */
static bool read_status(struct jsonread *in, json_object *object, int *wstatus)
{
	bool signaled = jsonread_has(object, "signal"), exited = jsonread_has(object, "status");

	if (signaled && exited)
		jsonread_bad(in, "invalid row: it has both 'signal' and 'status'");
	if (signaled)
		*wstatus = (int)jsonread_int(in, object, "signal", 1, 126);
	else if (exited)
		*wstatus = (int)jsonread_int(in, object, "status", 0, 255) << 8;
	return signaled || exited;
}

static void read_lwp_row(struct replay *r, struct row *row, json_object *object)
{
	struct jsonread *in = &r->in;

	if (row->kind == ROW_TOTAL) {
		row->runs = (uint64_t)jsonread_int(in, object, "runs", 0, INT64_MAX);
		return;
	}
	row->pid = (pid_t)jsonread_int(in, object, "pid", 1, INT_MAX);
	row->lwp = (int)jsonread_int(in, object, "lwp", 1, INT_MAX);
	row->tid = (pid_t)jsonread_int(in, object, "tid", 1, INT_MAX);
	row->comm = read_optional_text(in, object, "comm");
	read_owners(r, row, object);
	if (row->kind == ROW_FORK)
		row->child = (pid_t)jsonread_int(in, object, "child", 1, INT_MAX);
	if (row->kind == ROW_IMAGE)
		row->command = jsonread_text(in, object, "command");
	row->ended = read_status(in, object, &row->status);
}

/* Ends the current sample, if any, and flushes the output. */
static void end_sample(struct replay *r)
{
	if (r->sample_ns != -1)
		sink_sampled(r->sink);
	r->sample_ns = -1;
	if (r->config->flush != NULL && !r->config->flush(r->config->arg))
		r->in.failed = true;
}

static void read_row(struct replay *r, json_object *object, int kind)
{
	struct jsonread *in = &r->in;
	struct row row = {.kind = (enum row_kind)kind};

	if (row.kind == ROW_SUM) {
		jsonread_bad(in, "invalid record: it is a summary (--by); -O writes records");
		return;
	}
	row.time_ns = jsonread_int(in, object, "ns", 0, INT64_MAX / 2);
	if (row.time_ns < r->last_ns)
		jsonread_bad(in, "invalid 'ns': less than in the previous row");
	r->last_ns = row.time_ns;
	row.wall_ns = jsonread_time(in, object, "time");
	if (r->run.of_cpus)
		read_cpu_row(r, &row, object);
	else
		read_lwp_row(r, &row, object);
	if (row.kind != ROW_FORK && row.kind != ROW_IMAGE)
		read_counts(r, &row, object);
	row.incomplete = read_optional_flag(in, object, "incomplete");
	if (in->failed)
		return;
	if (r->sample_ns != -1 &&
	    (row.kind != ROW_TICK || row.time_ns != r->sample_ns || row.set != r->sample_set))
		end_sample(r);
	if (in->failed)
		return;
	if (row.kind == ROW_TICK && r->run.of_cpus) {
		r->sample_ns = row.time_ns;
		r->sample_set = row.set;
	}
	sink_row(r->sink, &row);
	r->nrows++;
}

static void read_end(struct replay *r, json_object *object)
{
	if ((uint64_t)jsonread_int(&r->in, object, "rows", 0, INT64_MAX) != r->nrows)
		jsonread_bad(&r->in, "invalid 'rows': the run has %llu rows",
			     (unsigned long long)r->nrows);
	r->run.incomplete = read_optional_flag(&r->in, object, "incomplete");
	r->run.cut = read_optional_flag(&r->in, object, "cut");
	r->run.ended = read_status(&r->in, object, &r->run.status); /* not in old records */
	if (r->in.failed)
		return;
	end_sample(r);
	sink_end(r->sink);
	r->running = false;
	run_free(&r->run);
}

/* ---- lines ------------------------------------------------------------------------- */

static void read_object(struct replay *r, json_object *object)
{
	const char *name = jsonread_text(&r->in, object, "kind");
	int kind = row_kind_parse(name);

	if (r->in.failed)
		return;
	if (strcmp(name, "run") == 0)
		read_begin(r, object);
	else if (strcmp(name, "means") == 0)
		jsonread_bad(&r->in, "invalid record: it has means (-r); -O writes records");
	else if (!r->running)
		jsonread_bad(&r->in, "missing the beginning of a run");
	else if (strcmp(name, "end") == 0)
		read_end(r, object);
	else if (kind != -1)
		read_row(r, object, kind);
	else
		jsonread_bad(&r->in, "unknown kind of row: '%s'", name);
}

bool replay(const struct replay_config *config, struct sink *sink)
{
	struct replay r = {.config = config, .sink = sink};
	json_object *object;

	if (!jsonread_open(&r.in, config->path))
		return false;
	while ((object = jsonread_next(&r.in)) != NULL) {
		read_object(&r, object);
		json_object_put(object);
		if (r.in.failed)
			break;
	}
	if (!r.in.failed && r.running) {
		end_sample(&r); /* show the rows before the cut */
		jsonread_bad(&r.in, "missing end: the record is cut");
	} else if (!r.in.failed && r.in.line == 0) {
		jsonread_bad(&r.in, "invalid record: the file is empty");
	}
	run_free(&r.run);
	jsonread_close(&r.in);
	return !r.in.failed;
}
