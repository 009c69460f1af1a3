/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * import.c - three shapes of JSON: Intel's (github.com/intel/perfmon: "Events" with an
 * "EventName" each), the kernel's (tools/perf/pmu-events: an array of the same, and metrics)
 * and Arm's (its telemetry files: "events" by their names, or a list of them with "name").
 * Those of the kernel for Arm refer to events of other files.
 */
#include "import.h"

#include "../common/say.h"
#include "encode.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DESC 240

/* The description in one line, as plain text; blanks for what is none. */
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

/* The text of a member; "": it has none, or it is no text or number. */
static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *member;

	if (!json_object_object_get_ex(object, key, &member) ||
	    (!json_object_is_type(member, json_type_string) &&
	     !json_object_is_type(member, json_type_int)))
		return "";
	return json_object_get_string(member);
}

static void put_event(struct import *import, const char *name, const char *expr,
		      struct json_object *object)
{
	static const char *const keys[] = {"BriefDescription", "description", "title",
					   "PublicDescription"};
	const char *desc = "", *counters = text_of(object, "Counter");

	for (size_t i = 0; *desc == '\0' && i < sizeof(keys) / sizeof(*keys); i++)
		desc = text_of(object, keys[i]);
	fprintf(import->out, "%s = %s  # ", name, expr);
	if (strcmp(text_of(object, "Deprecated"), "1") == 0)
		fputs("(deprecated) ", import->out);
	put_desc(import->out, desc);
	if (*counters != '\0' && strncasecmp(counters, "fixed", 5) != 0) {
		fputs(" (counters ", import->out);
		put_desc(import->out, counters);
		fputc(')', import->out);
	}
	fputc('\n', import->out);
	import->events++;
}

/* An event of Intel's or the kernel's. */
static void add_event(struct import *import, struct json_object *object)
{
	const char *name = text_of(object, "EventName");
	struct encoding e = {0};

	for (const struct encode_field *f = encode_fields; f->key != NULL; f++)
		encode_put(&e, f, text_of(object, f->key));
	encode_unit(&e, text_of(object, "Unit"));
	encode_msr(&e, text_of(object, "MSRIndex"), text_of(object, "MSRValue"));
	if (is_name(name) && encode_finish(&e, name))
		put_event(import, name, e.text, object);
	else
		import->skipped_events++;
}

/* An event of Arm's, or an architectural one of the kernel's files for it: a code. */
static void add_code(struct import *import, const char *name, const char *key,
		     struct json_object *object)
{
	const char *code = text_of(object, key);
	char expr[32], *end;
	unsigned long val;

	errno = 0;
	val = strtoul(code, &end, 0);
	/* Code 0 is the software increment, which is no raw code. */
	if (!is_name(name) || *code == '\0' || *code == '-' || *end != '\0' || errno != 0 ||
	    val == 0 || val > 0xffff) {
		import->skipped_events++;
		return;
	}
	snprintf(expr, sizeof(expr), "0x%lx", val);
	put_event(import, name, expr, object);
}

/* A metric that is a sum and difference of events is a definition; others are not. */
static void add_metric(struct import *import, const char *name, const char *expr,
		       struct json_object *object)
{
	char *sum = encode_sum(expr);

	if (sum != NULL && is_name(name)) {
		put_event(import, name, sum, object);
		import->events--;
		import->metrics++;
	} else {
		import->skipped_metrics++;
	}
	free(sum);
}

/* Its CPU is named by its MIDR. */
static bool is_arm(const struct import *import)
{
	return import->cpu != NULL && strncmp(import->cpu, "0x", 2) == 0;
}

static void add_any(struct import *import, struct json_object *object)
{
	const char *metric = text_of(object, "MetricName");

	if (!json_object_is_type(object, json_type_object))
		import->skipped_events++;
	else if (*metric != '\0')
		add_metric(import, metric, text_of(object, "MetricExpr"), object);
	else if (*text_of(object, "EventName") != '\0' && is_arm(import))
		add_code(import, text_of(object, "EventName"), "EventCode", object);
	else if (*text_of(object, "EventName") != '\0')
		add_event(import, object);
	else
		add_code(import, text_of(object, "name"), "code", object);
}

static void add_list(struct import *import, struct json_object *list)
{
	for (size_t i = 0; i < json_object_array_length(list); i++)
		add_any(import, json_object_array_get_idx(list, i));
}

/* Arm's: members by their names. */
static void add_named(struct import *import, struct json_object *events, bool metrics)
{
	json_object_object_foreach(events, name, object)
	{
		if (!json_object_is_type(object, json_type_object))
			import->skipped_events++;
		else if (metrics)
			add_metric(import, name, text_of(object, "formula"), object);
		else
			add_code(import, name, "code", object);
	}
}

/* The MIDR of a file of Arm's, without variant and revision.  False: it does not say. */
static bool read_midr(struct json_object *file, char *midr, size_t size)
{
	struct json_object *product;
	unsigned long implementer, part;

	if (!json_object_object_get_ex(file, "product_configuration", &product) ||
	    !json_object_is_type(product, json_type_object))
		product = file;
	implementer = strtoul(text_of(product, "implementer"), NULL, 0);
	part = strtoul(text_of(product, "part_num"), NULL, 0);
	if (implementer == 0 || implementer > 0xff || part == 0 || part > 0xfff)
		return false;
	snprintf(midr, size, "0x%016lx", implementer << 24 | 0xfUL << 16 | part << 4);
	return true;
}

static int add_file(struct import *import, struct json_object *file)
{
	bool object = json_object_is_type(file, json_type_object);
	struct json_object *events = file, *metrics = NULL;
	char midr[32];

	if (object && !json_object_object_get_ex(file, "Events", &events) &&
	    !json_object_object_get_ex(file, "events", &events))
		events = NULL;
	if (object)
		json_object_object_get_ex(file, "metrics", &metrics);
	if (events == NULL || (!json_object_is_type(events, json_type_array) &&
			       !json_object_is_type(events, json_type_object))) {
		say("'%s' is no event file: it has no list of events", import->file);
		return -1;
	}
	if (import->cpu == NULL && !(object && read_midr(file, midr, sizeof(midr)))) {
		say("'%s' does not say which CPU it is for; give its name with --cpu, as in "
		    "GenuineIntel-6-AD",
		    import->file);
		return -1;
	}
	fprintf(import->out, "[%s]\n", import->cpu != NULL ? import->cpu : midr);
	if (json_object_is_type(events, json_type_array))
		add_list(import, events);
	else
		add_named(import, events, false);
	if (metrics != NULL && json_object_is_type(metrics, json_type_object))
		add_named(import, metrics, true);
	return 0;
}

/* In the words of the library, which end with a newline. */
static void tell_json(const char *file)
{
	const char *why = json_util_get_last_err();

	if (why == NULL)
		why = "it is damaged";
	say("'%s' is no JSON: %.*s", file, (int)strcspn(why, "\n"), why);
}

int import_file(struct import *import)
{
	struct json_object *file = json_object_from_file(import->file);
	FILE *f;
	int rc;

	if (file == NULL) {
		f = fopen(import->file, "re");
		if (f == NULL)
			say("cannot read '%s': %s", import->file, strerror(errno));
		else
			tell_json(import->file);
		if (f != NULL)
			fclose(f);
		return -1;
	}
	if (import->standard != NULL)
		import->unresolved = standard_resolve(import->standard, file);
	rc = add_file(import, file);
	json_object_put(file);
	return rc;
}
