/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lwps_watch.h - run a workload, watch it from the kernel, and keep the records of each LWP.
 */
#ifndef LWPS_WATCH_H
#define LWPS_WATCH_H

#include "unit.h"

#include "../../liblwps/lwps.h"
#include "lwps_work.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum column { MINOR, MAJOR, CLOCK, SWITCH, MIGRATE, NCOLUMNS };

#define MAX_CPUS 1024
#define MAX_LWPS 16384
#define HANG_MS 120000 /* nothing takes so long */

/* The contents of the records of an LWP, in the order of births. */
struct lwp {
	pid_t tid, tgid;
	enum lwps_event birth;
	unsigned images;
	bool ended, whole;
	int status;
	char comm[LWPS_COMM];
	uint64_t image[2][NCOLUMNS]; /* the first and the last */
	uint64_t sum[NCOLUMNS];
};

static struct watch {
	struct lwps *lwps;
	int fds[2][MAX_CPUS];
	unsigned ncpus;
	struct report *report;
	int report_fd;
	struct lwp lwp[MAX_LWPS];
	unsigned nlwps;
	struct lwp *in_slot[MAX_LWPS];
	unsigned execs, args_missing;
	char args[LWPS_ARGS], old_comm[LWPS_COMM];
	size_t args_size;
} w;

static inline int open_event(uint64_t config, unsigned cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The argument "few": fewer LWPs, for emulated machines.  After it may be a pattern for the names
 * of tests. */
static bool few;

/* So many LWPs, of 200 or more, or the part of them that still is a crowd. */
static inline unsigned crowd(unsigned n)
{
	return !few ? n : n > 500 ? n / 5 : 100;
}

/* Begin to watch, with so many slots; whatever else is in `config`. */
static inline void watch(struct lwps_config config, unsigned nslots)
{
	char why[200];
	unsigned cpu;

	w.nlwps = w.execs = w.args_missing = 0;
	memset(w.in_slot, 0, sizeof(w.in_slot));
	w.ncpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	if (w.ncpus > MAX_CPUS)
		skip_because("more than %d CPUs", MAX_CPUS);
	for (cpu = 0; cpu < w.ncpus; cpu++) {
		w.fds[MINOR][cpu] = open_event(PERF_COUNT_SW_PAGE_FAULTS_MIN, cpu);
		w.fds[MAJOR][cpu] = open_event(PERF_COUNT_SW_PAGE_FAULTS_MAJ, cpu);
	}
	config.ncolumns = NCOLUMNS;
	config.nturns = 1;
	config.column[MINOR].kind = LWPS_SOFTWARE;
	config.column[MINOR].fd = w.fds[MINOR];
	config.column[MAJOR].kind = LWPS_CPU;
	config.column[MAJOR].fd = w.fds[MAJOR];
	config.column[CLOCK].kind = LWPS_CLOCK;
	config.column[SWITCH].kind = LWPS_SWITCH;
	config.column[MIGRATE].kind = LWPS_MIGRATE;
	config.ncpus = w.ncpus;
	config.nslots = nslots;
	config.names = config.attaches = true;
	w.lwps = lwps_open(&config, why, sizeof(why));
	for (cpu = 0; cpu < w.ncpus; cpu++) {
		close(w.fds[MINOR][cpu]);
		close(w.fds[MAJOR][cpu]);
	}
	if (!w.lwps && errno == EPERM)
		skip_because("no BPF here: %s", why);
	if (!w.lwps)
		fail_msg("lwps_open: %s", why);
	w.report_fd = memfd_create("report", 0);
	assert_int_equal(ftruncate(w.report_fd, sizeof(*w.report)), 0);
	w.report =
		mmap(NULL, sizeof(*w.report), PROT_READ | PROT_WRITE, MAP_SHARED, w.report_fd, 0);
	assert_ptr_not_equal(w.report, MAP_FAILED);
}

static const struct lwps_config everything = {.follow_fork = true, .follow_exec = true};

static inline void unwatch(void)
{
	munmap(w.report, sizeof(*w.report));
	close(w.report_fd);
	lwps_close(w.lwps);
	w.lwps = NULL;
}

/* After each test, also one that failed: the next would wait for its LWPs. */
static inline int cleanup(void **state)
{
	(void)state;
	if (w.lwps != NULL)
		unwatch();
	return 0;
}

/* Execute this program as the workload `name`; `n` is up to that. */
static inline pid_t start(const char *name, unsigned n)
{
	const pid_t parent = getpid();
	char number[16], fd[16];
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(127);
		snprintf(number, sizeof(number), "%u", n);
		snprintf(fd, sizeof(fd), "%d", w.report_fd);
		execl("/proc/self/exe", "test_lwps", "work", name, number, fd, (char *)NULL);
		_exit(127);
	}
	assert_true(pid > 0);
	return pid;
}

