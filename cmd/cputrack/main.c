/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cputrack - count CPU events of a process, its LWPs and its children.
 */
#include "../base/say.h"
#include "../base/util.h"
#include "../program/cgroups.h"
#include "mistakes.h"
#include "run.h"

#include <bsd/stdlib.h>
#include <getopt.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_TREE = OPT_OWN,
	OPT_ALL,
	OPT_CGROUP,
	OPT_USER,
	OPT_COMPARE,
	OPT_FAIL_ABOVE,
	OPT_ENGINE,
	OPT_MAX_LWPS
};

#define ONLY_ONE "only one of a command, -p, --all, --cgroup and --user"

static const struct opt opts[] = {
	COUNT_OPTS,
	{'e', "follow-exec", NULL, "go on after exec", TO_COUNT, OPT_SETS(engine.follow_exec)},
	{'f', "follow-fork", NULL, "follow children, too", TO_COUNT, OPT_SETS(engine.follow_fork)},
	{'T', "interval", "SECS", "seconds between samples (1); 0: none", TO_COUNT, 0},
	{'N', "count", "COUNT", "stop after COUNT samples; 0: never", TO_COUNT, 0},
	{'p', "pid", "PID", "track running processes, by ids or names", TO_COUNT, 0},
	{OPT_TREE, "tree", NULL, "with -p: all descendants, too; as -fe", TO_COUNT, 0},
	{OPT_ALL, "all", NULL, "track all processes of the machine", TO_COUNT, 0},
	{OPT_CGROUP, "cgroup", "CGROUP", "track a cgroup, and what enters it", TO_COUNT, 0},
	{OPT_USER, "user", "USER", "track the processes of a user", TO_COUNT, 0},
	{'r', "repeat", "RUNS", "run the command RUNS times: means, deviations", TO_COUNT, 0},
	{OPT_COMPARE, "compare", "[FILE]", "compare two commands, or with a record", ALWAYS, 0},
	{OPT_FAIL_ABOVE, "fail-above", "PERCENT", "status 3 if an event grew by more", ALWAYS, 0},
	{OPT_FLAG, "tid", NULL, "name LWPs by the kernel's thread ids", FOR_ROWS,
	 OPT_SETS(common.output.style.tids)},
	{OPT_FLAG, "comm", NULL, "name LWPs, and show how processes end", FOR_ROWS,
	 OPT_SETS(common.output.style.comm)},
	{OPT_FLAG, "total", NULL, "a last row with the total of all processes", FOR_ROWS,
	 OPT_SETS(common.output.total)},
	{'v', "verbose", NULL, "rows for init_lwp and fini_lwp, too", TO_COUNT,
	 OPT_SETS(track.verbose)},
	{OPT_FLAG, "start-disabled", NULL, "count only after cpc_enable(3)", TO_COUNT,
	 OPT_SETS(engine.start_off)},
	{OPT_ENGINE, "engine", "ENGINE", "kernel, ptrace, or auto: kernel if possible", TO_COUNT,
	 0},
	{OPT_MAX_LWPS, "max-lwps", "LWPS", "count up to LWPS LWPs at a time (30000)", TO_COUNT, 0},
	OUTPUT_OPTS,
	{0},
};

/* Options of perf stat, strace and top that cputrack does not have. */
static const struct foreign_opt foreign[] = {
	{"a", "--all tracks all processes"},
	{"u", "--user=USER tracks the processes of a user"},
	{"uid", "--user=USER tracks the processes of a user"},
	{"i", "-T SECS sets the interval"},
	{"F", "-f follows children"},
	{"A", "cpustat -A has sums of the whole machine, --by=WHAT a summary"},
	{"aggregate", "cpustat -A has sums of the whole machine, --by=WHAT a summary"},
	{"C", "cpustat counts CPUs"},
	{"cpu", "cpustat counts CPUs"},
	{"d", "-c adds events, and -D describes them"},
	{"g", "ovfprof -c counts by callers"},
	{"G", "--cgroup=CGROUP tracks the processes of a cgroup"},
	{"service", "--cgroup=CGROUP tracks the processes of a service or container"},
	{"container", "--cgroup=CGROUP tracks the processes of a service or container"},
	{"no-inherit", "children are followed only with -f"},
	{"per-core", "cpustat -A core has a row for each core"},
	{"per-socket", "cpustat -A socket has a row for each socket"},
	{"per-thread", "--by=lwp has a row for each thread"},
	{"threads", "--by=lwp has a row for each thread"},
	{"runs", "-r RUNS repeats the command"},
	{"prometheus", "--format=openmetrics does that"},
	FOREIGN_OPTS,
	{NULL, NULL},
};

