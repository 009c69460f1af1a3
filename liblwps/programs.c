/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * programs.c - load the programs of count.bpf.c, with constants and maps for one run; what all
 * programs have in common.
 */
#include "programs.h"

#include "explain.h"
#include "slots.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- in common ---- */

unsigned programs_round_up_pow2(size_t n)
{
	return 1u << (32 - __builtin_clz((unsigned)n - 1));
}

bool programs_weak_order(void)
{
#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
	return false;
#else
	return true;
#endif
}

#define LOAD_TRIES 100

void *programs_try(void *(*make)(const void *config), const void *config)
{
	sigset_t all, old;
	int tries = 0;
	void *skel;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	do
		skel = make(config);
	while (!skel && errno == EAGAIN && ++tries < LOAD_TRIES);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return skel;
}

int programs_run(int program, uint64_t argument, int cpu)
{
	uint64_t arguments[1] = {argument};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.test.prog_fd = (uint32_t)program;
	attr.test.ctx_in = (uintptr_t)arguments;
	attr.test.ctx_size_in = sizeof(arguments);
	if (cpu >= 0) {
		attr.test.cpu = (uint32_t)cpu;
		attr.test.flags = BPF_F_TEST_RUN_ON_CPU;
	}
	return skel_sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)) == 0 ? (int)attr.test.retval
									 : -1;
}

int programs_add_events(int events, const struct lwps_column *column, unsigned ncolumns,
			unsigned ncpus)
{
	uint32_t i, cpu, key;

	for (i = 0; i < ncolumns; i++) {
		if (column[i].kind != LWPS_CPU)
			continue;
		for (cpu = 0; cpu < ncpus; cpu++) {
			key = i * ncpus + cpu;
			if (column[i].fd[cpu] >= 0 &&
			    skel_map_update_elem(events, &key, &column[i].fd[cpu], 0))
				return -1;
		}
	}
	return 0;
}

static void *load_cgroups(const void *hierarchy)
{
	struct cgroups *skel = cgroups__open();
	int error;

	if (!skel)
		return NULL;
	skel->rodata->hierarchy = *(const enum lwps_hierarchy *)hierarchy;
	if (cgroups__load(skel) == 0)
		return skel;
	error = errno;
	cgroups__destroy(skel);
	errno = error;
	return NULL;
}

int programs_cgroup_offset(enum lwps_hierarchy hierarchy)
{
	struct cgroups *skel = programs_try(load_cgroups, &hierarchy);
	int offset;

	if (!skel)
		return -1;
	offset = programs_run(skel->progs.cgroup_offset.prog_fd, 0, -1);
	cgroups__destroy(skel);
	return offset;
}

int programs_lookup(int map, const void *key, void *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)key;
	attr.value = (uintptr_t)value;
	return skel_sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr));
}

void *programs_map(int array, size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, array, 0);

	return memory != MAP_FAILED ? memory : NULL;
}

/* recursion_misses: since Linux 5.12. */
uint64_t programs_skips(const struct bpf_prog_desc *program)
{
	struct bpf_prog_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)program->prog_fd;
	attr.info.info = (uintptr_t)&info;
	attr.info.info_len = sizeof(info);
	return skel_sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0
		       ? info.recursion_misses
		       : 0;
}

/* ---- count.bpf.c ---- */

/* The inode of the initial PID namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h). */
#define INITIAL_NAMESPACE 0xeffffffcu

static bool is_initial_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == INITIAL_NAMESPACE;
}

/*
 * The ring has room for the records of all slots at once.  Execs on all CPUs may see the same last
 * free room for arguments: there is spare room for one exec per CPU.
 */
static unsigned ring_size(const struct lwps_config *config, unsigned *spare)
{
	const size_t exec = sizeof(struct lwps_raw_exec) + LWPS_ARGS + LWPS_RING_HEADER;
	const size_t some_args = 16 * exec;
	size_t reserved = LWPS_SLOT_BYTES * config->nslots + exec * (config->ncpus + 1);
	unsigned size = programs_round_up_pow2(reserved + some_args);

	*spare = size - (unsigned)reserved;
	return size;
}

/* Where the kernel keeps the cgroups that a run needs to know.  -1: errno. */
static int find_cgroups(struct count__rodata *constant, const struct lwps_config *config)
{
	int offset;

	if (config->select == LWPS_SELECT_CGROUP || config->owners & LWPS_OWNER_CGROUP) {
		offset = programs_cgroup_offset(config->hierarchy);
		if (offset < 0)
			return -1;
		constant->cgroup_offset = (unsigned)offset;
	}
	for (unsigned i = 0; i < config->ncolumns; i++) {
		if (config->column[i].kind != LWPS_CGROUP)
			continue;
		offset = programs_cgroup_offset(LWPS_PERF_EVENT);
		if (offset < 0)
			return -1;
		constant->perf_cgroup_offset = (unsigned)offset;
		break;
	}
	return 0;
}

