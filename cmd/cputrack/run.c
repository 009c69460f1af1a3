/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * run.c - a run of cputrack, from the sets of events to the exit status.
 */
#include "run.h"

#include "../base/progress.h"
#include "../base/say.h"
#include "../base/util.h"
#include "../program/top/top.h"
#include "../rows/source.h"
#include "mistakes.h"
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

/* What a shell returns for a command that it cannot execute, and cannot find. */
enum { STATUS_CANNOT_EXECUTE = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };
/* One of two compared commands failed. */
enum { STATUS_COMMAND_FAILED = 4 };

/* How a compared command ended. */
struct ends {
	unsigned n, failed;
	int wstatus; /* of the first run that failed */
};

struct session {
	struct config *cfg;
	cpc_t *cpc;
	struct setgrp grp;
	struct engine *engine;
	struct track track;
	struct pace pace;
	struct command command;
	enum run_side side; /* of two commands, the one that runs */
	bool warm_up;	    /* its counts are left out */
	struct ends ends[SIDE_NEW + 1];
	int status;	   /* exit status */
	bool interrupted;  /* the command died of SIGINT */
	bool lost;	   /* in some run LWPs were not counted, or not to their end */
	bool failed;	   /* so did the last run, not its command */
	bool cut;	   /* a signal that we got cut the last run */
	unsigned complete; /* runs that no signal cut */
	int64_t begin_ns;  /* of the first run */
};

static bool counts(void *arg, cpc_t *cpc, cpc_set_t *set, bool alone)
{
	(void)arg, (void)alone;
	if (cpc_bind_curlwp(cpc, set, CPC_BIND_LATE) == -1)
		return false;
	cpc_unbind(cpc, set);
	return true;
}

static const struct split_trial trial = {.counts = counts};

/* Binds each set once, so that events that cannot be counted are refused before the start. */
static int try_sets(const struct setgrp *grp, cpc_t *cpc)
{
	for (size_t i = 0; i < grp->n; i++) {
		if (!counts(NULL, cpc, grp->set[i].set, false))
			return split_refuse(cpc, &grp->set[i], &trial);
	}
	return STATUS_OK;
}

/* Without samples nothing takes turns. */
static int check_turns(const struct config *cfg, const struct setgrp *grp)
{
	if (!grp->split || cfg->engine.interval_ms > 0)
		return STATUS_OK;
	return usage_error("specs take turns when samples are taken, and -T 0 takes none");
}

static int cannot_start(void)
{
	switch (errno) {
	case ENOENT:
		return STATUS_NOT_FOUND;
	case EPERM:
	case EAGAIN:
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EINTR:
		return STATUS_FAILED;
	default:
		return STATUS_CANNOT_EXECUTE;
	}
}

