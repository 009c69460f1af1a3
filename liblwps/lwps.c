/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lwps.c - the user side of count.bpf.c: attach, select, read counts and records.
 */
#include "lwps.h"

#include "programs.h"
#include "ring.h"

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
	struct lwps_line *lines; /* of the slots */
	uint64_t *recycled;	 /* released slots, from recycle_head to recycle_tail */
	struct lwps_cpu *cpus;
	unsigned nplaces;
	int *place; /* links of on_function() to the places of functions; 0: none */
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- load and attach ---- */

/*
 * How far CLOCK_MONOTONIC of our time namespace is ahead of the kernel's own clock, which records
 * use; see time_namespaces(7).
 */
static int64_t time_offset_ns(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	long long s = 0, ns = 0;

	/* Without this file, the kernel has no time namespaces. */
	if (f == NULL)
		return 0;
	if (fscanf(f, "monotonic %lld %lld", &s, &ns) != 2)
		s = ns = 0;
	fclose(f);
	return s * INT64_C(1000000000) + ns;
}

void lwps_drop_sched_exit(struct lwps *lwps)
{
	const struct count__bss *bss = lwps->skel->bss;

	programs_drop_sched_exit(&lwps->skel->links.on_sched_exit_fd, &bss->saw_init_switch,
				 &bss->repaired);
}

static int map_memory(struct lwps *lwps)
{
	struct count *skel = lwps->skel;

	lwps->lines = programs_map(&skel->maps.slots, sizeof(*lwps->lines));
	lwps->recycled = programs_map(&skel->maps.recycled, sizeof(*lwps->recycled));
	lwps->cpus = programs_map(&skel->maps.cpus, sizeof(*lwps->cpus));
	if (!lwps->lines || !lwps->recycled || !lwps->cpus)
		return -1;
	for (unsigned cpu = 0; cpu < skel->rodata->ncpus; cpu++)
		lwps->cpus[cpu].slice.slot = LWPS_NONE;
	return ring_open(&lwps->ring, skel->maps.ring.map_fd, skel->maps.ring.max_entries);
}

static void unmap_memory(struct lwps *lwps)
{
	const struct count *skel = lwps->skel;

	ring_close(&lwps->ring);
	programs_unmap(lwps->lines, &skel->maps.slots, sizeof(*lwps->lines));
	programs_unmap(lwps->recycled, &skel->maps.recycled, sizeof(*lwps->recycled));
	programs_unmap(lwps->cpus, &skel->maps.cpus, sizeof(*lwps->cpus));
}

static int find_events(const struct lwps *lwps)
{
	return programs_run(lwps->skel->progs.on_call.prog_fd, LWPS_FIND, -1);
}

struct lwps *lwps_open(const struct lwps_config *config, char *why, size_t size)
{
	struct lwps *lwps;
	const char *what;
	int error;