/* -1: errno. */
static int configure(struct count *skel, const struct lwps_config *config)
{
	unsigned i, spare, size = ring_size(config, &spare);
	struct count__rodata *constant = skel->rodata;

	if (find_cgroups(constant, config) == -1)
		return -1;
	constant->ncolumns = config->ncolumns;
	constant->ncpus = config->ncpus;
	constant->nslots = config->nslots;
	constant->nlines = slots_lines_each(slots_words(config));
	constant->recycle_mask = programs_round_up_pow2(config->nslots) - 1;
	constant->ring_spare = spare;
	constant->ring_high = size / 8;
	constant->weak_order = programs_weak_order();
	/*
	 * From 7.0 on programs at tracepoints can be preempted (commit a46023d5616e); from 6.4 on
	 * task storage can be created under the lock of a runqueue (commit 08a7ce384e33).
	 */
	constant->preemptible = lwps_linux_is(7, 0);
	constant->births_at_wakeup = lwps_linux_is(6, 4);
	constant->has_sched_exit = lwps_linux_is(6, 16);
	constant->follow_fork = config->follow_fork;
	constant->follow_exec = config->follow_exec;
	constant->attaches = config->attaches;
	constant->descendants = config->descendants;
	constant->select = config->select;
	constant->selected = config->selected;
	constant->is_v1 = config->hierarchy != LWPS_UNIFIED;
	constant->root_id = config->root_id;
	constant->depth = config->depth;
	constant->owners = config->owners;
	constant->names = config->names;
	constant->initial = is_initial_namespace();
	constant->start_off = config->start_off;
	constant->nturns = config->nturns;
	for (i = 0; i < config->ncolumns; i++) {
		constant->kind[i] = (uint8_t)config->column[i].kind;
		constant->turn_of[i] = (uint8_t)config->column[i].turn;
	}
	skel->bss->fresh = LWPS_SHARED + 1;
	skel->bss->waiting = config->waiting;
	skel->bss->tool_tgid = (__u32)getpid(); /* if it is the initial namespace */
	skel->maps.events.max_entries = config->ncolumns * config->ncpus;
	skel->maps.slots.max_entries =
		slots_lines(slots_words(config), config->ncpus, config->nslots);
	skel->maps.cpus.max_entries = config->ncpus;
	skel->maps.attach_targets.max_entries = !config->attaches     ? 1
						: config->descendants ? LWPS_IN_TREES
								      : LWPS_AT_ONCE;
	skel->maps.paths.max_entries = config->owners & LWPS_OWNER_CGROUP
					       ? LWPS_PATHS + LWPS_CPU_PATHS * config->ncpus
					       : 1;
	skel->maps.recycled.max_entries = programs_round_up_pow2(config->nslots);
	skel->maps.ring.max_entries = size;
	return 0;
}

static void *load_once(const void *config)
{
	struct count *skel = count__open();
	int error;

	if (!skel)
		return NULL;
	if (configure(skel, config) == 0 && count__load(skel) == 0)
		return skel;
	error = errno;
	count__destroy(skel);
	errno = error;
	return NULL;
}

struct count *programs_load(const struct lwps_config *config)
{
	return programs_try(load_once, config);
}

int programs_attach(struct count *skel)
{
	const struct count__rodata *constant = skel->rodata;
	const struct {
		bool needed;
		int (*attach)(struct count *);
	} order[] = {
		/* Births first: an exit must not be reported without a birth. */
		{!constant->births_at_wakeup, count__on_newtask__attach},
		{constant->births_at_wakeup, count__on_wakeup_new__attach},
		{constant->names, count__on_rename__attach},
		{true, count__on_exec__attach},
		{constant->preemptible, count__on_exec_again__attach},
		{true, count__on_exit__attach},
		{true, count__on_signal__attach},
		{constant->has_sched_exit, count__on_sched_exit__attach},
		{true, count__on_switch__attach},
	};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
		if (order[i].needed && order[i].attach(skel) < 0)
			return -1;
	}
	return 0;
}

int programs_add_functions(const struct count *skel, const struct lwps_config *config, int *link)
{
	union bpf_attr attr;
	unsigned i;

	for (i = 0; i < config->ncolumns; i++) {
		if (config->column[i].kind != LWPS_FUNCTION)
			continue;
		memset(&attr, 0, sizeof(attr));
		attr.link_create.prog_fd = (uint32_t)skel->progs.on_function.prog_fd;
		attr.link_create.target_fd = (uint32_t)*config->column[i].fd;
		attr.link_create.attach_type = BPF_PERF_EVENT;
		attr.link_create.perf_event.bpf_cookie = i;
		link[i] = skel_sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
		if (link[i] < 0)
			return -1;
	}
	return 0;
}

/* Other programs repair skips of on_exec() and on_exit(), and count those that they cannot. */
uint64_t programs_skipped(const struct count *skel)
{
	return programs_skips(&skel->progs.on_switch) + programs_skips(&skel->progs.on_wakeup_new) +
	       programs_skips(&skel->progs.on_newtask) + programs_skips(&skel->progs.on_signal) +
	       programs_skips(&skel->progs.on_function);
}

void programs_unload(struct count *skel)
{
	count__destroy(skel);
}
