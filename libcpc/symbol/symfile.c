/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symfile.c - the symbols of programs and libraries, looked up once per file.
 */
#include "symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSYM_HIDDEN 0x8000U /* of elf.h's Versym: not the default version */

/* The better kind of symbol wins over others of the same name. */
enum rank { NONE, LOCAL, OLD_VERSION, GLOBAL };

struct answer {
	char *name;
	struct cpci_symbol symbol;
	LIST_ENTRY(answer) link;
};

struct cpci_symfile {
	struct stat st;
	uint64_t entry;
	uint_t nsegments;
	struct cpci_segment segment[CPCI_MAX_SEGMENTS];
	LIST_HEAD(answers, answer) answers;
	LIST_ENTRY(cpci_symfile) link;
};

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* An inode that was removed may be another file's by now; the times tell. */
static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       same_time(&a->st_mtim, &b->st_mtim) && same_time(&a->st_ctim, &b->st_ctim);
}

static void read_segments(Elf *elf, struct cpci_symfile *file)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t n = 0;
	GElf_Ehdr ehdr;
	GElf_Phdr phdr;

	if (gelf_getehdr(elf, &ehdr) == NULL || elf_getphdrnum(elf, &n) == -1)
		return;
	file->entry = ehdr.e_entry;
	for (int i = 0; i < (int)n && file->nsegments < CPCI_MAX_SEGMENTS; i++) {
		if (gelf_getphdr(elf, i, &phdr) == NULL || phdr.p_type != PT_LOAD ||
		    (phdr.p_flags & PF_X) == 0)
			continue;
		file->segment[file->nsegments++] = (struct cpci_segment){
			.offset = phdr.p_offset & ~(page - 1), .addr = phdr.p_vaddr & ~(page - 1)};
	}
}

/* The table of all symbols, if there is one, or else that of the dynamic ones. */
static Elf_Scn *find_table(Elf *elf, GElf_Shdr *table, Elf_Data **versions)
{
	Elf_Scn *scn = NULL, *found = NULL;
	GElf_Shdr shdr;

	*versions = NULL;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		if (gelf_getshdr(scn, &shdr) == NULL)
			continue;
		if (shdr.sh_type == SHT_SYMTAB || (shdr.sh_type == SHT_DYNSYM && found == NULL)) {
			found = scn;
			*table = shdr;
		} else if (shdr.sh_type == SHT_GNU_versym) {
			*versions = elf_getdata(scn, NULL);
		}
	}
	if (found != NULL && table->sh_type == SHT_SYMTAB)
		*versions = NULL; /* there the names tell */
	return found;
}

/* Is it `name`, or one of its versions? */
static enum rank match(const char *name, const char *s, const GElf_Sym *sym, const GElf_Versym *v)
{
	size_t n = strlen(name);
	bool old;

	if (s == NULL || strncmp(s, name, n) != 0 || (s[n] != '\0' && s[n] != '@'))
		return NONE;
	if (GELF_ST_BIND(sym->st_info) == STB_LOCAL)
		return LOCAL;
	old = v != NULL ? (*v & VERSYM_HIDDEN) != 0 : s[n] == '@' && s[n + 1] != '@';
	return old ? OLD_VERSION : GLOBAL;
}

static enum cpci_symbol_kind kind_of(const GElf_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return CPCI_SYM_NONE;
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_OBJECT:
	case STT_NOTYPE:
		return CPCI_SYM_FOUND;
	case STT_GNU_IFUNC:
		return CPCI_SYM_IFUNC;
	case STT_TLS:
		return CPCI_SYM_TLS;
	default:
		return CPCI_SYM_NONE;
	}
}

static void search(Elf *elf, const char *name, struct cpci_symbol *symbol)
{
	enum rank best = NONE, rank;
	Elf_Data *data, *versions;
	GElf_Shdr table = {0};
	Elf_Scn *scn = find_table(elf, &table, &versions);
	GElf_Versym version;
	GElf_Sym sym;

	data = scn != NULL ? elf_getdata(scn, NULL) : NULL;
	for (int i = 0; data != NULL && gelf_getsym(data, i, &sym) != NULL; i++) {
		const GElf_Versym *v =
			versions != NULL ? gelf_getversym(versions, i, &version) : NULL;

		if (kind_of(&sym) == CPCI_SYM_NONE)
			continue;
		rank = match(name, elf_strptr(elf, table.sh_link, sym.st_name), &sym, v);
		if (rank == NONE || rank < best || (rank == best && sym.st_value == symbol->value))
			continue;
		symbol->n = rank == best ? symbol->n + 1 : 1;
		symbol->kind = kind_of(&sym);
		symbol->value = sym.st_value;
		symbol->size = sym.st_size;
		best = rank;
	}
	if (symbol->n > 1)
		symbol->kind = CPCI_SYM_AMBIGUOUS;
}

/* A file, if it still is the known one; -1 and errno. */
static int open_known(const char *path, const struct stat *known)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd != -1 && (fstat(fd, &st) == -1 || !same_file(&st, known))) {
		close(fd);
		errno = ENOENT;
		return -1;
	}
	return fd;
}

/* The file at `path`, among those that are known.  NULL and errno. */
static struct cpci_symfile *get_file(struct cpci_symfiles *files, const char *path, uint64_t ino)
{
	struct cpci_symfile *file;
	struct stat st;

	if (stat(path, &st) == -1)
		return NULL;
	if (!S_ISREG(st.st_mode) || (ino != 0 && st.st_ino != ino)) {
		errno = ENOENT;
		return NULL;
	}
	LIST_FOREACH(file, files, link) {
		if (same_file(&file->st, &st))
			return file;
	}
	file = calloc(1, sizeof(*file));
	if (file == NULL)
		return NULL;
	file->st = st;
	LIST_INIT(&file->answers);
	LIST_INSERT_HEAD(files, file, link);
	return file;
}

static const struct cpci_symbol *ask(struct cpci_symfile *file, const char *path, const char *name)
{
	int fd = open_known(path, &file->st);
	struct answer *answer;
	Elf *elf;

	if (fd == -1)
		return NULL;
	answer = calloc(1, sizeof(*answer));
	if (answer == NULL || (answer->name = strdup(name)) == NULL) {
		free(answer);
		close(fd);
		return NULL;
	}
	LIST_INSERT_HEAD(&file->answers, answer, link);
	elf = elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (elf != NULL && elf_kind(elf) == ELF_K_ELF) {
		if (file->nsegments == 0)
			read_segments(elf, file);
		search(elf, name, &answer->symbol);
	}
	elf_end(elf);
	close(fd);
	answer->symbol.entry = file->entry;
	answer->symbol.nsegments = file->nsegments;
	answer->symbol.segment = file->segment;
	return &answer->symbol;
}

const struct cpci_symbol *cpci_symfile_find(struct cpci_symfiles *files, const char *path,
					    uint64_t ino, const char *name)
{
	struct cpci_symfile *file = get_file(files, path, ino);
	const struct answer *answer;

	if (file == NULL)
		return NULL;
	LIST_FOREACH(answer, &file->answers, link) {
		if (strcmp(answer->name, name) == 0)
			return &answer->symbol;
	}
	return ask(file, path, name);
}

void cpci_symfiles_free(struct cpci_symfiles *files)
{
	struct cpci_symfile *file;
	struct answer *answer;

	while ((file = LIST_FIRST(files)) != NULL) {
		while ((answer = LIST_FIRST(&file->answers)) != NULL) {
			LIST_REMOVE(answer, link);
			free(answer->name);
			free(answer);
		}
		LIST_REMOVE(file, link);
		free(file);
	}
}
