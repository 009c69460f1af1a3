/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * entries.h - the entries of a function: the symbols with its name, their versions, and the clones
 * that the compiler made of it.
 */
#ifndef CPCI_ENTRIES_H
#define CPCI_ENTRIES_H

#include "elffile.h"

/* Of several symbols with the same name, the search takes those with the highest rank. */
enum cpci_rank {
	CPCI_RANK_NONE,
	CPCI_RANK_CLONE,
	CPCI_RANK_LOCAL,
	CPCI_RANK_OLD,
	CPCI_RANK_GLOBAL
};

/* A symbol of the name. */
struct cpci_entry {
	struct cpci_site site;
	enum cpci_symbol_kind kind;
	enum cpci_rank rank;
	bool function;
	unsigned unit; /* local symbols: the number of their source file */
};

struct cpci_entries {
	const char *name;    /* NAME, or NAME@VERSION */
	size_t length;	     /* of NAME */
	const char *version; /* NULL: all versions */
	size_t n, total;     /* at most CPCI_MAX_SITES are kept */
	struct cpci_entry *entry;
};

/* Is it a function or a variable of this file? */
bool cpci_entry_is_defined(const Elf64_Sym *sym);

void cpci_entries_start(struct cpci_entries *entries, const char *name);
/*
 * Adds a symbol if its name fits.  `version`: of a dynamic symbol that has one, or NULL; `hidden`:
 * another version is the default one.  False: no memory.
 */
bool cpci_entries_add(struct cpci_entries *entries, const Elf64_Sym *sym, const char *name,
		      const char *version, bool hidden, unsigned unit);
/* Finds out what the symbols mean.  False: no memory.  Frees the entries. */
bool cpci_entries_finish(struct cpci_entries *entries, struct cpci_symbol *symbol);

#endif /* CPCI_ENTRIES_H */
