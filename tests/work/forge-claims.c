/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * forge-claims [FILES [PROGRAM [LOCKS]]] - an ordinary user attacks the claims of CPUs.
 *
 * Tries to change everything in /run/cpc, and says "did WHAT" when it could; locks
 * whatever it can open, in every way; and puts into /dev/shm false claims and locks of
 * other programs: locked files, also locked with the capabilities of a user namespace,
 * and by a process that executes PROGRAM, which gains by its mode or by its capabilities (its
 * owner's file cpc-open among them if that is there and may be written), FIFOs, links,
 * directories, leases, and FILES (5000) more of them.  LOCKS: so many read locks on the first
 * file of /run/cpc that is a claim, and on one with 256 names of claims.  Says "ready" and
 * keeps it all up until standard input ends.
 */
#include "work.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>

#define ROOTS "/run/cpc"
#define USERS "/dev/shm"

static void did(const char *what, int rc)
{
	if (rc != -1)
		printf("did %s\n", what);
}

static void lock(int fd, short type, int cmd)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET};

	fcntl(fd, cmd, &l);
}

static void attack(const char *name)
{
	int fd;

	did("open for writing", open(name, O_WRONLY | O_CLOEXEC));
	did("truncate", truncate(name, 0));
	did("change the mode", chmod(name, 0666));
	did("rename", rename(name, USERS "/cpc-stolen"));
	did("link", link(name, USERS "/cpc-linked"));
	did("remove", unlink(name));
	fd = open(name, O_RDONLY); /* and kept */
	if (fd == -1)
		return;
	lock(fd, F_RDLCK, F_SETLK);
	lock(fd, F_RDLCK, F_OFD_SETLK);
	flock(fd, LOCK_SH | LOCK_NB);
	did("lock for writing", fcntl(fd, F_SETLK, &(struct flock){.l_type = F_WRLCK}));
	flock(fd, LOCK_EX | LOCK_NB);
	did("lease", fcntl(fd, F_SETLEASE, F_WRLCK));
}

static void attack_roots(void)
{
	const struct dirent *entry;
	DIR *dir = opendir(ROOTS);

	if (dir == NULL || chdir(ROOTS) == -1)
		broken(ROOTS);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] != '.')
			attack(entry->d_name);
	}
	closedir(dir);
	did("make a file", creat("cpc-cpu0-1-1", 0644));
	did("make a directory", mkdir("cpc-cpu0-1-2", 0755));
	did("make a link", symlink("/dev/zero", "cpc-cpu0-1-3"));
	did("make a FIFO", mkfifo("cpc-cpu0-1-4", 0666));
	did("change the directory", chmod(".", 0777));
	did("rename the directory", rename(ROOTS, "/run/cpc-gone"));
	did("make it writable again", chmod(ROOTS "/generation", 0666));
}

/* The name that a claim of ours would have, with `cpu` and its number as given. */
static const char *own(const char *cpu, const char *number)
{
	static char text[96];
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) == -1)
		broken("/proc/self/ns/pid");
	snprintf(text, sizeof(text), "cpc-cpu%s-%lx-%d-%s", cpu, (unsigned long)st.st_ino,
		 (int)getpid(), number);
	return text;
}

/* A locked file, as a claim is; stays open. */
static int forge(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0644);

	if (fd == -1)
		broken(name);
	lock(fd, F_WRLCK, F_SETLK);
	return fd;
}

/* Replaces our locks on the file by `locks` read locks of a byte each, which the kernel cannot
 * merge. */
static void lock_bytes(int fd, long locks)
{
	lock(fd, F_UNLCK, F_SETLK);
	for (long i = 0; i < locks; i++) {
		struct flock l = {.l_type = F_RDLCK, .l_start = 2 * i, .l_len = 1};

		if (fcntl(fd, F_SETLK, &l) == -1)
			broken("locking a byte");
	}
}

static void lock_much(long locks)
{
	const struct dirent *entry;
	DIR *dir = opendir(ROOTS);
	char number[32], first[128];
	int fd;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "cpc-cpu", 7) != 0)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY);
		if (fd == -1)
			broken(entry->d_name);
		lock_bytes(fd, locks);
		printf("locked %s\n", entry->d_name);
		break;
	}
	snprintf(first, sizeof(first), "%s", own("0", "60"));
	fd = open(first, O_RDWR | O_CREAT, 0644);
	if (fd == -1)
		broken(first);
	lock_bytes(fd, locks);
	for (int i = 1; i < 256; i++) {
		snprintf(number, sizeof(number), "6%d", i);
		if (link(first, own("0", number)) == -1)
			broken("link");
	}
}

/* Claims of processes that look privileged. */
static void forge_privileges(const char *program)
{
	int done[2], fd;
	char map[32], c;

	if (pipe2(done, O_CLOEXEC) == -1)
		broken("pipe");
	if (fork_dependent() == 0) {
		snprintf(map, sizeof(map), "0 %d 1", (int)geteuid());
		if (unshare(CLONE_NEWUSER) == -1)
			_exit(0);
		fd = open("/proc/self/uid_map", O_WRONLY);
		if (fd == -1 || write(fd, map, strlen(map)) == -1)
			broken("uid_map");
		forge(own("0", "21"));
		forge(own("1", "22"));
		close(done[1]);
		for (;;)
			pause();
	}
	if (program != NULL && fork() == 0) {
		forge(own("0", "33"));
		forge(own("1", "34"));
		if (link("cpc-open", own("0", "314")) == 0)
			lock(open(own("0", "314"), O_RDWR), F_WRLCK, F_SETLK);
		execl(program, program, NULL);
		broken(program);
	}
	close(done[1]);
	if (read(done[0], &c, 1) == -1) /* until both are there */
		broken("read");
	close(done[0]);
}

static void squat(long files)
{
	char number[32];

	mkfifo(own("0", "45"), 0666);
	mkdir(own("0", "46"), 0755);
	if (symlink("/nowhere", own("0", "47")) == -1 || symlink("/dev/zero", own("1", "48")) == -1)
		broken("symlink");
	fcntl(forge(own("0", "49")), F_SETLEASE, F_WRLCK);
	if (ftruncate(forge(own("0", "410")), 1L << 40) == -1)
		broken("ftruncate");
	lock(open(own("0", "411"), O_RDWR | O_CREAT, 0644), F_WRLCK, F_OFD_SETLK);
	forge("cpc-lock-0");
	forge("cpc-lock-1000");
	forge(own("-1", "012"));
	forge(own("99999999999999999999", "113"));
	for (long i = 0; i < files; i++) {
		int fd;

		snprintf(number, sizeof(number), "5%ld", i);
		fd = forge(own(i % 2 == 0 ? "0" : "1", number));
		if (i >= 500) /* not more files than we may have open */
			close(fd);
	}
}

int main(int argc, char *argv[])
{
	char c;

	signal(SIGIO, SIG_IGN); /* opening a file that has our lease breaks the lease */
	umask(0);
	attack_roots();
	if (chdir(USERS) == -1)
		broken(USERS);
	forge_privileges(argc > 2 ? argv[2] : NULL);
	squat(argc > 1 ? number(argv[1]) : 5000);
	if (argc > 3)
		lock_much(number(argv[3]));
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
