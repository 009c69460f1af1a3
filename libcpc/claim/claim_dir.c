/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* claim_dir.c - finds the valid claims of CPUs and their owners.  See claim.c. */
#include "claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_ENTRIES 10000 /* the limit of names read in a directory where all users can write */
#define MUTEX_TRIES 2000   /* of a millisecond each; the mutex is never held for so long */

#define PREFIX "cpc-cpu" /* of the names of claims */

const char *const cpci_claim_path[] = {[CPCI_DIR_ROOT] = "/run/cpc", [CPCI_DIR_USERS] = "/dev/shm"};

/* A FIFO or a lease must not make open(2) wait. */
static const int look_flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

bool cpci_claim_is_absence(int err)
{
	return err == ENOENT || err == ENOTDIR || err == ESRCH || err == EACCES || err == EPERM ||
	       err == ELOOP || err == ENXIO || err == ENODEV || err == EWOULDBLOCK;
}

/* After a failed call: 0 if errno says that the claim does not exist, else -1. */
static int zero_if_absent(void)
{
	return cpci_claim_is_absence(errno) ? 0 : -1;
}

int cpci_claim_dir_open(enum cpci_claim_dir which)
{
	int dir = open(cpci_claim_path[which], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir == -1)
		return -1;
	if (fstat(dir, &st) == 0 && st.st_uid == 0 &&
	    ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (st.st_mode & S_ISVTX) != 0))
		return dir;
	close(dir);
	return cpci_errno(EPERM);
}

/* ---- names ------------------------------------------------------------------ */

/* CPU, PID namespace and process; the name also has the time in ns, so that it is unpredictable. */
struct name {
	int cpu;
	uint64_t pidns;
	pid_t pid;
};

/* The inode of our PID namespace; 0: unknown. */
static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

void cpci_claim_name(int cpu, char *name, size_t size)
{
	snprintf(name, size, PREFIX "%d-%" PRIx64 "-%d-%" PRIx64, cpu, pid_namespace(),
		 (int)getpid(), (uint64_t)cpci_now());
}

static bool parse_name(const char *text, struct name *name)
{
	long cpu, pid;
	char *end;

	if (strncmp(text, PREFIX, strlen(PREFIX)) != 0)
		return false;
	cpu = strtol(text + strlen(PREFIX), &end, 10);
	if (cpu < 0 || cpu > INT_MAX || *end != '-')
		return false;
	name->pidns = strtoull(end + 1, &end, 16);
	if (*end != '-')
		return false;
	pid = strtol(end + 1, &end, 10);
	if (pid <= 0 || pid > INT_MAX || *end != '-')
		return false;
	name->cpu = (int)cpu;
	name->pid = (pid_t)pid;
	return true;
}

/* ---- which claims are valid ---------------------------------------------------------------- */

/* The state of a search through one directory. */
struct look {
	enum cpci_claim_dir which;
	int dir;
	bool ready;	/* the next fields are set */
	uint64_t pidns; /* our PID namespace */
	bool proc;	/* /proc shows process ids of our PID namespace */
	bool any_user;	/* all users may count whole CPUs */
};

/* Sets the fields that the checks of claims need.  -1 and errno: they are unknown. */
static int prepare_look(struct look *look)
{
	if (look->ready)
		return 0;
	errno = 0;
	look->any_user = cpci_paranoid() <= 0;
	if (!look->any_user && errno != 0 && zero_if_absent() == -1)
		return -1;
	look->pidns = pid_namespace();
	look->proc = look->pidns != 0 && cpci_own_proc();
	look->ready = true;
	return 0;
}

static bool same_users(pid_t pid)
{
	char theirs[512], ours[512];

	return cpci_read_proc(pid, "uid_map", theirs, sizeof(theirs)) &&
	       cpci_read_proc(0, "uid_map", ours, sizeof(ours)) && strcmp(theirs, ours) == 0;
}

/*
 * May that process count whole CPUs, by capabilities that it had when it took its locks?
 * Then `uid` is its user.  A process that created a user namespace has all capabilities, but
 * only in that namespace.  If a process got capabilities by an exec, its files in /proc belong to
 * root, until the program makes itself dumpable.  1: yes, 0: no, -1: unknown.
 */
static int may_claim(const struct look *look, pid_t pid, uid_t *uid)
{
	int fd, rc = 0;
	char text[512], *field;
	struct stat st;
	ssize_t n;

	if (!look->any_user && !cpci_privileged(pid))
		return 0;
	fd = cpci_open_proc(pid, "status");
	if (fd == -1)
		return zero_if_absent();
	n = fstat(fd, &st) == 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n == -1)
		rc = zero_if_absent();
	close(fd);
	if (n <= 0)
		return rc;
	text[n] = '\0';
	field = strstr(text, "\nUid:");
	if (field == NULL)
		return 0;
	strtoul(field + strlen("\nUid:"), &field, 10); /* skip the real uid */
	*uid = (uid_t)strtoul(field, NULL, 10);
	if (look->any_user)
		return 1;
	if (st.st_uid != *uid)
		return 0;
	errno = EPERM;
	return same_users(pid) ? 1 : zero_if_absent();
}

