/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * metric.c - translates the metrics of event files to expressions of definitions.
 *
 * Expressions of vendors can also have functions, conditions and constants of the machine.  Metrics
 * with more than events, other metrics, numbers, + - * / and parentheses are dropped.
 */
#include "metric.h"

#include "../base/util.h"
#include "read.h"

#include <ctype.h>
#include <errno.h>
#include <libcpc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* perf(1) measures these itself: they are not events. */
static const char *const not_events[] = {"duration_time", "user_time", "system_time", "TSC"};

/* The length of the name of an event.  "PMU@event=1@" is unsupported. */
static size_t name_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.')
		n++;
	return n;
}

/* The length of a decimal number, "9.5e-3". */
static size_t number_length(const char *p)
{
	size_t n = strspn(p, "0123456789."), e = n;

	if (p[e] == 'e' || p[e] == 'E') {
		e += p[e + 1] == '+' || p[e + 1] == '-' ? 2 : 1;
		if (isdigit((unsigned char)p[e]))
			n = e + strspn(p + e, "0123456789");
	}
	return n;
}

/* The event of an alias; without aliases the word itself.  NULL: unknown alias. */
static const char *event_of(struct json_object *aliases, const char *word)
{
	for (size_t i = 0; aliases != NULL && i < json_object_array_length(aliases); i++) {
		struct json_object *own = json_object_array_get_idx(aliases, i);

		if (strcmp(read_member(own, "Alias"), word) == 0)
			return read_member(own, "Name");
	}
	return aliases != NULL ? NULL : word;
}

static bool is_event(const char *name)
{
	for (size_t i = 0; i < sizeof(not_events) / sizeof(*not_events); i++) {
		if (strcmp(name, not_events[i]) == 0)
			return false;
	}
	return *name != '\0' && !isdigit((unsigned char)*name) && name[name_length(name)] == '\0';
}

/* Translates the next word and returns its length; 0: unsupported. */
static size_t put_word(FILE *out, const char *p, struct json_object *aliases, bool *numbers)
{
	size_t n = name_length(p);
	const char *event;
	char *word;

	if (n == 0) {
		fprintf(out, "%c ", *p);
		return strchr("+-*/()", *p) != NULL;
	}
	if (isdigit((unsigned char)*p)) {
		n = number_length(p);
		*numbers = true;
		fprintf(out, "%.*s ", (int)n, p);
		return name_length(p + n) == 0 ? n : 0;
	}
	word = xasprintf("%.*s", (int)n, p);
	event = event_of(aliases, word);
	if (event == NULL || !is_event(event))
		n = 0;
	else
		fprintf(out, "%s ", event);
	free(word);
	return n;
}

/* Is it a valid expression of a definition? */
static bool is_valid(const char *text)
{
	cpc_ratio_t *ratio = cpc_ratio_parse(text);

	if (ratio == NULL && errno == ENOMEM)
		xmade(ratio);
	cpc_ratio_free(ratio);
	return ratio != NULL;
}

/* Translates an expression; free the result.  NULL: unsupported. */
static char *translate(const char *expr, struct json_object *aliases)
{
	bool numbers = false;
	char *text, *whole;
	size_t size, n = 1;
	FILE *out = xmade(open_memstream(&text, &size));

	for (const char *p = expr + strspn(expr, " \t"); *p != '\0' && n > 0;
	     p += n + strspn(p + n, " \t"))
		n = put_word(out, p, aliases, &numbers);
	xmade(fclose(out) == 0 ? text : NULL);
	if (size > 0)
		text[size - 1] = '\0'; /* the last blank */
	if (n == 0 || !is_valid(text)) {
		free(text);
		return NULL;
	}
	if (!numbers || strpbrk(text, "*/()") != NULL)
		return text;
	/* Without parentheses, numbers would be codes of events. */
	whole = xasprintf("( %s )", text);
	free(text);
	return whole;
}

void metrics_add(struct metrics *metrics, const char *name, const char *expr,
		 struct json_object *aliases, struct json_object *object)
{
	const char *scale = read_member(object, "ScaleUnit"); /* "" or a factor with a unit */
	int digits = (int)strspn(scale, "0123456789.");
	struct metric *metric;

	metrics->metric = xrealloc(metrics->metric, (metrics->n + 1) * sizeof(*metrics->metric));
	metric = &metrics->metric[metrics->n++];
	*metric = (struct metric){.name = name, .text = translate(expr, aliases), .object = object};
	if (metric->text != NULL && digits > 0 && strtod(scale, NULL) != 1) {
		char *text = xasprintf("%.*s * ( %s )", digits, scale, metric->text);

		free(metric->text);
		metric->text = is_valid(text) ? text : NULL;
		if (metric->text == NULL)
			free(text);
	}
}

/* Does it refer to a dropped metric? */
static bool is_dependent(const struct metrics *metrics, const struct metric *metric)
{
	cpc_ratio_t *ratio = xmade(cpc_ratio_parse(metric->text));
	bool dependent = false;

	for (uint_t i = 0; i < cpc_ratio_nevents(ratio); i++) {
		const char *event = cpc_ratio_event(ratio, i);

		for (size_t k = 0; k < metrics->n; k++)
			dependent |= metrics->metric[k].text == NULL &&
				     strcmp(metrics->metric[k].name, event) == 0;
	}
	cpc_ratio_free(ratio);
	return dependent;
}

void metrics_drop_dependent(struct metrics *metrics)
{
	bool dropped = true;

	while (dropped) {
		dropped = false;
		for (size_t i = 0; i < metrics->n; i++) {
			struct metric *metric = &metrics->metric[i];

			if (metric->text == NULL || !is_dependent(metrics, metric))
				continue;
			free(metric->text);
			metric->text = NULL;
			dropped = true;
		}
	}
}

void metrics_free(struct metrics *metrics)
{
	for (size_t i = 0; i < metrics->n; i++)
		free(metrics->metric[i].text);
	free(metrics->metric);
	*metrics = (struct metrics){0};
}
