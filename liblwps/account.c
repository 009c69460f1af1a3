/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * account.c - load and attach the programs of divide.bpf.c, and read their counts.
 */
#include "account.h"

#include "programs.h"
#include "ring.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct account {
	struct divide *skel;
	int kprobe; /* the perf event of a program; -1: none */
	struct lwps_line *lines;
	struct account_owner *owners;
	struct account_cpu *cpus;
	uint64_t *recycled;
	struct ring pairs;
	const bool *is_counted; /* by number of the CPU */
	int64_t started_ns;
};

/* ---- load and attach ---- */

/* -1: errno. */
static int configure(struct divide *skel, const struct account_config *config)
{
	struct divide__rodata *constant = skel->rodata;
	unsigned nrecycled = programs_round_up_pow2(config->nslots);

	if (config->by == ACCOUNT_BY_CGROUP &&
	    programs_find_cgroup(config->hierarchy, &constant->cgroup_offset) == -1)
		return -1;
	constant->ncolumns = config->ncolumns;
	constant->ncpus = config->ncpus;
	constant->nslots = config->nslots;
	constant->nlines =
		(ACCOUNT_HEADER_WORDS + config->ncolumns + LWPS_LINE_WORDS - 1) / LWPS_LINE_WORDS;
	constant->recycle_mask = nrecycled - 1;
	constant->weak_order = programs_weak_order();
	constant->preemptible = programs_linux_is(7, 0);
	constant->has_sched_exit = programs_linux_is(6, 16);
	constant->by = config->by;
	constant->groups =
		config->groups && programs_counts(config->column, config->ncolumns, LWPS_OTHER);
	if (constant->groups)
		skel->maps.pairs.max_entries = ACCOUNT_PAIR_BYTES;
	constant->is_v1 = config->hierarchy != LWPS_UNIFIED;
	constant->counts_delay = programs_counts(config->column, config->ncolumns, LWPS_DELAY);
	constant->counts_preemptions =
		programs_counts(config->column, config->ncolumns, LWPS_PREEMPT) ||
		programs_counts(config->column, config->ncolumns, LWPS_OTHER);
	constant->counts_throttle =
		programs_counts(config->column, config->ncolumns, LWPS_THROTTLE);
	skel->maps.throttled.max_entries = constant->counts_throttle ? ACCOUNT_QUOTAS : 1;
	/* As in count.bpf.c: commit 08a7ce384e33. */
	constant->creates_at_switch = programs_linux_is(6, 4);
	constant->outsiders = !programs_in_first_namespace();
	constant->reads_clock = 0;
	for (unsigned i = 0; i < config->ncolumns; i++) {
		constant->kind[i] = (uint8_t)config->column[i].kind;
		constant->reads_clock |= config->column[i].kind == LWPS_CLOCK;
	}
	skel->bss->fresh = ACCOUNT_FIRST;
	skel->bss->finding = constant->counts_delay;
	skel->maps.events.max_entries = config->ncolumns * config->ncpus;
	skel->maps.slots.max_entries = config->nslots * config->ncpus * constant->nlines;
	skel->maps.owners.max_entries = config->nslots;
	skel->maps.keys.max_entries = config->nslots;
	skel->maps.cpus.max_entries = config->ncpus;
	skel->maps.recycled.max_entries = nrecycled;
	return 0;
}

static int load_divide(void *skel)
{
	return divide__load(skel);
}

#define KPROBE_TYPE "/sys/bus/event_source/devices/kprobe/type" /* of the kprobe PMU */

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

/*
 * Without kprobes, changes of user are noticed only at the next switch, and so are moves of running
 * tasks by others.
 */
static int attach(struct account *account, enum account_by by)
{
	struct divide *skel = account->skel;
	struct timespec now;

	if (by == ACCOUNT_BY_USER)
		account->kprobe =
			attach_to_calls("commit_creds", skel->progs.on_commit_creds.prog_fd);
	if (by == ACCOUNT_BY_CGROUP && !skel->rodata->is_v1)
		account->kprobe =
			attach_to_calls("__perf_cgroup_move", skel->progs.on_moved_here.prog_fd);
	if (by == ACCOUNT_BY_CGROUP && divide__on_move__attach(skel) < 0)
		return -1;
	if (by == ACCOUNT_BY_CGROUP && skel->rodata->is_v1 &&
	    divide__on_cgroup_rename__attach(skel) < 0)
		return -1;
	if (by == ACCOUNT_BY_COMMAND && divide__on_rename__attach(skel) < 0)
		return -1;
	if (skel->rodata->has_sched_exit && divide__on_sched_exit__attach(skel) < 0)
		return -1;
	if (skel->rodata->counts_delay && !skel->rodata->creates_at_switch &&
	    divide__on_newtask__attach(skel) < 0)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &now);
	account->started_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	return divide__on_switch__attach(skel) < 0 ? -1 : 0;
}

