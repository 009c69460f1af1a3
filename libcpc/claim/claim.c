/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * claim.c - processes claim CPUs, for the whole machine: a CPU has one set at a time, and LWPs
 * have none meanwhile.  Only sets with counters of the core PMU claim CPUs and can be refused:
 * the kernel counts all other events for any number of programs.
 *
 * A claim is an empty file, locked by its process, whose name contains CPU, PID namespace
 * and process.  The kernel drops the lock when the process exits, however it exits; the next
 * claim of that user removes the stale file.  The locks are POSIX record locks: forked
 * children do not inherit them, and F_GETLK names the owner.
 *
 * Root's claims are in /run/cpc, where only root can write, so they are trustworthy.  A claim
 * is locked before its mode lets other users open it, so that they cannot lock it.  The same
 * directory contains the generation, which each claim of root raises.  Sets of LWPs compare
 * it at each sample, by a read from shared memory.
 *
 * Other users who may count whole CPUs claim in /dev/shm: it exists everywhere, and filling
 * it does not harm the system as a full /run does.  Any user can create any file there, so a
 * claim is believed only if the process in its name
 *  - has the capability, in our own user namespace (all have it if perf_event_paranoid <= 0),
 *  - runs as the owner of the file, which has no other name and is not writable by others,
 *  - holds the lock,
 *  - and did not get the capability by an exec.
 * The reason for the last condition: locks and user ids survive an exec, so a user who may
 * run a program with file capabilities could lock a file and then become that program.  The
 * kernel marks a process that gains capabilities by an exec as not dumpable, which shows in
 * the owner of its files in /proc.  Only the program itself can make it dumpable, as cpustat
 * does; this reveals nothing, because tracing it or reading its memory still requires its
 * capabilities.  A lock taken by a process that already had the capabilities, even before an
 * exec, is a valid claim.
 *
 * Root, and users who may count whole CPUs, can refuse and invalidate all sets.  Other users can
 * neither make a claim that is believed, nor lock, remove or rename one.  They can take 100,000
 * read locks on any file that they can open and that is not locked, which makes F_GETLK slow.
 * So F_GETLK comes last, and never on their own files: only on root's files unless their process
 * is dead, and on files of users whose process may claim.  Other files are neither opened nor
 * mapped nor read.  Only root can raise the generation, so a sample also looks for users'
 * claims, at most every 100 ms.  The number of names read is limited: a user who fills the
 * directory can at worst hide claims of users other than root.
 *
 * If claims cannot be read, or a claim cannot be published, the set is refused with the reason.
 * Only during a sample does a failed look have no effect: there was no claim at the bind, and the
 * next sample looks again.
 *
 * Order: lock the claim, look for other claims, raise the generation, count.
 * A set of an LWP reads the generation, then looks for claims, then counts.  So of two
 * concurrent ones at least one sees the other.  A mutex file, which only its user can open,
 * serializes the claims of one user, and one of them wins.  Of claims by different users, both
 * may lose.
 *
 * Processes do not see each other's claims if they have different directories /run or /dev/shm,
 * as in most containers.  A process with neither directory gets a warning.  Claims in /dev/shm
 * are also not seen if their process is in another PID namespace, or hidden in /proc.  Then
 * both processes count.
 *
 * Processes whose LWPs have such sets keep a file with a special name open.  So a claim can
 * report how many processes it invalidates, as far as its user may see their files.  Any process
 * can create such a file: that changes the number and nothing else.
 *
 * A process loses its POSIX lock when it closes any descriptor of the file.  So no handle and no
 * thread may open a claim of its own process.  Such claims have its process id in their names,
 * and the whole process has one registry.
 */
#include "claim.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <fcntl.h>
#include <libcpc.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GENERATION "generation"
#define MARK "cpc-lwps" /* in the name of the file that marks processes with sets of LWPs */
#define MARK_SIZE 32

struct cpci_claim {
	int cpu;
	int fd; /* locked; -1: there is no directory for claims, so other processes do not see it */
	unsigned nforks; /* of the process that made the claim: a forked child does not own it */
	char path[96];
	LIST_ENTRY(cpci_claim) link;
};

typedef _Atomic uint64_t generation_t;
#define NOT_CLEAR UINT64_MAX

static generation_t no_generation; /* 0: the generation while its file does not exist */

