/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * What wait statuses mean, by the numbers of ptrace(2) and wait(2).
 */
#include "unit.h"

#include "../../libpctx/pctx_impl.h"

#include <sys/ptrace.h>

#define STOPPED(sig, event) ((event) << 16 | (sig) << 8 | 0x7f)

static void statuses(void **state)
{
	static const struct {
		int status;
		enum pctxi_what what;
		int sig;
	} cases[] = {
		{7 << 8, PCTXI_DIED, 0},
		{SIGKILL, PCTXI_DIED, 0},
		{SIGSEGV | 0x80, PCTXI_DIED, 0},
		{STOPPED(SIGTRAP, PTRACE_EVENT_CLONE), PCTXI_BIRTH, 0},
		{STOPPED(SIGTRAP, PTRACE_EVENT_FORK), PCTXI_BIRTH, 0},
		{STOPPED(SIGTRAP, PTRACE_EVENT_VFORK), PCTXI_BIRTH, 0},
		{STOPPED(SIGTRAP, PTRACE_EVENT_EXEC), PCTXI_EXEC, 0},
		{STOPPED(SIGTRAP, PTRACE_EVENT_STOP), PCTXI_HELD, 0},
		{STOPPED(SIGSTOP, PTRACE_EVENT_STOP), PCTXI_GROUP_STOP, 0},
		{STOPPED(SIGTSTP, PTRACE_EVENT_STOP), PCTXI_GROUP_STOP, 0},
		{STOPPED(SIGTTIN, PTRACE_EVENT_STOP), PCTXI_GROUP_STOP, 0},
		{STOPPED(SIGTTOU, PTRACE_EVENT_STOP), PCTXI_GROUP_STOP, 0},
		{STOPPED(SIGTRAP, PTRACE_EVENT_VFORK_DONE), PCTXI_HELD, 0},
		{STOPPED(SIGTRAP, 0), PCTXI_SIGNAL, SIGTRAP},
		{STOPPED(SIGTRAP | 0x80, 0), PCTXI_SYSCALL, 0},
		{STOPPED(SIGSTOP, 0), PCTXI_SIGNAL, SIGSTOP},
		{STOPPED(SIGUSR1, 0), PCTXI_SIGNAL, SIGUSR1},
		{STOPPED(64, 0), PCTXI_SIGNAL, 64},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pctxi_stop stop = pctxi_stop_decode(cases[i].status);

		if (stop.what != cases[i].what || stop.sig != cases[i].sig)
			fail_msg("status 0x%x is taken for %d, signal %d", cases[i].status,
				 stop.what, stop.sig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
