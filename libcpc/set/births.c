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

typedef __typeof__(thrd_create) create_c11_fn;

/* A thread that is being created. */
struct birth {
	struct cpci_copy *copy;	     /* NULL: it inherits no set */
	void *(*start)(void *arg);   /* the program's function for it */
	int (*start_c11)(void *arg); /* or this one */
	void *arg;
};

/* Runs in the new thread, before the program's function. */
static struct birth take_birth(void *arg)
{
	struct birth birth = *(struct birth *)arg;
	uintptr_t pc = birth.start != NULL ? (uintptr_t)birth.start : (uintptr_t)birth.start_c11;

	free(arg);
	if (birth.copy != NULL)
		cpci_copy_begin(birth.copy, (void *)pc);
	return birth;
}

static void *run(void *arg)
{
	struct birth birth = take_birth(arg);

	return birth.start(birth.arg);
}

static int run_c11(void *arg)
{
	struct birth birth = take_birth(arg);

	return birth.start_c11(birth.arg);
}

/* thrd_join(3) expects the result there. */
static void *run_c11_as_posix(void *arg)
{
	return (void *)(uintptr_t)(unsigned)run_c11(arg);
}

/* NULL: out of memory. */
static struct birth *new_birth(const struct birth *birth)
{
	struct birth *new = malloc(sizeof(*new));

	if (new != NULL)
		*new = *birth;
	return new;
}

/* The thread could not be created. */
static void cancel(struct birth *birth)
{
	if (birth->copy != NULL)
		cpci_copy_cancel(birth->copy);
	free(birth);
}

/* ---- does the program call this file? ----------------------------------------------------------
 */

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
	/* What all callers use, which may be another definition than the one here. */
	cpci_create_fn *volatile create = pthread_create;
	create_c11_fn *volatile create_too = thrd_create;
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

__attribute__((weak, visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	cpci_create_fn *next = cpci_next_create();
	struct birth birth = {.start = start, .arg = arg}, *new;

	if (is_asked() || next == NULL)
		return EAGAIN;
	birth.copy = cpci_copy_new();
	if (birth.copy == NULL)
		return next(thread, attr, start, arg);
	new = new_birth(&birth);
	if (new == NULL) {
		cpci_copy_lose(birth.copy);
		return next(thread, attr, start, arg);
	}

	int err = next(thread, attr, run, new);

	if (err != 0)
		cancel(new);
	return err;
}

/*
 * Does what the C library does: in a statically linked program its function cannot be called.
 */
static int create_c11(thrd_t *thread, struct birth *birth)
{
	cpci_create_fn *next = cpci_next_create();

	switch (next != NULL ? next(thread, NULL, run_c11_as_posix, birth) : EAGAIN) {
	case 0:
		return thrd_success;
	case ENOMEM:
		return thrd_nomem;
	default:
		return thrd_error;
	}
}

/* The C library's thrd_create() does not call pthread_create() above. */
__attribute__((weak, visibility("default"))) int thrd_create(thrd_t *thread, thrd_start_t start,
							     void *arg)
{
	create_c11_fn *next = (create_c11_fn *)(uintptr_t)cpci_next("thrd_create");
	struct birth birth = {.start_c11 = start, .arg = arg}, *new;
	int rc;

	if (is_asked())
		return thrd_error;
	birth.copy = cpci_copy_new();
	if (birth.copy == NULL && next != NULL)
		return next(thread, start, arg);
	new = new_birth(&birth);
	if (new == NULL) {
		if (birth.copy != NULL)
			cpci_copy_cancel(birth.copy);
		return thrd_nomem;
	}
	rc = next != NULL ? next(thread, run_c11, new) : create_c11(thread, new);
	if (rc != thrd_success)
		cancel(new);
	return rc;
}
