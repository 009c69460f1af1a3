/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sampler.c - samples sets on one schedule.
 *
 * One thread reads all CPUs.  read(2) of a counter sends an interrupt to its CPU; waking a thread
 * there would take longer.
 */
#include "sampler.h"

#include "../base/backlog.h"
#include "../base/progress.h"
#include "../base/say.h"
#include "../base/util.h"
#include "../program/program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How often to retry lost CPUs.  Finding the process that uses the counters is slow. */
#define RETRY_NS NSEC

/* The counts of one set. */
struct turn {
	cpc_buf_t *total; /* the sum of all samples */
	bool incomplete;  /* some CPU was not counted in some sample */
	int64_t span_ns;  /* the length of all samples */
};

struct sampler {
	struct sampler_config *config;
	cpc_t *cpc;
	const struct setgrp *grp;
	struct output *output;
	struct sink *sink; /* of `output` */
	struct run *run;
	struct meter *meter;
	struct turn *turn;	   /* one per set */
	int64_t start_ns, last_ns; /* start of the run; time of the last sample after it */
	int64_t last_wall_ns;	   /* time of the last sample since the Epoch */
	int64_t since_ns;	   /* when the current sample began */
	int64_t span_ns;	   /* the length of the current sample */
	int64_t retry_ns;	   /* when to retry lost CPUs */
	int signal;		   /* the one that ended the run; or 0 */
	enum screen_asks asks;	   /* why a screen ended it */
	int status;		   /* to exit with */
	bool started;		   /* the header was printed */
	bool lost;		   /* output failed; a message reported this */
	bool done;
};

/* ---- times ---------------------------------------------------------------- */

void read_time_add(struct read_time *at, int64_t ns)
{
	if (at->n++ == 0)
		at->first_ns = ns;
	else
		at->later_ns += ns - at->first_ns;
}

static int64_t mean_read_time(const struct read_time *at)
{
	return at->n > 0 ? at->first_ns + at->later_ns / at->n : now_ns();
}

/* ---- signals ------------------------------------------------------------- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static sigset_t open_mask; /* of waits: it does not block our signals */
static bool has_open_mask; /* from the first run on: screens block further signals */

static volatile sig_atomic_t caught;
static volatile sig_atomic_t reopens; /* SIGHUP asks to open the output again */
static volatile sig_atomic_t reopen;  /* it has come */

static void catch (int sig)
{
	if (sig == SIGHUP && reopens)
		reopen = 1;
	else
		caught = sig;
}

static bool was_signalled(void)
{
	return caught != 0;
}

/* Our signals are unblocked only during waits.  False and errno: we cannot handle them. */
static bool catch_signals(const struct sampler *s)
{
	sigset_t ours;
	struct sigaction sa = {.sa_handler = catch}, old;

	reopens = output_reopens(s->output);
	sigemptyset(&ours);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		/* If SIGHUP is ignored, as under nohup(1), keep it ignored. */
		if (signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaddset(&ours, signals[i]);
		if (sigaction(signals[i], &sa, NULL) == -1)
			return false;
	}
	backlog_on_signals(was_signalled);
	sigprocmask(SIG_BLOCK, &ours, has_open_mask ? NULL : &open_mask);
	has_open_mask = true;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigdelset(&open_mask, signals[i]);
	return true;
}

/* A signal ends the run after a last sample. */
static bool interrupted(struct sampler *s)
{
	if (caught == 0)
		return false;
	if (s->signal == 0)
		end_interrupted_line(caught);
	s->signal = caught;
	s->done = true;
	return true;
}

/* ---- rows ---------------------------------------------------------------- */

/* Ends the run if there is an error of the output. */
static void check_output(struct sampler *s, int error)
{
	if (error == 0)
		return;
	s->lost = s->done = true;
	output_report_any(s->output, error); /* EPIPE, too: our parent ignores SIGPIPE */
	s->status = STATUS_FAILED;
}

static void flush(struct sampler *s)
{
	check_output(s, output_flush(s->output));
}

/* Puts a row of set `k`; `buf` NULL: the counts are unknown. */
static void put_row(struct sampler *s, struct row *row, size_t k, cpc_buf_t *buf)
{
	uint64_t val[RUN_MAX_EVENTS];

	row->time_ns = s->last_ns;
	row->wall_ns = s->last_wall_ns;
	row->set = k;
	row->val = val;
	for (unsigned i = 0; buf != NULL && i < s->run->set[k].nevents; i++) {
		if (cpc_buf_get(s->cpc, buf, (int)i, &val[i]) == 0)
			row->valid |= UINT64_C(1) << i;
	}
	row->cycles = buf != NULL ? cpc_buf_tick(s->cpc, buf) : 0;
	sink_row(s->sink, row);
}

