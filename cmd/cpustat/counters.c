/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counters.c - binds sets to CPUs, samples them, and notices when a CPU is lost.
 */
#include "counters.h"

#include "../base/say.h"
#include "../base/util.h"
#include "../program/split.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bound_set {
	cpc_set_t *set;
	cpc_buf_t *before; /* the previous sample */
};

cpc_buf_t *counters_new_buf(const struct counters *c, size_t k)
{
	cpc_buf_t *buf = cpc_buf_create(c->cpc, c->grp->set[k].set);

	if (buf == NULL)
		die("%s", strerror(errno));
	return buf;
}

void counters_make(struct counters *c, const struct cpus *cpus)
{
	c->n = c->nleft = cpus->n;
	c->cpu = xcalloc(c->n, sizeof(*c->cpu));
	for (size_t i = 0; i < c->n; i++) {
		struct cpu *cpu = &c->cpu[i];

		cpu->id = cpus->id[i];
		cpu->set = xcalloc(c->grp->n, sizeof(*cpu->set));
		for (size_t k = 0; k < c->grp->n; k++) {
			cpu->set[k].set = cpc_set_dup(c->cpc, c->grp->set[k].set);
			if (cpu->set[k].set == NULL)
				die("%s", strerror(errno));
			cpu->set[k].before = counters_new_buf(c, k);
		}
	}
	c->now = xcalloc(c->grp->n, sizeof(cpc_buf_t *));
	for (size_t k = 0; k < c->grp->n; k++)
		c->now[k] = counters_new_buf(c, k);
}

/* Soaker threads are not freed: they sleep until the program ends. */
void counters_free(struct counters *c)
{
	for (size_t i = 0; i < c->n; i++) {
		for (size_t k = 0; k < c->grp->n; k++) {
			cpc_set_destroy(c->cpc, c->cpu[i].set[k].set);
			cpc_buf_destroy(c->cpc, c->cpu[i].set[k].before);
		}
		free(c->cpu[i].set);
	}
	for (size_t k = 0; k < c->grp->n; k++)
		cpc_buf_destroy(c->cpc, c->now[k]);
	free(c->now);
	free(c->cpu);
}

static void drop(struct counters *c, struct cpu *cpu, enum cpu_state state, const char *reason)
{
	say("cpu%d - %s", cpu->id, reason);
	cpu->state = state;
	c->nleft--;
	c->failed = true;
}

#define OFFLINE "the CPU went offline"

/* Sampling the CPU failed with `error`. */
static void drop_lost(struct counters *c, struct cpu *cpu, cpc_set_t *set, int error)
{
	static const char invalidated[] = "perf counter contents invalidated";
	char holder[1024], reason[sizeof(invalidated) + 2 + sizeof(holder)];

	if (error == EAGAIN && cpc_set_lost(c->cpc, set, holder, sizeof(holder)) == 1)
		snprintf(reason, sizeof(reason), "%s: %s", invalidated, holder);
	else
		snprintf(reason, sizeof(reason), "%s",
			 error == EAGAIN   ? invalidated
			 : error == ENOSYS ? OFFLINE
					   : strerror(error));
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
		drop(c, cpu, CPU_LOST, OFFLINE);
	} else if (error == EAGAIN) {
		drop(c, cpu, CPU_FAILED, cpcerr_text());
	} else {
		c->wrong_spec = split_refuse(c->cpc, &c->grp->set[k], &trial) == STATUS_USAGE;
		c->failed = true;
		return -1;
	}
	return 0;
}

/* Starts the soaker before the counters, so that they count no idle time. */
static int bind_one(struct counters *c, struct cpu *cpu, size_t k)
{
	bool soak = c->soak && c->grp->set[k].system_only;
	int no_soaker = soak ? soaker_start(&cpu->soaker, cpu->id) : 0;

	cpc_buf_zero(c->cpc, cpu->set[k].before);
	if (cpc_bind_cpu(c->cpc, cpu->id, cpu->set[k].set, c->flags) == -1) {
		int error = errno;

		if (soak && no_soaker == 0)
			soaker_stop(cpu->soaker);
		return bind_failed(c, cpu, k, error);
	}
	if (cpu->state == CPU_LOST) {
		say("cpu%d - counted again", cpu->id);
		cpu->state = CPU_COUNTED;
		c->nleft++;
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

int counters_bind(struct counters *c, size_t k)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->cpu[i].state != CPU_FAILED && bind_one(c, &c->cpu[i], k) == -1)
			return -1;
	}
	return c->nleft > 0 ? 0 : -1;
}

void counters_retry(struct counters *c, size_t k)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->cpu[i].state == CPU_LOST)
			bind_one(c, &c->cpu[i], k);
	}
}

cpc_buf_t *counters_sample(struct counters *c, struct cpu *cpu, size_t k)
{
	cpc_buf_t *now = c->now[k], *before = cpu->set[k].before;

	if (cpu->state != CPU_COUNTED)
		return NULL;
	if (cpc_set_sample(c->cpc, cpu->set[k].set, now) == -1) {
		drop_lost(c, cpu, cpu->set[k].set, errno);
		unbind_one(c, cpu, k);
		return NULL;
	}
	cpc_buf_sub(c->cpc, now, now, before);
	cpc_buf_add(c->cpc, before, before, now);
	return now;
}

void counters_unbind(struct counters *c, size_t k)
{
	for (size_t i = 0; i < c->n; i++) {
		/* Only a sample shows that the counters were lost since the last one. */
		if (counters_sample(c, &c->cpu[i], k) != NULL)
			unbind_one(c, &c->cpu[i], k);
	}
}
