/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Refusals of other machines and kernels: counters that do not interrupt, attributes that require
 * a privilege, slots that count cycles only, clocks that would hang.
 */
#include "handle.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define GENERAL 4 /* counters of the machine that counts hardware events here */

static struct {
	const char *kernel;
	bool pmu, interrupts;
	uint64_t privileged; /* a bit of config that an ordinary user may not set */
} machine;

static struct {
	uint_t n; /* in the group that was opened last */
	bool cycles;
	int leader;
} group;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
int __real_uname(struct utsname *name);
int __wrap_uname(struct utsname *name);

int __wrap_uname(struct utsname *name)
{
	int rc = __real_uname(name);

	if (machine.kernel != NULL)
		snprintf(name->release, sizeof(name->release), "%s", machine.kernel);
	return rc;
}

static int refuse(int err)
{
	errno = err;
	return -1;
}

/* GENERAL counters, and one for cycles; a file that counts nothing stands for each. */
static long open_hardware(const struct perf_event_attr *attr, pid_t pid, int cpu, int leader,
			  unsigned long flags)
{
	struct perf_event_attr dummy = {.type = PERF_TYPE_SOFTWARE,
					.size = sizeof(dummy),
					.config = PERF_COUNT_SW_DUMMY,
					.read_format = attr->read_format,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.pinned = attr->pinned,
					.disabled = attr->disabled};
	bool cycles = attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_CPU_CYCLES;

	if (attr->sample_period != 0 && !machine.interrupts)
		return refuse(EOPNOTSUPP);
	if ((attr->config & machine.privileged) != 0)
		return refuse(EACCES);
	if (leader == -1)
		memset(&group, 0, sizeof(group));
	if (cycles && !group.cycles)
		group.cycles = true;
	else if (group.n < GENERAL)
		group.n++;
	else
		return refuse(EINVAL);
	return __real_syscall(SYS_perf_event_open, &dummy, pid, cpu, leader, flags);
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	struct perf_event_attr *attr = (struct perf_event_attr *)a;

	if (number == SYS_perf_event_open && machine.pmu && attr->type != PERF_TYPE_SOFTWARE)
		return open_hardware(attr, (pid_t)b, (int)c, (int)d, (unsigned long)e);
	return __real_syscall(number, a, b, c, d, e, f);
}

static int setup(void **state)
{
	memset(&machine, 0, sizeof(machine));
	machine.pmu = machine.interrupts = true;
	return open_handle(state);
}

static void assert_refused(int rc, int err, int subcode, const char *text)
{
	assert_int_equal(rc, -1);
	assert_int_equal(errno, err);
	assert_int_equal(last_error.subcode, subcode);
	assert_non_null(strstr(last_error.text, text));
}

static int add_overflow(cpc_set_t *set, const char *event)
{
	return cpc_set_add_request(cpc, set, event, UINT64_MAX, CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT,
				   0, NULL);
}

/* Software events still overflow there. */
static void no_interrupts(void **state)
{
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	machine.interrupts = false;
	assert_int_equal(cpc_caps(cpc), 0);
	assert_int_equal(add_overflow(set, "cycles"), 0);
	assert_refused(cpc_bind_curlwp(cpc, set, 0), ENOTSUP, CPC_RESOURCE_UNAVAIL,
		       "its counter does not interrupt");
	set = cpc_set_create(cpc);
	assert_int_equal(add_overflow(set, "page-faults"), 0);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
}

static void interrupts(void **state)
{
	(void)state;
	assert_int_equal(cpc_caps(cpc), CPC_CAP_OVERFLOW_INTERRUPT | CPC_CAP_OVERFLOW_PRECISE);
}

static void clocks(void **state)
{
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	machine.pmu = false;
	machine.kernel = "6.17.7-test"; /* the library asks once */
	assert_int_equal(add_overflow(set, "task-clock"), 0);
	assert_refused(cpc_bind_curlwp(cpc, set, 0), ENOTSUP, CPC_RESOURCE_UNAVAIL,
		       "they would hang this kernel");
	set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, set, "task-clock", 0, CPC_COUNT_USER, 0, NULL),
			 0);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
}

