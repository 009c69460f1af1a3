/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* lookup.h - the search for a symbol, and its result. */
#ifndef CPCI_LOOKUP_H
#define CPCI_LOOKUP_H

#include "process.h"
#include "symbol.h"

/* A search. */
struct cpci_lookup {
	struct cpci_process *process;
	const struct cpci_req *req;
	const struct cpci_term *term;
	struct cpci_diag *diag;
	struct cpci_symbol_addr *at; /* the result */
};

/* A file that has the symbol. */
struct cpci_found {
	struct cpci_symbol symbol;
	uint64_t bias;
	bool moved;  /* its code is not mapped at its address */
	uint64_t at; /* an address in the library; 0: the program */
	char path[256];
};

/* ---- refuse.c: why a symbol cannot be counted --------------------------------------- */

/* Formats a path for a message; a long one is cut at its beginning. */
void cpci_lookup_shorten_path(char *to, size_t size, const char *path);
/* Refuses because a file that may have the symbol cannot be read.  Returns -1. */
int cpci_lookup_cannot_read(const struct cpci_lookup *look, const char *path, int err);
/* Refuses because the process cannot be examined; see errno.  Returns -1. */
int cpci_lookup_cannot_look(const struct cpci_lookup *look, enum cpci_process_error error);
/* Can a found symbol be counted?  1, or -1. */
int cpci_lookup_check(const struct cpci_lookup *look, const struct cpci_found *found);

/* ---- probeable.c: instructions ------------------------------------------------------ */

/*
 * Can the kernel probe the instruction that was found, look->at->offset of the open file?  1, or
 * -1.
 */
int cpci_function_check(const struct cpci_lookup *look, const struct cpci_found *found,
			struct cpci_symfile *file, int fd);

/* ---- returns.c: functions whose returns cannot be counted ----------------------------- */

/* Can the returns of the function be counted, if the term counts them?  1, or -1. */
int cpci_function_check_return(const struct cpci_lookup *look, const struct cpci_found *found,
			       struct cpci_symfile *file, int fd);

/* ---- function.c: uprobes ----------------------------------------------------------- */

/* Finds the file, and the offset in it, of a symbol that was found in the process: 1, or -1. */
int cpci_function_locate(const struct cpci_lookup *look, const struct cpci_found *found);
/* Looks a symbol up in the file whose path the term has: 1 found, 0 missing, -1. */
int cpci_function_in_file(const struct cpci_lookup *look, struct cpci_symfiles *files, pid_t tid);
/* cpci_symfile_open() of a path in the view of thread `tid`'s process; 0, -1: in our view. */
struct cpci_symfile *cpci_function_open(struct cpci_symfiles *files, const char *path, pid_t tid,
					int *fd);
/* cpci_symfile_find() of the symbol or probe of the term. */
int cpci_function_find(const struct cpci_term *term, struct cpci_symfile *file, int fd,
		       struct cpci_symbol *symbol);
/* Notes in look->at whether the found site is a clone. */
void cpci_lookup_note_clone(const struct cpci_lookup *look, const struct cpci_found *found);
/* Is it another file than the one that the term names? */
bool cpci_function_is_elsewhere(const struct cpci_term *term, const char *path);

#endif /* CPCI_LOOKUP_H */
