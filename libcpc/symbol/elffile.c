/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* elffile.c - the headers of an ELF file. */
#include "elffile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of program headers: the kernel executes no file with more. */
#define MAX_PHDRS_SIZE 65536

bool cpci_elf_pread(int fd, void *buf, size_t n, uint64_t offset)
{
	char *p = buf;

	while (n > 0) {
		ssize_t got = offset <= INT64_MAX ? pread(fd, p, n, (off_t)offset) : 0;

		if (got == -1 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (got == 0)
				errno = EIO;
			return false;
		}
		p += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return true;
}

uint64_t cpci_elf_word(const void *p, unsigned width)
{
	uint64_t wide;
	uint32_t narrow;

	if (width == 8) {
		memcpy(&wide, p, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, p, sizeof(narrow));
	return narrow;
}

/* Converts a 32-bit header to a 64-bit one. */
static void widen_ehdr(const Elf32_Ehdr *from, Elf64_Ehdr *to)
{
	*to = (Elf64_Ehdr){
		.e_type = from->e_type,
		.e_entry = from->e_entry,
		.e_phoff = from->e_phoff,
		.e_shoff = from->e_shoff,
		.e_phentsize = from->e_phentsize,
		.e_phnum = from->e_phnum,
		.e_shentsize = from->e_shentsize,
		.e_shnum = from->e_shnum,
		.e_shstrndx = from->e_shstrndx,
	};
}

int cpci_elf_header(int fd, unsigned *width, Elf64_Ehdr *ehdr)
{
	const unsigned char native = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	unsigned char ident[EI_NIDENT];
	Elf32_Ehdr narrow;

	if (!cpci_elf_pread(fd, ident, sizeof(ident), 0)) {
		if (errno == EIO)
			errno = ENOEXEC; /* too short for an ELF header */
		return -1;
	}
	errno = ENOEXEC;
	if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != native)
		return -1;
	if (ident[EI_CLASS] == ELFCLASS64) {
		*width = 8;
		return cpci_elf_pread(fd, ehdr, sizeof(*ehdr), 0) ? 0 : -1;
	}
	if (ident[EI_CLASS] != ELFCLASS32)
		return -1;
	*width = 4;
	if (!cpci_elf_pread(fd, &narrow, sizeof(narrow), 0))
		return -1;
	widen_ehdr(&narrow, ehdr);
	return 0;
}

static void nth_phdr(const void *table, unsigned width, size_t i, Elf64_Phdr *phdr)
{
	const Elf32_Phdr *narrow = (const Elf32_Phdr *)table + i;

	if (width == 8) {
		*phdr = ((const Elf64_Phdr *)table)[i];
		return;
	}
	*phdr = (Elf64_Phdr){
		.p_type = narrow->p_type,
		.p_flags = narrow->p_flags,
		.p_offset = narrow->p_offset,
		.p_vaddr = narrow->p_vaddr,
		.p_filesz = narrow->p_filesz,
		.p_memsz = narrow->p_memsz,
	};
}

static void add_phdr(struct cpci_elf *elf, const Elf64_Phdr *phdr)
{
	uint64_t end;

	switch (phdr->p_type) {
	case PT_LOAD:
		/* The kernel would refuse to map such a segment, too. */
		if (phdr->p_filesz > phdr->p_memsz ||
		    __builtin_add_overflow(phdr->p_vaddr, phdr->p_memsz, &end) ||
		    __builtin_add_overflow(phdr->p_offset, phdr->p_filesz, &end))
			break;
		elf->segment[elf->nsegments++] = (struct cpci_segment){
			.offset = phdr->p_offset,
			.filesz = phdr->p_filesz,
			.addr = phdr->p_vaddr,
			.memsz = phdr->p_memsz,
			.exec = (phdr->p_flags & PF_X) != 0,
			.write = (phdr->p_flags & PF_W) != 0,
		};
		break;
	case PT_DYNAMIC:
		elf->dynamic = phdr->p_vaddr;
		elf->ndynamic = phdr->p_memsz;
		break;
	case PT_INTERP:
		elf->interpreted = true;
		break;
	default:
		break;
	}
}

int cpci_elf_read(struct cpci_elf *elf, int fd)
{
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	size_t size;
	void *table;

	*elf = (struct cpci_elf){0};
	if (cpci_elf_header(fd, &elf->width, &ehdr) == -1)
		return -1;
	elf->entry = ehdr.e_entry;
	elf->shared = ehdr.e_type == ET_DYN;
	size = elf->width == 8 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	if ((ehdr.e_type != ET_DYN && ehdr.e_type != ET_EXEC) ||
	    (ehdr.e_phnum != 0 && ehdr.e_phentsize != size))
		return cpci_errno(ENOEXEC);
	if (ehdr.e_phnum * size > MAX_PHDRS_SIZE)
		return cpci_errno(EFBIG);
	table = malloc(ehdr.e_phnum * size + 1);
	elf->segment = calloc(ehdr.e_phnum + 1U, sizeof(*elf->segment));
	if (table == NULL || elf->segment == NULL ||
	    !cpci_elf_pread(fd, table, ehdr.e_phnum * size, ehdr.e_phoff)) {
		int err = errno;

		free(table);
		cpci_elf_free(elf);
		return cpci_errno(err);
	}
	for (size_t i = 0; i < ehdr.e_phnum; i++) {
		nth_phdr(table, elf->width, i, &phdr);
		add_phdr(elf, &phdr);
	}
	free(table);
	return 0;
}

void cpci_elf_free(struct cpci_elf *elf)
{
	free(elf->segment);
	*elf = (struct cpci_elf){0};
}

const struct cpci_segment *cpci_elf_segment(const struct cpci_elf *elf, uint64_t addr)
{
	/* Where segments overlap, the last one was mapped over the others. */
	for (size_t i = elf->nsegments; i-- > 0;) {
		const struct cpci_segment *s = &elf->segment[i];

		if (addr >= s->addr && addr - s->addr < s->memsz)
			return s;
	}
	return NULL;
}

bool cpci_elf_offset(const struct cpci_elf *elf, uint64_t addr, uint64_t *offset)
{
	const struct cpci_segment *s = cpci_elf_segment(elf, addr);

	if (s == NULL || addr - s->addr >= s->filesz)
		return false;
	*offset = addr - s->addr + s->offset;
	return true;
}

bool cpci_elf_code(const struct cpci_elf *elf, uint64_t offset, uint64_t *addr)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < elf->nsegments; i++) {
		const struct cpci_segment *s = &elf->segment[i];
		uint64_t first = s->offset & ~(page - 1);

		/* The kernel maps whole pages. */
		if (s->exec && offset >= first && offset < s->offset + s->filesz) {
			*addr = (s->addr & ~(page - 1)) + (offset - first);
			return true;
		}
	}
	return false;
}
