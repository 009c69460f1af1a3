/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counters.h - binds sets to CPUs, samples them, and notices when a CPU is lost.
 */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "../base/setgrp.h"
#include "cpus.h"
#include "sampled.h"

/*
 * Counts on these CPUs.  `flags` are of cpc_bind_cpu(3).  `soak`: soakers run while a set that
 * counts kernel mode only is bound.
 */
struct sampled *counters_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			      uint_t flags, bool soak);

#endif /* COUNTERS_H */
