/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * drive-inherited EVENT THREADS ROUNDS - binds a set that new threads inherit.  The first thread
 * and THREADS new ones each let 1000 instructions happen per round, by /dev/fakepmu of
 * tests/vm/pmu.
 *
 * Known: the sum of all threads is (THREADS + 1) x ROUNDS x 1000; prints the sum.
 */
#include "work.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libcpc.h>

static int device;
static long rounds;

static void *run(void *arg)
{
	static const char event[] = "0xc0 1000 u";

	(void)arg;
	for (long i = 0; i < rounds; i++) {
		if (write(device, event, strlen(event)) == -1)
			broken(event);
	}
	return NULL;
}

int main(int argc, char *argv[])
{
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set = cpc != NULL ? cpc_set_create(cpc) : NULL;
	const long n = argc == 4 ? number(argv[2]) : 0;
	pthread_t *thread = calloc((size_t)n + 1, sizeof(*thread));
	uint64_t sum = 0;
	cpc_buf_t *buf;

	device = open("/dev/fakepmu", O_WRONLY | O_CLOEXEC);
	if (argc != 4 || set == NULL || thread == NULL || device == -1)
		broken("cannot begin");
	rounds = number(argv[3]);
	if (cpc_set_add_request(cpc, set, argv[1], 0, CPC_COUNT_USER, 0, NULL) == -1)
		broken(argv[1]);
	buf = cpc_buf_create(cpc, set);
	if (buf == NULL || cpc_bind_curlwp(cpc, set, CPC_BIND_LWP_INHERIT) == -1)
		broken("cpc_bind_curlwp");
	for (long i = 0; i < n; i++)
		thread[i] = start_thread(run, NULL);
	run(NULL);
	for (long i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	if (cpc_set_sample_all(cpc, set, buf) == -1)
		broken("cpc_set_sample_all");
	cpc_buf_get(cpc, buf, 0, &sum);
	printf("%" PRIu64 "\n", sum);
	return 0;
}
