/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * exec-special MODE - execute copies of this program that are special; root only.
 *
 *   unreadable  mode 0711, as another user
 *   setuid      mode 4755, of another user
 *   setgid      mode 2755, of another group
 *   plain       nothing special
 *
 * The copies are made in the working directory and removed.  Known: each of 3 copies in
 * turn does a chore of 11 calls and prints its user ids; PASS, or FAIL and why.
 */
#include "work.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { OTHER = 65534 };

static struct chore chore = {.pages = 5, .calls = 11};

static void copy(const char *name, uid_t uid, gid_t gid, mode_t mode)
{
	char buf[65536];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	ssize_t n;

	must(from != -1 && to != -1, "a copy");
	while ((n = read(from, buf, sizeof(buf))) > 0)
		must(write(to, buf, (size_t)n) == n, "a copy");
	must(fchown(to, uid, gid) == 0 && fchmod(to, mode) == 0, "its mode");
	close(from);
	close(to);
}

static void run_copies(uid_t uid, gid_t gid, mode_t mode, bool as_other)
{
	char name[32];
	int status;
	pid_t pid;

	snprintf(name, sizeof(name), "./copy.%d", (int)getpid());
	copy(name, uid, gid, mode);
	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0) {
			if (as_other)
				must(setgid(OTHER) == 0 && setuid(OTHER) == 0, "another user");
			execl(name, "exec-special", "image", (char *)NULL);
			_exit(1);
		}
		must(waitpid(pid, &status, 0) == pid && status == 0, "its end");
	}
	unlink(name);
}

static void image(void)
{
	dprintf(STDOUT_FILENO, "uid %u %u gid %u %u\n", getuid(), geteuid(), getgid(), getegid());
	do_chore(&chore);
}

static void unreadable(void)
{
	run_copies(0, 0, 0711, true);
}

static void set_uid(void)
{
	run_copies(OTHER, 0, 04755, false);
}

static void set_gid(void)
{
	run_copies(0, OTHER, 02755, false);
}

static void plain(void)
{
	run_copies(0, 0, 0755, false);
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"unreadable", unreadable}, {"setuid", set_uid}, {"setgid", set_gid},
		{"plain", plain},	    {"image", image},
	};

	return RUN_MODE(modes, argc, argv);
}
