/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * probe soft|kernel|cpu|pmu|breakpoint|uprobe|ptrace|attach|open - can this machine, and this user,
 * do that?
 *
 *   soft        count one's own page faults in user mode
 *   kernel      count one's own context switches, which happen in the kernel
 *   cpu         count page faults of a whole CPU
 *   pmu         count one's own cycles on a hardware counter
 *   breakpoint  count execution of an address, and writes to a variable
 *   uprobe      count calls of a function of a file
 *   ptrace      trace a child
 *   attach      trace another process of the same user, not a descendant
 *   open        watch whether processes open a file
 *
 * Known: exit status 0 when it can; else 1 and the reason on standard output.  Tests
 * that need the thing are skipped with that reason.
 */
#include "work.h"

#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <sys/fanotify.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int try_attr(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd;

	attr->size = sizeof(*attr);
	fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, 0UL);
	if (fd == -1)
		return errno;
	close((int)fd);
	return 0;
}

static int try_event(unsigned int type, unsigned long config, bool user_only, pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = type,
		.config = config,
		.exclude_kernel = user_only,
		.exclude_hv = user_only,
	};

	return try_attr(&attr, pid, cpu);
}

static __attribute__((noinline)) void hit(void)
{
	__asm__ volatile("" ::: "memory");
}

static volatile int variable;

/* An event can be opened where the hypervisor ignores debug registers: it must count, too. */
static int try_breakpoint(unsigned int kind, const volatile void *addr, unsigned int len)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = kind,
		.bp_addr = (uintptr_t)addr,
		.bp_len = len,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);
	uint64_t count = 0;

	if (fd == -1)
		return errno;
	hit();
	variable = 1;
	if (read(fd, &count, sizeof(count)) != (ssize_t)sizeof(count) || count != 1) {
		close(fd);
		return ENXIO;
	}
	close(fd);
	return 0;
}

static int try_breakpoints(void)
{
	int error = try_breakpoint(HW_BREAKPOINT_X, (const void *)(uintptr_t)hit, sizeof(long));

	return error != 0 ? error : try_breakpoint(HW_BREAKPOINT_W, &variable, sizeof(variable));
}

static int seize(pid_t pid)
{
	return ptrace(PTRACE_SEIZE, pid, NULL, NULL) == -1 ? errno : 0;
}

/* A function of ours; it is where the file has it, from the ELF header on. */
static int try_uprobe(void)
{
	extern const char __executable_start[];
	struct perf_event_attr attr = {
		.uprobe_path = (uintptr_t) "/proc/self/exe",
		.probe_offset = (uintptr_t)seize - (uintptr_t)__executable_start,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int n;

	if (f == NULL)
		return errno;
	n = fscanf(f, "%u", &attr.type);
	fclose(f);
	return n == 1 ? try_attr(&attr, 0, -1) : EIO;
}

/* Trace a child; or, for `attach`, have another child trace it. */
static int try_ptrace(bool attach)
{
	int error, status;
	pid_t pid = fork_dependent(), tracer;

	if (pid == -1)
		return errno;
	if (pid == 0) {
		for (;;)
			pause();
	}
	if (attach) {
		tracer = fork();
		if (tracer == 0)
			_exit(seize(pid));
		if (tracer == -1 || waitpid(tracer, &status, 0) != tracer)
			broken("fork");
		error = WEXITSTATUS(status);
	} else {
		error = seize(pid);
	}
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
	} else if (strcmp(what, "breakpoint") == 0) {
		error = try_breakpoints();
	} else if (strcmp(what, "uprobe") == 0) {
		error = try_uprobe();
	} else if (strcmp(what, "ptrace") == 0) {
		error = try_ptrace(false);
	} else if (strcmp(what, "attach") == 0) {
		error = try_ptrace(true);
	} else if (strcmp(what, "open") == 0) {
		error = fanotify_init(FAN_CLASS_NOTIF, O_RDONLY) == -1 ? errno : 0;
	} else {
		errno = EINVAL;
		broken(what);
	}
	if (error == 0)
		return 0;
	printf("%s: %s\n", what, strerror(error));
	return 1;
}
