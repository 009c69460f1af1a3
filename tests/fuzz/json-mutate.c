/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * json-mutate.c - libFuzzer's inputs for readers of JSON: a first line, then values.  Random
 * changes of bytes hardly ever give valid JSON, so this changes the values.
 */
#include "fuzz.h"

#include <json-c/json.h>
#include <stdbool.h>

#define MAX_VALUES 64
#define MAX_DEPTH 16
#define MAX_TEXT 128 /* of a text that is changed, and of the first line */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

struct input {
	char head[MAX_TEXT]; /* the first line */
	size_t head_size, n;
	json_object *value[MAX_VALUES];
	uint64_t random;
};

/* A value in an object or an array; `parent` is NULL for one of the input's own. */
struct node {
	json_object *parent, *value;
	const char *key;
	size_t i;
};

static unsigned below(struct input *in, size_t n)
{
	in->random = in->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((in->random >> 33) % n);
}

/* ---- what there is --------------------------------------------------------------- */

/* The node that comes `*n` after this one, itself 0, depth first; false: there are fewer. */
static bool find(const struct node *from, size_t *n, struct node *found)
{
	*found = *from;
	if ((*n)-- == 0)
		return true;
	if (json_object_is_type(from->value, json_type_object)) {
		json_object_object_foreach(from->value, key, value)
		{
			struct node node = {.parent = from->value, .value = value, .key = key};

			if (find(&node, n, found))
				return true;
		}
	} else if (json_object_is_type(from->value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(from->value); i++) {
			struct node node = {.parent = from->value,
					    .value = json_object_array_get_idx(from->value, i),
					    .i = i};

			if (find(&node, n, found))
				return true;
		}
	}
	return false;
}

static struct node any_node(struct input *in)
{
	struct node top = {.i = below(in, in->n)}, found;
	size_t n = SIZE_MAX / 2, count;

	top.value = in->value[top.i];
	find(&top, &n, &found);
	count = SIZE_MAX / 2 - n;
	n = below(in, count);
	find(&top, &n, &found);
	return found;
}

/* ---- what can be done with it ---------------------------------------------------- */

/* Takes `value`. */
static void replace(struct input *in, const struct node *node, json_object *value)
{
	if (node->parent == NULL) {
		json_object_put(in->value[node->i]);
		in->value[node->i] = value;
	} else if (node->key != NULL) {
		json_object_object_add(node->parent, node->key, value);
	} else {
		json_object_array_put_idx(node->parent, node->i, value);
	}
}

static json_object *copy_of(json_object *from)
{
	json_object *to = NULL;

	if (from != NULL && json_object_deep_copy(from, &to, NULL) != 0)
		err(1, NULL);
	return to;
}

static json_object *new_value(struct input *in)
{
	static const char *const texts[] = {
		"null",
		"true",
		"false",
		"0",
		"1",
		"-1",
		"127",
		"256",
		"2147483647",
		"4294967296",
		"1e9",
		"1.5",
		"{}",
		"[]",
		"9223372036854775807",
		"18446744073709551615",
		"\"\"",
		"\"0x1a6\"",
	};

	return json_tokener_parse(texts[below(in, sizeof(texts) / sizeof(*texts))]);
}

/* A number or a text that is near to it. */
static json_object *change(struct input *in, json_object *value)
{
	char text[MAX_TEXT];
	size_t n;

	if (json_object_is_type(value, json_type_int))
		return json_object_new_int64(
			(int64_t)((uint64_t)json_object_get_int64(value) + below(in, 5) - 2));
	if (!json_object_is_type(value, json_type_string))
		return new_value(in);
	n = (size_t)json_object_get_string_len(value);
	if (n > sizeof(text))
		n = sizeof(text);
	memcpy(text, json_object_get_string(value), n);
	n = LLVMFuzzerMutate((uint8_t *)text, n, sizeof(text));
	return json_object_new_string_len(text, (int)n);
}

static void delete (struct input *in, const struct node *node)
{
	if (node->parent == NULL) {
		json_object_put(in->value[node->i]);
		in->value[node->i] = in->value[--in->n];
	} else if (node->key != NULL) {
		json_object_object_del(node->parent, node->key);
	} else {
		json_object_array_del_idx(node->parent, node->i, 1);
	}
}

