/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lwps.c - attach the programs of count.bpf.c, and use the memory they share.
 */
#include "lwps.h"

#include "attach_targets.h"
#include "explain.h"
#include "programs.h"
#include "ring.h"
#include "slots.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct lwps {
	struct count *skel;
	int64_t time_offset_ns;
	struct ring ring;
	struct slots slots;
	struct lwps_cpu *cpus;
	int function[LWPS_MAX_COLUMNS]; /* 0: that column is of no function */
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- load and attach ---- */

/*
 * What CLOCK_MONOTONIC of our time namespace is ahead of the kernel's own, which the records
 * have; see time_namespaces(7).
 */
static int64_t time_offset_ns(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	long long s = 0, ns = 0;

	/* Without that file, there are no such namespaces. */
	if (f == NULL)
		return 0;
	if (fscanf(f, "monotonic %lld %lld", &s, &ns) != 2)
		s = ns = 0;
	fclose(f);
	return s * INT64_C(1000000000) + ns;
}

/*
 * The kernels of some virtual machines run no programs at tracepoints while process 1 is the
 * current task; on_sched_exit() makes up for the switches that are missed then.  On other kernels
 * it only makes each switch slower.
 */
void lwps_drop_sched_exit(struct lwps *lwps)
{
	const struct count__bss *bss = lwps->skel->bss;
	int *link = &lwps->skel->links.on_sched_exit_fd;

	if (*link <= 0 || !load(bss->saw_init_switch) || load(bss->repaired) != 0)
		return;
	close(*link);
	*link = 0;
}

static struct lwps_cpu *cpu_at(struct lwps *lwps, unsigned cpu)
{
	return &lwps->cpus[cpu];
}

static size_t lines_size(const struct count *skel)
{
	return sizeof(struct lwps_line) * skel->maps.slots.max_entries;
}

static size_t recycled_size(const struct count *skel)
{
	return sizeof(uint64_t) * skel->maps.recycled.max_entries;
}

static size_t cpus_size(const struct lwps *lwps)
{
	return sizeof(struct lwps_cpu) * lwps->slots.ncpus;
}

static int map_memory(struct lwps *lwps)
{
	struct count *skel = lwps->skel;
	struct slots *slots = &lwps->slots;
	unsigned cpu;

	slots->lines = programs_map(skel->maps.slots.map_fd, lines_size(skel));
	slots->recycled = programs_map(skel->maps.recycled.map_fd, recycled_size(skel));
	lwps->cpus = programs_map(skel->maps.cpus.map_fd, cpus_size(lwps));
	if (!slots->lines || !slots->recycled || !lwps->cpus)
		return -1;
	slots->tail = &skel->bss->recycle_tail;
	slots->mask = skel->rodata->recycle_mask;
	for (cpu = 0; cpu < slots->ncpus; cpu++)
		lwps->cpus[cpu].slot = LWPS_NONE;
	return ring_open(&lwps->ring, skel->maps.ring.map_fd, skel->maps.ring.max_entries);
}

static void unmap_memory(struct lwps *lwps)
{
	ring_close(&lwps->ring);
	if (lwps->slots.lines)
		munmap(lwps->slots.lines, lines_size(lwps->skel));
	if (lwps->slots.recycled)
		munmap(lwps->slots.recycled, recycled_size(lwps->skel));
	if (lwps->cpus)
		munmap(lwps->cpus, cpus_size(lwps));
}

static bool is_valid(const struct lwps_config *config)
{
	return config->ncolumns > 0 && config->ncolumns <= LWPS_MAX_COLUMNS && config->nturns > 0 &&
	       config->ncpus > 0 && config->nslots > 1 && config->nslots <= LWPS_MAX_SLOTS;
}

struct lwps *lwps_open(const struct lwps_config *config, char *why, size_t size)
{
	struct lwps *lwps;
	const char *what;
	int error;

