/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * self-count [-s] N EVENT... - counts the events in itself with libcpc, in user mode or with -s in
 * kernel mode, too, and prints for each what it counted between three samples, with nothing
 * and with a loop of N rounds in between.
 *
 * Known: a loop is 2 * N instructions in user mode.
 */
#include "work.h"

#include <libcpc.h>

static void loop(unsigned long n)
{
#if defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#elif defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
#else
#error "a loop of two instructions, please"
#endif
}

static uint64_t difference(cpc_t *cpc, cpc_buf_t *later, cpc_buf_t *earlier, int i)
{
	uint64_t a, b;

	if (cpc_buf_get(cpc, later, i, &a) == -1 || cpc_buf_get(cpc, earlier, i, &b) == -1)
		broken("cpc_buf_get");
	return a - b;
}

int main(int argc, char *argv[])
{
	uint_t flags = CPC_COUNT_USER;
	cpc_buf_t *buf[3];
	unsigned long n;
	cpc_set_t *set;
	cpc_t *cpc;
	int opt;

	while ((opt = getopt(argc, argv, "s")) != -1) {
		if (opt != 's')
			return WORK_BROKEN;
		flags |= CPC_COUNT_SYSTEM;
	}
	if (argc < optind + 2)
		return WORK_BROKEN;
	n = (unsigned long)number(argv[optind++]);
	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL)
		broken("cpc_open");
	set = cpc_set_create(cpc);
	for (int i = optind; i < argc; i++) {
		if (set == NULL || cpc_set_add_request(cpc, set, argv[i], 0, flags, 0, NULL) == -1)
			return WORK_BROKEN;
	}
	for (int i = 0; i < 3; i++)
		buf[i] = cpc_buf_create(cpc, set);
	if (cpc_bind_curlwp(cpc, set, 0) == -1)
		return 1;
	for (int warm = 0; warm < 2; warm++) {
		cpc_set_sample(cpc, set, buf[0]);
		cpc_set_sample(cpc, set, buf[1]);
		if (n > 0)
			loop(n);
		if (cpc_set_sample(cpc, set, buf[2]) == -1)
			broken("cpc_set_sample");
	}
	for (int i = 0; i < argc - optind; i++)
		printf("%llu %llu\n", (unsigned long long)difference(cpc, buf[1], buf[0], i),
		       (unsigned long long)difference(cpc, buf[2], buf[1], i));
	cpc_close(cpc);
	return 0;
}
