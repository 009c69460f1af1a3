/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The obsolete interface: events from specs, and back, bound to LWPs, processes and CPUs.
 */
#include "v1.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void count_names(void *arg, int regno, const char *name, uint8_t bits)
{
	assert_int_equal(regno, 1);
	assert_int_equal(bits, 0);
	*(int *)arg += strcmp(name, "page-faults") == 0;
}

static void machine(void **state)
{
	int cpuver = cpc_getcpuver(), n = 0;

	(void)state;
	assert_int_equal(cpc_version(CPC_VER_NONE), CPC_VER_CURRENT);
	assert_int_equal(cpc_version(CPC_VER_CURRENT), CPC_VER_CURRENT);
	assert_int_equal(cpc_version(CPC_VER_1), CPC_VER_1);
	assert_int_equal(cpc_version(77), CPC_VER_NONE);
	assert_in_range(cpc_getnpic(cpuver), 2, CPC_EVENT_PICS);
	/* Programs for Solaris compare with these, and match none. */
	switch (cpuver) {
	case CPC_ULTRA1:
	case CPC_ULTRA2:
	case CPC_ULTRA3:
	case CPC_ULTRA3_PLUS:
	case CPC_ULTRA3_I:
	case CPC_ULTRA4_PLUS:
	case CPC_PENTIUM:
	case CPC_PENTIUM_MMX:
	case CPC_PENTIUM_PRO:
	case CPC_PENTIUM_PRO_MMX:
		fail();
		break;
	default:
		break;
	}
	assert_null(cpc_getcciname(CPC_PENTIUM_PRO));
	assert_true(strlen(cpc_getcciname(cpuver)) > 0 && strlen(cpc_getcpuref(cpuver)) > 0);
	assert_non_null(strstr(cpc_getusage(cpuver), "[picn=]"));
	assert_null(cpc_getcciname(cpuver + 1));
	assert_int_equal(cpc_getnpic(cpuver + 1), 0);
	cpc_walk_names(cpuver, 1, &n, count_names);
	assert_int_equal(n, 1);
	assert_int_equal(cpc_access(), 0);
}

static void specs(void **state)
{
	static const struct {
		const char *spec, *why;
	} bad[] = {
		{"", "an event is missing"},
		{"pic0=", "an event is missing"},
		{"page-faults,,faults", "an event is missing"},
		{"pic0=EC_rfe", "unknown event 'EC_rfe' (did you mean 'EC_ref'?)"},
		{"pic0=page-faults,pic0=faults", "the slot of 'faults' is taken"},
		{"uprobe/func=/no/such:f/,pic0=faults", "the slot of 'faults' is taken"},
		{"pic16=page-faults", "no slot for 'page-faults'"},
		{"page-faults,sys=x", "the value of attribute 'sys' is not a number"},
		{"page-faults,sys3", "attribute 'sys' is for a slot without an event"},
		{"sys", "no event"},
		{"page-faults,nouser", "neither in user nor in kernel mode"},
		{"page-faults,picnum=3", "attribute 'picnum' cannot be given"},
	};
	cpc_event_t event = event_of(FAULTS), none = {0};
	char *text = cpc_eventtostr(&event);

	(void)state;
	assert_string_equal(text, FAULTS);
	free(text);
	for (int i = 0; i < CPC_EVENT_PICS; i++)
		assert_int_equal(event.ce_pic[i], 0);
	assert_null(cpc_eventtostr(&none));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_bind_event(&none, 0), -1);
	assert_int_equal(errno, EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(cpc_strtoevent(cpc_getcpuver(), bad[i].spec, &event), -1);
		assert_string_equal(told_fn, "cpc_strtoevent");
		if (strstr(told, bad[i].why) == NULL)
			fail_msg("'%s': %s", bad[i].spec, told);
	}
	assert_int_equal(cpc_strtoevent(99, FAULTS, &event), -1);
}