void sampler_put(struct sampler *s, struct row *row, size_t k, cpc_buf_t *buf)
{
	row->kind = ROW_TICK;
	row->scope = s->run->scope;
	row->span_ns = s->span_ns;
	put_row(s, row, k, buf);
	if (buf != NULL)
		cpc_buf_add(s->cpc, s->turn[k].total, s->turn[k].total, buf);
}

void sampler_end_key(struct sampler *s, size_t k, const char *key)
{
	sink_ended(s->sink, k, key);
}

/* The totals over all CPUs, with the number of CPUs that were counted to the end. */
static void put_totals(struct sampler *s)
{
	for (size_t k = 0; k < s->grp->n; k++) {
		struct row row = {
			.kind = ROW_TOTAL,
			.scope = SCOPE_ALL,
			.ncpus = (unsigned)s->meter->nleft,
			.incomplete = s->turn[k].incomplete,
			.span_ns = s->turn[k].span_ns,
		};

		/* A set that never had its turn has no counts. */
		put_row(s, &row, k,
			cpc_buf_tick(s->cpc, s->turn[k].total) > 0 ? s->turn[k].total : NULL);
	}
	sink_end(s->sink);
	flush(s);
}

/* ---- the schedule ------------------------------------------------------- */

/* Ends the run after an error, which is in errno. */
static void fail(struct sampler *s, const char *what)
{
	say("%s: %s", what, strerror(errno));
	s->status = STATUS_FAILED;
	s->done = true;
}

/*
 * Acts on the keys of a screen, and offers kept rows and messages to their readers.  If the
 * terminal has gone, ends the run as SIGHUP does.  Returns for how long to wait at most.
 */
static int64_t tend_output(struct sampler *s)
{
	unsigned wait_ms;
	enum screen_asks asks = output_tend(s->output, &wait_ms);

	if (asks == SCREEN_GONE)
		s->signal = SIGHUP; /* it may come a little later, or be ignored */
	if (asks != SCREEN_NOTHING) {
		s->asks = asks;
		s->done = true;
	}
	if (output_is_behind(s->output)) {
		flush(s);
		wait_ms = BACKLOG_MS;
	}
	return wait_ms != 0 ? wait_ms * INT64_C(1000000) : INT64_MAX;
}

/* Waits until `when_ns`.  False: a signal, a key or an error ended the wait. */
static bool wait_until(struct sampler *s, int64_t when_ns)
{
	struct pollfd requests = {.fd = output_fd(s->output), .events = POLLIN};
	struct timespec ts;
	int64_t left, wait;
	int n;

	while (!interrupted(s)) {
		if (reopen) { /* all rows of the last sample are written */
			reopen = 0;
			check_output(s, output_reopen(s->output));
		}
		wait = tend_output(s);
		if (s->done)
			return false;
		left = when_ns - now_ns(); /* ^Z may have stopped us */
		if (wait > left)
			wait = left > 0 ? left : 0;
		ts = (struct timespec){.tv_sec = wait / NSEC, .tv_nsec = wait % NSEC};
		n = ppoll(&requests, 1, &ts, &open_mask); /* without a descriptor: a timer */
		if ((n == 0 && wait >= left) || (n == 1 && left <= 0))
			return true;
		if (n == -1 && errno != EINTR) {
			fail(s, "cannot wait for the next sample");
			return false;
		}
	}
	return false;
}

static bool start_turn(struct sampler *s, size_t k)
{
	int64_t bound_ns;
	bool binds;

	s->meter->at = (struct read_time){0};
	binds = s->meter->ops->bind(s->meter, k) == 0;
	progress_opened();
	if (!binds) {
		s->turn[k].incomplete = true;
		return false;
	}
	bound_ns = mean_read_time(&s->meter->at);
	if (!s->started) {
		s->start_ns = bound_ns;
		s->run->start_ns = wall_ns() - (now_ns() - bound_ns);
		if (s->config->is_silent && s->config->for_ns == 0 && s->config->count == 0)
			say_endless(false);
		sink_begin(s->sink, s->run);
		flush(s);
	}
	s->started = true;
	s->since_ns = bound_ns - s->start_ns;
	return true;
}

static void end_turn(struct sampler *s, size_t k)
{
	size_t nleft = s->meter->nleft;

	s->meter->ops->unbind(s->meter, k);
	s->turn[k].incomplete |= s->meter->nleft < nleft;
}

