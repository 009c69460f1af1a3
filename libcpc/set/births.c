/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * births.c - threads that the program creates inherit the set of their creator.
 *
 * The kernel can have its counters inherited, too (perf_event_open(2), `inherit`).  But then
 * the counts of a thread cannot be read apart from those of all; they begin with the work of
 * the C library; an overflow cannot be told of the thread that had it; and a thread that
 * gets no counters, since others have them, is missing from the sum without a word.
 *
 * So pthread_create(3) and thrd_create(3) are defined here, to have each thread open its own
 * counters before it runs the program's function.  Programs that bind sets have this file in
 * them, or libcpc.so, and in either case the dynamic linker finds it before the C library:
 * for the calls of other libraries as well.  That it did is asked of it, not assumed.  The
 * next definition does the rest; it may be that of a sanitizer's runtime, which in turn may
 * have been found first, and calls this one.
 *
 * The definitions are weak, for programs that have their own, which may not know of these: the
 * library then does not see threads, and says so.
 *
 * What clone(2) makes is not seen, nor are threads that the C library makes for itself.
 */
#include "set.h"

#include <errno.h>
#include <stdlib.h>
#include <threads.h>

typedef __typeof__(thrd_create) create_c11_fn;

/* A thread that is being created. */
struct birth {
	struct cpci_copy *copy;	     /* NULL: it inherits nothing */
	void *(*start)(void *arg);   /* this function of the program runs in it */
	int (*start_c11)(void *arg); /* or this */
	void *arg;
};

/* In the new thread, before the program's function. */
static struct birth begin(void *arg)
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
	struct birth birth = begin(arg);

	return birth.start(birth.arg);
}

static int run_c11(void *arg)
{
	struct birth birth = begin(arg);

	return birth.start_c11(birth.arg);
}

/* The result is where thrd_join(3) looks for it. */
static void *run_c11_as_posix(void *arg)
{
	return (void *)(uintptr_t)(unsigned)run_c11(arg);
}

/* NULL: there is no memory. */
static struct birth *new_birth(const struct birth *birth)
{
	struct birth *new = malloc(sizeof(*new));

	if (new != NULL)
		*new = *birth;
	return new;
}

/* There is no thread. */
static void cancel(struct birth *birth)
{
	if (birth->copy != NULL)
		cpci_copy_cancel(birth->copy);
	free(birth);
}

/* ---- is this called? -------------------------------------------------------------- */

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

/* By who is called instead of creating a thread. */
static bool is_asked(void)
{
	if (asked != ASKED)
		return false;
	asked = SEEN;
	return true;
}

bool cpci_births_seen(void)
{
	/* What everybody calls, which need not be what is defined here. */
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

/* As the C library's, in a program that has it in it: there that one cannot be found. */
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

/* The C library's does not call what is defined above. */
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
