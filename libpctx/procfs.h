/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* procfs.h - reads information about tasks: in /proc, and in their memory. */
#ifndef PCTXI_PROCFS_H
#define PCTXI_PROCFS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* From /proc/TID/status. */
struct pctxi_task {
	char state; /* R, S, Z, ... */
	pid_t tgid; /* the process that it belongs to */
	pid_t ppid;
	pid_t tracer; /* thread id; 0: not traced */
	uid_t uid;    /* real */
};

int pctxi_task_read(pid_t tid, struct pctxi_task *task); /* -1: no such task */
/* The same for the calling LWP, even if /proc is of another PID namespace. */
int pctxi_task_read_self(struct pctxi_task *task); /* safe in signal handlers */
bool pctxi_task_is_dead(const struct pctxi_task *task);
bool pctxi_task_sleeps(const struct pctxi_task *task);
bool pctxi_is_zombie(pid_t tid);
/*
 * May it be in clone(2) or clone3(2)?  For a running task this is unknown: true.  `dir` is
 * the directory task of its process.
 */
bool pctxi_task_may_clone(int dir, pid_t tid);

/* Opens the directory of the LWPs of a process; NULL and errno. */
DIR *pctxi_open_tasks(pid_t pid);
/* The next process or LWP in a directory, which may be NULL; 0 at its end, with errno. */
pid_t pctxi_next_task(DIR *dir);

/* Is /proc mounted, and does it show our PID namespace? */
bool pctxi_own_proc(void);

/* The wait(2) status of a zombie; `status` if it no longer exists. */
int pctxi_exit_status(pid_t pid, int status);

bool pctxi_is_kthread(pid_t pid);
/* Has it stopped running?  It may not be a zombie yet: freeing much memory takes time. */
bool pctxi_is_exiting(pid_t tid);

/*
 * Is a stopped process also frozen by its cgroup?  With the freezer of cgroup v1 it is in an
 * uninterruptible sleep, and so is a thread that calls PTRACE_SEIZE for it.
 */
bool pctxi_is_stopped_and_frozen(pid_t pid, const struct pctxi_task *task);

/* Reads the start of /proc/TID/NAME, and appends a NUL byte.  Its length; -1 and errno. */
ssize_t pctxi_read_task_file(pid_t tid, const char *name, char *buf, size_t size);

/* The command line, its arguments separated by spaces; truncated to `buf`. */
void pctxi_cmdline(pid_t pid, char *buf, size_t size);

/* kernel.yama.ptrace_scope; 0 without Yama. */
int pctxi_yama_scope(void);

/* Reads memory of a stopped LWP. */
bool pctxi_peek(pid_t tid, uint64_t addr, void *buf, size_t size);

#endif /* PCTXI_PROCFS_H */