/* cpci_lock() protects the members that are not atomic. */
static struct {
	LIST_HEAD(cpci_claims, cpci_claim) claims;
	unsigned nforks;   /* how many forks led to this process */
	bool warned;	   /* a warning said that there is no place for claims */
	bool counted_lwps; /* the first claim has counted the processes that it invalidates */
	unsigned nepochs;  /* how many epochs are taken and not dropped */
	int mark;	   /* the file that marks this process while there are any; -1: none */
	_Atomic(generation_t *) root_generation; /* the generation of root's claims, ... */
	_Atomic uint64_t local_generation;	 /* raised with each claim that we find or make */
	_Atomic int64_t looked_ns;		 /* when claims were last looked for */
	_Atomic uint64_t clear_generation;	 /* ...and the generation then, or NOT_CLEAR */
} registry = {
	.mark = -1,
	.root_generation = &no_generation,
	.looked_ns = -CPCI_CLAIM_LOOK_NS,
};

/* Maps the generation of root's claims if its file exists. */
static void map_generation(void)
{
	generation_t *none = &no_generation, *map;
	int dir, fd = -1;
	struct stat st;

	if (registry.root_generation != none)
		return;
	dir = cpci_claim_dir_open(CPCI_DIR_ROOT);
	if (dir == -1)
		return;
	fd = openat(dir, GENERATION, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd != -1 && fstat(fd, &st) == 0 && st.st_uid == 0 &&
	    st.st_size >= (off_t)sizeof(*map)) {
		map = mmap(NULL, sizeof(*map), PROT_READ, MAP_SHARED, fd, 0);
		/* Another thread may have mapped it meanwhile. */
		if (map != MAP_FAILED &&
		    !atomic_compare_exchange_strong(&registry.root_generation, &none, map))
			munmap(map, sizeof(*map));
	}
	cpci_close(fd);
	close(dir);
}

/* ---- making claims --------------------------------------------------------- */

/* Creates the file of root's generation.  The caller holds the mutex. */
static int make_generation(int dir)
{
	const uint64_t first = 0;
	struct stat st;
	int fd = openat(dir, GENERATION, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644), rc;
	ssize_t n;

	if (fd == -1)
		return -1;
	rc = fstat(fd, &st);
	if (rc == 0 && st.st_size < (off_t)sizeof(first)) {
		/* Write: after ftruncate(2), a full file system would raise SIGBUS at an access. */
		n = pwrite(fd, &first, sizeof(first), 0);
		if (n >= 0 && n < (ssize_t)sizeof(first))
			errno = ENOSPC;
		rc = n == sizeof(first) ? fchmod(fd, 0644) : -1;
	}
	cpci_close(fd);
	return rc;
}

