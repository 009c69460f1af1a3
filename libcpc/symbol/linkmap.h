/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * linkmap.h - the libraries of a process, in the order in which its dynamic linker looks
 * symbols up: the list of link.h, as debuggers read it.
 *
 * All of it is in the memory of the process, which can write there what it likes.
 */
#ifndef CPCI_LINKMAP_H
#define CPCI_LINKMAP_H

#include "../sys/sys.h"

#include <stdint.h>

/* The memory of a process. */
struct cpci_memory {
	/* All `n` bytes, or false and errno: EFAULT, they are not mapped. */
	bool (*read)(void *arg, uint64_t addr, void *buf, size_t n);
	void *arg;
	unsigned width; /* of its words: 4 or 8 bytes */
};

enum cpci_linkmap_state {
	CPCI_LINKMAP_NONE,     /* there is no list (yet) */
	CPCI_LINKMAP_CHANGING, /* libraries are being added or removed */
	CPCI_LINKMAP_DONE,
};

struct cpci_linked {
	uint64_t bias;	  /* from addresses in its file to those in memory */
	uint64_t dynamic; /* where its dynamic section is */
	unsigned space;	  /* 0: what the program sees; others by dlmopen(3) */
};

struct cpci_linkmap {
	enum cpci_linkmap_state state;
	size_t n, room;
	struct cpci_linked *object;
};

/*
 * Reads the list of the r_debug at `addr`.  -1 and errno: EBADMSG, it is no such list;
 * EFBIG: it is too long; or its memory cannot be read.
 */
int cpci_linkmap_read(struct cpci_linkmap *map, const struct cpci_memory *memory, uint64_t addr);
void cpci_linkmap_free(struct cpci_linkmap *map);

/*
 * The address of r_debug by the dynamic section of the program, of `size` bytes.  0: it is
 * not known there (yet).  -1 and errno.
 */
int cpci_linkmap_find(const struct cpci_memory *memory, uint64_t dynamic, uint64_t size,
		      uint64_t *addr);

#endif /* CPCI_LINKMAP_H */
