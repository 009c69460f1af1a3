/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * trace.c - trace events for timeline viewers (the JSON format of Chrome's tracing).
 *
 * An LWP is a track.  The track of LWP 1 has a span for each program of its process, with the
 * totals of the process.  The track of another LWP has one span with its own totals.  Forks are
 * instants.  Samples are counters.  Counters belong to processes in this format, so their names
 * contain the LWP.
 */
#include "../base/util.h"
#include "format.h"
#include "jsonwrite.h"

#include <bsd/sys/tree.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define OF_CPUS 1 /* the process id of counters of CPUs */

/* Ended tracks are kept: the fork row of a killed parent can come after the child's exit. */
struct track {
	RB_ENTRY(track) link;
	pid_t pid, tid;
	int lwp;
	int64_t start_ns;
	char *name; /* of its span; NULL: the track has ended */
	bool has_counters;
};

RB_HEAD(tracks, track);

struct trace {
	struct sink sink;
	FILE *file;
	const struct run *run;
	struct tracks tracks;
	json_object *args; /* totals of the current exit row, over its sets; or NULL */
	int64_t last_ns;
	uint64_t events;
};

/* Keeps the tracks of a process together. */
static int compare_tracks(const struct track *a, const struct track *b)
{
	return a->pid != b->pid ? (a->pid > b->pid) - (a->pid < b->pid)
				: (a->tid > b->tid) - (a->tid < b->tid);
}

RB_GENERATE_INTERNAL(tracks, track, link, compare_tracks, __attribute__((unused)) static)

/* ---- events ------------------------------------------------------------------- */

/* Times of the format are microseconds; three digits after the point keep the nanoseconds. */
static void add_us(json_object *event, const char *key, int64_t ns)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRId64 ".%03d", ns / 1000, (int)(ns % 1000));
	jsonwrite_add(event, key, xmade(json_object_new_double_s((double)ns / 1000, text)));
}

/* `phase` is the kind of event in the format. */
static json_object *new_event(const char *phase, const char *name, pid_t pid, pid_t tid, int64_t ns)
{
	json_object *event = xmade(json_object_new_object());

	jsonwrite_add_text(event, "ph", phase);
	jsonwrite_add_text(event, "name", name);
	jsonwrite_add_int(event, "pid", pid);
	jsonwrite_add_int(event, "tid", tid);
	add_us(event, "ts", ns);
	return event;
}

static void put_event(struct trace *t, json_object *event, json_object *args)
{
	if (args != NULL)
		jsonwrite_add(event, "args", args);
	fputs(t->events++ > 0 ? ",\n" : "\n", t->file);
	jsonwrite_put(t->file, event);
}

/* Names a process or an LWP. */
static void put_name(struct trace *t, const char *what, pid_t pid, pid_t tid, const char *name)
{
	json_object *args = xmade(json_object_new_object());

	jsonwrite_add_text(args, "name", name);
	put_event(t, new_event("M", what, pid, tid, 0), args);
}

/* The values of a set are its events, then its ratios. */
static unsigned count_values(const struct run_set *set)
{
	return set->nevents + set->nratios;
}

/* Several sets can contain the same event: add the number of the set. */
static char *label_of(const struct trace *t, size_t k, unsigned i)
{
	const struct run_set *set = &t->run->set[k];
	const char *label =
		i < set->nevents ? set->event[i].label : set->ratio[i - set->nevents].label;

	return t->run->nsets > 1 ? xasprintf("%s (set %zu)", label, k) : xstrdup(label);
}

/* NULL: unknown. */
static json_object *value_of(const struct trace *t, const struct row *row, unsigned i)
{
	const struct run_set *set = &t->run->set[row->set];

	if (i >= set->nevents)
		return jsonwrite_ratio(row_ratio(t->run, row, i - set->nevents));
	if ((row->valid >> i & 1) == 0)
		return NULL;
	if (set->event[i].scale != 1) /* a scale of exactly 1: no unit */
		return xmade(json_object_new_double(count_real(&set->event[i], row->val[i]) *
						    set->event[i].scale));
	return jsonwrite_count(set->event[i].is_signed, row->val[i]);
}

static void add_counts(const struct trace *t, json_object *args, const struct row *row)
{
	for (unsigned i = 0; i < count_values(&t->run->set[row->set]); i++) {
		char *label = label_of(t, row->set, i);

		jsonwrite_add(args, label, value_of(t, row, i));
		free(label);
	}
	if (row->incomplete)
		jsonwrite_add_flag(args, "incomplete", true);
}

/* ---- tracks ------------------------------------------------------------------- */

