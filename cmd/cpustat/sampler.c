/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sampler.c - samples sets on many CPUs on one schedule.
 *
 * One thread reads all CPUs: read(2) of a counter sends an interrupt to its CPU, which is
 * faster than waking a thread there.
 */
#include "sampler.h"

#include "../common/say.h"
#include "../common/util.h"
#include "counters.h"
#include "cpus.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SYSFS "/sys/devices/system/cpu"

/* How often CPUs that are away are tried: looking for who holds the counters is slow. */
#define RETRY_NS NSEC

/* The counts of one set. */
struct turn {
	cpc_buf_t **sum;  /* of the current sample, one per unit */
	cpc_buf_t *total; /* of all samples */
	bool incomplete;  /* some CPU was not counted in one of them */
};

struct sampler {
	const struct sampler_config *config;
	cpc_t *cpc;
	const struct setgrp *grp;
	const struct out *out;
	struct counters counters;
	struct units units;
	struct turn *turn;	   /* one per set */
	int64_t start_ns, last_ns; /* start of the run, time of the last sample since then */
	int64_t retry_ns;	   /* next time to try CPUs that are away */
	sigset_t ours, open;	   /* our signals; the mask while they may arrive */
	struct sampler_end end;
	bool started; /* the header is out */
	bool lost;    /* output failed */
	bool done;
};

/* ---- signals ------------------------------------------------------------- */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t caught;

static void catch (int sig)
{
	caught = sig;
}

/*
 * Our signals arrive only while we wait or write; a write can block for ever when the
 * reader has stopped.  SA_RESETHAND: a second signal kills us.
 */
static void catch_signals(struct sampler *s)
{
	struct sigaction sa = {.sa_handler = catch, .sa_flags = (int)SA_RESETHAND}, old;

	sigemptyset(&s->ours);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		/* If SIGHUP is ignored, as under nohup(1), keep it ignored. */
		if (signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaddset(&s->ours, signals[i]);
		sigaction(signals[i], &sa, NULL);
	}
	sigprocmask(SIG_BLOCK, &s->ours, &s->open);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigdelset(&s->open, signals[i]);
}

/* A signal ends the run after a last sample. */
static bool interrupted(struct sampler *s)
{
	if (caught == 0)
		return false;
	s->end.signal = caught;
	s->done = true;
	return true;
}

/* ---- rows ---------------------------------------------------------------- */

static void flush(struct sampler *s)
{
	int error;

	sigprocmask(SIG_SETMASK, &s->open, NULL);
	error = out_flush(s->out);
	sigprocmask(SIG_BLOCK, &s->ours, NULL);
	if (error == 0)
		return;
	s->lost = s->done = true;
	if (error == EINTR && interrupted(s))
		return;
	say("write error: %s", strerror(error));
	s->end.failed = true;
}

static void put_stamp(const struct sampler *s)
{
	time_t now = time(NULL);
	char text[64];
	struct tm tm;

	if (s->config->stamp == 'u') {
		fprintf(s->out->file, "%lld\n", (long long)now);
	} else if (s->config->stamp == 'd') {
		strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Z %Y", localtime_r(&now, &tm));
		fprintf(s->out->file, "%s\n", text);
	}
}

/* A row for each unit that has counts. */
static void put_sample(struct sampler *s, size_t k)
{
	for (size_t u = 0; u < s->units.n; u++) {
		const struct unit *unit = &s->units.unit[u];
		struct row row = {
			.time_ns = s->last_ns,
			.id = unit->id,
			.event = "tick",
			.data = ROW_COUNTS,
			.buf = s->turn[k].sum[u],
			.set = k,
			.mean_of = s->config->means ? unit->counted : 0,
			.incomplete = unit->counted < unit->ncpus,
		};

		if (unit->counted > 0)
			out_row(s->out, &row);
	}
}

/* Totals over all CPUs; the cpu column has the number of those counted to the end. */
static void put_totals(struct sampler *s)
{
	for (size_t k = 0; k < s->grp->n; k++) {
		const struct row row = {
			.time_ns = s->last_ns,
			.id = (int)s->counters.nleft,
			.event = "total",
			.data = ROW_COUNTS,
			.buf = s->turn[k].total,
			.set = k,
			.incomplete = s->turn[k].incomplete,
		};

		out_row(s->out, &row);
	}
	flush(s);
}

/* ---- the schedule ------------------------------------------------------- */

/* Waits until `when_ns`.  False: a signal ended the wait. */
static bool wait_until(struct sampler *s, int64_t when_ns)
{
	struct timespec ts;
	int64_t left;

	while (!interrupted(s)) {
		left = when_ns - now_ns();
		ts.tv_sec = left > 0 ? left / NSEC : 0;
		ts.tv_nsec = left > 0 ? left % NSEC : 0;
		if (ppoll(NULL, 0, &ts, &s->open) == 0)
			return true;
	}
	return false;
}

/* The next time last + n * step that is not over yet. */
static int64_t next_deadline(int64_t last, int64_t step)
{
	int64_t late = now_ns() - (last + step);

	return last + step + (late > 0 ? (late / step + 1) * step : 0);
}