static int map_memory(struct account *account)
{
	const struct divide *skel = account->skel;

	account->lines = programs_map(&skel->maps.slots, sizeof(*account->lines));
	account->owners = programs_map(&skel->maps.owners, sizeof(*account->owners));
	account->cpus = programs_map(&skel->maps.cpus, sizeof(*account->cpus));
	account->recycled = programs_map(&skel->maps.recycled, sizeof(*account->recycled));
	if (!account->lines || !account->owners || !account->cpus || !account->recycled)
		return -1;
	return ring_open(&account->pairs, skel->maps.pairs.map_fd, skel->maps.pairs.max_entries);
}

static void unmap_memory(struct account *account)
{
	const struct divide *skel = account->skel;

	ring_close(&account->pairs);
	programs_unmap(account->lines, &skel->maps.slots, sizeof(*account->lines));
	programs_unmap(account->owners, &skel->maps.owners, sizeof(*account->owners));
	programs_unmap(account->cpus, &skel->maps.cpus, sizeof(*account->cpus));
	programs_unmap(account->recycled, &skel->maps.recycled, sizeof(*account->recycled));
}

static int find_events(const struct account *account)
{
	return programs_run(account->skel->progs.on_find_events.prog_fd, 0, -1);
}

#define FIND_PASSES 500

/* Note how long each task has waited before, and each cgroup was throttled.  -1: errno. */
static int find_tasks(struct divide *skel)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t postponed;
	int passes = 0;

	if (!skel->rodata->counts_delay && !skel->rodata->counts_throttle)
		return 0;
	if (divide__on_task__attach(skel) < 0)
		return -1;
	do {
		if (passes > 0)
			nanosleep(&pause, NULL);
		postponed = load(skel->bss->postponed);
		if (programs_iterate(skel->links.on_task_fd))
			return -1;
	} while (load(skel->bss->postponed) != postponed && ++passes < FIND_PASSES);
	store(skel->bss->finding, 0);
	errno = EAGAIN;
	return passes < FIND_PASSES ? 0 : -1;
}

const char *account_no_delay(void)
{
	if (lwps_no_delay())
		return lwps_no_delay();
	if (!programs_linux_is(6, 4) && !programs_in_first_namespace())
		return "in a PID namespace Linux before 6.4 does not show how long the tasks "
		       "outside have waited";
	return NULL;
}

struct account *account_open(const struct account_config *config, char *why, size_t size)
{
	struct account *account;
	const char *what;

	if (programs_counts(config->column, config->ncolumns, LWPS_DELAY) && account_no_delay()) {
		snprintf(why, size, "%s", account_no_delay());
		return NULL;
	}
	account = calloc(1, sizeof(*account));
	if (!account) {
		snprintf(why, size, "%s", strerror(errno));
		return NULL;
	}
	account->kprobe = -1;
	account->is_counted = config->is_counted;
	what = "loading the programs";
	account->skel = divide__open();
	if (!account->skel || configure(account->skel, config) ||
	    programs_try(load_divide, account->skel))
		goto failed;
	what = "sharing memory with the kernel";
	if (map_memory(account))
		goto failed;
	what = "adding events";
	if (programs_add_events(account->skel->maps.events.map_fd, account->cpus->slice.start,
				sizeof(*account->cpus), config->column, config->ncolumns,
				config->ncpus) ||
	    find_events(account))
		goto failed;
	if (account->skel->rodata->counts_throttle && !account->skel->bss->has_quotas) {
		snprintf(why, size, "this kernel has no quotas of cgroups (CONFIG_CFS_BANDWIDTH)");
		account_close(account);
		return NULL;
	}
	what = "attaching to tracepoints";
	if (attach(account, config->by))
		goto failed;
	what = "noting how long tasks have waited";
	if (find_tasks(account->skel))
		goto failed;
	what = "running a program";
	if (account_flush(account, NULL))
		goto failed;
	return account;
failed:
	programs_explain(why, size, what);
	account_close(account);
	return NULL;
}

void account_close(struct account *account)
{
	if (!account)
		return;
	if (account->kprobe >= 0)
		close(account->kprobe);
	if (account->skel)
		unmap_memory(account);
	divide__destroy(account->skel);
	free(account);
}

/* ---- counts ---- */

#define FLUSH_TRIES 1000

/* End the slice of a CPU.  -1: errno; ENXIO: the CPU is offline. */
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

int account_flush_cpu(const struct account *account, unsigned cpu)
{
	return flush_cpu(account, cpu);
}

int account_flush(struct account *account, bool *online)
{
	const struct divide__bss *bss = account->skel->bss;

	for (unsigned cpu = 0; cpu < account->skel->rodata->ncpus; cpu++) {
		const bool failed = account->is_counted[cpu] && flush_cpu(account, cpu) == -1;

		if (failed && errno != ENXIO)
			return -1;
		if (online)
			online[cpu] = account->is_counted[cpu] && !failed;
	}
	programs_drop_sched_exit(&account->skel->links.on_sched_exit_fd, &bss->saw_init_switch,
				 &bss->repaired);
	return 0;
}