static void own_lwp(void **state)
{
	cpc_event_t event = event_of("pic2=page-faults,minor-faults,sys=0"), before, after, sum;

	(void)state;
	assert_int_equal(cpc_take_sample(&before), -1);
	assert_int_equal(errno, EINVAL);
	event.ce_pic[2] = 1000000;
	assert_int_equal(cpc_bind_event(&event, 0), 0);
	assert_int_equal(cpc_take_sample(&before), 0);
	assert_int_equal(cpc_take_sample(&before), 0);
	touch(100);
	assert_int_equal(cpc_take_sample(&after), 0);
	assert_int_equal(after.ce_pic[2] - before.ce_pic[2], 100);
	assert_in_range(after.ce_pic[2], 1000100, 1000200);
	sum = before;
	cpc_event_diff(&event, &after, &before);
	assert_int_equal(event.ce_pic[2], 100);
	assert_int_equal(event.ce_pic[3], 100);
	assert_int_equal(event.ce_pic[0], 0);
	assert_true(event.ce_tick > 0 && event.ce_hrt == after.ce_hrt);
	cpc_event_accum(&sum, &event);
	assert_memory_equal(&sum, &after, sizeof(sum));
	/* A sample can be bound as well. */
	assert_int_equal(cpc_bind_event(&after, 0), 0);
	assert_int_equal(cpc_take_sample(&before), 0);
	assert_true(before.ce_pic[2] >= after.ce_pic[2]);
	assert_int_equal(cpc_bind_event(&after, 0x40), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_bind_event(NULL, 0), 0);
	assert_int_equal(cpc_take_sample(&before), -1);
	assert_int_equal(cpc_rele(), 0);
}

