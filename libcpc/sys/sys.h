/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* sys.h - the bottom layer: the calling thread, time, privileges, /proc and /sys. */
#ifndef CPCI_SYS_H
#define CPCI_SYS_H

#include <cpc_types.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The calling thread's id, without a system call. */
pid_t cpci_self(void);
/* Call this in a forked child: its thread has another id. */
void cpci_self_forget(void);

hrtime_t cpci_now(void); /* CLOCK_MONOTONIC */
/* The CPU time of this thread: limits of it do not depend on the load. */
hrtime_t cpci_cpu_time(void);

/* The version of the kernel, comparable with CPCI_KERNEL(); 0: unknown. */
#define CPCI_KERNEL(major, minor, patch) ((major)*1000000L + (minor)*1000L + (patch))
long cpci_kernel(void);

/* Parses a decimal, 0x hex or 0 octal number, without blanks and signs. */
bool cpci_parse_number(const char *s, uint64_t *val);

/*
 * Makes room for one more element of `size` bytes in an array of `n`.  Returns the array; NULL:
 * out of memory, and the old array stays valid.
 */
void *cpci_grow(void *array, size_t n, size_t *room, size_t size);

/* Sets errno; returns -1. */
static inline int cpci_errno(int err)
{
	errno = err;
	return -1;
}

/* close(2), but keeps errno.  A negative `fd` is ignored. */
void cpci_close(int fd);

/* Reads the number at the start of a file; `none`: it cannot be read, or there is no number. */
long cpci_read_number(const char *path, long none);
long cpci_read_number_at(int dir, const char *path, long none); /* as openat(2) */

/* Opens /proc/PID/NAME, or /proc/self/NAME for pid 0.  Safe in signal handlers. */
int cpci_open_proc(pid_t pid, const char *name);

/*
 * Reads the beginning of /proc/PID/NAME, or of /proc/self/NAME for pid 0.  False: it cannot
 * be read, or is empty.  Safe in signal handlers.
 */
bool cpci_read_proc(pid_t pid, const char *name, char *text, size_t size);

/* Is /proc mounted, and does it show our PID namespace? */
bool cpci_own_proc(void);

/* Has the thread exited, or is it exiting?  False if that is unknown. */
bool cpci_lwp_ended(pid_t tid);

/*
 * Would process 1 reap our children after our exit?  In a container, it may be a program that
 * never calls wait(2), such as sleep(1).  True if that is unknown.
 */
bool cpci_orphans_are_reaped(void);

/*
 * Counts the other processes that have a file open whose name in /proc/PID/fd (readlink(2))
 * is `file`, up to `most`.  Only processes whose files we may see are counted.  `last`: NULL,
 * or the last one found.  A process with very many open files can hide later ones.
 */
unsigned cpci_count_openers(const char *file, unsigned most, pid_t *last);

/* "process 1234 (cpustat)", with '?' for each unprintable character of the name. */
void cpci_process_name(pid_t pid, char *text, size_t size);

/*
 * The root directory of tracefs, which stays open.  If tracefs is not mounted, it is mounted for
 * this process alone.  -1 and errno: EACCES: permission denied; any other: not mounted.
 */
#define CPCI_TRACEFS "/sys/kernel/tracing"
int cpci_tracefs(void);

/* kernel.perf_event_paranoid.  INT_MIN: a kernel without perf events; INT_MAX: unknown. */
int cpci_paranoid(void);

/* Does the process have this capability?  `pid` 0: the caller. */
bool cpci_have_cap(pid_t pid, int cap);
/* Does the process have CAP_PERFMON or CAP_SYS_ADMIN?  Safe in signal handlers. */
bool cpci_privileged(pid_t pid);
/* Does the caller have one in the initial user namespace, where the kernel checks them? */
bool cpci_privileged_here(void);

/* ---- lock.c -------------------------------------------------------------------- */

/*
 * The library's lock.  It protects the handles, their lists, and the bindings of sets to LWPs.
 * Its holder cannot be cancelled, so that it is always released.  It is recursive: fork(2) takes
 * it, and a signal handler may fork while its thread holds it.
 */
void cpci_lock(void);
void cpci_unlock(void);
/* cpci_unlock() in the child after a fork(2): the mutex's holder has another thread id there. */
void cpci_unlock_in_child(void);

/*
 * Fills `mask` with all signals except those that a thread's own actions raise, such as a
 * forbidden system call: blocked, they would kill the process.  Safe in signal handlers.
 */
void cpci_fill_mask(sigset_t *mask);
/* Keep signal handlers from interrupting the calling LWP.  Safe in signal handlers. */
void cpci_block_signals(sigset_t *old);
void cpci_unblock_signals(const sigset_t *old);

/* ---- thread.c ------------------------------------------------------------------ */

typedef __typeof__(pthread_create) cpci_create_fn;
/* pthread_create(3) of the C library, or of a sanitizer that wraps it; NULL: not found. */
cpci_create_fn *cpci_next_create(void);
/* Creates a thread for the library itself, which inherits no counters and takes no signals. */
int cpci_thread_create(pthread_t *thread, void *(*start)(void *), void *arg);

#endif /* CPCI_SYS_H */
