/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * run.c - a run of cputrack, from the sets of events to the exit status.
 */
#include "run.h"

#include "../base/backlog.h"
#include "../base/progress.h"
#include "../base/say.h"
#include "../base/util.h"
#include "../program/top/top.h"
#include "../rows/source.h"
#include "mistakes.h"
#include "opened.h"
#include "outcome.h"
#include "signals.h"
#include "track/owners.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_MS 500 /* waits for the command of this length need no message */

struct session {
	struct config *cfg;
	cpc_t *cpc;
	struct setgrp grp;
	struct engine *engine;
	struct track track;
	struct command command;
	enum run_side side; /* which of two commands runs now */
	bool warm_up;	    /* the counts of this run are left out */
	struct outcome outcome;
	int64_t begin_ns; /* of the first run */
};

static bool can_count(void *arg, cpc_t *cpc, cpc_set_t *set, bool alone)
{
	(void)arg, (void)alone;
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LATE) == -1)
		return false;
	cpc_unbind(cpc, set);
	return true;
}

static const struct split_trial trial = {.counts = can_count};

/* Binds each set once, so that events that cannot be counted are refused before the start. */
static int try_sets(const struct setgrp *grp, cpc_t *cpc)
{
	for (size_t i = 0; i < grp->n; i++) {
		if (!can_count(NULL, cpc, grp->set[i].set, false))
			return split_refuse(cpc, &grp->set[i], &trial);
	}
	return STATUS_OK;
}

/* The parts of a split spec take turns at samples. */
static int check_turns(const struct config *cfg, const struct setgrp *grp)
{
	if (!grp->split || cfg->engine.interval_ms > 0)
		return STATUS_OK;
	return usage_error("unsupported -T 0: specs take turns at samples, which it omits");
}

static char **words_of(const struct config *cfg, enum run_side side)
{
	return side == SIDE_NEW ? cfg->second : cfg->command;
}

/* Starts the command, or attaches. */
static bool start_tracking(struct session *s)
{
	const struct engine_ops *ops = s->engine->ops;

	if (s->cfg->command == NULL) {
		if (ops->attach(s->engine) == 0)
			return true;
		errno = 0;
	} else if (ops->start(s->engine, words_of(s->cfg, s->side), &s->command) == 0) {
		return true;
	}
	outcome_refused(&s->outcome, errno, signals_got());
	return false;
}

/* Waits for the end of the command, if there is one. */
static void wait_for_end(struct session *s, struct run *run, bool has_failed)
{
	int wstatus;

	if (s->cfg->command == NULL)
		return;
	if (s->cfg->repeat == 0 && isatty(STDERR_FILENO) && !signals_command_ends(WAIT_MS))
		say("counting has ended; waiting for '%s' (pid %d)", words_of(s->cfg, s->side)[0],
		    (int)s->command.pid);
	if (s->engine->ops->wait(s->engine, &wstatus) == -1) {
		if (!has_failed) /* else a message gave the reason */
			say("cannot wait for the end of the command: %s", strerror(errno));
		s->engine->lost = true;
		return;
	}
	if (WIFSIGNALED(wstatus))
		signals_ended_command();
	outcome_ended(&s->outcome, s->side, wstatus);
	run->ended = true;
	run->status = wstatus;
}

/* Attached, will nothing be printed before the end, which no option sets? */
static bool is_silent(const struct config *cfg)
{
	const struct output_config *output = &cfg->common.output;
	bool ends = cfg->track.for_ns != 0 || cfg->engine.count != 0;
	bool samples =
		cfg->engine.interval_ms != 0 && (output->by == SCOPE_NONE || output->intervals);

	return cfg->command == NULL && !ends && !samples;
}

/* Tracks a run to its end. */
static void track_once(struct session *s, struct run *run)
{
	const struct config *cfg = s->cfg;
	struct engine *engine = s->engine;
	struct outcome *outcome = &s->outcome;
	bool waited, delayed;
	int rc;

	if (!signals_catch(engine)) {
		say("cannot handle signals: %s", strerror(errno));
		outcome_refused(outcome, 0, 0);
		signals_forget();
		return;
	}
	/* There may have been a signal since the last run. */
	if ((cfg->repeat > 0 && signals_got() != 0) || !start_tracking(s)) {
		signals_forget();
		return;
	}
	/* After the start, so that the command does not inherit this. */
	raise_file_limit();
	signals_act();
	/* A failing write shall end the table, not us: the command needs its tracer. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (is_silent(cfg))
		say_endless(cfg->engine.choice.kind == CHOICE_NONE);
	sink_begin(s->track.sink, run);
	rc = engine->ops->run(engine);
	if (cfg->common.output.by != SCOPE_NONE)
		end_interrupted_line(signals_got());
	delayed = engine->waiting;
	engine->waiting = false; /* nothing is left to count */
	outcome->cut = cfg->repeat > 0 && s->command.cut;
	/* A record has the status of each run: wait for it if an exec ended the tracking. */
	waited = cfg->common.output.stats && !outcome->cut && !run->ended;
	if (waited)
		wait_for_end(s, run, rc == -1);
	track_end(&s->track, engine->lost, outcome->cut);
	outcome->complete += !outcome->cut && !s->warm_up;
	if (!waited)
		wait_for_end(s, run, rc == -1);
	signals_forget();
	engine->ops->release(engine);
	if (cfg->engine.start_off && !s->track.ever_on)
		say("the counters were never on: no tracked LWP called cpc_enable(3)");
	if (delayed && !s->warm_up && outcome->complete <= 1)
		say_delayed(cfg->track.delay_ns);
	track_print_uncounted(&s->track, engine->nchildren);
	if (engine->lost || rc == -1)
		outcome_lost(outcome);
}

