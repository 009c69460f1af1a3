/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * exclusive.c - which process holds which CPU: one set per CPU at a time, and no sets
 * on LWPs meanwhile, over all processes of the machine.
 *
 * A claim is an empty file that says the CPU in its name and that its process holds
 * locked.  The kernel drops the lock when the process ends, however it does; what
 * is left is a name without meaning, which the next claim of that user removes.  They
 * are POSIX record locks: no forked child keeps them, and F_GETLK tells who has them.
 *
 * Root's claims are in /run/cpc, where only root can write; so whatever is there is
 * true.  They are locked before others can open them, so nobody else can lock them.
 * There, too, is the generation, which each claim of root raises.  LWPs' sets compare
 * it at each sample by a look into memory.
 *
 * Others who may count whole CPUs claim in /dev/shm: it exists everywhere, and it is
 * not /run that they could fill.  Anybody can put anything there, so a claim is
 * believed only if the process that has the lock owns the file and is privileged in our
 * own user namespace (by perf_event_paranoid <= 0 everybody is).  Files of others are
 * opened without waiting, never mapped or read.  Nobody but root can raise the
 * generation, so these claims are looked for, at most every 100 ms, when a set is
 * sampled.  How many files are looked at is limited: who fills the directory hides
 * claims of users other than root, at worst.
 *
 * Order: a claim is locked, then looks for others, then raises the generation, then
 * counts.  An LWP's set reads the generation, then looks for claims, then counts.  So
 * of two that meet at least one sees the other.  Two claims of one user take turns, by a
 * mutex that only that user can open, and one of them wins; those of different
 * users may both lose.
 *
 * Who has another /run or /dev/shm, as in most containers, neither sees nor is
 * seen, and who can write to neither is not seen; nor are claims in /dev/shm seen where
 * /proc hides processes from the one who looks.  Then both count.
 *
 * A process's POSIX lock goes when it closes any descriptor of the file.  So it must
 * not open its own claims, in whatever handle or thread: they have its token in their
 * names, and the registry is one for the whole process.
 */
#include "cpc_impl.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GENERATION "generation"
#define LOOK_NS 100000000 /* how long a look at the claims is good for */

struct cpci_claim {
	int cpu;
	int fd; /* locked; -1: there is no place for it, so others do not see it */
	uint64_t token;
	char path[64];
	LIST_ENTRY(cpci_claim) link;
};

typedef _Atomic uint64_t generation_t;

static generation_t never; /* until there is a generation, it is 0 */

static struct {
	pthread_mutex_t lock; /* of what is not atomic */
	LIST_HEAD(cpci_claims, cpci_claim) claims;
	cpci_token_t token;		   /* in the names of our claims; 0: there were none */
	_Atomic(generation_t *) roots;	   /* the generation of root's claims, ... */
	_Atomic uint64_t others;	   /* ...and of those that we found, or made */
	_Atomic int64_t looked_ns;	   /* when claims were last looked for */
	_Atomic int64_t clear_ns;	   /* when there were none, ... */
	_Atomic uint64_t clear_generation; /* ...and the generation then */
} registry = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.roots = &never,
	.looked_ns = -LOOK_NS,
	.clear_ns = -LOOK_NS,
};

/* Maps the generation of root's claims, once there is one. */
static void map_generation(void)
{
	generation_t *none = &never, *map;
	int dir, fd = -1;
	struct stat st;

	if (registry.roots != none)
		return;
	dir = cpci_place_open(CPCI_ROOTS);
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
static void make_generation(int dir)
{
	const uint64_t first = 0;
	struct stat st;
	int fd = openat(dir, GENERATION, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd == -1)
		return;
	/* Written, not just enlarged: a page that a full file system lacks is SIGBUS. */
	if (fstat(fd, &st) == 0 && st.st_size < (off_t)sizeof(first) &&
	    pwrite(fd, &first, sizeof(first), 0) == sizeof(first))
		fchmod(fd, 0644);
	close(fd);
}

/* LWPs' sets that were bound before now are so no more. */
static void raise_generation(enum cpci_place place, int dir)
{
	generation_t *map;
	struct stat st;
	int fd;

	registry.others++;
	if (place != CPCI_ROOTS || dir == -1)
		return;
	fd = openat(dir, GENERATION, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return;
	if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(*map)) {
		map = mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map != MAP_FAILED) {
			++*map;
			munmap(map, sizeof(*map));
		}
	}
	close(fd);
}

