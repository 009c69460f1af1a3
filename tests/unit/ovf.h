/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ovf.h - shared by tests of buffered overflows: page faults that overflow, and a handler
 * that takes them.
 */
#ifndef OVF_H
#define OVF_H

#include "handle.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FLAGS (CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT | CPC_OVF_BUFFERED)
#define EVERY(n) (UINT64_MAX - (n) + 1) /* the preset that overflows after `n` */
/* Where signals are late, rings may fill. */
#define MAY_LOSE UNDER_TSAN
#define PAGES 4096 /* that are mapped at a time */
#define MAY_NOT_COUNT 77
#define PAGE 4096UL

/* Of each thread: its set, and what its handler took. */
static _Thread_local struct {
	cpc_set_t *set;
	cpc_buf_t *buf, *sigbuf; /* that of the handler, which may interrupt a sample */
	_Atomic(unsigned long) signals, taken, wrong;
	bool exactly; /* so many as there are in a buffer, each time */
} self;

static inline int setup(void **state)
{
	memset(&self, 0, sizeof(self));
	return open_handle(state);
}

/* LWPs of this process: the poller is gone with the last set. */
static inline unsigned count_lwps(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *de;
	unsigned n = 0;

	while (dir != NULL && (de = readdir(dir)) != NULL)
		n += de->d_name[0] != '.';
	if (dir != NULL)
		closedir(dir);
	return n;
}

/*
 * Are there so many?  One that was joined may take a moment to go.  ThreadSanitizer has one of
 * its own, and tells itself of those that remain.
 */
static inline bool are_lwps(unsigned n)
{
	struct timespec now, start;

	if (MAY_LOSE)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		if (count_lwps() == n)
			return true;
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 20);
	return false;
}

static inline int teardown(void **state)
{
	signal(SIGEMT, SIG_DFL);
	return close_handle(state) == 0 && are_lwps(1) ? 0 : -1;
}

static inline void on_emt(int sig, siginfo_t *info, void *context)
{
	uint64_t pc[CPC_PCBUF_SIZE];

	(void)context;
	self.signals++;
	if (sig != SIGEMT || info->si_code != EMT_CPCOVF || info->si_addr == NULL ||
	    cpc_set_sample_pcbuf(cpc, self.set, self.sigbuf, pc) == -1 ||
	    (self.exactly && cpc_buf_npcs(cpc, self.sigbuf) != CPC_PCBUF_SIZE)) {
		self.wrong++;
		return;
	}
	self.taken += cpc_buf_npcs(cpc, self.sigbuf);
	for (uint_t i = 0; i < cpc_buf_npcs(cpc, self.sigbuf); i++)
		self.wrong += pc[i] == 0;
}

static inline void catch_emt(void)
{
	const struct sigaction act = {.sa_sigaction = on_emt, .sa_flags = SA_SIGINFO | SA_RESTART};

	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
}

static inline sigset_t block(void)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	return old;
}

static inline void unblock(sigset_t old)
{
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* The set of the calling thread: page faults that overflow, and the same counted beside. */
static inline void use_faults(uint64_t preset, uint_t flags)
{
	self.set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, self.set, "page-faults", preset, flags, 0, NULL),
			 0);
	assert_int_equal(cpc_set_add_request(cpc, self.set, "faults", 0, CPC_COUNT_USER, 0, NULL),
			 1);
	self.buf = cpc_buf_create(cpc, self.set);
	self.sigbuf = cpc_buf_create(cpc, self.set);
}

static inline void bind_set(void)
{
	if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
		fail_msg("%s: %s", strerror(errno), last_error.text);
}

/* Touches `n` fresh pages, one fault in user mode each, and none of a sanitizer's own. */
__attribute__((noinline, unused, no_sanitize("address"), no_sanitize("thread"))) static void
touch(volatile char *p, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		p[PAGE * i] = 1;
}

/* Not by mmap(3), of which a sanitizer keeps books that fault as well. */
static inline char *map_pages(void)
{
	long p = syscall(SYS_mmap, NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != -1);
	madvise((void *)p, PAGES * PAGE, MADV_NOHUGEPAGE);
	return (char *)p;
}

static inline void fault(unsigned long n)
{
	for (unsigned long done = 0; done < n; done += PAGES) {
		char *p = map_pages();

		touch(p, n - done < PAGES ? n - done : PAGES);
		syscall(SYS_munmap, p, PAGES * PAGE);
	}
}

/* The emulated machine has one CPU, and is slow. */
static inline bool is_emulated(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

/* `n`, or less where that takes long. */
static inline unsigned long many(unsigned long n)
{
	return UNDER_TSAN || UNDER_ASAN ? n / 10 : is_emulated() ? n / 40 : n;
}

/* Lets signals come: ThreadSanitizer keeps them until a call that it knows. */
static inline void await_more(void)
{
	poll(NULL, 0, 0);
	sched_yield();
}

static inline uint64_t value(int index)
{
	uint64_t val = 0;
	char lost[1024] = "";

	if (cpc_set_sample(cpc, self.set, self.buf) == -1) {
		int err = errno;

		cpc_set_lost(cpc, self.set, lost, sizeof(lost));
		fail_msg("%s; %s", strerror(err), lost);
	}
	assert_int_equal(cpc_buf_get(cpc, self.buf, index, &val), 0);
	return val;
}

/* What the handler has not taken. */
static inline void take_rest(void)
{
	uint64_t pc[CPC_PCBUF_SIZE];

	do {
		assert_int_equal(cpc_set_sample_pcbuf(cpc, self.set, self.buf, pc), 0);
		self.taken += cpc_buf_npcs(cpc, self.buf);
	} while (cpc_buf_npcs(cpc, self.buf) > 0);
}

/*
 * Runs a test that returns 0 in a child, as an ordinary user, who may have little memory for rings.
 * The limit is per user, so the child takes a user id that no other process has.
 */
static inline void with_little_memory(int (*test)(void))
{
	const struct rlimit none = {0};
	uid_t user = (uid_t)(20000 + getpid() % 40000);
	long allowed = 0;
	FILE *f;
	int status;
	pid_t pid;

	skip_under_tsan("knows no threads of a child");
	f = fopen("/proc/sys/kernel/perf_event_mlock_kb", "re");
	if (f == NULL || fscanf(f, "%ld", &allowed) != 1 || allowed != 516)
		skip_because("kernel.perf_event_mlock_kb is not what it is by default");
	fclose(f);
	pid = fork();
	if (pid == 0) {
		if (setrlimit(RLIMIT_MEMLOCK, &none) == -1 ||
		    (getuid() == 0 && (setgid(user) == -1 || setuid(user) == -1)))
			_exit(99);
		cpc_close(cpc);
		_exit(setup(NULL) == 0 ? test() : 98);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == MAY_NOT_COUNT)
		skip_because("an ordinary user may not count here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif /* OVF_H */