static void drop_row(struct sink *sink, const struct row *row)
{
	(void)sink, (void)row;
}

static void free_engine(struct session *s)
{
	if (s->engine != NULL)
		s->engine->ops->free(s->engine);
	s->engine = NULL;
}

/* The engine of the last run, if it can be used again; else a new one.  NULL after a message. */
static void find_engine(struct session *s, const struct engine_config *config)
{
	if (s->engine != NULL && s->engine->ops->renew != NULL &&
	    s->engine->ops->renew(s->engine, config))
		return;
	free_engine(s);
	s->engine = engine_new(s->cfg->engine_choice, config, s->cpc, &s->grp, &s->track);
}

/* Tracks a run with an engine, and restores all settings that the next command inherits. */
static void track_run_of(struct session *s, struct output *output)
{
	static const struct sink_ops drop = {.row = drop_row};
	struct sink nowhere = {.ops = &drop};
	const struct config *cfg = s->cfg;
	struct engine_config engine = cfg->engine;
	struct track_config track = cfg->track;
	struct sigaction pipe, size;
	struct rlimit files;
	struct run run;

	sigaction(SIGPIPE, NULL, &pipe);
	sigaction(SIGXFSZ, NULL, &size);
	getrlimit(RLIMIT_NOFILE, &files);
	s->command = (struct command){0};
	outcome_run(&s->outcome);
	run = source_run(s->cpc, &s->grp, "cputrack", cfg->common.argv);
	run.side = s->side;
	run.many = cfg->engine.follow_fork || cfg->pids.n > 1;
	run.scope = cfg->common.output.keys;
	if (scope_has_keys(run.scope))
		engine.owners = owners_new(run.scope);
	engine.comm = output_needs_comm(output);
	s->grp.times = s->grp.n > 1 || output_needs_cycles(output);
	engine.again = cfg->repeat > 0;
	engine.pids = cfg->command == NULL ? &cfg->pids : NULL;
	/* A command gets the signal: it may read its files again. */
	engine.reopens = cfg->command == NULL && output_reopens(output);
	track.follow_exec = cfg->engine.follow_exec;
	track_init(&s->track, &track, &run, &s->grp, output,
		   cfg->command != NULL ? &s->command : NULL);
	if (s->warm_up)
		s->track.sink = &nowhere;
	find_engine(s, &engine);
	if (s->engine != NULL) {
		track_start(&s->track);
		run.engine = xstrdup(s->engine->ops->name);
		track_once(s, &run);
		if (!engine.again)
			free_engine(s);
	} else {
		outcome_refused(&s->outcome, 0, 0);
	}
	s->outcome.error = s->track.flusher.error;
	s->outcome.hung_up = s->track.hung_up && cfg->command == NULL;
	owners_free(engine.owners);
	run_free(&run);
	sigaction(SIGPIPE, &pipe, NULL);
	sigaction(SIGXFSZ, &size, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Reports that a signal ended the runs too early. */
static void report_missing(struct session *s)
{
	const unsigned wanted = s->cfg->repeat * (s->cfg->second != NULL ? 2 : 1);
	const int sig = signals_got();

	if (sig == 0 || s->outcome.complete >= wanted)
		return;
	say("SIG%s ended the runs: %u of %u are complete%s", signals_name(sig), s->outcome.complete,
	    wanted, s->outcome.cut ? ", and one that it cut is left out" : "");
	s->outcome.sig = sig;
}

static bool goes_on(const struct session *s)
{
	return outcome_goes_on(&s->outcome) && signals_got() == 0;
}

/*
 * Runs two commands in turns: old new, new old, old new, ...  So a machine that gets slower or
 * faster meanwhile favours neither.  The first pair is a warm-up.
 */
static void track_pairs(struct session *s, struct output *output)
{
	const unsigned n = 2 * (s->cfg->repeat + 1);

	for (unsigned i = 0; i < n; i++) {
		bool swapped = i >= 2 && i / 2 % 2 == 0;

		progress_run(i + 1, n, s->begin_ns);
		s->warm_up = i < 2;
		s->side = (i % 2 != 0) != swapped ? SIDE_NEW : SIDE_OLD;
		track_run_of(s, output);
		if (!goes_on(s))
			break;
	}
}

/* Reports commands that failed in some run of which means are printed. */
static void report_failures(const struct session *s)
{
	for (enum run_side side = SIDE_NONE; side <= SIDE_NEW; side++) {
		const struct ends *ends = &s->outcome.ends[side];
		char *whose;

		if (ends->failed == 0)
			continue;
		whose = xasprintf("the %s%scommand '%s'",
				  side != SIDE_NONE ? run_side_name(side) : "",
				  side != SIDE_NONE ? " " : "", words_of(s->cfg, side)[0]);
		ends_report(ends, whose);
		free(whose);
	}
}

/*
 * Prepares the screen.  Refuses a command that would write to the terminal and disturb the screen.
 * The command must not read our keys: /dev/null replaces an input from the terminal.
 */
static int prepare_top(const struct config *cfg, struct output_config *output)
{
	bool starts = cfg->command != NULL;
	int empty;

	if (starts && (isatty(STDOUT_FILENO) || isatty(STDERR_FILENO)))
		return usage_error("cannot use --top: the command would write to the screen; "
				   "redirect its output, as in >FILE 2>&1");
	if (!top_possible(starts ? TOP_TERMINAL : NULL))
		return STATUS_USAGE;
	if (starts && isatty(STDIN_FILENO)) {
		empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (empty == -1 || dup2(empty, STDIN_FILENO) == -1) {
			say("cannot open /dev/null: %s", strerror(errno));
			return STATUS_FAILED;
		}
		close(empty);
	}
	output->format = &top_format;
	output->path = starts ? TOP_TERMINAL : NULL;
	return STATUS_OK;
}

static bool must_end(void)
{
	return signals_ending() != 0;
}

/* Waits for the readers of the rows. */
static void close_output(struct session *s, struct output *output)
{
	struct outcome *outcome = &s->outcome;
	int closing;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	closing = output_close(output, outcome->error == 0);
	if (outcome->error != 0)
		return;
	outcome->error = closing;
	if (closing == EINTR)
		outcome->sig = signals_ending();
	else if (closing == 0 && !outcome->ever_lost)
		split_report_shares(&s->grp);
}

/* Opens the output and tracks.  Returns the exit status. */
static int track(struct session *s)
{
	const struct config *cfg = s->cfg;
	const struct outcome *outcome = &s->outcome;
	struct output_config config = cfg->common.output;
	struct opened opened = {0};
	struct output *output;
	int status;
	unsigned n = 0;

	config.by_line = config.keeps = true;
	/* Lines of a command between the rows would make them useless for programs. */
	config.apart = cfg->command != NULL && config.format != NULL &&
		       config.format != format_find("table") && !isatty(STDOUT_FILENO);
	backlog_on_signals(must_end);
	status = cfg->common.top ? prepare_top(cfg, &config) : STATUS_OK;
	if (status != STATUS_OK)
		return status;
	output = output_open(&config);
	if (output == NULL)
		return STATUS_FAILED;
	if (cfg->engine.choice.kind == CHOICE_NONE && !cfg->engine.descendants)
		opened_watch(&opened, s->cpc, &s->grp, cfg->command == NULL ? &cfg->pids : NULL);
	s->begin_ns = now_ns();
	if (cfg->second != NULL)
		track_pairs(s, output);
	else
		do {
			if (cfg->repeat > 1)
				progress_run(n + 1, cfg->repeat, s->begin_ns);
			track_run_of(s, output);
		} while (++n < cfg->repeat && goes_on(s));
	free_engine(s);
	progress_end();
	report_missing(s);
	if (!outcome->ever_lost && (outcome->complete > 0 || cfg->command == NULL))
		opened_report(&opened, s->cpc, &s->grp);
	opened_free(&opened);
	close_output(s, output);
	status =
		outcome_status(outcome, cfg->second != NULL || config.compare != NULL, &cfg->limit);
	if (status < 0)
		die_of(-status);
	if (config.stats)
		report_failures(s);
	return status;
}

int run_count(void *config, cpc_t *cpc)
{
	struct config *cfg = config;
	struct session s = {.cfg = cfg, .cpc = cpc, .grp.functions = true};
	int status = STATUS_OK;

	if (cfg->command != NULL)
		status = mistakes_of_command(cpc, cfg->command, cfg->common.by_default);
	if (cfg->second != NULL)
		mistakes_of_second(cfg->second, cfg->limit.given);
	if (status == STATUS_OK && cfg->second != NULL)
		status = mistakes_of_command(cpc, cfg->second, cfg->common.by_default);
	if (status == STATUS_OK)
		status = program_sets(&cfg->common, cpc, &s.grp, &trial);
	if (status == STATUS_OK)
		status = check_turns(cfg, &s.grp);
	if (status == STATUS_OK)
		status = try_sets(&s.grp, cpc);
	if (status == STATUS_OK)
		status = track(&s);
	setgrp_free(&s.grp);
	return status;
}
