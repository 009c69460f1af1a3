/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpustat - count CPU events per CPU.
 */
#include "../base/progress.h"
#include "../base/say.h"
#include "../base/util.h"
#include "../program/percpu.h"
#include "../program/program.h"
#include "../program/top/top.h"
#include "../rows/source.h"
#include "http.h"
#include "meters.h"

#include <bsd/stdlib.h>
#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { OPT_CPUS = OPT_OWN, OPT_DEPTH, OPT_KEYS, OPT_LISTEN };

struct config {
	struct options common;
	struct sampler_config sampler;
	unsigned depth;	  /* SCOPE_CGROUP: components of the paths; 0: all */
	char *address;	  /* serve the counts there; or NULL */
	const char *port; /* likewise */
	bool soak;
	bool shared; /* count without claims */
	bool again;  /* a former run counted by another unit */
	struct sampler_end end;
	struct scheduled *scheduled; /* or NULL */
};

static const struct opt opts[] = {
	COUNT_OPTS,
	{'p', "period", "SECS", "start a round of all specs every SECS seconds", TO_COUNT, 0},
	{'T', "timestamp", "u|d", "print the time before each sample", ALWAYS, 0},
	{'s', "soak", NULL, "keep CPUs busy while counting only kernel mode", TO_COUNT,
	 OPT_SETS(soak)},
	{'A', "aggregate", "UNIT", "a row per core, ..., or per service, ...", ALWAYS, 0},
	{'m', "mean", NULL, "with -A: means over the CPUs, not sums", ALWAYS,
	 OPT_SETS(common.output.style.means)},
	{OPT_FLAG, "shared", NULL, "count without a claim on CPUs", TO_COUNT, OPT_SETS(shared)},
	{OPT_CPUS, "cpus", "LIST", "count, or show, these CPUs, or all that are online", ALWAYS, 0},
	{OPT_DEPTH, "depth", "N", "with -A cgroup: N components of the paths", TO_COUNT, 0},
	{OPT_KEYS, "keys", "N", "the N largest services, ..., and (others)", ALWAYS, 0},
	{OPT_LISTEN, "listen", "ADDR:PORT", "serve the counts to Prometheus there", TO_COUNT, 0},
	OUTPUT_OPTS,
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
	{"C", "--cpus=0,2-5 counts these CPUs"},
	{"P", "--cpus=0,2-5 counts these CPUs"},
	{"u", "--by=user has a row for each user"},
	{"user", "--by=user has a row for each user"},
	{"uid", "--by=user has a row for each user"},
	{"cgroup", "--by=cgroup has a row for each cgroup"},
	{"service", "--by=service has a row for each service"},
	{"container", "--by=container has a row for each container"},
	{"tree", "cputrack has rows for processes"},
	{"d", "the interval is an argument, after the options; -c adds events"},
	{"r", "cputrack -r repeats a command"},
	{"v", "-D describes events"},
	{"per-core", "-A core has a row for each core"},
	{"per-socket", "-A socket has a row for each socket"},
	{"per-node", "-A node has a row for each node"},
	{"per-thread", "cputrack --by=lwp has a row for each thread"},
	{"f", "cputrack follows programs"},
	{"prometheus", "--listen=ADDRESS:PORT serves the counts to Prometheus"},
	FOREIGN_OPTS,
	{NULL, NULL},
};

static const char usage[] =
	"usage: cpustat [-c SPEC]... [-p PERIOD] [-T u|d] [-sntD]\n"
	"               [-A cpu|core|socket|node|kind|all [-m]] [--shared]\n"
	"               [-A cgroup|service|container|user|command [--keys=N]]\n"
	"               [--listen ADDRESS:PORT] [INTERVAL [COUNT]]\n"
	"       cpustat -I FILE [-nt] [-A UNIT [-m]] [-o FILE] [--format FORMAT]\n"
	"       cpustat -h [PATTERN]\n"
	"       cpustat --check\n\n";

