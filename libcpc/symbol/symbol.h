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
 * Tells the probes of the libraries that the caller has, as most programs have some of them:
 * "sdt/provider:name/", and of which file it is.
 */
void cpci_symbols_walk_probes(void *arg, cpci_walk_fn *action);

#endif /* CPCI_SYMBOL_H */