static bool start_turn(struct sampler *s, size_t k)
{
	if (counters_bind(&s->counters, k) == -1) {
		s->turn[k].incomplete = true;
		return false;
	}
	if (!s->started && s->config->header)
		out_header(s->out);
	if (!s->started)
		flush(s);
	s->started = true;
	return true;
}

static void end_turn(struct sampler *s, size_t k)
{
	size_t nleft = s->counters.nleft;

	counters_unbind(&s->counters, k);
	s->turn[k].incomplete |= s->counters.nleft < nleft;
}

static void add(struct sampler *s, size_t i, size_t k)
{
	struct turn *turn = &s->turn[k];
	size_t u = s->units.of[i];
	cpc_buf_t *counts = counters_sample(&s->counters, &s->counters.cpu[i], k);

	if (counts == NULL) {
		turn->incomplete = true;
		return;
	}
	cpc_buf_add(s->cpc, turn->sum[u], turn->sum[u], counts);
	cpc_buf_add(s->cpc, turn->total, turn->total, counts);
	s->units.unit[u].counted++;
}

/* Samples all CPUs before any row is written, so that the samples are close together. */
static void sample_all(struct sampler *s, size_t k)
{
	s->last_ns = now_ns() - s->start_ns;
	for (size_t u = 0; u < s->units.n; u++) {
		cpc_buf_zero(s->cpc, s->turn[k].sum[u]);
		s->units.unit[u].counted = 0;
	}
	for (size_t i = 0; i < s->counters.n; i++)
		add(s, i, k);
	if (s->counters.nleft > 0) {
		put_stamp(s);
		put_sample(s, k);
		flush(s);
	}
}

/* There is only one set: keep it bound, but try CPUs that are away. */
static void keep_bound(struct sampler *s, size_t k)
{
	if (s->counters.nleft == s->counters.n)
		return;
	if (s->last_ns >= s->retry_ns) {
		s->retry_ns = s->last_ns + RETRY_NS;
		counters_retry(&s->counters, k);
	}
	s->done = s->counters.nleft == 0;
}

static void run(struct sampler *s)
{
	const struct sampler_config *config = s->config;
	int64_t round_ns = (int64_t)s->grp->n * config->interval_ns;
	bool rests = config->period_ns > round_ns;
	bool rotates = rests || s->grp->n > 1;
	int64_t round = s->start_ns, deadline = round;
	unsigned left = config->count;
	size_t k = 0;

	if (!start_turn(s, k))
		return;
	while (!s->done) {
		bool round_over = k + 1 == s->grp->n;

		deadline = next_deadline(deadline, config->interval_ns);
		wait_until(s, deadline);
		sample_all(s, k);
		if (left > 0 && (round_over || config->period_ns == 0) && --left == 0)
			break;
		if (s->done)
			break;
		if (!rotates) {
			keep_bound(s, k);
			continue;
		}
		end_turn(s, k);
		k = round_over ? 0 : k + 1;
		if (round_over && rests) {
			round = next_deadline(round, config->period_ns);
			if (!wait_until(s, round))
				return;
			deadline = round;
		}
		if (!start_turn(s, k))
			return;
	}
	end_turn(s, k);
}

/* ---- the run ------------------------------------------------------------- */

static cpc_buf_t *make_sum(const struct sampler *s, size_t k)
{
	cpc_buf_t *buf = cpc_buf_create(s->cpc, s->grp->set[k].set);

	if (buf == NULL)
		die("%s", strerror(errno));
	return buf;
}

static void make_turns(struct sampler *s)
{
	s->turn = xcalloc(s->grp->n, sizeof(*s->turn));
	for (size_t k = 0; k < s->grp->n; k++) {
		struct turn *turn = &s->turn[k];

		turn->total = make_sum(s, k);
		turn->sum = xcalloc(s->units.n, sizeof(cpc_buf_t *));
		for (size_t u = 0; u < s->units.n; u++)
			turn->sum[u] = make_sum(s, k);
	}
}

static void free_turns(struct sampler *s)
{
	for (size_t k = 0; k < s->grp->n; k++) {
		cpc_buf_destroy(s->cpc, s->turn[k].total);
		for (size_t u = 0; u < s->units.n; u++)
			cpc_buf_destroy(s->cpc, s->turn[k].sum[u]);
		free(s->turn[k].sum);
	}
	free(s->turn);
}

struct sampler_end sampler_run(const struct sampler_config *config, cpc_t *cpc,
			       const struct setgrp *grp, const struct out *out)
{
	struct sampler s = {.config = config, .cpc = cpc, .grp = grp, .out = out};
	struct cpus cpus = cpus_find(cpc, grp);
	uint_t flags = CPC_BIND_CPU_REMOTE | (config->shared ? CPC_BIND_CPU_SHARED : 0);

	s.counters =
		(struct counters){.cpc = cpc, .grp = grp, .flags = flags, .soak = config->soak};
	counters_make(&s.counters, &cpus);
	s.units = units_find(SYSFS, config->unit, &cpus);
	make_turns(&s);
	catch_signals(&s);

	s.start_ns = now_ns();
	run(&s);
	if (s.started && !s.lost)
		put_totals(&s);
	s.end.failed |= s.counters.failed;
	free_turns(&s);
	units_free(&s.units);
	counters_free(&s.counters);
	free(cpus.id);
	return s.end;
}
