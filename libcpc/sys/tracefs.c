/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* tracefs.c - the file system of tracepoints, even if it is not mounted. */
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static int root = -1, root_errno; /* set once */

/* Opens tracefs if it is mounted at `path`.  -1 and errno: ENOENT, it is not. */
static int open_mounted(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1 || faccessat(fd, "events/header_page", R_OK, AT_EACCESS) == 0)
		return fd;
	cpci_close(fd);
	return -1;
}

/* Mounts tracefs only for this process: no path leads to it, and the last close unmounts it. */
static int mount_detached(void)
{
	int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC), fd = -1;

	if (fs == -1)
		return -1;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	cpci_close(fs);
	return fd;
}

static void open_root(void)
{
	static const char *const mounts[] = {CPCI_TRACEFS, "/sys/kernel/debug/tracing"};

	for (size_t i = 0; root == -1 && i < sizeof(mounts) / sizeof(*mounts); i++) {
		root = open_mounted(mounts[i]);
		if (root == -1 && root_errno != EACCES)
			root_errno = errno;
	}
	if (root == -1)
		root = mount_detached();
}

int cpci_tracefs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, open_root);
	errno = root_errno;
	return root;
}