int64_t account_started(const struct account *account)
{
	return account->started_ns;
}

bool account_lost(const struct account *account, unsigned cpu)
{
	const struct divide__rodata *constant = account->skel->rodata;

	for (unsigned i = 0; i < constant->ncolumns; i++) {
		if (programs_lost(&account->cpus[cpu].slice.start[i], constant->kind[i]))
			return true;
	}
	return false;
}

static int change_events(struct account *account, unsigned cpu, const int *fd, bool removes)
{
	const struct divide__rodata *constant = account->skel->rodata;

	return programs_change_events(account->skel->maps.events.map_fd,
				      account->cpus[cpu].slice.start, constant->kind,
				      constant->ncolumns, constant->ncpus, cpu, fd, removes);
}

/* As in lwps_renew(), the CPU finds no event between the old ones and the new ones. */
int account_renew(struct account *account, unsigned cpu, const int *fd)
{
	if (change_events(account, cpu, fd, true) || flush_cpu(account, cpu) == -1 ||
	    change_events(account, cpu, fd, false) || find_events(account) ||
	    flush_cpu(account, cpu) == -1)
		return -1;
	if (!account_lost(account, cpu))
		return 0;
	errno = EAGAIN;
	return -1;
}

unsigned account_nslots(const struct account *account)
{
	const unsigned fresh = load(account->skel->bss->fresh), n = account->skel->rodata->nslots;

	return fresh < n ? fresh : n;
}

static struct account_counts *counts_at(const struct account *account, unsigned slot, unsigned cpu)
{
	const struct divide__rodata *constant = account->skel->rodata;
	const size_t place = (size_t)slot * constant->ncpus + cpu;

	return (struct account_counts *)&account->lines[place * constant->nlines];
}

unsigned account_read(const struct account *account, unsigned slot, uint64_t *values,
		      uint64_t *late)
{
	const struct divide__rodata *constant = account->skel->rodata;
	uint64_t part[LWPS_MAX_COLUMNS];
	unsigned flaws = 0, of_cpu;

	*late = 0;
	memset(values, 0, constant->ncolumns * sizeof(*values));
	for (unsigned cpu = 0; cpu < constant->ncpus; cpu++) {
		struct account_counts *counts = counts_at(account, slot, cpu);

		if (!account->is_counted[cpu])
			continue;
		if (load(counts->head.flaws)) {
			of_cpu = __atomic_exchange_n(&counts->head.flaws, 0, __ATOMIC_RELAXED);
			flaws |= of_cpu % ACCOUNT_LATE;
			*late += of_cpu / ACCOUNT_LATE;
		}
		programs_read(&counts->head, counts->total, constant->ncolumns, part);
		for (unsigned i = 0; i < constant->ncolumns; i++)
			values[i] += part[i];
	}
	return flaws;
}

unsigned account_read_cpu(const struct account *account, unsigned slot, unsigned cpu,
			  uint64_t *values)
{
	struct account_counts *counts = counts_at(account, slot, cpu);

	programs_read(&counts->head, counts->total, account->skel->rodata->ncolumns, values);
	return __atomic_exchange_n(&counts->head.flaws, 0, __ATOMIC_RELAXED) % ACCOUNT_LATE;
}

const struct account_owner *account_owner(const struct account *account, unsigned slot)
{
	return &account->owners[slot];
}

void account_group(struct account *account, unsigned slot, unsigned group)
{
	store(account->owners[slot].group, group);
}

const struct account_pair *account_pair(struct account *account)
{
	return (const struct account_pair *)(const void *)ring_next(&account->pairs);
}

void account_forget(struct account *account, unsigned slot)
{
	skel_map_delete_elem(account->skel->maps.keys.map_fd, &account->owners[slot].key);
}

void account_release(struct account *account, unsigned slot)
{
	const struct divide__rodata *constant = account->skel->rodata;
	uint32_t *tail = &account->skel->bss->recycle_tail;

	memset(counts_at(account, slot, 0), 0,
	       sizeof(struct lwps_line) * constant->nlines * constant->ncpus);
	account->recycled[*tail & constant->recycle_mask] = slot;
	store(*tail, *tail + 1);
}

uint64_t account_crowded(const struct account *account)
{
	return load(account->skel->bss->no_slot);
}

uint64_t account_renames(const struct account *account)
{
	return load(account->skel->bss->renames);
}

struct account_losses account_losses(const struct account *account)
{
	const struct divide__bss *bss = account->skel->bss;

	return (struct account_losses){
		.missed = load(bss->missed) + load(bss->many_cpus),
		.late = load(bss->late),
		.skipped = programs_skips(&account->skel->progs.on_switch),
	};
}
