/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tracker COMMAND [ARGUMENT...] - a small cputrack: each LWP of the command has a set of its own,
 * made from one spec; at its end its buffer is added to one of the first set.  Prints the page
 * faults of all LWPs of the command since their first sample.
 */
#include <libcpc.h>
#include <libpctx.h>

#include <stdio.h>
#include <stdlib.h>

#define MAX_LWPS 100

static cpc_t *cpc;
static struct {
	cpc_set_t *set;
	cpc_buf_t *buf;
} lwps[MAX_LWPS];
static cpc_buf_t *total;

static cpc_set_t *make_set(void)
{
	cpc_set_t *set = cpc_set_create(cpc);

	if (cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL) != 0)
		exit(1);
	return set;
}

static int init_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	cpc_set_t *set = make_set();

	(void)pid;
	(void)arg;
	if (id >= MAX_LWPS || cpc_bind_pctx(cpc, pctx, id, set, 0) == -1)
		exit(1);
	lwps[id].set = set;
	lwps[id].buf = cpc_buf_create(cpc, set);
	return 0;
}

static int fini_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	(void)pctx;
	(void)pid;
	(void)arg;
	if (cpc_set_sample(cpc, lwps[id].set, lwps[id].buf) == 0)
		cpc_buf_add(cpc, total, total, lwps[id].buf);
	cpc_buf_destroy(cpc, lwps[id].buf);
	cpc_set_destroy(cpc, lwps[id].set);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t val;
	pctx_t *pctx;

	if (argc < 2)
		return 2;
	cpc = cpc_open(CPC_VER_CURRENT);
	total = cpc_buf_create(cpc, make_set());
	pctx = pctx_create(argv[1], argv + 1, NULL, 0, NULL);
	if (pctx == NULL)
		return 1;
	pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, init_lwp, PCTX_FINI_LWP_EVENT, fini_lwp,
			PCTX_NULL_EVENT);
	if (pctx_run(pctx, 0, 0, NULL) != 0)
		return 1;
	pctx_release(pctx);
	pctx_release(pctx); /* as some do */
	cpc_buf_get(cpc, total, 0, &val);
	printf("%llu\n", (unsigned long long)val);
	cpc_close(cpc);
	return 0;
}
