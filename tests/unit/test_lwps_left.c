/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * test_lwps_left.c - counting in the kernel: programs that are not needed are detached, and no BPF
 * object is left in the end.
 */
#include "lwps_watch.h"

#include <dirent.h>
#include <linux/bpf.h>
#include <sys/ioctl.h>

#define MAX_IDS 64

/* The ids of the BPF objects of a process, from /proc/PID/fdinfo. */
static unsigned ids_of(pid_t pid, const char *label, unsigned *ids)
{
	char path[300], line[200];
	struct dirent *entry;
	unsigned n = 0, id;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while ((entry = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)pid, entry->d_name);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (strncmp(line, label, strlen(label)) == 0 && n < MAX_IDS &&
			    sscanf(line + strlen(label), "%u", &id) == 1)
				ids[n++] = id;
		if (f)
			fclose(f);
	}
	closedir(d);
	return n;
}

static bool exists(int command, unsigned id)
{
	union bpf_attr attr;
	long fd;

	memset(&attr, 0, sizeof(attr));
	attr.prog_id = id; /* where the others have theirs, too */
	fd = syscall(SYS_bpf, command, &attr, sizeof(attr));
	if (fd >= 0)
		close((int)fd);
	return fd >= 0 || errno != ENOENT;
}

static void gone(int command, const unsigned *ids, unsigned n)
{
	const struct timespec ms = {.tv_nsec = 1000000};

	/* The kernel frees it after an RCU grace period. */
	for (int i = 0; n > 0 && i < HANG_MS; i++) {
		if (exists(command, ids[n - 1]))
			nanosleep(&ms, NULL);
		else
			n--;
	}
	assert_int_equal(n, 0);
}

struct remains {
	unsigned prog[MAX_IDS], nprogs, map[MAX_IDS], nmaps, link[MAX_IDS], nlinks;
};

static void look(struct remains *r, pid_t pid)
{
	r->nprogs = ids_of(pid, "prog_id:", r->prog);
	r->nmaps = ids_of(pid, "map_id:", r->map);
	r->nlinks = ids_of(pid, "link_id:", r->link);
	assert_true(r->nprogs > 0 && r->nmaps > 0 && r->nlinks > 0);
	errno = 0;
	if (!exists(BPF_PROG_GET_FD_BY_ID, r->prog[0]) || errno == EPERM)
		skip_because("only root may look for programs by their numbers");
}

static void nothing_is_left(const struct remains *r)
{
	gone(BPF_LINK_GET_FD_BY_ID, r->link, r->nlinks);
	gone(BPF_PROG_GET_FD_BY_ID, r->prog, r->nprogs);
	gone(BPF_MAP_GET_FD_BY_ID, r->map, r->nmaps);
}

static void test_close(void **state)
{
	struct remains r;

	(void)state;
	watch(everything, 64);
	run("forks", 2);
	look(&r, getpid());
	unwatch();
	nothing_is_left(&r);
}

static unsigned ncpus(void)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);

	return n < MAX_CPUS ? (unsigned)n : MAX_CPUS;
}

/* An event of each CPU: switches away from process 1, counted without our programs. */
static unsigned open_departures(int *fd)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.disabled = 1, /* until it has its filter */
	};
	FILE *f = fopen("/sys/kernel/tracing/events/sched/sched_switch/id", "re");
	unsigned cpu, opened = 0;

	if (!f)
		return 0;
	assert_int_equal(fscanf(f, "%llu", &attr.config), 1);
	fclose(f);
	for (cpu = 0; cpu < ncpus(); cpu++) {
		fd[cpu] = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);
		if (fd[cpu] == -1)
			continue;
		assert_int_equal(ioctl(fd[cpu], PERF_EVENT_IOC_SET_FILTER, "prev_pid == 1"), 0);
		assert_int_equal(ioctl(fd[cpu], PERF_EVENT_IOC_ENABLE, 0), 0);
		opened++;
	}
	return opened;
}

static uint64_t count_departures(const int *fd, bool last)
{
	uint64_t count, sum = 0;

	for (unsigned cpu = 0; cpu < ncpus(); cpu++) {
		if (fd[cpu] == -1)
			continue;
		assert_int_equal(read(fd[cpu], &count, sizeof(count)), sizeof(count));
		sum += count;
		if (last)
			close(fd[cpu]);
	}
	return sum;
}

static bool kernel_has(const char *symbol)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[600], name[512];
	bool found = false;

	assert_non_null(f);
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %511s", name) == 1 && strcmp(name, symbol) == 0;
	fclose(f);
	return found;
}

/* Gives process 1 a child that ends, so that process 1 runs. */
static void make_orphan(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0)
			usleep(10000);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/*
 * The second hook at switches is detached where the first one sees all of them.  Process 1 may
 * run at any moment, also during this test: the programs saw at least the switches between
 * their start and the look at them, and at most all switches.
 */
static void test_relieve(void **state)
{
	const bool has_second = kernel_has("__tracepoint_sched_exit_tp");
	unsigned ids[MAX_IDS], before, after;
	static int fd[MAX_CPUS];
	uint64_t early, least, most;
	int rounds = 0;

	(void)state;
	if (open_departures(fd) == 0)
		skip_because("no tracepoints here");
	watch(everything, 64);
	before = ids_of(getpid(), "link_id:", ids);
	early = count_departures(fd, false);
	do {
		make_orphan();
		usleep(20000);
		least = count_departures(fd, false) - early;
	} while (least == 0 && ++rounds < 50);
	lwps_drop_sched_exit(w.lwps);
	after = ids_of(getpid(), "link_id:", ids);
	most = count_departures(fd, true);
	assert_true(after == before || after == before - has_second);
	if (most == 0)
		assert_int_equal(after, before); /* this kernel does not tell what process 1 does */
	if (least > 0)
		assert_int_equal(after, before - has_second);
	if (after < before) {
		lwps_drop_sched_exit(w.lwps);
		assert_int_equal(ids_of(getpid(), "link_id:", ids), after);
	}
	run("forks", 10);
	assert_int_equal(w.nlwps, 11);
	unwatch();
	if (least == 0 && most > 0)
		skip_because("process 1 ran only while its switches were looked at");
}

static void test_kill(void **state)
{
	struct remains r;
	int ready[2];
	char byte = 0;
	pid_t pid;

	(void)state;
	watch(everything, 64); /* is it allowed? */
	unwatch();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		watch(everything, 64);
		lwps_track_next_child(w.lwps);
		start("forks", 1000000);
		while (lwps_live(w.lwps) < 1)
			;
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	look(&r, pid);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	nothing_is_left(&r);
	close(ready[0]);
	close(ready[1]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_relieve, cleanup),
		cmocka_unit_test_teardown(test_close, cleanup),
		cmocka_unit_test_teardown(test_kill, cleanup),
	};

	be_workload(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
