/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The command line of cputrack.
 */
#define main cputrack_main
#include "../../cmd/cputrack/main.c"
#undef main

#include "options.h"

static void check_config(const struct config *cfg)
{
	must(cfg->engine.interval_ms <= 1000000000 && cfg->engine.count <= INT_MAX);
	must((cfg->command == NULL) == (cfg->pids.n > 0));
	must(cfg->command == NULL || cfg->command[0] != NULL);
	must(cfg->track.delay_ns >= 0 && cfg->track.for_ns >= 0 && cfg->repeat <= 1000000);
	for (size_t i = 0; i < cfg->pids.n; i++)
		must(cfg->pids.target[i].pid > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config cfg = {0};
	char *text = fuzz_text(data, size), *argv[MAX_ARGS + 1];

	run(cputrack, &cfg, split(text, argv), argv);
	free(cfg.pids.target);
	free(text);
	return 0;
}
