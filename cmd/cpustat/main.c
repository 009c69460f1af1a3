/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpustat - count CPU events per CPU.
 */
#include "../base/say.h"
#include "../base/util.h"
#include "../program/program.h"
#include "../program/top/top.h"
#include "../rows/aggregate.h"
#include "cpus.h"
#include "sampler.h"

#include <bsd/stdlib.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { OPT_SHARED = OPT_OWN, OPT_CPUS, OPT_DEPTH, OPT_KEYS, OPT_TOP };

static const struct opt opts[] = {
	{'c', "events", "SPEC", "count these events; several -c take turns", TO_COUNT},
	{'p', "period", "SECS", "start a round of all specs every SECS seconds", TO_COUNT},
	{'T', "timestamp", "u|d", "print the time before each sample", ALWAYS},
	{'s', "soak", NULL, "keep CPUs busy while counting only kernel mode", TO_COUNT},
	{'A', "aggregate", "UNIT", "a row per core, ..., or per service, ...", ALWAYS},
	{'m', "mean", NULL, "with -A: the mean of a CPU, not the sum", ALWAYS},
	{'n', "no-header", NULL, "omit the header", ALWAYS},
	{'t', "cycles", NULL, "a column of CPU cycles", ALWAYS},
	{'D', "debug", NULL, "describe events, name failed calls", TO_COUNT},
	{'h', "help", NULL, "this text, and what can be counted here", ALWAYS},
	{OPT_SHARED, "shared", NULL, "count without a claim on CPUs", TO_COUNT},
	{OPT_CPUS, "cpus", "LIST", "with -I: only these CPUs", ALWAYS},
	{OPT_DEPTH, "depth", "N", "with -A cgroup: N components of the paths", TO_COUNT},
	{OPT_KEYS, "keys", "N", "the N largest services, ..., and the sum of the others", ALWAYS},
	SPAN_OPTS,
	{OPT_TOP, "top", NULL, "show each interval full-screen, sorted; h helps", TO_COUNT},
	OUTPUT_OPTS,
	{'V', "version", NULL, "print the version", ALWAYS},
	{0},
};

/* Options of perf stat, top, mpstat and vmstat that cpustat does not have. */
static const struct foreign_opt foreign[] = {
	{"a", "all CPUs are counted without it"},
	{"all", "all CPUs are counted without it"},
	{"e", "use -c for events"},
	{"i", "the interval is an argument, after the options"},
	{"interval", "the interval is an argument, after the options"},
	{"N", "the count is an argument, after the interval"},
	{"count", "the count is an argument, after the interval"},
	{"C", "taskset(1) selects CPUs: taskset -c 0,2-5 cpustat"},
	{"P", "taskset(1) selects CPUs: taskset -c 0,2-5 cpustat"},
	{"u", "--by=user has a row for each user"},
	{"user", "--by=user has a row for each user"},
	{"cgroup", "--by=cgroup has a row for each cgroup"},
	{"tree", "cputrack has rows for processes"},
	{"d", "the interval is an argument, after the options; -c adds events"},
	{"r", "cputrack -r repeats a command"},
	{"v", "-D describes events"},
	{"per-core", "-A core has a row for each core"},
	{"per-socket", "-A socket has a row for each socket"},
	{"per-node", "-A node has a row for each node"},
	{"per-thread", "cputrack --by=lwp has a row for each thread"},
	{"f", "cputrack follows programs"},
	FOREIGN_OPTS,
	{NULL, NULL},
};

struct config {
	struct options common;
	struct sampler_config sampler;
	struct sampler_end end;
	bool top;
};

static void print_usage(FILE *f)
{
	fputs("usage: cpustat [-c SPEC]... [-p PERIOD] [-T u|d] [-sntD]\n"
	      "               [-A cpu|core|socket|node|all [-m]] [--shared]\n"
	      "               [-A cgroup|service|container|user|command [--keys=N]]\n"
	      "               [INTERVAL [COUNT]]\n"
	      "       cpustat -I FILE [-nt] [-A UNIT [-m]] [-o FILE] [--format FORMAT]\n"
	      "       cpustat -h [PATTERN]\n"
	      "       cpustat --check\n\n",
	      f);
	opts_print(f, opts);
}

/* A time of at least a microsecond. */
static int parse_time(const char *what, const char *text, int64_t *ns)
{
	if (parse_seconds(text, ns) && *ns >= 1000)
		return STATUS_OK;
	say("invalid %s '%s': expected seconds from 0.000001 to 1000000, or a time such as 100ms, 10s or 5m",
	    what, text);
	return STATUS_USAGE;
}

