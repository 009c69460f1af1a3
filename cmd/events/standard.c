/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * standard.c - resolves references to events of other files.
 */
#include "standard.h"

#include "../base/util.h"
#include "../rows/jsonwrite.h"
#include "read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 128

struct event_file {
	const char *name;
	struct json_object *json;
	struct json_object *by_name; /* its events, by their names in lower case */
	struct json_object *used;    /* the names of events to which other files refer */
	bool refers;		     /* it has references */
	size_t missing;		     /* references to events in no file */
};

struct standard {
	size_t n;
	struct event_file *file;
};

/* The list of events of a file; NULL: none. */
static struct json_object *list_of(struct json_object *file)
{
	struct json_object *list = file;

	if (json_object_is_type(file, json_type_object) &&
	    !json_object_object_get_ex(file, "Events", &list) &&
	    !json_object_object_get_ex(file, "events", &list))
		return NULL;
	return json_object_is_type(list, json_type_array) ? list : NULL;
}

/* Gets member `key` in lower case.  False: missing or not a name. */
static bool name_of(struct json_object *event, const char *key, char name[MAX_NAME])
{
	struct json_object *member;
	const char *text;
	size_t n = 0;

	if (!json_object_object_get_ex(event, key, &member) ||
	    !json_object_is_type(member, json_type_string))
		return false;
	text = json_object_get_string(member);
	for (; n < MAX_NAME - 1 && text[n] != '\0'; n++)
		name[n] = (char)tolower((unsigned char)text[n]);
	name[n] = '\0';
	return n > 0 && text[n] == '\0';
}

/* Is it a reference to an event `name`? */
static bool is_reference(struct json_object *event, char name[MAX_NAME])
{
	return name_of(event, "ArchStdEvent", name);
}

static void index_events(struct event_file *file)
{
	struct json_object *list = list_of(file->json);
	char name[MAX_NAME];

	for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
		struct json_object *event = json_object_array_get_idx(list, i);

		if (!is_reference(event, name) && name_of(event, "EventName", name))
			jsonwrite_add(file->by_name, name, json_object_get(event));
	}
}

/* Finds an event, and the index of its file.  NULL: in no file. */
static struct json_object *find(const struct standard *standard, const char *name, size_t *where)
{
	struct json_object *event;

	for (*where = 0; *where < standard->n; ++*where) {
		if (json_object_object_get_ex(standard->file[*where].by_name, name, &event))
			return event;
	}
	return NULL;
}

/* Copies `event`, with the members next to the reference. */
static struct json_object *merge(struct json_object *event, struct json_object *reference)
{
	struct json_object *whole = xmade(json_object_new_object());

	json_object_object_foreach(event, key, value)
	{
		jsonwrite_add(whole, key, json_object_get(value));
	}
	json_object_object_foreach(reference, own, member)
	{
		if (strcmp(own, "ArchStdEvent") != 0)
			jsonwrite_add(whole, own, json_object_get(member));
	}
	return whole;
}

/* Replaces the references of a file by the events that they name. */
static void resolve(struct standard *standard, struct event_file *from)
{
	struct json_object *list = list_of(from->json);
	char name[MAX_NAME];
	size_t where;

	for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
		struct json_object *reference = json_object_array_get_idx(list, i), *event;

		if (!is_reference(reference, name))
			continue;
		from->refers = true;
		event = find(standard, name, &where);
		if (event == NULL) {
			from->missing++;
			continue;
		}
		if (&standard->file[where] != from)
			jsonwrite_add(standard->file[where].used, name, NULL);
		xmade(json_object_array_put_idx(list, i, merge(event, reference)) == 0 ? list
										       : NULL);
	}
}

struct standard *standard_read(char **files)
{
	struct standard *standard = xcalloc(1, sizeof(*standard));

	while (files[standard->n] != NULL)
		standard->n++;
	standard->file = xcalloc(standard->n + 1, sizeof(*standard->file));
	for (size_t i = 0; i < standard->n; i++) {
		struct event_file *file = &standard->file[i];

		file->name = files[i];
		if (!read_json(files[i], &file->json)) {
			standard_free(standard);
			return NULL;
		}
		file->by_name = xmade(json_object_new_object());
		file->used = xmade(json_object_new_object());
		index_events(file);
	}
	for (size_t i = 0; i < standard->n; i++)
		resolve(standard, &standard->file[i]);
	return standard;
}

void standard_free(struct standard *standard)
{
	for (size_t i = 0; i < standard->n; i++) {
		json_object_put(standard->file[i].by_name);
		json_object_put(standard->file[i].used);
		json_object_put(standard->file[i].json);
	}
	free(standard->file);
	free(standard);
}

bool standard_is_source(const struct standard *standard, const char *name, size_t *n)
{
	for (size_t i = 0; i < standard->n; i++) {
		const struct event_file *file = &standard->file[i];

		*n = (size_t)json_object_object_length(file->used);
		if (strcmp(file->name, name) == 0)
			return *n > 0 && !file->refers;
	}
	return false;
}

struct json_object *standard_file(const struct standard *standard, size_t i, size_t *missing)
{
	*missing = standard->file[i].missing;
	return standard->file[i].json;
}
