/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sampler.c - samples sets on many CPUs by one schedule.
 *
 * One thread reads all CPUs: the kernel fetches the values of another CPU faster
 * than a thread of ours could be woken there.
 */
#include "sampler.h"

#include "../common/util.h"
#include "cpus.h"
#include "soaker.h"

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A set on a CPU. */
struct bound {
	cpc_set_t *set;
	cpc_buf_t *before; /* the last sample of this turn */
	cpc_buf_t *total;  /* of all samples */
};

struct cpu {
	int id;
	bool failed;
	struct bound *bound; /* one per set */
};

struct sampler {
	const struct sampler_config *config;
	cpc_t *cpc;
	const struct setgrp *grp;
	const struct out *out;
	struct cpus cpus;
	struct cpu *cpu;	   /* one for each of them */
	cpc_buf_t **now;	   /* a sample in the making, per set */
	int64_t start_ns, last_ns; /* of the run, and of its last sample */
	sigset_t signals;
	struct soaker *soaker; /* NULL: none runs */
	struct sampler_end end;
	bool started; /* the header is out */
	bool lost;    /* output failed */
	bool done;
};

/* ---- sets ---------------------------------------------------------------- */

static void make_sets(struct sampler *s)
{
	s->cpu = xcalloc(s->cpus.n, sizeof(*s->cpu));
	for (size_t i = 0; i < s->cpus.n; i++) {
		struct cpu *cpu = &s->cpu[i];

		cpu->id = s->cpus.id[i];
		cpu->bound = xcalloc(s->grp->n, sizeof(*cpu->bound));
		for (size_t k = 0; k < s->grp->n; k++) {
			cpu->bound[k].set = cpc_set_dup(s->cpc, s->grp->set[k].set);
			cpu->bound[k].before = cpc_buf_create(s->cpc, s->grp->set[k].set);
			cpu->bound[k].total = cpc_buf_create(s->cpc, s->grp->set[k].set);
			if (cpu->bound[k].set == NULL || cpu->bound[k].before == NULL ||
			    cpu->bound[k].total == NULL)
				err(STATUS_FAILED, NULL);
		}
	}
	s->now = xcalloc(s->grp->n, sizeof(*s->now));
	for (size_t k = 0; k < s->grp->n; k++) {
		s->now[k] = cpc_buf_create(s->cpc, s->grp->set[k].set);
		if (s->now[k] == NULL)
			err(STATUS_FAILED, NULL);
	}
}

static void free_sets(struct sampler *s)
{
	for (size_t i = 0; i < s->cpus.n; i++) {
		for (size_t k = 0; k < s->grp->n; k++) {
			cpc_set_destroy(s->cpc, s->cpu[i].bound[k].set);
			cpc_buf_destroy(s->cpc, s->cpu[i].bound[k].before);
			cpc_buf_destroy(s->cpc, s->cpu[i].bound[k].total);
		}
		free(s->cpu[i].bound);
	}
	for (size_t k = 0; k < s->grp->n; k++)
		cpc_buf_destroy(s->cpc, s->now[k]);
	free(s->now);
	free(s->cpus.id);
	free(s->cpu);
}

/* ---- binding and sampling ----------------------------------------------- */

/* A CPU that fails is left out from now on. */
static void cpu_failed(struct sampler *s, struct cpu *cpu, const char *why)
{
	warnx("cpu%d - %s", cpu->id, why);
	cpu->failed = true;
	s->end.failed = true;
}

/* What goes wrong on one CPU only, so that the others are worth going on with. */
static bool only_here(int error)
{
	return error == EAGAIN || error == ENOSYS;
}

static void flush(struct sampler *s)
{
	int error = out_flush(s->out);

	if (error != 0) {
		errno = error;
		warn("write error");
		s->end.failed = s->done = s->lost = true;
	}
}

static void bind_all(struct sampler *s, size_t k)
{
	uint_t flags = CPC_BIND_CPU_REMOTE | (s->config->shared ? CPC_BIND_CPU_SHARED : 0);
	size_t nfailed = 0;

	for (size_t i = 0; i < s->cpus.n && !s->done; i++) {
		struct cpu *cpu = &s->cpu[i];

		if (!cpu->failed && cpc_bind_cpu(s->cpc, cpu->id, cpu->bound[k].set, flags) == -1) {
			if (only_here(errno)) {
				cpu_failed(s, cpu, cpcerr_text());
			} else {
				warnx("%s", cpcerr_text());
				s->end.failed = s->done = true;
			}
		}
		nfailed += cpu->failed;
	}
	s->done |= nfailed == s->cpus.n;
	if (s->done || s->started)
		return;
	s->started = true;
	if (s->config->header)
		out_header(s->out);
	flush(s);
}

static void unbind_all(struct sampler *s, size_t k)
{
	for (size_t i = 0; i < s->cpus.n; i++) {
		if (!s->cpu[i].failed)
			cpc_unbind(s->cpc, s->cpu[i].bound[k].set);
	}
}

static const char *why_no_sample(int error)
{
	switch (error) {
	case EAGAIN:
		return "perf counter contents invalidated";
	case ENOSYS:
		return "the CPU went offline";
	default:
		return strerror(error);
	}
}

