/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * programs.c - load and attach the BPF programs of count.bpf.c; helpers for all BPF programs.
 */
#include "programs.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- for all programs ---- */

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

int programs_try(int (*loader)(void *skel), void *skel)
{
	sigset_t all, old;
	int rc, tries = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	do
		rc = loader(skel);
	while (rc != 0 && errno == EAGAIN && ++tries < LOAD_TRIES);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc != 0 ? -1 : 0;
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

static int add_event(int events, uint32_t key, struct lwps_start *start, enum lwps_kind kind,
		     int event)
{
	uint64_t id;

	if (skel_map_update_elem(events, &key, &event, 0))
		return -1;
	if (kind != LWPS_SOFTWARE)
		return 0;
	if (ioctl(event, PERF_EVENT_IOC_ID, &id))
		return -1;
	store(start->event, id);
	return 0;
}

int programs_add_events(int events, struct lwps_start *start, size_t stride,
			const struct lwps_column *column, unsigned ncolumns, unsigned ncpus)
{
	for (unsigned cpu = 0; cpu < ncpus; cpu++) {
		for (unsigned i = 0; i < ncolumns; i++) {
			if (programs_has_event(column[i].kind) && column[i].fd[cpu] >= 0 &&
			    add_event(events, i * ncpus + cpu, &start[i], column[i].kind,
				      column[i].fd[cpu]))
				return -1;
		}
		start = (struct lwps_start *)((char *)start + stride);
	}
	return 0;
}

int programs_change_events(int events, struct lwps_start *start, const __u8 *kind,
			   unsigned ncolumns, unsigned ncpus, unsigned cpu, const int *fd,
			   bool removes)
{
	for (uint32_t i = 0; i < ncolumns; i++) {
		const uint32_t key = i * ncpus + cpu;

		if (!programs_has_event(kind[i]) || fd[i] < 0)
			continue;
		if (removes) {
			store(start[i].event, 0);
			store(start[i].reading, LWPS_UNREAD); /* also in other turns */
			skel_map_delete_elem(events, &key);   /* ENOENT: no old event */
		} else if (add_event(events, key, &start[i], kind[i], fd[i])) {
			return -1;
		}
	}
	return 0;
}

/* The inode of the initial PID namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h). */
#define INITIAL_NAMESPACE 0xeffffffcu

bool programs_in_first_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == INITIAL_NAMESPACE;
}

int programs_iterate(int link)
{
	union bpf_attr attr;
	ssize_t n;
	char byte;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t)link;
	fd = skel_sys_bpf(BPF_ITER_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -1;
	do
		n = read(fd, &byte, sizeof(byte));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
	return n < 0 ? -1 : 0;
}

static int load_cgroups(void *skel)
{
	return cgroups__load(skel);
}

int programs_find_cgroup(enum lwps_hierarchy hierarchy, __u64 *offset)
{
	struct cgroups *skel = cgroups__open();
	int found = -1, error;

	if (!skel)
		return -1;
	skel->rodata->hierarchy = hierarchy;
	if (programs_try(load_cgroups, skel) == 0)
		found = programs_run(skel->progs.cgroup_offset.prog_fd, 0, -1);
	error = errno;
	cgroups__destroy(skel);
	errno = error;
	*offset = (__u64)found;
	return found < 0 ? -1 : 0;
}

