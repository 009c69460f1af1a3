/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * program.c - the common part of cputrack and cpustat: options, start and end.
 */
#include "program.h"

#include "../base/say.h"
#include "../base/util.h"
#include "../rows/outfile.h"
#include "../rows/replay.h"
#include "../rows/stats.h"
#include "check.h"
#include "defaults.h"
#include "help.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int usage_error(const char *message)
{
	say("%s; see %s -h", message, program_invocation_short_name);
	return STATUS_USAGE;
}

int parse_span(const char *opt, const char *text, int64_t *ns)
{
	if (parse_seconds(text, ns) && *ns >= 1000000)
		return STATUS_OK;
	say("invalid %s '%s': expected seconds from 0.001 to 1000000, or a time such as 100ms, 10s or 5m",
	    opt, text);
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
		say("unknown --format '%s': expected %s", name, format_names());
	return STATUS_USAGE;
}

static int parse_by(struct options *options, bool of_cpus, const char *name)
{
	int scope = cpu_scope_parse(row_word(name)), by = row_by_parse(row_word(name));

	if (by == -1 && of_cpus && scope != -1)
		say("unsupported --by '%s': --by=cpu -A %s has a row for each", name,
		    cpu_scope_name((enum cpu_scope)scope));
	else if (by == -1)
		say("unknown --by '%s': expected %s", name,
		    of_cpus ? "cpu, cgroup, service, container, user or command"
			    : "lwp, process, command, cgroup, service, container or user");
	if (by == -1)
		return STATUS_USAGE;
	options->output.by = (enum row_by)by;
	return STATUS_OK;
}

/* Returns -1 if `c` is not a common option. */
static int parse_common_option(struct options *options, bool of_cpus, int c)
{
	struct output_config *output = &options->output;

	switch (c) {
	case 'c':
		options->spec[options->nspecs++] = optarg;
		break;
	case 'n':
		output->style.no_header = true;
		break;
	case 't':
		output->style.cycles = true;
		break;
	case 'D':
		options->debug = true;
		break;
	case 'h':
		options->help = true;
		break;
	case 'V':
		options->version = true;
		break;
	case 'o':
		output->path = strcmp(optarg, "-") != 0 ? optarg : NULL;
		break;
	case 'O':
		if (strcmp(optarg, "-") == 0)
			return usage_error("unsupported -O -: --format=json prints a record");
		output->record = optarg;
		break;
	case 'I':
		options->replay = optarg;
		break;
	case OPT_APPEND:
		output->append = true;
		break;
	case OPT_NAMES:
		output->style.names = true;
		break;
	case OPT_FORMAT:
		return parse_format(options, optarg);
	case OPT_HUMAN:
		output->style.human = true;
		break;
	case OPT_SPLIT:
		options->split = true;
		break;
	case OPT_RATE:
		output->style.rate = true;
		break;
	case OPT_CHECK:
		options->check = true;
		break;
	case OPT_CHANGED:
		output->changed = true;
		break;
	case OPT_BY:
		return parse_by(options, of_cpus, optarg);
	default:
		return -1;
	}
	return STATUS_OK;
}

/* The option `c`, if it is only for counting; or NULL. */
static const struct opt *find_counting(const struct opt *opts, int c)
{
	while (opts->code != 0 && opts->code != c)
		opts++;
	return opts->use == TO_COUNT ? opts : NULL;
}

static int refuse_replay(const struct opt *opt)
{
	if (opt->code < 256)
		say("unsupported with -I, which counts nothing: -%c", opt->code);
	else
		say("unsupported with -I, which counts nothing: --%s", opt->name);
	return STATUS_USAGE;
}

/* Checks the combination of the options of output. */
static int check_output(const struct program *prog, const struct options *options, void *config,
			const struct opt *counting)
{
	const struct output_config *output = &options->output;

	if (options->replay != NULL && counting != NULL)
		return refuse_replay(counting);
	if (outfile_same(output->path, output->record))
		return usage_error("invalid -o and -O: both are the same file");
	if (outfile_same(output->path, options->replay))
		return usage_error("invalid -o: it is the record that -I reads");
	if (output->append && output->path == NULL && output->record == NULL)
		return usage_error("missing -o or -O: --append appends to their files");
	if (output->append && output->format != NULL && output->format->whole)
		return usage_error("unsupported --append: the format is a whole document");
	if (output->by != BY_NOTHING && output->format != NULL && output->format->whole)
		return usage_error("unsupported --by: the format is not table, csv or json");
	if (output->style.names && output->format != NULL && output->format != format_find("table"))
		return usage_error("unsupported --names: the format is not table");
	if (output->style.human && output->format != NULL && output->format != format_find("table"))
		return usage_error("unsupported --human: the format is not table");
	if (output->style.rate && output->format != NULL && output->format != format_find("table"))
		return usage_error("unsupported --rate: the format is not table");
	return prog->check_output != NULL ? prog->check_output(config) : STATUS_OK;
}

/* -I is the interval of other programs: a number is a record only if there is such a file. */
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

