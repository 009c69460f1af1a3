/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * births MODE - LWPs and processes made in ways that few programs use.
 *
 *   untraced  a child that no tracer may have (CLONE_UNTRACED)
 *   newpid    children that are process 1 of their own world; root only
 *   vforked   a suspended parent that shares no memory (CLONE_VFORK without CLONE_VM)
 *   spawned   posix_spawn(3), of a program and of one that is not there
 *   clone3    a child with a pidfd, its exit signal SIGUSR1
 *   ids       thread ids that the kernel stores and clears
 *   raw       detached threads of clone(2) alone, ending by exit(2)
 *   tree      threads that make threads that make threads
 *   forkers   threads that fork at the same time
 *   detached  detached threads that outlive the main one
 *   nested    a child of a child of a child
 *   busy      500 threads at once
 *   crowd     200 processes that make three children each, all at the same time
 *   chains    8 rows of 50 processes, each of which makes the next and ends
 *
 * Known: every child and every thread does a chore of 7 calls.  PASS, or FAIL and why.
 */
#include "work.h"

#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

static struct chore chore = {.pages = 3, .calls = 7};
static char stacks[16][64 * 1024] __attribute__((aligned(64)));
static atomic_int count;

static int child(void *arg)
{
	do_chore(&chore);
	count++;
	return (int)(long)arg;
}

static void reap(pid_t pid, int status, const char *what)
{
	int got;

	must(pid > 0, what);
	must(waitpid(pid, &got, __WALL) == pid && got == status, what);
}

static void untraced(void)
{
	for (long i = 1; i <= 5; i++)
		reap(clone(child, stacks[1] + sizeof(stacks[1]), CLONE_UNTRACED | SIGCHLD,
			   (void *)i),
		     (int)i << 8, "an untraced child");
}

static int first_of_world(void *arg)
{
	pid_t pid;

	must(getpid() == 1, "the id in a world of its own");
	for (int i = 0; i < 3; i++) {
		pid = fork();
		if (pid == 0)
			_exit(child((void *)3L));
		must(pid == 2 + i, "an id in that world");
		reap(pid, 3 << 8, "a child in that world");
	}
	return child(arg);
}

static void newpid(void)
{
	for (long i = 1; i <= 3; i++)
		reap(clone(first_of_world, stacks[1] + sizeof(stacks[1]), CLONE_NEWPID | SIGCHLD,
			   (void *)i),
		     (int)i << 8, "a world");
}

static void vforked(void)
{
	for (long i = 1; i <= 5; i++) {
		int before = count;

		reap(clone(child, stacks[1] + sizeof(stacks[1]), CLONE_VFORK | SIGCHLD, (void *)i),
		     (int)i << 8, "a vforked child");
		must(count == before, "memory of its own");
		reap(clone(child, stacks[1] + sizeof(stacks[1]), CLONE_VM | CLONE_VFORK | SIGCHLD,
			   (void *)i),
		     (int)i << 8, "a vforked child");
		must(count == before + 1, "memory that is shared");
	}
}

static void spawned(void)
{
	char *args[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exit 9"}, NULL};
	char *none[] = {(char[]){"none"}, NULL};
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		must(posix_spawnp(&pid, "sh", NULL, NULL, args, environ) == 0, "posix_spawn");
		reap(pid, 9 << 8, "a spawned child");
		must(posix_spawn(&pid, "/nonexistent", NULL, NULL, none, environ) == ENOENT,
		     "a program that is not there");
	}
}

static void clone_3(void)
{
	int fd = -1;
	struct clone_args args = {
		.flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&fd, .exit_signal = SIGUSR1};
	struct pollfd dead = {.events = POLLIN};
	sigset_t set;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 5; i++) {
		pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0)
			_exit(child((void *)4L));
		must(sigwaitinfo(&set, NULL) == SIGUSR1, "the exit signal");
		dead.fd = fd;
		must(poll(&dead, 1, -1) == 1, "the pidfd");
		reap(pid, 4 << 8, "a child of clone3");
		close(fd);
	}
}

static void wait_cleared(atomic_int *tid)
{
	for (int was = *tid; was != 0; was = *tid)
		syscall(SYS_futex, tid, FUTEX_WAIT, was, NULL, NULL, 0);
}

#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