static const char usage[] =
	"usage: cputrack [-c SPEC]... [-efntvD] [-N COUNT] [-o FILE]\n"
	"                [-T SECS] COMMAND [ARG]...\n"
	"       cputrack [-c SPEC]... -p PID [-p PID]... [-efntvD] [-N COUNT]\n"
	"                [-o FILE] [-T SECS]\n"
	"       cputrack --all | --cgroup=CGROUP | --user=USER [-c SPEC]...\n"
	"                [-ntvD] [-N COUNT] [-o FILE] [-T SECS]\n"
	"       cputrack -r RUNS [-c SPEC]... [--compare FILE] COMMAND [ARG]...\n"
	"       cputrack --compare [-r RUNS] [-c SPEC]... [--fail-above PERCENT]\n"
	"                -- COMMAND [ARG]... -- COMMAND [ARG]...\n"
	"       cputrack -I FILE [-nt] [-o FILE] [--format FORMAT]\n"
	"       cputrack -h [PATTERN]\n"
	"       cputrack --check\n\n";

static int parse_interval(const char *text, uint_t *ms)
{
	int64_t ns;

	if (!parse_seconds(text, &ns) || (ns > 0 && ns < 1000000) || ns / 1000000 > UINT_MAX) {
		say("invalid -T '%s': expected 0, seconds from 0.001 to 1000000, or a time such as 100ms, 10s or 5m",
		    text);
		return STATUS_USAGE;
	}
	*ms = (uint_t)((ns + 500000) / 1000000);
	return STATUS_OK;
}

static bool parse_user(const char *text, uint64_t *uid)
{
	const struct passwd *user = getpwnam(text);
	const char *bad = NULL;

	*uid = user != NULL ? user->pw_uid : (uint64_t)strtonum(text, 0, UINT_MAX - 1, &bad);
	if (bad != NULL)
		say("--user '%s': there is no such user", text);
	return bad == NULL;
}

/* Parses an option that chooses processes of the whole machine. */
static int choose(struct config *cfg, enum choice_kind kind, const char *name)
{
	struct choice *choice = &cfg->engine.choice;
	bool known = true;

	if (choice->kind != CHOICE_NONE)
		return usage_error(ONLY_ONE);
	cfg->engine.follow_exec = cfg->engine.follow_fork = true;
	choice->kind = kind;
	choice->name = name;
	if (kind == CHOICE_CGROUP)
		known = cgroups_find(optarg, &choice->id, &choice->root_id, &choice->depth);
	if (kind == CHOICE_USER)
		known = parse_user(optarg, &choice->id);
	return known ? STATUS_OK : STATUS_USAGE;
}

static int parse_option(void *config, int c)
{
	struct config *cfg = config;

	switch (c) {
	case 'T':
		cfg->interval_given = true;
		return parse_interval(optarg, &cfg->engine.interval_ms);
	case 'N':
		return parse_count("-N", optarg, 0, INT_MAX, &cfg->engine.count);
	case 'p':
		return pids_parse(&cfg->pids, optarg) ? STATUS_OK : STATUS_USAGE;
	case OPT_TREE:
		cfg->engine.descendants = true;
		cfg->engine.follow_exec = cfg->engine.follow_fork = true;
		return STATUS_OK;
	case OPT_ALL:
		return choose(cfg, CHOICE_ALL, "--all");
	case OPT_CGROUP:
		return choose(cfg, CHOICE_CGROUP, "--cgroup");
	case OPT_USER:
		return choose(cfg, CHOICE_USER, "--user");
	case 'r':
		cfg->common.output.stats = true;
		return parse_count("-r", optarg, 1, 1000000, &cfg->repeat);
	case OPT_COMPARE:
		cfg->common.output.compare = optarg;
		cfg->common.output.pair = optarg == NULL;
		cfg->common.output.stats = true;
		return STATUS_OK;
	case OPT_FAIL_ABOVE:
		return limit_parse(&cfg->limit, optarg) ? STATUS_OK : STATUS_USAGE;
	case OPT_ENGINE:
		if (engine_parse(optarg, &cfg->engine_choice))
			return STATUS_OK;
		return usage_error("--engine is auto, kernel or ptrace");
	case OPT_MAX_LWPS:
		return parse_count("--max-lwps", optarg, 1, 4000000, &cfg->engine.max_lwps);
	case OPT_FOR:
		return parse_span("--for", optarg, MSEC, &cfg->track.for_ns);
	case OPT_DELAY:
		return parse_span("--delay", optarg, MSEC, &cfg->track.delay_ns);
	default:
		return STATUS_USAGE;
	}
}

