/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engines.c - which engine it is to be.
 */
#include "engines.h"

#include "../common/say.h"
#include "kernel/kernel.h"
#include "ptrace.h"

#include <bsd/string.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#ifdef CPC_KERNEL_ENGINE
const char engine_names[] = "engines: kernel, ptrace";
#else
const char engine_names[] = "engine: ptrace";

struct engine *engine_kernel(const struct engine_config *config, cpc_t *cpc,
			     const struct setgrp *grp, char *why, size_t size)
{
	(void)config, (void)cpc, (void)grp;
	strlcpy(why, "this program was built without BPF", size);
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

/*
 * From Linux 7.0 on BPF programs at tracepoints can be preempted, and are then skipped for other
 * tasks on that CPU, so that births and exits get lost.
 */
static bool kernel_skips_programs(char *why, size_t size)
{
	struct utsname name;
	unsigned major;

	if (uname(&name) == -1 || sscanf(name.release, "%u.", &major) != 1 || major < 7)
		return false;
	snprintf(why, size, "Linux %s may skip BPF programs at tracepoints (since 7.0)",
		 name.release);
	return true;
}

static struct engine *try_kernel(enum engine_choice choice, const struct engine_config *config,
				 cpc_t *cpc, const struct setgrp *grp, char *why, size_t size)
{
	if (choice == ENGINE_AUTO && kernel_skips_programs(why, size))
		return NULL;
	return engine_kernel(config, cpc, grp, why, size);
}

struct engine *engine_new(enum engine_choice choice, const struct engine_config *config, cpc_t *cpc,
			  const struct setgrp *grp)
{
	struct engine *engine;
	char why[512];

	if (choice != ENGINE_PTRACE) {
		engine = try_kernel(choice, config, cpc, grp, why, sizeof(why));
		if (engine != NULL) {
			if (config->debug)
				say("counts in the kernel");
			return engine;
		}
		if (choice == ENGINE_KERNEL) {
			say("cannot count in the kernel: %s (--engine=ptrace can)", why);
			return NULL;
		}
		if (config->debug)
			say("counts with ptrace(2); not in the kernel: %s", why);
	}
	return engine_ptrace(config, cpc, grp);
}
