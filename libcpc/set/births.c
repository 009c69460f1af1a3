/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * births.c - threads that the program creates inherit the set of their creator.
 *
 * The kernel's counters can be inherited, too (perf_event_open(2), `inherit`).  But then a
 * thread's counts cannot be read separately; they include the C library's work at the start
 * of the thread; the kernel does not report which thread an overflow happened in; and a
 * thread that gets no counters, because another program has them, is silently missing from
 * the sum.
 *
 * So this file defines pthread_create(3) and thrd_create(3): each thread opens its own
 * counters before it runs the program's function.  Programs that bind sets contain this file
 * or load libcpc.so.  In either case the dynamic linker finds it before the C library, also
 * for calls by other libraries.  The library verifies that.  The next definition creates the
 * thread; it may belong to a sanitizer's runtime, which may in turn have been found first,
 * and calls this one.
 *
 * The definitions are weak, so that a program can have its own.  If those do not call these,
 * the library cannot see threads, and refuses to let sets be inherited.
 *
 * Threads made by clone(2), or by the C library for itself, are not seen.
 */
#include "set.h"

#include <errno.h>
#include <stdlib.h>
#include <threads.h>

/* A thread that is being created. */
struct birth {
	struct cpci_copy *copy;	     /* NULL: it inherits no set */
	void *(*start)(void *arg);   /* the program's function for it */
	int (*start_c11)(void *arg); /* or this one */
	void *arg;
};

/* Runs in the new thread: inherits the set, then calls the program's function. */
static void *run(void *arg)
{
	struct birth birth = *(struct birth *)arg;
	uintptr_t pc = birth.start != NULL ? (uintptr_t)birth.start : (uintptr_t)birth.start_c11;

	free(arg);
	/* If the library cannot see the exit of this thread, nothing closes the copy's files. */
	if (birth.copy != NULL)
		cpci_copy_begin(birth.copy, cpci_unbind_at_exit() == 0 ? 0 : errno, (void *)pc);
	if (birth.start != NULL)
		return birth.start(birth.arg);
	/* thrd_join(3) expects the result there. */
	return (void *)(uintptr_t)(unsigned)birth.start_c11(birth.arg);
}

/* ---- does the program call this file? --------------------------------------------------- */

static _Thread_local enum {
	NOT_ASKED,
	ASKED,
	SEEN
} asked __attribute__((tls_model("initial-exec")));

static void *nothing(void *arg)
{
	return arg;
}

static int nothing_c11(void *arg)
{
	(void)arg;
	return 0;
}

/* Called by our interposed pthread_create() while the library tests whether it is called. */
static bool is_asked(void)
{
	if (asked != ASKED)
		return false;
	asked = SEEN;
	return true;
}

bool cpci_births_seen(void)
{
	/* The definitions that the program calls, which may be others than those of this file. */
	cpci_create_fn *volatile create = pthread_create;
	__typeof__(thrd_create) *volatile create_too = thrd_create;
	pthread_t thread;
	thrd_t c11;
	bool seen;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	asked = ASKED;
	if (create(&thread, NULL, nothing, NULL) == 0)
		pthread_join(thread, NULL);
	seen = asked == SEEN;
	asked = ASKED;
	if (seen && create_too(&c11, nothing_c11, NULL) == thrd_success)
		thrd_join(c11, NULL);
	seen = seen && asked == SEEN;
	asked = NOT_ASKED;
	pthread_setcancelstate(cancel, NULL);
	return seen;
}

/* ---- the C library's functions ------------------------------------------------------- */

/* Creates a thread for a birth, whose copy is made here.  0, or an errno. */
static int create_thread(pthread_t *thread, const pthread_attr_t *attr, struct birth birth)
{
	cpci_create_fn *next = cpci_next_create();
	struct birth *passed = NULL;
	int err;

	if (is_asked() || next == NULL)
		return EAGAIN;
	birth.copy = cpci_copy_new();
	if (birth.copy != NULL || birth.start == NULL)
		passed = malloc(sizeof(*passed));
	if (passed == NULL && birth.copy != NULL)
		(birth.start != NULL ? cpci_copy_lose : cpci_copy_cancel)(birth.copy);
	if (passed == NULL)
		return birth.start != NULL ? next(thread, attr, birth.start, birth.arg) : ENOMEM;
	*passed = birth;
	err = next(thread, attr, run, passed);
	if (err != 0 && birth.copy != NULL)
		cpci_copy_cancel(birth.copy);
	if (err != 0)
		free(passed);
	return err;
}

__attribute__((weak, visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	return create_thread(thread, attr, (struct birth){.start = start, .arg = arg});
}

/*
 * It creates the thread itself: the C library's thrd_create() does not call pthread_create() above,
 * and in a statically linked program this definition has replaced it.
 */
__attribute__((weak, visibility("default"))) int thrd_create(thrd_t *thread, thrd_start_t start,
							     void *arg)
{
	switch (create_thread(thread, NULL, (struct birth){.start_c11 = start, .arg = arg})) {
	case 0:
		return thrd_success;
	case ENOMEM:
		return thrd_nomem;
	default:
		return thrd_error;
	}
}