/* The encoding of shipped names depends on the CPU. */
static int define_sum(void **state)
{
	static const char text[] = "both = cycles + instructions\n";
	int fd = memfd_create("definitions", MFD_CLOEXEC);
	char path[32];

	if (fd == -1 || fchmod(fd, 0600) == -1 ||
	    write(fd, text, sizeof(text) - 1) != sizeof(text) - 1)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return setenv("CPC_EVENTS", path, 1) == -1 ? -1 : setup(state);
}

static void sums(void **state)
{
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	assert_int_equal(add_overflow(set, "both"), 0);
	assert_refused(cpc_bind_curlwp(cpc, set, 0), ENOTSUP, CPC_RESOURCE_UNAVAIL,
		       "it is made of 2 counters");
}

static struct {
	bool cycles, instructions, faults;
} told;

static void tell(void *arg, uint_t picno, const char *event)
{
	(void)arg;
	(void)picno;
	told.cycles |= strcmp(event, "cycles") == 0;
	told.instructions |= strcmp(event, "instructions") == 0;
	told.faults |= strcmp(event, "page-faults") == 0;
}

static void capable(void **state)
{
	(void)state;
	memset(&told, 0, sizeof(told));
	cpc_walk_events_pic(cpc, 0, NULL, tell);
	assert_true(told.cycles && told.instructions && told.faults);
	memset(&told, 0, sizeof(told));
	cpc_walk_events_pic(cpc, GENERAL, NULL, tell);
	assert_true(told.cycles && !told.instructions && told.faults);
}

static void not_capable(void **state)
{
	cpc_attr_t last = {.ca_name = (char[]){"picnum"}, .ca_val = GENERAL};
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	assert_int_equal(cpc_npic(cpc), GENERAL + 1);
	assert_refused(cpc_set_add_request(cpc, set, "instructions", 0, CPC_COUNT_USER, 1, &last),
		       EINVAL, CPC_PIC_NOT_CAPABLE, "pic4 cannot count 'instructions'");
	assert_int_equal(cpc_set_add_request(cpc, set, "cycles", 0, CPC_COUNT_USER, 1, &last), 0);
	set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 1, &last),
			 0);
	last.ca_val = GENERAL - 1;
	assert_int_equal(cpc_set_add_request(cpc, set, "instructions", 0, CPC_COUNT_USER, 1, &last),
			 1);
	last.ca_val = GENERAL + 1;
	assert_refused(cpc_set_add_request(cpc, set, "instructions", 0, CPC_COUNT_USER, 1, &last),
		       EINVAL, CPC_INVALID_PICNUM, "no pic5");
}

/* Any PMU with fields. */
static void privileged(void **state)
{
	cpc_attr_t attr = {.ca_name = (char[]){"event"}, .ca_val = 0x80};
	cpc_set_t *set = cpc_set_create(cpc);

	(void)state;
	machine.privileged = 0x80;
	if (access("/sys/bus/event_source/devices/msr/format/event", R_OK) == -1)
		skip_because("this kernel has no msr/tsc/");
	assert_int_equal(cpc_set_add_request(cpc, set, "msr/tsc/", 0,
					     CPC_COUNT_USER | CPC_COUNT_SYSTEM, 1, &attr),
			 0);
	assert_refused(cpc_bind_curlwp(cpc, set, 0), EACCES, CPC_ATTR_REQUIRES_PRIVILEGE,
		       "with the attribute 'event'");
	attr.ca_val = 0x1;
	set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, set, "msr/tsc/", 0,
					     CPC_COUNT_USER | CPC_COUNT_SYSTEM, 1, &attr),
			 0);
	assert_int_equal(cpc_bind_curlwp(cpc, set, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(clocks, setup, close_handle),
		cmocka_unit_test_setup_teardown(no_interrupts, setup, close_handle),
		cmocka_unit_test_setup_teardown(interrupts, setup, close_handle),
		cmocka_unit_test_setup_teardown(sums, define_sum, close_handle),
		cmocka_unit_test_setup_teardown(capable, setup, close_handle),
		cmocka_unit_test_setup_teardown(not_capable, setup, close_handle),
		cmocka_unit_test_setup_teardown(privileged, setup, close_handle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
