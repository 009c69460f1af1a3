/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Buffered overflows: each full buffer sends a signal to the LWP that overflowed.
 *
 * With the name of a test as argument, it runs only that one.
 */
#include "ovf.h"

#include <setjmp.h>
#include <sys/syscall.h>

static unsigned turns = 20; /* fewer on the emulated machine */

/*
 * Waits until the handler has taken all full buffers that were not lost.  A loss is reported
 * after the records before it were taken, so more faults are needed.
 */
static void await_signals(void)
{
	while (self.signals < (value(1) / 10 - cpc_buf_nlost(cpc, self.buf)) / CPC_PCBUF_SIZE) {
		await_more();
		fault(10);
	}
}

/*
 * A signal for each full buffer, and the value goes round.  A busy machine may take the records
 * too late: then the losses are reported.
 */
static void *overflow_often(void *arg)
{
	unsigned long n = *(const unsigned long *)arg, total, lost;

	use_faults(EVERY(10), FLAGS);
	self.exactly = true;
	if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
		return arg;
	fault(n);
	await_signals();
	if (cpc_disable(cpc) == -1) /* values stand still */
		return arg;
	total = value(1) / 10;
	if (value(0) != EVERY(10) + value(1) % 10 || total < n / 10 || self.wrong != 0)
		return arg;
	take_rest();
	lost = cpc_buf_nlost(cpc, self.buf);
	if (self.taken + lost != value(1) / 10 ||
	    (lost == 0 && !MAY_LOSE && self.signals != total / CPC_PCBUF_SIZE))
		return arg;
	return cpc_unbind(cpc, self.set) == 0 ? NULL : arg;
}

static void one_thread(void **state)
{
	unsigned long n = many(400000);

	(void)state;
	catch_emt();
	assert_null(overflow_often(&n));
}

static void eight_threads(void **state)
{
	unsigned long n = many(40000);
	pthread_t thread[8];
	void *failed;

	(void)state;
	catch_emt();
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, overflow_often, &n), 0);
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++) {
		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
}

/* Each buffer that fills while the signal is blocked sends a signal later. */
static void blocked(void **state)
{
	sigset_t old;

	(void)state;
	catch_emt();
	use_faults(EVERY(10), FLAGS);
	self.exactly = true;
	bind_set();
	for (unsigned i = 1; i <= 3; i++) {
		unsigned long before = self.signals;

		old = block();
		fault(10UL * 5 * CPC_PCBUF_SIZE);
		assert_int_equal(self.signals, before);
		unblock(old);
		await_signals();
		assert_int_equal(self.signals, value(1) / 10 / CPC_PCBUF_SIZE);
	}
	assert_int_equal(self.wrong, 0);
	assert_int_equal(cpc_disable(cpc), 0);
	take_rest();
	assert_int_equal(self.taken, value(1) / 10);
}

/* No signal comes after unbinding, and the records are discarded. */
static void unbound(void **state)
{
	sigset_t old, pending;

	(void)state;
	skip_under_tsan("counts more");
	catch_emt();
	use_faults(EVERY(1), FLAGS);
	for (unsigned i = 0; i < turns; i++) {
		old = block();
		bind_set();
		fault(5UL * CPC_PCBUF_SIZE);
		assert_int_equal(cpc_unbind(cpc, self.set), 0);
		sigpending(&pending);
		assert_false(sigismember(&pending, SIGEMT));
		unblock(old);
		assert_int_equal(self.signals, 0);
	}
	bind_set();
	self.taken = 0;
	take_rest();
	assert_true(self.taken < 10);
}

static unsigned long frozen;

static void on_both(int sig, siginfo_t *info, void *context)
{
	uint64_t requests = 0;

	on_emt(sig, info, context);
	self.wrong += cpc_set_overflowed(cpc, self.set, &requests) == -1;
	if (requests != 0) {
		frozen++;
		self.wrong += requests != 2 || cpc_set_restart(cpc, self.set) == -1;
	}
}

/*
 * Reads each page of the rings, as the library will do later.  The first look at one is a page
 * fault where a sanitizer keeps a shadow of it.
 */
static void touch_rings(void)
{
	unsigned long begin, end;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strstr(line, "[perf_event]") == NULL ||
		    sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		for (; begin < end; begin += 4096)
			(void)*(const volatile char *)begin;
	}
	fclose(f);
}