/* ---- the records ---- */

static inline void begin(unsigned slot, struct lwp *lwp)
{
	assert_true(slot < MAX_LWPS);
	w.in_slot[slot] = lwp;
	if (lwp)
		lwp->images++;
}

static inline struct lwp *birth(const struct lwps_record *r)
{
	struct lwp *lwp = &w.lwp[w.nlwps++];

	assert_true(w.nlwps <= MAX_LWPS);
	*lwp = (struct lwp){.tid = r->tid, .tgid = r->tgid, .birth = r->event, .whole = true};
	return lwp;
}

static inline void end(unsigned slot)
{
	struct lwp *lwp = w.in_slot[slot];
	uint64_t values[NCOLUMNS];
	bool whole;
	int i;

	whole = lwps_whole(lwps_read(w.lwps, slot, values));
	lwps_release(w.lwps, slot);
	w.in_slot[slot] = NULL;
	if (!lwp)
		return;
	lwp->whole = lwp->whole && whole;
	for (i = 0; i < NCOLUMNS; i++) {
		lwp->sum[i] += values[i];
		lwp->image[lwp->images > 1][i] = values[i];
	}
}

static inline void exec(const struct lwps_record *r)
{
	struct lwp *lwp = NULL;

	w.execs++;
	w.args_missing += r->args_size == 0;
	memcpy(w.args, r->args, r->args_size);
	w.args_size = r->args_size;
	memcpy(w.old_comm, r->old_comm, sizeof(w.old_comm));
	if (r->slot == LWPS_NONE)
		lwp = birth(r);
	else if (r->slot != LWPS_SHARED)
		lwp = w.in_slot[r->slot];
	if (r->slot != LWPS_NONE && r->slot != LWPS_SHARED)
		end(r->slot);
	if (r->next != LWPS_NONE && r->next != LWPS_SHARED)
		begin(r->next, lwp);
	if (lwp)
		lwp->tid = r->tid;
}

static inline void take(const struct lwps_record *r)
{
	switch (r->event) {
	case LWPS_ATTACH:
	case LWPS_THREAD:
	case LWPS_FORK:
		begin(r->slot, birth(r));
		break;
	case LWPS_EXEC:
		exec(r);
		break;
	case LWPS_EXIT:
		if (r->slot == LWPS_SHARED)
			break;
		assert_non_null(w.in_slot[r->slot]);
		w.in_slot[r->slot]->ended = true;
		w.in_slot[r->slot]->status = r->status;
		memcpy(w.in_slot[r->slot]->comm, r->comm, sizeof(r->comm));
		end(r->slot);
		break;
	}
}

static inline unsigned take_all(void)
{
	struct lwps_record r;
	unsigned n;

	for (n = 0; lwps_next(w.lwps, &r); n++)
		take(&r);
	return n;
}

/* Take records until all have ended. */
static inline void follow(void)
{
	struct pollfd p = {.fd = lwps_fd(w.lwps), .events = POLLIN};

	do {
		/* None is awaited longer than it may take; the last LWP's end wakes us in any case.
		 */
		if (poll(&p, 1, HANG_MS) == 0)
			fail_msg("no record of %u LWPs", lwps_live(w.lwps));
		take_all();
	} while (lwps_live(w.lwps) > 0);
	take_all();
}

static inline void no_losses(void)
{
	struct lwps_losses l = lwps_losses(w.lwps);

	assert_int_equal(l.shared, 0);
	assert_int_equal(l.ring_full, 0);
	assert_int_equal(l.errors, 0);
	assert_int_equal(l.outside, 0);
}

/* Follow a workload to its end. */
static inline void run(const char *name, unsigned n)
{
	int status;
	pid_t pid;

	lwps_track_next_child(w.lwps);
	pid = start(name, n);
	follow();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(lwps_losses(w.lwps).ring_full, 0);
}

/* The next entry of a thread id: earlier threads may have had the same id. */
static inline const struct entry *entry_of(pid_t tid)
{
	for (unsigned i = 0; i < w.report->n; i++) {
		struct entry *e = &w.report->entry[i];

		if (e->tid == tid && !e->taken) {
			e->taken = true;
			return e;
		}
	}
	return NULL;
}

/*
 * For main(): run the workload if this program was executed as one.  LeakSanitizer is off there:
 * it would start threads that no test expects.
 */
static inline void be_workload(int argc, char **argv)
{
	if (argc >= 5 && strcmp(argv[1], "work") == 0)
		_exit(work(argv[2], atoi(argv[3]), atoi(argv[4])));
	few = argc >= 2 && strcmp(argv[1], "few") == 0;
	if (argc == 3)
		cmocka_set_test_filter(argv[2]);
}

#endif /* LWPS_WATCH_H */
