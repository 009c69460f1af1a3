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
#include <sys/utsname.h>
#include <unistd.h>

bool lwps_linux_is(unsigned major, unsigned minor)
{
	struct utsname name;
	unsigned a, b;

	return uname(&name) == 0 && sscanf(name.release, "%u.%u", &a, &b) == 2 &&
	       (a > major || (a == major && b >= minor));
}

/* Lockdown keeps BPF programs from reading the kernel's memory; see kernel_lockdown(7). */
static bool is_locked_down(void)
{
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");
	char line[128] = "";

	if (f == NULL)
		return false;
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	fclose(f);
	return strstr(line, "[confidentiality]") != NULL;
}

void lwps_explain(char *why, size_t size, const char *what)
{
	int error = errno;

	/* Linux 5.10 says EPERM to root, whose limit of locked memory counts there. */
	if (!lwps_linux_is(5, 17)) {
		snprintf(why, size, "this kernel is too old; Linux 5.17 or later can");
		errno = error;
		return;
	}
	if (is_locked_down()) {
		snprintf(why, size, "lockdown=confidentiality keeps BPF from the kernel's memory");
		errno = error;
		return;
	}
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
			snprintf(why, size, "this kernel's BPF cannot: %s: %s", what,
				 strerror(error));
		break;
	}
	errno = error;
}
