/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine.c - what all engines have.
 */
#include "engine.h"

#include "../common/say.h"
#include "../common/util.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

struct engine *engine_new(enum engine_choice choice, const struct engine_config *config, cpc_t *cpc,
			  const struct setgrp *grp)
{
	struct engine *engine;
	char why[512];

	if (choice != ENGINE_PTRACE) {
		engine = engine_kernel(config, cpc, grp, why, sizeof(why));
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

void engine_watch(struct engine *engine, const struct watcher *watcher, void *arg)
{
	engine->watcher = watcher;
	engine->arg = arg;
}

static void tell(const char *fn, const char *fmt, va_list ap)
{
	(void)fn;
	vsay(fmt, ap);
}

static void tell_debug(const char *fn, const char *fmt, va_list ap)
{
	char text[SAY_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	say("pctx_%s: %s", fn, text);
}

pctx_errfn_t *engine_errors(const struct engine_config *config)
{
	return config->debug ? tell_debug : tell;
}

static int cmp_procs(const void *a, const void *b)
{
	const struct proc *const *x = a, *const *y = b;

	return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

struct proc **engine_sort_procs(const struct engine *engine, size_t *n)
{
	struct proc **all, *proc;
	size_t i = 0;

	TAILQ_FOREACH(proc, &engine->procs, link)
		i++;
	all = xcalloc(i + 1, sizeof(struct proc *));
	*n = i;
	TAILQ_FOREACH(proc, &engine->procs, link)
		all[--i] = proc;
	qsort(all, *n, sizeof(struct proc *), cmp_procs);
	return all;
}
