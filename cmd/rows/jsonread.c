/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * jsonread.c - a strict reader of JSON Lines.
 */
#include "jsonread.h"

#include "../base/say.h"
#include "../base/util.h"
#include "row.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16
#define MAX_LINE (64UL << 20) /* the line of a run with 100,000 CPUs has some megabytes */

void jsonread_bad(struct jsonread *in, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (in->failed)
		return;
	in->failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (in->line > 0)
		say("%s:%zu: %s", in->path, in->line, text);
	else
		say("%s: %s", in->path, text);
}

bool jsonread_open(struct jsonread *in, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;

	*in = (struct jsonread){.path = is_stdin ? "standard input" : path, .size = 4096};
	in->file = is_stdin ? stdin : fopen(path, "re");
	if (in->file == NULL) {
		say("cannot read '%s': %s", path, strerror(errno));
		return false;
	}
	in->tok = xmade(json_tokener_new_ex(MAX_DEPTH));
	in->text = xcalloc(1, in->size);
	json_tokener_set_flags(in->tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	return true;
}

void jsonread_close(struct jsonread *in)
{
	json_tokener_free(in->tok);
	free(in->text);
	if (in->file != stdin)
		fclose(in->file);
}

/*
 * Do all integers of a line fit in 64 bits?  json-c silently replaces others by the nearest number
 * that fits; since 0.18, it refuses some.  `*ncolons`: the colons outside of text, one for each
 * member, also for those with the same key.
 */
static bool integers_fit(const char *text, size_t *ncolons)
{
	static const char most[] = "18446744073709551615", least[] = "9223372036854775808";
	bool quoted = false;
	size_t n = 1;

	for (*ncolons = 0; *text != '\0'; text += n) {
		const char *limit = text[0] == '-' ? least : most;
		const char *digit = text[0] == '-' ? text + 1 : text;
		size_t digits = quoted ? 0 : strspn(digit, "0123456789");

		n = quoted && text[0] == '\\' && text[1] != '\0' ? 2 : 1;
		quoted ^= text[0] == '"';
		*ncolons += text[0] == ':' && !quoted;
		if (digits == 0)
			continue;
		n = (size_t)(digit - text) + digits;
		if (digits > strlen(limit) ||
		    (digits == strlen(limit) && strncmp(digit, limit, digits) > 0))
			return false;
	}
	return true;
}

/* The number of distinct members. */
static size_t count_members(json_object *value)
{
	size_t n = 0;

	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			n += count_members(json_object_array_get_idx(value, i));
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
		{
			(void)key;
			n += 1 + count_members(member);
		}
	}
	return n;
}

static json_object *parse(struct jsonread *in, size_t n)
{
	json_object *object;
	enum json_tokener_error error;
	size_t ncolons;
	bool fit = integers_fit(in->text, &ncolons);

	json_tokener_reset(in->tok);
	object = json_tokener_parse_ex(in->tok, in->text, (int)n);
	error = json_tokener_get_error(in->tok);
	if (error == json_tokener_continue)
		jsonread_bad(in, "invalid JSON: the line ends too early");
	else if (error == json_tokener_error_parse_number && !fit)
		jsonread_bad(in, "invalid number: out of range");
	else if (error != json_tokener_success)
		jsonread_bad(in, "invalid JSON: %s", json_tokener_error_desc(error));
	else if (json_tokener_get_parse_end(in->tok) != n)
		jsonread_bad(in, "invalid JSON: text after the object");
	else if (!fit)
		jsonread_bad(in, "invalid number: out of range");
	else if (!json_object_is_type(object, json_type_object))
		jsonread_bad(in, "expected an object on each line");
	else if (count_members(object) != ncolons)
		jsonread_bad(in, "invalid object: it has a key twice");
	if (!in->failed)
		return object;
	json_object_put(object);
	return NULL;
}

/*
 * Reads a line without its newline.  -1: end of file, or an error.  Unlike getline(3), it limits
 * the size: /dev/zero has no lines and no end.
 */
static ssize_t read_line(struct jsonread *in)
{
	size_t n = 0;
	int c;

	while ((c = getc_unlocked(in->file)) != EOF && c != '\n') {
		if (n + 1 >= in->size) {
			in->size *= 2;
			in->text = xrealloc(in->text, in->size);
		}
		in->text[n++] = (char)c;
		if (c == '\0' || n > MAX_LINE) {
			in->line++;
			jsonread_bad(in, "%s",
				     c == '\0' ? "not a record: it has a NUL"
					       : "not a record: the line is too long");
			return -1;
		}
	}
	if (ferror(in->file))
		jsonread_bad(in, "cannot read: %s", strerror(errno));
	if (ferror(in->file) || (c == EOF && n == 0))
		return -1;
	in->line++;
	in->text[n] = '\0';
	return (ssize_t)n;
}

