/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* sys.c - the calling thread, time, numbers, arrays. */
#include "sys.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Other TLS models allocate the variable at its first use, which may be in a signal handler. */
static _Thread_local pid_t self __attribute__((tls_model("initial-exec")));

pid_t cpci_self(void)
{
	if (self == 0)
		self = (pid_t)_lwp_self();
	return self;
}

void cpci_self_forget(void)
{
	self = 0;
}

void cpci_close(int fd)
{
	int err = errno;

	if (fd >= 0)
		close(fd);
	errno = err;
}

static hrtime_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

hrtime_t cpci_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

hrtime_t cpci_cpu_time(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

long cpci_kernel(void)
{
	int major, minor, patch = 0;
	struct utsname name;

	if (uname(&name) == -1 || sscanf(name.release, "%d.%d.%d", &major, &minor, &patch) < 2)
		return 0;
	return CPCI_KERNEL(major, minor, patch);
}

void *cpci_grow(void *array, size_t n, size_t *room, size_t size)
{
	size_t more = 2 * n + 32;

	if (n < *room)
		return array;
	array = reallocarray(array, more, size);
	if (array != NULL)
		*room = more;
	return array;
}

bool cpci_parse_number(const char *s, uint64_t *val)
{
	char *end;

	if (!isdigit((unsigned char)*s)) /* strtoull(3) takes blanks and signs */
		return false;
	errno = 0;
	*val = strtoull(s, &end, 0);
	return *end == '\0' && errno == 0;
}
