/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* maps.h - what is mapped in a process. */
#ifndef CPCI_MAPS_H
#define CPCI_MAPS_H

#include "../sys/sys.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

/* Identifies a file as the kernel does for mappings; stat(2) may have another device. */
struct cpci_file_id {
	uint64_t dev, ino; /* ino 0: no file */
};

struct cpci_mapping {
	uint64_t start, end, offset;
	struct cpci_file_id file;
	bool exec, write, shared;
	const char *path; /* "": none */
};

/* The mappings of one process, at one time. */
struct cpci_maps {
	pid_t tid;
	size_t n, room;
	struct cpci_mapping *m;
};

/* Reads the mappings of a process; `tid` 0: of the calling one.  -1 and errno. */
int cpci_maps_open(struct cpci_maps *maps, pid_t tid);
void cpci_maps_close(struct cpci_maps *maps); /* also after an error */

/*
 * The mapping at `addr`; its path is valid until the next call.  If nothing was mapped there, reads
 * all mappings again.  1; 0: nothing is mapped there; -1 and errno.
 */
int cpci_maps_at(struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m);
/* Finds the first mapping of a file's code that ends after `addr`.  False: no mapping does. */
bool cpci_maps_next_code(const struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m);

/* How the kernel identifies an open file in mappings.  -1 and errno. */
int cpci_maps_identify(int fd, struct cpci_file_id *id);

static inline bool cpci_same_file_id(struct cpci_file_id a, struct cpci_file_id b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

/* Parses a line of /proc/PID/maps, which it modifies and `m` points into.  False: invalid. */
bool cpci_maps_parse(char *line, struct cpci_mapping *m);

#endif /* CPCI_MAPS_H */
