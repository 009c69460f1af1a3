/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * make-elf KIND FILE - write an ELF file with symbols that are much work to read:
 * sparse, a table of 3 GB that takes no blocks; endless, 150,000 names that begin in 3 MB of
 * strings without an end; compressed, strings that are said to be compressed.
 */
#include "work.h"

#include <elf.h>
#include <fcntl.h>

#define NSYMBOLS 150000
#define NSTRINGS 3000000

static Elf64_Sym symbol[NSYMBOLS];
static char strings[NSTRINGS];

static void put(int fd, const void *p, size_t n, uint64_t at)
{
	if (pwrite(fd, p, n, (off_t)at) != (ssize_t)n)
		broken("pwrite");
}

int main(int argc, char *argv[])
{
	const char *kind = argc == 3 ? argv[1] : "";
	bool sparse = strcmp(kind, "sparse") == 0, compressed = strcmp(kind, "compressed") == 0;
	const union {
		uint16_t word;
		uint8_t byte;
	} one = {1};
	Elf64_Shdr section[3] = {
		[1] = {.sh_type = SHT_SYMTAB,
		       .sh_link = 2,
		       .sh_offset = 4096,
		       .sh_size = sparse ? 3ULL << 30 : sizeof(symbol)},
		[2] = {.sh_type = SHT_STRTAB, .sh_size = sizeof(strings)},
	};
	Elf64_Ehdr ehdr = {
		.e_ident = ELFMAG,
		.e_type = ET_DYN,
		.e_shoff = sizeof(ehdr),
		.e_shentsize = sizeof(section[0]),
		.e_shnum = 3,
	};
	int fd;

	if (!sparse && !compressed && strcmp(kind, "endless") != 0)
		broken("make-elf sparse|endless|compressed FILE");
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd == -1)
		broken(argv[2]);
	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] = one.byte == 1 ? ELFDATA2LSB : ELFDATA2MSB;
	section[2].sh_offset = section[1].sh_offset + section[1].sh_size;
	section[2].sh_flags = compressed ? SHF_COMPRESSED : 0;
	memset(strings, 'h', sizeof(strings));
	for (uint32_t i = 0; i < NSYMBOLS; i++)
		symbol[i] = (Elf64_Sym){.st_name = i, .st_info = STT_FUNC, .st_shndx = 1};
	put(fd, &ehdr, sizeof(ehdr), 0);
	put(fd, section, sizeof(section), sizeof(ehdr));
	if (sparse) {
		if (ftruncate(fd, (off_t)(section[2].sh_offset + section[2].sh_size)) == -1)
			broken("ftruncate");
		return 0;
	}
	put(fd, symbol, sizeof(symbol), section[1].sh_offset);
	put(fd, strings, sizeof(strings), section[2].sh_offset);
	return 0;
}