static void sample_all(struct sampler *s, size_t k)
{
	struct turn *turn = &s->turn[k];
	int64_t read_ns;

	s->meter->at = (struct read_time){0};
	if (s->meter->ops->sample(s->meter, k) == -1) {
		turn->incomplete = s->done = true;
		s->status = STATUS_FAILED;
		return;
	}
	read_ns = mean_read_time(&s->meter->at);
	s->last_ns = read_ns - s->start_ns;
	s->last_wall_ns = wall_ns() - (now_ns() - read_ns);
	s->span_ns = s->last_ns - s->since_ns;
	s->since_ns = s->last_ns;
	turn->span_ns += s->span_ns;
	turn->incomplete |= !s->meter->ops->put(s->meter, k, s);
	sink_sampled(s->sink);
	flush(s);
}

/* The only set stays bound; lost CPUs are retried. */
static void keep_bound(struct sampler *s, size_t k)
{
	if (s->meter->nleft == s->meter->n)
		return;
	if (s->meter->ops->retry != NULL && s->last_ns >= s->retry_ns) {
		s->retry_ns = s->last_ns + RETRY_NS;
		s->meter->ops->retry(s->meter, k);
	}
	s->done = s->meter->nleft == 0;
}

static void sample_sets(struct sampler *s)
{
	struct sampler_config *config = s->config;
	int64_t round_ns = (int64_t)s->grp->n * config->interval_ns;
	bool rests = config->period_ns > round_ns;
	bool rotates = rests || s->grp->n > 1;
	int64_t end_ns = INT64_MAX, round, deadline;
	const bool counts = config->count > 0;
	size_t k = 0;

	if (!start_turn(s, k))
		return;
	round = deadline = s->start_ns;
	if (config->for_ns > 0)
		end_ns = s->start_ns + config->for_ns;
	while (!s->done) {
		bool round_over = k + 1 == s->grp->n;

		deadline = next_on_grid(deadline, config->interval_ns);
		wait_until(s, deadline < end_ns ? deadline : end_ns);
		sample_all(s, k);
		s->done |= deadline >= end_ns;
		if (counts && (round_over || config->period_ns == 0) && --config->count == 0)
			s->done = true;
		if (s->done)
			break;
		if (!rotates) {
			keep_bound(s, k);
			continue;
		}
		end_turn(s, k);
		k = round_over ? 0 : k + 1;
		if (round_over && rests) {
			round = next_on_grid(round, config->period_ns);
			if (!wait_until(s, round < end_ns ? round : end_ns) || round >= end_ns)
				return;
			deadline = round;
		}
		if (!start_turn(s, k))
			return;
	}
	end_turn(s, k);
}

/* ---- the run ------------------------------------------------------------- */

/* If a screen asks for another unit, what is left of the run goes on with it. */
static void end_run(struct sampler *s, bool counts, struct sampler_end *end)
{
	struct sampler_config *config = s->config;
	bool over = counts && config->count == 0;

	if (config->for_ns > 0) {
		config->for_ns -= s->last_ns;
		over |= config->for_ns <= 0;
	}
	config->delay_ns = 0;
	*end = (struct sampler_end){.signal = s->signal, .started = s->started, .lost = s->lost};
	end->unit = s->asks == SCREEN_UNIT && !over && !s->lost && s->signal == 0;
}

int sampler_run(struct sampler_config *config, cpc_t *cpc, struct setgrp *grp, struct meter *meter,
		struct run *run, struct output *output, struct sampler_end *end)
{
	struct sampler s = {.config = config, .cpc = cpc, .grp = grp, .meter = meter};
	const bool counts = config->count > 0;

	s.run = run;
	s.output = output;
	s.sink = output_sink(output);
	s.turn = xcalloc(grp->n, sizeof(*s.turn));
	for (size_t k = 0; k < grp->n; k++)
		s.turn[k].total = xmade(cpc_buf_create(cpc, grp->set[k].set));
	if (!catch_signals(&s))
		fail(&s, "cannot handle signals");
	else if (config->delay_ns == 0 || wait_until(&s, now_ns() + config->delay_ns))
		sample_sets(&s);
	else if (s.signal != 0)
		say_delayed(config->delay_ns);
	if (s.started && !s.lost)
		put_totals(&s);
	for (size_t k = 0; k < grp->n; k++) {
		grp->set[k].cycles = (uint64_t)cpc_buf_tick(cpc, s.turn[k].total);
		grp->set[k].had_turn = grp->set[k].cycles > 0;
		cpc_buf_destroy(cpc, s.turn[k].total);
	}
	free(s.turn);
	if (meter->status != STATUS_OK)
		s.status = meter->status;
	meter->ops->free(meter);
	end_run(&s, counts, end);
	return s.status;
}

int sampler_close(struct output *output, struct sampler_end *end, int status)
{
	if (output_close(output, !end->lost) != 0 && status == STATUS_OK)
		status = STATUS_FAILED;
	if (caught != 0) /* it ended the wait for the reader, too */
		end->signal = caught;
	return status;
}
