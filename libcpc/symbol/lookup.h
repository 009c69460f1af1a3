/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lookup.h - the search for a symbol, and what is found.
 */
#ifndef CPCI_LOOKUP_H
#define CPCI_LOOKUP_H

#include "process.h"
#include "symbol.h"

/* What is looked for, and who asks. */
struct cpci_lookup {
	struct cpci_process *process;
	const struct cpci_req *req;
	const struct cpci_term *term;
	struct cpci_diag *diag;
	bool *mapped; /* set: the process has the file that the term names */
};

/* A file that has the symbol. */
struct cpci_found {
	struct cpci_symbol symbol;
	uint64_t bias;
	bool moved;  /* its code is not where it is to be */
	uint64_t at; /* an address in the library; 0: it is the program */
	char path[256];
};

/* ---- refuse.c: why it cannot be counted ------------------------------------------- */

/* A path for a message: of a long one the end. */
void cpci_lookup_tell_path(char *to, size_t size, const char *path);
/* A file that may have the symbol cannot be read.  -1. */
int cpci_lookup_cannot_read(const struct cpci_lookup *look, const char *path, int err);
/* What is wrong with the whole process, with errno.  -1. */
int cpci_lookup_cannot_look(const struct cpci_lookup *look, enum cpci_process_error error);
/* What a found symbol is good for: 1, or -1. */
int cpci_lookup_judge(const struct cpci_lookup *look, const struct cpci_found *found);

/* ---- function.c: uprobes ----------------------------------------------------------- */

/* Where in its file a symbol is that was found in the process: 1, or -1. */
int cpci_function_settle(const struct cpci_lookup *look, const struct cpci_found *found,
			 struct cpci_symbol_addr *at);
/* Looks a symbol up in the file that the term names by its path: 1 found, 0 not there, -1. */
int cpci_function_in_file(const struct cpci_lookup *look, struct cpci_symfiles *files, pid_t tid,
			  struct cpci_symbol_addr *at);
/* As cpci_symfile_open(), a path as the process of thread `tid` sees it; 0, -1: as we do. */
struct cpci_symfile *cpci_function_open(struct cpci_symfiles *files, const char *path, pid_t tid,
					int *fd);
/* As cpci_symfile_find(), what the term names. */
int cpci_function_find(const struct cpci_term *term, struct cpci_symfile *file, int fd,
		       struct cpci_symbol *symbol);
/* Is it a file that the term does not name? */
bool cpci_function_is_elsewhere(const struct cpci_term *term, const char *path);

#endif /* CPCI_LOOKUP_H */