/* One request is buffered, the other freezes all. */
static void beside_unbuffered(void **state)
{
	const struct sigaction act = {.sa_sigaction = on_both, .sa_flags = SA_SIGINFO};
	uint64_t beside;

	(void)state;
	skip_under_tsan("keeps signals");
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	self.set = cpc_set_create(cpc);
	assert_int_equal(
		cpc_set_add_request(cpc, self.set, "page-faults", EVERY(7), FLAGS, 0, NULL), 0);
	assert_int_equal(cpc_set_add_request(cpc, self.set, "faults", EVERY(1000),
					     CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL),
			 1);
	self.buf = cpc_buf_create(cpc, self.set);
	self.sigbuf = cpc_buf_create(cpc, self.set);
	frozen = 0;
	bind_set();
	touch_rings();
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	take_rest();
	self.taken = 0;
	fault(many(100) * 1000 + 500);
	/* Each restart came in the middle of a period. */
	beside = value(1) - EVERY(1000);
	assert_int_equal(frozen, many(100));
	assert_int_equal(value(0), EVERY(7) + beside % 7);
	take_rest();
	assert_int_equal(self.taken, many(100) * (1000 / 7) + beside / 7);
	assert_int_equal(self.wrong, 0);
}

static sigjmp_buf escape;

static void jump(int sig)
{
	(void)sig;
	self.signals++;
	siglongjmp(escape, 1);
}

static void jump_with_record(void *arg, const cpc_ovf_t *ovf)
{
	(void)ovf;
	++*(unsigned long *)arg;
	siglongjmp(escape, 1);
}

/* longjmp(3) out of the handler, and out of the walk over records. */
static void longjmp_out(void **state)
{
	const struct sigaction act = {.sa_handler = jump};
	unsigned long walked = 0;
	sigset_t old;

	(void)state;
	skip_under_tsan("keeps signals");
	use_faults(EVERY(1), FLAGS);
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	bind_set();
	while (self.signals < 20) {
		if (sigsetjmp(escape, 1) == 0) {
			for (;;)
				fault(PAGES);
		}
		old = block();
		take_rest();
		unblock(old);
	}
	old = block();
	if (sigsetjmp(escape, 1) == 0)
		cpc_set_sample_ovf(cpc, self.set, self.buf, &walked, jump_with_record);
	take_rest();
	self.taken = walked = 0;
	fault(10);
	while (walked < 10) {
		if (sigsetjmp(escape, 1) == 0)
			cpc_set_sample_ovf(cpc, self.set, self.buf, &walked, jump_with_record);
	}
	take_rest();
	assert_int_equal(self.taken, 0);
	assert_int_equal(cpc_unbind(cpc, self.set), 0);
	unblock(old);
}

static void close_all(int sig)
{
	(void)sig;
	self.signals++;
	cpc_close(cpc);
	cpc = NULL;
}

static void closed_in_handler(void **state)
{
	const struct sigaction act = {.sa_handler = close_all};

	(void)state;
	skip_under_tsan("wants nothing freed in handlers, not even where that is safe");
	for (unsigned i = 0; i < turns; i++) {
		use_faults(EVERY(1), FLAGS);
		assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
		bind_set();
		self.signals = 0;
		while (self.signals == 0)
			fault(CPC_PCBUF_SIZE);
		assert_null(cpc);
		fault(10UL * CPC_PCBUF_SIZE);
		assert_int_equal(self.signals, 1);
		assert_true(are_lwps(1));
		assert_int_equal(setup(NULL), 0);
	}
}

