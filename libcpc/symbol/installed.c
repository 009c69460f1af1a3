/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * installed.c - has the kernel set a probe in the memory of a process?
 *
 * It sets none, and reports no error, where code is writable or shared, or is that of an older
 * file: overlayfs copies a file that is changed, and processes that run go on with the original.
 * So libcpc looks whether an instruction in memory differs from that in the file.
 */
#include "symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The size of the kernel's breakpoints. */
#if defined(__x86_64__) || defined(__i386__)
#define BREAKPOINT 1
#elif defined(__riscv) || defined(__s390x__)
#define BREAKPOINT 2
#else
#define BREAKPOINT 4
#endif

/* Is the instruction in memory that of the file?  Memory that cannot be read counts as probed. */
static bool is_original(pid_t tid, uint64_t addr, int file, uint64_t offset)
{
	uint8_t there[BREAKPOINT], here[BREAKPOINT];
	int memory = cpci_open_proc(tid, "mem");
	bool same = memory != -1 && addr <= INT64_MAX &&
		    pread(memory, there, BREAKPOINT, (off_t)addr) == BREAKPOINT &&
		    pread(file, here, BREAKPOINT, (off_t)offset) == BREAKPOINT &&
		    memcmp(there, here, BREAKPOINT) == 0;

	cpci_close(memory);
	return same;
}

/* Finds a mapping of a function without its probe.  `real`: the path of `file`. */
static bool find_original(const struct cpci_maps *maps, const struct cpci_symbol_addr *at, int file,
			  const char *path, const char *real, struct cpci_mapping *m)
{
	*m = (struct cpci_mapping){0};
	while (cpci_maps_next_code(maps, m->end, m)) {
		if ((strcmp(m->path, real) == 0 || strcmp(m->path, path) == 0) &&
		    at->offset >= m->offset && at->offset - m->offset < m->end - m->start &&
		    is_original(maps->tid, m->start + (at->offset - m->offset), file, at->offset))
			return true;
	}
	return false;
}

static const char *reason(const struct cpci_mapping *m)
{
	if (m->shared)
		return "as shared memory (MAP_SHARED)";
	if (m->write)
		return "as writable code";
	return "as it was before a change (overlayfs has copied the file)";
}

int cpci_symbols_check(const struct cpci_plan *plan, const struct cpci_symbol_addr *at, pid_t tid,
		       const char **name, const char **why)
{
	struct cpci_mapping m;
	struct cpci_maps maps = {0};
	int found = -1;

	for (uint_t i = 0; at != NULL && found == -1 && i < plan->nterms; i++) {
		const struct cpci_term *term = cpci_plan_nth(plan, i);
		char link[32], real[PATH_MAX];
		int file = at[i].file;
		ssize_t n;

		if (!cpci_perf_is_uprobe(&term->attr) || at[i].addr <= 1 ||
		    (file == -1 && term->file[0] != '/'))
			continue;
		if (maps.n == 0 && cpci_maps_open(&maps, tid) == -1)
			return -1;
		if (file == -1)
			file = open(term->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
		n = readlink(link, real, sizeof(real) - 1);
		real[n > 0 ? n : 0] = '\0';
		if (file != -1 && find_original(&maps, &at[i], file, term->file, real, &m)) {
			found = (int)i;
			*why = reason(&m);
			*name = term->file[0] == '/' ? term->file : term->symbol;
		}
		if (at[i].file == -1)
			cpci_close(file);
	}
	cpci_maps_close(&maps);
	return found;
}