/* Invalidates the sets of LWPs that are bound already. */
static int raise_generation(enum cpci_claim_dir which, int dir)
{
	generation_t *map;
	int fd;

	registry.local_generation++;
	if (which != CPCI_DIR_ROOT)
		return 0;
	fd = openat(dir, GENERATION, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return -1;
	/* open_place() has checked its size. */
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cpci_close(fd);
	if (map == MAP_FAILED)
		return -1;
	++*map;
	munmap(map, sizeof(*map));
	return 0;
}

/* The place where this process claims. */
struct place {
	enum cpci_claim_dir which;
	int dir;   /* -1: none */
	int mutex; /* -1: the mutex could not be taken */
};

static void close_place(const struct place *place)
{
	cpci_close(place->mutex);
	cpci_close(place->dir);
}

/* Opens the directory of root's claims.  The first claim creates it. */
static int open_root_place(struct place *place)
{
	const char *path = cpci_claim_path[CPCI_DIR_ROOT];

	place->which = CPCI_DIR_ROOT;
	if (mkdir(path, 0755) == 0) {
		if (chmod(path, 0755) == -1) /* independent of the umask */
			return -1;
	} else if (errno != EEXIST) {
		return -1;
	}
	place->dir = cpci_claim_dir_open(CPCI_DIR_ROOT);
	return place->dir != -1 ? 0 : -1;
}

/* Opens the place for our claims, if there is one, and takes its mutex.  -1: see errno. */
static int open_place(struct place *place)
{
	*place = (struct place){.dir = -1, .mutex = -1};
	/* If there is no /run, root uses the directory of the other users. */
	if (geteuid() == 0 && open_root_place(place) == -1 && !cpci_claim_is_absence(errno))
		return -1;
	if (place->dir == -1) {
		place->which = CPCI_DIR_USERS;
		place->dir = cpci_claim_dir_open(CPCI_DIR_USERS);
		if (place->dir == -1)
			return cpci_claim_is_absence(errno) ? 0 : -1;
	}
	place->mutex = cpci_claim_mutex(place->dir);
	if (place->which == CPCI_DIR_ROOT && make_generation(place->dir) == -1) {
		close_place(place);
		return -1;
	}
	return 0;
}

/* Creates the file of a claim, and locks it before others can open it.  -1: see errno. */
static int publish(struct cpci_claim *claim, enum cpci_claim_dir which)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[64];

	cpci_claim_name(claim->cpu, name, sizeof(name));
	snprintf(claim->path, sizeof(claim->path), "%s/%s", cpci_claim_path[which], name);
	claim->fd = open(claim->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (claim->fd == -1)
		return -1;
	return fcntl(claim->fd, F_SETLK, &lock) == 0 ? fchmod(claim->fd, 0644) : -1;
}

/* In a forked child, the file stays: it is the parent's. */
static void withdraw(struct cpci_claim *claim)
{
	if (claim->fd != -1 && claim->nforks == registry.nforks)
		unlink(claim->path);
	cpci_close(claim->fd);
	free(claim);
}

/* Refuses a set, because `holder` has a claim (rc 1), or because claims cannot be read (rc -1). */
static int refuse_claimed(int rc, const struct cpci_holder *holder, bool lwp,
			  struct cpci_diag *diag)
{
	int err = rc == 1 ? EAGAIN : errno;
	char process[64];

	if (rc == -1)
		return cpci_diag(diag, err, 0,
				 "cannot find out whether other programs count CPUs, from %s: %s",
				 cpci_claim_path[holder->dir], strerror(err));
	cpci_process_name(holder->pid, process, sizeof(process));
	return cpci_diag(diag, err, CPC_CPU_CLAIMED, "%s: %s counts on CPU %d%s", strerror(err),
			 process, holder->cpu, lwp ? ", and LWPs cannot be counted meanwhile" : "");
}

static int refuse_unclaimed(const struct cpci_claim *claim, enum cpci_claim_dir which,
			    struct cpci_diag *diag)
{
	int err = errno;

	return cpci_diag(diag, err, CPC_CLAIM_FAILED, "cannot claim CPU %d in %s: %s", claim->cpu,
			 cpci_claim_path[which], strerror(err));
}

/* The mark contains the file system: processes with another /dev/shm do not see our claims. */
static void name_mark(char *name, size_t size)
{
	struct stat st = {0};

	(void)stat(cpci_claim_path[CPCI_DIR_USERS], &st);
	snprintf(name, size, MARK "-%jx", (uintmax_t)st.st_dev);
}

/* Warns once: later claims mostly find sets that are already invalid, but not sampled since. */
static void warn_invalidated(struct cpci_diag *diag)
{
	char mark[MARK_SIZE], link[MARK_SIZE + 32];
	unsigned n;

	if (registry.counted_lwps)
		return;
	registry.counted_lwps = true;
	name_mark(mark, sizeof(mark));
	snprintf(link, sizeof(link), "/memfd:%s (deleted)", mark);
	n = cpci_count_openers(link, UINT_MAX, NULL);
	if (n == 0)
		return;
	cpci_diag(
		diag, 0, CPC_WARNING,
		"the counters of %u process%s that count%s LWPs are invalidated; sharing the CPUs "
		"would not invalidate them",
		n, n == 1 ? "" : "es", n == 1 ? "s" : "");
}

static int claim_cpu(struct cpci_claim *claim, struct cpci_diag *diag)
{
	struct cpci_holder holder;
	struct place place;
	int rc;

	if (open_place(&place) == -1)
		return refuse_unclaimed(claim, place.which, diag);
	if (place.dir != -1 && publish(claim, place.which) == -1) {
		refuse_unclaimed(claim, place.which, diag);
		close_place(&place);
		return -1;
	}
	rc = cpci_claim_find(claim->cpu, place.mutex != -1 ? place.which : CPCI_DIR_NONE, &holder);
	if (rc != 0)
		rc = refuse_claimed(rc, &holder, false, diag);
	else if (raise_generation(place.which, place.dir) == -1)
		rc = refuse_unclaimed(claim, place.which, diag);
	if (rc == 0)
		warn_invalidated(diag);
	if (rc == 0 && place.dir == -1 && !registry.warned) {
		registry.warned = true;
		cpci_diag(
			diag, 0, CPC_WARNING,
			"other programs cannot see which CPUs are counted here: neither %s nor %s is a "
			"place for claims",
			cpci_claim_path[CPCI_DIR_ROOT], cpci_claim_path[CPCI_DIR_USERS]);
	}
	close_place(&place);
	return rc;
}

/* Finds a claim of this process. */
static bool find_own(int cpu, struct cpci_holder *holder)
{
	struct cpci_claim *claim;

	LIST_FOREACH(claim, &registry.claims, link) {
		if (cpu == -1 || claim->cpu == cpu) {
			*holder = (struct cpci_holder){.cpu = claim->cpu, .pid = getpid()};
			return true;
		}
	}
	return false;
}

struct cpci_claim *cpci_claim(int cpu, struct cpci_diag *diag)
{
	struct cpci_claim *claim = calloc(1, sizeof(*claim));
	struct cpci_holder holder;
	int rc = -1;

	if (claim == NULL) {
		cpci_diag_nomem(diag);
		return NULL;
	}
	*claim = (struct cpci_claim){.cpu = cpu, .fd = -1, .nforks = registry.nforks};
	if (find_own(cpu, &holder))
		refuse_claimed(1, &holder, false, diag);
	else
		rc = claim_cpu(claim, diag);
	if (rc == 0)
		LIST_INSERT_HEAD(&registry.claims, claim, link);
	else
		withdraw(claim);
	return rc == 0 ? claim : NULL;
}

bool cpci_claim_is_for(const struct cpci_claim *claim, int cpu)
{
	return claim != NULL && claim->cpu == cpu && claim->nforks == registry.nforks;
}

void cpci_claim_drop(struct cpci_claim *claim)
{
	if (claim == NULL)
		return;
	if (claim->nforks == registry.nforks)
		LIST_REMOVE(claim, link);
	withdraw(claim);
}

static void hide_mark(void)
{
	cpci_close(registry.mark);
	registry.mark = -1;
}

void cpci_claims_forget(void)
{
	LIST_INIT(&registry.claims);
	registry.nforks++;
	registry.nepochs = 0;
	hide_mark();
}

/* ---- sets of LWPs ---------------------------------------------------------- */

/* Is the last look recent enough, and has root made no claim since? */
static bool is_clear(uint64_t roots)
{
	return registry.clear_generation == roots &&
	       cpci_now() - registry.looked_ns < CPCI_CLAIM_LOOK_NS;
}

/* Looks for claims.  If it finds one, the epochs taken before end.  Safe in signal handlers. */
static int look_for_claims(struct cpci_holder *holder)
{
	int64_t start = cpci_now();
	uint64_t roots;
	int rc;

	map_generation();
	roots = *registry.root_generation;
	rc = cpci_claim_find(-1, CPCI_DIR_NONE, holder);
	if (rc == -1)
		return -1;
	registry.clear_generation = rc == 1 ? NOT_CLEAR : roots;
	registry.looked_ns = start;
	if (rc == 1)
		registry.local_generation++;
	return rc;
}

/* Returns the same as cpci_claim_find(). */
static int take_epoch(struct cpci_epoch *epoch, struct cpci_holder *holder)
{
	struct place place;

	epoch->local = registry.local_generation;
	epoch->root = *registry.root_generation;
	if (find_own(-1, holder))
		return 1;
	if (is_clear(epoch->root))
		return 0;
	/* Create the generation's file: without it, samples must look for root's claims. */
	if (registry.root_generation == &no_generation && geteuid() == 0 && open_place(&place) == 0)
		close_place(&place);
	map_generation();
	epoch->root = *registry.root_generation;
	return look_for_claims(holder);
}

int cpci_epoch_take(struct cpci_epoch *epoch, struct cpci_diag *diag)
{
	struct cpci_holder holder;
	char mark[MARK_SIZE];
	int rc;

	*epoch = (struct cpci_epoch){.taken = true, .nforks = registry.nforks};
	rc = take_epoch(epoch, &holder);
	if (rc != 0)
		rc = refuse_claimed(rc, &holder, true, diag);
	else if (registry.nepochs++ == 0) {
		name_mark(mark, sizeof(mark));
		registry.mark = memfd_create(mark, MFD_CLOEXEC); /* -1: claims do not count us */
	}
	return rc;
}

void cpci_epoch_drop(struct cpci_epoch *epoch)
{
	if (!epoch->taken)
		return;
	epoch->taken = false;
	if (epoch->nforks == registry.nforks && --registry.nepochs == 0)
		hide_mark();
}

bool cpci_epoch_peek(const struct cpci_epoch *epoch)
{
	return epoch->exempt || (*registry.root_generation == epoch->root &&
				 registry.local_generation == epoch->local);
}

bool cpci_epoch_check(const struct cpci_epoch *epoch, int64_t ns)
{
	if (!epoch->exempt && ns - registry.looked_ns >= CPCI_CLAIM_LOOK_NS) {
		struct cpci_holder holder;
		int err = errno;

		look_for_claims(&holder);
		errno = err;
	}
	return cpci_epoch_peek(epoch);
}
