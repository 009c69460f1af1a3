/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * busy.c - the event busy-time: how long each CPU ran anything but its idle task.
 *
 * A perf event of a CPU cannot leave out the idle task.  BPF programs charge each time between two
 * context switches to the task.
 */
#include "busy.h"

#include "../../../liblwps/account.h"
#include "../../base/util.h"
#include "../../program/percpu.h"

#include <errno.h>
#include <stdlib.h>

#define NSLOTS 8 /* those with a fixed use, and some */

struct busy {
	struct percpu cpus;
	struct account *account;
};

struct busy *busy_open(char *why, size_t size)
{
	struct busy *busy = xcalloc(1, sizeof(*busy));
	struct account_config config = {.by = ACCOUNT_BY_NOTHING, .ncolumns = 1, .nslots = NSLOTS};
	int *fd;

	if (percpu_find(&busy->cpus, why, size)) {
		fd = xcalloc(busy->cpus.n, sizeof(*fd));
		for (unsigned i = 0; i < busy->cpus.n; i++)
			fd[i] = -1;
		config.ncpus = busy->cpus.n;
		config.is_counted = busy->cpus.possible;
		config.column[0].kind = LWPS_CLOCK;
		config.column[0].fd = fd;
		busy->account = account_open(&config, why, size);
		free(fd);
	}
	if (busy->account != NULL)
		return busy;
	busy_close(busy);
	return NULL;
}

void busy_close(struct busy *busy)
{
	if (busy == NULL)
		return;
	account_close(busy->account);
	percpu_unbind(&busy->cpus, NULL);
	free(busy);
}

int busy_read(struct busy *busy, int cpu, uint64_t *ns, bool *incomplete)
{
	unsigned flaws;
	uint64_t idle_ns;

	if ((unsigned)cpu >= busy->cpus.n) {
		errno = ENXIO;
		return -1;
	}
	if (account_flush_cpu(busy->account, (unsigned)cpu) == -1)
		return -1;
	flaws = account_read_cpu(busy->account, ACCOUNT_IDLE, (unsigned)cpu, &idle_ns);
	flaws |= account_read_cpu(busy->account, ACCOUNT_KERNEL, (unsigned)cpu, ns);
	*incomplete |= flaws != 0;
	return 0;
}
