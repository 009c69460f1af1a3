#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Threads inherit a set, however the program is linked and whichever thread creates them.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need_unsanitized "sanitized libraries want a sanitized program"
	go -0 cmake --install "$CPC_BUILD" --prefix "$T/at"
	PKG_CONFIG_PATH=$(dirname "$(find "$T/at" -name libcpc.pc)")
	export PKG_CONFIG_PATH
	# Each of 4 threads touches 1000 pages; the program prints the sum of their counts.
	cat >"$T/inherit.h" <<'END_C'
#include <errno.h>
#include <libcpc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define THREADS 4
#define PAGES 1000

static cpc_t *cpc;
static cpc_set_t *set;
static cpc_buf_t *buf;

static void *touch(void *arg)
{
	volatile char *p = (volatile char *)mmap(NULL, 4096 * PAGES, PROT_READ | PROT_WRITE,
						 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise((void *)p, 4096 * PAGES, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		p[4096 * i] = 1;
	return arg;
}

static int begin(void)
{
	cpc = cpc_open(CPC_VER_CURRENT);
	set = cpc_set_create(cpc);
	cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL);
	buf = cpc_buf_create(cpc, set);
	return cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT);
}

/* All that was counted is that of the threads, if the caller touched no pages itself. */
static int end(void)
{
	uint64_t own, all;

	if (cpc_set_sample_all(cpc, set, buf) == -1 || cpc_buf_get(cpc, buf, 0, &all) == -1 ||
	    cpc_set_sample(cpc, set, buf) == -1 || cpc_buf_get(cpc, buf, 0, &own) == -1)
		return 1;
	printf("%d\n", (int)(all - own));
	return 0;
}
END_C
	cat >"$T/posix.c" <<'END_C'
#include "inherit.h"

int main(void)
{
	pthread_t thread[THREADS];

	if (begin() == -1)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, touch, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return end();
}
END_C
	cat >"$T/c11.c" <<'END_C'
#include "inherit.h"
#include <threads.h>

static int run(void *arg)
{
	return touch(arg) == NULL ? 12 : 0;
}

int main(void)
{
	thrd_t thread[THREADS];
	int result;

	if (begin() == -1)
		return 1;
	for (int i = 0; i < THREADS; i++)
		thrd_create(&thread[i], run, NULL);
	for (int i = 0; i < THREADS; i++) {
		if (thrd_join(thread[i], &result) != thrd_success || result != 12)
			return 2;
	}
	return end();
}
END_C
	cat >"$T/std.cc" <<'END_C'
#include "inherit.h"
#include <thread>
#include <vector>

int main()
{
	std::vector<std::thread> threads;

	if (begin() == -1)
		return 1;
	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(touch, nullptr);
	for (auto &thread : threads)
		thread.join();
	return end();
}
END_C
	cat >"$T/omp.c" <<'END_C'
#include "inherit.h"
#include <omp.h>

int main(void)
{
	if (begin() == -1)
		return 1;
#pragma omp parallel num_threads(THREADS + 1)
	if (omp_get_thread_num() > 0)
		touch(NULL);
	return end();
}
END_C
	# Its own pthread_create() is hidden from the program.
	cat >"$T/late.c" <<'END_C'
#include <dlfcn.h>
#include <errno.h>
#include <libcpc.h>
#include <stdio.h>

#define GET(name) __typeof__(name) *p_##name = (__typeof__(name) *)dlsym(library, #name)

int main(int argc, char **argv)
{
	void *library = dlopen(argv[argc - 1], RTLD_NOW);
	GET(cpc_open);
	GET(cpc_set_create);
	GET(cpc_set_add_request);
	GET(cpc_bind_curlwp);
	cpc_t *cpc = p_cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set = p_cpc_set_create(cpc);

	p_cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL);
	if (p_cpc_bind_curlwp(cpc, set, 0) == -1 ||
	    p_cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == 0)
		return 1;
	return errno == ENOTSUP ? 0 : 2;
}
END_C
}