/* ADDRESS:PORT, where an IPv6 address is in []. */
static int parse_listen(struct config *cfg, const char *where)
{
	const char *colon = strrchr(where, ':'), *begin = where, *end = colon, *bad = "";

	if (colon != NULL)
		strtonum(colon + 1, 0, 65535, &bad);
	if (bad == NULL && *begin == '[' && end[-1] == ']') {
		begin++;
		end--;
	} else if (bad == NULL && memchr(begin, ':', (size_t)(end - begin)) != NULL) {
		bad = "brackets are missing";
	}
	if (bad != NULL || begin >= end) {
		say("invalid --listen '%s': expected ADDRESS:PORT, such as 127.0.0.1:10047 or "
		    "[::]:10047",
		    where);
		return STATUS_USAGE;
	}
	free(cfg->address);
	cfg->address = xasprintf("%.*s", (int)(end - begin), begin);
	cfg->port = colon + 1;
	return STATUS_OK;
}

static int parse_option(void *config, int c)
{
	struct config *cfg = config;
	struct cpu_range *range;
	enum scope scope;
	size_t n;

	switch (c) {
	case 'p':
		return parse_span("-p", optarg, USEC, &cfg->sampler.period_ns);
	case 'T':
		if (strcmp(optarg, "u") != 0 && strcmp(optarg, "d") != 0) {
			say("invalid -T '%s': expected u or d; an interval is an argument without -T",
			    optarg);
			return STATUS_USAGE;
		}
		cfg->common.output.style.stamp = *optarg;
		return STATUS_OK;
	case 'A':
		scope = scope_parse(row_word(optarg));
		if (scope == SCOPE_LWP || scope == SCOPE_PROCESS)
			return usage_error("unsupported -A lwp and process: cpustat counts CPUs; "
					   "use cputrack --all --by=lwp, or -A command");
		if (scope == SCOPE_NONE) {
			say("unknown -A '%s': expected cpu, core, socket, node, kind, all, cgroup, service, "
			    "container, user or command",
			    optarg);
			return STATUS_USAGE;
		}
		if (scope_has_keys(scope))
			cfg->common.output.keys = scope;
		else
			cfg->common.output.scope = scope;
		return STATUS_OK;
	case OPT_FOR:
		return parse_span("--for", optarg, MSEC, &cfg->sampler.for_ns);
	case OPT_DELAY:
		return parse_span("--delay", optarg, MSEC, &cfg->sampler.delay_ns);
	case OPT_DEPTH:
		return parse_count("--depth", optarg, 1, 1000, &cfg->depth);
	case OPT_KEYS:
		return parse_count("--keys", optarg, 1, 1000000, &cfg->common.output.nkeys);
	case OPT_LISTEN:
		return parse_listen(cfg, optarg);
	case OPT_CPUS:
		cfg->common.output.cpus = optarg;
		if (strcmp(optarg, "all") == 0)
			return STATUS_OK;
		n = parse_cpu_list(optarg, &range);
		free(range);
		if (n > 0)
			return STATUS_OK;
		say("invalid --cpus '%s': expected all, or CPUs such as 0,2-5", optarg);
		return STATUS_USAGE;
	default:
		return STATUS_USAGE;
	}
}

