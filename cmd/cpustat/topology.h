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
 * What each CPU is part of, by the files below `sysfs`, which is /sys/devices/system/cpu but
 * in tests; to be freed.  If they do not tell the core of a CPU, it is a core of its own; an
 * unknown socket or node is number 0.
 */
struct run_cpu *topology_find(const char *sysfs, const struct cpus *cpus);

#endif /* TOPOLOGY_H */