	if (!is_valid(config)) {
		errno = EINVAL;
		snprintf(why, size, "wrong number of columns, turns, CPUs or slots");
		return NULL;
	}
	lwps = calloc(1, sizeof(*lwps));
	if (!lwps) {
		snprintf(why, size, "%s", strerror(errno));
		return NULL;
	}
	lwps->slots = (struct slots){
		.ncolumns = config->ncolumns,
		.ncpus = config->ncpus,
		.nslots = config->nslots,
		.nwords = slots_words(config),
	};
	lwps->time_offset_ns = time_offset_ns();
	what = "loading the programs";
	lwps->skel = programs_load(config);
	if (!lwps->skel)
		goto failed;
	what = "sharing memory with the kernel";
	if (map_memory(lwps))
		goto failed;
	what = "adding events";
	if (programs_add_events(lwps->skel->maps.events.map_fd, config->column, config->ncolumns,
				config->ncpus))
		goto failed;
	what = "attaching to functions";
	if (programs_add_functions(lwps->skel, config, lwps->function))
		goto failed;
	what = "running a program";
	if ((!lwps->skel->rodata->initial || config->select == LWPS_SELECT_CGROUP) &&
	    programs_run(lwps->skel->progs.on_call.prog_fd, LWPS_IDENTIFY, -1))
		goto failed;
	if (config->select == LWPS_SELECT_CGROUP && !lwps->skel->bss->root_found) {
		snprintf(why, size, "this process is not in the mounted hierarchy of cgroups");
		lwps_close(lwps);
		errno = ENOENT;
		return NULL;
	}
	what = "attaching to tracepoints";
	if (programs_attach(lwps->skel))
		goto failed;
	return lwps;
failed:
	lwps_explain(why, size, what);
	error = errno;
	lwps_close(lwps);
	errno = error;
	return NULL;
}

void lwps_close(struct lwps *lwps)
{
	if (!lwps)
		return;
	for (unsigned i = 0; i < LWPS_MAX_COLUMNS; i++) {
		if (lwps->function[i] > 0)
			close(lwps->function[i]);
	}
	unmap_memory(lwps);
	programs_unload(lwps->skel);
	free(lwps);
}

/* ---- what is tracked ---- */

void lwps_track_next_child(struct lwps *lwps)
{
	store(lwps->skel->bss->root_pending, 1);
}

static int refresh(struct lwps *lwps, bool all)
{
	unsigned cpu;

	for (cpu = 0; cpu < lwps->slots.ncpus; cpu++) {
		if (!all && load(cpu_at(lwps, cpu)->slot) == LWPS_NONE)
			continue;
		/* ENXIO: the CPU is offline. */
		if (programs_run(lwps->skel->progs.on_call.prog_fd, LWPS_REFRESH, (int)cpu) &&
		    errno != ENXIO)
			return -1;
	}
	return 0;
}

/* Let the kernel call on_task() for each task that there is. */
static int iterate(struct count *skel)
{
	if (!skel->links.on_task_fd && count__on_task__attach(skel) < 0)
		return -1;
	return attach_targets_walk(skel->links.on_task_fd);
}

/*
 * Before Linux 6.2, a task that is preempted while it uses task storage keeps all others on that
 * CPU from it: their switches and exits would be missed.  Only the iterator can be preempted there.
 * Run before all ordinary tasks, so that none runs meanwhile; this requires CAP_SYS_NICE.
 * Returns the former policy; -1: unchanged.
 */
static int run_first(struct sched_param *before)
{
	const struct sched_param first = {.sched_priority = 1};
	int policy = sched_getscheduler(0);

	if (lwps_linux_is(6, 2) || policy != SCHED_OTHER || sched_getparam(0, before) == -1 ||
	    sched_setscheduler(0, SCHED_FIFO, &first) == -1)
		return -1;
	return policy;
}

/* Task storage is unavailable on a CPU where a task was preempted while it used some: retry. */
#define ATTACH_PASSES 500

