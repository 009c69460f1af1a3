/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * probe soft|kernel|cpu|pmu|ptrace - can this machine, and this user, do that?
 *
 *   soft    count one's own page faults in user mode
 *   kernel  count one's own context switches, which happen in the kernel
 *   cpu     count page faults of a whole CPU
 *   pmu     count one's own cycles on a hardware counter
 *   ptrace  trace a child
 *
 * Known: exit status 0 when it can; else 1 and the reason on standard output.  Tests
 * that need the thing are skipped with that reason.
 */
#include "work.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int try_event(unsigned int type, unsigned long config, bool user_only, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.exclude_kernel = user_only,
		.exclude_hv = user_only,
	};
	long fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0UL);

	if (fd == -1)
		return errno;
	close((int)fd);
	return 0;
}

static int try_ptrace(void)
{
	int error = 0;
	pid_t pid = fork();

	if (pid == -1)
		return errno;
	if (pid == 0) {
		die_with_parent();
		for (;;)
			pause();
	}
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == -1)
		error = errno;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return error;
}

int main(int argc, char *argv[])
{
	const char *what = argc == 2 ? argv[1] : "";
	int error;

	if (strcmp(what, "soft") == 0) {
		error = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true, 0, -1);
	} else if (strcmp(what, "kernel") == 0) {
		error = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false, 0, -1);
	} else if (strcmp(what, "cpu") == 0) {
		error = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true, -1,
				  sched_getcpu());
	} else if (strcmp(what, "pmu") == 0) {
		error = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true, 0, -1);
	} else if (strcmp(what, "ptrace") == 0) {
		error = try_ptrace();
	} else {
		errno = EINVAL;
		broken(what);
	}
	if (error == 0)
		return 0;
	printf("%s: %s\n", what, strerror(error));
	return 1;
}
