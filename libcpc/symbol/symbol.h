/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbol.h - where the symbols of breakpoints are in a process.
 */
#ifndef CPCI_SYMBOL_H
#define CPCI_SYMBOL_H

#include "../group/group.h"
#include "symfile.h"

/* The first term of a plan with a symbol, or nterms. */
uint_t cpci_symbols_first(const struct cpci_plan *plan);

/*
 * Looks up the symbols that have no address in `bp` yet.  How many the process of thread
 * `tid` does not have, and the first of them; -1: see `diag`.
 */
int cpci_symbols_find(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
		      struct cpci_bp_addr *bp, uint_t *missing, struct cpci_diag *diag);

#endif /* CPCI_SYMBOL_H */
