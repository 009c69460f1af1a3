/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * check.c - what can be counted on this machine, and how to enable the rest (--check).
 *
 * It tries to count instead of guessing from settings; then it prints the settings.
 */
#include "check.h"

#include "../base/say.h"
#include "../base/util.h"
#include "help.h"
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

#define LABEL "  %-16s "
#define LABEL_SIZE 32

static void print_line(const char *what, const char *text)
{
	char label[LABEL_SIZE];

	snprintf(label, sizeof(label), LABEL, what);
	help_print_text(stdout, label, text);
}

/* Prints "works" or the reason. */
static bool try_event(cpc_t *cpc, const char *what, const char *event, bool on_cpu)
{
	const char *why = trial_refusal(cpc, &event, 1, on_cpu);

	print_line(what, why == NULL ? "works" : why);
	return why == NULL;
}

static bool try_hardware(cpc_t *cpc)
{
	const char *const event = "cycles";
	const char *why = trial_refusal(cpc, &event, 1, false);
	char text[512];

	if (why != NULL) {
		print_line("hardware", why);
		return false;
	}
	snprintf(text, sizeof(text), "works: %s", cpc_cciname(cpc));
	print_line("hardware", text);
	return true;
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

/* Reads the first line of a file.  False: it is missing. */
static bool read_line(const char *path, char *text, int size)
{
	FILE *f = fopen(path, "re");
	bool got = f != NULL && fgets(text, size, f) != NULL;

	if (f != NULL)
		fclose(f);
	if (got)
		text[strcspn(text, "\n")] = '\0';
	return got;
}

/* `fix` is printed after a value above 0. */
static void print_setting(const char *what, const char *path, const char *missing, const char *fix)
{
	char value[64], text[256];

	if (read_line(path, value, sizeof(value)))
		snprintf(text, sizeof(text), "%s (%s)%s", value, path,
			 strtoll(value, NULL, 10) > 0 ? fix : "");
	else
		snprintf(text, sizeof(text), "%s", missing);
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
	bool hardware;

	printf("what can be counted:\n");
	hardware = try_hardware(cpc);
	try_event(cpc, "user mode", "page-faults", false);
	try_event(cpc, "kernel mode", "context-switches", false);
	try_event(cpc, "whole CPUs", "task-clock", true);
	try_event(cpc, "tracepoints", "sched:sched_switch", false);
	try_event(cpc, "breakpoints", "breakpoint/addr=0x401000/", false);
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
	if (fflush(stdout) != 0) {
		say("cannot write: %s", strerror(errno));
		return STATUS_FAILED;
	}
	return hardware ? STATUS_OK : STATUS_FAILED;
}