void programs_read(const struct lwps_head *head, const __u64 *total, unsigned n, uint64_t *values)
{
	uint32_t before;

	do {
		before = load(head->sequence);
		for (unsigned i = 0; i < n; i++)
			values[i] = __atomic_load_n(&total[i], __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (before & 1 || before != __atomic_load_n(&head->sequence, __ATOMIC_RELAXED));
}

/*
 * The kernels of some virtual machines run no programs at tracepoints while process 1 is the
 * current task.  on_sched_exit() makes up for the switches that are missed then.  On other kernels
 * it only makes each switch slower.
 */
void programs_drop_sched_exit(int *link, const __u32 *saw_init_switch, const __u64 *repaired)
{
	if (*link <= 0 || !load(*saw_init_switch) || load(*repaired) != 0)
		return;
	close(*link);
	*link = 0;
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

void *programs_map(const struct bpf_map_desc *array, size_t size)
{
	void *memory = mmap(NULL, array->max_entries * size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    array->map_fd, 0);

	return memory != MAP_FAILED ? memory : NULL;
}

void programs_unmap(void *memory, const struct bpf_map_desc *array, size_t size)
{
	if (memory)
		munmap(memory, array->max_entries * size);
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

/* ---- does the kernel support them? ---- */

bool programs_linux_is(unsigned major, unsigned minor)
{
	struct utsname name;
	unsigned a, b;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &a, &b) == 2 &&
	       (a > major || (a == major && b >= minor));
}

/* Lockdown keeps BPF programs from reading the kernel's memory; see kernel_lockdown(7). */
static bool is_locked_down(void)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	if (f == NULL)
		return false;
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	fclose(f);
	return strstr(line, "[confidentiality]") != NULL;
}

void programs_explain(char *why, size_t size, const char *what)
{
	const int error = errno;

	/* Linux 5.10 fails with EPERM even for root: maps count as locked memory there. */
	if (!programs_linux_is(5, 17))
		snprintf(why, size, "this kernel is too old; Linux 5.17 or later can");
	else if (is_locked_down())
		snprintf(why, size, "lockdown=confidentiality keeps BPF from the kernel's memory");
	else if (error == EPERM)
		snprintf(why, size, "%s", lwps_denied());
	else if (error == ENOSYS)
		snprintf(why, size, "this kernel has no BPF");
	else if (error == EMFILE)
		snprintf(why, size, "%s: %s; ulimit -n raises the limit", what, strerror(error));
	else if (error == ENOMEM || error == ENFILE ||
		 error == EAGAIN) /* a signal was pending at each try */
		snprintf(why, size, "%s: %s", what, strerror(error));
	else if (access("/sys/kernel", F_OK) == 0 && access("/sys/kernel/btf/vmlinux", F_OK))
		snprintf(why, size, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	else
		snprintf(why, size, "this kernel's BPF cannot: %s: %s", what, strerror(error));
	errno = error;
}

/* ---- returns of functions ---- */

/* The kernel's interface since Linux 6.13, which older headers lack. */
#define ATTACH_UPROBE_SESSION 57

struct link_uprobes {
	uint32_t program, target, attach_type, link_flags;
	uint64_t path, offsets, counter_offsets, cookies;
	uint32_t n, flags, pid, unused;
};

/* Attach a program to a place in a file, in all processes.  Returns the link; -1: errno. */
static int add_session(int program, const char *path, const uint64_t *offset,
		       const uint64_t *cookie)
{
	const struct link_uprobes link = {
		.program = (uint32_t)program,
		.attach_type = ATTACH_UPROBE_SESSION,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offset,
		.cookies = (uintptr_t)cookie,
		.n = 1,
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	memcpy(&attr, &link, sizeof(link));
	return skel_sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

bool lwps_has_sessions(void)
{
	static const struct bpf_insn ret0[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const uint64_t zero = 0;
	union bpf_attr attr;
	int program, error;

#if !defined(__x86_64__) && !defined(__aarch64__)
	return false; /* see probed_ip() */
#endif
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_KPROBE;
	attr.insns = (uintptr_t)ret0;
	attr.insn_cnt = sizeof(ret0) / sizeof(*ret0);
	attr.license = (uintptr_t) "Dual BSD/GPL";
	attr.expected_attach_type = ATTACH_UPROBE_SESSION;
	program = skel_sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	if (program < 0)
		return false;
	/* Of its arguments, a kernel that knows sessions only refuses the file. */
	error = add_session(program, "/", &zero, &zero) < 0 ? errno : 0;
	close(program);
	return error == EBADF;
}

/* ---- count.bpf.c ---- */

/*
 * The ring has room for the records of all slots at once.  Its spare room is for arguments.  Execs
 * on all CPUs may take the last of it at the same time: reserve room for one exec per CPU, too.
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

bool programs_count_functions(const struct lwps_config *config)
{
	for (unsigned i = 0; i < config->ncolumns; i++) {
		if (config->column[i].kind == LWPS_FUNCTION)
			return true;
	}
	return false;
}

/* A slot has a header, totals, and owners if they are to be stored. */
static unsigned lines_per_slot(const struct lwps_config *config)
{
	const unsigned nwords =
		LWPS_HEADER_WORDS + config->ncolumns + (config->owners != 0 ? LWPS_OWNER_WORDS : 0);

	return (nwords + LWPS_LINE_WORDS - 1) / LWPS_LINE_WORDS;
}

/* Find the offsets of the pointers to cgroups that this run needs.  -1: errno. */
static int find_cgroups(struct count__rodata *constant, const struct lwps_config *config)
{
	if ((config->select == LWPS_SELECT_CGROUP || config->owners & LWPS_OWNER_CGROUP) &&
	    programs_find_cgroup(config->hierarchy, &constant->cgroup_offset) == -1)
		return -1;
	for (unsigned i = 0; i < config->ncolumns; i++) {
		if (config->column[i].kind == LWPS_CGROUP)
			return programs_find_cgroup(LWPS_PERF_EVENT, &constant->perf_cgroup_offset);
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
	constant->nlines = lines_per_slot(config);
	constant->recycle_mask = programs_round_up_pow2(config->nslots) - 1;
	constant->ring_spare = spare;
	constant->ring_high = size / 8;
	constant->weak_order = programs_weak_order();
	/*
	 * From 7.0 on programs at tracepoints can be preempted (commit a46023d5616e).  From 6.4 on
	 * task storage can be created under the lock of a runqueue (commit 08a7ce384e33).
	 */
	constant->preemptible = programs_linux_is(7, 0);
	constant->births_at_wakeup = programs_linux_is(6, 4);
	constant->has_sched_exit = programs_linux_is(6, 16);
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
	constant->initial = programs_in_first_namespace();
	constant->start_off = config->start_off;
	constant->nturns = config->nturns;
	constant->functions = programs_count_functions(config);
	constant->reads_clock = constant->sessions = 0;
	constant->counts_delay = programs_counts(config->column, config->ncolumns, LWPS_DELAY);
	constant->counts_preemptions =
		programs_counts(config->column, config->ncolumns, LWPS_PREEMPT);
	for (i = 0; i < config->ncolumns; i++) {
		constant->reads_clock |= config->column[i].kind == LWPS_CLOCK;
		constant->kind[i] = (uint8_t)config->column[i].kind;
		constant->turn_of[i] = (uint8_t)config->column[i].turn;
		constant->returns[i] = config->column[i].returns;
		constant->sessions |= config->column[i].session;
	}
	skel->bss->fresh = LWPS_SHARED + 1;
	skel->bss->waiting = config->waiting;
	skel->bss->tool_tgid = (__u32)getpid(); /* in other namespaces identify() corrects it */
	skel->maps.events.max_entries = config->ncolumns * config->ncpus;
	skel->maps.slots.max_entries =
		(LWPS_OF_CPU * config->ncpus + config->nslots) * constant->nlines;
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

static int load_count(void *skel)
{
	return count__load(skel);
}

int programs_load(struct count *skel, const struct lwps_config *config)
{
	return configure(skel, config) == 0 ? programs_try(load_count, skel) : -1;
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

static int add_function(const struct count *skel, int event, uint64_t cookie)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)skel->progs.on_function.prog_fd;
	attr.link_create.target_fd = (uint32_t)event;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	return skel_sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int programs_add_functions(const struct count *skel, const struct lwps_config *config, int *link)
{
	const int session = skel->progs.on_session.prog_fd;
	char path[32];

	for (unsigned i = 0; i < config->ncolumns; i++) {
		const struct lwps_column *column = &config->column[i];
		const uint64_t cookie = i;

		for (unsigned n = 0; n < column->nplaces; n++) {
			snprintf(path, sizeof(path), "/proc/self/fd/%d", column->fd[n]);
			*link = column->session
					? add_session(session, path, &column->offset[n], &cookie)
					: add_function(skel, column->fd[n], cookie);
			if (*link++ < 0)
				return -1;
		}
	}
	return 0;
}
