/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Overflows: a signal for each, with exact counts, at the right PC.
 */
#include "../work/machine.h"
#include "handle.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PERIOD 1000
#define PRESET (UINT64_MAX - PERIOD + 1)
#define PAGES 10000 /* that are mapped at a time */

/* main() lowers both on an emulated machine. */
static unsigned long nfaults = 1000000; /* of all threads */
static unsigned turns = 100;

/* Per thread: its set, the actions of its handler, and its results. */
static _Thread_local struct {
	cpc_set_t *set;
	cpc_buf_t *buf;
	unsigned long signals, wrong;
	uint64_t expected[2]; /* values when it is called; 0: any */
	uint64_t next;	      /* preset for the next time; 0: as before */
	int overflowed;	      /* requests, as bits */
	bool stay;	      /* it does not restart */
	uintptr_t low, high;  /* where the PC is */
} self;

static int setup(void **state)
{
	memset(&self, 0, sizeof(self));
	return open_handle(state);
}

static uintptr_t pc_of(const void *context)
{
	const ucontext_t *uc = context;

	return (uintptr_t)uc->uc_mcontext.REGISTER(PC);
}

static void on_emt(int sig, siginfo_t *info, void *context)
{
	uintptr_t pc = (uintptr_t)info->si_addr;
	uint64_t val, requests = 0;

	self.signals++;
	if (sig != SIGEMT || info->si_code != EMT_CPCOVF || pc != pc_of(context) ||
	    (self.high != 0 && (pc < self.low || pc >= self.high)) ||
	    cpc_set_sample(cpc, self.set, self.buf) == -1 ||
	    cpc_set_overflowed(cpc, self.set, &requests) == -1 ||
	    requests != (uint64_t)self.overflowed)
		self.wrong++;
	for (int i = 0; i < 2; i++) {
		if (self.expected[i] != 0 &&
		    (cpc_buf_get(cpc, self.buf, i, &val) == -1 || val != self.expected[i]))
			self.wrong++;
	}
	if (self.next != 0 && cpc_request_preset(cpc, 0, self.next) == -1)
		self.wrong++;
	if (!self.stay && cpc_set_restart(cpc, self.set) == -1)
		self.wrong++;
}

static void catch_emt(int flags)
{
	struct sigaction act = {.sa_sigaction = on_emt, .sa_flags = SA_SIGINFO | flags};

	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
}

/* The set of the calling thread: page faults that overflow, and the same counted beside. */
static void use_faults(uint64_t preset)
{
	self.set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, self.set, "page-faults", preset,
					     CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL),
			 0);
	assert_int_equal(cpc_set_add_request(cpc, self.set, "faults", 0, CPC_COUNT_USER, 0, NULL),
			 1);
	self.buf = cpc_buf_create(cpc, self.set);
	self.overflowed = 1;
}

/* Touch the stack and code of the handler: its first call must not cause page faults. */
static void warm_up(void)
{
	unsigned long signals = self.signals;

	raise(SIGEMT);
	self.signals = signals;
	self.wrong = 0;
}

/* Touches `n` fresh pages, one fault in user mode each. */
__attribute__((noinline, no_sanitize("address"))) static void touch(unsigned long n)
{
	static _Thread_local void *volatile mapped; /* still, after a longjmp(3) out of here */
	size_t size = PAGES * 4096UL;

	if (mapped != NULL)
		munmap(mapped, size);
	for (unsigned long done = 0; done < n; done += PAGES) {
		volatile char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			_exit(99);
		mapped = (void *)(uintptr_t)p;
		madvise((void *)(uintptr_t)p, size, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < PAGES && done + i < n; i++)
			p[4096 * i] = 1;
		munmap(mapped, size);
		mapped = NULL;
	}
}

static uint64_t value(int index)
{
	uint64_t val = 0;

	assert_int_equal(cpc_set_sample(cpc, self.set, self.buf), 0);
	assert_int_equal(cpc_buf_get(cpc, self.buf, index, &val), 0);
	return val;
}

