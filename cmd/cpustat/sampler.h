/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sampler.h - samples sets on many CPUs on one schedule.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "../base/setgrp.h"
#include "../rows/output.h"

#include <stdbool.h>

struct sampler_config {
	int64_t interval_ns;
	int64_t period_ns; /* from one round through all sets to the next; 0: without a pause */
	int64_t delay_ns;  /* from the start until CPUs are counted */
	int64_t for_ns;	   /* from then to the end, where a last sample is taken; 0: no limit */
	unsigned count;	   /* samples, or rounds with a period; 0: no limit */
	bool soak;
	bool shared; /* count without claims, beside whoever has one */
	bool keys;   /* q on the standard input, a terminal, ends the run */
	char **argv; /* the command line */
};

/* What ended the run. */
struct sampler_end {
	int signal;  /* SIGINT, SIGTERM, SIGHUP, or 0 */
	bool failed; /* some CPU was not sampled to the end, or output failed */
	bool lost;   /* output failed, which was reported */
	bool wrong_spec;
};

/*
 * Samples all CPUs that are online and allowed to the caller.  Messages go to
 * stderr, rows to `output`; sets get the cycles for which they have counted.
 */
struct sampler_end sampler_run(const struct sampler_config *config, cpc_t *cpc, struct setgrp *grp,
			       struct output *output);

#endif /* SAMPLER_H */
