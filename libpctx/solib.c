/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * solib.c - the libraries of a program, as its dynamic linker maps them.
 *
 * Each library is told before any code of it can run.  For that the LWPs stop at system
 * calls, too, from the exec until the linker says that all libraries are there: a library
 * is mapped by mmap(2).  No breakpoint is set and nothing else is changed in the process,
 * so it may fork, execute, or be let go at any moment.
 */
#include "control.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Of a thread that is stopped.  Where process_vm_readv(2) is forbidden, ptrace(2) is not. */
static bool peek(pid_t tid, uint64_t addr, void *buf, size_t size)
{
	struct iovec to = {.iov_base = buf, .iov_len = size};
	struct iovec from = {.iov_base = (void *)(uintptr_t)addr, .iov_len = size};

	if (process_vm_readv(tid, &to, 1, &from, 1, 0) == (ssize_t)size)
		return true;
	for (size_t at = 0; at < size; at += sizeof(long)) {
		size_t n = size - at < sizeof(long) ? size - at : sizeof(long);
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)(addr + at), NULL);
		if (errno != 0)
			return false;
		memcpy((char *)buf + at, &word, n);
	}
	return true;
}

/* The auxiliary vector: where the kernel has mapped the program. */
struct image {
	uint64_t phdr, phnum, phent, base;
};

static struct image read_auxv(pid_t tid)
{
	struct image image = {0};
	ElfW(auxv_t) auxv[64];
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd != -1) {
		n = read(fd, auxv, sizeof(auxv));
		close(fd);
	}
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(auxv[0]); i++) {
		switch (auxv[i].a_type) {
		case AT_PHDR:
			image.phdr = auxv[i].a_un.a_val;
			break;
		case AT_PHNUM:
			image.phnum = auxv[i].a_un.a_val;
			break;
		case AT_PHENT:
			image.phent = auxv[i].a_un.a_val;
			break;
		case AT_BASE:
			image.base = auxv[i].a_un.a_val;
			break;
		default:
			break;
		}
	}
	return image;
}

/* The address of the program's dynamic section, or 0. */
static uint64_t find_dynamic(pid_t tid, const struct image *image)
{
	uint64_t bias = 0, dynamic = 0;
	ElfW(Phdr) phdr;

	for (uint64_t i = 0; i < image->phnum; i++) {
		if (!peek(tid, image->phdr + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return 0;
		if (phdr.p_type == PT_PHDR)
			bias = image->phdr - phdr.p_vaddr;
		else if (phdr.p_type == PT_DYNAMIC)
			dynamic = phdr.p_vaddr;
	}
	return dynamic != 0 ? dynamic + bias : 0;
}

/*
 * The address of the DT_DEBUG entry, where the dynamic linker stores the address of its
 * r_debug (link.h).  0: there is no linker or no such entry, or the program is of another
 * word size.
 */
static uint64_t find_debug_entry(pid_t tid)
{
	struct image image = read_auxv(tid);
	uint64_t at;
	ElfW(Dyn) dyn;

	if (image.base == 0 || image.phent != sizeof(ElfW(Phdr)))
		return 0;
	at = find_dynamic(tid, &image);
	for (; at != 0 && peek(tid, at, &dyn, sizeof(dyn)) && dyn.d_tag != DT_NULL;
	     at += sizeof(dyn)) {
		if (dyn.d_tag == DT_DEBUG)
			return at + offsetof(ElfW(Dyn), d_un);
	}
	return 0;
}

/* Are libraries still to come, of those that the program starts with? */
static bool is_linking(pid_t tid, uint64_t entry)
{
	struct r_debug debug;
	uintptr_t at;

	if (!peek(tid, entry, &at, sizeof(at)))
		return false;
	/* Not set yet, or not initialized by the linker. */
	if (at == 0 || !peek(tid, at, &debug, sizeof(debug)) || debug.r_version == 0)
		return true;
	return debug.r_state != RT_CONSISTENT;
}

int pctx_watch_libraries(pctx_t *pctx, int on)
{
	const struct pctxi_lwp *lwp = pctxi_lwp_first(pctx);
	uint64_t entry;

	pctx->r_debug = 0;
	if (on == 0 || pctx->handlers.mapped == NULL || lwp == NULL ||
	    lwp->state != PCTXI_LWP_STOPPED)
		return 0;
	entry = find_debug_entry(lwp->tid);
	if (entry != 0 && is_linking(lwp->tid, entry))
		pctx->r_debug = entry;
	return pctx->r_debug != 0;
}

/* Has the LWP, in a stop at a system call, mapped code?  `entry`: the call begins. */
static bool has_mapped(struct pctxi_lwp *lwp, bool *entry)
{
	struct __ptrace_syscall_info call;
	bool maps = lwp->maps_code;

	*entry = true;
	lwp->maps_code = false;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, lwp->tid, (void *)sizeof(call), &call) < 0)
		return true; /* before Linux 5.3: perhaps */
	*entry = call.op == PTRACE_SYSCALL_INFO_ENTRY;
	if (!*entry)
		return maps;
	lwp->maps_code = call.entry.nr == SYS_mmap && (call.entry.args[2] & PROT_EXEC) != 0;
	return false;
}

enum pctxi_solib pctxi_solib_stop(struct pctxi_lwp *lwp)
{
	struct pctx *ctx = lwp->ctx;
	bool entry, mapped;

	if (ctx->r_debug == 0 || ctx->state != PCTXI_PROC_FOLLOWED)
		return PCTXI_SOLIB_NOTHING;
	mapped = has_mapped(lwp, &entry);
	if (entry && !is_linking(lwp->tid, ctx->r_debug)) {
		ctx->r_debug = 0;
		return PCTXI_SOLIB_DONE;
	}
	return mapped ? PCTXI_SOLIB_MAPPED : PCTXI_SOLIB_NOTHING;
}
