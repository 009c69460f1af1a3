/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * metric.h - metrics of an event file as expressions of definitions.
 */
#ifndef METRIC_H
#define METRIC_H

#include <json-c/json.h>
#include <stddef.h>

struct metric {
	const char *name;
	char *text; /* NULL: it takes more than a definition can say */
	struct json_object *object;
};

struct metrics {
	size_t n;
	struct metric *metric;
};

/*
 * Adds a metric.  Of `aliases`, which may be NULL, a list of objects with "Name" and "Alias",
 * each alias stands for an event in `expr`, and other words mean nothing.  `scale` is "", or a
 * number that the value is to be multiplied with, and then its unit.  `name` and `object` are
 * those of the file.
 */
void metrics_add(struct metrics *metrics, const char *name, const char *expr, const char *scale,
		 struct json_object *aliases, struct json_object *object);

/* Leaves out those that are made of metrics that are left out. */
void metrics_settle(struct metrics *metrics);
void metrics_free(struct metrics *metrics);

#endif /* METRIC_H */
