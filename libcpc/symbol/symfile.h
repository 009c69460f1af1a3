/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* symfile.h - a cache of the programs and libraries whose symbols were read. */
#ifndef CPCI_SYMFILE_H
#define CPCI_SYMFILE_H

#include "elffile.h"
#include "maps.h"

#include <bsd/sys/queue.h>

/* Can the kernel probe an instruction? */
struct cpci_verdict {
	uint64_t offset;
	enum { CPCI_PROBEABLE, CPCI_NOT_PROBEABLE, CPCI_MISSTEPPED, CPCI_NOEXEC } answer;
	LIST_ENTRY(cpci_verdict) link;
};

struct cpci_symfile {
	struct stat st;
	struct cpci_file_id id;
	int err; /* why its headers cannot be read */
	struct cpci_elf elf;
	LIST_HEAD(cpci_answers, cpci_answer) answers;
	LIST_HEAD(cpci_verdicts, cpci_verdict) verdicts;
	LIST_ENTRY(cpci_symfile) link;
};

/* An empty cache is zeroed. */
struct cpci_symfiles {
	LIST_HEAD(cpci_symfile_list, cpci_symfile) list;
};

/*
 * Opens a file.  If `id` is not NULL, it must be the file that is mapped as `id`.  The caller
 * closes `fd`.  NULL and errno: ESTALE, it is another file.
 */
struct cpci_symfile *cpci_symfile_open(struct cpci_symfiles *files, const char *path,
				       const struct cpci_file_id *id, int *fd);
/*
 * Does cpci_elf_search(), and takes the site of that number; 0: the first one.  The cache keeps
 * symbol->site.  EBUSY: the file is being written.
 */
int cpci_symfile_find(struct cpci_symfile *file, int fd, enum cpci_elf_table which,
		      const char *name, unsigned site, struct cpci_symbol *symbol);
/* Is it a dynamic linker? */
int cpci_symfile_is_linker(struct cpci_symfile *file, int fd);

/* Removes the files that were not used lately from the cache.  Other files stay valid. */
void cpci_symfiles_trim(struct cpci_symfiles *files);
void cpci_symfiles_free(struct cpci_symfiles *files);

#endif /* CPCI_SYMFILE_H */
