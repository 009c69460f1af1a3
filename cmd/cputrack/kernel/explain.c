/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * explain.c - why the kernel would not load or attach the programs.
 */
#include "explain.h"

#include "lwps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void lwps_explain(char *why, size_t size, const char *what)
{
	int error = errno;

	switch (error) {
	case EPERM:
		snprintf(why, size, LWPS_PRIVILEGES);
		break;
	case ENOSYS:
		snprintf(why, size, "this kernel has no BPF");
		break;
	case EAGAIN: /* signals without end */
	case ENOMEM:
	case EMFILE:
	case ENFILE:
		snprintf(why, size, "%s: %s", what, strerror(error));
		break;
	default:
		if (access("/sys/kernel", F_OK) == 0 && access("/sys/kernel/btf/vmlinux", F_OK))
			snprintf(why, size, "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
		else
			snprintf(why, size, "this kernel's BPF is too old, or not for this: %s: %s",
				 what, strerror(error));
		break;
	}
	errno = error;
}
