/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * job-control MODE - job control on a terminal of its own, as a shell sees it.
 *
 *   ttin    a job in the background that reads is stopped by SIGTTIN; in the foreground it
 *           reads
 *   ttou    the same for writing, with TOSTOP
 *   ctrl-z  ^Z stops a job of two processes with threads; it is continued
 *   ctrl-c  ^C kills it
 *   hangup  the session ends while the job is in the foreground: SIGHUP
 *   stop    SIGSTOP and SIGCONT, ten times; while stopped nothing runs
 *
 * Known: PASS, or FAIL and why.
 */
#include "work.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>

static int master, tty;

static void *count_on(void *arg)
{
	volatile long *n = arg;

	for (;;) {
		++*n;
		usleep(500);
	}
	return NULL;
}

/* A job: a process group whose first process does `work`. */
static pid_t start_job(void (*work)(void))
{
	pid_t pid = fork();

	must(pid != -1, "fork");
	if (pid == 0) {
		setpgid(0, 0);
		close(master);
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_DFL);
		work();
		_exit(5);
	}
	setpgid(pid, pid);
	return pid;
}

static void stopped(pid_t pid, int sig)
{
	int status;

	must(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) &&
		     WSTOPSIG(status) == sig,
	     "a job that stops");
}

static void ended(pid_t pid, int want)
{
	int status;

	must(waitpid(pid, &status, WUNTRACED) == pid && status == want, "a job that ends");
}

static void in_front(pid_t group)
{
	must(tcsetpgrp(tty, group) == 0, "tcsetpgrp");
}

static void read_line(void)
{
	char line[16];

	must(read(tty, line, sizeof(line)) == 2, "a line");
}

static void write_line(void)
{
	must(write(tty, "x\n", 2) == 2, "a line");
}

static void ttin(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = start_job(read_line);

		stopped(pid, SIGTTIN);
		in_front(pid);
		must(write(master, "x\n", 2) == 2, "typing");
		kill(-pid, SIGCONT);
		ended(pid, 5 << 8);
		in_front(getpgrp());
	}
}

static void ttou(void)
{
	struct termios mode;

	tcgetattr(tty, &mode);
	mode.c_lflag |= TOSTOP;
	tcsetattr(tty, TCSANOW, &mode);
	for (int i = 0; i < 5; i++) {
		pid_t pid = start_job(write_line);

		stopped(pid, SIGTTOU);
		in_front(pid);
		kill(-pid, SIGCONT);
		ended(pid, 5 << 8);
		in_front(getpgrp());
	}
}

static volatile long *counts; /* shared */

static void two_processes(void)
{
	start_thread(count_on, (void *)(uintptr_t)&counts[0]);
	if (fork() == 0)
		start_thread(count_on, (void *)(uintptr_t)&counts[1]);
	for (;;)
		pause();
}

static void both_count(void)
{
	long a = counts[0], b = counts[1];

	while (counts[0] == a || counts[1] == b)
		usleep(500);
}

/* On a busy machine it may take long until the other process is stopped. */
static void nobody_counts(void)
{
	for (int tries = 0; tries < 500; tries++) {
		long a = counts[0], b = counts[1];

		usleep(10000);
		if (counts[0] == a && counts[1] == b)
			return;
	}
	must(false, "nothing runs while it is stopped");
}

static void ctrl_z(void)
{
	pid_t pid = start_job(two_processes);

	in_front(pid);
	for (int i = 0; i < 5; i++) {
		both_count();
		must(write(master, "\032", 1) == 1, "typing");
		stopped(pid, SIGTSTP);
		nobody_counts();
		kill(-pid, SIGCONT);
	}
	kill(-pid, SIGKILL);
	ended(pid, SIGKILL);
}

static void ctrl_c(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = start_job(two_processes);

		in_front(pid);
		counts[0] = counts[1] = 0;
		both_count();
		must(write(master, "\003", 1) == 1, "typing");
		ended(pid, SIGINT);
	}
}

static void hangup(void)
{
	pid_t pid = start_job(two_processes);

	in_front(pid);
	both_count();
	/* We lead the session: when we end, the kernel sends SIGHUP to the job. */
}

static void stop(void)
{
	pid_t pid = start_job(two_processes);

	for (int i = 0; i < 10; i++) {
		both_count();
		kill(-pid, SIGSTOP);
		stopped(pid, SIGSTOP);
		nobody_counts();
		kill(-pid, SIGCONT);
	}
	kill(-pid, SIGKILL);
	ended(pid, SIGKILL);
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"ttin", ttin},	    {"ttou", ttou},	{"ctrl-z", ctrl_z},
		{"ctrl-c", ctrl_c}, {"hangup", hangup}, {"stop", stop},
	};
	pid_t pid = fork();
	int status;

	if (pid != 0) {
		must(waitpid(pid, &status, 0) == pid, "the session");
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	setsid();
	signal(SIGTTOU, SIG_IGN);
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	must(counts != MAP_FAILED && master != -1 && grantpt(master) == 0 && unlockpt(master) == 0,
	     "a terminal");
	tty = open(ptsname(master), O_RDWR | O_CLOEXEC);
	must(tty != -1, "the terminal");
	exit(RUN_MODE(modes, argc, argv));
}
