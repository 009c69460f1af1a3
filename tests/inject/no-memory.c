/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * no-memory.so - for LD_PRELOAD: the allocation of number NO_MEMORY_AT fails.
 *
 * Allocations are counted from the start of the program that is preloaded, not of those
 * that it executes.  The file NO_MEMORY_FILE gets a byte when one fails, and with
 * NO_MEMORY_AT=0 their number when the program exits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The allocator itself, under names that are not replaced. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);

static long at = -1; /* -1: not yet */
static long count;
static char file[4096];

static void tell(const char *text)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		_exit(111);
	close(fd);
}

static int fails(void)
{
	if (at < 0 || ++count != at)
		return 0;
	tell("x");
	errno = ENOMEM;
	return 1;
}

__attribute__((constructor)) static void start(void)
{
	const char *number = getenv("NO_MEMORY_AT"), *name = getenv("NO_MEMORY_FILE");

	if (number == NULL || name == NULL || strlen(name) >= sizeof(file))
		return;
	strcpy(file, name);
	at = atol(number);
	unsetenv("LD_PRELOAD");
	unsetenv("NO_MEMORY_AT");
	unsetenv("NO_MEMORY_FILE");
}

__attribute__((destructor)) static void end(void)
{
	char text[24];

	if (at != 0)
		return;
	snprintf(text, sizeof(text), "%ld\n", count);
	tell(text);
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

void *memalign(size_t align, size_t size)
{
	return fails() ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	*p = memalign(align, size);
	return *p == NULL ? ENOMEM : 0;
}
