/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * claim.c - which process holds which CPU: one set per CPU at a time, and no sets
 * on LWPs meanwhile, over all processes of the machine.  Only sets with counters of the core
 * PMU claim and are refused: the kernel counts all other events for any number of programs.
 *
 * A claim is an empty file that says CPU, PID namespace and process in its name, and that
 * this process holds locked.  The kernel drops the lock when the process ends, however it
 * does; what is left is a name without meaning, which the next claim of that user removes.
 * They are POSIX record locks: no forked child keeps them, and F_GETLK tells who has them.
 *
 * Root's claims are in /run/cpc, where only root can write; so whatever is there is
 * true.  They are locked before others can open them, so nobody else can lock them.
 * There, too, is the generation, which each claim of root raises.  LWPs' sets compare
 * it at each sample by a look into memory.
 *
 * Others who may count whole CPUs claim in /dev/shm: it exists everywhere, and it is
 * not /run that they could fill.  Anybody can put anything there.  So a claim is believed
 * only if the process in its name
 *   - has the capability, in our own user namespace (by perf_event_paranoid <= 0 all have),
 *   - runs as the owner of the file, which has this one name and nobody else may write,
 *   - holds the lock,
 *   - and did not get the capability by an exec.
 * The last is because locks and user ids survive exec: who may run a program with file
 * capabilities could lock a file and then become that program.  The kernel marks a process
 * that gains by an exec as not dumpable, which shows in the owner of its files in /proc, and
 * only the program itself can make it dumpable, as cpustat does.  It tells nobody anything:
 * to trace it or look into its memory takes its capabilities.  What a process that already
 * had them locked, by itself or before it executed another program, is a claim by right.
 *
 * What each can do to others: root may refuse and invalidate everybody.  So may users who
 * may count whole CPUs.  All others cannot make a claim that anybody believes, nor lock,
 * remove or rename one.  They can lock for reading, 100,000 times over, any file that they
 * can open and that is not locked, which makes F_GETLK slow; so it is asked last, and never
 * of a file of theirs: of root's files unless their process is dead, and of those of
 * users whose process may claim.  Other files are neither opened nor mapped nor read.
 * Nobody but root can raise the generation, so users' claims are looked for, at
 * most every 100 ms, when a set is sampled.  How many names are read is limited: who
 * fills the directory hides claims of users other than root, at worst.
 *
 * Not to be able to look is not "no claims", and a claim that cannot be published is none:
 * both are refused with the reason.  But a look that fails while a set is sampled changes
 * nothing: there was no claim when it was bound, and the next sample looks again.
 *
 * Order: a claim is locked, then looks for others, then raises the generation, then
 * counts.  An LWP's set reads the generation, then looks for claims, then counts.  So
 * of two that meet at least one sees the other.  Two claims of one user take turns, by a
 * mutex that only that user can open, and one of them wins; those of different
 * users may both lose.
 *
 * Who has another /run or /dev/shm, as in most containers, neither sees nor is
 * seen; whoever has neither is told so.  Nor are claims in /dev/shm seen from another PID
 * namespace, or where /proc hides processes from the one who looks.  Then both count.
 *
 * Processes whose LWPs have such sets keep a file open that has a name and nothing else, so
 * that a claim can say how many it invalidates, as far as the claimant may see their files.
 * Any process can create such a file: it changes that number and nothing else.
 *
 * A process's POSIX lock goes when it closes any descriptor of the file.  So it must
 * not open its own claims, in whatever handle or thread: they have its id in their
 * names, and the registry is one for the whole process.
 */
#include "claim.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <fcntl.h>
#include <libcpc.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GENERATION "generation"
#define MARK "cpc-lwps" /* the name of the file of processes with LWPs' sets */

struct cpci_claim {
	int cpu;
	int fd;		 /* locked; -1: there is no directory for it, so others do not see it */
	unsigned nforks; /* when it was made: it is ours until we fork */
	char path[96];
	LIST_ENTRY(cpci_claim) link;
};

typedef _Atomic uint64_t generation_t;

static generation_t never; /* until there is a generation, it is 0 */

