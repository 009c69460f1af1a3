/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* linkmap.c - reads the dynamic linker's list of libraries. */
#include "linkmap.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OBJECTS 16384
#define MAX_SPACES 64 /* glibc has 16 */
#define MAX_DYNAMIC 65536
#define MAX_WORDS 64 /* words that are read at once */

/* The words of struct r_debug.  r_version and r_state are ints, followed by padding. */
enum { R_VERSION, R_MAP, R_BRK, R_STATE, R_LDBASE, R_WORDS, R_NEXT = R_WORDS, R_WORDS_2 };
/* The words of struct link_map. */
enum { L_ADDR, L_NAME, L_LD, L_NEXT, L_PREV, L_WORDS };

bool cpci_linkmap_words(const struct cpci_memory *memory, uint64_t addr, uint64_t *word, size_t n)
{
	uint32_t narrow[MAX_WORDS];

	if (addr > UINT64_MAX - n * sizeof(*word)) {
		errno = EFAULT;
		return false;
	}
	if (memory->width == 8)
		return memory->read(memory->arg, addr, word, n * sizeof(*word));
	if (!memory->read(memory->arg, addr, narrow, n * sizeof(*narrow)))
		return false;
	for (size_t i = 0; i < n; i++)
		word[i] = narrow[i];
	return true;
}

/* Reads an int at the address of a word. */
static int word_int(const struct cpci_memory *memory, uint64_t word)
{
	int val;

	if (memory->width == 4)
		return (int)(uint32_t)word;
	memcpy(&val, &word, sizeof(val));
	return val;
}

/* A read of the list failed.  An unmapped address means that the list is invalid.  Returns -1. */
static int fail_list(void)
{
	if (errno == EFAULT)
		errno = EBADMSG;
	return -1;
}

static int add_object(struct cpci_linkmap *map, const struct cpci_linked *object)
{
	struct cpci_linked *p;

	if (map->n == MAX_OBJECTS)
		return cpci_errno(EFBIG);
	p = cpci_grow(map->object, map->n, &map->room, sizeof(*p));
	if (p == NULL)
		return -1;
	map->object = p;
	p[map->n++] = *object;
	return 0;
}

/* Checks that each entry points back to the one before it, which excludes loops. */
static int read_list(struct cpci_linkmap *map, const struct cpci_memory *memory, uint64_t at,
		     unsigned space)
{
	uint64_t word[L_WORDS], before = 0;

	while (at != 0) {
		struct cpci_linked object;

		if (!cpci_linkmap_words(memory, at, word, L_WORDS))
			return fail_list();
		if (word[L_PREV] != before)
			return cpci_errno(EBADMSG);
		object = (struct cpci_linked){
			.bias = word[L_ADDR], .dynamic = word[L_LD], .space = space};
		if (add_object(map, &object) == -1)
			return -1;
		before = at;
		at = word[L_NEXT];
	}
	return 0;
}

static int read_spaces(struct cpci_linkmap *map, const struct cpci_memory *memory, uint64_t addr)
{
	for (unsigned space = 0; addr != 0; space++) {
		uint64_t word[R_WORDS_2] = {0};
		int version;

		if (space == MAX_SPACES)
			return cpci_errno(EFBIG);
		if (!cpci_linkmap_words(memory, addr, word, R_WORDS))
			return fail_list();
		version = word_int(memory, word[R_VERSION]);
		if (version == 0 && space == 0)
			return 0; /* not set yet */
		if (version < 1 || version > 16)
			return cpci_errno(EBADMSG);
		if (space == 0)
			map->state = CPCI_LINKMAP_DONE;
		if (word_int(memory, word[R_STATE]) != RT_CONSISTENT)
			map->state = CPCI_LINKMAP_CHANGING;
		if (read_list(map, memory, word[R_MAP], space) == -1)
			return -1;
		/* glibc since 2.35 has a list of other namespaces. */
		if (version >= 2 && !cpci_linkmap_words(memory, addr, word, R_WORDS_2))
			return fail_list();
		addr = word[R_NEXT];
	}
	return 0;
}

int cpci_linkmap_read(struct cpci_linkmap *map, const struct cpci_memory *memory, uint64_t addr)
{
	*map = (struct cpci_linkmap){.state = CPCI_LINKMAP_NONE};
	if (read_spaces(map, memory, addr) == 0)
		return 0;
	cpci_linkmap_free(map);
	return -1;
}

void cpci_linkmap_free(struct cpci_linkmap *map)
{
	int err = errno;

	free(map->object);
	*map = (struct cpci_linkmap){.state = CPCI_LINKMAP_NONE};
	errno = err;
}

int cpci_linkmap_find(const struct cpci_memory *memory, uint64_t dynamic, uint64_t size,
		      uint64_t *addr)
{
	uint64_t word[MAX_WORDS];

	*addr = 0;
	if (size > MAX_DYNAMIC)
		size = MAX_DYNAMIC;
	for (uint64_t left = size / memory->width & ~1ULL; left > 0;) {
		size_t n = left < MAX_WORDS ? (size_t)left : MAX_WORDS;

		if (!cpci_linkmap_words(memory, dynamic, word, n))
			return fail_list();
		for (size_t i = 0; i < n; i += 2) {
			if (word[i] == DT_DEBUG)
				*addr = word[i + 1];
			if (word[i] == DT_DEBUG || word[i] == DT_NULL)
				return 0;
		}
		dynamic += n * memory->width;
		left -= n;
	}
	return 0;
}