static struct track *find_track(struct trace *t, pid_t pid, pid_t tid)
{
	struct track key = {.pid = pid, .tid = tid};

	return RB_FIND(tracks, &t->tracks, &key);
}

static bool is_open(const struct track *track)
{
	return track != NULL && track->name != NULL;
}

/* Only fixed keys begin with a parenthesis. */
static char *name_of_key(const struct row *row)
{
	const bool plain = row->key_kind == KEY_NAME && *row->key != '\0' && *row->key != '(';

	return plain ? xstrdup(row->key) : row_key_text(row, ESCAPE_WORD);
}

static void put_counter(struct trace *t, const struct row *row, pid_t pid, pid_t tid, unsigned i,
			json_object *value)
{
	json_object *args = xmade(json_object_new_object());
	char *label = label_of(t, row->set, i);
	const char *unit = t->run->of_cpus ? scope_name(row->scope) : "lwp";
	char *key = t->run->of_cpus && row->key != NULL ? name_of_key(row) : NULL;
	char *name = key != NULL ? xasprintf("%s %s", label, key)
				 : xasprintf("%s %s %d", label, unit,
					     t->run->of_cpus ? row->id : row->lwp);

	jsonwrite_add(args, "count", value);
	put_event(t, new_event("C", name, pid, tid, row->time_ns), args);
	free(name);
	free(key);
	free(label);
}

/* Viewers draw a counter until its next value: end it with 0. */
static void end_counters(struct trace *t, const struct track *track, int64_t ns)
{
	struct row row = {.lwp = track->lwp, .time_ns = ns};

	for (; track->has_counters && row.set < t->run->nsets; row.set++) {
		for (unsigned i = 0; i < count_values(&t->run->set[row.set]); i++)
			put_counter(t, &row, track->pid, track->tid, i,
				    xmade(json_object_new_int(0)));
	}
}

static void close_track(struct trace *t, struct track *track, json_object *args, int64_t ns)
{
	json_object *span = new_event("X", track->name, track->pid, track->tid, track->start_ns);

	end_counters(t, track, ns);
	/* Times go backwards only in forged records. */
	add_us(span, "dur", ns > track->start_ns ? ns - track->start_ns : 0);
	put_event(t, span, args);
	free(track->name);
	track->name = NULL;
}

static struct track *open_track(struct trace *t, pid_t pid, pid_t tid, int lwp, const char *name,
				int64_t ns)
{
	struct track *track = find_track(t, pid, tid);
	char text[32];

	if (track == NULL) {
		track = xcalloc(1, sizeof(*track));
		track->pid = pid;
		track->tid = tid;
		RB_INSERT(tracks, &t->tracks, track);
	} else if (is_open(track)) { /* the record has no end of its program */
		close_track(t, track, NULL, ns);
	}
	track->lwp = lwp;
	track->start_ns = ns;
	track->name = xstrdup(name);
	track->has_counters = false;
	if (tid == pid)
		put_name(t, "process_name", pid, tid, name);
	snprintf(text, sizeof(text), "lwp %d", lwp);
	put_name(t, "thread_name", pid, tid, text);
	return track;
}

/* An LWP without a row for its birth was there when the run or its process started. */
static struct track *track_of(struct trace *t, const struct row *row)
{
	struct track *track = find_track(t, row->pid, row->tid);
	struct track *process = find_track(t, row->pid, row->pid);
	const char *name = row->comm != NULL ? row->comm : "?";

	if (is_open(track)) {
		if (row->tid != row->pid && row->comm != NULL) { /* threads name themselves later */
			free(track->name);
			track->name = xstrdup(row->comm);
		}
		return track;
	}
	if (!is_open(process))
		process = open_track(t, row->pid, row->pid, 1, name,
				     process != NULL ? row->time_ns : 0);
	if (row->tid == row->pid)
		return process;
	return open_track(t, row->pid, row->tid, row->lwp, name, process->start_ns);
}

/* The program of a process has ended, and so have all its LWPs. */
static void close_process(struct trace *t, pid_t pid, json_object *args, int64_t ns)
{
	struct track key = {.pid = pid}, *track = RB_NFIND(tracks, &t->tracks, &key);
	struct track *first = find_track(t, pid, pid);

	for (; track != NULL && track->pid == pid; track = RB_NEXT(tracks, &t->tracks, track)) {
		if (track != first && is_open(track))
			close_track(t, track, NULL, ns);
	}
	if (is_open(first))
		close_track(t, first, args, ns);
	else
		json_object_put(args);
}

/* ---- rows --------------------------------------------------------------------- */

