/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * topology.h - which CPUs form a core, a socket or a NUMA node.
 */
#ifndef TOPOLOGY_H
#define TOPOLOGY_H

#include "../rows/row.h"
#include "cpus.h"

/*
 * Returns the core, socket and node of each CPU; free the array.  `sysfs` is
 * /sys/devices/system/cpu, or a folder of a test.  A CPU whose core is unknown is a core of its
 * own; an unknown socket or node is 0.
 */
struct run_cpu *topology_find(const char *sysfs, const struct cpus *cpus);

#endif /* TOPOLOGY_H */