static int parse_option(void *config, int c)
{
	struct config *cfg = config;
	const char *bad;
	int scope;

	switch (c) {
	case 'p':
		return parse_time("-p", optarg, &cfg->sampler.period_ns);
	case 'T':
		if (strcmp(optarg, "u") != 0 && strcmp(optarg, "d") != 0) {
			say("invalid -T '%s': expected u or d; an interval is an argument without -T",
			    optarg);
			return STATUS_USAGE;
		}
		cfg->common.output.style.stamp = *optarg;
		return STATUS_OK;
	case 'A':
		scope = cpu_scope_parse(row_word(optarg));
		if (scope == -1 && row_by_parse(row_word(optarg)) != -1)
			return usage_error("unsupported -A lwp and process: cpustat counts CPUs; "
					   "use cputrack, or -A command");
		if (scope == -1) {
			say("unknown -A '%s': expected cpu, core, socket, node, all, cgroup, service, "
			    "container, user or command",
			    optarg);
			return STATUS_USAGE;
		}
		if (scope_has_keys((enum cpu_scope)scope))
			cfg->common.output.keys = (enum cpu_scope)scope;
		else
			cfg->common.output.scope = (enum cpu_scope)scope;
		return STATUS_OK;
	case 'm':
		cfg->common.output.style.means = true;
		return STATUS_OK;
	case 's':
		cfg->sampler.soak = true;
		return STATUS_OK;
	case OPT_SHARED:
		cfg->sampler.shared = true;
		return STATUS_OK;
	case OPT_FOR:
		return parse_span("--for", optarg, &cfg->sampler.for_ns);
	case OPT_DELAY:
		return parse_span("--delay", optarg, &cfg->sampler.delay_ns);
	case OPT_DEPTH:
		cfg->sampler.depth = (unsigned)strtonum(optarg, 1, 1000, &bad);
		if (bad == NULL)
			return STATUS_OK;
		say("invalid --depth '%s': expected a number from 1 to 1000", optarg);
		return STATUS_USAGE;
	case OPT_KEYS:
		cfg->common.output.nkeys = (unsigned)strtonum(optarg, 1, 1000000, &bad);
		if (bad == NULL)
			return STATUS_OK;
		say("invalid --keys '%s': expected a number from 1 to 1000000", optarg);
		return STATUS_USAGE;
	case OPT_TOP:
		cfg->top = true;
		return STATUS_OK;
	case OPT_CPUS:
		cfg->common.output.cpus = optarg;
		if (aggregate_is_cpu_list(optarg))
			return STATUS_OK;
		say("invalid --cpus '%s': expected CPUs, such as 0,2-5", optarg);
		return STATUS_USAGE;
	default:
		return STATUS_USAGE;
	}
}

static int parse_operands(void *config, int n, char **arg)
{
	struct config *cfg = config;
	const char *bad;

	if (n > 0 && strchr("0123456789.+-", *arg[0]) == NULL) {
		say("invalid interval '%s': cpustat counts CPUs; cputrack counts commands", arg[0]);
		return STATUS_USAGE;
	}
	for (int i = 0; i < n; i++) {
		if (arg[i][0] == '-' && strchr("0123456789.", arg[i][1]) == NULL) {
			say("invalid argument '%s': options come before the interval", arg[i]);
			return STATUS_USAGE;
		}
	}
	if (n > 2)
		return usage_error("too many arguments: expected an interval and a count");
	if (n > 0 && parse_time("interval", arg[0], &cfg->sampler.interval_ns) != STATUS_OK)
		return STATUS_USAGE;
	if (n > 1) {
		cfg->sampler.count = (unsigned)strtonum(arg[1], 1, UINT_MAX, &bad);
		if (bad != NULL) {
			say("invalid count '%s': expected a number from 1 to %u", arg[1], UINT_MAX);
			return STATUS_USAGE;
		}
	}
	return STATUS_OK;
}

/* The scope whose keys a summary is by; SCOPE_CPU: none. */
static enum cpu_scope keys_of(enum row_by by)
{
	if (by == BY_COMMAND)
		return SCOPE_COMMAND;
	return row_by_has_keys(by) ? row_by_scope(by) : SCOPE_CPU;
}

/* --by of a key means -A of that key, too. */
static int check_keys(struct config *cfg)
{
	struct output_config *output = &cfg->common.output;
	enum cpu_scope keys = keys_of(output->by);

	if (output->by == BY_LWP || output->by == BY_PROCESS)
		return usage_error("unsupported --by lwp and process: cpustat counts CPUs; "
				   "use cputrack, or --by=command");
	if (output->by == BY_CPU && output->keys != SCOPE_CPU)
		return usage_error("unsupported: --by=cpu with keys of -A");
	if (keys != SCOPE_CPU && output->keys != SCOPE_CPU && keys != output->keys)
		return usage_error("invalid -A and --by: they are different");
	if (keys != SCOPE_CPU) {
		output->keys = keys;
		output->by = BY_CPU;
	}
	if (output->keys == SCOPE_CPU && output->nkeys > 0 && cfg->common.replay == NULL)
		return usage_error(
			"missing -A service or the like: --keys limits the rows of keys");
	if (output->keys == SCOPE_CPU)
		return cfg->sampler.depth == 0
			       ? STATUS_OK
			       : usage_error("missing -A cgroup: --depth cuts its paths");
	if (cfg->sampler.depth > 0 && output->keys != SCOPE_CGROUP)
		return usage_error("unsupported --depth: only -A cgroup has paths");
	if (output->scope != SCOPE_CPU || output->style.means)
		return usage_error(
			"unsupported -m or a second -A: keys divide the sum of all CPUs");
	if (output->cpus != NULL)
		return usage_error("unsupported --cpus: keys divide the sum of all CPUs");
	if (cfg->sampler.soak)
		return usage_error("unsupported -s: soakers would be charged to cpustat itself");
	return STATUS_OK;
}

