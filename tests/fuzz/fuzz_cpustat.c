/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The command line of cpustat.
 */
#define main cpustat_main
#include "../../cmd/cpustat/main.c"
#undef main

#include "options.h"

static bool is_time(int64_t ns)
{
	return ns >= 1000 && ns <= 1000000 * NSEC;
}

static void check_config(const struct config *cfg)
{
	const struct sampler_config *s = &cfg->sampler;

	must(is_time(s->interval_ns) && (s->period_ns == 0 || is_time(s->period_ns)));
	must(s->stamp == '\0' || s->stamp == 'u' || s->stamp == 'd');
	must(!s->means || s->unit != UNIT_CPU);
}

struct sampler_end sampler_run(const struct sampler_config *config, cpc_t *cpc,
			       const struct setgrp *grp, const struct out *out)
{
	(void)config;
	(void)cpc;
	(void)grp;
	(void)out;
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config cfg = {.sampler = {.interval_ns = 5 * NSEC}};
	char *text = fuzz_text(data, size), *argv[MAX_ARGS + 1];

	run(cpustat, &cfg, split(text, argv), argv);
	free(text);
	return 0;
}
