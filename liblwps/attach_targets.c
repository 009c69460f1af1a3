/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * attach_targets.c - the processes to attach to, as the programs see them.
 */
#include "attach_targets.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int map_call(enum bpf_cmd command, int map, const pid_t *pid, const uint32_t *value)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)pid;
	attr.value = (uintptr_t)value;
	return (int)syscall(SYS_bpf, command, &attr, sizeof(attr));
}

int attach_targets_add(int map, const pid_t *pids, size_t n)
{
	const uint32_t none = 0;

	for (size_t i = 0; i < n; i++) {
		if (map_call(BPF_MAP_UPDATE_ELEM, map, &pids[i], &none) == -1)
			return -1;
	}
	return 0;
}

void attach_targets_take(int map, const pid_t *pids, size_t n, bool *found)
{
	uint32_t value = 0;

	for (size_t i = 0; i < n; i++) {
		found[i] = map_call(BPF_MAP_LOOKUP_ELEM, map, &pids[i], &value) == 0 && value != 0;
		map_call(BPF_MAP_DELETE_ELEM, map, &pids[i], NULL);
	}
}

int attach_targets_walk(int link)
{
	union bpf_attr attr;
	ssize_t n;
	char byte;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (uint32_t)link;
	fd = (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -1;
	do
		n = read(fd, &byte, sizeof(byte));
	while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
	return n < 0 ? -1 : 0;
}
