/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * none.c - refuses keys in builds without BPF.
 */
#include "../meters.h"
#include "scheduled.h"

#include "../../base/say.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define WHY "this program was built without BPF"
#else
#define WHY "only x86-64 and Arm64 are supported"
#endif

struct meter *keys_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			enum scope scope, unsigned depth, bool debug)
{
	(void)cpc, (void)grp, (void)cpus, (void)depth, (void)debug;
	say("cannot divide the counts by %s: " WHY, scope_name(scope));
	return NULL;
}

const char *keys_no_delay(void)
{
	return WHY;
}

struct scheduled *scheduled_open(unsigned events, char *why, size_t size)
{
	(void)events;
	snprintf(why, size, WHY);
	return NULL;
}

void scheduled_close(struct scheduled *scheduled)
{
	(void)scheduled;
}

unsigned scheduled_events(const struct scheduled *scheduled)
{
	(void)scheduled;
	return 0;
}

int scheduled_read(struct scheduled *scheduled, int cpu, uint64_t count[SCHEDULED_N],
		   bool *incomplete)
{
	(void)scheduled, (void)cpu, (void)count, (void)incomplete;
	return -1;
}
