/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * programs.c - load the programs of count.bpf.c, with constants and maps for one run.
 */
#include "programs.h"

#include "explain.h"
#include "slots.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of two or more. */
static unsigned round_up_pow2(size_t n)
{
	return 1u << (32 - __builtin_clz((unsigned)n - 1));
}

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
	unsigned size = round_up_pow2(reserved + some_args);

	*spare = size - (unsigned)reserved;
	return size;
}

static void configure(struct count *skel, const struct lwps_config *config)
{
	unsigned i, spare, size = ring_size(config, &spare);
	struct count__rodata *constant = skel->rodata;

	constant->ncolumns = config->ncolumns;
	constant->ncpus = config->ncpus;
	constant->nslots = config->nslots;
	constant->nlines = slots_lines_each(config->ncolumns);
	constant->recycle_mask = round_up_pow2(config->nslots) - 1;
	constant->ring_spare = spare;
	constant->ring_high = size / 8;
#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
	constant->weak_order = 0;
#else
	constant->weak_order = 1;
#endif
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
	constant->names = config->names;
	constant->initial = is_initial_namespace();
	constant->start_off = config->start_off;
	for (i = 0; i < config->ncolumns; i++)
		constant->kind[i] = (uint8_t)config->column[i].kind;
	skel->bss->fresh = LWPS_SHARED + 1;
	skel->bss->waiting = config->waiting;
	skel->bss->tool_tgid = (__u32)getpid(); /* if it is the initial namespace */
	skel->maps.events.max_entries = config->ncolumns * config->ncpus;
	skel->maps.slots.max_entries = slots_lines(config->ncolumns, config->ncpus, config->nslots);
	skel->maps.cpus.max_entries = config->ncpus;
	skel->maps.attach_targets.max_entries = !config->attaches     ? 1
						: config->descendants ? LWPS_IN_TREES
								      : LWPS_AT_ONCE;
	skel->maps.recycled.max_entries = round_up_pow2(config->nslots);
	skel->maps.ring.max_entries = size;
}

#define LOAD_TRIES 100

/*
 * The verifier gives up with EAGAIN when a signal is pending.  Signals wait until the programs are
 * loaded; those that cannot be blocked make us try again.
 */
struct count *programs_load(const struct lwps_config *config)
{
	struct count *skel;
	sigset_t all, old;
	int error, tries = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	do {
		skel = count__open();
		if (!skel)
			break;
		configure(skel, config);
		if (count__load(skel) == 0)
			break;
		error = errno;
		count__destroy(skel);
		skel = NULL;
		errno = error;
	} while (errno == EAGAIN && ++tries < LOAD_TRIES);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return skel;
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

/* How often the kernel has skipped a program (recursion_misses, Linux 5.12). */
static uint64_t skips_of(const struct bpf_prog_desc *program)
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

/* Other programs repair skips of on_exec() and on_exit(), and count those that they cannot. */
uint64_t programs_skipped(const struct count *skel)
{
	return skips_of(&skel->progs.on_switch) + skips_of(&skel->progs.on_wakeup_new) +
	       skips_of(&skel->progs.on_newtask) + skips_of(&skel->progs.on_signal);
}

void programs_unload(struct count *skel)
{
	count__destroy(skel);
}
