/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbol.h - where the symbols that events name are.
 */
#ifndef CPCI_SYMBOL_H
#define CPCI_SYMBOL_H

#include "../group/group.h"
#include "symfile.h"

/* The first term with a symbol that has no address yet, or nterms; `at` NULL: none has. */
uint_t cpci_symbols_first(const struct cpci_plan *plan, const struct cpci_symbol_addr *at);

/* "symbol" or "file:symbol", in a buffer of that size. */
#define CPCI_SYMBOL_NAME (2 * CPCI_MAX_SYMBOL)
void cpci_symbol_name(const struct cpci_term *term, char *name);

/*
 * Looks up the symbols of files that terms name by their paths: as the process of thread
 * `tid` sees them; 0, -1: as the caller does.  0, or -1: see `diag`.
 */
int cpci_symbols_in_files(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
			  struct cpci_symbol_addr *at, struct cpci_diag *diag);
/*
 * Looks up the symbols that have no address in `at` yet.  How many the process of thread
 * `tid` does not have, and the first of them; -1: see `diag`.
 */
int cpci_symbols_find(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
		      struct cpci_symbol_addr *at, uint_t *missing, struct cpci_diag *diag);

/*
 * The name nearest to the symbol of a term: of the file that it names by its path, as the
 * process of thread `tid` sees it (as above), or of that process.  False: none is near.
 */
bool cpci_symbols_nearest(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid,
			  char *name, size_t size);
/* What a message that the symbol is missing goes on with: " (did you mean 'x'?)", or "". */
#define CPCI_SYMBOL_HINT (CPCI_MAX_SYMBOL + 24)
void cpci_symbols_hint(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid,
		       char *hint);

/*
 * Tells the probes of the libraries that the caller has, as most programs have some of them:
 * "sdt/provider:name/", and of which file it is.
 */
void cpci_symbols_walk_probes(void *arg, cpci_walk_fn *action);

#endif /* CPCI_SYMBOL_H */
