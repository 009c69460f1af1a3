/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * elffile.h - ELF files of programs and libraries: their segments and their symbols.
 *
 * A traced program may have forged its files.  So everything is read with pread(2), into
 * memory of bounded size, in bounded time.
 */
#ifndef CPCI_ELFFILE_H
#define CPCI_ELFFILE_H

#include "../event/event.h"

#include <elf.h>
#include <stdint.h>
#include <sys/stat.h>

enum cpci_symbol_kind {
	CPCI_SYM_NONE,
	CPCI_SYM_FOUND,
	CPCI_SYM_AMBIGUOUS, /* there are `n` local functions of that name */
	CPCI_SYM_IFUNC,
	CPCI_SYM_TLS,
	CPCI_SYM_NO_SITE, /* the probe has `n` sites, fewer than the number asked for */
};

/* A place of a symbol, in the addresses of the file. */
struct cpci_site {
	uint64_t value, size;
	uint64_t counter; /* probes: the address of the semaphore; 0: none */
	bool clone;	  /* a copy of the function, which the compiler made */
	char suffix[32];  /* of the name: "@VERSION", ".constprop.0", or "" */
};

struct cpci_symbol {
	enum cpci_symbol_kind kind;
	bool local;		/* other files cannot see it */
	bool exact;		/* the first site is the symbol itself, or its default version */
	uint64_t n;		/* the number of sites */
	unsigned hidden;	/* local functions with the name of this global symbol */
	struct cpci_site *site; /* of a function: its versions, then its clones */
	/* One of the sites, once it was chosen: */
	uint64_t value, size, counter;
};

/* A part of the file that is mapped at `addr`. */
struct cpci_segment {
	uint64_t offset, filesz, addr, memsz;
	bool exec, write;
};

struct cpci_elf {
	unsigned width;	   /* of a word: 4 or 8 bytes */
	bool shared;	   /* addresses are relative to where it is mapped */
	bool interpreted;  /* it has a dynamic linker */
	uint64_t entry;	   /* the entry point */
	uint64_t dynamic;  /* the address of its dynamic section; 0: none */
	uint64_t ndynamic; /* the size of the dynamic section in bytes */
	size_t nsegments;
	struct cpci_segment *segment;
};

/*
 * Reads the headers.  -1 and errno: ENOEXEC, not an ELF file of this machine; EFBIG, the
 * headers are larger than in any sound file; EIO, the file is too short.
 */
int cpci_elf_read(struct cpci_elf *elf, int fd);
void cpci_elf_free(struct cpci_elf *elf);

/* Finds the offset in the file of the byte at `addr`.  False: the file does not have it. */
bool cpci_elf_offset(const struct cpci_elf *elf, uint64_t addr, uint64_t *offset);
/* The segment that contains an address, or NULL. */
const struct cpci_segment *cpci_elf_segment(const struct cpci_elf *elf, uint64_t addr);
/* The address at which code at this offset of the file is mapped.  False: it is not mapped. */
bool cpci_elf_code(const struct cpci_elf *elf, uint64_t offset, uint64_t *addr);

/* Where to search. */
enum cpci_elf_table {
	CPCI_ELF_ALL, /* the table of all symbols, or, in a stripped file, the dynamic symbols */
	CPCI_ELF_DYNAMIC, /* only the dynamic symbols */
	CPCI_ELF_PROBES,  /* probes of sys/sdt.h, in notes: "provider:name" */
	CPCI_ELF_IMPORTS, /* a walk: the dynamic symbols that other files define */
};

/*
 * Finds a name in a file, by one pass through the tables.  A name can be NAME@VERSION.  The caller
 * frees symbol->site, which has at most CPCI_MAX_SITES of symbol->n sites.  -1 and errno: as above;
 * EFBIG: the tables are too large; ETIME: it takes too long; ENODATA: there are no section headers,
 * which locate the tables.
 */
int cpci_elf_search(const struct cpci_elf *elf, int fd, enum cpci_elf_table which, const char *name,
		    struct cpci_symbol *symbol);

/* Does the file have a section of that name?  False also if its sections cannot be read. */
bool cpci_elf_has_section(int fd, const char *name);

/*
 * Visits each site of each probe of a file; or each symbol, with `provider` NULL and possibly a
 * version after the name.  The file need not be an ELF file.
 */
typedef void cpci_elf_visit_fn(void *arg, const char *provider, const char *name);
void cpci_elf_walk(int fd, enum cpci_elf_table which, void *arg, cpci_elf_visit_fn *visit);

/* What identifies the separate debug file of a file. */
struct cpci_elf_link {
	bool whole; /* it has the table of all symbols itself */
	unsigned char id[64];
	size_t nid;	/* the size of its build id; 0: none */
	char name[256]; /* of .gnu_debuglink; "": none */
	uint32_t crc;
};
int cpci_elf_link(int fd, struct cpci_elf_link *link); /* -1 and errno */

/* Reads exactly `n` bytes, or returns false and errno: EIO, the file is too short. */
bool cpci_elf_pread(int fd, void *buf, size_t n, uint64_t offset);
/* A word of a file or of a process, which may be unaligned; `width`: 4 or 8 bytes. */
uint64_t cpci_elf_word(const void *p, unsigned width);
/* Reads the ELF header, of either width.  -1 and errno. */
int cpci_elf_header(int fd, unsigned *width, Elf64_Ehdr *ehdr);

#endif /* CPCI_ELFFILE_H */
