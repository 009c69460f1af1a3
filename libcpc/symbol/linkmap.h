/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * linkmap.h - the libraries of a process, in the order in which its dynamic linker looks
 * symbols up: the list of link.h, as debuggers read it.
 *
 * The list is in the memory of the process, which can write anything there.
 */
#ifndef CPCI_LINKMAP_H
#define CPCI_LINKMAP_H

#include "../sys/sys.h"

#include <stdint.h>

/* The memory of a process. */
struct cpci_memory {
	/* Reads exactly `n` bytes, or returns false and errno: EFAULT, they are not mapped. */
	bool (*read)(void *arg, uint64_t addr, void *buf, size_t n);
	void *arg;
	unsigned width; /* of its words: 4 or 8 bytes */
};

/* Reads words of a process as 64-bit words.  False and errno. */
bool cpci_linkmap_words(const struct cpci_memory *memory, uint64_t addr, uint64_t *word, size_t n);

enum cpci_linkmap_state {
	CPCI_LINKMAP_NONE,     /* there is no list, or not yet */
	CPCI_LINKMAP_CHANGING, /* the linker is adding or removing libraries */
	CPCI_LINKMAP_DONE,
};

struct cpci_linked {
	uint64_t bias;	  /* the difference from addresses in its file to those in memory */
	uint64_t dynamic; /* the address of its dynamic section */
	unsigned space;	  /* 0: the program's namespace; dlmopen(3) creates more */
};

struct cpci_linkmap {
	enum cpci_linkmap_state state;
	size_t n, room;
	struct cpci_linked *object;
};

/*
 * Reads the list of the r_debug at `addr`.  -1 and errno: EBADMSG, not a valid list; EFBIG:
 * it is too long; or its memory cannot be read.
 */
int cpci_linkmap_read(struct cpci_linkmap *map, const struct cpci_memory *memory, uint64_t addr);
void cpci_linkmap_free(struct cpci_linkmap *map);

/*
 * Finds the address of r_debug by the dynamic section of the program, of `size` bytes.  0: it
 * is not there, or not yet.  -1 and errno.
 */
int cpci_linkmap_find(const struct cpci_memory *memory, uint64_t dynamic, uint64_t size,
		      uint64_t *addr);

#endif /* CPCI_LINKMAP_H */
