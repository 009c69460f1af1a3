/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * programs.c - load the programs of count.bpf.c, with constants and maps for one run.
 */
#include "programs.h"

#include "loader.h"
#include "slots.h"

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
 * The ring has room for the records of all slots at once, and for what execs on all CPUs may
 * take beyond when all see the last free room for arguments.
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
	constant->follow_fork = config->follow_fork;
	constant->follow_exec = config->follow_exec;
	constant->attaches = config->attaches;
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
	skel->maps.joining.max_entries = config->attaches ? LWPS_AT_ONCE : 1;
	skel->maps.recycled.max_entries = round_up_pow2(config->nslots);
	skel->maps.ring.max_entries = size;
}

static bool wanted(const void *context, const char *program)
{
	const struct count *skel = context;

	return skel->rodata->attaches || strcmp(program, "on_task") != 0;
}

/* For what bpftool made, instead of bpf_load_and_run(). */
int programs_run_loader(const struct bpf_load_and_run_opts *opts)
{
	return loader_run(&(struct loader){
		.insns = opts->insns,
		.insns_size = opts->insns_sz,
		.data = opts->data,
		.data_size = opts->data_sz,
		.context = opts->ctx,
		.wanted = wanted,
	});
}

/* What the loader's functions return is -1 or -errno; errno is right in either case. */
struct count *programs_load(const struct lwps_config *config)
{
	struct count *skel = count__open();
	int error;

	if (!skel)
		return NULL;
	configure(skel, config);
	if (!count__load(skel))
		return skel;
	error = errno;
	count__destroy(skel);
	errno = error;
	return NULL;
}

void programs_unload(struct count *skel)
{
	count__destroy(skel);
}