static int parse_operands(void *config, int n, char **arg)
{
	struct config *cfg = config;

	if (n > 0 && strcmp(arg[0], "list") == 0)
		return usage_error("invalid interval 'list': -h lists the events");
	if (n > 0 && strchr("0123456789.+-", *arg[0]) == NULL) {
		say("invalid interval '%s': cpustat counts CPUs; cputrack counts commands", arg[0]);
		return STATUS_USAGE;
	}
	if (n > 1 && isalpha((unsigned char)*arg[1])) {
		say("invalid count '%s': -c selects events; cputrack counts commands", arg[1]);
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
	if (n > 0 && parse_span("interval", arg[0], USEC, &cfg->sampler.interval_ns) != STATUS_OK)
		return STATUS_USAGE;
	return n > 1 ? parse_count("count", arg[1], 1, UINT_MAX, &cfg->sampler.count) : STATUS_OK;
}

/* --by of a key means -A of that key, too. */
static int check_keys(struct config *cfg)
{
	struct output_config *output = &cfg->common.output;

	if (output->by == SCOPE_LWP || output->by == SCOPE_PROCESS)
		return usage_error("unsupported --by lwp and process: cpustat counts CPUs; "
				   "use cputrack --all --by=lwp, or --by=command");
	if (output->by == SCOPE_CPU && output->keys != SCOPE_CPU)
		return usage_error("unsupported: --by=cpu with keys of -A");
	if (scope_has_keys(output->by) && output->keys != SCOPE_CPU && output->by != output->keys)
		return usage_error("invalid -A and --by: they are different");
	if (scope_has_keys(output->by)) {
		output->keys = output->by;
		output->by = SCOPE_CPU;
	}
	if (output->keys == SCOPE_CPU && output->nkeys > 0 && cfg->common.output.replay == NULL)
		return usage_error(
			"missing -A service or the like: --keys limits the rows of keys");
	if (output->keys == SCOPE_CPU)
		return cfg->depth == 0 ? STATUS_OK
				       : usage_error("missing -A cgroup: --depth cuts its paths");
	if (cfg->depth > 0 && output->keys != SCOPE_CGROUP)
		return usage_error("unsupported --depth: only -A cgroup has paths");
	if (output->scope != SCOPE_CPU || output->style.means)
		return usage_error(
			"unsupported -m or a second -A: keys divide the sum of all CPUs");
	if (output->cpus != NULL && output->replay != NULL)
		return usage_error("unsupported --cpus: the rows of keys are of all counted CPUs");
	if (cfg->soak)
		return usage_error("unsupported -s: soakers would be charged to cpustat itself");
	return STATUS_OK;
}

/* Warns if -p, a time, seems to be a process, as in cputrack. */
static void warn_about_process(const struct config *cfg)
{
	const int64_t s = cfg->sampler.period_ns / NSEC;

	if (cfg->common.nspecs < 2 && s > 100 && s * NSEC == cfg->sampler.period_ns &&
	    kill((pid_t)s, 0) == 0)
		say("-p %lld is a time in seconds, for several -c; cputrack -p %lld counts that "
		    "process",
		    (long long)s, (long long)s);
}

static int check_listen(struct config *cfg)
{
	struct output_config *output = &cfg->common.output;
	const struct format *openmetrics = format_find("openmetrics");

	if (output->path != NULL || output->by != SCOPE_NONE || cfg->common.top ||
	    (output->format != NULL && output->format != openmetrics))
		return usage_error("unsupported with --listen, which serves OpenMetrics: -o, --by "
				   "(use -A), --top and other formats");
	output->format = openmetrics;
	return STATUS_OK;
}

static int check_output(void *config)
{
	struct config *cfg = config;
	int status = check_keys(cfg);

	if (status != STATUS_OK)
		return status;
	warn_about_process(cfg);
	if (cfg->address != NULL)
		status = check_listen(cfg);
	if (status != STATUS_OK)
		return status;
	if (cfg->common.output.style.means && cfg->common.output.scope == SCOPE_CPU)
		return usage_error("missing -A: -m prints means of its groups of CPUs");
	if (cfg->common.top &&
	    (cfg->common.output.path != NULL || cfg->common.output.format != NULL))
		return usage_error("unsupported with --top: -o and --format");
	if (cfg->common.top) {
		cfg->common.output.by = SCOPE_NONE; /* a key of --by is one of -A, too */
		cfg->common.output.style.group = cfg->common.output.scope;
		cfg->common.output.scope = SCOPE_CPU; /* the screen adds up cores, sockets, ... */
	}
	cfg->sampler.is_silent = cfg->common.output.by != SCOPE_NONE;
	return STATUS_OK;
}

static cpc_t *claimant; /* the handle with sets that are bound to CPUs; or NULL */

/* die() exits at once, also without memory: release the claims. */
static void unclaim(void)
{
	if (claimant != NULL)
		cpc_close(claimant);
}

/*
 * The times that are counted without -c.  Where BPF programs cannot count busy time, none:
 * task-clock is the interval on each CPU.
 */
static const char *default_times(void *config)
{
	struct config *cfg = config;
	char why[1024];

	if (scope_has_keys(cfg->common.output.keys))
		return keys_no_delay() == NULL ? "task-clock,run-delay" : "task-clock";
	if (cfg->scheduled == NULL)
		cfg->scheduled =
			scheduled_open(CPC_SCHED_BIT(CPC_SCHED_BUSY_TIME), why, sizeof(why));
	return cfg->scheduled != NULL ? "busy-time" : NULL;
}

static unsigned sched_events(void *config)
{
	const struct config *cfg = config;
	const enum scope scope = cfg->common.output.keys;

	/* -h PATTERN finds those of -A, too. */
	if (cfg->common.help && cfg->common.argv[optind] != NULL)
		return SCHEDULED_EVENTS | CGROUPS_EVENTS;
	if (!scope_has_keys(scope))
		return SCHEDULED_EVENTS;
	return scope == SCOPE_USER || scope == SCOPE_COMMAND ? KEYS_EVENTS : CGROUPS_EVENTS;
}

/* False after a message: a set has events of the scheduler, which cannot be counted here. */
static bool open_scheduled(struct config *cfg, cpc_t *cpc, const struct setgrp *grp)
{
	unsigned events = sched_events_of(grp, cpc, NULL);
	char why[1024] = "";

	if (cfg->scheduled != NULL && scheduled_events(cfg->scheduled) == events)
		return true;
	scheduled_close(cfg->scheduled);
	cfg->scheduled = NULL;
	if (events == 0)
		return true;
	cfg->scheduled = scheduled_open(events, why, sizeof(why));
	if (cfg->scheduled == NULL)
		say("cannot count events of the scheduler: %s", why);
	return cfg->scheduled != NULL;
}

/* Samples CPUs, or the keys of -A. */
static int sample(struct config *cfg, cpc_t *cpc, struct setgrp *grp, struct output *output)
{
	const enum scope scope = cfg->common.output.keys;
	struct cpus cpus = cpus_find(cpc, grp, cfg->common.output.cpus);
	struct meter *meter = NULL;
	struct run run;
	int status;

	cfg->end = (struct sampler_end){0};
	if (cpus.n > 0 && cpus.nomitted > 0 && !cfg->again)
		say("counting %zu of %zu online CPUs: the others are not in the affinity mask; "
		    "--cpus=all counts them",
		    cpus.n, cpus.n + cpus.nomitted);
	grp->times = grp->n > 1 || output_needs_cycles(output);
	progress_open(setgrp_events(grp), (unsigned)cpus.n);
	if (cpus.n > 0 && scope_has_keys(scope))
		meter = keys_make(cpc, grp, &cpus, scope, cfg->depth, cfg->common.debug);
	else if (cpus.n > 0 && open_scheduled(cfg, cpc, grp))
		meter = counters_make(cpc, grp, &cpus, cfg->scheduled, cfg->shared, cfg->soak);
	if (meter == NULL) {
		cpus_free(&cpus);
		return STATUS_FAILED;
	}
	run = source_run(cpc, grp, "cpustat", cfg->common.argv);
	run.of_cpus = true;
	run.scope = scope;
	run.ncpus = cpus.n;
	run.cpu = topology_find("/sys/devices/system/cpu", &cpus);
	run_find_kinds(&run); /* fewer than libcpc finds */
	status = sampler_run(&cfg->sampler, cpc, grp, meter, &run, output, &cfg->end);
	run_free(&run);
	cpus_free(&cpus);
	return status;
}

/* Makes the sets.  Returns the exit status. */
static int make_sets(struct config *cfg, cpc_t *cpc, struct setgrp *grp)
{
	/* `grp` is empty: all that can be counted. */
	struct cpus cpus = cpus_find(cpc, grp, cfg->common.output.cpus);
	const struct split_trial trial = {.counts = cpus_count, .arg = &cpus};
	int status = STATUS_FAILED;

	if (cpus.n > 0)
		status = program_sets(&cfg->common, cpc, grp, &trial);
	cpus_free(&cpus);
	return status;
}

static const struct program cpustat;

/* Counts by another unit from now on: CPUs, or keys.  The clock by default depends on it. */
static int change_unit(struct config *cfg, cpc_t *cpc, struct setgrp *grp, enum scope unit)
{
	cfg->common.output.keys = unit;
	cfg->again = true;
	cpc_sched_events(sched_events(cfg));
	if (scope_has_keys(unit)) {
		scheduled_close(cfg->scheduled);
		cfg->scheduled = NULL;
	}
	if (!cfg->common.by_default)
		return STATUS_OK;
	program_choose(&cpustat, &cfg->common, cfg, cpc);
	setgrp_free(grp);
	*grp = (struct setgrp){0};
	return make_sets(cfg, cpc, grp);
}

/*
 * Samples until the end.  The screen can ask for another unit; if that cannot be counted, as a
 * message says, the former one goes on.
 */
static int sample_units(struct config *cfg, cpc_t *cpc, struct setgrp *grp, struct output *output)
{
	enum scope former = SCOPE_NONE, unit;
	int status;

	for (;;) {
		status = sample(cfg, cpc, grp, output);
		unit = former;
		former = SCOPE_NONE;
		if (cfg->end.unit) {
			former = cfg->common.output.keys;
			unit = output_unit(output);
		} else if (cfg->end.started || cfg->end.signal != 0) {
			unit = SCOPE_NONE;
		}
		if (unit == SCOPE_NONE)
			break;
		status = change_unit(cfg, cpc, grp, unit);
		if (status != STATUS_OK)
			break;
	}
	return sampler_close(output, &cfg->end, status);
}

static int count(void *config, cpc_t *cpc)
{
	struct config *cfg = config;
	struct setgrp grp = {0};
	struct output *output = NULL;
	int status = cfg->common.top && !top_possible(NULL) ? STATUS_USAGE : STATUS_OK;

	if (status == STATUS_OK)
		status = make_sets(cfg, cpc, &grp);

	for (size_t i = 0; status == STATUS_OK && i < grp.n; i++) {
		if (grp.set[i].symbols) {
			say("unsupported symbol in '%s': it belongs to one process; use cputrack, or "
			    "count all processes by uprobe/func=/PATH:FUNCTION/ or "
			    "sdt//PATH:PROVIDER:NAME/",
			    grp.set[i].text);
			status = STATUS_FAILED;
		}
		percpu_warn_of_returns(cpc, grp.set[i].set, grp.set[i].text);
	}
	if (status == STATUS_OK) {
		raise_file_limit();
		if (cfg->common.top)
			cfg->common.output.format = &top_format;
		cfg->common.output.keeps = true;
		if (cfg->address != NULL)
			cfg->common.output.listener = http_open(cfg->address, cfg->port);
		if (cfg->address == NULL || cfg->common.output.listener != NULL)
			output = output_open(&cfg->common.output);
		status = output != NULL ? STATUS_OK : STATUS_FAILED;
	}
	if (output != NULL) {
		claimant = cpc;
		atexit(unclaim);
		status = sample_units(cfg, cpc, &grp, output);
		claimant = NULL;
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
	.usage = usage,
	.default_times = default_times,
	.sched_events = sched_events,
	.parse_option = parse_option,
	.check_output = check_output,
	.parse_operands = parse_operands,
	.count = count,
};

int main(int argc, char **argv)
{
	struct config cfg = {.common.output = {.scope = SCOPE_CPU, .keys = SCOPE_CPU},
			     .sampler = {.interval_ns = 5 * NSEC}};
	int status;

	/*
	 * A program with file capabilities is not dumpable.  Other programs ignore claims of such a
	 * process: see cpc_bind_cpu(3).
	 */
	prctl(PR_SET_DUMPABLE, 1);
	status = program_main(&cpustat, &cfg.common, &cfg, argc, argv);
	scheduled_close(cfg.scheduled);
	free(cfg.address);
	if (cfg.end.signal != 0)
		die_of(cfg.end.signal);
	return status;
}
