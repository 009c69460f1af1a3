/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_set_restart() is interrupted after each of its instructions, by a handler that restarts
 * the set, too.
 */
#include "ovf.h"

#if defined(__x86_64__)
#include <ucontext.h>
#include <x86intrin.h>

#define TRAP_FLAG 0x100ULL
#define PERIOD 10

static volatile unsigned long step, last; /* at the last one the handler restarts the set */
static bool jumps;			  /* and does not return */
static volatile int failed;
static sigjmp_buf out;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	(void)sig;
	(void)info;
	if (sigismember(&uc->uc_sigmask, SIGEMT)) /* no handler could run here */
		return;
	if (++step != last)
		return;
	failed = cpc_set_restart(cpc, self.set) == -1 ? errno : 0;
	if (jumps)
		siglongjmp(out, 1);
}

static void stay_frozen(int sig)
{
	(void)sig;
	self.signals++;
}

static void must_be_frozen(unsigned long signals)
{
	assert_int_equal(self.signals, signals);
	assert_int_equal(value(1), PERIOD);
}

/* Does it get that far? */
static bool interrupt_at(unsigned long n, bool frozen)
{
	volatile int rc = 0;

	self.signals = 0;
	bind_set();
	fault(frozen ? PERIOD : 3);
	step = 0;
	last = n;
	if (sigsetjmp(out, 1) == 0) {
		__writeeflags(__readeflags() | TRAP_FLAG);
		rc = cpc_set_restart(cpc, self.set);
		__writeeflags(__readeflags() & ~TRAP_FLAG);
	}
	assert_int_equal(rc, 0);
	assert_int_equal(failed, 0);
	for (unsigned long round = 1; round < 4; round++) {
		assert_int_equal(value(1), 0);
		fault(PERIOD - 1);
		assert_int_equal(self.signals, round - !frozen);
		fault(1);
		must_be_frozen(round + frozen);
		fault(PERIOD);
		must_be_frozen(round + frozen);
		assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	}
	assert_int_equal(cpc_unbind(cpc, self.set), 0);
	return step >= n;
}

/* First calls cause page faults: cause them before counting. */
static void warm_up(void)
{
	volatile char stack[1 << 16];

	for (size_t i = 0; i < sizeof(stack); i += PAGE)
		stack[i] = 1;
	bind_set();
	assert_int_equal(cpc_set_restart(cpc, self.set), 0);
	step = 0;
	last = 1;
	if (sigsetjmp(out, 1) == 0)
		pthread_kill(pthread_self(), SIGTRAP);
	assert_int_equal(failed, 0);
	value(1);
	assert_int_equal(cpc_unbind(cpc, self.set), 0);
}

static void interrupt_all(bool frozen)
{
	const struct sigaction emt = {.sa_handler = stay_frozen},
			       trap = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	unsigned long n = 1;

	use_faults(EVERY(PERIOD), CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT);
	assert_int_equal(sigaction(SIGEMT, &emt, NULL), 0);
	assert_int_equal(sigaction(SIGTRAP, &trap, NULL), 0);
	warm_up();
	while (interrupt_at(n, frozen))
		n++;
	assert_true(n > 20);
}

static void frozen_sets(void **state)
{
	(void)state;
	jumps = false;
	interrupt_all(true);
}

static void running_sets(void **state)
{
	(void)state;
	jumps = false;
	interrupt_all(false);
}

static void jumps_out(void **state)
{
	(void)state;
	jumps = true;
	interrupt_all(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frozen_sets, setup, teardown),
		cmocka_unit_test_setup_teardown(running_sets, setup, teardown),
		cmocka_unit_test_setup_teardown(jumps_out, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	puts("skipped: programs step through themselves on x86-64 alone");
	return 0;
}

#endif
