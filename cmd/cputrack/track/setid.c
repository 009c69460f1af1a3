/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * setid.c - set-id programs, which lose their privileges when they are tracked.
 */
#include "setid.h"

#include "../../base/say.h"

#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* With CAP_SYS_PTRACE in the tracer, the kernel keeps the privileges. */
static bool may_track_all(void)
{
	struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &hdr, data) == 0 &&
	       (data[0].effective >> CAP_SYS_PTRACE & 1U) != 0;
}

/* The privileges that the program would give to our user; NULL: none. */
static const char *privileges_from(const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1)
		return NULL;
	if ((st.st_mode & S_ISUID) != 0 && st.st_uid != geteuid())
		return "set-id privileges";
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getegid())
		return "set-id privileges";
	return getxattr(path, "security.capability", NULL, 0) > 0 ? "capabilities" : NULL;
}

void setid_report(pid_t pid)
{
	char link[32], path[PATH_MAX];
	const char *lost;
	ssize_t n;

	if (may_track_all())
		return;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	lost = privileges_from(link);
	if (lost == NULL)
		return;
	n = readlink(link, path, sizeof(path));
	say("process %d runs %.*s without its %s, because it is tracked", (int)pid,
	    n > 0 ? (int)n : 0, path, lost);
}
