/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* maps.c - what is mapped in a process, by /proc/PID/maps. */
#include "maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* vm.max_map_count is 65530, but root can raise it; normal paths are short. */
#define MAX_MAPPINGS (1U << 20)
#define MAX_TEXT (64U << 20)

/* Parses "7f00a000-7f00b000 r-xp 00001000 fe:01 1234 /lib/x", where newlines are \012. */
bool cpci_maps_parse(char *line, struct cpci_mapping *m)
{
	unsigned major, minor;
	int path = 0;
	char write, exec, shared;

	*m = (struct cpci_mapping){.path = ""};
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%c%c%c %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &m->start, &m->end, &write, &exec, &shared, &m->offset, &major, &minor,
		   &m->file.ino, &path) != 9 ||
	    m->end <= m->start)
		return false;
	m->write = write == 'w';
	m->exec = exec == 'x';
	m->shared = shared == 's';
	m->file.dev = makedev(major, minor);
	m->path = line + path;
	return true;
}

static int add_mapping(struct cpci_maps *maps, const struct cpci_mapping *m)
{
	struct cpci_mapping *p = cpci_grow(maps->m, maps->n, &maps->room, sizeof(*p));

	if (p == NULL)
		return -1;
	maps->m = p;
	p[maps->n] = *m;
	p[maps->n].path = strdup(m->path);
	return p[maps->n].path != NULL ? (int)maps->n++ : -1;
}

void cpci_maps_close(struct cpci_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		free((char *)maps->m[i].path);
	free(maps->m);
	maps->n = maps->room = 0;
	maps->m = NULL;
}

/* Reads the lines of /proc/PID/maps, which are in the order of addresses.  0, or an errno. */
static int read_lines(struct cpci_maps *maps, FILE *f)
{
	struct cpci_mapping m;
	size_t size = 0, total = 0;
	char *line = NULL;
	ssize_t n;
	int err = 0;

	errno = 0;
	while (err == 0 && (n = getline(&line, &size, f)) > 0) {
		total += (size_t)n;
		if (maps->n == MAX_MAPPINGS || total > MAX_TEXT)
			err = EFBIG;
		else if (!cpci_maps_parse(line, &m))
			err = EPROTO;
		else if (add_mapping(maps, &m) == -1)
			err = ENOMEM;
		errno = 0;
	}
	if (err == 0)
		err = errno; /* of getline() */
	free(line);
	/* A process without memory has exited. */
	return err == 0 && maps->n == 0 ? ESRCH : err;
}

static int read_all(struct cpci_maps *maps)
{
	int fd = cpci_open_proc(maps->tid, "maps"), err;
	FILE *f = fd != -1 ? fdopen(fd, "r") : NULL;

	cpci_maps_close(maps);
	if (f == NULL) {
		cpci_close(fd);
		return -1;
	}
	err = read_lines(maps, f);
	fclose(f);
	if (err == 0)
		return 0;
	cpci_maps_close(maps);
	return cpci_errno(err);
}

int cpci_maps_open(struct cpci_maps *maps, pid_t tid)
{
	*maps = (struct cpci_maps){.tid = tid};
	return read_all(maps);
}

/* The first of these mappings that ends after `addr`. */
static size_t first_after(const struct cpci_maps *maps, uint64_t addr)
{
	size_t low = 0, high = maps->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (maps->m[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static bool find_at(const struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m)
{
	size_t i = first_after(maps, addr);

	if (i == maps->n || maps->m[i].start > addr)
		return false;
	*m = maps->m[i];
	return true;
}

int cpci_maps_at(struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m)
{
	if (find_at(maps, addr, m))
		return 1;
	/* Another thread of the process may have mapped it since. */
	return read_all(maps) == -1 ? -1 : find_at(maps, addr, m);
}

bool cpci_maps_next_code(const struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m)
{
	for (size_t i = first_after(maps, addr); i < maps->n; i++) {
		if (maps->m[i].exec && maps->m[i].file.ino != 0) {
			*m = maps->m[i];
			return true;
		}
	}
	return false;
}

int cpci_maps_identify(int fd, struct cpci_file_id *id)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	struct cpci_mapping m;
	struct cpci_maps own;
	bool found;

	if (p == MAP_FAILED)
		return -1;
	found = cpci_maps_open(&own, 0) == 0 && find_at(&own, (uintptr_t)p, &m);
	cpci_maps_close(&own);
	munmap(p, page);
	if (!found)
		return cpci_errno(EPROTO);
	*id = m.file;
	return 0;
}