static int check_means(struct config *cfg)
{
	struct output_config *output = &cfg->common.output;
	bool compares = output->pair || output->compare != NULL;
	char word[OPT_WORD_SIZE];

	if (output->by != SCOPE_NONE)
		return usage_error("unsupported with -r and --compare: --by; -O keeps a record, "
				   "and -I shows it by process or command");
	if (output->format != NULL && output->format->means == NULL)
		return usage_error("unsupported with -r and --compare: this --format; "
				   "expected table, csv or json");
	if (output->stats && cfg->common.for_rows != NULL)
		return usage_error("-r and --compare print means, without %s",
				   opts_word(cfg->common.for_rows, word));
	if (output->stats && cfg->track.verbose && output->record == NULL)
		return usage_error("-r and --compare print means, without -v if there is no -O");
	if (cfg->limit.given && !compares)
		return usage_error("missing --compare: --fail-above limits how much an event "
				   "may grow");
	if (cfg->limit.given && cfg->common.output.replay == NULL && cfg->common.nspecs == 0)
		return usage_error("missing -c: --fail-above needs the events that may not grow");
	output->limit = &cfg->limit;
	if (output->pair && cfg->repeat == 0)
		cfg->repeat = 10;
	if (cfg->limit.given && cfg->common.output.replay == NULL && cfg->repeat < 2)
		return usage_error("missing -r: --fail-above needs 2 runs or more, "
				   "since one has no spread");
	return STATUS_OK;
}

/* --by is the first grouping of LWPs on the screen. */
static int check_top(struct config *cfg)
{
	struct output_config *output = &cfg->common.output;

	if (output->path != NULL || output->format != NULL || output->stats)
		return usage_error("unsupported with --top: -o, --format, -r and --compare");
	if (cfg->interval_given && cfg->engine.interval_ms == 0)
		return usage_error("unsupported with --top: -T 0, which takes no samples");
	output->style.group = output->by;
	output->by = SCOPE_NONE;
	if (output->keys == SCOPE_NONE || output->keys == SCOPE_USER)
		output->keys = SCOPE_SERVICE; /* users are always known, too */
	cfg->engine.follow_exec = cfg->engine.follow_fork = cfg->track.fini_rows = true;
	return STATUS_OK;
}

static int check_output(void *config)
{
	struct config *cfg = config;
	int status = STATUS_OK;

	if (cfg->common.output.by == SCOPE_CPU)
		return usage_error("unsupported --by=cpu: cpustat has it");
	if (scope_is_owner(cfg->common.output.by))
		cfg->common.output.keys = cfg->common.output.by;
	if (cfg->common.output.stats || cfg->limit.given)
		status = check_means(cfg);
	return status == STATUS_OK && cfg->common.top ? check_top(cfg) : status;
}

/* A summary counts the whole tree, and needs samples only for specs that take turns. */
static void choose_for_summary(struct config *cfg)
{
	enum scope by = cfg->common.output.by;
	bool whole = by != SCOPE_NONE || cfg->common.output.stats;

	if (whole) {
		cfg->engine.follow_exec = cfg->engine.follow_fork = true;
		cfg->track.fini_rows = by == SCOPE_LWP || by == SCOPE_PROCESS;
	}
	if (by != SCOPE_NONE && cfg->interval_given && cfg->engine.interval_ms > 0)
		cfg->common.output.intervals = cfg->track.fini_rows = true;
	if (cfg->interval_given)
		return;
	whole = whole && cfg->common.nspecs < 2 && !cfg->common.split && cfg->engine.count == 0;
	cfg->engine.interval_ms = whole ? 0 : 1000;
}

