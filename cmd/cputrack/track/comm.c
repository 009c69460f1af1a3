/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * comm.c - names of LWPs.
 */
#include "comm.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void comm_read(pid_t tid, char comm[COMM_SIZE])
{
	char path[32], text[COMM_SIZE];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return;
	n = read(fd, text, sizeof(text)); /* the name and a newline */
	close(fd);
	if (n < 1)
		return;
	text[n - 1] = '\0';
	memcpy(comm, text, (size_t)n);
}
