/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * slow-read.so - for LD_PRELOAD: each read(2) of a counter takes 0.3 s longer, as on a busy
 * machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((constructor)) static void start(void)
{
	unsetenv("LD_PRELOAD"); /* the command reads as ever */
}

static int is_counter(int fd)
{
	char link[32], name[32] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, name, sizeof(name) - 1) > 0 &&
	       strcmp(name, "anon_inode:[perf_event]") == 0;
}

ssize_t read(int fd, void *buf, size_t size)
{
	const struct timespec delay = {.tv_nsec = 300000000};

	if (size > 0 && is_counter(fd))
		nanosleep(&delay, NULL);
	return syscall(SYS_read, fd, buf, size);
}
