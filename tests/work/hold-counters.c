/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * hold-counters [-n N] [-d SECONDS | -e] COMMAND [ARGUMENT...] - run a command while all
 * hardware counters of all CPUs are held, with -n only N of each.  With -d they are taken
 * after so long, with -e at the end of standard input: they go before counters of LWPs, and
 * before counters of CPUs that were opened after the command began.  This program does without
 * libcpc, as any other program that counts on the machine.
 *
 * Known: the counters are pinned and CPU-wide, cycles and, on all but one, instructions.
 * Exit status: the command's; 112 when counters of ours did not count all the time, or not
 * the same.
 */
#include "work.h"

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#define DISTURBED 112
#define MAX_CPUS 8
#define MAX_COUNTERS 32

static unsigned long limit = MAX_COUNTERS;

struct cpu {
	int fd[MAX_COUNTERS]; /* a group: cycles lead */
	unsigned n;
};

static int open_counter(int cpu, int leader, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
		.pinned = leader == -1,
		.disabled = leader == -1,
		.exclude_kernel = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

/* Take as many as the kernel allows in a group. */
static void hold(struct cpu *cpu, int id)
{
	cpu->fd[0] = open_counter(id, -1, PERF_COUNT_HW_CPU_CYCLES);
	if (cpu->fd[0] == -1)
		broken("perf_event_open");
	for (cpu->n = 1; cpu->n < limit && cpu->n < MAX_COUNTERS; cpu->n++) {
		cpu->fd[cpu->n] = open_counter(id, cpu->fd[0], PERF_COUNT_HW_INSTRUCTIONS);
		if (cpu->fd[cpu->n] == -1)
			break;
	}
}

static void begin(const struct cpu *cpu)
{
	if (ioctl(cpu->fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == -1)
		broken("ioctl");
}

static bool undisturbed(const struct cpu *cpu, int id)
{
	struct {
		uint64_t n, enabled, running, value[MAX_COUNTERS];
	} got;
	bool good = read(cpu->fd[0], &got, sizeof(got)) == (ssize_t)((3 + cpu->n) * sizeof(got.n));

	good = good && got.n == cpu->n && got.running > 0;
	for (unsigned i = 2; good && i < cpu->n; i++)
		good = got.value[i] == got.value[1];
	if (!good)
		fprintf(stderr, "hold-counters: disturbed on CPU %d\n", id);
	return good;
}

int main(int argc, char *argv[])
{
	struct cpu cpus[MAX_CPUS];
	int ncpus = (int)sysconf(_SC_NPROCESSORS_ONLN), status, opt;
	unsigned delay = 0;
	bool good = true, at_end = false;
	pid_t pid;

	while ((opt = getopt(argc, argv, "+n:d:e")) != -1) {
		if (opt == 'n')
			limit = (unsigned long)number(optarg);
		else if (opt == 'd')
			delay = (unsigned)number(optarg);
		else if (opt == 'e')
			at_end = true;
		else
			return WORK_BROKEN;
	}
	if (optind == argc || ncpus > MAX_CPUS)
		return WORK_BROKEN;
	for (int i = 0; i < ncpus; i++)
		hold(&cpus[i], i);
	for (int i = 0; delay == 0 && !at_end && i < ncpus; i++)
		begin(&cpus[i]);
	pid = fork();
	if (pid == -1)
		broken("fork");
	if (pid == 0) {
		execvp(argv[optind], argv + optind);
		broken(argv[optind]);
	}
	sleep(delay);
	if (at_end)
		wait_eof();
	for (int i = 0; (delay != 0 || at_end) && i < ncpus; i++)
		begin(&cpus[i]);
	if (waitpid(pid, &status, 0) != pid)
		broken("waitpid");
	for (int i = 0; i < ncpus; i++)
		good &= undisturbed(&cpus[i], i);
	if (!good)
		return DISTURBED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
