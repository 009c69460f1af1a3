/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counters.c - binds sets to CPUs, samples them, and notices when a CPU is lost.
 */
#include "meters.h"

#include "../base/progress.h"
#include "../base/say.h"
#include "../base/util.h"
#include "../program/split.h"
#include "soaker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cpu_state {
	CPU_COUNTED, /* the bound set counts on it */
	CPU_LOST,    /* it went offline or lost its counters; it is retried */
	CPU_FAILED,  /* it is not retried */
};

struct bound_set {
	cpc_set_t *set;
	cpc_buf_t *before; /* the previous sample */
	cpc_buf_t *now;	   /* the counts since then */
};

struct cpu {
	int id;
	enum cpu_state state;
	struct bound_set *set; /* one per set of the group */
	struct soaker *soaker;
	bool known;	 /* it was counted in the current sample */
	bool incomplete; /* and a count of the scheduler's events in it is unknown */
};

/* The counters of a set in the kernel. */
struct kernel_counters {
	unsigned n;
	struct cpc_counter *counter;
};

/* Binds one set of the group at a time to all CPUs. */
struct counters {
	struct meter meter;
	cpc_t *cpc;
	const struct setgrp *grp;
	uint_t flags; /* of cpc_bind_cpu(3) */
	bool soak;
	struct scheduled *scheduled;	  /* or NULL */
	struct kernel_counters *counters; /* one per set of the group */
	struct cpu *cpu;		  /* ascending */
};

static void make_cpus(struct counters *c, const struct cpus *cpus)
{
	c->meter.n = c->meter.nleft = cpus->n;
	c->cpu = xcalloc(cpus->n, sizeof(*c->cpu));
	for (size_t i = 0; i < cpus->n; i++) {
		struct cpu *cpu = &c->cpu[i];

		cpu->id = cpus->id[i];
		cpu->set = xcalloc(c->grp->n, sizeof(*cpu->set));
		for (size_t k = 0; k < c->grp->n; k++) {
			cpu->set[k].set = xmade(cpc_set_dup(c->cpc, c->grp->set[k].set));
			cpu->set[k].before = xmade(cpc_buf_create(c->cpc, c->grp->set[k].set));
			cpu->set[k].now = xmade(cpc_buf_create(c->cpc, c->grp->set[k].set));
		}
	}
}

static void find_counters(struct counters *c)
{
	c->counters = xcalloc(c->grp->n, sizeof(*c->counters));
	for (size_t k = 0; k < c->grp->n; k++) {
		struct kernel_counters *counters = &c->counters[k];
		cpc_set_t *set = c->grp->set[k].set;

		counters->n = (unsigned)cpc_set_counters(c->cpc, set, NULL, 0);
		counters->counter = xcalloc(counters->n + 1, sizeof(*counters->counter));
		cpc_set_counters(c->cpc, set, counters->counter, counters->n);
	}
}

/* Soaker threads are not freed: they sleep until the program ends. */
static void counters_free(struct meter *meter)
{
	struct counters *c = (struct counters *)meter;

	for (size_t i = 0; i < c->meter.n; i++) {
		for (size_t k = 0; k < c->grp->n; k++) {
			cpc_set_destroy(c->cpc, c->cpu[i].set[k].set);
			cpc_buf_destroy(c->cpc, c->cpu[i].set[k].before);
			cpc_buf_destroy(c->cpc, c->cpu[i].set[k].now);
		}
		free(c->cpu[i].set);
	}
	for (size_t k = 0; k < c->grp->n; k++)
		free(c->counters[k].counter);
	free(c->counters);
	free(c->cpu);
	free(c);
}

static void drop(struct counters *c, struct cpu *cpu, enum cpu_state state, const char *reason)
{
	say("cpu%d - %s", cpu->id, reason);
	cpu->state = state;
	c->meter.nleft--;
	c->meter.status = STATUS_FAILED;
}

/* Sampling the CPU failed with `error`. */
static void drop_lost(struct counters *c, struct cpu *cpu, cpc_set_t *set, int error)
{
	char reason[CPUS_REASON];

	cpus_lost_reason(c->cpc, set, error, reason, sizeof(reason));
	drop(c, cpu, CPU_LOST, reason);
}

static void unbind_one(struct counters *c, struct cpu *cpu, size_t k)
{
	if (cpu->soaker != NULL)
		soaker_stop(cpu->soaker);
	cpc_unbind(c->cpc, cpu->set[k].set);
}

/* Binding to the CPU failed with `error`.  -1: it would fail on all CPUs; the run ends. */
static int bind_failed(struct counters *c, struct cpu *cpu, size_t k, int error)
{
	struct cpus here = {.n = 1, .id = &cpu->id};
	const struct split_trial trial = {.counts = cpus_count, .arg = &here};

	if (cpu->state == CPU_LOST)
		return 0; /* already reported */
	if (error == ENOSYS) {
		drop(c, cpu, CPU_LOST, CPUS_OFFLINE);
	} else if (error == EAGAIN) {
		drop(c, cpu, CPU_FAILED, cpcerr_text());
	} else {
		c->meter.status = split_refuse(c->cpc, &c->grp->set[k], &trial);
		return -1;
	}
	return 0;
}

