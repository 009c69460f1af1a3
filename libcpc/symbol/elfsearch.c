/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* elfsearch.c - finds a symbol in the tables of an ELF file, or a probe in its notes. */
#include "entries.h"

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
#define VERSYM_FIRST 2U	      /* the first version with a name */
#define MAX_VERSIONS 4096U

struct search {
	const char *name; /* of a probe */
	struct cpci_entries entries;
	unsigned unit; /* the number of the source file whose symbols are visited */
	char *strings;
	size_t nstrings;
	uint16_t *version; /* per symbol, or NULL */
	size_t nversions;
	uint32_t *version_name; /* by version: where its name is in the strings; 0: unknown */
	struct cpci_symbol *symbol;
	/* For a walk through all symbols, instead of a name. */
	cpci_elf_visit_fn *visit;
	void *arg;
	bool imports;
};

struct section {
	uint32_t name, type, link;
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
		return (struct section){wide[i].sh_name,  wide[i].sh_type,   wide[i].sh_link,
					wide[i].sh_flags, wide[i].sh_offset, wide[i].sh_size};
	return (struct section){narrow[i].sh_name,  narrow[i].sh_type,	 narrow[i].sh_link,
				narrow[i].sh_flags, narrow[i].sh_offset, narrow[i].sh_size};
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
static ssize_t find_table(const struct tables *t, enum cpci_elf_table which, ssize_t *versions,
			  ssize_t *names)
{
	ssize_t found = -1;
	bool whole = false;

	*versions = *names = -1;
	for (size_t i = 0; i < t->n; i++) {
		uint32_t type = nth_section(t, i).type;

		if (type == SHT_SYMTAB && which == CPCI_ELF_ALL) {
			found = (ssize_t)i;
			whole = true;
		} else if (type == SHT_DYNSYM && !whole) {
			found = (ssize_t)i;
		} else if (type == SHT_GNU_versym) {
			*versions = (ssize_t)i;
		} else if (type == SHT_GNU_verdef) {
			*names = (ssize_t)i;
		}
	}
	if (whole)
		*versions = *names = -1; /* in this table the names contain the versions */
	return found;
}

/* The version of a symbol; NULL: it has none, or its name is unknown. */
static const char *version_of(const struct search *search, size_t at, bool *hidden)
{
	uint16_t version = at < search->nversions ? search->version[at] : 0;
	uint32_t name;

	*hidden = (version & VERSYM_HIDDEN) != 0;
	version &= (uint16_t)~VERSYM_HIDDEN;
	if (search->version_name == NULL || version < VERSYM_FIRST || version >= MAX_VERSIONS)
		return NULL;
	name = search->version_name[version];
	return name != 0 ? search->strings + name : NULL;
}

/* False: no memory. */
static bool consider(struct search *search, const Elf64_Sym *sym, size_t at)
{
	const char *version;
	bool hidden;

	/* load() has appended a NUL byte to the strings. */
	if (sym->st_name >= search->nstrings)
		return true;
	if (ELF64_ST_TYPE(sym->st_info) == STT_FILE) {
		search->unit++;
		return true;
	}
	if (search->visit != NULL) {
		if (search->imports ? sym->st_shndx == SHN_UNDEF : cpci_entry_is_defined(sym))
			search->visit(search->arg, NULL, search->strings + sym->st_name);
		return true;
	}
	version = version_of(search, at, &hidden);
	return cpci_entries_add(&search->entries, sym, search->strings + sym->st_name, version,
				hidden, search->unit);
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
	hrtime_t end = cpci_cpu_time() + MAX_NS;
	void *chunk = malloc(CHUNK);
	int err = chunk != NULL ? 0 : ENOMEM;

	while (err == 0 && at < n) {
		size_t some = n - at < CHUNK / width ? (size_t)(n - at) : CHUNK / width;

		if (!cpci_elf_pread(t->fd, chunk, some * width, table->offset + at * width)) {
			err = errno;
			break;
		}
		for (size_t i = 0; i < some && err == 0; i++) {
			Elf64_Sym sym = nth_symbol(chunk, t->width, i);

			if (!consider(search, &sym, at + i))
				err = ENOMEM;
		}
		at += some;
		if (err == 0 && at < n && cpci_cpu_time() > end)
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

/* Reads the definitions of versions: Verdef and Verdaux, the same for both widths. */
static int load_version_names(struct tables *t, ssize_t at, struct search *search)
{
	struct section section;
	unsigned char *p;
	uint64_t offset = 0;
	Elf64_Verdef def;
	Elf64_Verdaux name;

	if (at == -1)
		return 0;
	section = nth_section(t, (size_t)at);
	p = load(t, section.offset, section.size);
	search->version_name = calloc(MAX_VERSIONS, sizeof(*search->version_name));
	if (p == NULL || search->version_name == NULL) {
		free(p);
		return -1;
	}
	do {
		if (offset + sizeof(def) > section.size)
			break;
		memcpy(&def, p + offset, sizeof(def));
		if (offset + def.vd_aux + sizeof(name) > section.size)
			break;
		memcpy(&name, p + offset + def.vd_aux, sizeof(name));
		if (def.vd_ndx < MAX_VERSIONS && name.vda_name < search->nstrings)
			search->version_name[def.vd_ndx] = name.vda_name;
		offset += def.vd_next;
	} while (def.vd_next != 0);
	free(p);
	return 0;
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
	if (symbol->n < CPCI_MAX_SITES) {
		struct cpci_site *site = &symbol->site[symbol->n];

		site->value = cpci_elf_word(desc, t->width);
		site->counter = cpci_elf_word(desc + 2UL * t->width, t->width);
	}
	symbol->kind = CPCI_SYM_FOUND;
	symbol->n++;
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
	if (search->visit == NULL) {
		search->symbol->site = calloc(CPCI_MAX_SITES, sizeof(*search->symbol->site));
		if (search->symbol->site == NULL)
			return -1;
	}
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
	ssize_t versions, names, at = find_table(t, which, &versions, &names);
	struct section table;

	if (at == -1)
		return 0;
	table = nth_section(t, (size_t)at);
	return reserve_bytes(t, table.offset, table.size) && load_strings(t, &table, search) == 0 &&
			       load_versions(t, versions, search) == 0 &&
			       load_version_names(t, names, search) == 0 &&
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
	free(search->version_name);
	free(tables.header);
	errno = err;
	return rc;
}

/* Takes the build id out of a section of notes. */
static void read_build_id(const unsigned char *p, size_t n, struct cpci_elf_link *link)
{
	Elf64_Nhdr note; /* the same for both widths */

	if (n < sizeof(note) + 4)
		return;
	memcpy(&note, p, sizeof(note));
	p += sizeof(note) + 4;
	n -= sizeof(note) + 4;
	if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(p - 4, "GNU", 4) == 0 &&
	    note.n_descsz <= n && note.n_descsz <= sizeof(link->id)) {
		memcpy(link->id, p, note.n_descsz);
		link->nid = note.n_descsz;
	}
}

/* Takes a file name, and the checksum at the last word of the section. */
static void read_debuglink(const char *p, size_t n, struct cpci_elf_link *link)
{
	const size_t length = strnlen(p, n), at = (length + 4) & ~(size_t)3;

	if (length >= sizeof(link->name) || n < at + sizeof(link->crc))
		return;
	memcpy(link->name, p, length + 1);
	memcpy(&link->crc, p + at, sizeof(link->crc));
}

/* The names of sections are not needed: only these sections have such contents. */
static bool may_be_debuglink(const struct section *s)
{
	return s->type == SHT_PROGBITS && s->flags == 0 && s->size >= 8 &&
	       s->size <= sizeof(((struct cpci_elf_link *)0)->name) + 8;
}

int cpci_elf_link(int fd, struct cpci_elf_link *link)
{
	struct tables t;
	int rc = 0;

	*link = (struct cpci_elf_link){0};
	if (read_sections(&t, fd) == -1)
		return -1;
	for (size_t i = 0; rc == 0 && i < t.n; i++) {
		const struct section s = nth_section(&t, i);
		void *p;

		link->whole |= s.type == SHT_SYMTAB;
		if (s.type != SHT_NOTE && !may_be_debuglink(&s))
			continue;
		p = load(&t, s.offset, s.size);
		if (p == NULL)
			rc = -1;
		else if (s.type == SHT_NOTE)
			read_build_id(p, s.size, link);
		else
			read_debuglink(p, s.size, link);
		free(p);
	}
	free(t.header);
	return rc;
}

void cpci_elf_walk(int fd, enum cpci_elf_table which, void *arg, cpci_elf_visit_fn *visit)
{
	struct search search = {.visit = visit, .arg = arg, .imports = which == CPCI_ELF_IMPORTS};

	search_file(fd, which, &search);
}

int cpci_elf_search(const struct cpci_elf *elf, int fd, enum cpci_elf_table which, const char *name,
		    struct cpci_symbol *symbol)
{
	struct search search = {.name = name, .symbol = symbol};
	int rc, err;

	*symbol = (struct cpci_symbol){0};
	cpci_entries_start(&search.entries, name);
	/* Only dynamic symbols have versions, and some linkers write them only there. */
	if (which == CPCI_ELF_ALL && search.entries.version != NULL)
		which = CPCI_ELF_DYNAMIC;
	rc = search_file(fd, which, &search);
	err = errno;
	if (which != CPCI_ELF_PROBES && !cpci_entries_finish(&search.entries, symbol) && rc == 0) {
		rc = -1;
		err = ENOMEM;
	}
	if (rc == -1 || symbol->n == 0) {
		free(symbol->site);
		*symbol = (struct cpci_symbol){0};
	}
	errno = err;
	/* A static program that was fully stripped has no symbols. */
	return rc == -1 && errno == ENODATA && elf->dynamic == 0 ? 0 : rc;
}

bool cpci_elf_has_section(int fd, const char *name)
{
	struct tables tables;
	struct section names;
	bool found = false;
	Elf64_Ehdr ehdr;
	unsigned width;
	char *text = NULL;

	if (read_sections(&tables, fd) == -1)
		return false;
	if (cpci_elf_header(fd, &width, &ehdr) == 0 && ehdr.e_shstrndx < tables.n) {
		names = nth_section(&tables, ehdr.e_shstrndx);
		text = load(&tables, names.offset, names.size);
	}
	for (size_t i = 0; text != NULL && !found && i < tables.n; i++) {
		const uint32_t at = nth_section(&tables, i).name;

		text[names.size] = '\0';
		found = at < names.size && strcmp(text + at, name) == 0;
	}
	free(text);
	free(tables.header);
	return found;
}
