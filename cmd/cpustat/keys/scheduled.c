/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * scheduled.c - the events of the scheduler on whole CPUs.
 *
 * A perf event of a CPU cannot leave out the idle task, nor count waits and preemptions.  BPF
 * programs charge each time between two context switches to the task.
 */
#include "scheduled.h"

#include "../../../liblwps/account.h"
#include "../../base/util.h"
#include "../../program/percpu.h"

#include <errno.h>
#include <stdlib.h>

#define NSLOTS 8 /* those with a fixed use, and some */

struct scheduled {
	struct percpu cpus;
	unsigned events;
	struct account *account;
};

static const enum lwps_kind kinds[SCHEDULED_N] = {LWPS_CLOCK, LWPS_DELAY, LWPS_PREEMPT};

static bool has(const struct scheduled *scheduled, unsigned i)
{
	return (scheduled->events >> i & 1) != 0;
}

struct scheduled *scheduled_open(unsigned events, char *why, size_t size)
{
	struct scheduled *scheduled = xcalloc(1, sizeof(*scheduled));
	struct account_config config = {.by = ACCOUNT_BY_NOTHING, .nslots = NSLOTS};
	int *fd;

	scheduled->events = events;
	if (percpu_find(&scheduled->cpus, why, size)) {
		fd = xcalloc(scheduled->cpus.n, sizeof(*fd));
		for (unsigned i = 0; i < scheduled->cpus.n; i++)
			fd[i] = -1;
		config.ncpus = scheduled->cpus.n;
		config.is_counted = scheduled->cpus.possible;
		for (unsigned i = 0; i < SCHEDULED_N; i++) {
			if (has(scheduled, i))
				config.column[config.ncolumns++] =
					(struct lwps_column){.kind = kinds[i], .fd = fd};
		}
		scheduled->account = account_open(&config, why, size);
		free(fd);
	}
	if (scheduled->account != NULL)
		return scheduled;
	scheduled_close(scheduled);
	return NULL;
}

void scheduled_close(struct scheduled *scheduled)
{
	if (scheduled == NULL)
		return;
	account_close(scheduled->account);
	percpu_unbind(&scheduled->cpus, NULL);
	free(scheduled);
}

unsigned scheduled_events(const struct scheduled *scheduled)
{
	return scheduled->events;
}

int scheduled_read(struct scheduled *scheduled, int cpu, uint64_t count[SCHEDULED_N],
		   bool *incomplete)
{
	uint64_t idle[SCHEDULED_N], column[SCHEDULED_N];
	unsigned flaws, n = 0;

	if ((unsigned)cpu >= scheduled->cpus.n) {
		errno = ENXIO;
		return -1;
	}
	if (account_flush_cpu(scheduled->account, (unsigned)cpu) == -1)
		return -1;
	flaws = account_read_cpu(scheduled->account, ACCOUNT_IDLE, (unsigned)cpu, idle);
	flaws |= account_read_cpu(scheduled->account, ACCOUNT_KERNEL, (unsigned)cpu, column);
	*incomplete |= flaws != 0;
	for (unsigned i = 0; i < SCHEDULED_N; i++)
		count[i] = has(scheduled, i) ? column[n++] : 0;
	return 0;
}
