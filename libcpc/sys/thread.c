/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* thread.c - pthread_create() of the C library, which set/births.c interposes. */
#include "sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <time.h>

/*
 * Other names of pthread_create(), which only a sanitizer's runtime and the C library define.  If
 * one of these is linked statically, dlsym(3) does not find its pthread_create().
 */
extern cpci_create_fn __interceptor_pthread_create __attribute__((weak, visibility("hidden")));
extern cpci_create_fn __pthread_create __attribute__((weak, visibility("hidden")));
#if defined(__GLIBC__) && __GLIBC__ == 2 && __GLIBC_MINOR__ >= 34
/*
 * A weak reference does not make the linker take __pthread_create from libc.a.  A reference to
 * timer_create() does, because that calls it.
 */
__attribute__((used)) static __typeof__(timer_create) *const needs_threads = timer_create;
#endif

cpci_create_fn *cpci_next_create(void)
{
	static _Atomic(cpci_create_fn *) next;

	if (__interceptor_pthread_create != NULL)
		return __interceptor_pthread_create;
	if (__pthread_create != NULL)
		return __pthread_create;
	if (next == NULL)
		next = (cpci_create_fn *)(uintptr_t)dlsym(RTLD_NEXT, "pthread_create");
	return next;
}

int cpci_thread_create(pthread_t *thread, void *(*start)(void *), void *arg)
{
	cpci_create_fn *create = cpci_next_create();
	sigset_t old;
	int err;

	cpci_block_signals(&old);
	err = create != NULL ? create(thread, NULL, start, arg) : EAGAIN;
	cpci_unblock_signals(&old);
	return err;
}