static int parse(const struct program *prog, struct options *options, void *config, int argc,
		 char **argv)
{
	int c, status = STATUS_OK;
	const struct opt *counting = NULL; /* the first option that is only for counting */

	options->argv = argv;
	options->spec = xcalloc((size_t)argc, sizeof(*options->spec));
	while (status == STATUS_OK &&
	       (c = opts_next(argc, argv, prog->opts, prog->foreign)) != -1) {
		if (counting == NULL)
			counting = find_counting(prog->opts, c);
		status = c == '?' ? STATUS_USAGE : parse_common_option(options, prog->of_cpus, c);
		if (status == -1)
			status = prog->parse_option(config, c);
	}
	if (status != STATUS_OK)
		return status;
	if (options->help || options->version || options->check)
		return check_rest(options, argc - optind);
	status = check_replay(prog, options->replay);
	if (status == STATUS_OK)
		status = check_output(prog, options, config, counting);
	if (status != STATUS_OK)
		return status;
	if (options->replay != NULL)
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

/* Do the rows of LWPs have these keys?  With any keys, they also have users. */
static bool lwps_have(const struct run *run, enum cpu_scope keys)
{
	return keys == SCOPE_CPU || keys == run->scope ||
	       (keys == SCOPE_USER && scope_has_keys(run->scope));
}

/* Sums of CPUs cannot be split again, and some formats are documents of a single run. */
static bool can_show(void *arg, const char *where, const struct run *run)
{
	struct replayed *r = arg;
	const struct options *options = r->options;
	const struct format *format = options->output.format;

	if (r->shown && format != NULL && format->whole) {
		say("%s:%s: unsupported second run: --format %s is a document of one run",
		    options->replay, where, format->name);
		return false;
	}
	r->shown = true;
	if (!run->of_cpus && !lwps_have(run, options->output.keys)) {
		say("%s:%s: unsupported --by %s: the record lacks them; make one with -O and "
		    "--by=%s",
		    options->replay, where, cpu_scope_name(options->output.keys),
		    cpu_scope_name(options->output.keys));
		return false;
	}
	if (options->output.stats &&
	    !stats_check(options->replay, where, run, options->output.pair))
		return false;
	if (run->of_cpus && options->output.keys != SCOPE_CPU &&
	    options->output.keys != run->scope) {
		say("%s:%s: unsupported -A or --by %s: the rows are by %s", options->replay, where,
		    cpu_scope_name(options->output.keys), cpu_scope_name(run->scope));
		return false;
	}
	if (options->output.nkeys > 0 && !scope_has_keys(run->scope)) {
		say("%s:%s: unsupported --keys: the rows are by %s", options->replay, where,
		    cpu_scope_name(run->scope));
		return false;
	}
	if (!run->of_cpus || run->scope == SCOPE_CPU ||
	    (options->output.scope == SCOPE_CPU && options->output.cpus == NULL))
		return true;
	say("%s:%s: cannot split the rows into CPUs: the record was made with -A %s",
	    options->replay, where, cpu_scope_name(run->scope));
	return false;
}

static int flush_replayed(void *arg)
{
	struct replayed *r = arg;

	r->error = output_flush(r->output);
	if (r->error != 0)
		output_report(r->output, r->error);
	return r->error;
}

static int show_record(const struct program *prog, const struct options *options)
{
	struct replayed r = {.options = options, .output = output_open(&options->output)};
	const struct replay_config config = {
		.path = options->replay,
		.tool = prog->name,
		.check = can_show,
		.flush = flush_replayed,
		.arg = &r,
	};
	int closing, status;
	bool whole;

	if (r.output == NULL)
		return STATUS_FAILED;
	whole = replay(&config, output_sink(r.output));
	closing = output_close(r.output, r.error == 0);
	if (r.error == 0)
		r.error = closing;
	status = whole && r.error == 0 ? STATUS_OK : STATUS_FAILED;
	return options->output.limit != NULL ? limit_status(options->output.limit, status) : status;
}

#define WAIT_NOTED 40 /* so many take the kernel more than a second */

/* The exit cannot be interrupted while the kernel closes counters. */
static void leave_closing(void)
{
	unsigned n = cpc_leave_closing();

	if (n >= WAIT_NOTED && isatty(STDERR_FILENO))
		say("waiting until the kernel has closed %u counters of tracepoints and functions",
		    n);
}

/* Without -c, chooses events, and shows their names. */
static int count(const struct program *prog, struct options *options, void *config, cpc_t *cpc)
{
	char spec[DEFAULTS_SIZE];

	if (options->nspecs == 0) {
		defaults_find(cpc, prog->of_cpus, spec, sizeof(spec));
		options->spec[options->nspecs++] = spec;
		options->by_default = true;
		options->output.style.names = true;
	}
	return prog->count(config, cpc);
}

int program_main(const struct program *prog, struct options *options, void *config, int argc,
		 char **argv)
{
	int status;
	cpc_t *cpc;

	guard_streams();
	status = parse(prog, options, config, argc, argv);
	if (status == STATUS_OK && options->replay != NULL && !options->help && !options->version &&
	    !options->check) {
		status = show_record(prog, options);
	} else if (status == STATUS_OK) {
		cpc = xcpc_open();
		cpcerr_install(cpc, options->debug);
		if (options->version || options->help) {
			const struct about about = {
				.program = prog->name,
				.has = prog->has,
				.of_cpus = prog->of_cpus,
				.version = options->version,
				.pattern = optind < argc ? argv[optind] : NULL,
			};

			status = help_print(cpc, &about, prog->print_usage);
		} else if (options->check) {
			status = check_print(cpc);
		} else {
			status = count(prog, options, config, cpc);
		}
		cpc_close(cpc);
		leave_closing();
	}
	free(options->spec);
	return status;
}

int program_sets(struct options *options, cpc_t *cpc, struct setgrp *grp,
		 const struct split_trial *trial)
{
	int status = STATUS_OK;

	for (size_t i = 0; status == STATUS_OK && i < options->nspecs; i++) {
		const char *spec = options->spec[i];

		status = options->split ? split_add(grp, cpc, spec, options->debug, trial)
					: setgrp_add(grp, cpc, spec, options->debug);
	}
	/* Show how long each part of a spec counted. */
	options->output.style.cycles |= grp->split;
	return status;
}

/* This program or its parent can have blocked the signal. */
void die_of(int sig)
{
	sigset_t set;

	leave_closing();
	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
