/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * check.c - what can be counted here, and what mends the rest.
 *
 * What works is found out by counting, not from settings; these are shown for what they are.
 */
#include "check.h"

#include "../base/say.h"
#include "../base/util.h"
#include "help.h"

#include <errno.h>
#include <libpctx.h>
#include <sched.h>
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

static void tell(const char *what, const char *text)
{
	char label[LABEL_SIZE];

	snprintf(label, sizeof(label), LABEL, what);
	caps_print_text(stdout, label, text);
}

/* Whether an event counts for an LWP, or with `on_cpu` on a CPU; NULL: it does. */
static const char *refusal(cpc_t *cpc, const char *event, bool on_cpu)
{
	cpc_set_t *set = cpc_set_create(cpc);
	const char *why = NULL;
	int rc;

	if (set == NULL)
		return strerror(errno);
	rc = cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER, 0, NULL);
	if (rc != -1 && on_cpu)
		rc = cpc_bind_cpu(cpc, sched_getcpu(), set,
				  CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED);
	else if (rc != -1)
		rc = cpc_bind_curlwp(cpc, set, CPC_BIND_LATE); /* as it is for others */
	if (rc == -1)
		why = cpcerr_text();
	cpc_set_destroy(cpc, set);
	return why;
}

/* A line: "works", or why not. */
static bool try_event(cpc_t *cpc, const char *what, const char *event, bool on_cpu)
{
	const char *why = refusal(cpc, event, on_cpu);

	tell(what, why == NULL ? "works" : why);
	return why == NULL;
}

static bool try_hardware(cpc_t *cpc)
{
	const char *why = refusal(cpc, "cycles", false);
	char text[512];

	if (why != NULL) {
		tell("hardware", why);
		return false;
	}
	snprintf(text, sizeof(text), "works: %s", cpc_cciname(cpc));
	tell("hardware", text);
	return true;
}

static char no_tracking[256];

static void keep_reason(const char *fn, const char *fmt, va_list ap)
{
	(void)fn;
	vsnprintf(no_tracking, sizeof(no_tracking), fmt, ap);
}

/* By attaching to a process of our own, as cputrack -p does to others. */
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
		tell("tracking", strerror(errno));
		return;
	}
	snprintf(no_tracking, sizeof(no_tracking), "does not work");
	pctx = pctx_capture(child, NULL, 0, keep_reason);
	tell("tracking", pctx != NULL ? "works" : no_tracking);
	if (pctx != NULL)
		pctx_release(pctx);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The first line of a file; false: it is not there. */
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

/* `mend` is told of a value above 0. */
static void tell_setting(const char *what, const char *path, const char *missing, const char *mend)
{
	char value[64], text[256];

	if (read_line(path, value, sizeof(value)))
		snprintf(text, sizeof(text), "%s (%s)%s", value, path,
			 strtoll(value, NULL, 10) > 0 ? mend : "");
	else
		snprintf(text, sizeof(text), "%s", missing);
	tell(what, text);
}

/* The value of a line "KEY:\tVALUE" of /proc/self/status; -1: there is none. */
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

static void tell_capabilities(void)
{
	static const struct {
		int bit;
		const char *name, *what;
	} caps[] = {
		{38, "CAP_PERFMON", "counts whatever perf_event_paranoid says"},
		{19, "CAP_SYS_PTRACE", "tracks processes of others"},
		{21, "CAP_SYS_ADMIN", "is what old kernels want for both"},
	};
	long long have = own_status("CapEff", 16);
	char text[256];

	for (size_t i = 0; i < sizeof(caps) / sizeof(*caps); i++) {
		snprintf(text, sizeof(text), "%s; it %s", have >> caps[i].bit & 1 ? "yes" : "no",
			 caps[i].what);
		tell(caps[i].name, text);
	}
}

static void tell_files(void)
{
	struct rlimit limit;
	char text[256];

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return;
	snprintf(text, sizeof(text),
		 "%llu, of which each event takes one for each LWP or CPU; ulimit -Hn, or "
		 "LimitNOFILE= of a unit, raises it",
		 (unsigned long long)limit.rlim_max);
	tell("open files", text);
}

int check_tell(cpc_t *cpc)
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
	printf("what decides about it:\n");
	tell_setting("paranoid", "/proc/sys/kernel/perf_event_paranoid",
		     "no perf events in this kernel, or /proc is not mounted", "");
	tell_setting("ptrace scope", "/proc/sys/kernel/yama/ptrace_scope",
		     "no Yama: own processes can be tracked",
		     "; cputrack -p takes CAP_SYS_PTRACE, or: sysctl kernel.yama.ptrace_scope=0");
	tell("seccomp", seccomp > 0 ? "a filter is in force, which may deny perf_event_open(2) or "
				      "ptrace(2); start the container without it, or with "
				      "--cap-add=PERFMON"
				    : "no filter");
	tell_capabilities();
	tell_files();
	if (fflush(stdout) != 0) {
		say("write error: %s", strerror(errno));
		return STATUS_FAILED;
	}
	return hardware ? STATUS_OK : STATUS_FAILED;
}
