/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * change-keys cgroup|user|command REST A B ROUNDS FAULTS - has page faults in a cgroup, as a user
 * or under a name, and changes that in the middle of its time on a CPU.
 * change-keys names FIRST LAST FAULTS - the same with the names FIRST to LAST, which are numbers.
 * change-keys renamed FIRST LAST FAULTS - a thread names itself a-N, another one renames it to b-N
 * and back while it runs; likewise for each N from FIRST to LAST.
 * change-keys moved A B ROUNDS FAULTS - another process moves it between two cgroups while it runs,
 * and between its page faults.
 *
 * REST, A and B are files cgroup.procs, user ids (REST is 0: root) or names.  It begins and ends
 * as REST.  Known: FAULTS page faults as A and as many as B in each of the rounds, or under each of
 * the names.  As a-N and b-N they can be counted only if both threads never run at the same time;
 * their sum is known.
 */
#include "work.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PAGES 64UL

static char *memory;
static size_t page;

/* Exactly that many.  No page is larger. */
static void fault(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		if (i % PAGES == 0)
			madvise(memory, PAGES * page, MADV_DONTNEED);
		((volatile char *)memory)[i % PAGES * page] = 1;
	}
}

static void be_in_cgroup(const char *procs)
{
	int fd = open(procs, O_WRONLY | O_CLOEXEC);

	must(fd != -1 && write(fd, "0", 1) == 1, procs);
	close(fd);
}

/* Its saved id stays 0, so that it may change again. */
static void be_user(const char *id)
{
	must(syscall(SYS_setresuid, -1, 0, -1) == 0, "root");
	must(syscall(SYS_setresuid, -1, number(id), -1) == 0, id);
}

static void be_named(const char *name)
{
	must(prctl(PR_SET_NAME, name) == 0, name);
}

static void map_memory(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	must(memory != MAP_FAILED, "mmap");
	madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
}

static void use_names(long first, long last, unsigned long faults)
{
	char name[16];

	fault(PAGES + 1);
	for (long i = first; i <= last; i++) {
		snprintf(name, sizeof(name), "%ld", i);
		be_named(name);
		fault(faults);
	}
	be_named("change-keys");
}

/* ---- a thread that another one renames ------------------------------------------------ */

static struct {
	pid_t tid;
	long first, last;
	unsigned long faults;
	atomic_int step; /* 1: rename it, 2: done, 3: rename it back, 4: done */
} renamed;

/* Without a system call, which could end the slice, unless there is only one CPU. */
static void await_step(int step)
{
	static long ncpus;

	if (ncpus == 0)
		ncpus = sysconf(_SC_NPROCESSORS_ONLN);
	while (atomic_load(&renamed.step) != step) {
		if (ncpus == 1)
			sched_yield();
	}
}

static void *be_renamed(void *arg)
{
	char name[16];

	renamed.tid = (pid_t)syscall(SYS_gettid);
	fault(PAGES + 1);
	snprintf(name, sizeof(name), "r%s", "est");
	be_named(name);
	await_step(0);
	/* All of its own pages are there from now on. */
	for (long i = renamed.first; i <= renamed.last; i++) {
		snprintf(name, sizeof(name), "a-%ld", i);
		be_named(name);
		fault(renamed.faults);
		atomic_store(&renamed.step, 1);
		await_step(2);
		fault(renamed.faults);
		atomic_store(&renamed.step, 3);
		await_step(4);
		be_named("rest");
	}
	return arg;
}

static void rename_it(const char *prefix, long i)
{
	char file[64], name[16];
	int fd, n;

	snprintf(file, sizeof(file), "/proc/self/task/%d/comm", (int)renamed.tid);
	n = snprintf(name, sizeof(name), "%s-%ld", prefix, i);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	must(fd != -1 && write(fd, name, (size_t)n) == n, file);
	close(fd);
}

static void rename_other(void)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, be_renamed, NULL) == 0, "pthread_create");
	for (long i = renamed.first; i <= renamed.last; i++) {
		await_step(1);
		rename_it("b", i);
		atomic_store(&renamed.step, 2);
		await_step(3);
		rename_it("a", i);
		atomic_store(&renamed.step, 4);
	}
	pthread_join(thread, NULL);
}

/* Whose turn it is, in memory that both processes share. */
struct turn {
	_Atomic bool to_move;
};

/* It is killed in the end: a call of _exit(2) would have page faults, too. */
__attribute__((noreturn)) static void be_moved(struct turn *turn, unsigned long faults)
{
	fault(PAGES + 1);
	for (;;) {
		atomic_store(&turn->to_move, true);
		while (atomic_load(&turn->to_move)) {}
		fault(faults);
	}
}

/* The first move is to A, and so is the last one. */
static void move_other(char *const procs[2], long moves, unsigned long faults)
{
	struct turn *turn = mmap(NULL, sizeof(*turn), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = turn != MAP_FAILED ? fork() : -1;
	int fd;

	must(pid != -1, "fork");
	if (pid == 0)
		be_moved(turn, faults);
	for (long i = 0; i <= moves; i++) {
		while (!atomic_load(&turn->to_move)) {}
		fd = open(procs[i % 2], O_WRONLY | O_CLOEXEC);
		must(fd != -1 && dprintf(fd, "%d", (int)pid) > 0, procs[i % 2]);
		close(fd);
		if (i < moves)
			atomic_store(&turn->to_move, false);
	}
	must(kill(pid, SIGKILL) == 0, "kill");
	must(waitpid(pid, NULL, 0) == pid, "waitpid");
}

int main(int argc, char *argv[])
{
	void (*be)(const char *);
	unsigned long faults;
	long rounds;

	map_memory();
	if (argc == 5 && strcmp(argv[1], "names") == 0) {
		use_names(number(argv[2]), number(argv[3]), (unsigned long)number(argv[4]));
		return 0;
	}
	if (argc == 5 && strcmp(argv[1], "renamed") == 0) {
		renamed.first = number(argv[2]);
		renamed.last = number(argv[3]);
		renamed.faults = (unsigned long)number(argv[4]);
		rename_other();
		return 0;
	}
	if (argc == 6 && strcmp(argv[1], "moved") == 0) {
		move_other(&argv[2], 2 * number(argv[4]), (unsigned long)number(argv[5]));
		return 0;
	}
	if (argc != 7)
		broken("operands");
	be = strcmp(argv[1], "cgroup") == 0 ? be_in_cgroup
	     : strcmp(argv[1], "user") == 0 ? be_user
					    : be_named;
	rounds = number(argv[5]);
	faults = (unsigned long)number(argv[6]);
	/* All of our own pages are there from now on. */
	be(argv[2]);
	be(argv[3]);
	be(argv[4]);
	be(argv[2]);
	fault(PAGES + 1);
	for (long i = 0; i < rounds; i++) {
		be(argv[3]);
		fault(faults);
		be(argv[2]);
		be(argv[4]);
		fault(faults);
		be(argv[2]);
	}
	return 0;
}
