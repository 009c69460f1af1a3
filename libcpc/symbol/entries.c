/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * entries.c - the symbols that a name means.
 *
 * Callers are bound to a version of a function when they are linked, so all versions belong to the
 * name.  GCC and Clang make copies of functions for some callers, "f.constprop.0", whose calls are
 * calls of f.  But "f.part.0" and "f.cold" are pieces of f that f itself may enter.
 */
#include "entries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cpci_entries_start(struct cpci_entries *entries, const char *name)
{
	const char *at = strchr(name, '@');

	*entries = (struct cpci_entries){.name = name, .length = strcspn(name, "@")};
	if (at != NULL && at > name)
		entries->version = at + 1 + (at[1] == '@');
	else
		entries->length = strlen(name);
}

static bool is_word(const char *s, size_t n, const char *const *list)
{
	while (*list != NULL && (strlen(*list) != n || memcmp(*list, s, n) != 0))
		list++;
	return *list != NULL;
}

/* What a suffix makes of a function: ".constprop.0.isra.0" a clone, ".lto_priv.0" a local one. */
static enum cpci_rank rank_of_suffix(const char *suffix)
{
	static const char *const clone[] = {"constprop", "isra",    "specialized",
					    "argelim",	 "retelim", NULL};
	static const char *const renamed[] = {"lto_priv", "llvm", "__uniq", NULL};
	enum cpci_rank rank = CPCI_RANK_NONE;

