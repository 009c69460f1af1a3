/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * units.h - which CPUs have a row together.
 */
#ifndef UNITS_H
#define UNITS_H

#include "cpus.h"

#include <stdbool.h>

enum unit_kind {
	UNIT_CPU,    /* each alone */
	UNIT_CORE,   /* hardware threads of a core; its number is that of its first CPU */
	UNIT_SOCKET, /* a physical package, by the kernel's number */
	UNIT_NODE,   /* a NUMA node, by the kernel's number */
	UNIT_ALL,    /* one of all CPUs; it has no number */
};

struct unit {
	int id; /* its number; UNIT_ALL: ROW_ALL */
	unsigned ncpus;
	unsigned counted; /* so many of them in the sample in the making */
};

struct units {
	size_t n;
	struct unit *unit; /* ascending */
	size_t *of;	   /* of each CPU of struct cpus: its unit, as an index */
};

/* core, socket, node or all.  False: none of them. */
bool unit_parse(const char *text, enum unit_kind *kind);

/*
 * Sorts CPUs into units by what is below `sysfs`, /sys/devices/system/cpu.  A CPU whose
 * core is not told there is one of its own; sockets and nodes that are not, are number 0.
 */
struct units units_find(const char *sysfs, enum unit_kind kind, const struct cpus *cpus);
void units_free(struct units *units);

#endif /* UNITS_H */
