/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine.c - helpers of all engines.
 */
#include "engine.h"

#include "../../base/say.h"

#include <stdio.h>

static void print_error(const char *fn, const char *fmt, va_list ap)
{
	(void)fn;
	vsay(fmt, ap);
}

static void print_debug(const char *fn, const char *fmt, va_list ap)
{
	char text[SAY_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	say("pctx_%s: %s", fn, text);
}

pctx_errfn_t *engine_errors(const struct engine_config *config)
{
	return config->debug ? print_debug : print_error;
}

void engine_counts(const struct engine *engine, size_t set, cpc_buf_t *buf,
		   struct track_counts *counts)
{
	counts->known = true;
	counts->cycles = cpc_buf_tick(engine->cpc, buf);
	for (size_t i = 0; i < engine->grp->set[set].spec.nreqs; i++)
		cpc_buf_get(engine->cpc, buf, (int)i, &counts->val[i]);
}

const char *engine_comm(const struct engine *engine, pid_t tid, char comm[COMM_SIZE])
{
	comm[0] = '\0';
	if (engine->config.comm)
		pid_read_comm(tid, comm);
	return comm[0] != '\0' ? comm : NULL;
}
