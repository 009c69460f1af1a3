/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * overflows.h - a set of page faults that overflow, its handler, and what is expected of them.
 */
#ifndef OVERFLOWS_H
#define OVERFLOWS_H

#include "work.h"

#include <libcpc.h>
#include <sys/wait.h>

#define PERIOD(n) (UINT64_MAX - (n) + 1)

/* Of each thread. */
static _Thread_local struct {
	cpc_t *cpc;
	cpc_set_t *set, *other;
	cpc_buf_t *buf, *other_buf;
	uint64_t period; /* of the first request; 0: not looked at */
	volatile long signals, wrong;
	bool stay, forks;
} self;

#define AREA 512L /* pages */

/*
 * So many page faults in user mode.  Not touch_pages(): a fault whose overflow sends a signal
 * is repeated, and counts again, if it is the first of its mapping and another thread happens
 * to change the address space.
 */
static inline void fault(long pages)
{
	static _Thread_local volatile char *area;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (area == NULL) {
		area = mmap(NULL, AREA * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		if (area == MAP_FAILED)
			broken("mmap");
		madvise((void *)area, AREA * page, MADV_NOHUGEPAGE);
		area[0] = 1;
	}
	while (pages > 0) {
		long n = pages < AREA ? pages : AREA - 1;

		madvise((void *)(area + page), (AREA - 1) * page, MADV_DONTNEED);
		for (long i = 1; i <= n; i++)
			area[(size_t)i * page] = 1;
		pages -= n;
	}
}

static inline void fork_in_handler(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		fault(10); /* nothing is bound here */
		_exit(cpc_set_restart(self.cpc, self.set) == -1 ? 0 : 1);
	}
	self.wrong += pid == -1 || waitpid(pid, &status, 0) != pid || status != 0;
}

static void on_emt(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	uint64_t val = 0;

	(void)context;
	self.signals++;
	self.wrong += sig != SIGEMT || info->si_code != EMT_CPCOVF || info->si_addr == NULL;
	if (cpc_set_sample(self.cpc, self.set, self.buf) == -1 ||
	    cpc_buf_get(self.cpc, self.buf, 1, &val) == -1 ||
	    (self.period != 0 && val != self.period))
		self.wrong++;
	if (self.other != NULL)
		self.wrong += cpc_set_sample(self.cpc, self.other, self.other_buf) == -1;
	if (self.forks)
		fork_in_handler();
	if (!self.stay)
		self.wrong += cpc_set_restart(self.cpc, self.set) == -1;
	errno = saved;
}

static inline void catch_emt(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	must(sigaction(SIGEMT, &act, NULL) == 0, "sigaction");
}

static inline int add(const char *event, uint64_t preset, uint_t flags)
{
	int index = cpc_set_add_request(self.cpc, self.set, event, preset, CPC_COUNT_USER | flags,
					0, NULL);

	must(index != -1, "cpc_set_add_request");
	return index;
}

/* Page faults that overflow, and the same counted beside; all that runs later is there. */
static inline void prepare(uint64_t period)
{
	self.cpc = cpc_open(CPC_VER_CURRENT);
	must(self.cpc != NULL, "cpc_open");
	self.set = cpc_set_create(self.cpc);
	add("page-faults", PERIOD(period), CPC_OVF_NOTIFY_EMT);
	add("faults", 0, 0);
	self.buf = cpc_buf_create(self.cpc, self.set);
	self.period = period;
	fault(1);
	raise(SIGEMT);
	self.signals = self.wrong = 0;
}

static inline void bind_set(void)
{
	must(cpc_bind_curlwp(self.cpc, self.set, 0) == 0, "cpc_bind_curlwp");
}

static inline uint64_t value(int index)
{
	uint64_t val = 0;

	must(cpc_set_sample(self.cpc, self.set, self.buf) == 0, "cpc_set_sample");
	must(cpc_buf_get(self.cpc, self.buf, index, &val) == 0, "cpc_buf_get");
	return val;
}

/*
 * An expectation of numbers.  ThreadSanitizer gives signals to their handlers when the program
 * calls something next, so that there is more or less of each then; what else it finds counts.
 */
static inline void must_count(bool good, const char *what)
{
#ifndef __SANITIZE_THREAD__
	must(good, what);
#else
	(void)good;
	(void)what;
#endif
}

static inline void must_have(long signals)
{
#ifndef __SANITIZE_THREAD__
	if (self.signals != signals || self.wrong != 0)
		dprintf(STDOUT_FILENO, "%ld signals, not %ld, %ld wrong\n", self.signals, signals,
			self.wrong);
#endif
	must_count(self.signals == signals && self.wrong == 0, "signals");
}

static inline void finish(void)
{
	must(cpc_close(self.cpc) == 0, "cpc_close");
}

#endif /* OVERFLOWS_H */
