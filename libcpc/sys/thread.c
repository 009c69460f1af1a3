/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* thread.c - the functions of the C library that set/births.c interposes. */
#include "sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <time.h>

/*
 * If a sanitizer's runtime or the C library is linked statically, these names, which only
 * they define, lead to the next definition.
 */
extern cpci_create_fn __interceptor_pthread_create __attribute__((weak, visibility("hidden")));
extern cpci_create_fn __pthread_create __attribute__((weak, visibility("hidden")));
#if defined(__GLIBC__) && __GLIBC__ == 2 && __GLIBC_MINOR__ >= 34
/*
 * Without a reference, the linker would not take timer_create() from libc.a, which this
 * needs.
 */
__attribute__((used)) static __typeof__(timer_create) *const needs_threads = timer_create;
#endif

void *cpci_next(const char *name)
{
	/* In a statically linked program dlsym(3) finds nothing. */
	return __pthread_create == NULL ? dlsym(RTLD_NEXT, name) : NULL;
}

cpci_create_fn *cpci_next_create(void)
{
	static _Atomic(cpci_create_fn *) next;

	if (__interceptor_pthread_create != NULL)
		return __interceptor_pthread_create;
	if (__pthread_create != NULL)
		return __pthread_create;
	if (next == NULL)
		next = (cpci_create_fn *)(uintptr_t)cpci_next("pthread_create");
	return next;
}

int cpci_thread_create(pthread_t *thread, void *(*start)(void *), void *arg)
{
	cpci_create_fn *create = cpci_next_create();

	return create != NULL ? create(thread, NULL, start, arg) : EAGAIN;
}
