/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * none.c - refuses keys in builds without BPF.
 */
#include "../meters.h"
#include "busy.h"

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

struct busy *busy_open(char *why, size_t size)
{
	snprintf(why, size, WHY);
	return NULL;
}

void busy_close(struct busy *busy)
{
	(void)busy;
}

int busy_read(struct busy *busy, int cpu, uint64_t *ns, bool *incomplete)
{
	(void)busy, (void)cpu, (void)ns, (void)incomplete;
	return -1;
}
