/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * program.c - what cputrack and cpustat do alike: options, start and end.
 */
#include "program.h"

#include "caps.h"
#include "say.h"
#include "util.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>

int usage_error(const char *what)
{
	say("%s; %s -h tells more", what, program_invocation_short_name);
	return STATUS_USAGE;
}

/* False: that option is not one of both programs. */
static bool parse_common(struct common *common, int c)
{
	switch (c) {
	case 'c':
		common->spec[common->nspecs++] = optarg;
		break;
	case 'n':
		common->no_header = true;
		break;
	case 't':
		common->cycles = true;
		break;
	case 'D':
		common->debug = true;
		break;
	case 'h':
		common->help = true;
		break;
	case OPT_VERSION:
		common->version = true;
		break;
	default:
		return false;
	}
	return true;
}

static int parse(const struct program *prog, struct common *common, void *config, int argc,
		 char **argv)
{
	int c, status = STATUS_OK;

	common->spec = xcalloc((size_t)argc, sizeof(*common->spec));
	while (status == STATUS_OK && (c = opts_next(argc, argv, prog->opts)) != -1) {
		if (c == '?')
			status = STATUS_USAGE;
		else if (!parse_common(common, c))
			status = prog->parse_option(config, c);
	}
	if (status != STATUS_OK || common->help || common->version)
		return status;
	if (common->nspecs == 0)
		return usage_error("no events: -c is missing");
	return prog->parse_operands(config, argc - optind, argv + optind);
}

int program_main(const struct program *prog, struct common *common, void *config, int argc,
		 char **argv)
{
	int status;
	cpc_t *cpc;

	guard_streams();
	status = parse(prog, common, config, argc, argv);
	if (status == STATUS_OK) {
		cpc = xcpc_open();
		cpcerr_install(cpc, common->debug);
		if (common->version || common->help) {
			const struct about about = {
				.program = prog->name,
				.version = common->version,
				.pattern = optind < argc ? argv[optind] : NULL,
			};

			status = caps_tell(cpc, &about, prog->print_usage);
		} else {
			status = prog->count(config, cpc);
		}
		cpc_close(cpc);
	}
	free(common->spec);
	return status;
}

int program_sets(const struct common *common, cpc_t *cpc, struct setgrp *grp)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < common->nspecs; i++)
		status = setgrp_add(grp, cpc, common->spec[i], common->debug);
	return status;
}

/* It may be blocked: by us until here, or by who started us. */
void die_of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
