/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * options.h - the command line of a program, of which main.c was included: each line of the input
 * is an argument.  Nothing is counted: the program's function for that checks what it gets.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "fuzz.h"
#include "said.h"

#include "../../cmd/program/help.h"

#include <getopt.h>

#define MAX_ARGS 40

static void check_config(const struct config *cfg);

/* In place of those that main.c calls; see --wrap of ld(1). */
int __wrap_help_print(cpc_t *cpc, const struct program *prog, bool version, const char *pattern);
int __wrap_check_print(cpc_t *cpc);
cpc_t *__real_cpc_open(int ver);
cpc_t *__wrap_cpc_open(int ver);
struct output *__wrap_output_open(const struct output_config *config);
int __wrap_cpc_close(cpc_t *cpc);

int __wrap_help_print(cpc_t *cpc, const struct program *prog, bool version, const char *pattern)
{
	(void)cpc, (void)version, (void)pattern;
	must(prog->name != NULL);
	return 0;
}

int __wrap_check_print(cpc_t *cpc)
{
	must(cpc != NULL);
	return 0;
}

/* Opening takes a while. */
cpc_t *__wrap_cpc_open(int ver)
{
	static cpc_t *cpc;

	if (cpc == NULL)
		cpc = __real_cpc_open(ver);
	must(cpc != NULL);
	return cpc;
}

/* No file is written, so that of -I is not read either. */
struct output *__wrap_output_open(const struct output_config *config)
{
	(void)config;
	return NULL;
}

int __wrap_cpc_close(cpc_t *cpc)
{
	(void)cpc;
	return 0;
}

static int check(void *config, cpc_t *cpc)
{
	const struct config *cfg = config;

	must(cpc != NULL && cfg->common.nspecs > 0);
	for (size_t i = 0; i < cfg->common.nspecs; i++)
		must(cfg->common.spec[i] != NULL);
	check_config(cfg);
	return 0;
}

static int run(struct program prog, struct config *cfg, int argc, char **argv)
{
	int status;

	prog.count = check;
	optind = 0; /* parse from the start */
	said = 0;
	status = program_main(&prog, &cfg->common, cfg, argc, argv);
	must(status == 0 || status == 2 || (status == 1 && cfg->common.output.replay != NULL));
	/* Some messages are not errors. */
	must(status == 2 ? said > 0 : said <= MAX_ARGS);
	return status;
}

/* The arguments, which point into `text`. */
static int split(char *text, char **argv)
{
	static char name[] = "program";
	int argc = 0;

	argv[argc++] = name;
	for (char *line; argc < MAX_ARGS && (line = strsep(&text, "\n")) != NULL;)
		argv[argc++] = line;
	argv[argc] = NULL;
	return argc;
}

#endif /* OPTIONS_H */
