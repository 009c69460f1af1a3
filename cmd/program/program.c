/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * program.c - the common part of cputrack and cpustat: options, start and end.
 */
#include "program.h"

#include "../base/say.h"
#include "../base/util.h"
#include "../rows/filters.h"
#include "../rows/outfile.h"
#include "../rows/replay.h"
#include "help.h"
#include "trial.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

int usage_error(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("%s; see %s -h", text, program_invocation_short_name);
	return STATUS_USAGE;
}

int parse_span(const char *what, const char *text, int64_t least_ns, int64_t *ns)
{
	if (parse_seconds(text, ns) && *ns >= least_ns)
		return STATUS_OK;
	say("invalid %s '%s': expected seconds from %.*f to 1000000, or a time such as 100ms, 10s or 5m",
	    what, text, least_ns < MSEC ? 6 : 3, (double)least_ns / NSEC);
	return STATUS_USAGE;
}

int parse_count(const char *what, const char *text, unsigned min, unsigned max, unsigned *count)
{
	const char *bad;

	*count = (unsigned)strtonum(text, min, max, &bad);
	if (bad == NULL)
		return STATUS_OK;
	say("invalid %s '%s': expected a number from %u to %u", what, text, min, max);
	return STATUS_USAGE;
}

static int parse_format(struct options *options, const char *name)
{
	options->output.format = format_find(name);
	if (options->output.format != NULL)
		return STATUS_OK;
	if (format_meant(name) != NULL)
		say("unknown --format '%s' (did you mean '%s'?)", name, format_meant(name));
	else
		say("unknown --format '%s': expected table, csv, json, openmetrics or trace", name);
	return STATUS_USAGE;
}

static int parse_human(struct options *options, const char *text)
{
	const bool yes = text == NULL || strcmp(text, "yes") == 0;

	options->output.human = yes ? HUMAN_YES : HUMAN_NO;
	if (yes || strcmp(text, "no") == 0)
		return STATUS_OK;
	say("unknown --human '%s': expected yes or no", text);
	return STATUS_USAGE;
}

/* Do we use this label ourselves? */
static bool is_own_label(const char *name)
{
	static const char *const own[] = {"event",  "ratio",	      "set", "kind", "container_id",
					  "pod_id", "outer_container"};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		if (strcmp(name, own[i]) == 0)
			return true;
	}
	return scope_parse(name) != SCOPE_NONE;
}

/* Names: https://prometheus.io/docs/concepts/data_model. */
static int parse_label(struct options *options, const char *text)
{
	struct style *style = &options->output.style;
	const char *value = strchr(text, '=');
	char *name = value != NULL ? xasprintf("%.*s", (int)(value - text), text) : xstrdup("");
	bool taken = is_own_label(name);

	for (size_t i = 0; i < style->nlabels; i++)
		taken |= strcmp(options->label[i].name, name) == 0;
	options->label[style->nlabels++] = (struct label){name, value != NULL ? value + 1 : ""};
	if (!is_identifier(name) || strncmp(name, "__", 2) == 0)
		say("invalid --label '%s': expected NAME=VALUE, with a name of letters, digits and "
		    "_ that does not begin with __",
		    text);
	else if (taken)
		say("invalid --label '%s': the samples have a label '%s' already", text, name);
	else
		return STATUS_OK;
	return STATUS_USAGE;
}

static int parse_by(struct options *options, bool of_cpus, const char *name)
{
	enum scope by = scope_parse(row_word(name));
	bool is_group = by >= SCOPE_CORE && by <= SCOPE_ALL;

	if (is_group && of_cpus)
		say("unsupported --by '%s': --by=cpu -A %s has a row for each", name,
		    scope_name(by));
	else if (is_group || by == SCOPE_NONE)
		say("unknown --by '%s': expected %s", name,
		    of_cpus ? "cpu, cgroup, service, container, user or command"
			    : "lwp, process, command, cgroup, service, container or user");
	options->output.by = by;
	return is_group || by == SCOPE_NONE ? STATUS_USAGE : STATUS_OK;
}

