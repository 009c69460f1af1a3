/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The meaning of wait statuses, with the numbers of ptrace(2) and wait(2), and of kept ones.
 */
#include "unit.h"

#include "../../libpctx/control.h"
#include "../../libpctx/stop.h"

#include <signal.h>
#include <sys/ptrace.h>

#define STOPPED(sig, event) ((event) << 16 | (sig) << 8 | 0x7f)

static void statuses(void **state)
{
	static const struct {
		int status;
		struct pctxi_stop stop;
	} cases[] = {
		{7 << 8, {PCTXI_STOP_DEATH, 0, false}},
		{SIGKILL, {PCTXI_STOP_DEATH, 0, false}},
		{SIGSEGV | 0x80, {PCTXI_STOP_DEATH, 0, false}},
		{STOPPED(SIGTRAP, PTRACE_EVENT_CLONE), {PCTXI_STOP_BIRTH, 0, true}},
		{STOPPED(SIGTRAP, PTRACE_EVENT_FORK), {PCTXI_STOP_BIRTH, 0, false}},
		{STOPPED(SIGTRAP, PTRACE_EVENT_VFORK), {PCTXI_STOP_BIRTH, 0, false}},
		{STOPPED(SIGTRAP, PTRACE_EVENT_EXEC), {PCTXI_STOP_EXEC, 0, false}},
		{STOPPED(SIGTRAP, PTRACE_EVENT_STOP), {PCTXI_STOP_OTHER, 0, false}},
		{STOPPED(SIGSTOP, PTRACE_EVENT_STOP), {PCTXI_STOP_GROUP, 0, false}},
		{STOPPED(SIGTSTP, PTRACE_EVENT_STOP), {PCTXI_STOP_GROUP, 0, false}},
		{STOPPED(SIGTTIN, PTRACE_EVENT_STOP), {PCTXI_STOP_GROUP, 0, false}},
		{STOPPED(SIGTTOU, PTRACE_EVENT_STOP), {PCTXI_STOP_GROUP, 0, false}},
		{STOPPED(SIGTRAP, PTRACE_EVENT_VFORK_DONE), {PCTXI_STOP_OTHER, 0, false}},
		{STOPPED(SIGTRAP, 0), {PCTXI_STOP_SIGNAL, SIGTRAP, false}},
		{STOPPED(SIGTRAP | 0x80, 0), {PCTXI_STOP_SYSCALL, 0, false}},
		{STOPPED(SIGSTOP, 0), {PCTXI_STOP_SIGNAL, SIGSTOP, false}},
		{STOPPED(SIGUSR1, 0), {PCTXI_STOP_SIGNAL, SIGUSR1, false}},
		{STOPPED(64, 0), {PCTXI_STOP_SIGNAL, 64, false}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pctxi_stop *want = &cases[i].stop;
		struct pctxi_stop stop = pctxi_stop_decode(cases[i].status);

		if (stop.kind != want->kind || stop.sig != want->sig || stop.thread != want->thread)
			fail_msg("status 0x%x is taken for %d, signal %d, thread %d",
				 cases[i].status, stop.kind, stop.sig, stop.thread);
	}
}

/* The reports of an LWP that has exited are dropped, not those of the next one with its id. */
static void reports_of_an_id(void **state)
{
	const int stop = STOPPED(SIGTRAP, PTRACE_EVENT_STOP);
	struct pctxi_report report[] = {{8, stop}, {7, stop}, {8, 0}, {8, stop}, {7, 0}};
	struct pctxi_loop loop = {.report = report, .nreports = ARRAY_SIZE(report)};

	(void)state;
	assert_int_equal(pctxi_reports_until_death(&loop, 9), 0);
	assert_int_equal(pctxi_reports_until_death(&loop, 7), 5);
	assert_int_equal(pctxi_reports_until_death(&loop, 8), 3);
	pctxi_reports_drop(&loop, 8, 3);
	assert_int_equal(loop.nreports, 3);
	assert_int_equal(report[0].tid, 7);
	assert_int_equal(report[1].tid, 8);
	assert_int_equal(report[1].status, stop);
	pctxi_reports_drop(&loop, 7, loop.nreports);
	assert_int_equal(loop.nreports, 1);
	assert_int_equal(report[0].tid, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses),
		cmocka_unit_test(reports_of_an_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
