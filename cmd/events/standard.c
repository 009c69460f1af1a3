/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * standard.c - events that event files name, and other files describe.
 */
#include "standard.h"

#include "../base/say.h"
#include "../base/util.h"
#include "read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAME 128

static struct json_object *new_object(void)
{
	struct json_object *object = json_object_new_object();

	if (object == NULL)
		die("%s", strerror(ENOMEM));
	return object;
}

static void put(struct json_object *object, const char *key, struct json_object *value)
{
	if (json_object_object_add(object, key, value) != 0)
		die("%s", strerror(ENOMEM));
}

struct source {
	const char *file;
	struct json_object *json;    /* NULL: it could not be read */
	struct json_object *by_name; /* its events, by their names in lower case */
	struct json_object *used;    /* the names of those that other files refer to */
	bool refers;		     /* it refers to events itself */
};

struct standard {
	size_t n;
	struct source *source;
};

/* The list of events of a file; NULL: it has none. */
static struct json_object *list_of(struct json_object *file)
{
	struct json_object *list = file;

	if (json_object_is_type(file, json_type_object) &&
	    !json_object_object_get_ex(file, "Events", &list) &&
	    !json_object_object_get_ex(file, "events", &list))
		return NULL;
	return json_object_is_type(list, json_type_array) ? list : NULL;
}

/* The member `key` in lower case; false: there is none, or it is no name. */
static bool name_of(struct json_object *event, const char *key, char name[MAX_NAME])
{
	struct json_object *member;
	const char *text;
	size_t n = 0;

	if (!json_object_is_type(event, json_type_object) ||
	    !json_object_object_get_ex(event, key, &member) ||
	    !json_object_is_type(member, json_type_string))
		return false;
	text = json_object_get_string(member);
	for (; n < MAX_NAME - 1 && text[n] != '\0'; n++)
		name[n] = (char)tolower((unsigned char)text[n]);
	name[n] = '\0';
	return n > 0 && text[n] == '\0';
}

static bool refers(struct json_object *event, char name[MAX_NAME])
{
	return name_of(event, "ArchStdEvent", name);
}

static void note_events(struct source *source)
{
	struct json_object *list = list_of(source->json);
	char name[MAX_NAME];

	for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
		struct json_object *event = json_object_array_get_idx(list, i);

		if (refers(event, name))
			source->refers = true;
		else if (name_of(event, "EventName", name))
			put(source->by_name, name, json_object_get(event));
	}
}

/* The event of that name, and in which file; NULL: it is in none. */
static struct json_object *find(const struct standard *standard, const char *name, size_t *where)
{
	struct json_object *event;

	for (*where = 0; *where < standard->n; ++*where) {
		if (json_object_object_get_ex(standard->source[*where].by_name, name, &event))
			return event;
	}
	return NULL;
}

static void note_uses(struct standard *standard, const struct source *from)
{
	struct json_object *list = list_of(from->json);
	char name[MAX_NAME];
	size_t where;

	for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
		if (refers(json_object_array_get_idx(list, i), name) &&
		    find(standard, name, &where) != NULL && &standard->source[where] != from)
			put(standard->source[where].used, name, NULL);
	}
}

struct standard *standard_read(char **files)
{
	struct standard *standard = xcalloc(1, sizeof(*standard));

	while (files[standard->n] != NULL)
		standard->n++;
	standard->source = xcalloc(standard->n + 1, sizeof(*standard->source));
	for (size_t i = 0; i < standard->n; i++) {
		struct source *source = &standard->source[i];

		source->file = files[i];
		read_json(files[i], false, &source->json); /* told when it is imported */
		source->by_name = new_object();
		source->used = new_object();
		note_events(source);
	}
	for (size_t i = 0; i < standard->n; i++)
		note_uses(standard, &standard->source[i]);
	return standard;
}

void standard_free(struct standard *standard)
{
	for (size_t i = 0; i < standard->n; i++) {
		json_object_put(standard->source[i].by_name);
		json_object_put(standard->source[i].used);
		json_object_put(standard->source[i].json);
	}
	free(standard->source);
	free(standard);
}

bool standard_is_source(const struct standard *standard, const char *file, size_t *n)
{
	for (size_t i = 0; i < standard->n; i++) {
		const struct source *source = &standard->source[i];

		*n = (size_t)json_object_object_length(source->used);
		if (strcmp(source->file, file) == 0)
			return *n > 0 && !source->refers;
	}
	return false;
}

/* `event`, and what stands beside the reference to it. */
static struct json_object *merge(struct json_object *event, struct json_object *reference)
{
	struct json_object *whole = new_object();

	json_object_object_foreach(event, key, value)
	{
		put(whole, key, json_object_get(value));
	}
	json_object_object_foreach(reference, own, member)
	{
		if (strcmp(own, "ArchStdEvent") != 0)
			put(whole, own, json_object_get(member));
	}
	return whole;
}

size_t standard_resolve(const struct standard *standard, struct json_object *file)
{
	struct json_object *list = list_of(file);
	size_t missing = 0, where;
	char name[MAX_NAME];

	for (size_t i = 0; list != NULL && i < json_object_array_length(list); i++) {
		struct json_object *reference = json_object_array_get_idx(list, i), *event;

		if (!refers(reference, name))
			continue;
		event = find(standard, name, &where);
		if (event == NULL)
			missing++;
		else if (json_object_array_put_idx(list, i, merge(event, reference)) != 0)
			die("%s", strerror(ENOMEM));
	}
	return missing;
}
