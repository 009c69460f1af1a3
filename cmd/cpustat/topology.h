/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * topology.h - which CPUs form a core, a socket or a NUMA node.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "cpus.h"

#include <stdbool.h>

enum unit_kind {
	UNIT_CPU,    /* a single CPU */
	UNIT_CORE,   /* the hardware threads of a core; numbered by its first CPU */
	UNIT_SOCKET, /* a physical package, by the kernel's number */
	UNIT_NODE,   /* a NUMA node, by the kernel's number */
	UNIT_ALL,    /* all CPUs; without a number */
};

struct unit {
	int id; /* its number; UNIT_ALL: ROW_ALL */
	unsigned ncpus;
	unsigned counted; /* CPUs with counts in the current sample */
};

struct units {
	size_t n;
	struct unit *unit; /* ascending */
	size_t *of;	   /* index of the unit of each CPU in struct cpus */
};

/* Parses "core", "socket", "node" or "all".  False: it is none of them. */
bool unit_parse(const char *text, enum unit_kind *kind);

/*
 * Groups CPUs by the files below `sysfs`, which is /sys/devices/system/cpu but in tests.
 * If they do not tell the core of a CPU, it is a core of its own; an unknown socket or
 * node is number 0.
 */
struct units units_find(const char *sysfs, enum unit_kind kind, const struct cpus *cpus);
void units_free(struct units *units);

#endif /* TOPOLOGY_H */
