/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * json.c - JSON Lines: a record of the run, one for each row, one for the end.
 *
 * The lines are ASCII.  Bytes of names that are not UTF-8 become U+FFFD.
 */
#include "../common/say.h"
#include "../common/util.h"
#include "format.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct json {
	struct sink sink;
	FILE *file;
	const struct run *run;
	uint64_t rows; /* told so far */
};

/* ---- text ------------------------------------------------------------------ */

/* Decodes the character at `s`; returns its length; of what is not UTF-8, 1 and U+FFFD. */
static size_t decode(const char *s, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;

	*c = n < 2 ? u[0] : u[0] & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			n = 0;
		*c = *c << 6 | (u[i] & 0x3f);
	}
	if (n == 0 || *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000)) {
		*c = 0xfffd;
		return 1;
	}
	return n;
}

/* Writes `text`, which is JSON, with all but ASCII as \u escapes. */
static void put_ascii(FILE *f, const char *text)
{
	uint32_t c;
	size_t n;

	while (*text != '\0') {
		for (n = 0; text[n] >= ' ' && text[n] <= '~'; n++)
			;
		fwrite(text, 1, n, f);
		text += n;
		if (*text == '\0')
			break;
		text += decode(text, &c);
		if (c >= 0x10000)
			fprintf(f, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
		else
			fprintf(f, "\\u%04x", c);
	}
}

/* ---- objects ----------------------------------------------------------------- */

/* No memory is the only reason for which a call of the library fails here. */
static json_object *made(json_object *value)
{
	if (value == NULL)
		die("%s", strerror(ENOMEM));
	return value;
}

static void add(json_object *object, const char *key, json_object *value)
{
	if (json_object_object_add(object, key, value) != 0)
		die("%s", strerror(ENOMEM));
}

static void add_int(json_object *object, const char *key, int64_t val)
{
	add(object, key, made(json_object_new_int64(val)));
}

static void add_text(json_object *object, const char *key, const char *text)
{
	add(object, key, made(json_object_new_string(text)));
}

static void add_time(json_object *object, const char *key, int64_t ns)
{
	char text[ISO_TIME_SIZE];

	iso_time(text, ns);
	add_text(object, key, text);
}

static void append(json_object *array, json_object *value)
{
	if (json_object_array_add(array, value) != 0)
		die("%s", strerror(ENOMEM));
}

static json_object *count(bool known, bool is_signed, uint64_t val)
{
	if (!known)
		return NULL; /* null */
	return made(is_signed ? json_object_new_int64((int64_t)val) : json_object_new_uint64(val));
}

static void put(const struct json *json, json_object *object)
{
	const char *text = json_object_to_json_string_ext(
		object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	if (text == NULL)
		die("%s", strerror(ENOMEM));
	put_ascii(json->file, text);
	fputc('\n', json->file);
	json_object_put(object);
}

/* ---- records ----------------------------------------------------------------- */

static json_object *set_object(const struct run_set *set)
{
	json_object *object = made(json_object_new_object());
	json_object *events = made(json_object_new_array());

	add_text(object, "spec", set->spec);
	for (unsigned i = 0; i < set->nevents; i++) {
		const struct run_event *from = &set->event[i];
		json_object *event = made(json_object_new_object());

		add_text(event, "event", from->label);
		add_text(event, "name", from->name);
		add_int(event, "pic", from->slot);
		add_text(event, "unit", from->unit);
		add(event, "scale", made(json_object_new_double(from->scale)));
		add(event, "signed", made(json_object_new_boolean(from->is_signed)));
		append(events, event);
	}
	add(object, "events", events);
	return object;
}

static json_object *cpu_object(const struct run_cpu *cpu)
{
	json_object *object = made(json_object_new_object());

	add_int(object, "cpu", cpu->id);
	add_int(object, "core", cpu->core);
	add_int(object, "socket", cpu->socket);
	add_int(object, "node", cpu->node);
	return object;
}

static void begin(struct sink *sink, const struct run *run)
{
	struct json *json = (struct json *)sink;
	json_object *object = made(json_object_new_object());
	json_object *command = made(json_object_new_array());
	json_object *sets = made(json_object_new_array());
	json_object *cpus = made(json_object_new_array());

	json->run = run;
	json->rows = 0;
	add_text(object, "kind", "run");
	add_int(object, "schema", JSON_SCHEMA);
	add_text(object, "tool", run->tool);
	for (char **arg = run->argv; arg != NULL && *arg != NULL; arg++)
		append(command, made(json_object_new_string(*arg)));
	add(object, "command", command);
	add_text(object, "host", run->host);
	add_time(object, "start", run->start_ns);
	add_text(object, "cycles", run->cycles);
	for (size_t k = 0; k < run->nsets; k++)
		append(sets, set_object(&run->set[k]));
	add(object, "sets", sets);
	for (size_t i = 0; i < run->ncpus; i++)
		append(cpus, cpu_object(&run->cpu[i]));
	if (run->of_cpus) {
		add_text(object, "unit", row_unit_name(run->unit));
		add(object, "cpus", cpus);
	} else {
		json_object_put(cpus);
		add(object, "many", made(json_object_new_boolean(run->many)));
	}
	put(json, object);
}

static void add_counts(json_object *object, const struct run *run, const struct row *row)
{
	const struct run_set *set = &run->set[row->set];
	json_object *counts = made(json_object_new_object());

	for (unsigned i = 0; i < set->nevents; i++)
		add(counts, set->event[i].label,
		    count(row->valid >> i & 1, set->event[i].is_signed, row->val[i]));
	add_int(object, "set", (int64_t)row->set);
	add(object, "counts", counts);
	add(object, "cycles", count(row->valid != 0, false, row->cycles));
}

static void put_row(struct sink *sink, const struct row *row)
{
	struct json *json = (struct json *)sink;
	json_object *object = made(json_object_new_object());

	add_text(object, "kind", row_kind_name(row->kind));
	if (row->kind == ROW_SUM)
		add_text(object, "by", row_by_name(json->run->by));
	add_int(object, "ns", row->time_ns);
	add_time(object, "time", row->wall_ns);
	if (json->run->of_cpus) {
		add_int(object, row_unit_name(row->unit), row->id);
		add_int(object, "ncpus", row->ncpus);
	}
	if (row->pid > 0)
		add_int(object, "pid", row->pid);
	if (row->lwp > 0)
		add_int(object, "lwp", row->lwp);
	if (row->tid > 0)
		add_int(object, "tid", row->tid);
	if (row->runs > 0 || (row->kind == ROW_TOTAL && !json->run->of_cpus))
		add_int(object, "runs", (int64_t)row->runs);
	if (row->comm != NULL)
		add_text(object, "comm", row->comm);
	if (row->val != NULL)
		add_counts(object, json->run, row);
	if (row->shared)
		add(object, "share", made(json_object_new_double(row->share)));
	if (row->kind == ROW_FORK)
		add_int(object, "child", row->child);
	if (row->kind == ROW_IMAGE)
		add_text(object, "command", row->command);
	if (row->ended && WIFSIGNALED(row->status))
		add_int(object, "signal", WTERMSIG(row->status));
	else if (row->ended)
		add_int(object, "status", WEXITSTATUS(row->status));
	if (row->incomplete)
		add(object, "incomplete", made(json_object_new_boolean(1)));
	put(json, object);
	json->rows++;
}

/* A record without it was cut. */
static void end(struct sink *sink)
{
	struct json *json = (struct json *)sink;
	json_object *object = made(json_object_new_object());

	add_text(object, "kind", "end");
	add_int(object, "rows", (int64_t)json->rows);
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
