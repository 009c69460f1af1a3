/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * run.c - a run of cputrack, from the sets of events to the exit status.
 */
#include "run.h"

#include "../common/say.h"
#include "../common/util.h"
#include "../out/source.h"
#include "mistakes.h"
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a shell returns for a command that it cannot execute, and cannot find. */
enum { STATUS_CANNOT_EXECUTE = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };

struct session {
	const struct config *cfg;
	cpc_t *cpc;
	struct setgrp grp;
	struct track *track;
	struct command command;
	int status;	  /* exit status */
	bool interrupted; /* the command died of SIGINT */
};

/* Binds each set once, so that events that cannot be counted are refused before the start. */
static int try_sets(const struct setgrp *grp, cpc_t *cpc)
{
	for (size_t i = 0; i < grp->n; i++) {
		cpc_set_t *set = grp->set[i].set;

		if (cpc_bind_curlwp(cpc, set, CPC_BIND_LATE) == -1) {
			say("%s", cpcerr_text());
			return STATUS_FAILED;
		}
		cpc_unbind(cpc, set);
	}
	return STATUS_OK;
}

/*
 * Refuses symbols that the process does not have.  One that is being started may still get
 * them from its libraries, and so may what it executes; there ENOENT is not an error yet.
 */
static int try_symbols(const struct session *run, pctx_t *pctx)
{
	for (size_t i = 0; i < run->grp.n; i++) {
		cpc_set_t *set = run->grp.set[i].set;

		if (!run->grp.set[i].symbols)
			continue;
		if (cpc_bind_pctx(run->cpc, pctx, 1, set, 0) == 0) {
			cpc_unbind(run->cpc, set);
		} else if (errno != ESRCH && (errno != ENOENT || run->cfg->command == NULL)) {
			say("%s", cpcerr_text());
			return STATUS_FAILED;
		}
	}
	return STATUS_OK;
}

static void tell(const char *fn, const char *fmt, va_list ap)
{
	(void)fn;
	vsay(fmt, ap);
}

