/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * inherited-count COMMAND [ARGUMENT...] - count instructions and page faults of a command
 * and its descendants together, in user mode, by events that they inherit.
 *
 * Known: two numbers on standard output, the first 0 where there is no PMU, when all of them
 * have ended.  Exit status 0.
 */
#include "work.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/wait.h>

static int open_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void print_event(int fd)
{
	uint64_t value = 0;

	if (fd != -1 && read(fd, &value, sizeof(value)) != sizeof(value))
		broken("read");
	printf("%llu\n", (unsigned long long)value);
}

int main(int argc, char *argv[])
{
	int instructions = open_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	int faults = open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);

	if (argc < 2 || faults == -1)
		broken("perf_event_open");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (fork() == 0) {
		execvp(argv[1], argv + 1);
		broken(argv[1]);
	}
	while (wait(NULL) > 0)
		;
	print_event(instructions);
	print_event(faults);
	return 0;
}
