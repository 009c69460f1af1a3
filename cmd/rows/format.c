/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * format.c - the table of formats.
 */
#include "format.h"

#include "../base/util.h"
#include "means.h"

#include <libcpc.h>
#include <string.h>

static struct sink *open_table(FILE *file, const struct style *style)
{
	return style->summary ? summary_table_open(file, style) : table_open(file, style);
}

static const struct format formats[] = {
	{.name = "table", .open = open_table, .means = means_table},
	{.name = "csv", .open = csv_open, .means = means_csv, .comm = true},
	{.name = "json", .open = json_open, .means = means_json, .comm = true, .cycles = true},
	{.name = "openmetrics",
	 .open = openmetrics_open,
	 .comm = true,
	 .whole = true,
	 .renewed = true,
	 .nkeys = OPENMETRICS_KEYS},
	{.name = "trace", .open = trace_open, .comm = true, .whole = true},
};

#define NFORMATS (sizeof(formats) / sizeof(*formats))

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < NFORMATS; i++) {
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	}
	return NULL;
}

const char *format_meant(const char *word)
{
	static const struct synonym words[] = {
		{"prometheus", "openmetrics"},
		{"prom", "openmetrics"},
		{"jsonl", "json"},
		{"ndjson", "json"},
		{"perfetto", "trace"},
		{"chrome", "trace"},
		{"text", "table"},
		{0},
	};
	const char *name[NFORMATS], *here = synonym_find(words, word);

	for (size_t i = 0; i < NFORMATS; i++)
		name[i] = formats[i].name;
	return here != NULL ? here : cpc_nearest(word, name, NFORMATS);
}