/* The place where we claim, or -1: there is none.  With the mutex, or with -1 for it. */
static int enter_place(enum cpci_place *place, int *mutex)
{
	int dir;

	*place = geteuid() == 0 ? CPCI_ROOTS : CPCI_USERS;
	*mutex = -1;
	if (*place == CPCI_ROOTS && mkdir(cpci_place_path[CPCI_ROOTS], 0755) == 0)
		chmod(cpci_place_path[CPCI_ROOTS], 0755); /* whatever the umask */
	dir = cpci_place_open(*place);
	if (dir == -1 && *place == CPCI_ROOTS) { /* no /run here: as if we were not root */
		*place = CPCI_USERS;
		dir = cpci_place_open(*place);
	}
	if (dir != -1)
		*mutex = cpci_place_mutex(dir);
	if (*place == CPCI_ROOTS && *mutex != -1)
		make_generation(dir);
	return dir;
}

static void leave_place(int dir, int mutex)
{
	if (mutex != -1)
		close(mutex);
	if (dir != -1)
		close(dir);
}

/* Makes the file of a claim; not to be able to is an error only for want of room for it. */
static int publish(struct cpci_claim *claim, enum cpci_place place, int dir)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (dir == -1)
		return errno == EMFILE || errno == ENFILE ? -1 : 0;
	snprintf(claim->path, sizeof(claim->path), "%s/" CPCI_CLAIM_PREFIX "%d-%016" PRIx64 "-%08x",
		 cpci_place_path[place], claim->cpu, claim->token, arc4random());
	claim->fd = open(claim->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (claim->fd == -1)
		return errno == EMFILE || errno == ENFILE ? -1 : 0;
	if (fcntl(claim->fd, F_SETLK, &lock) == 0 && fchmod(claim->fd, 0644) == 0)
		return 0;
	unlink(claim->path);
	close(claim->fd);
	claim->fd = -1;
	return 0;
}

static void withdraw(struct cpci_claim *claim)
{
	if (claim->fd != -1) {
		unlink(claim->path);
		close(claim->fd);
	}
	free(claim);
}

static int claim_cpu(struct cpci_claim *claim, struct cpci_found *found)
{
	enum cpci_place place;
	int mutex, dir = enter_place(&place, &mutex), rc = publish(claim, place, dir);

	if (rc == 0 && cpci_place_find(claim->cpu, &registry.token,
				       mutex != -1 ? place : CPCI_NOWHERE, found)) {
		errno = EAGAIN;
		rc = -1;
	}
	if (rc == 0)
		raise_generation(place, dir);

	int err = errno;

	leave_place(dir, mutex);
	errno = err;
	return rc;
}

/* A claim of this process. */
static bool find_own(int cpu, struct cpci_found *found)
{
	struct cpci_claim *claim;

	LIST_FOREACH(claim, &registry.claims, link) {
		if (cpu == -1 || claim->cpu == cpu) {
			*found = (struct cpci_found){.cpu = claim->cpu, .pid = getpid()};
			return true;
		}
	}
	return false;
}

struct cpci_claim *cpci_claim(int cpu, struct cpci_diag *diag)
{
	struct cpci_claim *claim = calloc(1, sizeof(*claim));
	struct cpci_found found;
	char who[64];
	int err = 0;

