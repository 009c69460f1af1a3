/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * jsonwrite.c - makes JSON with json-c and writes it as ASCII.
 */
#include "jsonwrite.h"

#include "../base/utf8.h"
#include "../base/util.h"
#include "row.h"

#include <math.h>

/* ---- text ------------------------------------------------------------------ */

/* Writes JSON with \u escapes for all characters except ASCII. */
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
		text += utf8_decode(text, &c);
		if (c >= 0x10000)
			fprintf(f, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
		else
			fprintf(f, "\\u%04x", c);
	}
}

/* ---- objects ----------------------------------------------------------------- */

/* Calls of json-c fail here only if there is no memory. */
void jsonwrite_add(json_object *object, const char *key, json_object *value)
{
	xmade(json_object_object_add(object, key, value) == 0 ? object : NULL);
}

void jsonwrite_add_int(json_object *object, const char *key, int64_t val)
{
	jsonwrite_add(object, key, xmade(json_object_new_int64(val)));
}

void jsonwrite_add_flag(json_object *object, const char *key, bool flag)
{
	jsonwrite_add(object, key, xmade(json_object_new_boolean(flag)));
}

void jsonwrite_add_text(json_object *object, const char *key, const char *text)
{
	jsonwrite_add(object, key, xmade(json_object_new_string(text)));
}

void jsonwrite_add_time(json_object *object, const char *key, int64_t ns)
{
	char text[ISO_TIME_SIZE];

	iso_time(text, ns);
	jsonwrite_add_text(object, key, text);
}

void jsonwrite_append(json_object *array, json_object *value)
{
	xmade(json_object_array_add(array, value) == 0 ? array : NULL);
}

json_object *jsonwrite_count(bool is_signed, uint64_t val)
{
	return xmade(is_signed ? json_object_new_int64((int64_t)val) : json_object_new_uint64(val));
}

json_object *jsonwrite_ratio(double val)
{
	char text[32];

	if (isnan(val))
		return NULL;
	snprintf(text, sizeof(text), RATIO_FORMAT, val);
	return xmade(json_object_new_double_s(val, text));
}

void jsonwrite_put(FILE *f, json_object *object)
{
	put_ascii(f, xmade(json_object_to_json_string_ext(
			     object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)));
	json_object_put(object);
}
