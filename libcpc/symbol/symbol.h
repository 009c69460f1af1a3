/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbol.h - where the symbols of breakpoints are in a process.
 */
#ifndef CPCI_SYMBOL_H
#define CPCI_SYMBOL_H

#include "../group/group.h"

#include <bsd/sys/queue.h>

/* ---- symfile.c: symbols in ELF files, each looked up once ------------------------ */

/* The files that were looked into. */
LIST_HEAD(cpci_symfiles, cpci_symfile);

enum cpci_symbol_kind {
	CPCI_SYM_NONE,
	CPCI_SYM_FOUND,
	CPCI_SYM_AMBIGUOUS, /* `n` local ones */
	CPCI_SYM_IFUNC,
	CPCI_SYM_TLS,
};

/* A part of a file that is mapped as code, in whole pages. */
struct cpci_segment {
	uint64_t offset, addr;
};
#define CPCI_MAX_SEGMENTS 4

struct cpci_symbol {
	enum cpci_symbol_kind kind;
	uint64_t value, size; /* as in the file; what is mapped elsewhere is elsewhere */
	uint_t n;
	/* Of its file. */
	uint64_t entry;
	uint_t nsegments;
	const struct cpci_segment *segment;
};

/*
 * What the file at `path` has by that name.  NULL and errno: it cannot be read, or is not
 * the one with inode number `ino` (0: any).
 */
const struct cpci_symbol *cpci_symfile_find(struct cpci_symfiles *files, const char *path,
					    uint64_t ino, const char *name);
void cpci_symfiles_free(struct cpci_symfiles *files);

/* ---- symbol.c: the symbols of a plan in a process ---------------------------------- */

/* The first term of a plan with a symbol, or nterms. */
uint_t cpci_symbols_first(const struct cpci_plan *plan);

/*
 * Looks up the symbols that have no address in `bp` yet.  How many the process of thread
 * `tid` does not have, and the first of them; -1: see `diag`.
 */
int cpci_symbols_find(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
		      struct cpci_bp_addr *bp, uint_t *missing, struct cpci_diag *diag);

#endif /* CPCI_SYMBOL_H */
