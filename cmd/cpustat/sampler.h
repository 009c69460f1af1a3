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
	int64_t period_ns;    /* between the starts of rounds through all sets; 0: no pauses */
	int64_t delay_ns;     /* from the start to the beginning of counting */
	int64_t for_ns;	      /* the length of counting, which ends with a sample; 0: no limit */
	unsigned count;	      /* number of samples, or with a period of rounds; 0: no limit */
	enum cpu_scope scope; /* SCOPE_CPU, or that of keys */
	bool debug;	      /* messages describe the keys */
	unsigned depth;	      /* SCOPE_CGROUP: components of the paths; 0: all */
	bool soak;
	bool shared; /* count without claims */
	char **argv; /* the command line */
};

/* How the run ended. */
struct sampler_end {
	int signal;	 /* SIGINT, SIGTERM, SIGHUP, or 0 */
	bool failed;	 /* some CPU was lost, or output failed */
	bool lost;	 /* output failed; a message reported this */
	bool wrong_spec; /* the kernel refused a spec on all CPUs */
};

/*
 * Samples all online CPUs in the affinity mask of the caller.  Rows go to `output`.  Sets get their
 * cycles.
 */
struct sampler_end sampler_run(const struct sampler_config *config, cpc_t *cpc, struct setgrp *grp,
			       struct output *output);

#endif /* SAMPLER_H */
