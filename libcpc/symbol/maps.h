/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * maps.h - what is mapped in a process.
 */
#ifndef CPCI_MAPS_H
#define CPCI_MAPS_H

#include "../sys/sys.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

/* A file as the kernel names it where it is mapped; stat(2) may have another device. */
struct cpci_file_id {
	uint64_t dev, ino; /* ino 0: no file */
};

struct cpci_mapping {
	uint64_t start, end, offset;
	struct cpci_file_id file;
	bool exec;
	const char *path; /* "": none, or not asked for */
};

/*
 * Asked for one mapping at a time, where the kernel can (6.11); else all are read at the
 * first question.
 */
struct cpci_maps {
	pid_t tid;
	int fd;
	bool all; /* all of them were read */
	size_t n, room;
	struct cpci_mapping *m;
	char path[PATH_MAX + 64];
};

/* `tid` 0: of the calling process.  -1 and errno. */
int cpci_maps_open(struct cpci_maps *maps, pid_t tid);
void cpci_maps_close(struct cpci_maps *maps);

/*
 * The mapping at `addr`; it has its path until the next question.  1; 0: nothing is there;
 * -1 and errno.
 */
int cpci_maps_at(struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m);
/* The first mapping of code of a file that ends behind `addr`, without its path. */
int cpci_maps_next_code(struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m);

/* What the kernel calls an open file where it is mapped.  -1 and errno. */
int cpci_maps_identify(int fd, struct cpci_file_id *id);

static inline bool cpci_same_file_id(struct cpci_file_id a, struct cpci_file_id b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

/* One line of /proc/PID/maps, which is changed; its path stays in it.  False: it is none. */
bool cpci_maps_parse(char *line, struct cpci_mapping *m);

#endif /* CPCI_MAPS_H */