static int walk(struct lwps *lwps)
{
	struct count__bss *bss = lwps->skel->bss;
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t postponed, discovered;
	struct sched_param before;
	int failed, policy, passes = 0;
	bool again;

	/* From here on, BPF also tracks new children of targets that are not attached yet. */
	store(bss->leader_exited, 0);
	__atomic_store_n(&bss->attaching, 1, __ATOMIC_SEQ_CST);
	policy = run_first(&before);
	do {
		if (passes > 0)
			nanosleep(&pause, NULL);
		postponed = load(bss->postponed);
		discovered = load(bss->discovered);
		failed = iterate(lwps->skel);
		again = load(bss->postponed) != postponed;
		/* Ids may have wrapped around: look until a pass finds no descendant. */
		if (lwps->skel->rodata->descendants)
			again |= load(bss->discovered) != discovered;
		/* Ids do not change but to the leader's, so once is enough. */
		if (passes == 0)
			again |= load(bss->leader_exited) != 0;
	} while (!failed && again && ++passes < ATTACH_PASSES);
	if (policy != -1)
		sched_setscheduler(0, policy, &before);
	store(bss->attaching, 0);
	if (passes == ATTACH_PASSES)
		__atomic_fetch_add(&bss->errors, load(bss->postponed) - postponed,
				   __ATOMIC_RELAXED);
	return failed;
}

int lwps_attach(struct lwps *lwps, const pid_t *pids, size_t n, bool *found)
{
	const int map = lwps->skel->maps.attach_targets.map_fd;
	int failed = 0, error = 0;
	size_t i, some;

	for (i = 0; i < n && !failed; i += some) {
		some = n - i < LWPS_AT_ONCE ? n - i : LWPS_AT_ONCE;
		failed = attach_targets_add(map, &pids[i], some) || walk(lwps);
		error = errno;
		attach_targets_take(map, &pids[i], some, &found[i]);
	}
	errno = error;
	return failed || refresh(lwps, true) ? -1 : 0;
}

int lwps_select(struct lwps *lwps)
{
	store(lwps->skel->bss->selecting, 1);
	return walk(lwps) || refresh(lwps, true) ? -1 : 0;
}

void lwps_find_entered(struct lwps *lwps)
{
	if (!load(lwps->skel->bss->entered))
		return;
	store(lwps->skel->bss->entered, 0);
	walk(lwps);
	refresh(lwps, true);
}

int lwps_begin(struct lwps *lwps)
{
	store(lwps->skel->bss->waiting, 0);
	return refresh(lwps, true);
}

int lwps_flush(struct lwps *lwps)
{
	return refresh(lwps, false);
}

/* -1: errno. */
static int turn_cpu(struct lwps *lwps, unsigned cpu, unsigned turn)
{
	int rc;

	do
		rc = programs_run(lwps->skel->progs.on_call.prog_fd, LWPS_TURN, (int)cpu);
	while (rc == 1);
	if (rc != -1 || errno != ENXIO)
		return rc;
	/* It is offline. */
	store(cpu_at(lwps, cpu)->turn, turn);
	return 0;
}

int lwps_turn(struct lwps *lwps, unsigned turn)
{
	store(lwps->skel->bss->turn, turn);
	for (unsigned cpu = 0; cpu < lwps->slots.ncpus; cpu++) {
		if (turn_cpu(lwps, cpu, turn) == -1)
			return -1;
	}
	return 0;
}

bool lwps_lost(struct lwps *lwps, unsigned cpu)
{
	for (unsigned i = 0; i < lwps->slots.ncolumns; i++) {
		if (lwps->skel->rodata->kind[i] == LWPS_CPU &&
		    load(cpu_at(lwps, cpu)->start[i].reading) == LWPS_LOST)
			return true;
	}
	return false;
}

/* Sets the events of a CPU that have an `fd`, or removes them. */
static int change_events(struct lwps *lwps, unsigned cpu, const int *fd, bool removes)
{
	const int map = lwps->skel->maps.events.map_fd;

	for (uint32_t i = 0; i < lwps->slots.ncolumns; i++) {
		const uint32_t key = i * lwps->slots.ncpus + cpu;

		if (lwps->skel->rodata->kind[i] != LWPS_CPU || fd[i] < 0)
			continue;
		if (removes)
			skel_map_delete_elem(map, &key); /* ENOENT: there was none */
		else if (skel_map_update_elem(map, &key, &fd[i], 0))
			return -1;
	}
	return 0;
}

