/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * claim.c - which process has claimed which CPU, over all processes of the machine: one set
 * per CPU at a time, and no sets on LWPs meanwhile.  Only sets with counters of the core PMU
 * claim CPUs and can be refused: the kernel counts all other events for any number of
 * programs.
 *
 * A claim is an empty file, locked by this process, whose name contains CPU, PID namespace
 * and process.  The kernel drops the lock when the process exits, in whatever way; the next
 * claim of that user removes the stale file.  The locks are POSIX record locks: forked
 * children do not inherit them, and F_GETLK names the owner.
 *
 * Root's claims are in /run/cpc, where only root can write, so they are trustworthy.  They
 * are locked before others can open them, so that no other user can lock them.  The same
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
 * What users can do to each other: root may refuse and invalidate all sets, and so may users
 * who may count whole CPUs.  Other users can neither make a claim that is believed, nor lock,
 * remove or rename one.  They can take 100,000 read locks on any file that they can open and
 * that is not locked, which makes F_GETLK slow; so F_GETLK comes last, and never on their own
 * files: only on root's files unless their process is dead, and on files of users whose
 * process may claim.  Other files are neither opened nor mapped nor read.  Only root can
 * raise the generation, so a sample also looks for users' claims, at most every 100 ms.  The
 * number of names read is limited: a user who fills the directory can at worst hide claims of
 * users other than root.
 *
 * A failed look does not mean "no claims", and a claim that cannot be published is not valid:
 * both are refused with the reason.  Only a look that fails during a sample has no effect:
 * there was no claim at the bind, and the next sample looks again.
 *
 * Order: lock the claim, look for other claims, raise the generation, count.
 * A set of an LWP reads the generation, then looks for claims, then counts.  So of two
 * concurrent ones at least one sees the other.  Two claims of the same user are serialized by
 * a mutex file that only that user can open, and one of them wins; of claims by different
 * users, both may lose.
 *
 * A process with another /run or /dev/shm, as in most containers, neither sees the others'
 * claims nor do they see its own; a process with neither directory gets a warning.  Nor does
 * a process see claims in /dev/shm of another PID namespace, or of processes that /proc hides
 * from it.  Then both count.
 *
 * Processes whose LWPs have such sets keep a file with a special name open, so that a claim
 * can report how many processes it invalidates, as far as the claiming user may see their
 * files.  Any process can create such a file: that changes the number and nothing else.
 *
 * A process loses its POSIX lock when it closes any descriptor of the file.  So it must not
 * open its own claims, in whatever handle or thread: they have its process id in their names,
 * and the whole process has one registry.
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
#define MARK "cpc-lwps" /* the name of the file that marks processes with sets of LWPs */

struct cpci_claim {
	int cpu;
	int fd; /* locked; -1: there is no directory for claims, so other processes do not see it */
	unsigned nforks; /* of the process that made it: a forked child does not own it */
	char path[96];
	LIST_ENTRY(cpci_claim) link;
};

typedef _Atomic uint64_t generation_t;

static generation_t never; /* 0: the generation before there is a file of it */

static struct {
	pthread_mutex_t lock; /* protects what is not atomic */
	LIST_HEAD(cpci_claims, cpci_claim) claims;
	unsigned nforks;   /* how many forks led to this process */
	bool warned;	   /* a warning said that there is no place for claims */
	bool counted_lwps; /* the first claim has counted the processes that it invalidates */
	unsigned nepochs;  /* how many epochs are taken and not dropped */
	int mark;	   /* the file that marks this process because of them; -1: none */
	_Atomic(generation_t *) roots;	   /* the generation of root's claims, ... */
	_Atomic uint64_t others;	   /* the generation of the claims that we found or made */
	_Atomic int64_t looked_ns;	   /* when claims were last looked for */
	_Atomic int64_t clear_ns;	   /* when a look found no claims, ... */
	_Atomic uint64_t clear_generation; /* ...and the generation then */
} registry = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.mark = -1,
	.roots = &never,
	.looked_ns = -CPCI_CLAIM_LOOK_NS,
	.clear_ns = -CPCI_CLAIM_LOOK_NS,
};

/* Maps the generation of root's claims if its file exists. */
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
		/* Another thread may have mapped it meanwhile. */
		if (map != MAP_FAILED &&
		    !atomic_compare_exchange_strong(&registry.roots, &none, map))
			munmap(map, sizeof(*map));
	}
	cpci_close(fd);
	close(dir);
}

/* ---- making claims --------------------------------------------------------- */

