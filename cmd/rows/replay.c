/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * replay.c - reads what json.c writes.  Nothing in a record is believed: whoever made it,
 * rows are told in full or refused.
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
/* The range of a scale keeps what is printed short. */
#define MAX_SCALE 1e9

struct replay {
	const struct replay_config *config;
	struct sink *sink;
	struct jsonread in;
	struct run run;
	bool running;	   /* between the record of a run and its end */
	uint64_t rows;	   /* of this run */
	int64_t last_ns;   /* time of the row before */
	int64_t sample_ns; /* time of the sample that is told; -1: none */
	size_t sample_set;
	uint64_t val[RUN_MAX_EVENTS];
	char why[64];
};

/* ---- the record of a run --------------------------------------------------------- */

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
		jsonread_bad(in, "'scale' is out of range");
	return event;
}

/* The event of a set that has a label. */
static unsigned find_event(struct jsonread *in, const struct run_set *set, const char *label)
{
	for (unsigned i = 0; i < set->nevents; i++) {
		if (strcmp(set->event[i].label, label) == 0)
			return i;
	}
	jsonread_bad(in, "a ratio of an event that is not in the set");
	return 0;
}

static void read_ratio(struct jsonread *in, struct run_set *set, json_object *object)
{
	json_object *events = jsonread_array(in, object, "events", RUN_MAX_EVENTS);
	size_t n = jsonread_length(events);
	struct run_ratio *ratio = &set->ratio[set->nratios];
	const char *label = jsonread_text(in, object, "ratio");

	ratio->ratio = cpc_ratio_parse(jsonread_text(in, object, "expression"));
	if (ratio->ratio == NULL || cpc_ratio_nevents(ratio->ratio) != n)
		jsonread_bad(in, "a ratio that cannot be computed");
	if (run_find_ratio(set, label) != -1)
		jsonread_bad(in, "two ratios of a set are the same");
	ratio->label = xstrdup(label);
	ratio->event = xcalloc(n + 1, sizeof(*ratio->event));
	for (size_t i = 0; i < n && !in->failed; i++)
		ratio->event[i] = find_event(
			in, set, jsonread_word(in, json_object_array_get_idx(events, i)));
	set->nratios++;
}

/* Older records have none. */
static void read_ratios(struct jsonread *in, struct run_set *set, json_object *object)
{
	json_object *ratios = jsonread_has(object, "ratios")
				      ? jsonread_array(in, object, "ratios", RUN_MAX_RATIOS)
				      : NULL;
	size_t n = jsonread_length(ratios);

	set->ratio = xcalloc(n + 1, sizeof(*set->ratio));
	for (size_t i = 0; i < n && !in->failed; i++)
		read_ratio(in, set, json_object_array_get_idx(ratios, i));
}

static void read_set(struct jsonread *in, struct run_set *set, json_object *object)
{
	json_object *events = jsonread_array(in, object, "events", RUN_MAX_EVENTS);
	size_t n = jsonread_length(events);

	set->spec = xstrdup(jsonread_text(in, object, "spec"));
	set->event = xcalloc(n + 1, sizeof(*set->event));
	if (n == 0)
		jsonread_bad(in, "a set without events");
	for (size_t i = 0; i < n && !in->failed; i++) {
		set->event[i] = read_event(in, json_object_array_get_idx(events, i));
		set->nevents++;
		for (size_t j = 0; j < i; j++) {
			if (set->event[j].slot == set->event[i].slot ||
			    strcmp(set->event[j].label, set->event[i].label) == 0)
				jsonread_bad(in, "two events of a set are the same");
		}
	}
	read_ratios(in, set, object);
}

static void read_cpus(struct jsonread *in, struct run *run, json_object *object)
{
	json_object *cpus = jsonread_array(in, object, "cpus", MAX_CPUS);
	size_t n = jsonread_length(cpus);

	run->cpu = xcalloc(n + 1, sizeof(*run->cpu));
	if (n == 0)
		jsonread_bad(in, "a record without CPUs");
	for (size_t i = 0; i < n && !in->failed; i++) {
		json_object *from = json_object_array_get_idx(cpus, i);
		struct run_cpu *cpu = &run->cpu[run->ncpus++];

		cpu->id = (int)jsonread_int(in, from, "cpu", 0, INT_MAX);
		cpu->core = (int)jsonread_int(in, from, "core", 0, INT_MAX);
		cpu->socket = (int)jsonread_int(in, from, "socket", 0, INT_MAX);
		cpu->node = (int)jsonread_int(in, from, "node", 0, INT_MAX);
		if (i > 0 && cpu[-1].id >= cpu->id)
			jsonread_bad(in, "'cpus' are not in order");
	}
}

