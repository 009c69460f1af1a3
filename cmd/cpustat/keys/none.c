/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * none.c - refuses keys in builds without BPF.
 */
#include "../meters.h"

#include "../../base/say.h"

struct meter *keys_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			enum scope scope, unsigned depth, bool debug)
{
	(void)cpc, (void)grp, (void)cpus, (void)depth, (void)debug;
#if defined(__x86_64__) || defined(__aarch64__)
	say("cannot divide the counts by %s: this program was built without BPF",
	    scope_name(scope));
#else
	say("cannot divide the counts by %s: only x86-64 and Arm64 are supported",
	    scope_name(scope));
#endif
	return NULL;
}