static void ids(void)
{
	static atomic_int parent_tid, child_tid;
	int pid;

	for (int i = 0; i < 5; i++) {
		/* No memory in common: the child sees its own copy. */
		pid = clone(child, stacks[1] + sizeof(stacks[1]), CLONE_PARENT_SETTID | SIGCHLD,
			    (void *)2L, &parent_tid, NULL, &child_tid);
		must(pid > 0 && parent_tid == pid, "the id in the parent");
		reap(pid, 2 << 8, "a child");
		child_tid = 1;
		pid = clone(child, stacks[2] + sizeof(stacks[2]),
			    THREAD | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID, NULL, &parent_tid,
			    NULL, &child_tid);
		must(pid > 0 && parent_tid == pid, "the id of a thread");
		wait_cleared(&child_tid);
	}
}

static int raw_thread(void *arg)
{
	child(arg);
	syscall(SYS_exit, 5);
	return 0;
}

static void raw(void)
{
	static atomic_int alive[16];

	for (int i = 0; i < 16; i++) {
		alive[i] = 1;
		must(clone(raw_thread, stacks[i] + sizeof(stacks[i]), THREAD | CLONE_CHILD_CLEARTID,
			   NULL, NULL, NULL, &alive[i]) > 0,
		     "clone");
	}
	for (int i = 0; i < 16; i++)
		wait_cleared(&alive[i]);
	must(count == 16, "16 threads");
}

static void *branch(void *arg)
{
	long depth = (long)arg;
	pthread_t a, b;

	child(NULL);
	if (depth == 0)
		return NULL;
	a = start_thread(branch, (void *)(depth - 1));
	b = start_thread(branch, (void *)(depth - 1));
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return NULL;
}

static void tree(void)
{
	branch((void *)5L);
	must(count == 63, "63 LWPs");
}

static void *forker(void *arg)
{
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(child((void *)6L));
		reap(pid, 6 << 8, "a thread's child");
	}
	return arg;
}

static void forkers(void)
{
	pthread_t thread[5];

	for (int i = 0; i < 5; i++)
		thread[i] = start_thread(forker, NULL);
	for (int i = 0; i < 5; i++)
		pthread_join(thread[i], NULL);
}

static void *late(void *arg)
{
	usleep(1000);
	if (child(arg) == 0 && count == 20) {
		say("PASS\n");
		exit(0);
	}
	pthread_exit(NULL);
}

static void detached(void)
{
	pthread_t thread;

	for (int i = 0; i < 20; i++)
		must(try_thread(&thread, PTHREAD_CREATE_DETACHED, late, NULL) == 0, "a thread");
	pthread_exit(NULL);
}

static void nested(void)
{
	pid_t pid = 0;
	int depth = 0;

	while (depth < 10 && (pid = fork()) == 0)
		depth++;
	must(pid >= 0, "fork");
	if (pid == 0)
		_exit(child((void *)10L));
	reap(pid, depth == 9 ? 10 << 8 : (depth + 1) << 8, "a child");
	if (depth > 0)
		_exit(child((void *)(long)depth));
}

static void busy(void)
{
	pthread_t thread[500];

	for (int i = 0; i < 500; i++)
		thread[i] = start_thread(chore_thread, &chore);
	for (int i = 0; i < 500; i++)
		pthread_join(thread[i], NULL);
}

static void crowd(void)
{
	int go[2], status;
	char byte;

	must(pipe(go) == 0, "pipe");
	for (int i = 0; i < 200; i++) {
		if (fork() != 0)
			continue;
		close(go[1]);
		must(read(go[0], &byte, 1) == 0, "the start");
		for (int k = 0; k < 3; k++) {
			pid_t pid = fork();

			if (pid == 0)
				_exit(child((void *)4L));
			reap(pid, 4 << 8, "a child in the crowd");
		}
		_exit(0);
	}
	close(go[1]);
	for (int i = 0; i < 200; i++)
		must(wait(&status) > 0 && status == 0, "one of the crowd");
}

static void chains(void)
{
	int status, n = 0;

	must(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0, "prctl");
	for (int i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		for (int k = 1; k < 50 && fork() == 0;)
			k++;
		_exit(child((void *)5L));
	}
	while (wait(&status) > 0) {
		must(status == 5 << 8, "a link");
		n++;
	}
	must(n == 400, "400 links");
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"untraced", untraced}, {"newpid", newpid},  {"vforked", vforked},
		{"spawned", spawned},	{"clone3", clone_3}, {"ids", ids},
		{"raw", raw},		{"tree", tree},	     {"forkers", forkers},
		{"detached", detached}, {"nested", nested},  {"busy", busy},
		{"crowd", crowd},	{"chains", chains},
	};

	return RUN_MODE(modes, argc, argv);
}