static void modes(void **state)
{
	cpc_event_t event = event_of("page-faults"), before, after;

	(void)state;
	assert_int_equal(cpc_count_usr_events(0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_bind_event(&event, 0), 0);
	touch(10);
	assert_int_equal(cpc_count_usr_events(0), 0);
	assert_int_equal(cpc_take_sample(&before), 0);
	touch(100);
	assert_int_equal(cpc_take_sample(&after), 0);
	assert_true(before.ce_pic[0] >= 10);
	assert_int_equal(after.ce_pic[0], before.ce_pic[0]);
	assert_int_equal(cpc_count_usr_events(1), 0);
	touch(100);
	assert_int_equal(cpc_take_sample(&after), 0);
	assert_true(after.ce_pic[0] >= before.ce_pic[0] + 100);
	assert_true(after.ce_tick >= before.ce_tick);
	/* Without user mode one of the two events would count nothing: an error. */
	event = event_of("page-faults,page-faults,sys1");
	if (cpc_bind_event(&event, 0) == -1) {
		assert_int_equal(errno, EACCES);
		skip_because("only root may count in kernel mode here");
	}
	assert_int_equal(cpc_count_usr_events(0), -1);
	assert_int_equal(errno, ENOTSUP);
	assert_non_null(strstr(told, "some events would count nothing"));
	assert_int_equal(cpc_take_sample(&before), 0);
	touch(10);
	assert_int_equal(cpc_take_sample(&after), 0);
	assert_true(after.ce_pic[0] >= before.ce_pic[0] + 10);
	assert_true(after.ce_pic[1] >= before.ce_pic[1] + 10);
}

/* ---- claims ------------------------------------------------------------------------------- */

static void shared(void **state)
{
	/* An event of the core PMU; without one it counts page faults: see fake/core-pmu.c. */
	cpc_event_t event = event_of("cycles"), before, after;
	cpu_set_t all, one;
	int fd;

	(void)state;
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (CPU_COUNT(&all) > 1) {
		assert_int_equal(cpc_shared_open(), -1);
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	fd = cpc_shared_open();
	assert_true(fd >= 0);
	assert_int_equal(cpc_shared_take_sample(fd, &event), -1);
	assert_int_equal(errno, EINVAL);
	if (cpc_shared_bind_event(fd, &event, 0) == -1) {
		int err = errno;

		cpc_shared_close(fd);
		sched_setaffinity(0, sizeof(all), &all);
		assert_int_equal(err, EACCES);
		skip_because("whole CPUs may not be counted here: %s", told);
	}
	assert_int_equal(cpc_shared_take_sample(fd, &before), 0);
	touch(200);
	assert_int_equal(cpc_shared_take_sample(fd, &after), 0);
	assert_true(after.ce_pic[0] - before.ce_pic[0] >= 200);
	/* No LWP counts at the same time. */
	assert_int_equal(cpc_access(), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(cpc_bind_event(&event, 0), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(cpc_shared_rele(fd), 0);
	assert_int_equal(cpc_shared_take_sample(fd, &after), -1);
	cpc_shared_close(fd);
	assert_int_equal(cpc_access(), 0);

	/* Binding a CPU invalidates earlier sets, and the answer of cpc_access(). */
	assert_int_equal(cpc_bind_event(&event, 0), 0);
	assert_int_equal(cpc_access(), 0);
	fd = cpc_shared_open();
	assert_int_equal(cpc_shared_bind_event(fd, &event, 0), 0);
	assert_int_equal(cpc_access(), -1);
	assert_int_equal(errno, EAGAIN);
	cpc_shared_close(fd);
	assert_int_equal(cpc_rele(), 0);
	assert_int_equal(cpc_access(), 0);
	sched_setaffinity(0, sizeof(all), &all);
}

static struct {
	cpc_event_t event, last;
	int inits, wrong;
} child;

static int on_init(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)pid;
	(void)arg;
	child.inits++;
	if (cpc_pctx_bind_event(pctx, lwp, &child.event, 0) == -1)
		child.wrong++;
	return 0;
}

static int on_fini(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	cpc_event_t event;

	(void)pid;
	(void)arg;
	if (cpc_pctx_take_sample(pctx, lwp, &child.last) == -1 ||
	    cpc_pctx_invalidate(pctx, lwp) == -1 || cpc_pctx_take_sample(pctx, lwp, &event) != -1 ||
	    errno != EAGAIN || cpc_pctx_rele(pctx, lwp) == -1 || cpc_pctx_rele(pctx, lwp) != -1 ||
	    errno != EINVAL)
		child.wrong++;
	return 0;
}

static void controlled(void **state)
{
	char *args[] = {"true", NULL};
	pctx_t *pctx;

	(void)state;
	child.event = event_of(FAULTS);
	pctx = pctx_create("/bin/true", args, NULL, 0, NULL);
	if (pctx == NULL)
		skip_because("processes cannot be controlled here: %s", strerror(errno));
	pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, on_init, PCTX_FINI_LWP_EVENT, on_fini,
			PCTX_NULL_EVENT);
	assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
	pctx_release(pctx);
	assert_int_equal(child.inits, 1);
	assert_int_equal(child.wrong, 0);
	assert_true(child.last.ce_pic[0] >= child.last.ce_pic[1] && child.last.ce_pic[1] > 10);
}

static void on_trap(int sig)
{
	(void)sig;
	_exit(0);
}

/* A program that traps its system calls gets its signal for those of the library, too. */
static void trapped(void **state)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {ARRAY_SIZE(code), code};
	cpc_event_t event = event_of(FAULTS);
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		if (signal(SIGSYS, on_trap) == SIG_ERR ||
		    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
			_exit(77);
		cpc_bind_event(&event, 0);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip_because("a process may not filter its system calls");
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(machine, setup, teardown),
		cmocka_unit_test_setup_teardown(specs, setup, teardown),
		cmocka_unit_test_setup_teardown(own_lwp, setup, teardown),
		cmocka_unit_test_setup_teardown(modes, setup, teardown),
		cmocka_unit_test_setup_teardown(shared, setup, teardown),
		cmocka_unit_test_setup_teardown(controlled, setup, teardown),
		cmocka_unit_test_setup_teardown(trapped, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