/* A row of what a set counted on a CPU since the last sample of this turn. */
static void sample_cpu(struct sampler *s, struct cpu *cpu, size_t k, int64_t time_ns)
{
	struct row row = {
		.id = cpu->id, .event = "tick", .data = ROW_COUNTS, .set = k, .time_ns = time_ns};
	cpc_buf_t *now = s->now[k], *before = cpu->bound[k].before;

	if (cpc_set_sample(s->cpc, cpu->bound[k].set, now) == -1) {
		int error = errno;

		cpc_unbind(s->cpc, cpu->bound[k].set);
		cpu_failed(s, cpu, why_no_sample(error));
		return;
	}
	cpc_buf_sub(s->cpc, now, now, before);
	cpc_buf_add(s->cpc, cpu->bound[k].total, cpu->bound[k].total, now);
	cpc_buf_add(s->cpc, before, before, now);
	row.buf = now;
	out_row(s->out, &row);
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

/* Rows of the totals: sums over the CPUs, whose number they give. */
static void put_totals(struct sampler *s)
{
	for (size_t k = 0; k < s->grp->n; k++) {
		struct row row = {.event = "total", .data = ROW_COUNTS, .set = k, .buf = s->now[k]};

		cpc_buf_zero(s->cpc, row.buf);
		for (size_t i = 0; i < s->cpus.n; i++) {
			const struct cpu *cpu = &s->cpu[i];

			cpc_buf_add(s->cpc, row.buf, row.buf, cpu->bound[k].total);
			row.id += !cpu->failed;
			row.incomplete |= cpu->failed;
		}
		row.time_ns = s->last_ns;
		out_row(s->out, &row);
	}
	flush(s);
}

/* ---- the schedule ------------------------------------------------------- */

/* Waits until a time, or for a signal that ends the run; false then. */
static bool wait_until(struct sampler *s, int64_t when_ns)
{
	struct timespec ts;
	int64_t left;
	int sig;

	for (;;) {
		left = when_ns - now_ns();
		ts.tv_sec = left > 0 ? left / NSEC : 0;
		ts.tv_nsec = left > 0 ? left % NSEC : 0;
		sig = sigtimedwait(&s->signals, NULL, &ts);
		if (sig > 0) {
			s->end.signal = sig;
			s->done = true;
			return false;
		}
		if (errno == EAGAIN)
			return true;
	}
}

/* The first time on a schedule of `step` after `last` that is still to come. */
static int64_t next_deadline(int64_t last, int64_t step)
{
	int64_t late = now_ns() - (last + step);

	return last + step + (late > 0 ? (late / step + 1) * step : 0);
}

static void start_turn(struct sampler *s, size_t k)
{
	for (size_t i = 0; i < s->cpus.n; i++)
		cpc_buf_zero(s->cpc, s->cpu[i].bound[k].before);
	bind_all(s, k);
	if (s->done || !s->config->soak || !s->grp->set[k].system_only)
		return;
	s->soaker = soaker_start(s->cpus.id, s->cpus.n);
	if (s->soaker == NULL) {
		warn("cannot keep the CPUs from idling (-s)");
		s->end.failed = s->done = true;
	}
}

static void end_turn(struct sampler *s, size_t k)
{
	if (s->soaker != NULL)
		soaker_stop(s->soaker);
	s->soaker = NULL;
	unbind_all(s, k);
}

static void sample_all(struct sampler *s, size_t k)
{
	int64_t time_ns = now_ns() - s->start_ns; /* one for all rows of a sample */
	bool any = false;

	s->last_ns = time_ns;
	put_stamp(s);
	for (size_t i = 0; i < s->cpus.n; i++) {
		if (!s->cpu[i].failed)
			sample_cpu(s, &s->cpu[i], k, time_ns);
		any |= !s->cpu[i].failed;
	}
	flush(s);
	s->done |= !any;
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

	start_turn(s, k);
	while (!s->done) {
		bool round_over = k + 1 == s->grp->n;

		deadline = next_deadline(deadline, config->interval_ns);
		wait_until(s, deadline);
		sample_all(s, k);
		if (left > 0 && (round_over || config->period_ns == 0) && --left == 0)
			break;
		if (s->done || !rotates)
			continue;
		end_turn(s, k);
		k = round_over ? 0 : k + 1;
		if (round_over && rests) {
			round = next_deadline(round, config->period_ns);
			if (!wait_until(s, round))
				return;
			deadline = round;
		}
		start_turn(s, k);
	}
	end_turn(s, k);
}

struct sampler_end sampler_run(const struct sampler_config *config, cpc_t *cpc,
			       const struct setgrp *grp, const struct out *out)
{
	struct sampler s = {.config = config, .cpc = cpc, .grp = grp, .out = out};
	struct sigaction hup;

	s.cpus = cpus_find(cpc, grp);
	make_sets(&s);
	sigemptyset(&s.signals);
	sigaddset(&s.signals, SIGINT);
	sigaddset(&s.signals, SIGTERM);
	/* Blocked, it would come even when it is ignored, as under nohup(1). */
	if (sigaction(SIGHUP, NULL, &hup) == 0 && hup.sa_handler != SIG_IGN)
		sigaddset(&s.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &s.signals, NULL);

	s.start_ns = now_ns();
	run(&s);
	if (s.started && !s.lost)
		put_totals(&s);
	free_sets(&s);
	return s.end;
}