static void read_argv(struct jsonread *in, struct run *run, json_object *object)
{
	json_object *argv = jsonread_array(in, object, "command", MAX_ARGS);
	size_t n = jsonread_length(argv);

	run->argv = xcalloc(n + 1, sizeof(*run->argv));
	for (size_t i = 0; i < n; i++)
		run->argv[i] = xstrdup(jsonread_word(in, json_object_array_get_idx(argv, i)));
}

static enum cpu_scope read_unit(struct jsonread *in, json_object *object)
{
	int unit = cpu_scope_parse(jsonread_text(in, object, "unit"));

	if (unit == -1)
		jsonread_bad(in, "'unit' is none of those that are known");
	return unit != -1 ? (enum cpu_scope)unit : SCOPE_CPU;
}

/* Older records do not tell. */
static void read_engine(struct jsonread *in, struct run *run, json_object *object)
{
	const char *engine;

	if (!jsonread_has(object, "engine"))
		return;
	engine = jsonread_text(in, object, "engine");
	if (strcmp(engine, "kernel") != 0 && strcmp(engine, "ptrace") != 0)
		jsonread_bad(in, "'engine' is neither kernel nor ptrace");
	run->engine = xstrdup(engine);
}

static void read_run(struct replay *r, json_object *object)
{
	struct jsonread *in = &r->in;
	struct run *run = &r->run;
	json_object *sets;
	size_t n;

	/* What follows is for those who know that version. */
	if (jsonread_int(in, object, "schema", 1, INT_MAX) != JSON_SCHEMA) {
		jsonread_bad(in, "a record of another version, made by another release");
		return;
	}
	run->tool = xstrdup(jsonread_text(in, object, "tool"));
	if (!in->failed && strcmp(run->tool, r->config->tool) != 0)
		jsonread_bad(in, "a record of %s, which is to replay it", run->tool);
	run->of_cpus = strcmp(run->tool, "cpustat") == 0;
	run->host = xstrdup(jsonread_text(in, object, "host"));
	run->cycles = xstrdup(jsonread_text(in, object, "cycles"));
	if (!in->failed && strcmp(run->cycles, "tsc") != 0 && strcmp(run->cycles, "tick") != 0)
		jsonread_bad(in, "'cycles' is neither tsc nor tick");
	read_engine(in, run, object);
	run->start_ns = jsonread_time(in, object, "start");
	read_argv(in, run, object);
	sets = jsonread_array(in, object, "sets", MAX_SETS);
	n = jsonread_length(sets);
	run->set = xcalloc(n + 1, sizeof(*run->set));
	for (size_t i = 0; i < n && !in->failed; i++)
		read_set(in, &run->set[run->nsets++], json_object_array_get_idx(sets, i));
	if (run->of_cpus) {
		run->scope = read_unit(in, object);
		read_cpus(in, run, object);
	} else {
		run->many = jsonread_flag(in, object, "many");
	}
	if (n == 0)
		jsonread_bad(in, "a record without events");
}

static void begin(struct replay *r, json_object *object)
{
	char where[32];

	if (r->running) {
		jsonread_bad(&r->in, "a run begins before the end of the one before");
		return;
	}
	read_run(r, object);
	if (r->in.failed)
		return;
	snprintf(where, sizeof(where), "%zu", r->in.line);
	if (!r->config->check(r->config->arg, where, &r->run)) {
		r->in.failed = true;
		return;
	}
	r->running = true;
	r->rows = 0;
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
		jsonread_bad(in, "'counts' of events that are not in the set");
	if (jsonread_count(in, object, "cycles", false, &row->cycles) != (row->valid != 0))
		jsonread_bad(in, "either counts or 'cycles' are missing");
	if (jsonread_has(object, "span")) /* older records have none */
		row->span_ns = jsonread_int(in, object, "span", 1, INT64_MAX / 2);
	row->val = r->val;
}

