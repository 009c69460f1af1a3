/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The meaning of wait statuses, with the numbers of ptrace(2) and wait(2).
 */
#include "unit.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