json_object *jsonread_next(struct jsonread *in)
{
	ssize_t n = read_line(in);

	return n != -1 ? parse(in, (size_t)n) : NULL;
}

/* Finds a member; its value can be null. */
static bool find_member(struct jsonread *in, json_object *object, const char *key,
			json_object **value)
{
	*value = NULL;
	if (in->failed)
		return false;
	if (!json_object_is_type(object, json_type_object)) {
		jsonread_bad(in, "expected an object with '%s'", key);
		return false;
	}
	if (json_object_object_get_ex(object, key, value))
		return true;
	jsonread_bad(in, "missing '%s'", key);
	return false;
}

/* The value of a member of that type; NULL after an error. */
static json_object *get_member(struct jsonread *in, json_object *object, const char *key,
			       json_type type)
{
	json_object *value;

	if (!find_member(in, object, key, &value))
		return NULL;
	if (json_object_is_type(value, type))
		return value;
	jsonread_bad(in, "invalid '%s': expected %s", key,
		     type == json_type_int	 ? "an integer"
		     : type == json_type_boolean ? "true or false"
		     : type == json_type_array	 ? "an array"
		     : type == json_type_object	 ? "an object"
						 : "text");
	return NULL;
}

bool jsonread_has(json_object *object, const char *key)
{
	return json_object_object_get_ex(object, key, NULL);
}

const char *jsonread_word(struct jsonread *in, json_object *value)
{
	const char *text;

	if (in->failed)
		return "";
	if (!json_object_is_type(value, json_type_string)) {
		jsonread_bad(in, "expected text");
		return "";
	}
	text = json_object_get_string(value);
	if (strlen(text) != (size_t)json_object_get_string_len(value)) {
		jsonread_bad(in, "invalid text: it has a NUL");
		return "";
	}
	return text;
}

const char *jsonread_text(struct jsonread *in, json_object *object, const char *key)
{
	json_object *value = get_member(in, object, key, json_type_string);

	return value != NULL ? jsonread_word(in, value) : "";
}

int64_t jsonread_int(struct jsonread *in, json_object *object, const char *key, int64_t min,
		     int64_t max)
{
	json_object *value = get_member(in, object, key, json_type_int);
	int64_t val = value != NULL ? json_object_get_int64(value) : 0;

	if (value == NULL || (val >= min && val <= max))
		return val;
	jsonread_bad(in, "invalid '%s': out of range", key);
	return 0;
}

double jsonread_real(struct jsonread *in, json_object *object, const char *key)
{
	json_object *value;

	if (!find_member(in, object, key, &value))
		return 0;
	if (json_object_is_type(value, json_type_double) ||
	    json_object_is_type(value, json_type_int))
		return json_object_get_double(value);
	jsonread_bad(in, "invalid '%s': expected a number", key);
	return 0;
}

bool jsonread_flag(struct jsonread *in, json_object *object, const char *key)
{
	json_object *value = get_member(in, object, key, json_type_boolean);

	return value != NULL && json_object_get_boolean(value);
}

int64_t jsonread_time(struct jsonread *in, json_object *object, const char *key)
{
	const char *text = jsonread_text(in, object, key);
	int64_t ns = 0;

	if (!in->failed && !iso_time_parse(text, &ns))
		jsonread_bad(in, "invalid '%s': expected a time", key);
	return ns;
}

json_object *jsonread_object(struct jsonread *in, json_object *object, const char *key)
{
	return get_member(in, object, key, json_type_object);
}

size_t jsonread_array(struct jsonread *in, json_object *object, const char *key, size_t max,
		      json_object **array)
{
	size_t n;

	*array = get_member(in, object, key, json_type_array);
	n = *array != NULL ? json_object_array_length(*array) : 0;
	if (n <= max)
		return n;
	jsonread_bad(in, "invalid '%s': too long", key);
	return 0;
}

bool jsonread_count(struct jsonread *in, json_object *object, const char *key, bool is_signed,
		    uint64_t *val)
{
	json_object *value;

	if (!find_member(in, object, key, &value) || value == NULL)
		return false;
	if (!json_object_is_type(value, json_type_int)) {
		jsonread_bad(in, "invalid '%s': expected an integer", key);
		return false;
	}
	*val = is_signed ? (uint64_t)json_object_get_int64(value) : json_object_get_uint64(value);
	/* A signed count that is too large, or a negative unsigned one. */
	if (is_signed ? json_object_get_int64(value) != INT64_MAX ||
				json_object_get_uint64(value) == INT64_MAX
		      : json_object_get_int64(value) >= 0)
		return true;
	jsonread_bad(in, "invalid '%s': out of range", key);
	return false;
}