/* -p is a time; users of cputrack take it for a process. */
static void note_process(const struct config *cfg)
{
	const int64_t s = cfg->sampler.period_ns / NSEC;

	if (cfg->common.nspecs < 2 && s > 100 && s * NSEC == cfg->sampler.period_ns &&
	    kill((pid_t)s, 0) == 0)
		say("-p %lld is a time in seconds, for several -c; cputrack -p %lld counts that "
		    "process",
		    (long long)s, (long long)s);
}

static int check_output(void *config)
{
	struct config *cfg = config;
	int status = check_keys(cfg);

	if (status != STATUS_OK)
		return status;
	note_process(cfg);
	if (cfg->common.output.style.means && cfg->common.output.scope == SCOPE_CPU)
		return usage_error("missing -A: -m prints means of its groups of CPUs");
	if (cfg->common.output.cpus != NULL && cfg->common.replay == NULL)
		return usage_error("missing -I: --cpus selects CPUs of a record; "
				   "use taskset(1) to count only some CPUs");
	if (cfg->top && (cfg->common.output.path != NULL || cfg->common.output.format != NULL))
		return usage_error("unsupported with --top: -o and --format");
	if (cfg->top)
		cfg->common.output.by = BY_NOTHING; /* a key of --by is one of -A, too */
	return STATUS_OK;
}

static int close_output(struct output *output, const struct sampler_end *end)
{
	int error = output_close(output, !end->lost);

	if (end->wrong_spec)
		return STATUS_USAGE;
	return error != 0 || end->failed ? STATUS_FAILED : STATUS_OK;
}

static cpc_t *claimant; /* the handle with sets that are bound to CPUs; or NULL */

/* die() exits at once, also without memory: release the claims. */
static void unclaim(void)
{
	if (claimant != NULL)
		cpc_close(claimant);
}

static int count(void *config, cpc_t *cpc)
{
	struct config *cfg = config;
	struct setgrp grp = {0};
	struct output *output = NULL;
	int status = cfg->top && !top_possible(NULL) ? STATUS_USAGE : STATUS_OK;
	struct cpus cpus = cpus_find(cpc, &grp); /* `grp` is empty: all allowed CPUs */
	const struct split_trial trial = {.counts = cpus_count, .arg = &cpus};

	if (status == STATUS_OK)
		status = program_sets(&cfg->common, cpc, &grp, &trial);
	free(cpus.id);

	for (size_t i = 0; status == STATUS_OK && i < grp.n; i++) {
		if (grp.set[i].symbols) {
			say("unsupported symbol in '%s': it belongs to one process; use cputrack, or "
			    "count all processes by uprobe/func=/PATH:FUNCTION/ or "
			    "sdt//PATH:PROVIDER:NAME/",
			    grp.set[i].text);
			status = STATUS_FAILED;
		}
	}
	if (status == STATUS_OK) {
		raise_file_limit();
		if (cfg->top)
			cfg->common.output.format = &top_format;
		output = output_open(&cfg->common.output);
		status = output != NULL ? STATUS_OK : STATUS_FAILED;
	}
	if (output != NULL) {
		cfg->sampler.argv = cfg->common.argv;
		cfg->sampler.scope = cfg->common.output.keys;
		cfg->sampler.debug = cfg->common.debug;
		claimant = cpc;
		atexit(unclaim);
		cfg->end = sampler_run(&cfg->sampler, cpc, &grp, output);
		claimant = NULL;
		status = close_output(output, &cfg->end);
		split_report_shares(&grp);
	}
	setgrp_free(&grp);
	return status;
}

static const struct program cpustat = {
	.name = "cpustat",
	.of_cpus = true,
	.opts = opts,
	.foreign = foreign,
	.print_usage = print_usage,
	.parse_option = parse_option,
	.check_output = check_output,
	.parse_operands = parse_operands,
	.count = count,
};

int main(int argc, char **argv)
{
	struct config cfg = {.sampler = {.interval_ns = 5 * NSEC}};
	int status;

	/*
	 * A program with file capabilities is not dumpable.  Other programs ignore claims of such a
	 * process: see cpc_bind_cpu(3).
	 */
	prctl(PR_SET_DUMPABLE, 1);
	status = program_main(&cpustat, &cfg.common, &cfg, argc, argv);
	if (cfg.end.signal != 0)
		die_of(cfg.end.signal);
	return status;
}
