/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * solib.c - the libraries of a program, as its dynamic linker maps them.
 *
 * Each library is reported before any of its code can run.  For that, the LWPs also stop at
 * system calls, from the exec until the linker says that all libraries are mapped: a library
 * is mapped by mmap(2).  No breakpoint is set and nothing else in the process is modified, so
 * it may fork, execute, or be detached at any moment.  For libraries that are loaded later,
 * the LWPs stop at system calls until the caller has seen enough.
 */
#include "control.h"
#include "procfs.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* The words of struct r_debug, some of which are ints followed by padding. */
enum { R_VERSION, R_MAP, R_BRK, R_STATE, R_WORDS };
#define MAX_WORDS 8

/* The kernel's limit for the headers of a program. */
#define MAX_PHDRS_SIZE 65536
/* Linkers write about 30 entries into a dynamic section. */
#define MAX_DYNAMIC 10000

/* mmap2(2) of 32-bit x86 and Arm, and the old mmap(2) of x86, whose arguments are in memory. */
enum { MMAP2_32 = 192, OLD_MMAP_32 = 90 };

/* Reads one or more words of a process, whose width is 4 or 8 bytes. */
static bool peek_words(pid_t tid, uint64_t addr, unsigned width, uint64_t *word, size_t n)
{
	uint32_t narrow[MAX_WORDS];

	if (width == sizeof(*word))
		return pctxi_peek(tid, addr, word, n * sizeof(*word));
	if (n > MAX_WORDS || !pctxi_peek(tid, addr, narrow, n * sizeof(*narrow)))
		return false;
	for (size_t i = 0; i < n; i++)
		word[i] = narrow[i];
	return true;
}

/* The int at the address of a word. */
static int as_int(uint64_t word, unsigned width)
{
	int val[2];

	if (width == 4)
		return (int)(uint32_t)word;
	memcpy(val, &word, sizeof(val));
	return val[0];
}

/* Where the kernel has mapped the program. */
struct image {
	unsigned width;		   /* of its words */
	uint64_t aux[AT_BASE + 1]; /* values of the auxiliary vector, by their type */
};

union auxv {
	char text[1024];
	uint32_t narrow[256];
	uint64_t wide[128];
};

static struct image parse_auxv(const union auxv *auxv, size_t n, unsigned width)
{
	struct image image = {.width = width};

	for (size_t i = 0; i + 2 <= n / width; i += 2) {
		uint64_t type = width == 8 ? auxv->wide[i] : auxv->narrow[i];

		if (type <= AT_BASE)
			image.aux[type] = width == 8 ? auxv->wide[i + 1] : auxv->narrow[i + 1];
	}
	return image;
}

/*
 * Reads the auxiliary vector.  The size of the program headers gives the width of its words.
 * -1: it cannot be read, see errno.
 */
static int read_auxv(pid_t tid, struct image *image)
{
	union auxv auxv;
	ssize_t n = pctxi_read_task_file(tid, "auxv", auxv.text, sizeof(auxv));

	if (n == -1)
		return -1;
	*image = parse_auxv(&auxv, (size_t)n, 8);
	if (image->aux[AT_PHENT] != sizeof(Elf64_Phdr))
		*image = parse_auxv(&auxv, (size_t)n, 4);
	if (image->aux[AT_PHENT] != sizeof(Elf64_Phdr) &&
	    image->aux[AT_PHENT] != sizeof(Elf32_Phdr))
		*image = (struct image){0};
	return 0;
}

static bool peek_phdr(pid_t tid, const struct image *image, uint64_t i, Elf64_Phdr *phdr)
{
	uint64_t at = image->aux[AT_PHDR] + i * image->aux[AT_PHENT];
	Elf32_Phdr narrow;

	if (image->width == 8)
		return pctxi_peek(tid, at, phdr, sizeof(*phdr));
	if (!pctxi_peek(tid, at, &narrow, sizeof(narrow)))
		return false;
	*phdr = (Elf64_Phdr){.p_type = narrow.p_type, .p_vaddr = narrow.p_vaddr};
	return true;
}

/*
 * The address of the program's dynamic section; 0: it has none.  false and errno: it cannot
 * be read, or there are more headers than a program can have, because the program has
 * modified its vector.
 */
static bool find_dynamic(pid_t tid, const struct image *image, uint64_t *dynamic)
{
	uint64_t bias = 0;
	Elf64_Phdr phdr;

	*dynamic = 0;
	if (image->aux[AT_PHNUM] > MAX_PHDRS_SIZE / image->aux[AT_PHENT]) {
		errno = EFBIG;
		return false;
	}
	for (uint64_t i = 0; i < image->aux[AT_PHNUM]; i++) {
		if (!peek_phdr(tid, image, i, &phdr))
			return false;
		if (phdr.p_type == PT_PHDR)
			bias = image->aux[AT_PHDR] - phdr.p_vaddr;
		else if (phdr.p_type == PT_DYNAMIC)
			*dynamic = phdr.p_vaddr;
	}
	if (*dynamic != 0)
		*dynamic += bias;
	return true;
}

