/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * import.c - reads event files in three forms of JSON:
 *
 *     Intel (github.com/intel/perfmon): "Events" with an "EventName" each, and "Metrics"
 *     Linux (tools/perf/pmu-events): an array of such events and metrics
 *     Arm (telemetry files): "events" by their names, or a list of events with "name"
 *
 * Files of Linux for Arm refer to events of other files.
 */
#include "import.h"

#include "../base/say.h"
#include "../rows/jsonwrite.h"
#include "encode.h"
#include "metric.h"
#include "read.h"

#include <ctype.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DESC 240

/* Writes the description as one line of ASCII; blanks replace other characters. */
static void put_desc(FILE *out, const char *desc)
{
	bool blank = true;
	size_t n = 0;

	for (const char *c = desc; *c != '\0' && n < MAX_DESC; c++) {
		bool plain = *c > ' ' && *c < 0x7f;

		if (plain && blank && n > 0) {
			fputc(' ', out);
			n++;
		}
		if (plain) {
			fputc(*c, out);
			n++;
		}
		blank = !plain;
	}
}

static bool is_name(const char *name)
{
	return *name != '\0' && strlen(name) < 128 && strpbrk(name, " \t\r\n,:/#=[]") == NULL &&
	       (*name < '0' || *name > '9');
}

/* The unit of a metric; NULL: none. */
static const char *unit_of(struct json_object *object)
{
	static const char *const keys[] = {"ScaleUnit", "UnitOfMeasure", "units"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *unit = read_member(object, keys[i]);

		if (i == 0)
			unit += strspn(unit, "0123456789.");
		if (*unit != '\0')
			return unit;
	}
	return NULL;
}

/*
 * Is it the first definition of that name for the CPU?  Names are case-insensitive.  Counts
 * repeated definitions only if they differ.
 */
