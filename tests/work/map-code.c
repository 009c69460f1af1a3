/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * map-code KIND N - map the page with hit() once more, of this program's file, and call it there N
 * times after a byte of input.  KIND: private, shared (MAP_SHARED), writable, or changed (private,
 * but made writable and executable again by mprotect(2)).
 *
 * Known: N calls of hit(), in memory of that kind; PASS.
 */
#include "work.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>

static int calls;

/* Position-independent, since it runs at another address. */
__attribute__((noinline)) void hit(int *n)
{
	__asm__ volatile("" ::: "memory");
	*n += 1;
}

/* Where this program's file has the byte at `at`. */
static uint64_t find_offset(uintptr_t at)
{
	uint64_t start, end, offset, found = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096];

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) ==
			    3 &&
		    at >= start && at < end)
			found = offset + (at - start);
	}
	if (maps != NULL)
		fclose(maps);
	return found;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "private";
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t offset = find_offset((uintptr_t)hit), within = offset % page;
	const bool shared = strcmp(kind, "shared") == 0, writable = strcmp(kind, "writable") == 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), n = argc > 2 ? atoi(argv[2]) : 1;
	void (*copy)(int *);
	char *code, byte;

	code = mmap(NULL, 2 * page, PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0),
		    shared ? MAP_SHARED : MAP_PRIVATE, fd, (off_t)(offset - within));
	if (code == MAP_FAILED)
		return 111;
	if (strcmp(kind, "changed") == 0 &&
	    (mprotect(code, 2 * page, PROT_READ | PROT_WRITE) == -1 ||
	     mprotect(code, 2 * page, PROT_READ | PROT_EXEC) == -1))
		return 111;
	code += within;
	memcpy(&copy, &code, sizeof(copy));
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) == -1)
		return 111;
	for (int i = 0; i < n; i++)
		copy(&calls);
	puts(calls == n ? "PASS" : "FAIL");
	return calls != n;
}
