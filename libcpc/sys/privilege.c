/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* privilege.c - what the kernel permits: perf_event_paranoid and capabilities(7). */
#include "sys.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int cpci_paranoid(void)
{
	static const char path[] = "/proc/sys/kernel/perf_event_paranoid";

	if (access(path, F_OK) == -1 && errno == ENOENT)
		return INT_MIN;
	return (int)cpci_read_number(path, INT_MAX);
}

bool cpci_have_cap(pid_t pid, int cap)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = pid};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &hdr, data) == -1)
		return false;
	return (data[cap / 32].effective >> (cap % 32) & 1U) != 0;
}

bool cpci_privileged(pid_t pid)
{
	return cpci_have_cap(pid, CAP_PERFMON) || cpci_have_cap(pid, CAP_SYS_ADMIN);
}

bool cpci_privileged_here(void)
{
	unsigned long first, outside, n;
	char map[256];

	/* A kernel without user namespaces has no uid_map. */
	if (cpci_read_proc(0, "uid_map", map, sizeof(map)) &&
	    (sscanf(map, "%lu %lu %lu", &first, &outside, &n) != 3 || first != 0 || outside != 0 ||
	     n != UINT32_MAX))
		return false;
	return cpci_privileged(0);
}