/* Splits the operands into two commands. */
static int parse_pair(struct config *cfg, int n, char **arg)
{
	int at = n, nseparators = 0;

	if (cfg->pids.n != 0 || cfg->engine.choice.kind != CHOICE_NONE)
		return usage_error("unsupported with --compare without a record, which is for two "
				   "commands: -p, --all, --cgroup and --user");
	for (int i = 0; i < n; i++) {
		if (strcmp(arg[i], "--") != 0)
			continue;
		at = i;
		nseparators++;
	}
	if (nseparators == 0)
		return usage_error("missing the second command: --compare without a record is "
				   "for two, as in --compare -- ./old -- ./new");
	if (nseparators > 1)
		return usage_error(
			"invalid '--': --compare has two commands, with one '--' between "
			"them; put a command with a -- of its own into sh -c '...'");
	if (at == 0 || at + 1 == n)
		return usage_error(at == 0 ? "missing the first command, before the second --"
					   : "missing the second command, after the second --");
	/* The program's whole command line stays as it is. */
	cfg->command = xcalloc((size_t)at + 1, sizeof(*cfg->command));
	memcpy(cfg->command, arg, (size_t)at * sizeof(*arg));
	cfg->second = arg + at + 1;
	return STATUS_OK;
}

static int parse_operands(void *config, int n, char **arg)
{
	struct config *cfg = config;

	int status = cfg->common.output.pair ? parse_pair(cfg, n, arg) : STATUS_OK;

	if (status != STATUS_OK)
		return status;
	if (n > 0 && cfg->command == NULL)
		cfg->command = arg;
	choose_for_summary(cfg);
	/* As on Solaris, -c alone follows neither fork nor exec; Solaris has no default for -c. */
	if (cfg->command != NULL && cfg->common.nspecs == 0)
		cfg->engine.follow_exec = cfg->engine.follow_fork = true;
	cfg->engine.debug = cfg->common.debug;
	if (cfg->engine.count > 0 && cfg->engine.interval_ms == 0)
		say("-N has no effect: it counts samples, and -T 0 takes no samples");
	if (cfg->engine.choice.kind != CHOICE_NONE && (cfg->pids.n != 0 || cfg->engine.descendants))
		return usage_error(ONLY_ONE);
	if (cfg->engine.choice.kind != CHOICE_NONE && cfg->command != NULL)
		return mistakes_of_both(cfg->command, cfg->engine.choice.name, ONLY_ONE);
	if (cfg->repeat > 0 && cfg->engine.choice.kind != CHOICE_NONE)
		return usage_error("-r runs a command again; --all, --cgroup and --user cannot");
	if (cfg->common.output.compare != NULL &&
	    mistakes_of_record(cfg->common.output.compare) != STATUS_OK)
		return STATUS_USAGE;
	if (cfg->command == NULL && cfg->pids.n == 0 && cfg->engine.choice.kind == CHOICE_NONE)
		return usage_error(
			"nothing to track: expected a command, -p, --all, --cgroup or --user");
	if (cfg->repeat > 0 && cfg->pids.n != 0)
		return usage_error("-r runs a command again; -p cannot");
	if (cfg->engine.descendants && cfg->pids.n == 0)
		return usage_error("--tree is for -p; -f follows the children of a command");
	if (cfg->command != NULL && cfg->pids.n != 0)
		return mistakes_of_both(cfg->command, "-p",
					"either a command or -p, not both; --for=SECS stops "
					"counting, -T sets the interval");
	return STATUS_OK;
}

static const char *default_times(void *config)
{
	(void)config;
	return "task-clock";
}

static unsigned sched_events(void *config)
{
	(void)config;
	return CPC_SCHED_BIT(CPC_SCHED_RUN_DELAY) | CPC_SCHED_BIT(CPC_SCHED_PREEMPTIONS);
}

static const struct program cputrack = {
	.name = "cputrack",
	.has = engine_names,
	.opts = opts,
	.foreign = foreign,
	.default_times = default_times,
	.sched_events = sched_events,
	.usage = usage,
	.parse_option = parse_option,
	.check_output = check_output,
	.parse_operands = parse_operands,
	.count = run_count,
};

int main(int argc, char **argv)
{
	struct config cfg = {0};
	int status;

	status = program_main(&cputrack, &cfg.common, &cfg, argc, argv);
	if (cfg.second != NULL)
		free(cfg.command);
	free(cfg.pids.target);
	return status;
}
