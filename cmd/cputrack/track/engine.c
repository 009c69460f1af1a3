/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine.c - what all engines have.
 */
#include "engine.h"

#include "../../base/say.h"
#include "../../base/util.h"

#include <stdio.h>
#include <stdlib.h>

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