/* The counters are frozen in the handler, so its own page faults are not counted. */
static void *overflow_often(void *arg)
{
	unsigned long n = *(const unsigned long *)arg;

	use_faults(PRESET);
	warm_up();
	self.expected[1] = PERIOD; /* the first value has wrapped to 0 */
	if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
		return arg;
	touch(n);
	return self.signals == n / PERIOD && self.wrong == 0 && value(0) == PRESET && value(1) == 0
		       ? NULL
		       : arg;
}

static void one_thread(void **state)
{
	(void)state;
	catch_emt(SA_RESTART);
	assert_null(overflow_often(&nfaults));
}

static void eight_threads(void **state)
{
	unsigned long each = nfaults / 8;
	pthread_t thread[8];
	void *failed;

	(void)state;
	catch_emt(SA_RESTART);
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, overflow_often, &each), 0);
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++) {
		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
}

/* Until it is restarted, nothing is counted. */
static void frozen(void **state)
{
	(void)state;
	catch_emt(0);
	use_faults(PRESET);
	warm_up();
	self.stay = true;
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	touch(PERIOD + 500);
	assert_int_equal(self.signals, 1);
	assert_int_equal(value(0), 0);
	assert_int_equal(value(1), PERIOD);
	assert_int_equal(cpc_disable(cpc), 0);
	assert_int_equal(cpc_enable(cpc), 0); /* it stays frozen */
	touch(500);
	assert_int_equal(value(1), PERIOD);
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	touch(500);
	assert_int_equal(value(0), PRESET + 500);
	assert_int_equal(value(1), 500);
	/* A restart before the overflow begins the period again. */
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	touch(PERIOD - 1);
	assert_int_equal(self.signals, 1);
	touch(1);
	assert_int_equal(self.signals, 2);
	assert_int_equal(self.wrong, 0);
}

static void new_presets(void **state)
{
	(void)state;
	catch_emt(0);
	use_faults(PRESET);
	warm_up();
	self.next = UINT64_MAX - 10 + 1;
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	touch(PERIOD);
	assert_int_equal(self.signals, 1);
	touch(95);
	assert_int_equal(self.signals, 1 + 9);
	assert_int_equal(value(0), UINT64_MAX - 10 + 1 + 5);
	self.next = UINT64_MAX; /* each of them */
	touch(5 + 100);
	assert_int_equal(self.signals, 1 + 9 + 1 + 100);
	assert_int_equal(self.wrong, 0);
}

/* A blocked signal is delivered once, after it is unblocked. */
static void blocked(void **state)
{
	sigset_t all, old;

	(void)state;
	catch_emt(0);
	use_faults(PRESET);
	warm_up();
	self.expected[1] = PERIOD;
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	for (int i = 1; i <= 3; i++) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		touch(3 * PERIOD);
		assert_int_equal(self.signals, i - 1);
		assert_int_equal(value(1), PERIOD);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		assert_int_equal(self.signals, i);
	}
	assert_int_equal(self.wrong, 0);
}

/* No signal comes after unbinding, except the program's own. */
static void unbound_while_blocked(void **state)
{
	sigset_t emt, old, pending;

	(void)state;
	catch_emt(0);
	use_faults(PRESET);
	warm_up();
	sigemptyset(&emt);
	sigaddset(&emt, SIGEMT);
	for (int all = 0; all < 2; all++) {
		if (all)
			sigfillset(&emt);
		pthread_sigmask(SIG_BLOCK, &emt, &old);
		assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
		touch(2 * PERIOD);
		assert_int_equal(cpc_unbind(cpc, self.set), 0);
		sigpending(&pending);
		assert_false(sigismember(&pending, SIGEMT));
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		assert_int_equal(self.signals, 0);
	}
}

static sigjmp_buf escape;

static void jump(int sig)
{
	(void)sig;
	self.signals++;
	siglongjmp(escape, 1);
}

