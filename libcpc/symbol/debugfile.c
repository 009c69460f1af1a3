/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * debugfile.c - finds the separate debug file of a stripped file, as gdb and perf do: by its build
 * id, or by the name in its section .gnu_debuglink.
 *
 * Debug files have the same build id, or the checksum in that section.
 */
#include "debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUG_DIR "/usr/lib/debug"
#define CHUNK 65536U
#define MAX_NS 500000000LL /* of CPU time; it is enough for 150 MB and more */

/* The checksum of .gnu_debuglink: CRC-32 of IEEE 802.3.  False: the file is too large. */
static bool compute(int fd, uint32_t *crc)
{
	const hrtime_t end = cpci_cpu_time() + MAX_NS;
	unsigned char *buf = malloc(CHUNK);
	uint32_t sum = ~0U, table[256];
	off_t at = 0;
	ssize_t n = -1;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (0xedb88320U & (0U - (table[i] & 1)));
	}
	while (buf != NULL && cpci_cpu_time() < end && (n = pread(fd, buf, CHUNK, at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum >> 8 ^ table[(sum ^ buf[i]) & 0xff];
		at += n;
	}
	free(buf);
	*crc = ~sum;
	return n == 0;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* The same, which keeps the last answers: each name that is looked up asks again. */
static bool checksum(int fd, const struct stat *st, uint32_t *crc)
{
	static struct {
		struct stat st;
		uint32_t crc;
		bool good;
	} known[4];
	static size_t next;
	const size_t n = sizeof(known) / sizeof(*known);
	size_t i = 0;

	while (i < n && !same_file(st, &known[i].st))
		i++;
	if (i == n) {
		i = next;
		next = (next + 1) % n;
		known[i].good = compute(fd, &known[i].crc);
		known[i].st = *st;
	}
	*crc = known[i].crc;
	return known[i].good;
}

static bool same_id(const struct cpci_elf_link *a, const struct cpci_elf_link *b)
{
	return a->nid == b->nid && memcmp(a->id, b->id, a->nid) == 0;
}

/* Opens a path if it is the debug file of a file.  -1: it is not. */
static int try_path(const char *path, const struct cpci_elf_link *link)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct cpci_elf_link found;
	struct stat st;
	uint32_t crc;

	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && cpci_elf_link(fd, &found) == 0 &&
	    found.whole &&
	    (link->nid > 0 && found.nid > 0 ? same_id(link, &found)
					    : checksum(fd, &st, &crc) && crc == link->crc))
		return fd;
	close(fd);
	return -1;
}

static int try_id(const struct cpci_elf_link *link)
{
	char path[sizeof(DEBUG_DIR "/.build-id//.debug") + 2 * sizeof(link->id)];
	int n = snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/");

	if (link->nid < 2)
		return -1;
	for (size_t i = 0; i < link->nid; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, i == 0 ? "%02x/" : "%02x",
			      link->id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	return try_path(path, link);
}

int cpci_debug_open(int fd)
{
	static const char *const format[] = {"%s/%s", "%s/.debug/%s", DEBUG_DIR "%s/%s"};
	char self[32], dir[PATH_MAX], path[2 * PATH_MAX];
	struct cpci_elf_link link;
	int found;
	ssize_t n;

	if (cpci_elf_link(fd, &link) == -1 || link.whole)
		return -1;
	found = try_id(&link);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, dir, sizeof(dir) - 1);
	dir[n > 0 ? n : 0] = '\0';
	if (found != -1 || dir[0] != '/' || link.name[0] == '\0' || strchr(link.name, '/') != NULL)
		return found;
	*strrchr(dir, '/') = '\0';
	for (size_t i = 0; found == -1 && i < sizeof(format) / sizeof(*format); i++) {
		snprintf(path, sizeof(path), format[i], dir, link.name);
		found = try_path(path, &link);
	}
	return found;
}

bool cpci_debug_is_stripped(int fd)
{
	struct cpci_elf_link link;
	int debug;

	if (cpci_elf_link(fd, &link) == -1 || link.whole)
		return false;
	debug = cpci_debug_open(fd);
	if (debug != -1)
		close(debug);
	return debug == -1;
}