/*
 * Old events that can still be read are removed first, and the CPU finds them missing: it must not
 * subtract their counts from those of the new events.
 */
int lwps_renew(struct lwps *lwps, unsigned cpu, const int *fd)
{
	const unsigned turn = load(lwps->skel->bss->turn);

	if (change_events(lwps, cpu, fd, true) || turn_cpu(lwps, cpu, turn) ||
	    change_events(lwps, cpu, fd, false))
		return -1;
	return turn_cpu(lwps, cpu, turn);
}

unsigned lwps_live(const struct lwps *lwps)
{
	const unsigned live = load(lwps->skel->bss->live);

	/* The record of the last may still be on its way. */
	return live > 0 || ring_is_empty(&lwps->ring) ? live : 1;
}

uint64_t lwps_children(const struct lwps *lwps)
{
	return load(lwps->skel->bss->children);
}

struct lwps_losses lwps_losses(const struct lwps *lwps)
{
	const struct count__bss *bss = lwps->skel->bss;

	return (struct lwps_losses){
		.shared = load(bss->no_slot),
		.ring_full = load(bss->ring_full),
		.errors = load(bss->errors),
		.outside = load(bss->outside),
		.missed = load(bss->missed),
		.repaired = load(bss->repaired),
		.late_execs = load(bss->late_execs),
		.late_exits = load(bss->late_exits),
		.skipped = programs_skipped(lwps->skel),
	};
}

/* ---- records and slots ---- */

int lwps_fd(const struct lwps *lwps)
{
	return lwps->skel->maps.ring.map_fd;
}

#define STALL_NS INT64_C(500000000)

int lwps_timeout(const struct lwps *lwps)
{
	int64_t woken_ns = (int64_t)load(lwps->skel->bss->woken_ns) + lwps->time_offset_ns;
	int64_t quiet = now_ns() - woken_ns;

	if (quiet <= (int64_t)LWPS_BATCH_NS)
		return (int)(LWPS_BATCH_NS / 1000000) + 1;
	/*
	 * Later than that, the next record wakes us at once; but a CPU that was held up, as those
	 * of virtual machines are, may still be about to add one that it need not wake us for.
	 */
	return quiet > STALL_NS ? -1 : (int)(STALL_NS / 1000000);
}

bool lwps_next(struct lwps *lwps, struct lwps_record *record)
{
	const struct lwps_raw *raw = ring_next(&lwps->ring);
	const struct lwps_slot *slot = NULL;

	if (!raw)
		return false;
	if (raw->slot != LWPS_NONE && raw->slot != LWPS_SHARED)
		slot = slots_at(&lwps->slots, raw->slot);
	ring_translate(raw, slot, record);
	record->time_ns += lwps->time_offset_ns;
	return true;
}

bool lwps_changed(struct lwps *lwps, unsigned slot, uint64_t *state)
{
	return slots_changed(&lwps->slots, slot, state);
}

unsigned lwps_read(struct lwps *lwps, unsigned slot, uint64_t *values)
{
	return slots_read(&lwps->slots, slot, values);
}

bool lwps_owner(struct lwps *lwps, unsigned slot, enum lwps_owners kind, uint64_t *owner)
{
	const unsigned i = lwps->slots.ncolumns + (kind == LWPS_OWNER_USER);

	if (slot == LWPS_SHARED || i >= lwps->slots.nwords)
		return false;
	*owner = load(slots_at(&lwps->slots, slot)->total[i]);
	if (*owner == 0)
		return false;
	*owner -= kind == LWPS_OWNER_USER;
	return true;
}

int lwps_note_owners(struct lwps *lwps)
{
	int failed;

	store(lwps->skel->bss->noting, 1);
	failed = iterate(lwps->skel);
	store(lwps->skel->bss->noting, 0);
	return failed;
}

bool lwps_path(struct lwps *lwps, uint64_t cgroup, struct lwps_path *path)
{
	return programs_lookup(lwps->skel->maps.paths.map_fd, &cgroup, path) == 0;
}

void lwps_release(struct lwps *lwps, unsigned slot)
{
	slots_release(&lwps->slots, slot);
}
