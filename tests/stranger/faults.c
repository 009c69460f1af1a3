/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * faults - print how many page faults it takes to write into 100 pages: 100.  C and C++.
 */
#include <libcpc.h>

#include <cpc_version.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGES 100

static char memory[(PAGES + 2) * 65536];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

int main(void)
{
	volatile char *p = memory;
	const long size = sysconf(_SC_PAGESIZE);
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set = cpc != NULL ? cpc_set_create(cpc) : NULL;
	cpc_buf_t *before, *after;
	uint64_t count;
	int faults;

	if (set == NULL)
		die("cpc_set_create");
	faults = cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL);
	before = cpc_buf_create(cpc, set);
	after = cpc_buf_create(cpc, set);
	if (faults == -1 || before == NULL || after == NULL)
		die("cpc_set_add_request");
	/* No huge pages. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == -1)
		die("prctl");

	/* The first sample has page faults of its own: its code is not in memory yet. */
	if (cpc_bind_curlwp(cpc, set, 0) == -1 || cpc_set_sample(cpc, set, before) == -1 ||
	    cpc_set_sample(cpc, set, before) == -1)
		die("cpc_bind_curlwp");
	for (int i = 1; i <= PAGES; i++)
		p[i * size] = 1;
	if (cpc_set_sample(cpc, set, after) == -1)
		die("cpc_set_sample");
	cpc_buf_sub(cpc, after, after, before);
	if (cpc_buf_get(cpc, after, faults, &count) == -1)
		die("cpc_buf_get");
	printf("%" PRIu64 "\n", count);
	return cpc_close(cpc);
}