# counts COMMAND: at least the pages of 4 threads, and less than those of 5; up to an eighth more
# under a sanitizer.
counts() {
	go -0 "$@"
	[ "$output" -ge 4000 ]
	[ "$output" -lt 5000 ]
}

# build NAME SOURCE FLAG...
build() {
	local cc=${CC:-cc} out=$1 source=$2
	[ "$source" = "${source%.cc}" ] || cc=${CXX:-c++}
	shift 2
	# shellcheck disable=SC2046 # words
	"$cc" -pthread -o "$T/$out" "$T/$source" "$@" $(pkg-config --cflags --libs libcpc)
}

# The shared library, as BUILD_SHARED_LIBS makes it.
build_shared() {
	local lib
	lib=$(dirname "$PKG_CONFIG_PATH")
	cc -shared -o "$T/libcpc.so" -Wl,-soname,libcpc.so \
		-Wl,--version-script,"$CPC_BUILD/libcpc.map" \
		-Wl,--whole-archive "$lib/libcpc.a" -Wl,--no-whole-archive \
		"$lib/libpctx.a" -lpfm -lbsd -pthread -ldl
	rm "$lib/libcpc.a"
	cp "$T/libcpc.so" "$lib/"
	export LD_LIBRARY_PATH=$lib
}

@test "threads of POSIX, C11, C++ and OpenMP inherit a set" {
	for source in posix.c c11.c std.cc; do
		build a.out "$source" -Wl,--as-needed
		counts "$T/a.out"
	done
	build a.out omp.c -fopenmp
	counts "$T/a.out"
}

# bats test_tags=all
@test "threads of a program that contains all libraries inherit a set" {
	for source in posix.c c11.c std.cc; do
		build a.out "$source" -static
		counts "$T/a.out"
	done
}

# bats test_tags=all
@test "threads inherit a set of a shared library" {
	build_shared
	for source in posix.c c11.c std.cc; do
		build a.out "$source" -Wl,--as-needed
		counts "$T/a.out"
	done
	build a.out omp.c -fopenmp
	counts "$T/a.out"
}

@test "a sanitizer, linked or preloaded, sees the threads that inherit" {
	[ -e "$(cc -print-file-name=libasan.so)" ] || skip "no sanitizers for this compiler"
	build a.out posix.c -fsanitize=address
	counts "$T/a.out"
	# The sanitizer's functions are weak, too, and come before those of the library.
	build a.out posix.c -fsanitize=address -static-libasan
	go -1 "$T/a.out"
	[[ $stderr == *"cannot see which threads the program creates"* ]]
	build_shared
	build a.out posix.c
	counts env LD_PRELOAD="$(cc -print-file-name=libasan.so)" "$T/a.out"
}

@test "a program may have a pthread_create() of its own" {
	cat >"$T/own.c" <<'END_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include "inherit.h"

static int calls;

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	__typeof__(pthread_create) *next = (__typeof__(next))dlsym(RTLD_NEXT, "pthread_create");

	calls++;
	return next(thread, attr, start, arg);
}

int main(void)
{
	pthread_t thread;
	uint64_t own;

	if (begin() == 0 || errno != ENOTSUP || cpc_bind_curlwp(cpc, set, 0) == -1)
		return 1;
	calls = 0;
	if (pthread_create(&thread, NULL, touch, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 2;
	return calls == 1 && cpc_set_sample(cpc, set, buf) == 0 &&
	       cpc_buf_get(cpc, buf, 0, &own) == 0 && own < PAGES ? 0 : 3;
}
END_C
	build a.out own.c
	go -0 "$T/a.out"
}

@test "a library that was opened too late reports that it cannot see threads" {
	build_shared
	# shellcheck disable=SC2046 # words
	cc -o "$T/a.out" "$T/late.c" $(pkg-config --cflags libcpc) -ldl
	go -0 "$T/a.out" "$T/libcpc.so"
	[[ $stderr == *"cannot see which threads the program creates"* ]]
}