static void longjmp_out(void **state)
{
	const struct sigaction act = {.sa_handler = jump};
	volatile int rounds = 0;

	(void)state;
	use_faults(PRESET);
	assert_int_equal(sigaction(SIGEMT, &act, NULL), 0);
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	while (rounds < 20) {
		if (sigsetjmp(escape, 1) == 0)
			touch(10 * PERIOD);
		rounds++;
		assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	}
	assert_int_equal(self.signals, 20);
}

/*
 * An overflow of one event freezes both, and is reported.  The two counts may differ by one, if
 * the interrupt comes between the two events of a fault.
 */
static void several(void **state)
{
	unsigned long signals[2] = {0};
	uint64_t count[2];

	(void)state;
	catch_emt(0);
	self.set = cpc_set_create(cpc);
	for (int i = 0; i < 2; i++)
		assert_int_equal(cpc_set_add_request(cpc, self.set,
						     i == 0 ? "page-faults" : "faults",
						     PRESET - (uint64_t)i,
						     CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL),
				 i);
	self.buf = cpc_buf_create(cpc, self.set);
	warm_up();
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	for (unsigned i = 0; i < turns; i++) {
		/* In turn, one of the two is nearer to its overflow. */
		self.overflowed = 1 << i % 2;
		assert_int_equal(cpc_request_preset(cpc, 0, PRESET - i % 2 * 2), 0);
		assert_int_equal(cpc_set_restart(cpc, self.set), 0);
		self.signals = 0;
		self.stay = true;
		touch(PERIOD + 500);
		assert_int_equal(self.signals, 1);
		signals[i % 2]++;
		count[0] = value(0) - (PRESET - i % 2 * 2);
		count[1] = value(1) - (PRESET - 1);
		assert_in_range(count[i % 2] - count[1 - i % 2], 0, 1);
	}
	assert_int_equal(signals[0], turns / 2);
	assert_int_equal(self.wrong, 0);
}

static void alternate_stack(void **state)
{
	static char stack[1 << 16];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	const stack_t none = {.ss_flags = SS_DISABLE};

	(void)state;
	assert_int_equal(sigaltstack(&alternate, NULL), 0);
	catch_emt(SA_ONSTACK);
	use_faults(PRESET);
	warm_up();
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	touch(10 * PERIOD);
	assert_int_equal(self.signals, 10);
	assert_int_equal(self.wrong, 0);
	assert_int_equal(sigaltstack(&none, NULL), 0);
}

/* A forked child gets no signals of its parent's set, and can bind its own. */
static void children(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	catch_emt(0);
	use_faults(PRESET);
	warm_up();
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	touch(PERIOD - 10);
	pid = fork();
	if (pid == 0) {
		touch(2 * PERIOD);
		if (self.signals != 0 || cpc_set_restart(cpc, self.set) != -1 || errno != EINVAL)
			_exit(1);
		if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
			_exit(2);
		touch(2 * PERIOD);
		_exit(self.signals == 2 && self.wrong == 0 ? 0 : 3);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(self.wrong, 0);
}

static void assert_refused(int rc, int err)
{
	assert_int_equal(rc, -1);
	assert_int_equal(errno, err);
}

static void refused(void **state)
{
	cpc_set_t *plain = cpc_set_create(cpc);
	uint64_t requests;

	(void)state;
	use_faults(PRESET);
	assert_refused(cpc_set_restart(cpc, self.set), EINVAL);
	assert_refused(cpc_request_preset(cpc, 0, 1), EINVAL);
	assert_refused(cpc_set_overflowed(cpc, self.set, &requests), EINVAL);
	assert_refused(cpc_bind_cpu(cpc, 0, self.set, 0), EINVAL);
	assert_int_equal(last_error.subcode, CPC_REQ_INVALID_FLAGS);
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	assert_refused(cpc_request_preset(cpc, 2, 1), EINVAL);
	assert_refused(cpc_request_preset(cpc, -1, 1), EINVAL);
	assert_refused(cpc_set_restart(cpc, plain), EINVAL);
	assert_refused(cpc_set_add_request(cpc, plain, "cs", 0, CPC_OVF_NOTIFY_EMT, 0, NULL),
		       EINVAL);
	assert_int_equal(last_error.subcode, CPC_REQ_INVALID_FLAGS);
	assert_true((cpc_caps(cpc) & CPC_CAP_OVERFLOW_INTERRUPT) != 0);
}

static int bind_clock(const char *name, uint_t flags, uint64_t period)
{
	self.set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, self.set, name, 0 - period,
					     flags | CPC_OVF_NOTIFY_EMT, 0, NULL),
			 0);
	return cpc_bind_curlwp(cpc, self.set, 0);
}

