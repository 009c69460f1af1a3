/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sample [ROUNDS] - what cpc_set_sample() costs beside a bare read(2) of the same group of
 * two events: nanoseconds per call, medians of interleaved rounds, and their ratio.
 */
#include "bench.h"

#include <err.h>
#include <libcpc.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS 20000

static int open_event(uint64_t config, int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0UL);

	if (fd == -1)
		err(1, "perf_event_open");
	return fd;
}

int main(int argc, char *argv[])
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 101;
	static double bare[MAX_ROUNDS], sample[MAX_ROUNDS];
	uint64_t raw[5];
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set;
	cpc_buf_t *buf;
	int fd;

	if (cpc == NULL || rounds == 0 || rounds > MAX_ROUNDS)
		errx(1, "no counters, or not 1 to %d rounds", MAX_ROUNDS);
	set = cpc_set_create(cpc);
	if (cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL) == -1 ||
	    cpc_set_add_request(cpc, set, "minor-faults", 0, CPC_COUNT_USER, 0, NULL) == -1)
		return 1;
	buf = cpc_buf_create(cpc, set);
	if (cpc_bind_curlwp(cpc, set, 0) == -1)
		return 1;
	fd = open_event(PERF_COUNT_SW_PAGE_FAULTS, -1);
	open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, fd);
	for (size_t r = 0; r < rounds; r++) {
		int64_t start = now_ns(CLOCK_MONOTONIC), middle;

		for (int i = 0; i < CALLS; i++) {
			if (read(fd, raw, sizeof(raw)) != sizeof(raw))
				err(1, "read");
		}
		middle = now_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < CALLS; i++) {
			if (cpc_set_sample(cpc, set, buf) == -1)
				err(1, "cpc_set_sample");
		}
		bare[r] = (double)(middle - start) / CALLS;
		sample[r] = (double)(now_ns(CLOCK_MONOTONIC) - middle) / CALLS;
	}
	printf("read(2) of a group of two: %.0f ns; cpc_set_sample: %.0f ns, %.2f x\n",
	       median(bare, rounds), median(sample, rounds),
	       median(sample, rounds) / median(bare, rounds));
	return cpc_close(cpc);
}