static void tell_debug(const char *fn, const char *fmt, va_list ap)
{
	char text[SAY_MAX];

	vsnprintf(text, sizeof(text), fmt, ap);
	say("pctx_%s: %s", fn, text);
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

static pctx_errfn_t *error_handler(const struct session *run)
{
	return run->cfg->common.debug ? tell_debug : tell;
}

/*
 * Attaches to all processes of -p that allow it, with `tree` to their children, too: those
 * that they make from then on are followed, so no descendant is missed.  The number of them,
 * or 0 if a symbol is missing.
 */
static size_t attach_all(struct session *run, pctx_t *pctx)
{
	const struct config *cfg = run->cfg;
	struct pids pids = {.n = cfg->pids.n};
	size_t n = 0;

	pids.id = xcalloc(pids.n, sizeof(*pids.id));
	memcpy(pids.id, cfg->pids.id, pids.n * sizeof(*pids.id));
	for (size_t i = 0; i < pids.n; i++) {
		pctx_t *added = pctx_add(pctx, pids.id[i]);

		n += added != NULL;
		if (added == NULL)
			run->status = STATUS_FAILED;
		if (added != NULL && try_symbols(run, added) != STATUS_OK) {
			n = 0;
			break;
		}
		if (added != NULL && cfg->tree)
			pids_add_children(&pids, pids.id[i]);
	}
	free(pids.id);
	return n;
}

/* NULL: no process could be attached to, or a symbol is missing. */
static pctx_t *attach(struct session *run)
{
	pctx_t *pctx = pctx_open(run->track, error_handler(run));

	if (pctx != NULL && track_watch(run->track, pctx, run->cfg->track.follow_fork) == 0 &&
	    attach_all(run, pctx) > 0)
		return pctx;
	run->status = STATUS_FAILED;
	if (pctx != NULL)
		pctx_release(pctx);
	return NULL;
}

static pctx_t *start(struct session *run)
{
	char **command = run->cfg->command;
	pctx_t *pctx = pctx_create(command[0], command, run->track, 0, error_handler(run));
	int wstatus;

	if (pctx == NULL) {
		run->status = cannot_start();
		return NULL;
	}
	command_started(&run->command, pctx_pid(pctx));
	track_watch(run->track, pctx,
		    run->cfg->track.follow_fork); /* cannot fail: all events are known */
	if (try_symbols(run, pctx) == STATUS_OK)
		return pctx;
	run->status = STATUS_FAILED;
	kill(pctx_pid(pctx), SIGKILL); /* it has not run yet */
	pctx_wait(pctx, &wstatus);
	pctx_release(pctx);
	return NULL;
}

/* Starts or attaches, and tracks until the end. */
static void track_once(struct session *run, const struct run *about)
{
	const struct config *cfg = run->cfg;
	pctx_t *pctx;
	int rc, wstatus;

	signals_catch(run->track, cfg->command != NULL ? &run->command : NULL);
	pctx = cfg->command != NULL ? start(run) : attach(run);
	if (pctx == NULL)
		return;
	/* After the start, so that the command does not inherit this. */
	raise_file_limit();
	signals_act_on(pctx);
	/* A failing write shall end the table, not us: the command needs its tracer. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	track_begin(run->track, about);
	rc = track_run(run->track, pctx);
	if (cfg->command != NULL) {
		if (pctx_wait(pctx, &wstatus) == 0) {
			run->status = command_status(wstatus);
			run->interrupted = WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGINT;
		}
	}
	signals_forget();
	if (cfg->command != NULL)
		pctx_release(pctx);
	else
		pctx_abandon(pctx); /* an LWP in a long system call is not waited for */
	if (track_never_on(run->track))
		say("the counters were never on: no tracked LWP called cpc_enable(3)");
	if (track_lacks_symbols(run->track) || track_lost(run->track) || rc == -1)
		run->status = STATUS_FAILED;
}

/* As track_once(), but leaves what the next command inherits as it was. */
static void track_run_of(struct session *run, struct output *output, int *error)
{
	const struct config *cfg = run->cfg;
	struct sigaction pipe, size;
	struct rlimit files;
	struct run about;

	sigaction(SIGPIPE, NULL, &pipe);
	sigaction(SIGXFSZ, NULL, &size);
	getrlimit(RLIMIT_NOFILE, &files);
	run->command = (struct command){0};
	run->status = STATUS_OK;
	about = source_run(run->cpc, &run->grp, "cputrack", cfg->common.argv);
	about.many = cfg->track.follow_fork || cfg->pids.n > 1;
	run->track = track_new(&cfg->track, run->cpc, &run->grp, output,
			       cfg->command != NULL ? &run->command : NULL);
	track_once(run, &about);
	*error = track_output_error(run->track);
	track_free(run->track);
	run_free(&about);
	sigaction(SIGPIPE, &pipe, NULL);
	sigaction(SIGXFSZ, &size, NULL);
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Could it be started, and did nobody ask for the end? */
static bool goes_on(const struct session *run, int error)
{
	return error == 0 && !run->interrupted && run->command.pid != 0 &&
	       run->status != STATUS_CANNOT_EXECUTE && run->status != STATUS_NOT_FOUND;
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
	output = output_open(&config);
	if (output == NULL) {
		run->status = STATUS_FAILED;
		return;
	}
	do
		track_run_of(run, output, &error);
	while (++n < cfg->repeat && goes_on(run, error));
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	closing = output_close(output);
	if (error == 0 && closing != 0)
		output_tell(error = closing);
	if (error == EPIPE)
		die_of(SIGPIPE); /* as other writers to the pipe end */
	if (error == 0 && run->status != STATUS_FAILED && run->interrupted)
		die_of(SIGINT); /* else the shell would go on with its loop */
	if (error != 0)
		run->status = STATUS_FAILED;
}

int run_count(const struct config *cfg, cpc_t *cpc)
{
	struct session run = {.cfg = cfg, .cpc = cpc};

	if (cfg->command != NULL)
		run.status = mistakes_of_command(cpc, cfg->command, cfg->common.by_default);
	run.grp.functions = true;
	if (run.status == STATUS_OK)
		run.status = program_sets(&cfg->common, cpc, &run.grp);
	if (run.status == STATUS_OK)
		run.status = try_sets(&run.grp, cpc);
	if (run.status == STATUS_OK)
		track(&run);
	setgrp_free(&run.grp);
	return run.status;
}