/* Returns -1 if `c` is not a common option. */
static int parse_common_option(struct options *options, bool of_cpus, int c)
{
	struct output_config *output = &options->output;

	switch (c) {
	case 'c':
		options->spec[options->nspecs++] = optarg;
		/* The parser knows no more than the list; a shell has split it at a blank. */
		if (strlen(optarg) < 2 || optarg[strlen(optarg) - 1] != ',')
			return STATUS_OK;
		say("invalid event spec '%s': missing event after the last comma; write the list without "
		    "blanks",
		    optarg);
		return STATUS_USAGE;
	case 'o':
		output->path = strcmp(optarg, "-") != 0 ? optarg : NULL;
		return STATUS_OK;
	case 'O':
		if (strcmp(optarg, "-") == 0)
			return usage_error("unsupported -O -: --format=json prints a record");
		output->record = optarg;
		return STATUS_OK;
	case 'I':
		options->output.replay = optarg;
		return STATUS_OK;
	case OPT_FORMAT:
		return parse_format(options, optarg);
	case OPT_HUMAN:
		return parse_human(options, optarg);
	case OPT_LABEL:
		return parse_label(options, optarg);
	case OPT_BY:
		return parse_by(options, of_cpus, optarg);
	default:
		return -1;
	}
}

/* Checks the combination of the options of output. */
static int check_output(const struct program *prog, const struct options *options, void *config)
{
	const struct output_config *output = &options->output;
	char word[OPT_WORD_SIZE];
	int status;

	if (options->output.replay != NULL && options->to_count != NULL) {
		say("unsupported with -I, which counts nothing: %s",
		    opts_word(options->to_count, word));
		return STATUS_USAGE;
	}
	if (outfile_same(output->path, output->record))
		return usage_error("invalid -o and -O: both are the same file");
	if (outfile_same(output->path, options->output.replay))
		return usage_error("invalid -o: it is the record that -I reads");
	if (output->append && output->path == NULL && output->record == NULL)
		return usage_error("missing -o or -O: --append appends to their files");
	if (output->append && output->format != NULL && output->format->whole)
		return usage_error("unsupported --append: the format is a whole document");
	if (output->by != SCOPE_NONE && output->format != NULL && output->format->whole)
		return usage_error("unsupported --by: the format is not table, csv or json");
	if (options->for_tables != NULL && output->format != NULL &&
	    output->format != format_find("table"))
		return usage_error("unsupported %s: the format is not table",
				   opts_word(options->for_tables, word));
	status = prog->check_output(config);
	if (status == STATUS_OK && output->style.nlabels > 0 &&
	    output->format != format_find("openmetrics"))
		return usage_error("missing --format=openmetrics: --label is for its samples");
	return status;
}

/* In other programs, -I sets the interval: refuse a number unless it names a file. */
static int check_replay(const struct program *prog, const char *path)
{
	if (path == NULL || path[strspn(path, "0123456789.")] != '\0' || access(path, F_OK) == 0)
		return STATUS_OK;
	say("cannot read '%s': -I shows a record; %s", path,
	    prog->of_cpus ? "the interval is an argument, in seconds"
			  : "-T sets the interval, in seconds");
	return STATUS_USAGE;
}

/* Checks the arguments after -h or --check.  --version ignores them, as in GNU programs. */
static int check_rest(const struct options *options, int n)
{
	if (options->version)
		return STATUS_OK;
	if (options->help)
		return n > 1 ? usage_error("too many arguments: -h has one pattern") : STATUS_OK;
	return n > 0 ? usage_error("too many arguments: --check has none") : STATUS_OK;
}

/* Keeps the first option that is given for `use`. */
static void note_use(const struct opt **first, const struct opt *opt, enum opt_use use)
{
	if (*first == NULL && (opt->use & use) != 0)
		*first = opt;
}

