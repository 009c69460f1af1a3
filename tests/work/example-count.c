/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * example-count [PAGES [LOOPS]] - example 1 of cpc_bind_curlwp(3CPC): a program that
 * measures a computation of its own.
 *
 * EVENT0 and EVENT1 name what it counts.  The computation is PAGES (100) page faults in user
 * mode and a loop of 2 LOOPS (0) instructions.
 *
 * Known: 20 lines, the number and both counts, each the same in all lines.
 *
 * Added to the manual's: error(), the computation, and room for its operands.
 */
#include "example.h"

#include <errno.h>
#include <inttypes.h>
#include <libcpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	char *event0 = NULL, *event1 = NULL;
	cpc_buf_t *diff, *after, *before;
	uint64_t val0, val1;
	int ind0, ind1;
	cpc_set_t *set;
	cpc_t *cpc;
	int iter;

	prepare(argc, argv);
	if ((cpc = cpc_open(CPC_VER_CURRENT)) == NULL)
		error("perf counters unavailable: %s", strerror(errno));
	if ((event0 = getenv("EVENT0")) == NULL)
		event0 = "EC_ref";
	if ((event1 = getenv("EVENT1")) == NULL)
		event1 = "EC_hit";
	if ((set = cpc_set_create(cpc)) == NULL)
		error("could not create set: %s", strerror(errno));
	if ((ind0 = cpc_set_add_request(cpc, set, event0, 0, CPC_COUNT_USER, 0, NULL)) == -1)
		error("could not add first request: %s", strerror(errno));
	if ((ind1 = cpc_set_add_request(cpc, set, event1, 0, CPC_COUNT_USER, 0, NULL)) == -1)
		error("could not add first request: %s", strerror(errno));
	if ((diff = cpc_buf_create(cpc, set)) == NULL)
		error("could not create buffer: %s", strerror(errno));
	if ((after = cpc_buf_create(cpc, set)) == NULL)
		error("could not create buffer: %s", strerror(errno));
	if ((before = cpc_buf_create(cpc, set)) == NULL)
		error("could not create buffer: %s", strerror(errno));
	if (cpc_bind_curlwp(cpc, set, 0) == -1)
		error("cannot bind lwp%d: %s", _lwp_self(), strerror(errno));

	for (iter = 1; iter <= 20; iter++) {
		if (cpc_set_sample(cpc, set, before) == -1)
			break;
		compute();
		if (cpc_set_sample(cpc, set, after) == -1)
			break;
		cpc_buf_sub(cpc, diff, after, before);
		cpc_buf_get(cpc, diff, ind0, &val0);
		cpc_buf_get(cpc, diff, ind1, &val1);
		(void)printf("%3d: %" PRId64 " %" PRId64 "\n", iter, val0, val1);
	}
	if (iter != 21)
		error("cannot sample set: %s", strerror(errno));
	cpc_close(cpc);
	return (0);
}
