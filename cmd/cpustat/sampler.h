/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sampler.h - samples sets on many CPUs by one schedule.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "../common/out.h"
#include "../common/setgrp.h"
#include "units.h"

#include <stdbool.h>

struct sampler_config {
	int64_t interval_ns;
	int64_t period_ns; /* 0: no rest between the rounds through the sets */
	unsigned count;	   /* samples, or rounds with a period; 0: no limit */
	char stamp;	   /* a line of time before each sample: 'u', 'd' as date(1), or 0 */
	bool soak;
	bool shared;	     /* claims no CPU, and needs none that is free */
	enum unit_kind unit; /* a row for each */
	bool means;	     /* of the CPUs of a unit, instead of sums */
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