static struct {
	pthread_mutex_t lock; /* of what is not atomic */
	LIST_HEAD(cpci_claims, cpci_claim) claims;
	unsigned nforks;		   /* that led to this process */
	bool told;			   /* that there is no place for claims */
	bool counted_lwps;		   /* how many processes the first claim invalidates */
	unsigned nepochs;		   /* that were taken and not dropped... */
	int mark;			   /* ...and the file that shows it; -1: none */
	_Atomic(generation_t *) roots;	   /* the generation of root's claims, ... */
	_Atomic uint64_t others;	   /* ...and of those that we holder, or made */
	_Atomic int64_t looked_ns;	   /* when claims were last looked for */
	_Atomic int64_t clear_ns;	   /* when there were none, ... */
	_Atomic uint64_t clear_generation; /* ...and the generation then */
} registry = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.mark = -1,
	.roots = &never,
	.looked_ns = -CPCI_CLAIM_LOOK_NS,
	.clear_ns = -CPCI_CLAIM_LOOK_NS,
};

/* Closes a file, and leaves errno alone. */
static int close_and(int fd, int rc)
{
	int err = errno;

	close(fd);
	errno = err;
	return rc;
}

/* Maps the generation of root's claims, once there is one. */
static void map_generation(void)
{
	generation_t *none = &never, *map;
	int dir, fd = -1;
	struct stat st;

	if (registry.roots != none)
		return;
	dir = cpci_claim_dir_open(CPCI_DIR_ROOT);
	if (dir == -1)
		return;
	fd = openat(dir, GENERATION, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd != -1 && fstat(fd, &st) == 0 && st.st_uid == 0 &&
	    st.st_size >= (off_t)sizeof(*map)) {
		map = mmap(NULL, sizeof(*map), PROT_READ, MAP_SHARED, fd, 0);
		/* Another thread may have been faster. */
		if (map != MAP_FAILED &&
		    !atomic_compare_exchange_strong(&registry.roots, &none, map))
			munmap(map, sizeof(*map));
	}
	if (fd != -1)
		close(fd);
	close(dir);
}

/* ---- making claims --------------------------------------------------------- */

/* For root, with the mutex. */
static int make_generation(int dir)
{
	const uint64_t first = 0;
	struct stat st;
	int fd = openat(dir, GENERATION, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644), rc = 0;
	ssize_t n;

	if (fd == -1)
		return -1;
	/* Written, not just enlarged: a page that a full file system lacks is SIGBUS. */
	if (fstat(fd, &st) == -1) {
		rc = -1;
	} else if (st.st_size < (off_t)sizeof(first)) {
		n = pwrite(fd, &first, sizeof(first), 0);
		if (n != sizeof(first)) {
			errno = n == -1 ? errno : ENOSPC;
			rc = -1;
		} else {
			rc = fchmod(fd, 0644);
		}
	}
	return close_and(fd, rc);
}

