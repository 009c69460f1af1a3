/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sampled.h - what the sampler samples: CPUs, or keys that share the counts of all CPUs.
 */
#ifndef SAMPLED_H
#define SAMPLED_H

#include "../rows/row.h"

#include <stdbool.h>

struct sampled;
struct sampler;

struct sampled_ops {
	/* Counts set `k` of the group from now on.  -1: it counts nowhere, after a message. */
	int (*bind)(struct sampled *sampled, size_t k);
	/* Ends that.  Some failures are noticed only here. */
	void (*unbind)(struct sampled *sampled, size_t k);
	/* Samples the counts of set `k` since the last sample, and adds them to `total`.  False:
	 * something was not counted. */
	bool (*sample)(struct sampled *sampled, size_t k, cpc_buf_t *total);
	/* Puts the rows of that sample by sampler_put(). */
	void (*put)(struct sampled *sampled, size_t k, struct sampler *sampler);
	/* Tries to count again where the only set does not count any more; or NULL. */
	void (*retry)(struct sampled *sampled, size_t k);
	void (*free)(struct sampled *sampled);
};

struct sampled {
	const struct sampled_ops *ops;
	size_t n, nleft; /* the number of CPUs, and of CPUs that are counted now */
	bool failed;	 /* some CPU was not counted during the whole run */
	bool wrong_spec; /* the kernel refused a spec on all CPUs */
};

/* Puts a tick row of set `k` with its times; `buf` NULL: the counts are unknown. */
void sampler_put(struct sampler *sampler, struct row *row, size_t k, cpc_buf_t *buf);

#endif /* SAMPLED_H */
