/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * process-tree N - N processes and threads, made in every way, that never end.
 *
 * Each of them makes more, until there are N: children, orphans in sessions of their own,
 * siblings, vfork children, executed programs, threads, stopped processes, and as root
 * processes of a PID namespace.
 *
 * Known: each of them lives until it is killed.  What is not killed with its tracer is left
 * behind.
 */
#include "work.h"

#include <sched.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

static char *self[] = {(char[]){"/proc/self/exe"}, (char[]){"0"}, NULL};
static atomic_long *made;
static long wanted;

static void breed(void);

__attribute__((noreturn)) static void stay(void)
{
	for (;;)
		pause();
}

static void *thread(void *arg)
{
	breed();
	return arg;
}

static void *executes(void *arg)
{
	execv(self[0], self);
	broken("execv");
	return arg;
}

/* A child of clone(2) with these flags; 0 in the child, as fork. */
static pid_t make(unsigned long flags)
{
	return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
}

static void child(unsigned long flags)
{
	if (make(flags) == 0)
		breed();
}

static void orphan(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		breed();
	}
	waitpid(pid, NULL, 0);
}

/* Its parent is suspended until it executes, which it never does. */
static void *held_up(void *arg)
{
	if (vfork() == 0)
		stay();
	return arg;
}

static void another(long kind)
{
	pid_t pid;

	switch (kind % 11) {
	case 0:
		child(SIGCHLD);
		break;
	case 1:
		child(SIGCHLD | CLONE_PARENT);
		break;
	case 2:
		child(0); /* it becomes a zombie */
		break;
	case 3:
		orphan();
		break;
	case 4:
		start_thread(held_up, NULL);
		break;
	case 5:
		if (vfork() == 0) {
			execv(self[0], self);
			_exit(WORK_BROKEN);
		}
		break;
	case 6:
		posix_spawn(&pid, self[0], NULL, NULL, self, NULL);
		break;
	case 7:
		start_thread(thread, NULL);
		break;
	case 8:
		if (fork() == 0) {
			start_thread(executes, NULL);
			stay();
		}
		break;
	case 9:
		if (fork() == 0) {
			raise(SIGSTOP);
			stay();
		}
		break;
	default:
		child(SIGCHLD | (geteuid() == 0 ? CLONE_NEWPID : 0));
		break;
	}
}

static void breed(void)
{
	long kind;

	while ((kind = atomic_fetch_add(made, 1)) < wanted)
		another(kind);
	stay();
}

int main(int argc, char *argv[])
{
	wanted = operand(argc, argv, 1);
	if (wanted == 0)
		stay();
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		broken("mmap");
	breed();
	return WORK_BROKEN;
}
