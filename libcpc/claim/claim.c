/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * claim.c - which process holds which CPU: one set per CPU at a time, and no sets
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
#include "claim.h"

#include <bsd/stdlib.h>
#include <bsd/sys/queue.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libcpc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GENERATION "generation"
#define LOOK_NS 100000000 /* how long a look at the claims is good for */

struct cpci_claim {
	int cpu;
	int fd; /* locked; -1: there is no directory for it, so others do not see it */
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
	_Atomic uint64_t others;	   /* ...and of those that we holder, or made */
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
static void raise_generation(enum cpci_claim_dir which, int dir)
{
	generation_t *map;
	struct stat st;
	int fd;

	registry.others++;
	if (which != CPCI_DIR_ROOT || dir == -1)
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

/* The directory where we claim, or -1: there is none.  With the mutex, or with -1 for it. */
static int enter_dir(enum cpci_claim_dir *which, int *mutex)
{
	int dir;

	*which = geteuid() == 0 ? CPCI_DIR_ROOT : CPCI_DIR_USERS;
	*mutex = -1;
	if (*which == CPCI_DIR_ROOT && mkdir(cpci_claim_path[CPCI_DIR_ROOT], 0755) == 0)
		chmod(cpci_claim_path[CPCI_DIR_ROOT], 0755); /* whatever the umask */
	dir = cpci_claim_dir_open(*which);
	if (dir == -1 && *which == CPCI_DIR_ROOT) { /* no /run here: as if we were not root */
		*which = CPCI_DIR_USERS;
		dir = cpci_claim_dir_open(*which);
	}
	if (dir != -1)
		*mutex = cpci_claim_mutex(dir);
	if (*which == CPCI_DIR_ROOT && *mutex != -1)
		make_generation(dir);
	return dir;
}

static void leave_dir(int dir, int mutex)
{
	if (mutex != -1)
		close(mutex);
	if (dir != -1)
		close(dir);
}

/* Makes the file of a claim; not to be able to is an error only for want of room for it. */
static int publish(struct cpci_claim *claim, enum cpci_claim_dir which, int dir)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (dir == -1)
		return errno == EMFILE || errno == ENFILE ? -1 : 0;
	snprintf(claim->path, sizeof(claim->path), "%s/" CPCI_CLAIM_PREFIX "%d-%016" PRIx64 "-%08x",
		 cpci_claim_path[which], claim->cpu, claim->token, arc4random());
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

static int claim_cpu(struct cpci_claim *claim, struct cpci_holder *holder)
{
	enum cpci_claim_dir which;
	int mutex, dir = enter_dir(&which, &mutex), rc = publish(claim, which, dir);

	if (rc == 0 && cpci_claim_find(claim->cpu, &registry.token,
				       mutex != -1 ? which : CPCI_DIR_NONE, holder)) {
		errno = EAGAIN;
		rc = -1;
	}
	if (rc == 0)
		raise_generation(which, dir);

	int err = errno;

	leave_dir(dir, mutex);
	errno = err;
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
	char who[64];
	int err = 0;

	if (claim == NULL) {
		cpci_diag_nomem(diag);
		return NULL;
	}
	pthread_mutex_lock(&registry.lock);
	while (registry.token == 0)
		registry.token = (uint64_t)arc4random() << 32 | arc4random();
	*claim = (struct cpci_claim){.cpu = cpu, .fd = -1, .token = registry.token};
	if (find_own(cpu, &holder))
		err = EAGAIN;
	else if (claim_cpu(claim, &holder) == -1)
		err = errno;
	else
		LIST_INSERT_HEAD(&registry.claims, claim, link);
	if (err != 0)
		withdraw(claim);
	pthread_mutex_unlock(&registry.lock);
	if (err == 0)
		return claim;
	if (err == EAGAIN) {
		cpci_process_name(holder.pid, who, sizeof(who));
		cpci_diag(diag, err, CPC_CPU_CLAIMED, "%s: %s counts on CPU %d", strerror(err), who,
			  cpu);
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

/* What is found ends the epochs that were taken before.  Also in signal handlers. */
static bool look_around(struct cpci_holder *holder)
{
	int64_t start = cpci_now();
	uint64_t roots;

	map_generation();
	roots = *registry.roots;
	registry.looked_ns = start;
	if (cpci_claim_find(-1, &registry.token, CPCI_DIR_NONE, holder)) {
		registry.clear_ns = start - LOOK_NS;
		registry.others++;
		return true;
	}
	registry.clear_generation = roots;
	registry.clear_ns = start;
	return false;
}

static bool take_epoch(struct cpci_epoch *epoch, struct cpci_holder *holder)
{
	enum cpci_claim_dir which;
	int dir, mutex;

	epoch->others = registry.others;
	epoch->root = *registry.roots;
	if (find_own(-1, holder))
		return false;
	if (is_clear(epoch->root))
		return true;
	if (registry.roots == &never && geteuid() == 0) {
		dir = enter_dir(&which, &mutex); /* which makes a generation to look at */
		leave_dir(dir, mutex);
	}
	map_generation();
	epoch->root = *registry.roots;
	return !look_around(holder);
}

int cpci_epoch_take(struct cpci_epoch *epoch, struct cpci_diag *diag)
{
	struct cpci_holder holder;
	char who[64];
	bool taken;

	pthread_mutex_lock(&registry.lock);
	taken = take_epoch(epoch, &holder);
	pthread_mutex_unlock(&registry.lock);
	if (taken)
		return 0;
	cpci_process_name(holder.pid, who, sizeof(who));
	cpci_diag(diag, EAGAIN, CPC_CPU_CLAIMED,
		  "%s: %s counts on CPU %d, and LWPs cannot be counted meanwhile", strerror(EAGAIN),
		  who, holder.cpu);
	return -1;
}

bool cpci_epoch_holds(const struct cpci_epoch *epoch, int64_t ns)
{
	if (ns - registry.looked_ns >= LOOK_NS) {
		struct cpci_holder holder;
		int err = errno;

		look_around(&holder);
		errno = err;
	}
	return *registry.roots == epoch->root && registry.others == epoch->others;
}
