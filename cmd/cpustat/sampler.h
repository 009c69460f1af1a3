/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sampler.h - samples sets on many CPUs on one schedule.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "../common/out.h"
#include "../common/setgrp.h"
#include "topology.h"

#include <stdbool.h>

struct sampler_config {
	int64_t interval_ns;
	int64_t period_ns; /* from one round through all sets to the next; 0: without a pause */
	unsigned count;	   /* samples, or rounds with a period; 0: no limit */
	char stamp; /* line with the time before each sample: 'u' seconds, 'd' as date(1), 0 none */
	bool soak;
	bool shared;	     /* count without claims, beside whoever has one */
	enum unit_kind unit; /* what a row stands for */
	bool means;	     /* print means over the CPUs of a unit, not sums */
	bool header;
};

/* What ended the run. */
struct sampler_end {
	int signal;  /* SIGINT, SIGTERM, SIGHUP, or 0 */
	bool failed; /* some CPU was not sampled to the end, or output failed */
};

/*
 * Samples all CPUs that are online and allowed to the caller.  Messages go to
 * stderr, rows to `out`.
 */
struct sampler_end sampler_run(const struct sampler_config *config, cpc_t *cpc,
			       const struct setgrp *grp, const struct out *out);

#endif /* SAMPLER_H */