/* Has a process locked that file exclusively?  Closes it. */
static int is_locked(int fd, pid_t *pid)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	int rc = fcntl(fd, F_GETLK, &lock);

	cpci_close(fd);
	if (rc == -1)
		return -1;
	*pid = lock.l_type != F_UNLCK && lock.l_pid > 0 ? lock.l_pid : 0;
	return lock.l_type != F_UNLCK;
}

/*
 * Opens the file of a claim if it belongs to that user, and if only that user may write it, since
 * writers can lock it.  A user's file must have one name: a second one could name another CPU.
 */
static int open_claim(const struct look *look, const char *text, uid_t uid)
{
	int fd = openat(look->dir, text, look_flags);
	struct stat st;

	if (fd == -1 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid &&
			 (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
			 (look->which == CPCI_DIR_ROOT || st.st_nlink == 1)))
		return fd;
	close(fd);
	return cpci_errno(EPERM);
}

/* The names of root's claims can be trusted; their processes may be in another namespace. */
static int check_root_claim(const struct look *look, const char *text, const struct name *name,
			    pid_t *pid)
{
	int fd;

	/* Skip files of dead processes: other users can take any number of read locks on them. */
	if (look->pidns != 0 && name->pidns == look->pidns && kill(name->pid, 0) == -1 &&
	    errno == ESRCH)
		return 0;
	fd = open_claim(look, text, 0);
	return fd != -1 ? is_locked(fd, pid) : zero_if_absent();
}

/* Queries the lock of a file only after it is certain that its owner may claim. */
static int check_user_claim(const struct look *look, const char *text, const struct name *name,
			    pid_t *pid)
{
	uid_t uid;
	int fd, rc;

	if (!look->proc || name->pidns != look->pidns)
		return 0;
	rc = may_claim(look, name->pid, &uid);
	if (rc != 1)
		return rc;
	fd = open_claim(look, text, uid);
	rc = fd != -1 ? is_locked(fd, pid) : zero_if_absent();
	return rc == 1 ? *pid == name->pid : rc;
}

/* Removes a stale file.  The caller holds the mutex, so an unlocked file is not a new one. */
static void remove_dead(int dir, const char *text)
{
	int fd = openat(dir, text, look_flags);
	struct stat st;
	pid_t pid;

	if (fd == -1)
		return;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		close(fd);
	else if (is_locked(fd, &pid) == 0)
		unlinkat(dir, text, 0);
}

/* Our own claims must not even be opened: see claim.c. */
static int check_claim(struct look *look, const char *text, int cpu, bool tidy,
		       struct cpci_holder *holder)
{
	struct name name;
	int rc;

	if (!parse_name(text, &name) || (cpu != -1 && name.cpu != cpu))
		return 0;
	if (prepare_look(look) == -1)
		return -1;
	if (name.pidns == look->pidns && name.pid == getpid())
		return 0;
	rc = (look->which == CPCI_DIR_ROOT ? check_root_claim : check_user_claim)(look, text, &name,
										  &holder->pid);
	if (rc == 1)
		holder->cpu = name.cpu;
	else if (rc == 0 && tidy)
		remove_dead(look->dir, text);
	return rc;
}

static int find_in(enum cpci_claim_dir which, int cpu, bool tidy, struct cpci_holder *holder)
{
	struct look look = {.which = which, .dir = cpci_claim_dir_open(which)};
	_Alignas(struct dirent) char buf[2048];
	unsigned nentries = 0;
	int rc = 0;
	ssize_t n;

	holder->dir = which;
	if (look.dir == -1)
		return zero_if_absent();
	while (rc == 0 && (which == CPCI_DIR_ROOT || nentries < LOOK_ENTRIES)) {
		n = syscall(SYS_getdents64, look.dir, buf, sizeof(buf));
		if (n <= 0) {
			rc = n == 0 ? 0 : -1;
			break;
		}
		for (ssize_t at = 0; at < n && rc == 0; nentries++) {
			const struct dirent *entry = (const void *)(buf + at); /* layout on 64-bit
										  machines */

			at += entry->d_reclen;
			rc = check_claim(&look, entry->d_name, cpu, tidy, holder);
		}
	}
	cpci_close(look.dir);
	return rc;
}

int cpci_claim_find(int cpu, enum cpci_claim_dir tidy, struct cpci_holder *holder)
{
	int rc = find_in(CPCI_DIR_ROOT, cpu, tidy == CPCI_DIR_ROOT, holder);

	return rc != 0 ? rc : find_in(CPCI_DIR_USERS, cpu, tidy == CPCI_DIR_USERS, holder);
}

int cpci_claim_mutex(int dir)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const struct timespec nap = {.tv_nsec = 1000000};
	struct stat st;
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "cpc-lock-%u", geteuid());
	fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd == -1)
		return -1;
	/* Another user may have created it, and have it open. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    (st.st_mode & (S_IRWXG | S_IRWXO)) == 0) {
		for (unsigned i = 0; i < MUTEX_TRIES; i++) {
			if (fcntl(fd, F_SETLK, &lock) == 0)
				return fd;
			nanosleep(&nap, NULL);
		}
	}
	close(fd);
	return -1;
}