/* A child has no poller and no records, and can have its own. */
static void children(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	skip_under_tsan("knows no threads of a child");
	catch_emt();
	use_faults(EVERY(1), FLAGS);
	bind_set();
	for (unsigned i = 0; i < turns; i++) {
		fault(1000);
		pid = fork();
		if (pid == 0) {
			self.signals = 0;
			fault(1000);
			if (self.signals != 0 || !are_lwps(1))
				_exit(1);
			if (cpc_bind_curlwp(cpc, self.set, 0) == -1 || !are_lwps(2))
				_exit(2);
			while (self.signals == 0)
				fault(CPC_PCBUF_SIZE);
			if (self.wrong != 0 || cpc_unbind(cpc, self.set) == -1 || !are_lwps(1))
				_exit(3);
			/* Exit with a bound set. */
			if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
				_exit(4);
			if (i % 2 == 0)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	assert_int_equal(cpc_disable(cpc), 0);
	take_rest();
	assert_int_equal(self.taken + cpc_buf_nlost(cpc, self.buf), value(1));
	assert_int_equal(self.wrong, 0);
}

static void *leave_bound(void *arg)
{
	(void)arg;
	block();
	use_faults(EVERY(1), FLAGS);
	bind_set();
	fault(3UL * CPC_PCBUF_SIZE);
	return self.set;
}

/* A set is unbound when its LWP ends. */
static void ended_threads(void **state)
{
	pthread_t thread;
	void *set;

	(void)state;
	for (unsigned i = 0; i < turns; i++) {
		assert_int_equal(pthread_create(&thread, NULL, leave_bound, NULL), 0);
		assert_int_equal(pthread_join(thread, &set), 0);
		assert_int_equal(cpc_unbind(cpc, set), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(cpc_set_destroy(cpc, set), 0);
	}
}

/* ---- the signal path's own events ---------------------------------------------------------- */

static void restart_alone(int sig)
{
	(void)sig;
	self.signals++;
	self.wrong += cpc_set_restart(cpc, self.set) == -1;
}

/*
 * Each handler makes two system calls: the restart and the return.  With a period of two such
 * calls, the program would only run the handler.
 */
static void own_calls(void **state)
{
	const uint_t flags = CPC_COUNT_USER | CPC_COUNT_SYSTEM | CPC_OVF_NOTIFY_EMT;
	unsigned long before;

	(void)state;
	skip_under_tsan("keeps signals");
	self.set = cpc_set_create(cpc);
	if (cpc_set_add_request(cpc, self.set, "raw_syscalls:sys_enter", EVERY(1), flags, 0,
				NULL) == -1)
		skip_because("no tracepoints that may be counted");
	signal(SIGEMT, restart_alone);
	for (unsigned long period = 1; period < 4; period++) {
		assert_int_equal(cpc_set_request_preset(cpc, self.set, 0, EVERY(period)), 0);
		assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), -1);
		assert_int_equal(errno, EINVAL);
		assert_non_null(strstr(last_error.text, "would never be left"));
	}
	assert_int_equal(cpc_set_request_preset(cpc, self.set, 0, EVERY(4)), 0);
	bind_set();
	before = self.signals;
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	assert_int_equal(self.signals - before, 500);
	assert_int_equal(cpc_disable(cpc), 0);
	assert_int_equal(cpc_request_preset(cpc, 0, EVERY(3)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpc_request_preset(cpc, 0, EVERY(5)), 0);
	assert_int_equal(cpc_unbind(cpc, self.set), 0);
	assert_int_equal(self.wrong, 0);
}

/*
 * These calls cause further events: cross-CPU function calls of the kernel, and on x86 loads of
 * the FPU registers.
 */
static void own_consequences(void **state)
{
	static const char *const events[] = {"csd:csd_function_entry", "csd:csd_function_exit",
					     "x86_fpu:x86_fpu_regs_activated"};
	const uint_t flags = CPC_COUNT_USER | CPC_COUNT_SYSTEM | CPC_OVF_NOTIFY_EMT;
	unsigned found = 0;

	(void)state;
	signal(SIGEMT, restart_alone);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		self.set = cpc_set_create(cpc);
		if (cpc_set_add_request(cpc, self.set, events[i], EVERY(3), flags, 0, NULL) == -1)
			continue;
		found++;
		assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(cpc_set_request_preset(cpc, self.set, 0, EVERY(4)), 0);
		bind_set();
		for (int k = 0; k < 100; k++) {
			assert_int_equal(cpc_set_restart(cpc, self.set), 0);
			sched_yield();
		}
		assert_int_equal(cpc_unbind(cpc, self.set), 0);
	}
	if (found == 0)
		skip_because("no tracepoints that may be counted");
	assert_int_equal(self.wrong, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(eight_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(blocked, setup, teardown),
		cmocka_unit_test_setup_teardown(unbound, setup, teardown),
		cmocka_unit_test_setup_teardown(beside_unbuffered, setup, teardown),
		cmocka_unit_test_setup_teardown(longjmp_out, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_in_handler, setup, teardown),
		cmocka_unit_test_setup_teardown(children, setup, teardown),
		cmocka_unit_test_setup_teardown(ended_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(own_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(own_consequences, setup, teardown),
	};

	if (is_emulated())
		turns = 5;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
