/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * drive-cpus EVENT CPU... - binds a set with EVENT to each CPU, by moving there and from afar, and
 * lets 1000 instructions happen there, by /dev/fakepmu of tests/vm/pmu.
 *
 * Known: each count is 1000.  Prints a line per bind: the CPU, whether the set says that it counts
 * there, and the count or the error.
 */
#include "work.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libcpc.h>

static int device;

static void drive(void)
{
	static const char event[] = "0xc0 1000 u";

	if (write(device, event, strlen(event)) == -1)
		broken(event);
}

static void count_on(cpc_t *cpc, const char *event, int cpu, uint_t flags)
{
	cpc_set_t *set = cpc_set_create(cpc);
	uint64_t count = 0;
	cpc_buf_t *buf;

	if (set == NULL || cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER, 0, NULL) == -1)
		broken(event);
	buf = cpc_buf_create(cpc, set);
	printf("cpu %d%s: counts on it %d; ", cpu, flags != 0 ? " remote" : "",
	       cpc_set_counts_on(cpc, set, cpu));
	if (cpc_bind_cpu(cpc, cpu, set, flags) == -1) {
		printf("bind: %s\n", strerror(errno));
		return;
	}
	if (flags != 0)
		move_to(cpu);
	drive();
	if (cpc_set_sample(cpc, set, buf) == -1)
		printf("sample: %s\n", strerror(errno));
	else if (cpc_buf_get(cpc, buf, 0, &count) == 0)
		printf("%" PRIu64 "\n", count);
	cpc_set_destroy(cpc, set);
	cpc_buf_destroy(cpc, buf);
}

int main(int argc, char *argv[])
{
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);

	device = open("/dev/fakepmu", O_WRONLY | O_CLOEXEC);
	if (cpc == NULL || device == -1)
		broken("cannot begin");
	for (int i = 2; i < argc; i++) {
		count_on(cpc, argv[1], (int)number(argv[i]), 0);
		count_on(cpc, argv[1], (int)number(argv[i]), CPC_BIND_CPU_REMOTE);
	}
	return 0;
}
