/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * account.c - attach the programs of divide.bpf.c, and read what they count.
 */
#include "account.h"

#include "explain.h"
#include "programs.h"
#include "slots.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct account {
	struct divide *skel;
	unsigned ncolumns, ncpus, nslots, nlines; /* lines: of a slot on one CPU */
	int change;				  /* the perf event of on_change(); -1: none */
	struct lwps_line *lines;
	struct account_owner *owners;
	uint64_t *recycled;
};

/* ---- load and attach ---- */

static unsigned lines_each(unsigned ncolumns)
{
	return (ACCOUNT_HEADER_WORDS + ncolumns + LWPS_LINE_WORDS - 1) / LWPS_LINE_WORDS;
}

/* -1: errno. */
static int configure(struct divide *skel, const struct account_config *config)
{
	struct divide__rodata *constant = skel->rodata;
	unsigned nrecycled = programs_round_up_pow2(config->nslots);
	int offset = 0;

	if (config->by == ACCOUNT_BY_CGROUP)
		offset = programs_cgroup_offset(config->hierarchy);
	if (offset < 0)
		return -1;
	constant->ncolumns = config->ncolumns;
	constant->ncpus = config->ncpus;
	constant->nslots = config->nslots;
	constant->nlines = lines_each(config->ncolumns);
	constant->recycle_mask = nrecycled - 1;
	constant->weak_order = programs_weak_order();
	constant->preemptible = lwps_linux_is(7, 0);
	constant->has_sched_exit = lwps_linux_is(6, 16);
	constant->by = config->by;
	constant->cgroup_offset = (unsigned)offset;
	constant->is_v1 = config->hierarchy != LWPS_UNIFIED;
	for (unsigned i = 0; i < config->ncolumns; i++)
		constant->kind[i] = (uint8_t)config->column[i].kind;
	skel->bss->fresh = ACCOUNT_FIRST;
	skel->maps.events.max_entries = config->ncolumns * config->ncpus;
	skel->maps.slots.max_entries = config->nslots * config->ncpus * constant->nlines;
	skel->maps.owners.max_entries = config->nslots;
	skel->maps.keys.max_entries = config->nslots;
	skel->maps.cpus.max_entries = config->ncpus;
	skel->maps.recycled.max_entries = nrecycled;
	return 0;
}

static void *load_once(const void *config)
{
	struct divide *skel = divide__open();
	int error;

	if (!skel)
		return NULL;
	if (configure(skel, config) == 0 && divide__load(skel) == 0)
		return skel;
	error = errno;
	divide__destroy(skel);
	errno = error;
	return NULL;
}

#define KPROBE_TYPE "/sys/bus/event_source/devices/kprobe/type" /* of its PMU */

/* Run a program at each call of a function of the kernel.  Returns a perf event; -1: errno. */
static int attach_to_calls(const char *function, int program)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .kprobe_func = (uintptr_t)function, .sample_period = 1};
	FILE *f = fopen(KPROBE_TYPE, "re");
	bool found = f != NULL && fscanf(f, "%u", &attr.type) == 1;
	int fd;

	if (f != NULL)
		fclose(f);
	if (!found)
		return -1;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Without kprobes, changes that are missed are noticed at the next switch. */
static int attach(struct account *account, enum account_by by)
{
	struct divide *skel = account->skel;

	if (by != ACCOUNT_BY_COMMAND)
		account->change = attach_to_calls(by == ACCOUNT_BY_USER ? "commit_creds"
									: "cgroup_attach_task",
						  skel->progs.on_change.prog_fd);
	if (by == ACCOUNT_BY_CGROUP && divide__on_move__attach(skel) < 0)
		return -1;
	if (by == ACCOUNT_BY_COMMAND && divide__on_rename__attach(skel) < 0)
		return -1;
	if (skel->rodata->has_sched_exit && divide__on_sched_exit__attach(skel) < 0)
		return -1;
	return divide__on_switch__attach(skel) < 0 ? -1 : 0;
}

static size_t lines_size(const struct account *account)
{
	return sizeof(struct lwps_line) * account->skel->maps.slots.max_entries;
}

static size_t owners_size(const struct account *account)
{
	return sizeof(struct account_owner) * account->nslots;
}

static size_t recycled_size(const struct account *account)
{
	return sizeof(uint64_t) * account->skel->maps.recycled.max_entries;
}

static int map_memory(struct account *account)
{
	const struct divide *skel = account->skel;

	account->lines = programs_map(skel->maps.slots.map_fd, lines_size(account));
	account->owners = programs_map(skel->maps.owners.map_fd, owners_size(account));
	account->recycled = programs_map(skel->maps.recycled.map_fd, recycled_size(account));
	return account->lines && account->owners && account->recycled ? 0 : -1;
}

static void unmap_memory(struct account *account)
{
	if (account->lines)
		munmap(account->lines, lines_size(account));
	if (account->owners)
		munmap(account->owners, owners_size(account));
	if (account->recycled)
		munmap(account->recycled, recycled_size(account));
}

static bool is_valid(const struct account_config *config)
{
	return config->ncolumns > 0 && config->ncolumns <= LWPS_MAX_COLUMNS && config->ncpus > 0 &&
	       config->nslots > ACCOUNT_FIRST && config->nslots <= LWPS_MAX_SLOTS;
}