	if (claim == NULL) {
		cpci_diag(diag, ENOMEM, 0, "%s", strerror(ENOMEM));
		return NULL;
	}
	pthread_mutex_lock(&registry.lock);
	while (registry.token == 0)
		registry.token = (uint64_t)arc4random() << 32 | arc4random();
	*claim = (struct cpci_claim){.cpu = cpu, .fd = -1, .token = registry.token};
	if (find_own(cpu, &found))
		err = EAGAIN;
	else if (claim_cpu(claim, &found) == -1)
		err = errno;
	else
		LIST_INSERT_HEAD(&registry.claims, claim, link);
	if (err != 0)
		withdraw(claim);
	pthread_mutex_unlock(&registry.lock);
	if (err == 0)
		return claim;
	if (err == EAGAIN) {
		cpci_place_who(&found, who, sizeof(who));
		cpci_diag(diag, err, 0,
			  "%s: %s counts on CPU %d; cpustat --shared would count beside it",
			  strerror(err), who, cpu);
	} else {
		cpci_diag(diag, err, 0, "CPU %d cannot be claimed, which takes a file: %s", cpu,
			  strerror(err));
	}
	return NULL;
}

bool cpci_claim_is_for(const struct cpci_claim *claim, int cpu)
{
	return claim != NULL && claim->cpu == cpu && claim->token == registry.token;
}

void cpci_claim_drop(struct cpci_claim *claim)
{
	if (claim == NULL)
		return;
	pthread_mutex_lock(&registry.lock);
	if (claim->token == registry.token) {
		LIST_REMOVE(claim, link);
		withdraw(claim);
	} else { /* it is that of the process that forked us */
		if (claim->fd != -1)
			close(claim->fd);
		free(claim);
	}
	pthread_mutex_unlock(&registry.lock);
}

void cpci_claims_forget(void)
{
	pthread_mutex_init(&registry.lock, NULL); /* another thread may have had it */
	LIST_INIT(&registry.claims);
	registry.token = 0;
}

/* ---- sets of LWPs ---------------------------------------------------------- */

/* Was the last look around soon enough, and has root claimed nothing since? */
static bool is_clear(uint64_t roots)
{
	return registry.clear_generation == roots && cpci_now() - registry.clear_ns < LOOK_NS;
}

/* What is found ends the passes that were taken before.  Also in signal handlers. */
static bool look_around(struct cpci_found *found)
{
	int64_t start = cpci_now();
	uint64_t roots;

	map_generation();
	roots = *registry.roots;
	registry.looked_ns = start;
	if (cpci_place_find(-1, &registry.token, CPCI_NOWHERE, found)) {
		registry.clear_ns = start - LOOK_NS;
		registry.others++;
		return true;
	}
	registry.clear_generation = roots;
	registry.clear_ns = start;
	return false;
}

static bool take_pass(struct cpci_pass *pass, struct cpci_found *found)
{
	enum cpci_place place;
	int dir, mutex;

	pass->others = registry.others;
	pass->roots = *registry.roots;
	if (find_own(-1, found))
		return false;
	if (is_clear(pass->roots))
		return true;
	if (registry.roots == &never && geteuid() == 0) {
		dir = enter_place(&place, &mutex); /* which makes a generation to look at */
		leave_place(dir, mutex);
	}
	map_generation();
	pass->roots = *registry.roots;
	return !look_around(found);
}

int cpci_pass_take(struct cpci_pass *pass, struct cpci_diag *diag)
{
	struct cpci_found found;
	char who[64];
	bool taken;

	pthread_mutex_lock(&registry.lock);
	taken = take_pass(pass, &found);
	pthread_mutex_unlock(&registry.lock);
	if (taken)
		return 0;
	cpci_place_who(&found, who, sizeof(who));
	cpci_diag(diag, EAGAIN, 0,
		  "%s: %s counts on CPU %d, and LWPs cannot be counted meanwhile; cpustat --shared "
		  "would leave them alone",
		  strerror(EAGAIN), who, found.cpu);
	return -1;
}

bool cpci_pass_holds(const struct cpci_pass *pass, int64_t ns)
{
	if (ns - registry.looked_ns >= LOOK_NS) {
		struct cpci_found found;
		int err = errno;

		look_around(&found);
		errno = err;
	}
	return *registry.roots == pass->roots && registry.others == pass->others;
}
