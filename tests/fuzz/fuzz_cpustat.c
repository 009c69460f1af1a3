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
	must(is_time(cfg->sampler.interval_ns));
	must(cfg->sampler.period_ns == 0 || is_time(cfg->sampler.period_ns));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config cfg = {.sampler = {.interval_ns = 5 * NSEC}};
	char *text = fuzz_text(data, size), *argv[MAX_ARGS + 1];

	run(cpustat, &cfg, split(text, argv), argv);
	free(text);
	return 0;
}