static int command_status(int status)
{
	return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

static char **words_of(const struct config *cfg, enum run_side side)
{
	return side == SIDE_NEW ? cfg->second : cfg->command;
}

/* Ends as if the signal had ended the command. */
static void end_by(struct session *run, int sig)
{
	run->status = STATUS_SIGNAL + sig;
	run->interrupted = sig == SIGINT;
}

/* Starts the command, or attaches. */
static bool start_tracking(struct session *run)
{
	const struct config *cfg = run->cfg;
	const struct engine_ops *ops = run->engine->ops;
	bool some_failed = false, killed;

	if (cfg->command != NULL) {
		if (ops->start(run->engine, words_of(cfg, run->side), &run->command) == 0)
			return true;
		killed = errno == EINTR && signals_got() != 0;
		run->status = errno != 0 ? cannot_start() : STATUS_FAILED;
		if (killed)
			end_by(run, signals_got());
		return false;
	}
	if (ops->attach(run->engine, &some_failed) == 0) {
		run->engine->lost |= some_failed;
		return true;
	}
	run->status = STATUS_FAILED;
	return false;
}

/* The command has ended.  Of two, the status is for neither: report_failures() names them. */
static void note_end(struct session *run, int wstatus)
{
	struct ends *ends = &run->ends[run->side];

	run->interrupted = WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGINT;
	if (run->side == SIDE_NONE || run->interrupted) {
		run->status = command_status(wstatus);
		return;
	}
	if (run->cut)
		return;
	ends->n++;
	if (wstatus != 0 && ends->failed++ == 0)
		ends->wstatus = wstatus;
}

/* Tracks until the end. */
static void track_once(struct session *run, struct run *about)
{
	const struct config *cfg = run->cfg;
	struct engine *engine = run->engine;
	int rc, wstatus;

	signals_catch(&run->pace, cfg->command != NULL ? &run->command : NULL);
	/* There may have been a signal since the last run. */
	if ((cfg->repeat > 0 && signals_got() != 0) || !start_tracking(run)) {
		signals_forget();
		return;
	}
	/* After the start, so that the command does not inherit this. */
	raise_file_limit();
	signals_act();
	/* A failing write shall end the table, not us: the command needs its tracer. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sink_begin(run->track.sink, about);
	rc = engine->ops->run(engine);
	engine->waiting = false; /* nothing is left to count */
	run->cut = cfg->repeat > 0 && run->command.cut;
	track_end(&run->track, engine->lost, run->cut);
	run->complete += !run->cut && !run->warm_up;
	if (cfg->command != NULL && engine->ops->wait(engine, &wstatus) == 0)
		note_end(run, wstatus);
	signals_forget();
	engine->ops->release(engine);
	if (cfg->engine.start_off && !run->track.ever_on)
		say("the counters were never on: no tracked LWP called cpc_enable(3)");
	uncounted_print(&run->track.uncounted, engine->nchildren);
	run->failed = engine->lost || rc == -1;
	run->lost |= run->failed;
	if (run->failed)
		run->status = STATUS_FAILED;
}

static void drop_row(struct sink *sink, const struct row *row)
{
	(void)sink, (void)row;
}

/* As track_once(), but leaves what the next command inherits as it was. */
static void track_run_of(struct session *run, struct output *output, int *error)
{
	static const struct sink_ops drop = {.row = drop_row};
	struct sink nowhere = {.ops = &drop};
	const struct config *cfg = run->cfg;
	struct engine_config engine = cfg->engine;
	struct track_config track = cfg->track;
	struct sigaction pipe, size;
	struct rlimit files;
	struct run about;

	sigaction(SIGPIPE, NULL, &pipe);
	sigaction(SIGXFSZ, NULL, &size);
	getrlimit(RLIMIT_NOFILE, &files);
	run->command = (struct command){0};
	run->status = STATUS_OK;
	run->failed = run->cut = false;
	about = source_run(run->cpc, &run->grp, "cputrack", cfg->common.argv);
	about.side = run->side;
	about.many = cfg->engine.follow_fork || cfg->pids.n > 1;
	about.scope = cfg->common.output.keys;
	if (scope_has_keys(about.scope))
		engine.owners = owners_new(about.scope);
	engine.comm = output_needs_comm(output);
	engine.pids = cfg->command == NULL ? &cfg->pids : NULL;
	engine.must_stop = signals_kept;
	engine.idle = pace_idle;
	engine.arg = &run->pace;
	track.follow_exec = cfg->engine.follow_exec;
	track_init(&run->track, &track, &about, output,
		   cfg->command != NULL ? &run->command : NULL);
	if (run->warm_up)
		run->track.sink = &nowhere;
	run->engine = engine_new(cfg->engine_choice, &engine, run->cpc, &run->grp, &run->track);
	if (run->engine == NULL) {
		run->status = STATUS_FAILED;
		track_free(&run->track);
		owners_free(engine.owners);
		run_free(&about);
		return;
	}
	track_start(&run->track);
	run->pace = (struct pace){.engine = run->engine, .track = &run->track};
	about.engine = xstrdup(run->engine->ops->name);
	track_once(run, &about);
	command_forget(&run->command);
	*error = run->track.flusher.error;
	for (size_t i = 0; i < run->grp.n; i++) {
		run->grp.set[i].had_turn |= run->track.share[i].had_turn;
		run->grp.set[i].cycles += run->track.share[i].cycles;
	}
	run->engine->ops->free(run->engine);
	track_free(&run->track);
	owners_free(engine.owners);
	run_free(&about);
	sigaction(SIGPIPE, &pipe, NULL);
	sigaction(SIGXFSZ, &size, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
}

/* May another run follow?  Not if the command could not be started, or after a signal or error. */
static bool goes_on(const struct session *run, int error)
{
	return error == 0 && !run->interrupted && signals_got() == 0 && run->command.pid != 0 &&
	       run->status != STATUS_CANNOT_EXECUTE && run->status != STATUS_NOT_FOUND;
}

/* Of several runs, some are missing because of a signal. */
static void report_missing(struct session *run)
{
	const unsigned wanted = run->cfg->repeat * (run->cfg->second != NULL ? 2 : 1);
	const int sig = signals_got();

	if (sig == 0 || run->complete >= wanted)
		return;
	say("SIG%s ended the runs: %u of %u are complete%s", signals_name(sig), run->complete,
	    wanted, run->cut ? ", and one that it cut is left out" : "");
	if (!run->failed)
		end_by(run, sig);
}

/* Where the commands write to the terminal, a line of ours would be between theirs. */
static void show_progress(const struct session *run, unsigned done, unsigned total)
{
	if (!isatty(STDOUT_FILENO))
		progress_show(done, total, now_ns() - run->begin_ns);
}

/*
 * Runs two commands in turns: old new, new old, old new, ...  So a machine that gets slower or
 * faster meanwhile favours neither.  The first pair is a warm-up.
 */
static void track_pairs(struct session *run, struct output *output, int *error)
{
	const unsigned n = 2 * (run->cfg->repeat + 1);

	for (unsigned i = 0; i < n; i++) {
		bool swapped = i >= 2 && i / 2 % 2 == 0;

		show_progress(run, i, n);
		run->warm_up = i < 2;
		run->side = (i % 2 != 0) != swapped ? SIDE_NEW : SIDE_OLD;
		track_run_of(run, output, error);
		if (!goes_on(run, *error))
			break;
	}
}

/* Names a compared command some of whose runs failed. */
static void report_failures(struct session *run)
{
	for (enum run_side side = SIDE_OLD; side <= SIDE_NEW; side++) {
		const struct ends *ends = &run->ends[side];
		int wstatus = ends->wstatus;

		if (ends->failed == 0)
			continue;
		if (WIFSIGNALED(wstatus))
			say("the %s command '%s' failed in %u of %u runs: signal %d, %s",
			    run_side_name(side), words_of(run->cfg, side)[0], ends->failed, ends->n,
			    WTERMSIG(wstatus), strsignal(WTERMSIG(wstatus)));
		else
			say("the %s command '%s' failed in %u of %u runs: exit status %d",
			    run_side_name(side), words_of(run->cfg, side)[0], ends->failed, ends->n,
			    WEXITSTATUS(wstatus));
		if (run->status == STATUS_OK)
			run->status = STATUS_COMMAND_FAILED;
	}
}

/*
 * Prepares the screen.  What the command writes would disturb it, so that must go elsewhere.  The
 * command does not read our keys either: an input from the terminal is empty.
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

/* Opens the output and tracks. */
static void track(struct session *run)
{
	const struct config *cfg = run->cfg;
	struct output_config config = cfg->common.output;
	struct output *output;
	int error = 0, closing;
	unsigned n = 0;

	config.by_line = true;
	if (cfg->top)
		run->status = prepare_top(cfg, &config);
	if (run->status != STATUS_OK)
		return;
	output = output_open(&config);
	if (output == NULL) {
		run->status = STATUS_FAILED;
		return;
	}
	run->begin_ns = now_ns();
	if (cfg->second != NULL)
		track_pairs(run, output, &error);
	else
		do {
			show_progress(run, n, cfg->repeat);
			track_run_of(run, output, &error);
		} while (++n < cfg->repeat && goes_on(run, error));
	progress_erase();
	report_missing(run);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	closing = output_close(output, error == 0);
	if (error == 0)
		error = closing;
	if (error == 0 && !run->lost)
		split_report_shares(&run->grp);
	if (error == EPIPE)
		die_of(SIGPIPE); /* as other writers to the pipe end */
	if (error == 0 && run->status != STATUS_FAILED && run->interrupted)
		die_of(SIGINT); /* else the shell would go on with its loop */
	if (error != 0 || run->lost)
		run->status = STATUS_FAILED;
	report_failures(run);
	run->status = limit_status(&run->cfg->limit, run->status);
}

int run_count(struct config *cfg, cpc_t *cpc)
{
	struct session run = {.cfg = cfg, .cpc = cpc};

	if (cfg->common.output.compare != NULL)
		run.status = mistakes_of_record(cfg->common.output.compare);
	if (run.status == STATUS_OK && cfg->command != NULL)
		run.status = mistakes_of_command(cpc, cfg->command, cfg->common.by_default);
	run.grp.functions = true;
	if (cfg->second != NULL)
		mistakes_of_second(cfg->second, cfg->limit.given);
	if (run.status == STATUS_OK && cfg->second != NULL)
		run.status = mistakes_of_command(cpc, cfg->second, cfg->common.by_default);
	if (run.status == STATUS_OK)
		run.status = program_sets(&cfg->common, cpc, &run.grp, &trial);
	if (run.status == STATUS_OK)
		run.status = check_turns(cfg, &run.grp);
	if (run.status == STATUS_OK)
		run.status = try_sets(&run.grp, cpc);
	if (run.status == STATUS_OK)
		track(&run);
	setgrp_free(&run.grp);
	return run.status;
}
