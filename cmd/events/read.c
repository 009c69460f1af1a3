/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * read.c - reads a JSON file, and reports the line of an error.
 */
#include "read.h"

#include "../base/say.h"
#include "../base/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZE (256UL << 20) /* event files have a few megabytes */

/* Reads a file and appends a NUL; free the result.  NULL: see errno. */
static char *read_text(const char *file, size_t *size)
{
	FILE *f = fopen(file, "re");
	size_t room = 1UL << 16, n = 0;
	char *text = NULL;
	int err;

	if (f == NULL)
		return NULL;
	do {
		room *= 2;
		text = xrealloc(text, room);
		n += fread(text + n, 1, room - n - 1, f);
	} while (n == room - 1 && room < MAX_SIZE);
	err = ferror(f) ? errno : n == room - 1 ? EFBIG : 0;
	fclose(f);
	if (err != 0) {
		free(text);
		errno = err;
		return NULL;
	}
	text[n] = '\0';
	*size = n;
	return text;
}

static size_t line_of(const char *text, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

static bool parse(const char *file, const char *text, size_t size, struct json_object **value)
{
	struct json_tokener *tokener = xmade(json_tokener_new());
	enum json_tokener_error error;
	const char *why = NULL;
	size_t at;

	/* Includes the NUL, since only this ends a number. */
	*value = json_tokener_parse_ex(tokener, text, (int)size + 1);
	error = json_tokener_get_error(tokener);
	at = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);
	if (error == json_tokener_success)
		at += strspn(text + at, " \t\n\v\f\r");
	if (at < size)
		why = error == json_tokener_success ? "text after its end"
						    : json_tokener_error_desc(error);
	if (why != NULL)
		say("invalid JSON in '%s': line %zu: %s", file, line_of(text, at), why);
	else if (error != json_tokener_success)
		say("invalid JSON in '%s': it ends too early", file);
	if (error == json_tokener_success && why == NULL)
		return true;
	json_object_put(*value);
	*value = NULL;
	return false;
}

bool read_json(const char *file, struct json_object **value)
{
	size_t size;
	char *text = read_text(file, &size);
	bool good = text != NULL && parse(file, text, size, value);

	if (text == NULL)
		say("cannot read '%s': %s", file, strerror(errno));
	free(text);
	return good;
}

const char *read_member(struct json_object *object, const char *key)
{
	struct json_object *member;

	if (!json_object_object_get_ex(object, key, &member) ||
	    (!json_object_is_type(member, json_type_string) &&
	     !json_object_is_type(member, json_type_int)))
		return "";
	return json_object_get_string(member);
}
