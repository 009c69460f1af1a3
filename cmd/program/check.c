/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * check.c - what can be counted on this machine, and how to enable the rest (--check).
 *
 * It tries to count instead of guessing from settings; then it prints the settings.
 */
#include "help.h"

#include "../base/util.h"
#include "trial.h"

#include <errno.h>
#include <libpctx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_line(const char *what, const char *text)
{
	char label[32];

	snprintf(label, sizeof(label), "  %-16s ", what);
	help_print_text(label, text);
}

/* Prints `works` or the reason. */
static bool try_event(cpc_t *cpc, const char *what, const char *event, bool on_cpu,
		      const char *works)
{
	const char *why = trial_refusal(cpc, &event, 1, on_cpu);

	print_line(what, why == NULL ? works : why);
	return why == NULL;
}

static char why_no_tracking[256];

static void keep_reason(const char *fn, const char *fmt, va_list ap)
{
	(void)fn;
	vsnprintf(why_no_tracking, sizeof(why_no_tracking), fmt, ap);
}

/* Attaches to a child, as cputrack -p does to other processes. */
static void try_tracking(void)
{
	pid_t child = fork();
	pctx_t *pctx;

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (true)
			pause();
	}
	if (child == -1) {
		print_line("tracking", strerror(errno));
		return;
	}
	snprintf(why_no_tracking, sizeof(why_no_tracking), "does not work");
	pctx = pctx_capture(child, NULL, 0, keep_reason);
	print_line("tracking", pctx != NULL ? "works" : why_no_tracking);
	if (pctx != NULL)
		pctx_release(pctx);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Prints the number in a file, or `missing` without one; `fix` follows a number above 0. */
static void print_setting(const char *what, const char *path, const char *missing, const char *fix)
{
	FILE *f = fopen(path, "re");
	char text[256];
	int value;

	if (f != NULL && fscanf(f, "%d", &value) == 1)
		snprintf(text, sizeof(text), "%d (%s)%s", value, path, value > 0 ? fix : "");
	else
		snprintf(text, sizeof(text), "%s", missing);
	if (f != NULL)
		fclose(f);
	print_line(what, text);
}

/* The value of a line "KEY:\tVALUE" of /proc/self/status; -1: no such line. */
static long long own_status(const char *key, int base)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long long value = -1;
	size_t n = strlen(key);

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, n) == 0 && line[n] == ':')
			value = strtoll(line + n + 1, NULL, base);
	}
	if (f != NULL)
		fclose(f);
	return value;
}

static void print_capabilities(void)
{
	static const struct {
		int bit;
		const char *name, *what;
	} caps[] = {
		{38, "CAP_PERFMON", "allows counting with any perf_event_paranoid"},
		{19, "CAP_SYS_PTRACE", "allows tracking processes of other users"},
		{21, "CAP_SYS_ADMIN", "replaces both on old kernels"},
	};
	long long have = own_status("CapEff", 16);
	char text[256];

	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++) {
		snprintf(text, sizeof(text), "%s; it %s", have >> caps[i].bit & 1 ? "yes" : "no",
			 caps[i].what);
		print_line(caps[i].name, text);
	}
}

static void print_files(void)
{
	struct rlimit limit;
	char text[256];

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return;
	snprintf(text, sizeof(text),
		 "%llu; each event needs one per LWP or CPU; raise the limit with ulimit -Hn, or "
		 "LimitNOFILE= of a systemd unit",
		 (unsigned long long)limit.rlim_max);
	print_line("open files", text);
}

int check_print(cpc_t *cpc)
{
	long long seccomp = own_status("Seccomp", 10);
	char counters[512];
	bool hardware;

	snprintf(counters, sizeof(counters), "works: %s", cpc_cciname(cpc));
	printf("what can be counted:\n");
	hardware = try_event(cpc, "hardware", "cycles", false, counters);
	try_event(cpc, "user mode", "page-faults", false, "works");
	try_event(cpc, "kernel mode", "context-switches", false, "works");
	try_event(cpc, "whole CPUs", "task-clock", true, "works");
	try_event(cpc, "tracepoints", "sched:sched_switch", false, "works");
	try_event(cpc, "breakpoints", "breakpoint/addr=0x401000/", false, "works");
	try_tracking();
	printf("settings:\n");
	print_setting("paranoid", "/proc/sys/kernel/perf_event_paranoid",
		      "missing: this kernel has no perf events, or /proc is not mounted", "");
	print_setting(
		"ptrace scope", "/proc/sys/kernel/yama/ptrace_scope",
		"no Yama: the user's own processes can be tracked",
		"; cputrack -p requires CAP_SYS_PTRACE, or: sysctl kernel.yama.ptrace_scope=0");
	print_line("seccomp", seccomp > 0 ? "a filter is active; it can deny perf_event_open(2) or "
					    "ptrace(2); start the container without it, or with "
					    "--cap-add=PERFMON"
					  : "no filter");
	print_capabilities();
	print_files();
	return hardware ? STATUS_OK : STATUS_FAILED;
}