struct account *account_open(const struct account_config *config, char *why, size_t size)
{
	struct account *account;
	const char *what;
	int error;

	if (!is_valid(config)) {
		errno = EINVAL;
		snprintf(why, size, "wrong number of columns, CPUs or slots");
		return NULL;
	}
	account = calloc(1, sizeof(*account));
	if (!account) {
		snprintf(why, size, "%s", strerror(errno));
		return NULL;
	}
	account->ncolumns = config->ncolumns;
	account->ncpus = config->ncpus;
	account->nslots = config->nslots;
	account->nlines = lines_each(config->ncolumns);
	account->change = -1;
	what = "loading the programs";
	account->skel = programs_try(load_once, config);
	if (!account->skel)
		goto failed;
	what = "sharing memory with the kernel";
	if (map_memory(account))
		goto failed;
	what = "adding events";
	if (programs_add_events(account->skel->maps.events.map_fd, config->column, config->ncolumns,
				config->ncpus))
		goto failed;
	what = "attaching to tracepoints";
	if (attach(account, config->by))
		goto failed;
	what = "running a program";
	if (account_flush(account, NULL))
		goto failed;
	return account;
failed:
	lwps_explain(why, size, what);
	error = errno;
	account_close(account);
	errno = error;
	return NULL;
}

void account_close(struct account *account)
{
	if (!account)
		return;
	if (account->change >= 0)
		close(account->change);
	unmap_memory(account);
	divide__destroy(account->skel);
	free(account);
}

/* ---- counts ---- */

/* As lwps_drop_sched_exit() does. */
static void drop_sched_exit(struct account *account)
{
	const struct divide__bss *bss = account->skel->bss;
	int *link = &account->skel->links.on_sched_exit_fd;

	if (*link <= 0 || !load(bss->saw_init_switch) || load(bss->repaired) != 0)
		return;
	close(*link);
	*link = 0;
}

#define FLUSH_TRIES 1000

/* Ends the slice of a CPU.  -1: errno; ENXIO: the CPU is offline. */
static int flush_cpu(const struct account *account, unsigned cpu)
{
	const int program = account->skel->progs.on_flush.prog_fd;
	int result;

	for (int tries = 0; tries < FLUSH_TRIES; tries++) {
		result = programs_run(program, 0, (int)cpu);
		if (result != ACCOUNT_BUSY)
			return result;
	}
	errno = EBUSY;
	return -1;
}

int account_flush(struct account *account, bool *online)
{
	for (unsigned cpu = 0; cpu < account->ncpus; cpu++) {
		const bool failed = flush_cpu(account, cpu) == -1;

		if (failed && errno != ENXIO)
			return -1;
		if (online)
			online[cpu] = !failed;
	}
	drop_sched_exit(account);
	return 0;
}

unsigned account_nslots(const struct account *account)
{
	const unsigned fresh = load(account->skel->bss->fresh);

	return fresh < account->nslots ? fresh : account->nslots;
}

static struct account_counts *counts_at(const struct account *account, unsigned slot, unsigned cpu)
{
	return (struct account_counts *)&account
		->lines[((size_t)slot * account->ncpus + cpu) * account->nlines];
}

unsigned account_read(const struct account *account, unsigned slot, uint64_t *values)
{
	uint64_t part[LWPS_MAX_COLUMNS];
	unsigned flaws = 0;
	uint32_t sequence;

	memset(values, 0, account->ncolumns * sizeof(*values));
	for (unsigned cpu = 0; cpu < account->ncpus; cpu++) {
		struct account_counts *counts = counts_at(account, slot, cpu);

		if (load(counts->flaws))
			flaws |= __atomic_exchange_n(&counts->flaws, 0, __ATOMIC_RELAXED);
		do {
			sequence = load(counts->sequence);
			for (unsigned i = 0; i < account->ncolumns; i++)
				part[i] = __atomic_load_n(&counts->total[i], __ATOMIC_RELAXED);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
		} while (sequence & 1 || sequence != load(counts->sequence));
		for (unsigned i = 0; sequence != 0 && i < account->ncolumns; i++)
			values[i] += part[i];
	}
	return flaws;
}

const struct account_owner *account_owner(const struct account *account, unsigned slot)
{
	return &account->owners[slot];
}

void account_forget(struct account *account, unsigned slot)
{
	skel_map_delete_elem(account->skel->maps.keys.map_fd, &account->owners[slot].key);
}

void account_release(struct account *account, unsigned slot)
{
	uint32_t *tail = &account->skel->bss->recycle_tail;

	memset(counts_at(account, slot, 0), 0,
	       sizeof(struct lwps_line) * account->nlines * account->ncpus);
	account->recycled[*tail & account->skel->rodata->recycle_mask] = slot;
	store(*tail, *tail + 1);
}

struct account_losses account_losses(const struct account *account)
{
	const struct divide__bss *bss = account->skel->bss;

	return (struct account_losses){
		.others = load(bss->no_slot),
		.missed = load(bss->missed) + load(bss->many_cpus),
		.repaired = load(bss->repaired),
		.late = load(bss->late),
		.skipped = programs_skips(&account->skel->progs.on_switch),
	};
}