/*
 * The address of the DT_DEBUG entry, where the dynamic linker stores the address of its
 * r_debug (link.h); 0: there is no linker or no such entry.  false and errno: the sections
 * cannot be read.
 */
static bool find_debug_entry(pid_t tid, const struct image *image, uint64_t *entry)
{
	uint64_t at, dyn[2];

	*entry = 0;
	if (image->aux[AT_BASE] == 0)
		return true;
	if (!find_dynamic(tid, image, &at))
		return false;
	for (unsigned i = 0; at != 0; i++, at += 2UL * image->width) {
		errno = EFBIG;
		if (i == MAX_DYNAMIC || !peek_words(tid, at, image->width, dyn, 2))
			return false;
		if (dyn[0] == DT_NULL)
			break;
		if (dyn[0] == DT_DEBUG) {
			*entry = at + image->width;
			break;
		}
	}
	return true;
}

/* Will the linker map more of the libraries that the program starts with?  -1: see errno. */
static int is_linking(pid_t tid, uint64_t entry, unsigned width)
{
	uint64_t at, word[R_WORDS];

	if (!peek_words(tid, entry, width, &at, 1))
		return -1;
	/* The address is not set yet, or the linker has not initialized r_debug. */
	if (at == 0 || !peek_words(tid, at, width, word, R_WORDS) ||
	    as_int(word[R_VERSION], width) == 0)
		return 1;
	return as_int(word[R_STATE], width) != RT_CONSISTENT;
}

int pctx_watch_libraries(pctx_t *pctx, int which)
{
	const struct pctxi_lwp *lwp;
	unsigned long msg;
	struct image image;
	uint64_t entry;
	int linking = 0, err;

	if (!pctxi_proc_is_known(pctx)) {
		errno = EINVAL;
		return -1;
	}
	lwp = pctxi_lwp_first(pctx);
	pctx->r_debug = 0;
	pctx->watch_all = false;
	if (which == PCTX_LIBRARIES_NONE || pctx->handlers.mapped == NULL || lwp == NULL ||
	    lwp->state != PCTXI_LWP_STOPPED)
		return 0;
	if (read_auxv(lwp->tid, &image) == -1 || !find_debug_entry(lwp->tid, &image, &entry) ||
	    (entry != 0 && (linking = is_linking(lwp->tid, entry, image.width)) == -1)) {
		err = errno != ESRCH ? errno : EIO;
		/* If it was killed, it is in no stop: report ESRCH, and only then. */
		errno = ptrace(PTRACE_GETEVENTMSG, lwp->tid, NULL, &msg) == -1 ? ESRCH : err;
		return -1;
	}
	pctx->r_debug_width = image.width;
	pctx->r_debug = linking ? entry : 0;
	pctx->watch_all = which == PCTX_LIBRARIES_ALL;
	if (linking)
		return PCTX_LIBRARIES_START;
	return pctx->watch_all ? PCTX_LIBRARIES_ALL : PCTX_LIBRARIES_NONE;
}

/* Are these the arguments of a call that maps code of a file? */
static bool maps_file_code(const uint64_t *args)
{
	return (args[2] & PROT_EXEC) != 0 && (args[3] & MAP_ANONYMOUS) == 0;
}

/* Is it a call that maps code of a file? */
static bool is_mapping(const struct __ptrace_syscall_info *call, unsigned width)
{
	if (width == 8)
		return call->entry.nr == SYS_mmap && maps_file_code(call->entry.args);
	return call->entry.nr == OLD_MMAP_32 ||
	       (call->entry.nr == MMAP2_32 && maps_file_code(call->entry.args));
}

enum pctxi_solib pctxi_solib_stop(struct pctxi_lwp *lwp)
{
	struct pctx *ctx = lwp->ctx;
	struct __ptrace_syscall_info call;
	bool maps_code = lwp->maps_code;

	if ((ctx->r_debug == 0 && !ctx->watch_all) || ctx->state != PCTXI_PROC_FOLLOWED)
		return PCTXI_SOLIB_NOTHING;
	lwp->maps_code = false;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, lwp->tid, (void *)sizeof(call), &call) < 0)
		return PCTXI_SOLIB_NOTHING; /* it was killed */
	if (call.op != PTRACE_SYSCALL_INFO_ENTRY)
		return maps_code ? PCTXI_SOLIB_MAPPED : PCTXI_SOLIB_NOTHING;
	lwp->maps_code = is_mapping(&call, ctx->r_debug_width);
	if (ctx->r_debug == 0 || is_linking(lwp->tid, ctx->r_debug, ctx->r_debug_width) != 0)
		return PCTXI_SOLIB_NOTHING;
	ctx->r_debug = 0;
	return PCTXI_SOLIB_DONE;
}
