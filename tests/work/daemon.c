/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * daemon [-p PAGES] [-s CALLS] FILE - leave a process behind, as daemons are started.
 *
 * The program forks, its child makes a new session, forks again and ends; both ends
 * come before the grandchild's work: it waits for them, does the chore, writes its
 * process id into FILE and ends with status 9.
 *
 * Known: 3 processes of one LWP, one chore, done by the last; exit status 0.
 */
#include "work.h"

#include <fcntl.h>
#include <sys/wait.h>

__attribute__((noreturn)) static void grandchild(const struct chore *chore, const char *path,
						 const int ends[2])
{
	char byte;
	int fd;

	close(ends[1]);
	if (read(ends[0], &byte, 1) != 0) /* until both are gone */
		_exit(WORK_BROKEN);
	do_chore(chore);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd == -1)
		broken(path);
	dprintf(fd, "%d\n", (int)getpid());
	_exit(9);
}

int main(int argc, char *argv[])
{
	struct chore chore = {0};
	int opt, status, ends[2];
	pid_t pid;

	while ((opt = getopt(argc, argv, "p:s:")) != -1) {
		if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	if (optind != argc - 1 || pipe(ends) == -1)
		return WORK_BROKEN;
	pid = fork();
	if (pid == 0) {
		setsid();
		pid = fork();
		if (pid == 0)
			grandchild(&chore, argv[optind], ends);
		_exit(pid == -1 ? WORK_BROKEN : 0);
	}
	if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
		return WORK_BROKEN;
	return 0;
}
