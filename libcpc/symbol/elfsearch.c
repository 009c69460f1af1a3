/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* elfsearch.c - finds a symbol in the tables of an ELF file, or a probe in its notes. */
#include "elffile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The limits of one search.  The largest programs, browsers with full symbol tables, have
 * some 100 MB of them and take 50 ms.
 */
#define MAX_BYTES (256ULL << 20)
#define MAX_NS 500000000LL
#define CHUNK 65536U /* bytes of a table that are read at once */

/* Sparse or compressed files are larger than their blocks; sound ELF files only slightly. */
#define MAX_SPARSE 32
#define SPARSE_ROOM (1ULL << 20)
#define STAT_BLOCK 512ULL
#define MAX_SECTIONS 65280U /* SHN_LORESERVE */

#define VERSYM_HIDDEN 0x8000U /* a symbol version other than the default one */

/* Of several symbols with the same name, the search takes the one with the highest rank. */
enum rank { NONE, LOCAL, OLD_VERSION, GLOBAL };

struct search {
	const char *name;
	size_t length; /* of the name */
	unsigned site; /* of a probe */
	char *strings;
	size_t nstrings;
	uint16_t *version; /* per symbol, or NULL */
	size_t nversions;
	enum rank best;
	struct cpci_symbol *symbol;
	/* For a walk through all symbols, instead of a name. */
	cpci_elf_visit_fn *visit;
	void *arg;
};

struct section {
	uint32_t type, link;
	uint64_t flags, offset, size;
};

/* The sections of a file, and how much may still be read. */
struct tables {
	int fd;
	unsigned width;
	uint64_t room, file_size;
	size_t n;
	void *header;
};

static struct section nth_section(const struct tables *t, size_t i)
{
	const Elf64_Shdr *wide = t->header;
	const Elf32_Shdr *narrow = t->header;

	if (t->width == 8)
		return (struct section){wide[i].sh_type, wide[i].sh_link, wide[i].sh_flags,
					wide[i].sh_offset, wide[i].sh_size};
	return (struct section){narrow[i].sh_type, narrow[i].sh_link, narrow[i].sh_flags,
				narrow[i].sh_offset, narrow[i].sh_size};
}

/* Subtracts a part of the file from the bytes that may still be read.  False and errno. */
static bool reserve_bytes(struct tables *t, uint64_t offset, uint64_t size)
{
	if (offset > t->file_size || size > t->file_size - offset) {
		errno = EIO;
		return false;
	}
	if (size > t->room) {
		errno = EFBIG;
		return false;
	}
	t->room -= size;
	return true;
}

/* Reads a part of the file into memory, which the caller frees.  NULL and errno. */
static void *load(struct tables *t, uint64_t offset, uint64_t size)
{
	void *p = reserve_bytes(t, offset, size) ? malloc(size + 1) : NULL;

	if (p != NULL && !cpci_elf_pread(t->fd, p, size, offset)) {
		free(p);
		return NULL;
	}
	return p;
}

static int read_sections(struct tables *t, int fd)
{
	Elf64_Ehdr ehdr;
	struct stat st;
	uint64_t size;

	*t = (struct tables){.fd = fd};
	if (fstat(fd, &st) == -1 || cpci_elf_header(fd, &t->width, &ehdr) == -1)
		return -1;
	t->file_size = (uint64_t)st.st_size;
	t->room = (uint64_t)st.st_blocks * STAT_BLOCK * MAX_SPARSE + SPARSE_ROOM;
	if (t->room > MAX_BYTES)
		t->room = MAX_BYTES;
	size = t->width == 8 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	if (ehdr.e_shoff == 0 || ehdr.e_shnum == 0 || ehdr.e_shentsize != size) {
		errno = ehdr.e_shoff != 0 && ehdr.e_shnum == 0 ? EFBIG : ENODATA;
		return -1;
	}
	if (ehdr.e_shnum >= MAX_SECTIONS)
		return cpci_errno(EFBIG);
	t->n = ehdr.e_shnum;
	t->header = load(t, ehdr.e_shoff, t->n * size);
	return t->header != NULL ? 0 : -1;
}

/* The section with the symbols; -1: none. */
static ssize_t find_table(const struct tables *t, enum cpci_elf_table which, ssize_t *versions)
{
	ssize_t found = -1;
	bool whole = false;

	*versions = -1;
	for (size_t i = 0; i < t->n; i++) {
		uint32_t type = nth_section(t, i).type;

		if (type == SHT_SYMTAB && which == CPCI_ELF_ALL) {
			found = (ssize_t)i;
			whole = true;
		} else if (type == SHT_DYNSYM && !whole) {
			found = (ssize_t)i;
		} else if (type == SHT_GNU_versym) {
			*versions = (ssize_t)i;
		}
	}
	if (whole)
		*versions = -1; /* in this table the names contain the versions */
	return found;
}

