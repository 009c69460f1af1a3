/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symfile.h - the programs and libraries that were looked into, each read once.
 */
#ifndef CPCI_SYMFILE_H
#define CPCI_SYMFILE_H

#include "elffile.h"
#include "maps.h"

#include <bsd/sys/queue.h>

struct cpci_symfile {
	struct stat st;
	struct cpci_file_id id;
	int err; /* its headers cannot be read */
	struct cpci_elf elf;
	LIST_HEAD(cpci_answers, cpci_answer) answers;
	LIST_ENTRY(cpci_symfile) link;
};

/* Zeroed, it is empty. */
struct cpci_symfiles {
	LIST_HEAD(cpci_symfile_list, cpci_symfile) list;
	/*
	 * Sums of what was asked of libraries that were looked through, and of these, so that
	 * not each thread of a process does it again.
	 */
	uint64_t seen[64];
};

/*
 * Opens a file, which must be the one that is mapped as `id`, if that is not NULL.  It is
 * the caller's to close `fd`; NULL and errno: ESTALE, it is another file.
 */
struct cpci_symfile *cpci_symfile_open(struct cpci_symfiles *files, const char *path,
				       const struct cpci_file_id *id, int *fd);
/* As cpci_elf_search().  EBUSY: the file is being written. */
int cpci_symfile_find(struct cpci_symfile *file, int fd, enum cpci_elf_table which,
		      const char *name, struct cpci_symbol *symbol);
/* Is it a dynamic linker, rather than what one links? */
int cpci_symfile_is_linker(struct cpci_symfile *file, int fd);

/* Forgets the files that were not asked for lately.  Others stay where they are. */
void cpci_symfiles_trim(struct cpci_symfiles *files);
void cpci_symfiles_free(struct cpci_symfiles *files);

#endif /* CPCI_SYMFILE_H */
