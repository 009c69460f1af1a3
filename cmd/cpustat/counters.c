/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * counters.c - sets on CPUs, and what becomes of them.
 */
#include "counters.h"

#include "../common/util.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counted {
	cpc_set_t *set;
	cpc_buf_t *before; /* the last sample */
};

static cpc_buf_t *make_buf(const struct counters *c, size_t k)
{
	cpc_buf_t *buf = cpc_buf_create(c->cpc, c->grp->set[k].set);

	if (buf == NULL)
		err(STATUS_FAILED, NULL);
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
				err(STATUS_FAILED, NULL);
			cpu->set[k].before = make_buf(c, k);
		}
	}
	c->now = xcalloc(c->grp->n, sizeof(cpc_buf_t *));
	for (size_t k = 0; k < c->grp->n; k++)
		c->now[k] = make_buf(c, k);
}

/* Soakers stay: their threads rest until the end. */
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

static void leave_out(struct counters *c, struct cpu *cpu, enum cpu_state state, const char *why)
{
	warnx("cpu%d - %s", cpu->id, why);
	cpu->state = state;
	c->nleft--;
	c->failed = true;
}

#define GONE "the CPU went offline"

/* By the error of a sample. */
static void lose(struct counters *c, struct cpu *cpu, cpc_set_t *set, int error)
{
	static const char invalidated[] = "perf counter contents invalidated";
	char others[1024], why[sizeof(invalidated) + 2 + sizeof(others)];

	if (error == EAGAIN && cpc_set_lost(c->cpc, set, others, sizeof(others)) == 1)
		snprintf(why, sizeof(why), "%s: %s", invalidated, others);
	else
		snprintf(why, sizeof(why), "%s",
			 error == EAGAIN   ? invalidated
			 : error == ENOSYS ? GONE
					   : strerror(error));
	leave_out(c, cpu, CPU_AWAY, why);
}

static void let_go(struct counters *c, struct cpu *cpu, size_t k)
{
	if (cpu->soaker != NULL)
		soaker_stop(cpu->soaker);
	cpc_unbind(c->cpc, cpu->set[k].set);
}

/* -1: what is wrong is so on all CPUs. */
static int refused(struct counters *c, struct cpu *cpu, int error)
{
	if (cpu->state == CPU_AWAY)
		return 0; /* so it was before */
	if (error == ENOSYS) {
		leave_out(c, cpu, CPU_AWAY, GONE);
	} else if (error == EAGAIN) {
		leave_out(c, cpu, CPU_FAILED, cpcerr_text());
	} else {
		warnx("%s", cpcerr_text());
		c->failed = true;
		return -1;
	}
	return 0;
}

/* The soaker runs before anything is counted, and not after that. */
static int bind_one(struct counters *c, struct cpu *cpu, size_t k)
{
	bool soak = c->soak && c->grp->set[k].system_only;
	int no_soaker = soak ? soaker_start(&cpu->soaker, cpu->id) : 0;

	cpc_buf_zero(c->cpc, cpu->set[k].before);
	if (cpc_bind_cpu(c->cpc, cpu->id, cpu->set[k].set, c->flags) == -1) {
		int error = errno;

		if (soak && no_soaker == 0)
			soaker_stop(cpu->soaker);
		return refused(c, cpu, error);
	}
	if (cpu->state == CPU_AWAY) {
		warnx("cpu%d - counted again", cpu->id);
		cpu->state = CPU_COUNTED;
		c->nleft++;
	}
	if (no_soaker != 0) {
		char why[128];

		snprintf(why, sizeof(why), "cannot be kept from idling (-s): %s",
			 strerror(no_soaker));
		cpc_unbind(c->cpc, cpu->set[k].set);
		leave_out(c, cpu, CPU_FAILED, why);
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
		if (c->cpu[i].state == CPU_AWAY)
			bind_one(c, &c->cpu[i], k);
	}
}

cpc_buf_t *counters_sample(struct counters *c, struct cpu *cpu, size_t k)
{
	cpc_buf_t *now = c->now[k], *before = cpu->set[k].before;

	if (cpu->state != CPU_COUNTED)
		return NULL;
	if (cpc_set_sample(c->cpc, cpu->set[k].set, now) == -1) {
		lose(c, cpu, cpu->set[k].set, errno);
		let_go(c, cpu, k);
		return NULL;
	}
	cpc_buf_sub(c->cpc, now, now, before);
	cpc_buf_add(c->cpc, before, before, now);
	return now;
}

void counters_unbind(struct counters *c, size_t k)
{
	for (size_t i = 0; i < c->n; i++) {
		/* Loss shows in the sample that follows it. */
		if (counters_sample(c, &c->cpu[i], k) != NULL)
			let_go(c, &c->cpu[i], k);
	}
}