static void read_cpu_row(struct replay *r, struct row *row, json_object *object)
{
	struct jsonread *in = &r->in;

	row->scope = row->kind == ROW_TOTAL ? SCOPE_ALL : r->run.scope;
	row->id = (int)jsonread_int(in, object, cpu_scope_name(row->scope), 0, INT_MAX);
	row->ncpus = (unsigned)jsonread_int(in, object, "ncpus", 0, INT_MAX);
	if (row->kind != ROW_TICK && row->kind != ROW_TOTAL)
		jsonread_bad(in, "CPUs have no rows '%s'", row_kind_name(row->kind));
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
	if (jsonread_has(object, "comm"))
		row->comm = jsonread_text(in, object, "comm");
	if (row->kind == ROW_FORK)
		row->child = (pid_t)jsonread_int(in, object, "child", 1, INT_MAX);
	if (row->kind == ROW_IMAGE)
		row->command = jsonread_text(in, object, "command");
	row->ended = jsonread_has(object, "signal") || jsonread_has(object, "status");
	if (jsonread_has(object, "signal") && jsonread_has(object, "status"))
		jsonread_bad(in, "a process ends by 'signal' or with 'status', and not by both");
	if (jsonread_has(object, "signal"))
		row->status = (int)jsonread_int(in, object, "signal", 1, 126);
	else if (row->ended)
		row->status = (int)jsonread_int(in, object, "status", 0, 255) << 8;
}

static void sample_over(struct replay *r)
{
	int error;

	if (r->sample_ns != -1)
		sink_sampled(r->sink);
	r->sample_ns = -1;
	error = r->config->flush(r->config->arg);
	if (error != 0)
		r->in.failed = true;
}

static void tell_row(struct replay *r, json_object *object, int kind)
{
	struct jsonread *in = &r->in;
	struct row row = {.kind = (enum row_kind)kind};

	if (row.kind == ROW_SUM) {
		jsonread_bad(in, "a summary (--by), and no record of the run, which -O writes");
		return;
	}
	row.time_ns = jsonread_int(in, object, "ns", 0, INT64_MAX / 2);
	if (row.time_ns < r->last_ns)
		jsonread_bad(in, "the time goes backwards: 'ns' is less than in the row before");
	r->last_ns = row.time_ns;
	row.wall_ns = jsonread_time(in, object, "time");
	if (r->run.of_cpus)
		read_cpu_row(r, &row, object);
	else
		read_lwp_row(r, &row, object);
	if (row.kind != ROW_FORK && row.kind != ROW_IMAGE)
		read_counts(r, &row, object);
	row.incomplete =
		jsonread_has(object, "incomplete") && jsonread_flag(in, object, "incomplete");
	if (in->failed)
		return;
	if (r->sample_ns != -1 &&
	    (row.kind != ROW_TICK || row.time_ns != r->sample_ns || row.set != r->sample_set))
		sample_over(r);
	if (in->failed)
		return;
	if (row.kind == ROW_TICK && r->run.of_cpus) {
		r->sample_ns = row.time_ns;
		r->sample_set = row.set;
	}
	sink_row(r->sink, &row);
	r->rows++;
}

static void end(struct replay *r, json_object *object)
{
	if ((uint64_t)jsonread_int(&r->in, object, "rows", 0, INT64_MAX) != r->rows)
		jsonread_bad(&r->in, "the run has %llu rows, and not as many as it ends with",
			     (unsigned long long)r->rows);
	r->run.lacks =
		jsonread_has(object, "incomplete") && jsonread_flag(&r->in, object, "incomplete");
	r->run.cut = jsonread_has(object, "cut") && jsonread_flag(&r->in, object, "cut");
	if (r->in.failed)
		return;
	sample_over(r);
	sink_end(r->sink);
	r->running = false;
	run_free(&r->run);
}

/* ---- lines ------------------------------------------------------------------------- */

static void tell(struct replay *r, json_object *object)
{
	const char *name = jsonread_text(&r->in, object, "kind");
	int kind = row_kind_parse(name);

	if (r->in.failed)
		return;
	if (strcmp(name, "run") == 0)
		begin(r, object);
	else if (!r->running)
		jsonread_bad(&r->in, "no record begins here");
	else if (strcmp(name, "end") == 0)
		end(r, object);
	else if (kind != -1)
		tell_row(r, object, kind);
	else
		jsonread_bad(&r->in, "'%s' is no kind of row", name);
}

bool replay(const struct replay_config *config, struct sink *sink)
{
	struct replay r = {.config = config, .sink = sink};
	json_object *object;

	if (!jsonread_open(&r.in, config->path))
		return false;
	while ((object = jsonread_next(&r.in)) != NULL) {
		tell(&r, object);
		json_object_put(object);
		if (r.in.failed)
			break;
	}
	if (!r.in.failed && r.running) {
		sample_over(&r); /* what there is, is shown */
		jsonread_bad(&r.in, "the record is cut: its end is missing");
	} else if (!r.in.failed && r.in.line == 0) {
		jsonread_bad(&r.in, "an empty file is no record");
	}
	run_free(&r.run);
	jsonread_close(&r.in);
	return !r.in.failed;
}
