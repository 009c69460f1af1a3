/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * id-reuse MODE - process and thread ids that are used again; root only.
 *
 *   fork    a child's id, given to the next child as soon as it is free
 *   thread  a thread's id, given to the next thread, then to a child
 *   exec    a child with the id of a thread that an exec ended
 *
 * Known: every child and thread does a chore of 3 calls.  PASS, or FAIL and why.  Another
 * program may have taken an id first; that is not a failure.
 */
#include "work.h"

#include <fcntl.h>
#include <sys/wait.h>

static struct chore chore = {.pages = 2, .calls = 3};
static pid_t thread_id;

/* Have the kernel give `id` to the next process or thread, if it is free. */
static void next_id(pid_t id)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	must(fd != -1 && dprintf(fd, "%d", (int)id - 1) > 0, "ns_last_pid");
	close(fd);
}

static pid_t one_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		do_chore(&chore);
		_exit(0);
	}
	must(pid != -1 && waitpid(pid, NULL, 0) == pid, "a child");
	return pid;
}

static void *one_thread(void *arg)
{
	thread_id = gettid();
	return chore_thread(arg);
}

static void by_fork(void)
{
	pid_t pid = one_child();

	for (int i = 0; i < 20; i++) {
		next_id(pid);
		one_child();
	}
}

static void by_thread(void)
{
	for (int i = 0; i < 10; i++) {
		pthread_join(start_thread(one_thread, &chore), NULL);
		next_id(thread_id);
		pthread_join(start_thread(one_thread, &chore), NULL);
		next_id(thread_id);
		one_child();
	}
}

static void *idle(void *arg)
{
	thread_id = gettid();
	chore_thread(arg);
	for (;;)
		pause();
	return NULL;
}

static void by_exec(void)
{
	const char *was = getenv("REUSE");
	char text[24];

	if (was != NULL) {
		for (int i = 0; i < 5; i++) {
			next_id((pid_t)number(was));
			one_child();
		}
		return;
	}
	start_thread(idle, &chore);
	while (__atomic_load_n(&thread_id, __ATOMIC_ACQUIRE) == 0)
		usleep(100);
	usleep(1000);
	snprintf(text, sizeof(text), "%d", (int)thread_id);
	setenv("REUSE", text, 1);
	execl("/proc/self/exe", "id-reuse", "exec", (char *)NULL);
	must(false, "exec");
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"fork", by_fork}, {"thread", by_thread}, {"exec", by_exec}};

	return RUN_MODE(modes, argc, argv);
}