static int parse(const struct program *prog, struct options *options, void *config, int argc,
		 char **argv)
{
	const struct opt *opt;
	int status = STATUS_OK;

	options->argv = argv;
	options->spec = xcalloc((size_t)argc, sizeof(*options->spec));
	options->label = xcalloc((size_t)argc, sizeof(*options->label));
	options->output.style.label = options->label;
	while (status == STATUS_OK &&
	       (opt = opts_next(argc, argv, prog->opts, prog->foreign, config)) != NULL) {
		note_use(&options->to_count, opt, TO_COUNT);
		note_use(&options->for_rows, opt, FOR_ROWS);
		note_use(&options->for_tables, opt, FOR_TABLES);
		if (opt->flag != 0)
			continue;
		status = parse_common_option(options, prog->of_cpus, opt->code);
		if (status == -1)
			status = prog->parse_option(config, opt->code);
	}
	if (status != STATUS_OK)
		return status;
	if (options->help || options->version || options->check)
		return check_rest(options, argc - optind);
	status = check_replay(prog, options->output.replay);
	if (status == STATUS_OK)
		status = check_output(prog, options, config);
	if (status != STATUS_OK)
		return status;
	if (options->output.replay != NULL)
		return optind < argc
			       ? usage_error(
					 "too many arguments: -I shows a record, without a command")
			       : STATUS_OK;
	return prog->parse_operands(config, argc - optind, argv + optind);
}

struct replayed {
	const struct options *options;
	struct output *output;
	bool shown; /* a run was shown */
	int error;  /* of the output */
};

/* Do the rows of LWPs have these owners?  Rows with owners of any kind also have users. */
static bool lwps_have_owners(const struct run *run, enum scope owners)
{
	return owners == SCOPE_NONE || owners == run->scope ||
	       (owners == SCOPE_USER && scope_is_owner(run->scope));
}

/* Returns why the run cannot be shown by these options; NULL: it can. */
static char *check_run(void *arg, const struct run *run)
{
	struct replayed *r = arg;
	const struct output_config *output = &r->options->output;
	const char *keys = scope_name(output->keys), *recorded = scope_name(run->scope);
	const char *obstacle = output->stats ? stats_obstacle(run, output->pair) : NULL;

	if (r->shown && output->format != NULL && output->format->whole)
		return xasprintf("unsupported second run: --format %s is a document of one run",
				 output->format->name);
	r->shown = true;
	if (!run->of_cpus && !lwps_have_owners(run, output->keys))
		return xasprintf("unsupported --by %s: the record lacks them; make one with -O and "
				 "--by=%s",
				 keys, keys);
	if (obstacle != NULL)
		return xstrdup(obstacle);
	if (run->of_cpus && output->keys != SCOPE_CPU && output->keys != run->scope)
		return xasprintf("unsupported -A or --by %s: the rows are by %s", keys, recorded);
	if (output->by == SCOPE_CPU && output->keys == SCOPE_CPU && scope_has_keys(run->scope))
		return xasprintf("unsupported --by cpu: the rows are by %s", recorded);
	if (output->nkeys > 0 && !scope_has_keys(run->scope))
		return xasprintf("unsupported --keys: the rows are by %s", recorded);
	if (run->of_cpus && run->scope != SCOPE_CPU &&
	    (output->scope != SCOPE_CPU || output->cpus != NULL))
		return xasprintf("cannot split the rows into CPUs: the record was made with -A %s",
				 recorded);
	if (output->scope == SCOPE_KIND && run->ncpus > 0 && run->cpu[0].pmu == NULL)
		return xstrdup("unsupported -A kind: the record has no kinds of cores");
	if (output->cpus != NULL && !aggregate_finds(run, output->cpus))
		return xstrdup("invalid --cpus: the record has none of these CPUs");
	return NULL;
}

static bool flush_replayed(void *arg)
{
	struct replayed *r = arg;

	r->error = output_flush(r->output);
	if (r->error != 0)
		output_report(r->output, r->error);
	return r->error == 0;
}

static int show_record(const struct program *prog, const struct options *options)
{
	struct replayed r = {.options = options, .output = output_open(&options->output)};
	const struct replay_config config = {
		.path = options->output.replay,
		.tool = prog->name,
		.check = check_run,
		.flush = flush_replayed,
		.arg = &r,
	};
	int closing, status;
	bool whole;

	if (r.output == NULL)
		return STATUS_FAILED;
	whole = replay(&config, output_sink(r.output));
	closing = output_close(r.output, r.error == 0);
	status = whole && r.error == 0 && closing == 0 ? STATUS_OK : STATUS_FAILED;
	return options->output.limit != NULL ? limit_status(options->output.limit, status) : status;
}