static bool is_first(struct import *import, const char *name, const char *expr)
{
	struct json_object *first;
	char key[512];

	snprintf(key, sizeof(key), "%s %s", name, import->section);
	for (char *c = key; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	if (json_object_object_get_ex(import->written, key, &first)) {
		import->doubled += strcmp(json_object_get_string(first), expr) != 0;
		return false;
	}
	jsonwrite_add_text(import->written, key, expr);
	return true;
}

/* Writes a definition if it is the first one of its name, and then counts it in `*written`. */
static void put_definition(struct import *import, const char *name, const char *expr,
			   struct json_object *object, size_t *written)
{
	static const char *const keys[] = {"BriefDescription", "description", "title",
					   "PublicDescription"};
	const char *desc = "", *counters = read_member(object, "Counter");

	if (!is_first(import, name, expr))
		return;
	++*written;
	for (size_t i = 0; *desc == '\0' && i < sizeof(keys) / sizeof(*keys); i++)
		desc = read_member(object, keys[i]);
	fprintf(import->out, "%s = %s  # ", name, expr);
	if (strcmp(read_member(object, "Deprecated"), "1") == 0)
		fputs("(deprecated) ", import->out);
	put_desc(import->out, desc);
	if (*counters != '\0' && strncasecmp(counters, "fixed", 5) != 0) {
		fputs(" (counters ", import->out);
		put_desc(import->out, counters);
		fputc(')', import->out);
	}
	if (unit_of(object) != NULL) {
		fputs(" (", import->out);
		put_desc(import->out, unit_of(object));
		fputc(')', import->out);
	}
	fputc('\n', import->out);
}

/* An unknown member, which can change what is counted; or NULL. */
static const char *find_unknown(struct json_object *object)
{
	json_object_object_foreach(object, key, value)
	{
		if (encode_is_unknown(key, value != NULL ? json_object_get_string(value) : ""))
			return key;
	}
	return NULL;
}

/* Adds an event of Intel or Linux. */
static void add_event(struct import *import, struct json_object *object)
{
	const char *name = read_member(object, "EventName"), *unknown = find_unknown(object);
	struct encoding e = {0};

	if (is_name(name) && unknown == NULL && encode(&e, object)) {
		put_definition(import, name, e.text, object, &import->events);
		return;
	}
	import->skipped_events++;
	if (unknown != NULL && import->unknown++ == 0)
		snprintf(import->unknown_key, sizeof(import->unknown_key), "%s", unknown);
}

/* Adds an event of Arm, or an architectural event in a file of Linux for Arm: a code. */
static void add_code(struct import *import, const char *name, const char *key,
		     struct json_object *object)
{
	const char *code = read_member(object, key);
	char expr[32], *end;
	unsigned long val;

	errno = 0;
	val = strtoul(code, &end, 0);
	/* Code 0, the software increment, is not a valid raw code. */
	if (!is_name(name) || *code == '\0' || *code == '-' || *end != '\0' || errno != 0 ||
	    val == 0 || val > 0xffff) {
		import->skipped_events++;
		return;
	}
	snprintf(expr, sizeof(expr), "0x%lx", val);
	put_definition(import, name, expr, object, &import->events);
}

/* Adds a metric of Linux, Intel or Arm. */
static void add_metric(struct import *import, struct metrics *metrics, const char *name,
		       struct json_object *object)
{
	const char *expr = read_member(object, "MetricExpr");
	struct json_object *aliases = NULL;

	if (*expr == '\0' && json_object_object_get_ex(object, "Events", &aliases) &&
	    !json_object_is_type(aliases, json_type_array))
		aliases = NULL;
	if (*expr == '\0')
		expr = read_member(object, aliases != NULL ? "Formula" : "formula");
	if (is_name(name))
		metrics_add(metrics, name, expr, aliases, object);
	else
		import->skipped_metrics++;
}

/* Writes the metrics, after the whole file was read. */
static void put_metrics(struct import *import, struct metrics *metrics)
{
	metrics_drop_dependent(metrics);
	for (size_t i = 0; i < metrics->n; i++) {
		const struct metric *metric = &metrics->metric[i];

		if (metric->text != NULL)
			put_definition(import, metric->name, metric->text, metric->object,
				       &import->metrics);
		else
			import->skipped_metrics++;
	}
	metrics_free(metrics);
}

/* The name of a CPU of Arm is its MIDR. */
static bool is_arm(const struct import *import)
{
	return import->cpu != NULL && strncmp(import->cpu, "0x", 2) == 0;
}

/* Is it an event of the core with only a code? */
static bool is_code(struct json_object *object)
{
	struct encoding e = {0};

	return find_unknown(object) == NULL && encode(&e, object) && *e.pmu == '\0' &&
	       strncmp(e.terms, "event=", 6) == 0 && strchr(e.terms, ',') == NULL;
}

static void add_any(struct import *import, struct metrics *metrics, struct json_object *object)
{
	const char *metric = read_member(object, "MetricName");

	if (!json_object_is_type(object, json_type_object))
		import->skipped_events++;
	else if (*metric != '\0')
		add_metric(import, metrics, metric, object);
	else if (*read_member(object, "EventName") != '\0' && is_arm(import) && is_code(object))
		add_code(import, read_member(object, "EventName"), "EventCode", object);
	else if (*read_member(object, "EventName") != '\0')
		add_event(import, object);
	else
		add_code(import, read_member(object, "name"), "code", object);
}

/* Adds a list of events, or for Arm an object of events by their names. */
static void add_events(struct import *import, struct metrics *metrics, struct json_object *events)
{
	if (json_object_is_type(events, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(events); i++)
			add_any(import, metrics, json_object_array_get_idx(events, i));
		return;
	}
	json_object_object_foreach(events, name, object)
	{
		if (json_object_is_type(object, json_type_object))
			add_code(import, name, "code", object);
		else
			import->skipped_events++;
	}
}

/* Adds metrics of Arm, by their names. */
static void add_metrics(struct import *import, struct metrics *metrics, struct json_object *named)
{
	json_object_object_foreach(named, name, object)
	{
		if (json_object_is_type(object, json_type_object))
			add_metric(import, metrics, name, object);
		else
			import->skipped_metrics++;
	}
}

/* Reads the MIDR, without variant and revision, of a file of Arm.  False: missing. */
static bool read_midr(struct json_object *file, char *midr, size_t size)
{
	struct json_object *product;
	unsigned long implementer, part;

	if (!json_object_object_get_ex(file, "product_configuration", &product) ||
	    !json_object_is_type(product, json_type_object))
		product = file;
	implementer = strtoul(read_member(product, "implementer"), NULL, 0);
	part = strtoul(read_member(product, "part_num"), NULL, 0);
	if (implementer == 0 || implementer > 0xff || part == 0 || part > 0xfff)
		return false;
	snprintf(midr, size, "0x%016lx", implementer << 24 | 0xfUL << 16 | part << 4);
	return true;
}

/* Does a list or an object contain an object, which can be an event? */
static bool has_objects(struct json_object *events)
{
	size_t n =
		json_object_is_type(events, json_type_array) ? json_object_array_length(events) : 0;

	for (size_t i = 0; i < n; i++) {
		if (json_object_is_type(json_object_array_get_idx(events, i), json_type_object))
			return true;
	}
	if (!json_object_is_type(events, json_type_object))
		return false;
	json_object_object_foreach(events, name, object)
	{
		(void)name;
		if (json_object_is_type(object, json_type_object))
			return true;
	}
	return false;
}

/* Is it metricgroups.json of Linux, which only describes groups of metrics? */
static bool describes_groups(struct json_object *file)
{
	bool any = false;

	json_object_object_foreach(file, name, text)
	{
		(void)name;
		if (!json_object_is_type(text, json_type_string))
			return false;
		any = true;
	}
	return any;
}

int import_file(struct import *import, struct json_object *file)
{
	bool object = json_object_is_type(file, json_type_object);
	struct json_object *events = file, *named = NULL;
	struct metrics metrics = {0};
	char midr[32];

	if (object && !json_object_object_get_ex(file, "Events", &events) &&
	    !json_object_object_get_ex(file, "events", &events) &&
	    !json_object_object_get_ex(file, "Metrics", &events))
		events = NULL;
	if (object)
		json_object_object_get_ex(file, "metrics", &named);
	if (object && describes_groups(file)) {
		import->no_events = true;
		return 0;
	}
	if (!has_objects(events)) {
		say("invalid event file '%s': it has no list of events", import->file);
		return -1;
	}
	if (import->cpu == NULL && !(object && read_midr(file, midr, sizeof(midr)))) {
		say("missing CPU in '%s': name it with --cpu, such as --cpu GenuineIntel-6-AD",
		    import->file);
		return -1;
	}
	import->section = import->cpu != NULL ? import->cpu : midr;
	fprintf(import->out, "[%s]\n", import->section);
	add_events(import, &metrics, events);
	if (named != NULL && json_object_is_type(named, json_type_object))
		add_metrics(import, &metrics, named);
	put_metrics(import, &metrics);
	return 0;
}