/* LWPs' sets that were bound before now are so no more. */
static int raise_generation(enum cpci_claim_dir which, int dir)
{
	generation_t *map;
	int fd;

	registry.others++;
	if (which != CPCI_DIR_ROOT)
		return 0;
	fd = openat(dir, GENERATION, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return -1;
	/* enter() has made sure of its size. */
	map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return close_and(fd, -1);
	++*map;
	munmap(map, sizeof(*map));
	return close_and(fd, 0);
}

/* Where a claim is made. */
struct place {
	enum cpci_claim_dir which;
	int dir;   /* -1: there is none */
	int mutex; /* -1: it is not to be had */
};

static void leave(const struct place *place)
{
	int err = errno;

	if (place->mutex != -1)
		close(place->mutex);
	if (place->dir != -1)
		close(place->dir);
	errno = err;
}

/* Opens the directory of root's claims, which the first of them makes. */
static int enter_roots(struct place *place)
{
	const char *path = cpci_claim_path[CPCI_DIR_ROOT];

	place->which = CPCI_DIR_ROOT;
	if (mkdir(path, 0755) == 0) {
		if (chmod(path, 0755) == -1) /* whatever the umask */
			return -1;
	} else if (errno != EEXIST) {
		return -1;
	}
	place->dir = cpci_claim_dir_open(CPCI_DIR_ROOT);
	return place->dir != -1 ? 0 : -1;
}

/* Goes where we claim, if there is such a place, with the mutex.  -1: see errno. */
static int enter(struct place *place)
{
	*place = (struct place){.dir = -1, .mutex = -1};
	/* Where root has no /run it claims as others do. */
	if (geteuid() == 0 && enter_roots(place) == -1 && !cpci_claim_is_absence(errno))
		return -1;
	if (place->dir == -1) {
		place->which = CPCI_DIR_USERS;
		place->dir = cpci_claim_dir_open(CPCI_DIR_USERS);
		if (place->dir == -1)
			return cpci_claim_is_absence(errno) ? 0 : -1;
	}
	place->mutex = cpci_claim_mutex(place->dir);
	if (place->which == CPCI_DIR_ROOT && make_generation(place->dir) == -1) {
		leave(place);
		return -1;
	}
	return 0;
}

/* Makes the file of a claim, and locks it before others can open it. */
static int publish(struct cpci_claim *claim, enum cpci_claim_dir which)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[64];
	int err;

	cpci_claim_name(claim->cpu, name, sizeof(name));
	snprintf(claim->path, sizeof(claim->path), "%s/%s", cpci_claim_path[which], name);
	claim->fd = open(claim->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (claim->fd == -1)
		return -1;
	if (fcntl(claim->fd, F_SETLK, &lock) == 0 && fchmod(claim->fd, 0644) == 0)
		return 0;
	err = errno;
	unlink(claim->path);
	close(claim->fd);
	claim->fd = -1;
	errno = err;
	return -1;
}

static void withdraw(struct cpci_claim *claim)
{
	if (claim->fd != -1) {
		unlink(claim->path);
		close(claim->fd);
	}
	free(claim);
}

/* Another claim is there, or it cannot be known. */
static void tell_found(int rc, const struct cpci_holder *holder, bool lwp, struct cpci_diag *diag)
{
	int err = rc == 1 ? EAGAIN : errno;
	char who[64];

	if (rc == 1) {
		cpci_process_name(holder->pid, who, sizeof(who));
		cpci_diag(diag, err, CPC_CPU_CLAIMED, "%s: %s counts on CPU %d%s", strerror(err),
			  who, holder->cpu, lwp ? ", and LWPs cannot be counted meanwhile" : "");
	} else {
		cpci_diag(diag, err, 0, "whether others count CPUs cannot be found out from %s: %s",
			  cpci_claim_path[holder->dir], strerror(err));
	}
}

static void tell_unclaimed(const struct cpci_claim *claim, enum cpci_claim_dir which,
			   struct cpci_diag *diag)
{
	int err = errno;

	cpci_diag(diag, err, CPC_CLAIM_FAILED, "CPU %d cannot be claimed in %s: %s", claim->cpu,
		  cpci_claim_path[which], strerror(err));
}

/* Once: later claims find mostly what is invalid already, and may be due at a sample. */
static void tell_invalidated(struct cpci_diag *diag)
{
	unsigned n;

	if (registry.counted_lwps)
		return;
	registry.counted_lwps = true;
	n = cpci_count_openers("/memfd:" MARK " (deleted)", UINT_MAX, NULL);
	if (n == 0)
		return;
	cpci_diag(
		diag, 0, CPC_WARNING,
		"the counters of %u process%s that count%s LWPs are invalidated; shared, CPUs are "
		"counted beside them",
		n, n == 1 ? "" : "es", n == 1 ? "s" : "");
}

static int claim_cpu(struct cpci_claim *claim, struct cpci_diag *diag)
{
	struct cpci_holder holder;
	struct place place;
	int rc;

	if (enter(&place) == -1) {
		tell_unclaimed(claim, place.which, diag);
		return -1;
	}
	if (place.dir != -1 && publish(claim, place.which) == -1) {
		tell_unclaimed(claim, place.which, diag);
		leave(&place);
		return -1;
	}
	rc = cpci_claim_find(claim->cpu, place.mutex != -1 ? place.which : CPCI_DIR_NONE, &holder);
	if (rc != 0) {
		tell_found(rc, &holder, false, diag);
		rc = -1;
	} else if (raise_generation(place.which, place.dir) == -1) {
		tell_unclaimed(claim, place.which, diag);
		rc = -1;
	}
	if (rc == 0)
		tell_invalidated(diag);
	if (rc == 0 && place.dir == -1 && !registry.told) {
		registry.told = true;
		cpci_diag(diag, 0, CPC_WARNING,
			  "others cannot see which CPUs are counted here: neither %s nor %s is a "
			  "place for claims",
			  cpci_claim_path[CPCI_DIR_ROOT], cpci_claim_path[CPCI_DIR_USERS]);
	}
	leave(&place);
	return rc;
}

/* A claim of this process. */
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
	pthread_mutex_lock(&registry.lock);
	*claim = (struct cpci_claim){.cpu = cpu, .fd = -1, .nforks = registry.nforks};
	if (find_own(cpu, &holder))
		tell_found(1, &holder, false, diag);
	else
		rc = claim_cpu(claim, diag);
	if (rc == 0)
		LIST_INSERT_HEAD(&registry.claims, claim, link);
	else
		withdraw(claim);
	pthread_mutex_unlock(&registry.lock);
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
	pthread_mutex_lock(&registry.lock);
	if (claim->nforks == registry.nforks) {
		LIST_REMOVE(claim, link);
		withdraw(claim);
	} else { /* it is that of the process that forked us */
		if (claim->fd != -1)
			close(claim->fd);
		free(claim);
	}
	pthread_mutex_unlock(&registry.lock);
}

