/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * place.c - where claims of CPUs are, who made them, and which are to be believed.
 * See exclusive.c.
 */
#include "cpc_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_ENTRIES 10000 /* how many names are read in a place that is not root's, ... */
#define LOOK_FILES 256	   /* ...and how many claims examined */
#define MUTEX_TRIES 2000   /* of a millisecond; it is held for less */

const char *const cpci_place_path[] = {[CPCI_ROOTS] = "/run/cpc", [CPCI_USERS] = "/dev/shm"};

/* Only where nobody can remove what is another's. */
int cpci_place_open(enum cpci_place place)
{
	int dir = open(cpci_place_path[place], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir == -1)
		return -1;
	if (fstat(dir, &st) == 0 && st.st_uid == 0 &&
	    ((st.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (st.st_mode & S_ISVTX) != 0))
		return dir;
	close(dir);
	errno = EPERM;
	return -1;
}

/* Reads the beginning of /proc/PID/NAME, or of /proc/self/NAME. */
static bool read_proc(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64] = "/proc/self/", digits[16], *p = digits + sizeof(digits) - 1;
	ssize_t n;
	int fd;

	if (pid != 0) {
		for (*p = '\0'; pid > 0; pid /= 10)
			*--p = (char)('0' + pid % 10);
		strcpy(path, "/proc/");
		strcat(path, p);
		strcat(path, "/");
	}
	strcat(path, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/*
 * May that process count whole CPUs, and is it that user's?  One that locks a file and
 * then executes a set-user-id program is not; one that has made itself a user namespace
 * has all capabilities, but only in there.
 */
static bool may_claim(pid_t pid, uid_t uid)
{
	char text[512], ours[512], *field;
	unsigned long effective;

	if (!read_proc(pid, "status", text, sizeof(text)))
		return false;
	field = strstr(text, "\nUid:");
	if (field == NULL)
		return false;
	strtoul(field + strlen("\nUid:"), &field, 10); /* the real one */
	effective = strtoul(field, NULL, 10);
	if (effective != uid)
		return false;
	if (cpci_paranoid() <= 0)
		return true;
	return cpci_privileged(pid) && read_proc(pid, "uid_map", text, sizeof(text)) &&
	       read_proc(0, "uid_map", ours, sizeof(ours)) && strcmp(text, ours) == 0;
}

/* Does somebody have that file locked?  A lock that shares it is nothing. */
static bool is_locked(int fd, pid_t *pid)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_GETLK, &lock) == -1 || lock.l_type == F_UNLCK)
		return false;
	*pid = lock.l_pid > 0 ? lock.l_pid : 0;
	return true;
}

enum look { DEAD, LIVE, WORTHLESS };

static enum look look_at(int dir, const char *name, enum cpci_place place, uid_t *owner, pid_t *pid)
{
	/* Not to be kept waiting by a FIFO or a lease. */
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	enum look look = WORTHLESS;
	struct stat st;
	pid_t again;

	if (fd == -1)
		return WORTHLESS;
	/* What others may write they may lock, and then execute a program of the owner's. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
	    (st.st_uid == 0 || place == CPCI_USERS)) {
		*owner = st.st_uid;
		if (!is_locked(fd, pid))
			look = DEAD;
		/* Asked again, lest it was another process that has this id now. */
		else if (place == CPCI_ROOTS || (*pid != 0 && may_claim(*pid, st.st_uid) &&
						 is_locked(fd, &again) && again == *pid))
			look = LIVE;
	}
	close(fd);
	return look;
}

/* Whose claim is it, and on which CPU? */
static bool parse_name(const char *name, int *cpu, uint64_t *token)
{
	char *end;

	if (strncmp(name, CPCI_CLAIM_PREFIX, strlen(CPCI_CLAIM_PREFIX)) != 0)
		return false;
	*cpu = (int)strtol(name + strlen(CPCI_CLAIM_PREFIX), &end, 10);
	if (*end != '-')
		return false;
	*token = strtoull(end + 1, NULL, 16);
	return true;
}

/*
 * In one place.  `tidy`: with the mutex, so that what is not locked is not in the making
 * but left by a dead process.  Our own claims must not even be opened, and the first of them
 * may be made in the meantime.
 */
static bool find_in(enum cpci_place place, int cpu, const cpci_token_t *own, bool tidy,
		    struct cpci_found *found)
{
	_Alignas(struct dirent64) char buf[2048];
	unsigned nentries = 0, nfiles = 0;
	int dir = cpci_place_open(place);
	bool live = false;
	ssize_t n;

	if (dir == -1)
		return false;
	while (!live && (n = getdents64(dir, buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n && !live;) {
			const struct dirent64 *entry = (const void *)(buf + at);
			enum look look;
			uint64_t token;
			uid_t owner;

			at += entry->d_reclen;
			nentries++;
			if (!parse_name(entry->d_name, &found->cpu, &token) ||
			    (cpu != -1 && found->cpu != cpu) || token == *own)
				continue;
			nfiles++;
			look = look_at(dir, entry->d_name, place, &owner, &found->pid);
			live = look == LIVE;
			if (look == DEAD && tidy && owner == geteuid())
				unlinkat(dir, entry->d_name, 0);
		}
		if (place != CPCI_ROOTS && (nentries >= LOOK_ENTRIES || nfiles >= LOOK_FILES))
			break;
	}
	close(dir);
	return live;
}

bool cpci_place_find(int cpu, const cpci_token_t *own, enum cpci_place tidy,
		     struct cpci_found *found)
{
	return find_in(CPCI_ROOTS, cpu, own, tidy == CPCI_ROOTS, found) ||
	       find_in(CPCI_USERS, cpu, own, tidy == CPCI_USERS, found);
}

/* The mutex of our user's claims; closing it gives it back.  -1: it is not to be had. */
int cpci_place_mutex(int dir)
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
	/* Somebody else may have made it, and have it open. */
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

/* "process 1234 (cpustat)"; its name is its own choice. */
void cpci_place_who(const struct cpci_found *found, char *text, size_t size)
{
	char name[32];
	size_t n;

	if (found->pid == getpid()) {
		snprintf(text, size, "this process");
		return;
	}
	if (found->pid == 0 || !read_proc(found->pid, "comm", name, sizeof(name))) {
		snprintf(text, size, "a process that cannot be seen from here");
		return;
	}
	n = strcspn(name, "\n");
	name[n] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (name[i] < ' ' || name[i] > '~')
			name[i] = '?';
	}
	snprintf(text, size, "process %d (%s)", (int)found->pid, name);
}