/* Is it the symbol of that name, or one of its versions? */
static enum rank rank_of(const struct search *search, const Elf64_Sym *sym, size_t at)
{
	const char *s = search->strings + sym->st_name;
	bool old;

	/* load() has appended a NUL byte to the strings. */
	if (sym->st_name >= search->nstrings || strncmp(s, search->name, search->length) != 0)
		return NONE;
	s += search->length;
	if (*s != '\0' && *s != '@')
		return NONE;
	if (ELF64_ST_BIND(sym->st_info) == STB_LOCAL)
		return LOCAL;
	if (search->version != NULL && at < search->nversions)
		old = (search->version[at] & VERSYM_HIDDEN) != 0;
	else
		old = s[0] == '@' && s[1] != '@';
	return old ? OLD_VERSION : GLOBAL;
}

static enum cpci_symbol_kind kind_of(const Elf64_Sym *sym)
{
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS || sym->st_shndx == SHN_COMMON)
		return CPCI_SYM_NONE;
	switch (ELF64_ST_TYPE(sym->st_info)) {
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

static void consider(struct search *search, const Elf64_Sym *sym, size_t at)
{
	struct cpci_symbol *symbol = search->symbol;
	enum cpci_symbol_kind kind = kind_of(sym);
	enum rank rank;

	if (kind == CPCI_SYM_NONE)
		return;
	if (search->visit != NULL) {
		if (sym->st_name < search->nstrings)
			search->visit(search->arg, NULL, search->strings + sym->st_name);
		return;
	}
	rank = rank_of(search, sym, at);
	if (rank == NONE || rank < search->best ||
	    (rank == search->best && sym->st_value == symbol->value))
		return;
	symbol->n = rank == search->best ? symbol->n + 1 : 1;
	symbol->kind = kind;
	symbol->value = sym->st_value;
	symbol->size = sym->st_size;
	symbol->local = rank == LOCAL;
	search->best = rank;
}

static Elf64_Sym nth_symbol(const void *chunk, unsigned width, size_t i)
{
	const Elf32_Sym *narrow = (const Elf32_Sym *)chunk + i;

	if (width == 8)
		return ((const Elf64_Sym *)chunk)[i];
	return (Elf64_Sym){
		.st_name = narrow->st_name,
		.st_info = narrow->st_info,
		.st_shndx = narrow->st_shndx,
		.st_value = narrow->st_value,
		.st_size = narrow->st_size,
	};
}

/* Visits all symbols of a table, a chunk at a time. */
static int scan_symbols(const struct tables *t, const struct section *table, struct search *search)
{
	size_t width = t->width == 8 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), at = 0;
	uint64_t n = table->size / width;
	hrtime_t end = cpci_now() + MAX_NS;
	void *chunk = malloc(CHUNK);
	int err = chunk != NULL ? 0 : ENOMEM;

	while (err == 0 && at < n) {
		size_t some = n - at < CHUNK / width ? (size_t)(n - at) : CHUNK / width;

		if (!cpci_elf_pread(t->fd, chunk, some * width, table->offset + at * width)) {
			err = errno;
			break;
		}
		for (size_t i = 0; i < some; i++) {
			Elf64_Sym sym = nth_symbol(chunk, t->width, i);

			consider(search, &sym, at + i);
		}
		at += some;
		if (at < n && cpci_now() > end)
			err = ETIME;
	}
	free(chunk);
	errno = err;
	return err == 0 ? 0 : -1;
}

static int load_strings(struct tables *t, const struct section *table, struct search *search)
{
	struct section strings;

	if (table->link >= t->n)
		return cpci_errno(EIO);
	strings = nth_section(t, table->link);
	if (strings.type != SHT_STRTAB || ((strings.flags | table->flags) & SHF_COMPRESSED) != 0)
		return cpci_errno(ENOTSUP);
	search->strings = load(t, strings.offset, strings.size);
	if (search->strings == NULL)
		return -1;
	search->nstrings = strings.size;
	search->strings[strings.size] = '\0';
	return 0;
}

static int load_versions(struct tables *t, ssize_t at, struct search *search)
{
	struct section versions;

	if (at == -1)
		return 0;
	versions = nth_section(t, (size_t)at);
	search->version = load(t, versions.offset, versions.size);
	search->nversions = versions.size / sizeof(*search->version);
	return search->version != NULL ? 0 : -1;
}

