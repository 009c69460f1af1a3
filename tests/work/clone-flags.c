/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * clone-flags all N | stay FILE | thread N - children that decide for themselves about their
 * tracer, by CLONE_UNTRACED, CLONE_PTRACE, CLONE_PARENT and PTRACE_TRACEME.  To be tracked:
 * otherwise some of them stay zombies.
 *
 *   all   one of each mixture of these and CLONE_VM, CLONE_VFORK and CLONE_THREAD, one after
 *         the other, each of which calls hit() N times, half of them signal themselves, and ends
 *   stay  a child of the tracer, which calls PTRACE_TRACEME and stays; its id goes to FILE
 *
 *   thread  a thread by CLONE_UNTRACED touches N fresh pages; both stay until the end of the
 *         standard input
 *
 * Without operands it prints where hit() is.  Known: all prints "CHILDREN FOLLOWED"; the
 * latter are those that their maker's tracer gets, and all their calls.
 */
#include "work.h"

#include <sched.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static volatile long calls, stored;
static char stack[64 * 1024] __attribute__((aligned(64)));

__attribute__((noinline)) static void hit(void)
{
	stored = 1;
	__asm__ volatile("" ::: "memory");
}

struct kind {
	int flags;
	bool traceme;
	bool signals;
};

static const struct kind *kind;

/* It may share memory and thread pointer with its parent, so it makes only system calls. */
static int child(void *arg)
{
	(void)arg;
	if (kind->traceme)
		syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL);
	for (long i = 0; i < calls; i++)
		hit();
	if (kind->signals)
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGWINCH);
	syscall(SYS_exit, 0);
	return 0;
}

/* Waits for a child that is ours, and lets it go on when it has made us its tracer. */
static void reap(pid_t pid)
{
	char what[64];
	int status;

	for (;;) {
		must(waitpid(pid, &status, __WALL) == pid, "a child");
		if (!WIFSTOPPED(status))
			break;
		ptrace(PTRACE_CONT, pid, NULL, (void *)(long)WSTOPSIG(status));
	}
	snprintf(what, sizeof(what), "its status, %#x, of flags %#x%s", status, kind->flags,
		 kind->traceme ? ", traced" : "");
	must(status == 0, what);
}

/* Would it wait for itself, or is it no clone? */
static bool impossible(const struct kind *k)
{
	bool thread = (k->flags & CLONE_THREAD) != 0;
	bool ours = (k->flags & CLONE_PARENT) == 0 && !thread;

	if (thread && (k->flags & (CLONE_PARENT | CLONE_VFORK)) != 0)
		return true;
	/* Its tracer sleeps until it has ended. */
	return ours && k->traceme && k->signals && (k->flags & CLONE_VFORK) != 0 &&
	       (k->flags & CLONE_UNTRACED) != 0 && (k->flags & CLONE_PTRACE) == 0;
}

static void make(const struct kind *k)
{
	int ends[2], flags = k->flags;
	pid_t tid = 0;
	char c;

	kind = k;
	must(pipe(ends) == 0, "a pipe");
	if ((flags & CLONE_THREAD) != 0) {
		/* It has our files: its end shows in its id, which the kernel clears. */
		flags |= CLONE_VM | CLONE_SIGHAND | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
		must(clone(child, stack + sizeof(stack), flags, NULL, &tid, NULL, &tid) > 0,
		     "clone of a thread");
		while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) != 0)
			syscall(SYS_futex, &tid, 0 /* FUTEX_WAIT */, tid, NULL);
	} else {
		tid = clone(child, stack + sizeof(stack), flags | SIGCHLD, NULL);
		must(tid > 0, "clone");
		close(ends[1]);
		if ((flags & CLONE_PARENT) == 0)
			reap(tid);
		while (read(ends[0], &c, 1) == -1)
			must(errno == EINTR, "the end of a sibling");
		ends[1] = ends[0];
	}
	close(ends[0]);
	if (ends[1] != ends[0])
		close(ends[1]);
}

static void all(void)
{
	static const int bits[] = {CLONE_UNTRACED, CLONE_PTRACE, CLONE_PARENT,
				   CLONE_VFORK,	   CLONE_VM,	 CLONE_THREAD};
	enum { NBITS = sizeof(bits) / sizeof(*bits) };
	int children = 0, followed = 0;
	struct kind k;

	for (unsigned i = 0; i < 1U << (NBITS + 2); i++) {
		k = (struct kind){.traceme = (i >> NBITS & 1) != 0,
				  .signals = (i >> NBITS & 2) != 0};
		for (unsigned bit = 0; bit < NBITS; bit++)
			k.flags |= (i >> bit & 1) != 0 ? bits[bit] : 0;
		if (impossible(&k))
			continue;
		make(&k);
		children++;
		followed += (k.flags & CLONE_UNTRACED) == 0 || (k.flags & CLONE_PTRACE) != 0;
	}
	printf("%d %d\n", children, followed);
}

__attribute__((noreturn)) static int stay_child(void *arg)
{
	FILE *f;

	must(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0, "PTRACE_TRACEME");
	for (int fd = 0; fd < 256; fd++) /* the reader of a pipe shall not wait for them */
		close(fd);
	f = fopen(arg, "we");
	must(f != NULL && fprintf(f, "%d\n", (int)getpid()) > 0 && fclose(f) == 0, "a file");
	for (;;)
		pause();
}

static void stay(char *file)
{
	must(clone(stay_child, stack + sizeof(stack), CLONE_UNTRACED | CLONE_PARENT | SIGCHLD,
		   file) > 0,
	     "clone");
	while (access(file, F_OK) == -1)
		sched_yield();
}

static volatile char *fresh;
static volatile bool over;

static int thread_child(void *arg)
{
	const struct timespec nap = {.tv_nsec = 1000000};

	(void)arg;
	for (long i = 0; i < calls; i++)
		fresh[i * 65536] = 1; /* no page is larger */
	while (!over)
		syscall(SYS_nanosleep, &nap, NULL);
	syscall(SYS_exit, 0);
	return 0;
}

static void untraced_thread(void)
{
	const size_t size = (size_t)calls * 65536;
	int tid;

	fresh = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(fresh != MAP_FAILED, "mmap");
	madvise((void *)fresh, size, MADV_NOHUGEPAGE);
	tid = clone(thread_child, stack + sizeof(stack),
		    CLONE_UNTRACED | CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			    CLONE_THREAD | CLONE_SYSVSEM,
		    NULL);
	must(tid > 0, "clone");
	wait_eof();
	over = true;
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		sched_yield();
}

int main(int argc, char *argv[])
{
	if (argc < 2)
		printf("%#lx\n", (unsigned long)(uintptr_t)&hit);
	else if (argc == 3 && strcmp(argv[1], "all") == 0) {
		calls = number(argv[2]);
		all();
	} else if (argc == 3 && strcmp(argv[1], "thread") == 0) {
		calls = number(argv[2]);
		untraced_thread();
	} else if (argc == 3 && strcmp(argv[1], "stay") == 0)
		stay(argv[2]);
	else
		broken("operands");
	return 0;
}
