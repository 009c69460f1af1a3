/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * maps.c - what is mapped in a process, by /proc/PID/maps.
 */
#include "maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* From linux/fs.h since Linux 6.11. */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY_IOCTL _IOWR('f', 17, struct procmap_query)
enum {
	QUERY_EXECUTABLE = 0x04,
	QUERY_COVERING_OR_NEXT = 0x10,
	QUERY_FILE_BACKED = 0x20,
};

/* vm.max_map_count is 65530, but root can raise it; normal paths are short. */
#define MAX_MAPPINGS (1U << 20)
#define MAX_TEXT (64U << 20)

int cpci_maps_open(struct cpci_maps *maps, pid_t tid)
{
	char path[64] = "/proc/self/maps";

	if (tid != 0)
		snprintf(path, sizeof(path), "/proc/%d/maps", (int)tid);
	maps->tid = tid;
	maps->all = false;
	maps->n = maps->room = 0;
	maps->m = NULL;
	maps->fd = open(path, O_RDONLY | O_CLOEXEC);
	return maps->fd != -1 ? 0 : -1;
}

void cpci_maps_close(struct cpci_maps *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		free((char *)maps->m[i].path);
	free(maps->m);
	close(maps->fd);
}

/* Parses a number and skips the character after it. */
static bool number(char **p, int base, char behind, uint64_t *val)
{
	char *end;

	errno = 0;
	*val = strtoull(*p, &end, base);
	if (end == *p || *end != behind || errno != 0)
		return false;
	*p = end + 1;
	return true;
}

/* Parses "7f00a000-7f00b000 r-xp 00001000 fe:01 1234 /lib/x", where newlines are \012. */
bool cpci_maps_parse(char *line, struct cpci_mapping *m)
{
	uint64_t major, minor;
	char *p = line;

	*m = (struct cpci_mapping){.path = ""};
	line[strcspn(line, "\n")] = '\0';
	if (!number(&p, 16, '-', &m->start) || !number(&p, 16, ' ', &m->end) || m->end <= m->start)
		return false;
	if (strlen(p) < 5 || p[4] != ' ')
		return false;
	m->exec = p[2] == 'x';
	p += 5;
	if (!number(&p, 16, ' ', &m->offset) || !number(&p, 16, ':', &major) ||
	    !number(&p, 16, ' ', &minor))
		return false;
	if (major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	m->file.dev = makedev((unsigned)major, (unsigned)minor);
	/* Without a path, some kernels end the line here. */
	if (!number(&p, 10, ' ', &m->file.ino)) {
		if (!number(&p, 10, '\0', &m->file.ino))
			return false;
		p--;
	}
	m->path = p + strspn(p, " ");
	return true;
}

static int add(struct cpci_maps *maps, const struct cpci_mapping *m)
{
	if (maps->n == maps->room) {
		size_t room = maps->room != 0 ? 2 * maps->room : 64;
		struct cpci_mapping *p = reallocarray(maps->m, room, sizeof(*p));

		if (p == NULL)
			return -1;
		maps->m = p;
		maps->room = room;
	}
	maps->m[maps->n] = *m;
	maps->m[maps->n].path = strdup(m->path);
	return maps->m[maps->n].path != NULL ? (int)maps->n++ : -1;
}

/* Reads all mappings, which the kernel lists in the order of addresses. */
static int read_all(struct cpci_maps *maps)
{
	int fd = fcntl(maps->fd, F_DUPFD_CLOEXEC, 0), rc = 0;
	struct cpci_mapping m;
	size_t size = 0, total = 0;
	char *line = NULL;
	ssize_t n;
	FILE *f;

	f = fd != -1 ? fdopen(fd, "r") : NULL;
	if (f == NULL) {
		if (fd != -1)
			close(fd);
		return -1;
	}
	errno = 0;
	while (rc != -1 && (n = getline(&line, &size, f)) > 0) {
		total += (size_t)n;
		if (maps->n == MAX_MAPPINGS || total > MAX_TEXT) {
			errno = EFBIG;
			rc = -1;
		} else if (!cpci_maps_parse(line, &m)) {
			errno = EPROTO;
			rc = -1;
		} else {
			rc = add(maps, &m);
		}
		if (rc != -1)
			errno = 0;
	}
	if (errno == 0 && maps->n == 0)
		errno = ESRCH; /* it has exited and has no memory */
	rc = errno == 0 ? 0 : -1;
	free(line);
	fclose(f); /* cannot fail: nothing was written */
	maps->all = rc == 0;
	return rc;
}

/* The first of these mappings that ends after `addr`. */
static size_t find(const struct cpci_maps *maps, uint64_t addr)
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

/* Queries the kernel.  1, 0 or -1 as in maps.h; ENOTTY: it has no such ioctl. */
static int query(struct cpci_maps *maps, uint64_t addr, uint64_t flags, bool path,
		 struct cpci_mapping *m)
{
	struct procmap_query q = {
		.size = sizeof(q),
		.query_flags = flags,
		.query_addr = addr,
		.vma_name_addr = path ? (uintptr_t)maps->path : 0,
		.vma_name_size = path ? sizeof(maps->path) : 0,
	};

	maps->path[0] = '\0';
	if (ioctl(maps->fd, PROCMAP_QUERY_IOCTL, &q) == -1)
		return errno == ENOENT ? 0 : -1;
	*m = (struct cpci_mapping){
		.start = q.vma_start,
		.end = q.vma_end,
		.offset = q.vma_offset,
		.file = {makedev(q.dev_major, q.dev_minor), q.inode},
		.exec = (q.vma_flags & QUERY_EXECUTABLE) != 0,
		.path = path && q.vma_name_size > 0 ? maps->path : "",
	};
	return 1;
}

int cpci_maps_at(struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m)
{
	size_t i;
	int rc;

	if (!maps->all) {
		rc = query(maps, addr, 0, true, m);
		if (rc != -1 || errno != ENOTTY)
			return rc;
		if (read_all(maps) == -1)
			return -1;
	}
	i = find(maps, addr);
	if (i == maps->n || maps->m[i].start > addr)
		return 0;
	*m = maps->m[i];
	return 1;
}

int cpci_maps_next_code(struct cpci_maps *maps, uint64_t addr, struct cpci_mapping *m)
{
	int rc;

	if (!maps->all) {
		rc = query(maps, addr,
			   QUERY_EXECUTABLE | QUERY_FILE_BACKED | QUERY_COVERING_OR_NEXT, false, m);
		if (rc != -1 || errno != ENOTTY)
			return rc;
		if (read_all(maps) == -1)
			return -1;
	}
	for (size_t i = find(maps, addr); i < maps->n; i++) {
		if (maps->m[i].exec && maps->m[i].file.ino != 0) {
			*m = maps->m[i];
			return 1;
		}
	}
	return 0;
}

int cpci_maps_identify(int fd, struct cpci_file_id *id)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct cpci_maps *own;
	struct cpci_mapping m;
	void *p = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	int rc, err;

	if (p == MAP_FAILED)
		return -1;
	own = malloc(sizeof(*own));
	rc = own != NULL ? cpci_maps_open(own, 0) : -1;
	if (rc == 0) {
		rc = cpci_maps_at(own, (uintptr_t)p, &m);
		if (rc == 0) {
			errno = EPROTO;
			rc = -1;
		}
		err = errno;
		cpci_maps_close(own);
		errno = err;
	}
	err = errno;
	free(own);
	munmap(p, page);
	errno = err;
	if (rc == -1)
		return -1;
	*id = m.file;
	return 0;
}
