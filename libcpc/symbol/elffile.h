/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * elffile.h - programs and libraries: where their parts are to be mapped, and their symbols.
 *
 * The files are those of the programs that are tracked, which may have made them up.  So
 * everything is read with pread(2), into memory of bounded size, in bounded time.
 */
#ifndef CPCI_ELFFILE_H
#define CPCI_ELFFILE_H

#include "../sys/sys.h"

#include <elf.h>
#include <stdint.h>
#include <sys/stat.h>

enum cpci_symbol_kind {
	CPCI_SYM_NONE,
	CPCI_SYM_FOUND,
	CPCI_SYM_AMBIGUOUS, /* `n` local ones */
	CPCI_SYM_IFUNC,
	CPCI_SYM_TLS,
	CPCI_SYM_NO_SITE, /* a probe that has fewer sites: `n` */
};

struct cpci_symbol {
	enum cpci_symbol_kind kind;
	uint64_t value, size; /* as in the file; what is mapped elsewhere is elsewhere */
	uint64_t n;
	bool local;	  /* other files cannot see it */
	uint64_t counter; /* probes: where their semaphore is; 0: they have none */
};

/* A part of the file that is to be mapped, from `addr` on. */
struct cpci_segment {
	uint64_t offset, filesz, addr, memsz;
	bool exec;
};

struct cpci_elf {
	unsigned width;	   /* of its words: 4 or 8 bytes */
	bool shared;	   /* its addresses are offsets */
	bool interpreted;  /* it names a dynamic linker */
	uint64_t entry;	   /* where it begins */
	uint64_t dynamic;  /* the address of its dynamic section; 0: none */
	uint64_t ndynamic; /* and how many bytes */
	size_t nsegments;
	struct cpci_segment *segment;
};

/*
 * Reads the headers.  -1 and errno: ENOEXEC, it is not an ELF file of this machine; EFBIG,
 * its headers are larger than those of any sound file; EIO, it ends too early.
 */
int cpci_elf_read(struct cpci_elf *elf, int fd);
void cpci_elf_free(struct cpci_elf *elf);

/* Where in the file the byte is that belongs to `addr`.  False: nowhere. */
bool cpci_elf_offset(const struct cpci_elf *elf, uint64_t addr, uint64_t *offset);
/* The segment that an address is in, or NULL. */
const struct cpci_segment *cpci_elf_segment(const struct cpci_elf *elf, uint64_t addr);
/* The address at which code at this offset of the file is to be mapped.  False: none is. */
bool cpci_elf_code(const struct cpci_elf *elf, uint64_t offset, uint64_t *addr);

/* Where symbols are looked for. */
enum cpci_elf_table {
	CPCI_ELF_ALL,	  /* the table of all symbols or, if there is none, the dynamic ones */
	CPCI_ELF_DYNAMIC, /* only those */
	/*
	 * Probes of sys/sdt.h, in notes: "3:provider:name" is the third site of those that have
	 * the name.
	 */
	CPCI_ELF_PROBES,
};

/*
 * What the file has by that name; all of its tables are looked through once.  -1 and errno:
 * as above; EFBIG: the tables are too large; ETIME: it takes too long; ENODATA: it has no
 * section headers, which tell where the tables are.
 */
int cpci_elf_search(const struct cpci_elf *elf, int fd, enum cpci_elf_table which, const char *name,
		    struct cpci_symbol *symbol);

/*
 * Tells all that a file, which need not be an ELF file, has in a table: probes, each place of
 * them; of symbols `provider` is NULL, and a version may follow the name.
 */
typedef void cpci_elf_visit_fn(void *arg, const char *provider, const char *name);
void cpci_elf_walk(int fd, enum cpci_elf_table which, void *arg, cpci_elf_visit_fn *visit);

/* All `n` bytes, or false and errno: EIO, there are not as many. */
bool cpci_elf_pread(int fd, void *buf, size_t n, uint64_t offset);
/* The ELF header, of either width.  -1 and errno. */
int cpci_elf_header(int fd, unsigned *width, Elf64_Ehdr *ehdr);

#endif /* CPCI_ELFFILE_H */