/* Shorter periods stop the program, or a CPU; events without overflow have no period. */
static void short_clocks(void **state)
{
	static const char *const clocks[] = {"task-clock", "cpu-clock"};
	static const uint_t kinds[] = {CPC_COUNT_USER, CPC_COUNT_USER | CPC_COUNT_SYSTEM,
				       CPC_COUNT_USER | CPC_OVF_BUFFERED};

	(void)state;
	catch_emt(0);
	for (size_t i = 0; i < ARRAY_SIZE(clocks) * ARRAY_SIZE(kinds); i++) {
		const char *name = clocks[i % ARRAY_SIZE(clocks)];
		uint_t flags = kinds[i / ARRAY_SIZE(clocks)];

		assert_refused(bind_clock(name, flags, 1), ENOTSUP);
		assert_refused(bind_clock(name, flags, 10000), ENOTSUP);
		assert_refused(bind_clock(name, flags, 99999), ENOTSUP);
		assert_int_equal(last_error.subcode, CPC_RESOURCE_UNAVAIL);
		/* On kernels whose clocks hang the machine, the error has another reason. */
		assert_true(strstr(last_error.text, "100000 ns") != NULL ||
			    strstr(last_error.text, "hang") != NULL);
	}
	if (bind_clock("task-clock", CPC_COUNT_USER, 1000000000) == -1)
		skip_lacking("clock overflows");
	assert_refused(cpc_request_preset(cpc, 0, UINT64_MAX), ENOTSUP);
	assert_refused(cpc_request_preset(cpc, 0, 0 - (uint64_t)99999), ENOTSUP);
	assert_int_equal(cpc_request_preset(cpc, 0, 0 - (uint64_t)100000), 0);
	assert_int_equal(cpc_request_preset(cpc, 0, 0), 0);
	self.set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, self.set, "task-clock", UINT64_MAX,
					     CPC_COUNT_USER, 0, NULL),
			 0);
	assert_int_equal(cpc_bind_curlwp(cpc, self.set, 0), 0);
	assert_int_equal(cpc_request_preset(cpc, 0, UINT64_MAX - 1), 0);
}

static volatile uint64_t watched;

__attribute__((noinline)) static void write_it(unsigned long n)
{
	while (n-- > 0)
		watched = n;
}

/* A hardware counter, and the PC of its overflow. */
static void breakpoints(void **state)
{
	char event[64];

	(void)state;
	catch_emt(0);
	snprintf(event, sizeof(event), "breakpoint/addr=%p,len=8,rw=w/",
		 (void *)(uintptr_t)&watched);
	self.set = cpc_set_create(cpc);
	assert_int_equal(cpc_set_add_request(cpc, self.set, event, PRESET,
					     CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL),
			 0);
	self.buf = cpc_buf_create(cpc, self.set);
	self.overflowed = 1;
	warm_up();
	if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
		skip_lacking("breakpoints");
	self.low = (uintptr_t)write_it;
	self.high = self.low + 256;
	write_it(20 * PERIOD);
	assert_int_equal(self.signals, 20);
	assert_int_equal(self.wrong, 0);
}

/* Not static: it is found by its name. */
void probed_by_overflows(void);
__attribute__((noinline)) void probed_by_overflows(void)
{
	__asm__ volatile("" ::: "memory");
}

