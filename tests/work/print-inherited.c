/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * print-inherited - print what a program inherits: limits, signals, descriptors, environment.
 *
 * Known: the same lines whether it is tracked or not.
 */
#include "work.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/stat.h>

extern char **environ;

static void limits(void)
{
	struct rlimit lim;

	for (int i = 0; i < RLIM_NLIMITS; i++) {
		if (getrlimit((__rlimit_resource_t)i, &lim) == 0)
			printf("limit %d: %lld %lld\n", i, (long long)lim.rlim_cur,
			       (long long)lim.rlim_max);
	}
}

static void signals(void)
{
	struct sigaction act;
	sigset_t mask, pending;
	stack_t stack;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	sigpending(&pending);
	for (int sig = 1; sig < 65; sig++) {
		if (sigaction(sig, NULL, &act) == 0)
			printf("signal %d: %s%s%s\n", sig,
			       act.sa_handler == SIG_IGN   ? "ignored"
			       : act.sa_handler == SIG_DFL ? "default"
							   : "handled",
			       sigismember(&mask, sig) ? " blocked" : "",
			       sigismember(&pending, sig) ? " pending" : "");
	}
	sigaltstack(NULL, &stack);
	printf("signal stack %x\n", (unsigned)stack.ss_flags);
}

static void files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *de;

	if (dir == NULL)
		broken("/proc/self/fd");
	while ((de = readdir(dir)) != NULL) {
		if (de->d_name[0] != '.' && atoi(de->d_name) != dirfd(dir))
			printf("file %s: %d\n", de->d_name,
			       fcntl(atoi(de->d_name), F_GETFL) & O_ACCMODE);
	}
	closedir(dir);
}

/* Lines of a file of /proc/self that begin with one of these words. */
static void lines(const char *path, const char *const *words)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		for (const char *const *w = words; *w != NULL; w++) {
			if (strncmp(line, *w, strlen(*w)) == 0)
				fputs(line, stdout);
		}
	}
	fclose(f);
}

int main(int argc, char *argv[])
{
	static const char *const status[] = {"Uid",    "Gid",	      "Groups",	 "Umask",
					     "CapInh", "CapPrm",      "CapEff",	 "CapBnd",
					     "CapAmb", "NoNewPrivs",  "Seccomp", "Cpus_allowed",
					     "THP",    "Speculation", "Threads", NULL};
	static const char *const all[] = {"", NULL};
	struct sched_param param;
	struct stat st;
	char cwd[4096];

	for (int i = 0; i < argc; i++)
		printf("argument %d: %s\n", i, argv[i]);
	for (char **e = environ; *e != NULL; e++) {
		if (strncmp(*e, "_=", 2) != 0) /* set by shells to the program's path */
			printf("environment: %s\n", *e);
	}
	limits();
	signals();
	files();
	lines("/proc/self/status", status);
	lines("/proc/self/oom_score_adj", all);
	lines("/proc/self/timerslack_ns", all);
	lines("/proc/self/coredump_filter", all);
	lines("/proc/self/cgroup", all);
	sched_getparam(0, &param);
	printf("policy %d priority %d nice %d io %ld\n", sched_getscheduler(0),
	       param.sched_priority, getpriority(PRIO_PROCESS, 0), syscall(SYS_ioprio_get, 1, 0));
	printf("personality %x dumpable %d keeps %d\n", (unsigned)personality(0xffffffff),
	       prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS));
	printf("group %s session %s terminal %d\n", getpgrp() == getpid() ? "own" : "inherited",
	       getsid(0) == getpid() ? "own" : "inherited", isatty(STDIN_FILENO));
	printf("umask %o root %s\n", (unsigned)umask(022),
	       stat("/", &st) == 0 ? "there" : "not there");
	printf("in %s\n", getcwd(cwd, sizeof(cwd)));
	return 0;
}
