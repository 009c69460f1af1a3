/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine.c - what all engines have in common.
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

void engine_counts(cpc_t *cpc, cpc_buf_t *buf, size_t nreqs, struct track_counts *counts)
{
	counts->known = true;
	counts->cycles = cpc_buf_tick(cpc, buf);
	for (size_t i = 0; i < nreqs; i++)
		cpc_buf_get(cpc, buf, (int)i, &counts->val[i]);
}
