/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * bound.c - the CPUs whose counts are divided among keys: bound, lost, and bound again.
 */
#include "bound.h"

#include "../../../libcpc/set/counter.h"
#include "../../base/say.h"
#include "../../base/util.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdlib.h>

static void lose(struct bound *b, unsigned cpu, const char *reason)
{
	say("cpu%u - %s", cpu, reason);
	b->state[cpu] = BOUND_LOST;
	b->meter->nleft--;
	b->meter->status = STATUS_FAILED;
}

static void gain(struct bound *b, unsigned cpu)
{
	const enum bound_state before = b->state[cpu];

	if (before == BOUND_COUNTED)
		return;
	say("cpu%u - %s", cpu,
	    before == BOUND_LOST ? "counted again" : "came online, and is counted from now on");
	if (before == BOUND_ABSENT)
		b->meter->n++;
	b->meter->nleft++;
	b->state[cpu] = BOUND_COUNTED;
}

/* Binding failed with `error`.  False: it would fail on all CPUs. */
static bool bind_failed(struct bound *b, unsigned cpu, int error)
{
	if (error == ENOSYS) {
		if (b->state[cpu] == BOUND_COUNTED)
			lose(b, cpu, CPUS_OFFLINE);
		return true;
	}
	if (error != EAGAIN)
		return false;
	if (b->state[cpu] == BOUND_COUNTED)
		lose(b, cpu, cpcerr_text());
	return true;
}

/* The first set: later ones should have as many CPUs. */
static bool bind_first(struct bound *b, cpc_set_t *set)
{
	b->meter->n = b->meter->nleft = 0;
	b->state = xcalloc(b->percpu.n, sizeof(*b->state));
	for (unsigned cpu = 0; cpu < b->percpu.n; cpu++) {
		if (!b->percpu.possible[cpu])
			continue;
		if (percpu_bind_cpu(&b->percpu, b->cpc, set, 0, cpu)) {
			b->state[cpu] = BOUND_COUNTED;
			b->meter->n = ++b->meter->nleft;
		} else if (errno != ENOSYS) {
			return false;
		}
	}
	return true;
}

static bool bind_later(struct bound *b, cpc_set_t *set)
{
	for (unsigned cpu = 0; cpu < b->percpu.n; cpu++) {
		if (!b->percpu.possible[cpu])
			continue;
		if (percpu_bind_cpu(&b->percpu, b->cpc, set, 0, cpu))
			gain(b, cpu);
		else if (!bind_failed(b, cpu, errno))
			return false;
	}
	return true;
}

bool bound_bind(struct bound *b, cpc_set_t *set, char *why, size_t size)
{
	if (!percpu_find(&b->percpu, why, size))
		return false;
	for (unsigned cpu = 0; cpu < b->percpu.n; cpu++)
		b->percpu.possible[cpu] &= !b->is_omitted[cpu];
	if (b->state == NULL ? bind_first(b, set) : bind_later(b, set))
		return b->meter->nleft > 0; /* of each lost CPU a message was printed */
	strlcpy(why, errno == EACCES || errno == EPERM ? lwps_denied() : cpcerr_text(), size);
	return false;
}

void bound_unbind(struct bound *b)
{
	percpu_unbind(&b->percpu, b->cpc);
	b->percpu = (struct percpu){0};
}

void bound_free(struct bound *b)
{
	bound_unbind(b);
	free(b->state);
}

void bound_fds(const struct bound *b, unsigned cpu, unsigned ncounters, int *fd, size_t stride)
{
	struct cpc_counter counter[LWPS_MAX_COLUMNS];
	const cpc_set_t *set = b->percpu.set[cpu];

	if (set != NULL)
		cpc_set_counters(b->cpc, set, counter, ncounters);
	for (unsigned i = 0; i < ncounters; i++)
		fd[i * stride] = set != NULL ? counter[i].fd : -1;
}

static void lose_counters(struct bound *b, unsigned cpu, cpc_buf_t *buf)
{
	cpc_set_t *set = b->percpu.set[cpu];
	char reason[CPUS_REASON];
	/* A CPU that has returned since looks the same to BPF programs, but not to a sample. */
	const int error = cpc_set_sample(b->cpc, set, buf) == -1 ? errno : EAGAIN;

	cpus_lost_reason(b->cpc, set, error, reason, sizeof(reason));
	lose(b, cpu, reason);
}

void bound_watch(struct bound *b, const struct account *account, const bool *online, cpc_buf_t *buf)
{
	for (unsigned cpu = 0; cpu < b->percpu.n; cpu++) {
		if (b->state[cpu] == BOUND_COUNTED && !online[cpu]) {
			lose(b, cpu, CPUS_OFFLINE);
		} else if (b->state[cpu] == BOUND_COUNTED && account_lost(account, cpu)) {
			lose_counters(b, cpu, buf);
		} else if (b->state[cpu] == BOUND_ABSENT && online[cpu]) {
			b->state[cpu] = BOUND_NEW;
			b->meter->n++;
			b->meter->status = STATUS_FAILED;
		}
	}
}

void bound_retry(struct bound *b, struct account *account, cpc_set_t *set, unsigned ncounters)
{
	int fd[LWPS_MAX_COLUMNS];

	for (unsigned cpu = 0; cpu < b->percpu.n; cpu++) {
		if (b->state[cpu] != BOUND_LOST && b->state[cpu] != BOUND_NEW)
			continue;
		if (!percpu_bind_cpu(&b->percpu, b->cpc, set, 0, cpu))
			continue;
		for (unsigned i = 0; i < LWPS_MAX_COLUMNS; i++)
			fd[i] = -1;
		bound_fds(b, cpu, ncounters, fd, 1);
		if (account_renew(account, cpu, fd) == 0)
			gain(b, cpu);
	}
}