/* Does `text`, of `n` bytes, begin with the two strings of "provider:name"? */
static bool is_probe(const char *text, size_t n, const char *name)
{
	size_t provider = strcspn(name, ":"), length = strlen(name + provider + 1);

	return n > provider + 1 + length && memcmp(text, name, provider) == 0 &&
	       text[provider] == '\0' &&
	       memcmp(text + provider + 1, name + provider + 1, length + 1) == 0;
}

/* Visits the two strings of a note of `n` bytes, if they end in it. */
static void visit_probe(const char *text, size_t n, const struct search *search)
{
	size_t provider = strnlen(text, n);

	if (provider < n && strnlen(text + provider + 1, n - provider - 1) < n - provider - 1)
		search->visit(search->arg, text, text + provider + 1);
}

/*
 * Reads the note of a probe: the addresses of its site, of a section and of its semaphore,
 * and the strings provider, name and operands.
 */
static void read_probe(const struct tables *t, const unsigned char *desc, size_t n,
		       struct search *search)
{
	struct cpci_symbol *symbol = search->symbol;
	size_t words = 3UL * t->width;

	if (search->visit != NULL && n > words) {
		visit_probe((const char *)desc + words, n - words, search);
		return;
	}
	if (n <= words || !is_probe((const char *)desc + words, n - words, search->name))
		return;
	if (++symbol->n == search->site) {
		symbol->kind = CPCI_SYM_FOUND;
		symbol->value = cpci_elf_word(desc, t->width);
		symbol->counter = cpci_elf_word(desc + 2UL * t->width, t->width);
	} else if (symbol->kind == CPCI_SYM_NONE) {
		symbol->kind = CPCI_SYM_NO_SITE;
	}
}

static void scan_notes(const struct tables *t, const unsigned char *p, size_t n,
		       struct search *search)
{
	static const char owner[] = "stapsdt";
	const uint32_t type = 3;
	Elf64_Nhdr note; /* the same for both widths */

	while (n >= sizeof(note)) {
		uint64_t name, desc;

		memcpy(&note, p, sizeof(note));
		p += sizeof(note);
		n -= sizeof(note);
		name = (note.n_namesz + 3ULL) & ~3ULL;
		desc = (note.n_descsz + 3ULL) & ~3ULL;
		if (name > n || note.n_descsz > n - name)
			return;
		if (note.n_type == type && note.n_namesz == sizeof(owner) &&
		    memcmp(p, owner, sizeof(owner)) == 0)
			read_probe(t, p + name, note.n_descsz, search);
		if (desc > n - name)
			return;
		p += name + desc;
		n -= name + desc;
	}
}

static int search_notes(struct tables *t, struct search *search)
{
	for (size_t i = 0; i < t->n; i++) {
		struct section s = nth_section(t, i);
		unsigned char *notes;

		if (s.type != SHT_NOTE)
			continue;
		notes = load(t, s.offset, s.size);
		if (notes == NULL)
			return -1;
		scan_notes(t, notes, s.size, search);
		free(notes);
	}
	return 0;
}

static int search_symbols(struct tables *t, enum cpci_elf_table which, struct search *search)
{
	ssize_t versions, at = find_table(t, which, &versions);
	struct section table;

	if (at == -1)
		return 0;
	table = nth_section(t, (size_t)at);
	return reserve_bytes(t, table.offset, table.size) && load_strings(t, &table, search) == 0 &&
			       load_versions(t, versions, search) == 0 &&
			       scan_symbols(t, &table, search) == 0
		       ? 0
		       : -1;
}

static int search_file(int fd, enum cpci_elf_table which, struct search *search)
{
	struct tables tables;
	int rc, err;

	if (read_sections(&tables, fd) == -1)
		return -1;
	rc = which == CPCI_ELF_PROBES ? search_notes(&tables, search)
				      : search_symbols(&tables, which, search);
	err = errno;
	free(search->strings);
	free(search->version);
	free(tables.header);
	errno = err;
	return rc;
}

void cpci_elf_walk(int fd, enum cpci_elf_table which, void *arg, cpci_elf_visit_fn *visit)
{
	struct search search = {.visit = visit, .arg = arg};

	search_file(fd, which, &search);
}

int cpci_elf_search(const struct cpci_elf *elf, int fd, enum cpci_elf_table which, const char *name,
		    unsigned site, struct cpci_symbol *symbol)
{
	struct search search = {
		.name = name, .length = strlen(name), .site = site, .symbol = symbol};
	int rc;

	*symbol = (struct cpci_symbol){0};
	rc = search_file(fd, which, &search);
	if (symbol->n > 1 && which != CPCI_ELF_PROBES)
		symbol->kind = CPCI_SYM_AMBIGUOUS;
	/* A static program that was fully stripped has no symbols. */
	return rc == -1 && errno == ENODATA && elf->dynamic == 0 ? 0 : rc;
}
