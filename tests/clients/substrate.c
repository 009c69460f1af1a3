/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * substrate - a layer below a portable interface: it keeps a set and a buffer per event, adds the
 * buffers up, and at its end releases everything, whether it is there or not.  Prints what it
 * counted, and the messages of wrong calls, which it passes to vfprintf(3).
 */
#include <libcpc.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define EVENTS 4 /* of which two are used */
#define PAGES 500

static long page; /* found before counting: the first call of a function can be a page fault */
static cpc_t *cpc;
static cpc_set_t *set[EVENTS];
static cpc_buf_t *first[EVENTS], *last[EVENTS];

static void print(const char *fn, int subcode, const char *fmt, va_list ap)
{
	printf("%s (%d): ", fn, subcode);
	vprintf(fmt, ap);
}

static void add(int i, const char *event)
{
	set[i] = cpc_set_create(cpc);
	if (cpc_set_add_request(cpc, set[i], event, 7, CPC_COUNT_USER, 0, NULL) != 0)
		exit(1);
	first[i] = cpc_buf_create(cpc, set[i]);
	last[i] = cpc_buf_create(cpc, set[i]);
}

/* Writes into pages for the first time: a page fault each. */
static void touch(void)
{
	static char memory[(2 * PAGES + 2) * 65536L], *at = memory;

	for (int i = 0; i < PAGES; i++)
		*(volatile char *)(at += page) = 1;
}

static void count(int i)
{
	if (cpc_bind_curlwp(cpc, set[i], 0) == -1)
		exit(1);
	cpc_set_sample(cpc, set[i], first[i]);
	cpc_set_sample(cpc, set[i], first[i]);
	touch();
	cpc_set_sample(cpc, set[i], last[i]);
	cpc_buf_sub(cpc, last[i], last[i], first[i]);
	cpc_unbind(cpc, set[i]);
}

/* Twice, as some callers do. */
static void shut_down(void)
{
	for (int i = 0; i < EVENTS; i++) {
		cpc_unbind(cpc, set[i]);
		cpc_buf_destroy(cpc, first[i]);
		cpc_buf_destroy(cpc, last[i]);
		cpc_set_destroy(cpc, set[i]);
	}
}

int main(void)
{
	uint64_t val = 0;

	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == -1)
		return 1;
	page = sysconf(_SC_PAGESIZE);
	cpc = cpc_open(CPC_VER_CURRENT);
	add(0, "page-faults");
	add(2, "minor-faults");
	count(0);
	count(2);
	/* The sum of the buffers of two sets. */
	cpc_buf_add(cpc, last[0], last[0], last[2]);
	cpc_buf_get(cpc, last[0], 0, &val);
	printf("%llu\n", (unsigned long long)val);
	cpc_seterrhndlr(cpc, print);
	cpc_set_add_request(cpc, set[0], "no-such-event", 0, CPC_COUNT_USER, 0, NULL);
	shut_down();
	cpc_seterrhndlr(cpc, NULL);
	fclose(stderr);
	shut_down();
	printf("%d\n", cpc_close(cpc));
	printf("%d\n", cpc_close(cpc));
	return 0;
}
