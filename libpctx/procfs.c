/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* procfs.c - reads information about tasks: in /proc, and in their memory. */
#include "procfs.h"

#include <bsd/stdlib.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Fields of /proc/TID/stat, numbered as in proc(5). */
enum { STAT_FLAGS = 9, STAT_EXIT_CODE = 52 };

/* linux/sched.h */
#define PF_EXITING 0x00000004U
#define PF_KTHREAD 0x00200000U

/* Reads the start of a file as a string.  Returns its length, or -1. */
static ssize_t read_file_at(int dir, const char *path, char *buf, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd != -1) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
	return n;
}

ssize_t pctxi_read_task_file(pid_t tid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	return read_file_at(AT_FDCWD, path, buf, size);
}

/*
 * The text after the label of a line, or "".  The kernel escapes newlines in the name of the
 * task, so text after a newline really is a label.
 */
static const char *find_line(const char *text, const char *label)
{
	const char *at = strstr(text, label);

	return at != NULL ? at + strlen(label) : "";
}

static int find_number(const char *text, const char *label)
{
	return (int)strtol(find_line(text, label), NULL, 10);
}

static int read_status(const char *path, struct pctxi_task *task)
{
	char text[1024]; /* the lines needed here come early */

	*task = (struct pctxi_task){0};
	if (read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -1;
	task->state = *find_line(text, "\nState:\t");
	task->tgid = find_number(text, "\nTgid:\t");
	task->ppid = find_number(text, "\nPPid:\t");
	task->tracer = find_number(text, "\nTracerPid:\t");
	task->uid = (uid_t)strtoul(find_line(text, "\nUid:\t"), NULL, 10);
	return 0;
}

int pctxi_task_read(pid_t tid, struct pctxi_task *task)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	return read_status(path, task);
}

int pctxi_task_read_self(struct pctxi_task *task)
{
	return read_status("/proc/thread-self/status", task);
}

bool pctxi_task_is_dead(const struct pctxi_task *task)
{
	return task->state == 'Z' || task->state == 'X';
}

bool pctxi_task_sleeps(const struct pctxi_task *task)
{
	return task->state == 'S' || task->state == 'D';
}

bool pctxi_is_zombie(pid_t tid)
{
	struct pctxi_task task;

	return pctxi_task_read(tid, &task) == 0 && pctxi_task_is_dead(&task);
}

#define CLONE_32 120 /* SYS_clone of i386 and Arm programs */

bool pctxi_task_may_clone(int dir, pid_t tid)
{
	struct pctxi_task task;
	char path[32], text[256], *end;
	long nr;

	/* The directory of the process has this entry cached; /proc would have to create it. */
	snprintf(path, sizeof(path), "%d/syscall", (int)tid);
	errno = 0;
	if (read_file_at(dir, path, text, sizeof(text)) <= 0)
		return (errno != ENOENT && errno != ESRCH) ||
		       (pctxi_task_read(tid, &task) == 0 && !pctxi_task_is_dead(&task));
	nr = strtol(text, &end, 10);
	return end == text || nr == SYS_clone || nr == SYS_clone3 || nr == CLONE_32;
}

DIR *pctxi_open_tasks(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return opendir(path);
}

pid_t pctxi_next_task(DIR *dir)
{
	struct dirent *de;
	const char *bad;
	pid_t id;

	for (errno = 0; dir != NULL && (de = readdir(dir)) != NULL; errno = 0) {
		id = (pid_t)strtonum(de->d_name, 1, INT_MAX, &bad);
		if (bad == NULL)
			return id;
	}
	return 0;
}

bool pctxi_own_proc(void)
{
	char self[16];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	return strtol(self, NULL, 10) == getpid();
}

/* A number from /proc/TID/stat, field 4 or later; `none` if it is missing. */
static long stat_field(pid_t tid, int field, long none)
{
	char line[1024];
	const char *p;

	if (pctxi_read_task_file(tid, "stat", line, sizeof(line)) <= 0)
		return none;
	/* Field 2, the name in parentheses, may contain anything. */
	p = strrchr(line, ')');
	for (int at = 2; p != NULL && at < field; at++)
		p = strchr(p + 1, ' ');
	return p != NULL ? strtol(p, NULL, 10) : none;
}

bool pctxi_is_kthread(pid_t pid)
{
	return ((unsigned)stat_field(pid, STAT_FLAGS, 0) & PF_KTHREAD) != 0;
}

bool pctxi_is_exiting(pid_t tid)
{
	return ((unsigned)stat_field(tid, STAT_FLAGS, 0) & PF_EXITING) != 0;
}

/*
 * While a parent reaps a zombie, /proc shows the leader's own status, even if another LWP exited
 * last.  The status is right if the process is still a zombie afterwards.
 */
int pctxi_exit_status(pid_t pid, int status)
{
	int found = (int)stat_field(pid, STAT_EXIT_CODE, status);
	struct pctxi_task task;

	return pctxi_task_read(pid, &task) == 0 && task.state == 'Z' ? found : status;
}

bool pctxi_is_stopped_and_frozen(pid_t pid, const struct pctxi_task *task)
{
	char where[64];

	if (task->state != 'D')
		return false;
	pctxi_read_task_file(pid, "wchan", where, sizeof(where));
	return strcmp(where, "do_signal_stop") == 0;
}

void pctxi_cmdline(pid_t pid, char *buf, size_t size)
{
	ssize_t n = pctxi_read_task_file(pid, "cmdline", buf, size);

	if (n > 0 && buf[n - 1] == '\0')
		n--; /* the end of the last argument */
	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] == '\0')
			buf[i] = ' ';
	}
}

int pctxi_yama_scope(void)
{
	char text[16];

	read_file_at(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text));
	return (int)strtol(text, NULL, 10);
}

/* Falls back to ptrace(2) where process_vm_readv(2) is forbidden. */
bool pctxi_peek(pid_t tid, uint64_t addr, void *buf, size_t size)
{
	struct iovec to = {.iov_base = buf, .iov_len = size};
	struct iovec from = {.iov_base = (void *)(uintptr_t)addr, .iov_len = size};

	if (process_vm_readv(tid, &to, 1, &from, 1, 0) == (ssize_t)size)
		return true;
	for (size_t at = 0; at < size; at += sizeof(long)) {
		size_t n = size - at < sizeof(long) ? size - at : sizeof(long);
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)(addr + at), NULL);
		if (errno != 0)
			return false;
		memcpy((char *)buf + at, &word, n);
	}
	return true;
}
