/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sampler.h - samples sets on one schedule, by a meter.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include "../base/setgrp.h"
#include "../rows/output.h"

#include <stdbool.h>

struct sampler_config {
	int64_t interval_ns;
	int64_t period_ns; /* between the starts of rounds through all sets; 0: no pauses */
	int64_t delay_ns;  /* from the start to the beginning of counting */
	int64_t for_ns;	   /* the length of counting, which ends with a sample; 0: no limit */
	unsigned count;	   /* number of samples, or with a period of rounds; 0: no limit */
	bool is_silent;	   /* nothing is printed before the end */
};

struct meter;
struct sampler;

struct meter_ops {
	/* Counts set `k` of the group from now on, and sets `at`.  -1: it counts nowhere, after a
	 * message. */
	int (*bind)(struct meter *meter, size_t k);
	/* Stops counting set `k`.  Some failures are noticed only here. */
	void (*unbind)(struct meter *meter, size_t k);
	/* Samples the counts of set `k` since the last sample; sets `at`.  -1 after a message. */
	int (*sample)(struct meter *meter, size_t k);
	/* Puts the rows of the sample by sampler_put().  False: something was not counted. */
	bool (*put)(struct meter *meter, size_t k, struct sampler *sampler);
	/* Tries to count again where the only set has stopped counting; optional. */
	void (*retry)(struct meter *meter, size_t k);
	void (*free)(struct meter *meter);
};

/*
 * When the CPUs were read.  One may answer late, so this is the mean of their times: then no
 * interval has more time of CPUs than it lasts.
 */
struct read_time {
	int64_t first_ns, later_ns; /* of the first CPU; how much later the others were, in sum */
	int64_t n;
};

/* Counts CPUs or keys: see meters.h. */
struct meter {
	const struct meter_ops *ops;
	struct read_time at; /* of the last sample; or when the set was bound */
	size_t n, nleft;     /* the number of CPUs, and of CPUs that are counted now */
	int status; /* to exit with: not STATUS_OK if some CPU was not counted all the time */
};

/* How a run ended. */
struct sampler_end {
	int signal;   /* SIGINT, SIGTERM or SIGHUP ended it; or 0 */
	bool started; /* something was counted */
	bool lost;    /* the output failed; a message reported this */
	bool unit;    /* the screen asks for another unit: see output_unit() */
};

/*
 * Samples the sets of `grp`, which get their cycles.  Sets the start of `run`.  Rows go to
 * `output`; it frees `meter`.  `config` gets what is left for a run by another unit.  Returns the
 * exit status.
 */
int sampler_run(struct sampler_config *config, cpc_t *cpc, struct setgrp *grp, struct meter *meter,
		struct run *run, struct output *output, struct sampler_end *end);

/* Closes the output after the last run.  Returns the exit status. */
int sampler_close(struct output *output, struct sampler_end *end, int status);

/* Another CPU was read at this time on CLOCK_MONOTONIC. */
void read_time_add(struct read_time *at, int64_t ns);

/* Puts a tick row of set `k`, and adds `buf` to the total.  NULL: the counts are unknown. */
void sampler_put(struct sampler *sampler, struct row *row, size_t k, cpc_buf_t *buf);
/* A key has ended. */
void sampler_end_key(struct sampler *sampler, size_t k, const char *key);

#endif /* SAMPLER_H */
