/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * metric.h - translates the metrics of event files to expressions of definitions.
 */
#ifndef METRIC_H
#define METRIC_H

#include <json-c/json.h>
#include <stddef.h>

struct metric {
	const char *name;
	char *text; /* NULL: definitions cannot express it */
	struct json_object *object;
};

struct metrics {
	size_t n;
	struct metric *metric;
};

/*
 * Adds a metric.  `aliases` is NULL or a list of objects with "Name" and "Alias"; then `expr` has
 * aliases in place of events.  `name` and `object` must stay valid.
 */
void metrics_add(struct metrics *metrics, const char *name, const char *expr,
		 struct json_object *aliases, struct json_object *object);

/* Drops metrics that refer to dropped metrics. */
void metrics_drop_dependent(struct metrics *metrics);
void metrics_free(struct metrics *metrics);

#endif /* METRIC_H */
