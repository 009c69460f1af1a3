/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine_select.c - select the engine.
 */
#include "../../base/say.h"
#include "../../program/sched.h"
#include "engine.h"

#include <bsd/string.h>
#include <string.h>

#ifdef CPC_KERNEL_ENGINE
const char engine_names[] = "engines: kernel, ptrace";
#else
const char engine_names[] = "engine: ptrace";

struct engine *engine_kernel(const struct engine *common, char *why, size_t size)
{
	(void)common;
#if defined(__x86_64__) || defined(__aarch64__)
	strlcpy(why, "this program was built without BPF", size);
#else
	strlcpy(why, "only x86-64 and Arm64 are supported", size);
#endif
	return NULL;
}
#endif

static const char *const choices[] = {
	[ENGINE_AUTO] = "auto",
	[ENGINE_KERNEL] = "kernel",
	[ENGINE_PTRACE] = "ptrace",
};

bool engine_parse(const char *name, enum engine_choice *choice)
{
	for (size_t i = 0; i < sizeof(choices) / sizeof(*choices); i++) {
		if (strcmp(name, choices[i]) == 0) {
			*choice = (enum engine_choice)i;
			return true;
		}
	}
	return false;
}

struct engine *engine_new(enum engine_choice choice, const struct engine_config *config, cpc_t *cpc,
			  const struct setgrp *grp, struct track *track)
{
	const struct engine common = {
		.config = *config,
		.cpc = cpc,
		.grp = grp,
		.track = track,
		.waiting = track->config.delay_ns > 0,
	};
	struct engine *engine;
	const char *chosen = config->choice.name, *event = NULL;
	char why[512] = "--engine=ptrace cannot";

	if (choice != ENGINE_PTRACE) {
		engine = engine_kernel(&common, why, sizeof(why));
		if (engine != NULL) {
			if (config->debug) /* scripts/kernels tests these: see docs/kernels.md */
				say("counts in the kernel (tested on Linux 6.1 to 7.3)");
			return engine;
		}
		if (choice == ENGINE_KERNEL && chosen == NULL) {
			say("cannot count in the kernel: %s (--engine=ptrace can)", why);
			return NULL;
		}
		if (config->debug && chosen == NULL)
			say("counts with ptrace(2); not in the kernel: %s", why);
	}
	if (chosen != NULL) {
		say("%s requires counting in the kernel: %s (--tree -p PID tracks a tree of "
		    "processes)",
		    chosen, why);
		return NULL;
	}
	if (sched_events_of(grp, cpc, &event) != 0) {
		say("'%s' requires counting in the kernel, as the stops of ptrace(2) cause waits: "
		    "%s",
		    event, why);
		return NULL;
	}
	return engine_ptrace(&common);
}