#define SLOW_CLOSING 40 /* the kernel needs more than a second to close so many counters */

/* Explains a slow exit, which cannot be interrupted while the kernel closes counters. */
static void leave_closing(void)
{
	unsigned n = cpc_leave_closing();

	if (n >= SLOW_CLOSING && isatty(STDERR_FILENO))
		say("waiting until the kernel has closed %u counters of tracepoints and functions",
		    n);
}

void program_choose(const struct program *prog, struct options *options, void *config, cpc_t *cpc)
{
	trial_choose(cpc, prog->of_cpus, prog->default_times(config), options->chosen,
		     sizeof(options->chosen));
	options->spec[0] = options->chosen;
	options->nspecs = 1;
	options->by_default = true;
}

/* Without -c, chooses events, and shows their names. */
static int count(const struct program *prog, struct options *options, void *config, cpc_t *cpc)
{
	if (options->nspecs == 0) {
		program_choose(prog, options, config, cpc);
		options->output.style.names = true;
	}
	return prog->count(config, cpc);
}

/* Prints what --version, -h or --check asks for. */
static int inform(const struct program *prog, const struct options *options, cpc_t *cpc,
		  const char *pattern)
{
	int status = options->version || options->help
			     ? help_print(cpc, prog, options->version, pattern)
			     : check_print(cpc);

	if (fflush(stdout) != 0)
		die("cannot write the standard output: %s", strerror(errno));
	return status;
}

static cpc_t *open_counters(void)
{
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);
	const char *why;

	if (cpc == NULL) {
		why = strerror(errno);
		if (errno == ENOSYS)
			why = access("/proc/self", F_OK) == 0 ? "this kernel has no perf events"
							      : "/proc is not mounted";
		die("cannot use CPU performance counters: %s", why);
	}
	return cpc;
}

int program_main(const struct program *prog, struct options *options, void *config, int argc,
		 char **argv)
{
	bool informs;
	int status;
	cpc_t *cpc;

	guard_streams();
	status = parse(prog, options, config, argc, argv);
	informs = options->version || options->help || options->check;
	if (status == STATUS_OK && options->output.replay != NULL && !informs) {
		status = show_record(prog, options);
	} else if (status == STATUS_OK) {
		cpc = open_counters();
		cpcerr_install(cpc, options->debug);
		cpc_sched_events(prog->sched_events(config));
		status = informs ? inform(prog, options, cpc, argv[optind])
				 : count(prog, options, config, cpc);
		cpc_close(cpc);
		leave_closing();
	}
	free(options->spec);
	for (size_t i = 0; i < options->output.style.nlabels; i++)
		free(options->label[i].name);
	free(options->label);
	return status;
}

int program_sets(struct options *options, cpc_t *cpc, struct setgrp *grp,
		 const struct split_trial *trial)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < options->nspecs; i++)
		status = split_add(grp, cpc, options->spec[i], options->debug,
				   options->split ? trial : NULL);
	/* Show how long each part of a spec counted. */
	options->output.style.cycles |= grp->split;
	return status;
}

/* ^C reaches the foreground only. */
void say_endless(bool has_end)
{
	if (isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp())
		say("counting until ^C%s", has_end ? ", or until the processes have ended" : "");
}

void end_interrupted_line(int sig)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
	struct termios mode;

	if (sig != SIGINT || tcgetattr(STDOUT_FILENO, &mode) == -1 || (mode.c_lflag & ECHO) == 0 ||
	    tcgetpgrp(STDOUT_FILENO) != getpgrp() || poll(&out, 1, 0) != 1)
		return;
	putchar('\n');
	fflush(stdout);
}

void say_delayed(int64_t delay_ns)
{
	say("counting ended before the --delay of %g s was over: nothing was counted",
	    (double)delay_ns / NSEC);
}

/* This program or its parent can have blocked the signal. */
void die_of(int sig)
{
	sigset_t set;

	leave_closing();
	say_finish(); /* exit(3) is not called */
	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	exit(128 + sig); /* a seccomp profile denies that, too */
}