/* Adds the counts of the scheduler's events to those of set `k`.  -1: unknown; see errno. */
static int add_scheduled(struct counters *c, struct cpu *cpu, size_t k, cpc_buf_t *buf)
{
	const struct kernel_counters *counters = &c->counters[k];
	uint64_t count[SCHEDULED_N], part, sum;

	if (c->scheduled == NULL)
		return 0;
	if (scheduled_read(c->scheduled, cpu->id, count, &cpu->incomplete) == -1) {
		errno = errno == ENXIO ? ENOSYS : errno; /* offline, as libcpc says it */
		return -1;
	}
	for (unsigned i = 0; i < counters->n; i++) {
		const struct cpc_counter *counter = &counters->counter[i];

		if (!cpc_is_sched_event(counter->attr))
			continue;
		part = count[counter->attr->config - CPC_SCHED_BUSY_TIME];
		cpc_buf_get(c->cpc, buf, counter->index, &sum);
		cpc_buf_set(c->cpc, buf, counter->index, counter->minus ? sum - part : sum + part);
	}
	return 0;
}

/* Starts the soaker before the counters, so that they count no idle time. */
static int bind_one(struct counters *c, struct cpu *cpu, size_t k)
{
	bool soak = c->soak && c->grp->set[k].system_only;
	int no_soaker = soak ? soaker_start(&cpu->soaker, cpu->id) : 0;

	cpc_buf_zero(c->cpc, cpu->set[k].before);
	progress_idle();
	read_time_add(&c->meter.at, now_ns());
	if (cpc_bind_cpu(c->cpc, cpu->id, cpu->set[k].set, c->flags) == -1) {
		int error = errno;

		if (soak && no_soaker == 0)
			soaker_stop(cpu->soaker);
		return bind_failed(c, cpu, k, error);
	}
	if (add_scheduled(c, cpu, k, cpu->set[k].before) == -1) {
		int error = errno;

		cpc_unbind(c->cpc, cpu->set[k].set);
		if (cpu->state != CPU_LOST)
			drop_lost(c, cpu, cpu->set[k].set, error);
		return 0;
	}
	cpu->incomplete = false; /* flaws before this moment do not matter */
	setgrp_report_clones(c->cpc, &c->grp->set[k], cpu->set[k].set);
	if (cpu->state == CPU_LOST) {
		say("cpu%d - counted again", cpu->id);
		cpu->state = CPU_COUNTED;
		c->meter.nleft++;
	}
	if (no_soaker != 0) {
		char reason[128];

		snprintf(reason, sizeof(reason), "cannot keep the CPU busy (-s): %s",
			 strerror(no_soaker));
		cpc_unbind(c->cpc, cpu->set[k].set);
		drop(c, cpu, CPU_FAILED, reason);
	}
	return 0;
}

static int counters_bind(struct meter *meter, size_t k)
{
	struct counters *c = (struct counters *)meter;

	for (size_t i = 0; i < meter->n; i++) {
		if (c->cpu[i].state != CPU_FAILED && bind_one(c, &c->cpu[i], k) == -1)
			return -1;
	}
	return meter->nleft > 0 ? 0 : -1;
}

static void counters_retry(struct meter *meter, size_t k)
{
	struct counters *c = (struct counters *)meter;

	for (size_t i = 0; i < meter->n; i++) {
		if (c->cpu[i].state == CPU_LOST)
			bind_one(c, &c->cpu[i], k);
	}
}

/* Gets the counts of set `k` on a CPU since it was bound or last sampled. */
static void sample_one(struct counters *c, struct cpu *cpu, size_t k)
{
	struct bound_set *set = &cpu->set[k];

	cpu->known = false;
	if (cpu->state != CPU_COUNTED)
		return;
	cpu->incomplete = false;
	if (cpc_set_sample(c->cpc, set->set, set->now) == -1 ||
	    add_scheduled(c, cpu, k, set->now) == -1) {
		drop_lost(c, cpu, set->set, errno);
		unbind_one(c, cpu, k);
		return;
	}
	read_time_add(&c->meter.at, cpc_buf_hrtime(c->cpc, set->now));
	cpc_buf_sub(c->cpc, set->now, set->now, set->before);
	cpc_buf_add(c->cpc, set->before, set->before, set->now);
	cpu->known = true;
}

/* Samples all CPUs before their rows are put, so that the samples are close together. */
static int counters_sample(struct meter *meter, size_t k)
{
	struct counters *c = (struct counters *)meter;

	for (size_t i = 0; i < meter->n; i++)
		sample_one(c, &c->cpu[i], k);
	return 0;
}

static bool counters_put(struct meter *meter, size_t k, struct sampler *sampler)
{
	struct counters *c = (struct counters *)meter;
	bool whole = true;

	for (size_t i = 0; i < meter->n; i++) {
		const struct cpu *cpu = &c->cpu[i];
		struct row row = {
			.id = cpu->id, .ncpus = cpu->known, .incomplete = cpu->incomplete};

		whole &= cpu->known && !cpu->incomplete;
		sampler_put(sampler, &row, k, cpu->known ? cpu->set[k].now : NULL);
	}
	return whole;
}

/* Takes a last sample: only this shows counters that were lost since the previous one. */
static void counters_unbind(struct meter *meter, size_t k)
{
	struct counters *c = (struct counters *)meter;

	for (size_t i = 0; i < meter->n; i++) {
		sample_one(c, &c->cpu[i], k);
		if (c->cpu[i].known)
			unbind_one(c, &c->cpu[i], k);
	}
}

struct meter *counters_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			    struct scheduled *scheduled, bool shared, bool soak)
{
	static const struct meter_ops ops = {.bind = counters_bind,
					     .unbind = counters_unbind,
					     .sample = counters_sample,
					     .put = counters_put,
					     .retry = counters_retry,
					     .free = counters_free};
	struct counters *c = xcalloc(1, sizeof(*c));

	*c = (struct counters){
		.meter.ops = &ops, .cpc = cpc, .grp = grp, .soak = soak, .scheduled = scheduled};
	c->flags = CPC_BIND_CPU_REMOTE | (shared ? CPC_BIND_CPU_SHARED : 0);
	make_cpus(c, cpus);
	find_counters(c);
	return &c->meter;
}
