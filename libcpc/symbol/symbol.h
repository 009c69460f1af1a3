/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* symbol.h - finds the symbols that events name. */
#ifndef CPCI_SYMBOL_H
#define CPCI_SYMBOL_H

#include "../group/group.h"
#include "symfile.h"

/* The first term with a symbol that has no address yet, or nterms.  `at` NULL: no term has one. */
uint_t cpci_symbols_first(const struct cpci_plan *plan, const struct cpci_symbol_addr *at);

/* Formats "symbol" or "file:symbol" in a buffer of that size. */
#define CPCI_SYMBOL_NAME (2 * CPCI_MAX_SYMBOL)
void cpci_symbol_name(const struct cpci_term *term, char *name);

/*
 * Looks up the symbols of terms with the path of a file.  The path is that in the view of the
 * process of thread `tid`; 0, -1: in the caller's view.  0, or -1: see `diag`.
 */
int cpci_symbols_in_files(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
			  struct cpci_symbol_addr *at, struct cpci_diag *diag);
/*
 * Looks up the symbols that have no address in `at` yet.  Returns how many of them the process of
 * thread `tid` lacks; `missing` is the term of the first one.  -1: see `diag`.
 */
int cpci_symbols_find(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
		      struct cpci_symbol_addr *at, uint_t *missing, struct cpci_diag *diag);

/*
 * Finds a uprobe that was opened, but that the kernel has not set in the process of thread `tid`.
 * Returns its term, with the name of the file or function and a phrase about the memory; -1: none.
 */
int cpci_symbols_check(const struct cpci_plan *plan, const struct cpci_symbol_addr *at, pid_t tid,
		       const char **name, const char **why);

/*
 * Finds the name most similar to the symbol of a term.  Searches its file if the term has a path
 * (see cpci_symbols_in_files()), else the program and libraries of the process of thread `tid`.
 * False: none.
 */
bool cpci_symbols_nearest(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid,
			  char *name, size_t size);
/*
 * Is the program of the process stripped, or the file or library that the term names?  Then it may
 * have the function, but not the symbol.
 */
bool cpci_symbols_stripped(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid);
/* Formats the end of a message about a missing symbol: " (did you mean 'x'?)", or "". */
#define CPCI_SYMBOL_HINT (CPCI_MAX_SYMBOL + 128)
void cpci_symbols_hint(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid,
		       char *hint);

/*
 * Visits the probes of the caller's libraries, which most programs share:
 * "sdt/provider:name/", with the name of the file.
 */
void cpci_symbols_walk_probes(void *arg, cpci_walk_fn *action);

#endif /* CPCI_SYMBOL_H */
