/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * returns.c - calls of functions that return in unusual ways, for return probes.
 *
 *	returns nest DEPTH N	N times, nested() calls itself until DEPTH calls are nested
 *	returns jump DEPTH N	likewise, but the innermost call leaves all of them by longjmp(3)
 *	returns unwind N	N times, unwound() is left by an exception
 *	returns switch N	two coroutines take turns N times, each in a call of switched()
 *	returns fork N		N times, forked() returns in the parent and in a child
 *	returns exit		exiting() never returns: it exits
 *
 * likewise_vfork() has the address of a function that the C library calls __libc_vfork.
 *
 * returns-go is the same program with a section that programs of Go have.
 *
 * With -w, it prints "ready" and waits for a line first.  Status 0: all happened as written.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define PROBED __attribute__((noinline, used))

static jmp_buf out;
static volatile long done;

/* ---- nest, jump ---- */

PROBED long nested(long depth, int jumps);

long nested(long depth, int jumps)
{
	if (depth <= 1 && jumps)
		longjmp(out, 1);
	if (depth > 1)
		done += nested(depth - 1, jumps);
	return 1;
}

static void nest(long depth, long n, int jumps)
{
	for (volatile long i = 0; i < n; i++) {
		if (setjmp(out) == 0)
			nested(depth, jumps);
	}
}

/* ---- unwind: an exception, as C++ unwinds the stack ---- */

static void *catcher; /* the frame that catches it */

static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
				struct _Unwind_Exception *exception,
				struct _Unwind_Context *context, void *argument)
{
	(void)version;
	(void)class;
	(void)exception;
	(void)argument;
	if (actions & _UA_END_OF_STACK)
		abort(); /* as std::terminate() */
	if ((char *)_Unwind_GetCFA(context) >= (char *)catcher)
		longjmp(out, 1);
	return _URC_NO_REASON;
}

PROBED void unwound(void);

void unwound(void)
{
	static struct _Unwind_Exception exception;

	_Unwind_ForcedUnwind(&exception, stop, NULL);
	abort();
}

static void __attribute__((noinline)) unwind(long n)
{
	catcher = __builtin_frame_address(0);
	for (volatile long i = 0; i < n; i++) {
		if (setjmp(out) == 0)
			unwound();
	}
}

/* ---- switch: two stacks ---- */

static ucontext_t first, second;
static long turns;

PROBED void switched(ucontext_t *from, ucontext_t *to);

void switched(ucontext_t *from, ucontext_t *to)
{
	swapcontext(from, to);
	done++;
}

static void coroutine(void)
{
	while (1)
		switched(&second, &first);
}

static void take_turns(void)
{
	static char stack[65536];

	getcontext(&second);
	second.uc_stack.ss_sp = stack;
	second.uc_stack.ss_size = sizeof(stack);
	makecontext(&second, coroutine, 0);
	for (long i = 0; i < turns; i++)
		switched(&first, &second);
}

/* ---- fork, exit ---- */

PROBED pid_t forked(void);

pid_t forked(void)
{
	pid_t pid = fork();

	done++;
	return pid;
}

static int fork_children(long n)
{
	for (long i = 0; i < n; i++) {
		pid_t pid = forked();
		int status;

		if (pid == 0)
			_exit(0);
		if (pid == -1 || waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
	}
	return 0;
}

PROBED void exiting(void);

void exiting(void)
{
	done++;
	exit(0);
}

PROBED int likewise_vfork(void);
int its_alias(void) __asm__("__libc_vfork") __attribute__((alias("likewise_vfork")));

int likewise_vfork(void)
{
	return (int)done++;
}

#ifdef GO
static const char build[] __attribute__((used, section(".note.go.buildid"))) = "a program of Go";
#endif

int main(int argc, char **argv)
{
	const char *what;
	long a, b;

	if (argc > 1 && strcmp(argv[1], "-w") == 0) {
		puts("ready");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
		argv++;
		argc--;
	}
	what = argc > 1 ? argv[1] : "";
	a = argc > 2 ? atol(argv[2]) : 1;
	b = argc > 3 ? atol(argv[3]) : 1;
	if (strcmp(what, "nest") == 0) {
		nest(a, b, 0);
	} else if (strcmp(what, "jump") == 0) {
		nest(a, b, 1);
	} else if (strcmp(what, "unwind") == 0) {
		unwind(a);
	} else if (strcmp(what, "switch") == 0) {
		turns = a;
		take_turns();
	} else if (strcmp(what, "fork") == 0) {
		return fork_children(a);
	} else if (strcmp(what, "exit") == 0) {
		exiting();
	} else {
		fprintf(stderr, "usage: returns [-w] nest|jump|unwind|switch|fork|exit ...\n");
		return 2;
	}
	return 0;
}