/* Only for root; the caller holds the mutex. */
static int make_generation(int dir)
{
	const uint64_t first = 0;
	struct stat st;
	int fd = openat(dir, GENERATION, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644), rc = 0;
	ssize_t n;

	if (fd == -1)
		return -1;
	/*
	 * Write it: with a file that is only enlarged, a full file system would raise SIGBUS.
	 */
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
	cpci_close(fd);
	return rc;
}

/* Invalidates the sets of LWPs that are bound already. */
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
	/* enter() has checked its size. */
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

static void leave(const struct place *place)
{
	cpci_close(place->mutex);
	cpci_close(place->dir);
}

/* Opens the directory of root's claims.  The first claim creates it. */
static int enter_roots(struct place *place)
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
static int enter(struct place *place)
{
	*place = (struct place){.dir = -1, .mutex = -1};
	/* If there is no /run, root uses the directory of the other users. */
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

static void withdraw(struct cpci_claim *claim)
{
	if (claim->fd != -1) {
		unlink(claim->path);
		close(claim->fd);
	}
	free(claim);
}

/* Refuses a set: there is another claim, or it could not be determined. */
static void refuse_claimed(int rc, const struct cpci_holder *holder, bool lwp,
			   struct cpci_diag *diag)
{
	int err = rc == 1 ? EAGAIN : errno;
	char process[64];

	if (rc == 1) {
		cpci_process_name(holder->pid, process, sizeof(process));
		cpci_diag(diag, err, CPC_CPU_CLAIMED, "%s: %s counts on CPU %d%s", strerror(err),
			  process, holder->cpu,
			  lwp ? ", and LWPs cannot be counted meanwhile" : "");
	} else {
		cpci_diag(diag, err, 0,
			  "cannot find out whether other programs count CPUs, from %s: %s",
			  cpci_claim_path[holder->dir], strerror(err));
	}
}

static void refuse_unclaimed(const struct cpci_claim *claim, enum cpci_claim_dir which,
			     struct cpci_diag *diag)
{
	int err = errno;

	cpci_diag(diag, err, CPC_CLAIM_FAILED, "cannot claim CPU %d in %s: %s", claim->cpu,
		  cpci_claim_path[which], strerror(err));
}

/*
 * Only once: later claims mostly find sets that are invalid already but were not sampled
 * since.
 */
static void warn_invalidated(struct cpci_diag *diag)
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
		refuse_unclaimed(claim, place.which, diag);
		return -1;
	}
	if (place.dir != -1 && publish(claim, place.which) == -1) {
		refuse_unclaimed(claim, place.which, diag);
		leave(&place);
		return -1;
	}
	rc = cpci_claim_find(claim->cpu, place.mutex != -1 ? place.which : CPCI_DIR_NONE, &holder);
	if (rc != 0) {
		refuse_claimed(rc, &holder, false, diag);
		rc = -1;
	} else if (raise_generation(place.which, place.dir) == -1) {
		refuse_unclaimed(claim, place.which, diag);
		rc = -1;
	}
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
	leave(&place);
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
	pthread_mutex_lock(&registry.lock);
	*claim = (struct cpci_claim){.cpu = cpu, .fd = -1, .nforks = registry.nforks};
	if (find_own(cpu, &holder))
		refuse_claimed(1, &holder, false, diag);
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
	} else { /* it belongs to the parent process */
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
	pthread_mutex_init(&registry.lock, NULL); /* another thread may have held it */
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
	       cpci_now() - registry.clear_ns < CPCI_CLAIM_LOOK_NS;
}

/*
 * Looks for claims.  One that is found ends the epochs taken before.  Safe in signal
 * handlers.
 */
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

/* Returns the same as cpci_claim_find(). */
static int take_epoch(struct cpci_epoch *epoch, struct cpci_holder *holder)
{
	struct place place;

	epoch->others = registry.others;
	epoch->root = *registry.roots;
	if (find_own(-1, holder))
		return 1;
	if (is_clear(epoch->root))
		return 0;
	/*
	 * Create the generation's file: without it, each sample would have to look for
	 * claims.
	 */
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
		refuse_claimed(rc, &holder, true, diag);
	else if (registry.nepochs++ == 0) /* without it, claims do not count this process */
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

bool cpci_epoch_peek(const struct cpci_epoch *epoch)
{
	return epoch->exempt ||
	       (*registry.roots == epoch->root && registry.others == epoch->others);
}

bool cpci_epoch_check(const struct cpci_epoch *epoch, int64_t ns)
{
	if (!epoch->exempt && ns - registry.looked_ns >= CPCI_CLAIM_LOOK_NS) {
		struct cpci_holder holder;
		int err = errno;

		look_around(&holder);
		errno = err;
	}
	return cpci_epoch_peek(epoch);
}
