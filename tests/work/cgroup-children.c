/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroup-children [-p PAGES] [-s CALLS] FOLDER N - N pairs of children, one after the other.
 *
 * Of each pair, one child is in a new cgroup FOLDER/NUMBER, which exists only meanwhile, and then
 * one in FOLDER/rest.service, which exists before.  Known: each child does the chore once.
 */
#include "work.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void be_child(const struct chore *chore, const char *cgroup)
{
	char procs[PATH_MAX];
	pid_t pid = fork();
	int status, fd;

	must(pid != -1, "fork");
	if (pid == 0) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
		fd = open(procs, O_WRONLY | O_CLOEXEC);
		must(fd != -1 && write(fd, "0", 1) == 1, procs);
		do_chore(chore);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, cgroup);
}

int main(int argc, char *argv[])
{
	struct chore chore = {0};
	char rest[PATH_MAX], other[PATH_MAX];
	long n;
	int opt;

	while ((opt = getopt(argc, argv, "p:s:")) != -1) {
		if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	n = operand(argc, argv, optind + 1);
	snprintf(rest, sizeof(rest), "%s/rest.service", argv[optind]);
	for (long i = 0; i < n; i++) {
		snprintf(other, sizeof(other), "%s/%ld", argv[optind], i);
		must(mkdir(other, 0755) == 0, other);
		be_child(&chore, other);
		be_child(&chore, rest);
		while (rmdir(other) == -1)
			must(errno == EBUSY, other);
	}
	return 0;
}
