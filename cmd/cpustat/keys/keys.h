/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * keys.h - divides the counts of all CPUs among the cgroups, services, containers, users or
 * commands that run there.
 */
#ifndef KEYS_H
#define KEYS_H

#include "../../base/setgrp.h"
#include "../cpus.h"
#include "../sampled.h"

/*
 * Counts on all online CPUs, for keys of this scope.  `cpus`: those that count at the begin.
 * `depth`: of a SCOPE_CGROUP, the components of the paths; 0: all.  `debug`: messages describe what
 * is counted.
 */
struct sampled *keys_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			  enum cpu_scope scope, unsigned depth, bool debug);

#endif /* KEYS_H */
