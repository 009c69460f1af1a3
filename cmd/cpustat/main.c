/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpustat - count CPU events per CPU.
 */
#include "../common/caps.h"
#include "../common/opts.h"
#include "../common/util.h"
#include "sampler.h"

#include <bsd/stdlib.h>
#include <err.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

enum { OPT_VERSION = 256, OPT_SHARED };

static const struct opt opts[] = {
	{'c', "events", "SPEC", "count these events; several -c take turns"},
	{'p', "period", "SECS", "go through all specs once in so many seconds"},
	{'T', "timestamp", "u|d", "a line with the time before each sample"},
	{'s', "soak", NULL, "keep CPUs from idling while only kernel mode counts"},
	{'A', "aggregate", "UNIT", "a row per core, socket, node; one for all"},
	{'m', "mean", NULL, "with -A: the mean of a CPU, not the sum"},
	{'n', "no-header", NULL, "leave the header out"},
	{'t', "cycles", NULL, "a column of CPU cycles"},
	{'D', "debug", NULL, "tell how events are found, name failed calls"},
	{'h', "help", NULL, "this text, and what can be counted here"},
	{OPT_SHARED, "shared", NULL, "count beside others; claim no CPU"},
	{OPT_VERSION, "version", NULL, "print the version"},
	{0},
};

struct config {
	struct sampler_config sampler;
	const char **spec;
	size_t nspecs;
	bool cycles, debug, help, version;
	struct about about; /* -h and --version */
};

static void print_usage(FILE *f)
{
	fputs("usage: cpustat -c SPEC [-c SPEC]... [-p PERIOD] [-T u|d] [-sntD]\n"
	      "               [-A core|socket|node|all [-m]] [--shared]\n"
	      "               [INTERVAL [COUNT]]\n"
	      "       cpustat -h [PATTERN]\n\n",
	      f);
	opts_print(f, opts);
}

static int usage_error(const char *what)
{
	warnx("%s; cpustat -h tells more", what);
	return STATUS_USAGE;
}

/* Seconds that are more than none. */
static int parse_time(const char *what, const char *text, int64_t *ns)
{
	if (parse_seconds(text, ns) && *ns >= 1000)
		return STATUS_OK;
	warnx("%s '%s': seconds are wanted, from 0.000001 to 1000000", what, text);
	return STATUS_USAGE;
}

static int parse_option(struct config *cfg, int c)
{
	switch (c) {
	case 'c':
		cfg->spec[cfg->nspecs++] = optarg;
		return STATUS_OK;
	case 'p':
		return parse_time("-p", optarg, &cfg->sampler.period_ns);
	case 'T':
		if (strcmp(optarg, "u") != 0 && strcmp(optarg, "d") != 0)
			return usage_error("-T takes u or d");
		cfg->sampler.stamp = *optarg;
		return STATUS_OK;
	case 'A':
		if (!unit_parse(optarg, &cfg->sampler.unit))
			return usage_error("-A takes core, socket, node or all");
		return STATUS_OK;
	case 'm':
		cfg->sampler.means = true;
		return STATUS_OK;
	case 's':
		cfg->sampler.soak = true;
		return STATUS_OK;
	case 'n':
		cfg->sampler.header = false;
		return STATUS_OK;
	case 't':
		cfg->cycles = true;
		return STATUS_OK;
	case 'D':
		cfg->debug = true;
		return STATUS_OK;
	case 'h':
		cfg->help = true;
		return STATUS_OK;
	case OPT_SHARED:
		cfg->sampler.shared = true;
		return STATUS_OK;
	case OPT_VERSION:
		cfg->version = cfg->about.version = true;
		return STATUS_OK;
	default:
		return STATUS_USAGE;
	}
}

static int parse_operands(struct config *cfg, int n, char **arg)
{
	const char *bad;

	if (n > 2)
		return usage_error("too many arguments: only an interval and a count are wanted");
	if (n > 0 && parse_time("interval", arg[0], &cfg->sampler.interval_ns) != STATUS_OK)
		return STATUS_USAGE;
	if (n > 1) {
		cfg->sampler.count = (unsigned)strtonum(arg[1], 1, UINT_MAX, &bad);
		if (bad != NULL) {
			warnx("count '%s': a number from 1 to %u is wanted", arg[1], UINT_MAX);
			return STATUS_USAGE;
		}
	}
	return STATUS_OK;
}

static int parse(struct config *cfg, int argc, char **argv)
{
	int c, status = STATUS_OK;

	cfg->about.program = "cpustat";
	cfg->spec = xcalloc((size_t)argc, sizeof(*cfg->spec));
	while (status == STATUS_OK && (c = opts_next(argc, argv, opts)) != -1)
		status = parse_option(cfg, c);
	if (cfg->help && optind < argc)
		cfg->about.pattern = argv[optind];
	if (status != STATUS_OK || cfg->help || cfg->version)
		return status;
	status = parse_operands(cfg, argc - optind, argv + optind);
	if (status == STATUS_OK && cfg->nspecs == 0)
		return usage_error("no events: -c is missing");
	if (status == STATUS_OK && cfg->sampler.means && cfg->sampler.unit == UNIT_CPU)
		return usage_error("-m is the mean of what -A puts together: -A is missing");
	return status;
}

/* Dies of a signal, so that a shell knows; it is blocked until here. */
static void die_of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static int count(const struct config *cfg, cpc_t *cpc, struct sampler_end *end)
{
	struct setgrp grp = {0};
	struct out out = {
		.file = stdout, .cpus = true, .cpc = cpc, .grp = &grp, .cycles = cfg->cycles};
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < cfg->nspecs; i++)
		status = setgrp_add(&grp, cpc, cfg->spec[i], cfg->debug);
	for (size_t i = 0; status == STATUS_OK && i < grp.n; i++) {
		if (grp.set[i].symbols) {
			warnx("'%s': a symbol is one of a program; cputrack counts it",
			      grp.set[i].text);
			status = STATUS_FAILED;
		}
	}
	if (status == STATUS_OK) {
		raise_file_limit();
		setvbuf(stdout, NULL, _IOFBF, 1 << 16);
		*end = sampler_run(&cfg->sampler, cpc, &grp, &out);
		status = end->failed ? STATUS_FAILED : STATUS_OK;
	}
	setgrp_free(&grp);
	return status;
}

int main(int argc, char **argv)
{
	struct config cfg = {.sampler = {.interval_ns = 5 * NSEC, .header = true}};
	struct sampler_end end = {0};
	int status;
	cpc_t *cpc;

	guard_streams();
	status = parse(&cfg, argc, argv);
	if (status == STATUS_OK) {
		cpc = xcpc_open();
		cpcerr_install(cpc, cfg.debug);
		status = cfg.version || cfg.help ? caps_tell(cpc, &cfg.about, print_usage)
						 : count(&cfg, cpc, &end);
		cpc_close(cpc);
	}
	free(cfg.spec);
	if (end.signal != 0)
		die_of(end.signal);
	return status;
}
