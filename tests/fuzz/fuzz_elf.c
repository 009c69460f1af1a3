/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ELF files, their headers and symbols.
 */
#include "fuzz.h"

#include "../../libcpc/symbol/elffile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_known(int err)
{
	return err == ENOEXEC || err == EFBIG || err == EIO || err == ENODATA || err == ENOTSUP ||
	       err == ETIME;
}

static void search(const struct cpci_elf *elf, int fd, enum cpci_elf_table which, const char *name)
{
	struct cpci_symbol symbol;

	if (cpci_elf_search(elf, fd, which, name, &symbol) == -1)
		must(is_known(errno));
	must((symbol.kind == CPCI_SYM_NONE) == (symbol.n == 0) &&
	     (symbol.site == NULL) == (symbol.n == 0));
	for (uint64_t i = 0; i < symbol.n && i < CPCI_MAX_SITES; i++)
		must(strlen(symbol.site[i].suffix) < sizeof(symbol.site[i].suffix));
	free(symbol.site);
}

/* All of a name is there. */
static void visit(void *arg, const char *provider, const char *name)
{
	*(size_t *)arg += strlen(name) + (provider != NULL ? strlen(provider) : 0);
}

static void walk(int fd)
{
	size_t total = 0;

	cpci_elf_walk(fd, CPCI_ELF_ALL, &total, visit);
	cpci_elf_walk(fd, CPCI_ELF_DYNAMIC, &total, visit);
	cpci_elf_walk(fd, CPCI_ELF_PROBES, &total, visit);
}

static void check_segments(const struct cpci_elf *elf)
{
	uint64_t offset, addr;

	for (size_t i = 0; i < elf->nsegments; i++) {
		const struct cpci_segment *s = &elf->segment[i];

		/* The last one is mapped over the others. */
		if (s->filesz > 0 && i + 1 == elf->nsegments)
			must(cpci_elf_offset(elf, s->addr, &offset));
		if (s->exec && s->filesz > 0)
			must(cpci_elf_code(elf, s->offset, &addr));
		must(s->memsz == 0 || cpci_elf_segment(elf, s->addr) != NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct cpci_elf elf;

	if (fd == -1)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(fd != -1 && ftruncate(fd, 0) == 0);
	must(pwrite(fd, data, size, 0) == (ssize_t)size);
	if (cpci_elf_read(&elf, fd) == -1) {
		must(is_known(errno));
		return 0;
	}
	check_segments(&elf);
	search(&elf, fd, CPCI_ELF_ALL, "hit");
	search(&elf, fd, CPCI_ELF_DYNAMIC, "hit");
	search(&elf, fd, CPCI_ELF_ALL, "hit@V1");
	search(&elf, fd, CPCI_ELF_PROBES, "cpc:twice");
	walk(fd);
	cpci_elf_free(&elf);
	return 0;
}
