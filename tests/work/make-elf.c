/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * make-elf KIND FILE [LINKER] - write an ELF file with symbols that are much work to read:
 * sparse, a table of 3 GB that takes no blocks; endless, 150,000 names that begin in 3 MB of
 * strings without an end; compressed, strings that are said to be compressed.  Or, dynamic, a
 * program for the dynamic LINKER, with a dynamic section without an end.
 */
#include "work.h"

#include <elf.h>
#include <fcntl.h>

#define NSYMBOLS 150000
#define NSTRINGS 3000000
#define NDYNAMIC 100000

static Elf64_Sym symbol[NSYMBOLS];
static char strings[NSTRINGS];

static void put(int fd, const void *p, size_t n, uint64_t at)
{
	if (pwrite(fd, p, n, (off_t)at) != (ssize_t)n)
		broken("pwrite");
}

static Elf64_Ehdr new_header(uint16_t type)
{
	const union {
		uint16_t word;
		uint8_t byte;
	} one = {1};
	Elf64_Ehdr ehdr = {
		.e_ident = ELFMAG,
		.e_type = type,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(ehdr),
	};

	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] = one.byte == 1 ? ELFDATA2LSB : ELFDATA2MSB;
	ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	return ehdr;
}

static void put_dynamic(int fd, const char *linker)
{
	static Elf64_Dyn dyn[NDYNAMIC];
	const uint64_t at = 0x10000000, name = 1024, sections = 2048, none = 3072, dynamic = 4096;
	const uint64_t size = dynamic + sizeof(dyn);
	const Elf64_Shdr section[3] = {
		[1] = {.sh_type = SHT_SYMTAB,
		       .sh_link = 2,
		       .sh_offset = none,
		       .sh_size = sizeof(Elf64_Sym)},
		[2] = {.sh_type = SHT_STRTAB, .sh_offset = none, .sh_size = 1},
	};
	const Elf64_Phdr phdr[] = {
		{.p_type = PT_INTERP,
		 .p_offset = name,
		 .p_vaddr = at + name,
		 .p_filesz = strlen(linker) + 1},
		{.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = at, .p_align = 65536},
		{.p_type = PT_DYNAMIC,
		 .p_offset = dynamic,
		 .p_vaddr = at + dynamic,
		 .p_filesz = sizeof(dyn),
		 .p_memsz = sizeof(dyn)},
	};
	Elf64_Phdr load = phdr[1];
	Elf64_Ehdr ehdr = new_header(ET_EXEC), same;

	/* That of the machine. */
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (self == -1 || read(self, &same, sizeof(same)) != sizeof(same))
		broken("/proc/self/exe");
	ehdr.e_machine = same.e_machine;
	ehdr.e_flags = same.e_flags;
	ehdr.e_entry = at;
	ehdr.e_phoff = sizeof(ehdr);
	ehdr.e_phentsize = sizeof(phdr[0]);
	ehdr.e_phnum = 3;
	ehdr.e_shoff = sections;
	ehdr.e_shentsize = sizeof(section[0]);
	ehdr.e_shnum = 3;
	load.p_filesz = load.p_memsz = size;
	for (size_t i = 0; i < NDYNAMIC; i++)
		dyn[i].d_tag = DT_NEEDED;
	put(fd, &ehdr, sizeof(ehdr), 0);
	put(fd, phdr, sizeof(phdr), sizeof(ehdr));
	put(fd, &load, sizeof(load), sizeof(ehdr) + sizeof(load));
	put(fd, linker, strlen(linker) + 1, name);
	put(fd, section, sizeof(section), sections);
	put(fd, dyn, sizeof(dyn), dynamic);
}

int main(int argc, char *argv[])
{
	const char *kind = argc >= 3 ? argv[1] : "";
	bool sparse = strcmp(kind, "sparse") == 0, compressed = strcmp(kind, "compressed") == 0;
	Elf64_Shdr section[3] = {
		[1] = {.sh_type = SHT_SYMTAB,
		       .sh_link = 2,
		       .sh_offset = 4096,
		       .sh_size = sparse ? 3ULL << 30 : sizeof(symbol)},
		[2] = {.sh_type = SHT_STRTAB, .sh_size = sizeof(strings)},
	};
	Elf64_Ehdr ehdr = new_header(ET_DYN);
	bool dynamic = strcmp(kind, "dynamic") == 0 && argc == 4;
	int fd;

	if (!sparse && !compressed && !dynamic && strcmp(kind, "endless") != 0)
		broken("make-elf sparse|endless|compressed FILE, or make-elf dynamic FILE LINKER");
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd == -1)
		broken(argv[2]);
	if (dynamic) {
		put_dynamic(fd, argv[3]);
		return 0;
	}
	ehdr.e_shoff = sizeof(ehdr);
	ehdr.e_shentsize = sizeof(section[0]);
	ehdr.e_shnum = 3;
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
