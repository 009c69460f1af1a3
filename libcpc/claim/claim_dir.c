/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * claim_dir.c - where claims of CPUs are, who made them, and which are to be believed.
 * See claim.c.
 */
#include "claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_ENTRIES 10000 /* how many names are read in a directory that is not root's, ... */
#define LOOK_FILES 256	   /* ...and how many claims examined */
#define MUTEX_TRIES 2000   /* of a millisecond; it is held for less */

const char *const cpci_claim_path[] = {[CPCI_DIR_ROOT] = "/run/cpc", [CPCI_DIR_USERS] = "/dev/shm"};

/* Only where nobody can remove what is another's. */
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
	errno = EPERM;
	return -1;
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

	if (!cpci_read_proc(pid, "status", text, sizeof(text)))
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
	return cpci_privileged(pid) && cpci_read_proc(pid, "uid_map", text, sizeof(text)) &&
	       cpci_read_proc(0, "uid_map", ours, sizeof(ours)) && strcmp(text, ours) == 0;
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

static enum look look_at(int dir, const char *name, enum cpci_claim_dir which, uid_t *owner,
			 pid_t *pid)
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
	    (st.st_uid == 0 || which == CPCI_DIR_USERS)) {
		*owner = st.st_uid;
		if (!is_locked(fd, pid))
			look = DEAD;
		/* Asked again, lest it was another process that has this id now. */
		else if (which == CPCI_DIR_ROOT || (*pid != 0 && may_claim(*pid, st.st_uid) &&
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
 * In one directory.  `tidy`: with the mutex, so that what is not locked is not in the making
 * but left by a dead process.  Our own claims must not even be opened, and the first of them
 * may be made in the meantime.
 */
static bool find_in(enum cpci_claim_dir which, int cpu, const cpci_token_t *own, bool tidy,
		    struct cpci_holder *holder)
{
	_Alignas(struct dirent64) char buf[2048];
	unsigned nentries = 0, nfiles = 0;
	int dir = cpci_claim_dir_open(which);
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
			if (!parse_name(entry->d_name, &holder->cpu, &token) ||
			    (cpu != -1 && holder->cpu != cpu) || token == *own)
				continue;
			nfiles++;
			look = look_at(dir, entry->d_name, which, &owner, &holder->pid);
			live = look == LIVE;
			if (look == DEAD && tidy && owner == geteuid())
				unlinkat(dir, entry->d_name, 0);
		}
		if (which != CPCI_DIR_ROOT && (nentries >= LOOK_ENTRIES || nfiles >= LOOK_FILES))
			break;
	}
	close(dir);
	return live;
}

bool cpci_claim_find(int cpu, const cpci_token_t *own, enum cpci_claim_dir tidy,
		     struct cpci_holder *holder)
{
	return find_in(CPCI_DIR_ROOT, cpu, own, tidy == CPCI_DIR_ROOT, holder) ||
	       find_in(CPCI_DIR_USERS, cpu, own, tidy == CPCI_DIR_USERS, holder);
}

/* The mutex of our user's claims; closing it gives it back.  -1: it is not to be had. */
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
