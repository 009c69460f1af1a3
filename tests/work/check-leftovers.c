/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * check-leftovers [-a USEC TRACKER] SECONDS COMMAND [ARG]... - run a command, and see
 * that it leaves nothing behind.
 *
 * -a: after USEC microseconds, runs the shell command TRACKER, which finds the process id
 * in $PID.  When USEC is negative, the command begins that long after the tracker, which
 * needs a while until it attaches; its process waits.  Each process that the command leaves becomes
 * our child and must have ended SECONDS after the beginning; if not, it is reported on standard
 * error, and killed.
 *
 * Known: the exit status of the command, 128 + n if it died of signal n; 124 when
 * something was left, stopped or not, or the command did not end.
 */
#include "work.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

enum { LEFT = 124 };

static int64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* The command starts when `gate` is closed, if there is one. */
static pid_t run(char *const argv[], const sigset_t *mask, const int gate[2])
{
	pid_t pid = fork();
	char c;

	if (pid == -1)
		broken("fork");
	if (pid == 0) {
		if (gate != NULL) {
			close(gate[1]);
			while (read(gate[0], &c, 1) == -1)
				;
		}
		sigprocmask(SIG_SETMASK, mask, NULL);
		execvp(argv[0], argv);
		broken(argv[0]);
	}
	return pid;
}

/* Reports every child and kills it; its children then become ours. */
static void tell_and_kill(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;
	char path[300], line[400], *p;
	int pid, ppid;
	char state;
	FILE *f;

	while (dir != NULL && (de = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/stat", de->d_name);
		f = de->d_name[0] >= '0' && de->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (f == NULL)
			continue;
		p = fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
		fclose(f);
		if (p == NULL || sscanf(p, ") %c %d", &state, &ppid) != 2 || ppid != getpid())
			continue;
		pid = atoi(de->d_name);
		p[1] = '\0';
		fprintf(stderr, "ward: left behind: %s, in state %c\n", line, state);
		kill(pid, SIGKILL);
	}
	closedir(dir);
}

int main(int argc, char *argv[])
{
	char *tracker[] = {(char[]){"sh"}, (char[]){"-c"}, NULL, NULL}, id[24];
	int at = 1, status, result = LEFT, gate[2];
	int64_t attach = INT64_MAX, begin = 0, start = now_us(), end;
	struct timespec nap = {.tv_nsec = 5000000};
	sigset_t chld, before;
	bool left = false;
	pid_t command, pid;

	if (argc > 3 && strcmp(argv[1], "-a") == 0) {
		attach = start + atoi(argv[2]);
		begin = start - atoi(argv[2]);
		tracker[2] = argv[3];
		at = 4;
	}
	if (argc < at + 2)
		return WORK_BROKEN;
	end = start + number(argv[at]) * 1000000;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &before);
	if (pipe2(gate, O_CLOEXEC) == -1)
		broken("pipe2");
	command = run(argv + at + 1, &before, gate);
	close(gate[0]);
	snprintf(id, sizeof(id), "%d", (int)command);
	setenv("PID", id, 1);
	for (;;) {
		if (now_us() >= attach) {
			run(tracker, &before, NULL);
			attach = INT64_MAX;
		}
		if (gate[1] != -1 && now_us() >= begin) {
			close(gate[1]);
			gate[1] = -1;
		}
		pid = waitpid(-1, &status, WNOHANG | __WALL);
		if (pid == -1)
			break;
		if (pid == command)
			result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (pid > 0)
			continue;
		if (now_us() > end) {
			left = true;
			tell_and_kill();
		}
		nap.tv_nsec = attach != INT64_MAX || gate[1] != -1 ? 100000 : 5000000;
		sigtimedwait(&chld, NULL, &nap);
	}
	return left ? LEFT : result;
}