static void put_ticks(struct trace *t, const struct row *row)
{
	struct track *track = t->run->of_cpus ? NULL : track_of(t, row);
	pid_t pid = track != NULL ? row->pid : OF_CPUS, tid = track != NULL ? row->tid : OF_CPUS;

	if (track != NULL)
		track->has_counters = true;
	for (unsigned i = 0; i < count_values(&t->run->set[row->set]); i++) {
		json_object *value = value_of(t, row, i);

		if (value != NULL)
			put_counter(t, row, pid, tid, i, value);
	}
}

/* The fork row of a killed parent can come after all rows of the child. */
static void put_fork(struct trace *t, const struct row *row)
{
	struct track *parent = find_track(t, row->pid, row->tid);
	const struct track *child;
	bool late = parent != NULL && !is_open(parent);
	json_object *event, *args;

	if (!late) {
		parent = track_of(t, row);
		args = xmade(json_object_new_object());
		jsonwrite_add_int(args, "child", row->child);
		event = new_event("i", "fork", row->pid, row->tid, row->time_ns);
		jsonwrite_add_text(event, "s", "t"); /* scope: this thread */
		put_event(t, event, args);
	}
	child = find_track(t, row->child, row->child);
	if (!is_open(child) && !(late && child != NULL))
		open_track(t, row->child, row->child, 1, late ? "?" : parent->name, row->time_ns);
}

/* Totals of an LWP or a process have one row per set. */
static void put_end(struct trace *t, const struct row *row)
{
	struct track *track = track_of(t, row);
	json_object *args;

	if (t->args == NULL)
		t->args = xmade(json_object_new_object());
	add_counts(t, t->args, row);
	if (row->set + 1 < t->run->nsets)
		return;
	args = t->args;
	t->args = NULL;
	if (row->ended)
		jsonwrite_add_int(args, WIFSIGNALED(row->status) ? "signal" : "status",
				  WIFSIGNALED(row->status) ? WTERMSIG(row->status)
							   : WEXITSTATUS(row->status));
	if (row->kind != ROW_LWP_EXIT)
		close_process(t, row->pid, args, row->time_ns);
	else if (row->tid != row->pid)
		close_track(t, track, args, row->time_ns);
	else /* other LWPs, and so the process, continue */
		put_event(t, new_event("i", "lwp_exit", row->pid, row->tid, row->time_ns), args);
}

static void trace_row(struct sink *sink, const struct row *row)
{
	struct trace *t = (struct trace *)sink;

	t->last_ns = row->time_ns;
	switch (row->kind) {
	case ROW_TICK:
		put_ticks(t, row);
		break;
	case ROW_LWP_CREATE:
		if (!is_open(find_track(t, row->pid, row->tid)))
			open_track(t, row->pid, row->tid, row->lwp,
				   row->comm != NULL ? row->comm : "?", row->time_ns);
		break;
	case ROW_FORK:
		put_fork(t, row);
		break;
	case ROW_IMAGE:
		open_track(t, row->pid, row->pid, 1, row->command, row->time_ns);
		break;
	case ROW_EXEC:
	case ROW_EXIT:
	case ROW_DETACH:
	case ROW_LWP_EXIT:
		put_end(t, row);
		break;
	default:
		break;
	}
}

static void trace_free(struct sink *sink)
{
	struct trace *t = (struct trace *)sink;
	struct track *track;

	while ((track = RB_MIN(tracks, &t->tracks)) != NULL) {
		RB_REMOVE(tracks, &t->tracks, track);
		free(track->name);
		free(track);
	}
	json_object_put(t->args);
}

static void trace_begin(struct sink *sink, const struct run *run)
{
	struct trace *t = (struct trace *)sink;
	json_object *about = xmade(json_object_new_object());

	t->run = run;
	jsonwrite_add_text(about, "tool", run->tool);
	jsonwrite_add_text(about, "host", run->host);
	jsonwrite_add_time(about, "start", run->start_ns);
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":", t->file);
	jsonwrite_put(t->file, about);
	fputs(",\"traceEvents\":[", t->file);
	if (run->of_cpus)
		put_name(t, "process_name", OF_CPUS, OF_CPUS, run->host);
}

static void trace_end(struct sink *sink)
{
	struct trace *t = (struct trace *)sink;
	struct track *track;

	RB_FOREACH(track, tracks, &t->tracks) {
		if (is_open(track))
			close_track(t, track, NULL, t->last_ns);
	}
	fputs("\n]}\n", t->file);
}

struct sink *trace_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {
		.begin = trace_begin, .row = trace_row, .end = trace_end, .free = trace_free};
	struct trace *t = sink_new(sizeof(*t), &ops, NULL);

	(void)style;
	t->file = file;
	RB_INIT(&t->tracks);
	return &t->sink;
}
