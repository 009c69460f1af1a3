/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * none.c - refuses keys in builds without BPF.
 */
#include "keys.h"

#include "../../base/say.h"

struct sampled *keys_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			  enum cpu_scope scope, unsigned depth, bool debug)
{
	(void)cpc, (void)grp, (void)cpus, (void)depth, (void)debug;
#if defined(__x86_64__) || defined(__aarch64__)
	die("cannot divide the counts by %s: this program was built without BPF",
	    cpu_scope_name(scope));
#else
	die("cannot divide the counts by %s: only x86-64 and Arm64 are supported",
	    cpu_scope_name(scope));
#endif
}