/* Beside itself, or under the name of another node. */
static void duplicate(struct input *in, const struct node *node)
{
	struct node other = any_node(in);

	if (node->parent == NULL) {
		if (in->n < MAX_VALUES)
			in->value[in->n++] = copy_of(node->value);
	} else if (node->key == NULL) {
		json_object_array_add(node->parent, copy_of(node->value));
	} else if (other.key != NULL) {
		char *key = strdup(other.key);

		json_object_object_add(node->parent, key, copy_of(node->value));
		free(key);
	}
}

static void exchange(struct input *in)
{
	size_t i = below(in, in->n), j = below(in, in->n);
	json_object *value = in->value[i];

	in->value[i] = in->value[j];
	in->value[j] = value;
}

/* The number of rows at the end of a record is right most times, or little else is tried. */
static void mend_ends(struct input *in)
{
	json_object *rows;
	size_t begin = 0;

	for (size_t i = 0; i < in->n; i++) {
		if (!json_object_is_type(in->value[i], json_type_object))
			continue;
		if (json_object_object_get_ex(in->value[i], "schema", &rows))
			begin = i + 1;
		if (json_object_object_get_ex(in->value[i], "rows", &rows) && i >= begin)
			json_object_object_add(in->value[i], "rows",
					       json_object_new_int64((int64_t)(i - begin)));
	}
}

static void mutate(struct input *in)
{
	struct node node = any_node(in), other;

	switch (below(in, 9)) {
	case 0:
		replace(in, &node, new_value(in));
		break;
	case 1:
		delete (in, &node);
		break;
	case 2:
		duplicate(in, &node);
		break;
	case 3:
		other = any_node(in);
		replace(in, &node, copy_of(other.value));
		break;
	case 4:
		exchange(in);
		break;
	case 5:
		in->head_size = LLVMFuzzerMutate((uint8_t *)in->head, in->head_size, MAX_TEXT);
		break;
	default:
		replace(in, &node, change(in, node.value));
	}
	if (in->n > 0 && below(in, 8) > 0)
		mend_ends(in);
}

/* ---- from bytes and to them ------------------------------------------------------ */

/* False: it is not as the head of this file says. */
static bool parse(struct input *in, const char *text, size_t size)
{
	json_tokener *tok = json_tokener_new_ex(MAX_DEPTH);
	const char *line = memchr(text, '\n', size);
	bool good = true;

	if (tok == NULL)
		err(1, NULL);
	in->head_size = line != NULL ? (size_t)(line - text) : size;
	good = in->head_size <= MAX_TEXT;
	memcpy(in->head, text, good ? in->head_size : 0);
	for (size_t at = in->head_size; good && at < size; at += json_tokener_get_parse_end(tok)) {
		if (strspn(text + at, " \t\n") == size - at)
			break;
		json_tokener_reset(tok);
		in->value[in->n] = json_tokener_parse_ex(tok, text + at, (int)(size - at));
		good = json_tokener_get_error(tok) == json_tokener_success && ++in->n < MAX_VALUES;
	}
	json_tokener_free(tok);
	return good && in->n > 0;
}

/* The size, or 0: there is no room. */
static size_t format(const struct input *in, char *data, size_t max)
{
	size_t size = in->head_size;

	if (size > max)
		return 0;
	memcpy(data, in->head, size);
	for (size_t i = 0; i < in->n; i++) {
		const char *text =
			json_object_to_json_string_ext(in->value[i], JSON_C_TO_STRING_PLAIN);
		size_t n = strlen(text);

		if (n + 1 > max - size)
			return 0;
		data[size++] = '\n';
		memcpy(data + size, text, n);
		size += n;
	}
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct input in = {.random = seed};
	size_t n = 0;
	char *text;

	text = malloc(size + 1);
	if (text == NULL)
		err(1, NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (below(&in, 16) > 0 && parse(&in, text, size)) {
		mutate(&in);
		n = format(&in, (char *)data, max);
	}
	for (size_t i = 0; i < in.n; i++)
		json_object_put(in.value[i]);
	if (n == 0)
		memcpy(data, text, size);
	free(text);
	return n > 0 ? n : LLVMFuzzerMutate(data, size, max);
}