static void hide_mark(void)
{
	if (registry.mark != -1)
		close(registry.mark);
	registry.mark = -1;
}

void cpci_claims_forget(void)
{
	pthread_mutex_init(&registry.lock, NULL); /* another thread may have had it */
	LIST_INIT(&registry.claims);
	registry.nforks++;
	registry.nepochs = 0;
	hide_mark();
}

/* ---- sets of LWPs ---------------------------------------------------------- */

/* Was the last look around soon enough, and has root claimed nothing since? */
static bool is_clear(uint64_t roots)
{
	return registry.clear_generation == roots &&
	       cpci_now() - registry.clear_ns < CPCI_CLAIM_LOOK_NS;
}

/* What is found ends the epochs that were taken before.  Also in signal handlers. */
static int look_around(struct cpci_holder *holder)
{
	int64_t start = cpci_now();
	uint64_t roots;
	int rc;

	map_generation();
	roots = *registry.roots;
	rc = cpci_claim_find(-1, CPCI_DIR_NONE, holder);
	if (rc == -1)
		return -1;
	registry.looked_ns = start;
	if (rc == 1) {
		registry.clear_ns = start - CPCI_CLAIM_LOOK_NS;
		registry.others++;
	} else {
		registry.clear_generation = roots;
		registry.clear_ns = start;
	}
	return rc;
}

/* As cpci_claim_find(). */
static int take_epoch(struct cpci_epoch *epoch, struct cpci_holder *holder)
{
	struct place place;

	epoch->others = registry.others;
	epoch->root = *registry.roots;
	if (find_own(-1, holder))
		return 1;
	if (is_clear(epoch->root))
		return 0;
	/* This makes a generation to look at; without one, each sample looks for claims. */
	if (registry.roots == &never && geteuid() == 0 && enter(&place) == 0)
		leave(&place);
	map_generation();
	epoch->root = *registry.roots;
	return look_around(holder);
}

int cpci_epoch_take(struct cpci_epoch *epoch, struct cpci_diag *diag)
{
	struct cpci_holder holder;
	int rc;

	pthread_mutex_lock(&registry.lock);
	*epoch = (struct cpci_epoch){.taken = true, .nforks = registry.nforks};
	rc = take_epoch(epoch, &holder);
	if (rc != 0)
		tell_found(rc, &holder, true, diag);
	else if (registry.nepochs++ == 0) /* without it, claims do not tell of us */
		registry.mark = memfd_create(MARK, MFD_CLOEXEC);
	pthread_mutex_unlock(&registry.lock);
	return rc == 0 ? 0 : -1;
}

void cpci_epoch_drop(struct cpci_epoch *epoch)
{
	if (!epoch->taken)
		return;
	epoch->taken = false;
	pthread_mutex_lock(&registry.lock);
	if (epoch->nforks == registry.nforks && --registry.nepochs == 0)
		hide_mark();
	pthread_mutex_unlock(&registry.lock);
}

bool cpci_epoch_held(const struct cpci_epoch *epoch)
{
	return epoch->exempt ||
	       (*registry.roots == epoch->root && registry.others == epoch->others);
}

bool cpci_epoch_holds(const struct cpci_epoch *epoch, int64_t ns)
{
	if (!epoch->exempt && ns - registry.looked_ns >= CPCI_CLAIM_LOOK_NS) {
		struct cpci_holder holder;
		int err = errno;

		look_around(&holder);
		errno = err;
	}
	return cpci_epoch_held(epoch);
}