static void call_it(unsigned long n)
{
	while (n-- > 0)
		probed_by_overflows();
}

/* Calls of a function: counting goes on after an overflow on all kernels. */
static void uprobes(void **state)
{
	uint64_t tick;

	(void)state;
	catch_emt(0);
	for (uint64_t period = 1; period <= 1000; period *= 10) {
		self.set = cpc_set_create(cpc);
		for (int i = 0; i < 2; i++)
			assert_int_equal(
				cpc_set_add_request(
					cpc, self.set, "uprobe/func=probed_by_overflows/",
					i == 0 ? UINT64_MAX - period + 1 : 0,
					CPC_COUNT_USER | (i == 0 ? CPC_OVF_NOTIFY_EMT : 0U), 0,
					NULL),
				i);
		self.buf = cpc_buf_create(cpc, self.set);
		self.overflowed = 1;
		warm_up();
		self.stay = false;
		if (cpc_bind_curlwp(cpc, self.set, 0) == -1)
			skip_lacking("uprobes");
		assert_int_equal(value(1), 0);
		assert_true(cpc_buf_tick(cpc, self.buf) > 0);
		self.signals = 0;
		call_it(20 * period);
		assert_int_equal(self.signals, 20);
		call_it(period - 1);
		assert_int_equal(self.signals, 20);
		assert_int_equal(value(0), UINT64_MAX); /* one is left */
		/* A frozen set counts nothing, a restarted one counts all. */
		self.stay = true;
		call_it(3 * period);
		assert_int_equal(self.signals, 21);
		assert_int_equal(value(0), 0);
		tick = cpc_buf_tick(cpc, self.buf);
		assert_int_equal(value(1), period);
		assert_int_equal(cpc_buf_tick(cpc, self.buf), tick);
		self.stay = false;
		assert_int_equal(cpc_set_restart(cpc, self.set), 0);
		call_it(5 * period);
		assert_int_equal(self.signals, 26);
		assert_int_equal(cpc_unbind(cpc, self.set), 0);
		assert_int_equal(self.wrong, 0);
	}
}

/*
 * Nothing here sends SIGTRAP.  The kernel does if a breakpoint is hit that it did not set, or if
 * the debug status register does not tell which one was hit: no event counts that hit.
 */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	char text[128];

	(void)sig;
	(void)context;
	snprintf(text, sizeof(text), "an unexpected SIGTRAP, si_code %d, at %p%s\n", info->si_code,
		 info->si_addr,
		 info->si_code == TRAP_BRKPT || info->si_code == TRAP_HWBKPT
			 ? ": this machine loses breakpoints"
			 : "");
	if (write(STDERR_FILENO, text, strlen(text)) > 0)
		_exit(1);
	_exit(2);
}

int main(int argc, char **argv)
{
	const struct sigaction trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_thread, setup, close_handle),
		cmocka_unit_test_setup_teardown(eight_threads, setup, close_handle),
		cmocka_unit_test_setup_teardown(frozen, setup, close_handle),
		cmocka_unit_test_setup_teardown(new_presets, setup, close_handle),
		cmocka_unit_test_setup_teardown(blocked, setup, close_handle),
		cmocka_unit_test_setup_teardown(unbound_while_blocked, setup, close_handle),
		cmocka_unit_test_setup_teardown(longjmp_out, setup, close_handle),
		cmocka_unit_test_setup_teardown(several, setup, close_handle),
		cmocka_unit_test_setup_teardown(alternate_stack, setup, close_handle),
		cmocka_unit_test_setup_teardown(children, setup, close_handle),
		cmocka_unit_test_setup_teardown(refused, setup, close_handle),
		cmocka_unit_test_setup_teardown(short_clocks, setup, close_handle),
		cmocka_unit_test_setup_teardown(breakpoints, setup, close_handle),
		cmocka_unit_test_setup_teardown(uprobes, setup, close_handle),
	};

	sigaction(SIGTRAP, &trap, NULL);
	if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
		nfaults = 24000;
		turns = 10;
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