	/* Names in a crafted file can be megabytes long. */
	if (strnlen(suffix, CPCI_MAX_SYMBOL) == CPCI_MAX_SYMBOL)
		return CPCI_RANK_NONE;
	while (*suffix == '.') {
		const size_t n = strcspn(++suffix, ".");

		if (is_word(suffix, n, clone))
			rank = CPCI_RANK_CLONE;
		else if (is_word(suffix, n, renamed) && rank == CPCI_RANK_NONE)
			rank = CPCI_RANK_LOCAL;
		else if (n == 0 || strspn(suffix, "0123456789") != n)
			return CPCI_RANK_NONE;
		suffix += n;
	}
	return *suffix == '\0' ? rank : CPCI_RANK_NONE;
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

bool cpci_entry_is_defined(const Elf64_Sym *sym)
{
	return kind_of(sym) != CPCI_SYM_NONE;
}

/* `suffix`: what follows the name of the symbol. */
static enum cpci_rank rank_of(const struct cpci_entries *entries, const Elf64_Sym *sym,
			      const char *suffix, const char *version, bool hidden)
{
	if (*suffix == '@') {
		version = suffix + 1 + (suffix[1] == '@');
		hidden = suffix[1] != '@';
	} else if (*suffix != '\0') {
		return entries->version == NULL && ELF64_ST_TYPE(sym->st_info) == STT_FUNC
			       ? rank_of_suffix(suffix)
			       : CPCI_RANK_NONE;
	}
	if (entries->version != NULL && (version == NULL || strcmp(version, entries->version) != 0))
		return CPCI_RANK_NONE;
	if (ELF64_ST_BIND(sym->st_info) == STB_LOCAL)
		return CPCI_RANK_LOCAL;
	return hidden ? CPCI_RANK_OLD : CPCI_RANK_GLOBAL;
}

/* The entry at that address; NULL: none. */
static struct cpci_entry *find_entry(const struct cpci_entries *entries, uint64_t value)
{
	for (size_t i = 0; i < entries->n; i++) {
		if (entries->entry[i].site.value == value)
			return &entries->entry[i];
	}
	return NULL;
}

/* Of so many symbols, only local ones are left out. */
static struct cpci_entry *find_local(const struct cpci_entries *entries)
{
	for (size_t i = 0; i < entries->n; i++) {
		if (entries->entry[i].rank == CPCI_RANK_LOCAL)
			return &entries->entry[i];
	}
	return NULL;
}

static struct cpci_entry *new_entry(struct cpci_entries *entries)
{
	if ((entries->n & (entries->n - 1)) == 0) { /* a power of two, or 0 */
		const size_t room = entries->n > 0 ? 2 * entries->n : 1;
		struct cpci_entry *more =
			reallocarray(entries->entry, room, sizeof(*entries->entry));

		if (more == NULL)
			return NULL;
		entries->entry = more;
	}
	return &entries->entry[entries->n++];
}

static void copy_suffix(struct cpci_site *site, const char *before, const char *suffix)
{
	const int n = (int)strnlen(suffix, sizeof(site->suffix));

	snprintf(site->suffix, sizeof(site->suffix), "%s%.*s", before, n, suffix);
}

bool cpci_entries_add(struct cpci_entries *entries, const Elf64_Sym *sym, const char *name,
		      const char *version, bool hidden, unsigned unit)
{
	struct cpci_entry *entry;
	enum cpci_rank rank;

	if (strncmp(name, entries->name, entries->length) != 0 || kind_of(sym) == CPCI_SYM_NONE)
		return true;
	rank = rank_of(entries, sym, name + entries->length, version, hidden);
	if (rank == CPCI_RANK_NONE)
		return true;
	entry = find_entry(entries, sym->st_value);
	if (entry != NULL && entry->rank >= rank)
		return true;
	entries->total += entry == NULL;
	if (entry == NULL && entries->n == CPCI_MAX_SITES) {
		entry = rank != CPCI_RANK_LOCAL ? find_local(entries) : NULL;
		if (entry == NULL)
			return true;
	}
	if (entry == NULL)
		entry = new_entry(entries);
	if (entry == NULL)
		return false;
	*entry = (struct cpci_entry){.kind = kind_of(sym), .rank = rank, .unit = unit};
	entry->site.value = sym->st_value;
	entry->site.size = sym->st_size;
	entry->site.clone = rank == CPCI_RANK_CLONE;
	entry->function = ELF64_ST_TYPE(sym->st_info) == STT_FUNC;
	if (name[entries->length] != '\0')
		copy_suffix(&entry->site, "", name + entries->length);
	else if (version != NULL)
		copy_suffix(&entry->site, hidden ? "@" : "@@", version);
	return true;
}

/* A global symbol hides local ones.  Returns how many of these are functions. */
static unsigned drop_hidden(struct cpci_entries *entries, enum cpci_rank best)
{
	unsigned nfunctions = 0;
	size_t n = 0;

	for (size_t i = 0; i < entries->n; i++) {
		if (best > CPCI_RANK_LOCAL && entries->entry[i].rank == CPCI_RANK_LOCAL) {
			nfunctions += entries->entry[i].function;
		} else {
			entries->entry[n++] = entries->entry[i];
		}
	}
	if (n < entries->n)
		entries->total = n; /* any that were left out were local, too */
	entries->n = n;
	return nfunctions;
}

/* Are there several functions of that name?  Local ones, or clones of different source files. */
static bool is_ambiguous(const struct cpci_entries *entries)
{
	const struct cpci_entry *local = NULL;

	for (size_t i = 0; i < entries->n; i++) {
		const struct cpci_entry *entry = &entries->entry[i];

		if (entry->rank > CPCI_RANK_LOCAL)
			continue;
		if (local != NULL && (local->unit != entry->unit || entry->rank == CPCI_RANK_LOCAL))
			return true;
		if (local == NULL)
			local = entry;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct cpci_entry *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->site.value < y->site.value ? -1 : x->site.value > y->site.value;
}

bool cpci_entries_finish(struct cpci_entries *entries, struct cpci_symbol *symbol)
{
	enum cpci_rank best = CPCI_RANK_NONE;
	bool good = true;

	for (size_t i = 0; i < entries->n; i++) {
		if (entries->entry[i].rank > best)
			best = entries->entry[i].rank;
	}
	symbol->hidden = drop_hidden(entries, best);
	if (entries->n > 0) {
		/* The default version comes first, clones come last. */
		qsort(entries->entry, entries->n, sizeof(*entries->entry), compare);
		symbol->kind = is_ambiguous(entries) ? CPCI_SYM_AMBIGUOUS : CPCI_SYM_FOUND;
		for (size_t i = 0; i < entries->n && symbol->kind == CPCI_SYM_FOUND; i++)
			symbol->kind = entries->entry[i].kind;
		symbol->n = entries->total;
		symbol->local = best <= CPCI_RANK_LOCAL;
		symbol->exact = best > CPCI_RANK_CLONE &&
				(entries->n == 1 || entries->entry[1].rank < best);
		symbol->site = calloc(entries->n, sizeof(*symbol->site));
		good = symbol->site != NULL;
		for (size_t i = 0; good && i < entries->n; i++)
			symbol->site[i] = entries->entry[i].site;
	}
	free(entries->entry);
	*entries = (struct cpci_entries){0};
	return good;
}