	if (programs_counts(config->column, config->ncolumns, LWPS_DELAY) && lwps_no_delay()) {
		snprintf(why, size, "%s", lwps_no_delay());
		errno = ENOTSUP;
		return NULL;
	}
	lwps = calloc(1, sizeof(*lwps));
	if (!lwps) {
		snprintf(why, size, "%s", strerror(errno));
		return NULL;
	}
	lwps->time_offset_ns = time_offset_ns();
	what = "loading the programs";
	lwps->skel = count__open();
	if (!lwps->skel || programs_load(lwps->skel, config))
		goto failed;
	what = "sharing memory with the kernel";
	if (map_memory(lwps))
		goto failed;
	what = "adding events";
	if (programs_add_events(lwps->skel->maps.events.map_fd, lwps->cpus->slice.start,
				sizeof(*lwps->cpus), config->column, config->ncolumns,
				config->ncpus) ||
	    find_events(lwps))
		goto failed;
	what = "attaching to functions";
	for (unsigned i = 0; i < config->ncolumns; i++)
		lwps->nplaces += config->column[i].nplaces;
	lwps->place = calloc(lwps->nplaces + 1, sizeof(*lwps->place));
	if (!lwps->place || programs_add_functions(lwps->skel, config, lwps->place))
		goto failed;
	what = "running a program";
	if ((!lwps->skel->rodata->initial || config->select == LWPS_SELECT_CGROUP ||
	     programs_count_functions(config)) &&
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
	programs_explain(why, size, what);
	error = errno;
	lwps_close(lwps);
	errno = error;
	return NULL;
}

void lwps_close(struct lwps *lwps)
{
	if (!lwps)
		return;
	for (unsigned i = 0; lwps->place && i < lwps->nplaces; i++) {
		if (lwps->place[i] > 0)
			close(lwps->place[i]);
	}
	free(lwps->place);
	if (lwps->skel)
		unmap_memory(lwps);
	count__destroy(lwps->skel);
	free(lwps);
}

/* ---- attach and refresh ---- */

void lwps_track_next_child(struct lwps *lwps)
{
	store(lwps->skel->bss->root_pending, 1);
}

void lwps_renew_run(struct lwps *lwps, bool waiting)
{
	struct count__bss *bss = lwps->skel->bss;
	const struct count__rodata *constant = lwps->skel->rodata;
	const unsigned used = bss->fresh < constant->nslots ? bss->fresh : constant->nslots;

	memset(lwps->lines, 0,
	       sizeof(*lwps->lines) * constant->nlines * (LWPS_OF_CPU * constant->ncpus + used));
	bss->fresh = LWPS_SHARED + 1;
	bss->recycle_head = bss->recycle_tail = 0;
	bss->waiting = waiting;
	bss->no_slot = bss->missed = bss->repaired = 0;
	bss->ring_full = bss->errors = bss->outside = 0;
	bss->late_execs = bss->late_exits = 0;
	bss->children = 0;
}

/* Bring the counts of running LWPs up to date.  `all`: also begin to count newly attached ones. */
static int refresh(struct lwps *lwps, bool all)
{
	for (unsigned cpu = 0; cpu < lwps->skel->rodata->ncpus; cpu++) {
		if (!all && load(lwps->cpus[cpu].slice.slot) == LWPS_NONE)
			continue;
		/* ENXIO: the CPU is offline. */
		if (programs_run(lwps->skel->progs.on_call.prog_fd, LWPS_REFRESH, (int)cpu) &&
		    errno != ENXIO)
			return -1;
	}
	return 0;
}

/* Let the kernel call on_task() for each existing task.  -1: errno. */
static int run_iterator(struct count *skel)
{
	if (!skel->links.on_task_fd && count__on_task__attach(skel) < 0)
		return -1;
	return programs_iterate(skel->links.on_task_fd);
}

/*
 * Before Linux 6.2, no task can use task storage on a CPU while another is preempted in it: their
 * switches and exits would be missed.  Only the iterator can be preempted there.  A real-time
 * policy prevents that by ordinary tasks; it requires CAP_SYS_NICE.  Returns the old policy; -1:
 * unchanged.
 */
static int make_realtime(struct sched_param *before)
{
	const struct sched_param first = {.sched_priority = 1};
	int policy = sched_getscheduler(0);

	if (programs_linux_is(6, 2) || policy != SCHED_OTHER || sched_getparam(0, before) == -1 ||
	    sched_setscheduler(0, SCHED_FIFO, &first) == -1)
		return -1;
	return policy;
}

/* Task storage is unavailable on a CPU where a task was preempted while it used some: retry. */
#define ATTACH_PASSES 500

/* Run the iterator until it has attached to all LWPs of targets or selected tasks.  -1: errno. */
static int attach_existing(struct lwps *lwps)
{
	struct count__bss *bss = lwps->skel->bss;
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t postponed, discovered;
	struct sched_param before;
	int failed, policy, passes = 0;
	bool again;

	/* From here on, BPF also tracks new children of targets that it has not attached to yet. */
	store(bss->leader_exited, 0);
	__atomic_store_n(&bss->attaching, 1, __ATOMIC_SEQ_CST);
	policy = make_realtime(&before);
	do {
		if (passes > 0)
			nanosleep(&pause, NULL);
		postponed = load(bss->postponed);
		discovered = load(bss->discovered);
		failed = run_iterator(lwps->skel);
		again = load(bss->postponed) != postponed;
		/* Ids wrap around, so a new child may have one that was passed already. */
		if (lwps->skel->rodata->descendants)
			again |= load(bss->discovered) != discovered;
		/* An LWP that executes has the leader's id afterwards: look once more. */
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

/* Attach to up to LWPS_AT_ONCE processes, which `map` holds meanwhile.  -1: errno. */
static int attach_some(struct lwps *lwps, const pid_t *pids, size_t n, bool *found)
{
	const int map = lwps->skel->maps.attach_targets.map_fd;
	uint32_t value = 0;
	int failed = 0, error;

	for (size_t i = 0; i < n && !failed; i++)
		failed = skel_map_update_elem(map, &pids[i], &value, BPF_ANY);
	failed = failed || attach_existing(lwps);
	error = errno;
	for (size_t i = 0; i < n; i++) {
		found[i] = programs_lookup(map, &pids[i], &value) == 0 && value != 0;
		skel_map_delete_elem(map, &pids[i]);
	}
	errno = error;
	return failed ? -1 : 0;
}

int lwps_attach(struct lwps *lwps, const pid_t *pids, size_t n, bool *found)
{
	for (size_t i = 0; i < n; i += LWPS_AT_ONCE) {
		size_t some = n - i < LWPS_AT_ONCE ? n - i : LWPS_AT_ONCE;

		if (attach_some(lwps, &pids[i], some, &found[i]))
			return -1;
	}
	return refresh(lwps, true);
}

int lwps_select(struct lwps *lwps)
{
	store(lwps->skel->bss->selecting, 1);
	return attach_existing(lwps) || refresh(lwps, true) ? -1 : 0;
}

void lwps_find_entered(struct lwps *lwps)
{
	if (!load(lwps->skel->bss->entered))
		return;
	store(lwps->skel->bss->entered, 0);
	attach_existing(lwps);
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
	/* The CPU is offline: this turn holds when it returns. */
	store(lwps->cpus[cpu].slice.turn, turn);
	return 0;
}

int lwps_turn(struct lwps *lwps, unsigned turn)
{
	store(lwps->skel->bss->turn, turn);
	for (unsigned cpu = 0; cpu < lwps->skel->rodata->ncpus; cpu++) {
		if (turn_cpu(lwps, cpu, turn) == -1)
			return -1;
	}
	return 0;
}

bool lwps_lost(struct lwps *lwps, unsigned cpu)
{
	const struct count__rodata *constant = lwps->skel->rodata;
	const unsigned turn = load(lwps->skel->bss->turn);

	for (unsigned i = 0; i < constant->ncolumns; i++) {
		if (constant->turn_of[i] == turn &&
		    programs_lost(&lwps->cpus[cpu].slice.start[i], constant->kind[i]))
			return true;
	}
	return false;
}

static int change_events(struct lwps *lwps, unsigned cpu, const int *fd, bool removes)
{
	const struct count__rodata *constant = lwps->skel->rodata;

	return programs_change_events(lwps->skel->maps.events.map_fd, lwps->cpus[cpu].slice.start,
				      constant->kind, constant->ncolumns, constant->ncpus, cpu, fd,
				      removes);
}

/*
 * Between removing the old events and adding the new ones, let the CPU find no event.  Otherwise it
 * would subtract old counts from new ones.
 */
int lwps_renew(struct lwps *lwps, unsigned cpu, const int *fd)
{
	const unsigned turn = load(lwps->skel->bss->turn);

	if (change_events(lwps, cpu, fd, true) || turn_cpu(lwps, cpu, turn) ||
	    change_events(lwps, cpu, fd, false) || find_events(lwps))
		return -1;
	return turn_cpu(lwps, cpu, turn);
}

unsigned lwps_live(const struct lwps *lwps)
{
	const unsigned live = load(lwps->skel->bss->live);

	/* The last LWP has exited, but its record may be unread. */
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
	};
}

/* Skips of on_exec() and on_exit() are not included: other programs make up for them. */
uint64_t lwps_skipped(const struct lwps *lwps)
{
	const struct bpf_prog_desc *const program[] = {
		&lwps->skel->progs.on_switch,	&lwps->skel->progs.on_wakeup_new,
		&lwps->skel->progs.on_newtask,	&lwps->skel->progs.on_signal,
		&lwps->skel->progs.on_function, &lwps->skel->progs.on_session,
	};
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(program) / sizeof(*program); i++)
		n += programs_skips(program[i]);
	return n;
}

/* ---- records ---- */

int lwps_fd(const struct lwps *lwps)
{
	return lwps->skel->maps.ring.map_fd;
}

#define STALL_NS INT64_C(500000000)

unsigned lwps_timeout(const struct lwps *lwps)
{
	int64_t woken_ns = (int64_t)load(lwps->skel->bss->woken_ns) + lwps->time_offset_ns;
	int64_t quiet = now_ns() - woken_ns;

	if (quiet <= (int64_t)LWPS_BATCH_NS)
		return LWPS_BATCH_NS / 1000000 + 1;
	/*
	 * The next record will wake us at once.  But a stalled CPU (of a virtual machine) may have
	 * decided long ago not to wake us, and may add its record only now.
	 */
	return quiet > STALL_NS ? 0 : STALL_NS / 1000000;
}

/* The slot at a place in memory.  The slots of the CPUs come first: LWPS_OF_CPU of each. */
static struct lwps_slot *slot_at_place(const struct lwps *lwps, unsigned place)
{
	return (struct lwps_slot *)&lwps->lines[place * lwps->skel->rodata->nlines];
}

/* A slot, not the shared one. */
static struct lwps_slot *slot_at(const struct lwps *lwps, unsigned slot)
{
	return slot_at_place(lwps, LWPS_OF_CPU * lwps->skel->rodata->ncpus + slot);
}

bool lwps_next(struct lwps *lwps, struct lwps_record *record)
{
	const struct lwps_raw *raw = ring_next(&lwps->ring);
	const struct lwps_slot *slot = NULL;

	if (!raw)
		return false;
	if (raw->slot != LWPS_NONE && raw->slot != LWPS_SHARED)
		slot = slot_at(lwps, raw->slot);
	ring_translate(raw, slot, record);
	record->time_ns += lwps->time_offset_ns;
	return true;
}

/* ---- slots ---- */

static const struct lwps_slot *shared_slot_of_cpu(const struct lwps *lwps, unsigned cpu)
{
	return slot_at_place(lwps, LWPS_OF_CPU * cpu + LWPS_CPU_SHARED);
}

/* Returns its flaws. */
static unsigned read_slot(const struct lwps *lwps, const struct lwps_slot *s, uint64_t *values)
{
	programs_read(&s->head, s->total, lwps->skel->rodata->ncolumns, values);
	return load(s->head.flaws);
}

static unsigned read_shared(const struct lwps *lwps, uint64_t *values)
{
	const struct count__rodata *constant = lwps->skel->rodata;
	uint64_t part[LWPS_MAX_COLUMNS];
	unsigned flaws = 0;

	memset(values, 0, constant->ncolumns * sizeof(*values));
	for (unsigned cpu = 0; cpu < constant->ncpus; cpu++) {
		flaws |= read_slot(lwps, shared_slot_of_cpu(lwps, cpu), part);
		for (unsigned i = 0; i < constant->ncolumns; i++)
			values[i] += part[i];
	}
	return flaws;
}

bool lwps_changed(struct lwps *lwps, unsigned slot, uint64_t *state)
{
	const uint64_t before = *state;
	const struct lwps_slot *s;

	if (slot == LWPS_SHARED)
		return true;
	s = slot_at(lwps, slot);
	*state = load(s->head.sequence) | (uint64_t)load(s->head.flaws) << 32;
	return *state != before;
}

unsigned lwps_read(struct lwps *lwps, unsigned slot, uint64_t *values)
{
	return slot == LWPS_SHARED ? read_shared(lwps, values)
				   : read_slot(lwps, slot_at(lwps, slot), values);
}

bool lwps_owner(struct lwps *lwps, unsigned slot, enum lwps_owners kind, uint64_t *owner)
{
	const unsigned i = lwps->skel->rodata->ncolumns + (kind == LWPS_OWNER_USER);

	if (slot == LWPS_SHARED || lwps->skel->rodata->owners == 0)
		return false;
	*owner = load(slot_at(lwps, slot)->total[i]);
	if (*owner == 0)
		return false;
	*owner -= kind == LWPS_OWNER_USER;
	return true;
}

int lwps_note_owners(struct lwps *lwps)
{
	int failed;

	store(lwps->skel->bss->noting, 1);
	failed = run_iterator(lwps->skel);
	store(lwps->skel->bss->noting, 0);
	return failed;
}

bool lwps_path(struct lwps *lwps, uint64_t cgroup, struct lwps_path *path)
{
	return programs_lookup(lwps->skel->maps.paths.map_fd, &cgroup, path) == 0;
}

void lwps_release(struct lwps *lwps, unsigned slot)
{
	const struct count__rodata *constant = lwps->skel->rodata;
	uint32_t *tail = &lwps->skel->bss->recycle_tail;

	if (slot == LWPS_SHARED || slot >= constant->nslots)
		return;
	memset(slot_at(lwps, slot), 0, constant->nlines * sizeof(*lwps->lines));
	lwps->recycled[*tail & constant->recycle_mask] = slot;
	store(*tail, *tail + 1);
}
