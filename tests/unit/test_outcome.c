/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * test_outcome.c - the exit status of cputrack, as EXIT STATUS of cputrack(1) defines it.
 */
#include "unit.h"

#include "../../cmd/base/util.h"
#include "../../cmd/cputrack/outcome.h"

#include <errno.h>
#include <signal.h>

/* Wait statuses. */
#define EXITED(status) ((status) << 8)
#define KILLED(sig) (sig)

/* A run of a command, and how it ended. */
struct how {
	enum run_side side;
	bool cut, lost, refused;
	int error;   /* refused: why execvp(3) failed */
	int sig;     /* refused: what we got */
	int wstatus; /* not refused */
};

static const struct {
	const char *what;
	struct how run[4];
	unsigned n;
	int sig, error; /* at the end */
	bool hung_up, compared;
	struct limit limit;
	int status;
} situations[] = {
	{"the command's own status", {{.wstatus = EXITED(7)}}, 1, .status = 7},
	{"0", {{0}}, 1, .status = 0},
	{"a signal ended it", {{.wstatus = KILLED(SIGTERM)}}, 1, .status = 143},
	{"SIGINT ended it", {{.wstatus = KILLED(SIGINT)}}, 1, .status = -SIGINT},
	{"a core was dumped", {{.wstatus = KILLED(SIGSEGV) | 0x80}}, 1, .status = 139},
	{"-p: the processes have ended", .status = 0},

	{"not found", {{.refused = true, .error = ENOENT}}, 1, .status = 127},
	{"not executable", {{.refused = true, .error = EACCES}}, 1, .status = 126},
	{"no program", {{.refused = true, .error = ENOEXEC}}, 1, .status = 126},
	{"no permission to trace", {{.refused = true, .error = EPERM}}, 1, .status = 1},
	{"no process is left", {{.refused = true, .error = EAGAIN}}, 1, .status = 1},
	{"no memory", {{.refused = true, .error = ENOMEM}}, 1, .status = 1},
	{"no descriptor", {{.refused = true, .error = EMFILE}}, 1, .status = 1},
	{"a signal at the start",
	 {{.refused = true, .error = EINTR, .sig = SIGTERM}},
	 1,
	 .status = 143},
	{"SIGINT at the start",
	 {{.refused = true, .error = EINTR, .sig = SIGINT}},
	 1,
	 .status = -SIGINT},
	{"interrupted without a signal to us", {{.refused = true, .error = EINTR}}, 1, .status = 1},
	{"no program has the symbol", {{.refused = true}}, 1, .status = 1},

	{"LWPs are lost", {{.lost = true}}, 1, .status = 1},
	{"lost, and the command failed", {{.lost = true, .wstatus = EXITED(7)}}, 1, .status = 1},
	{"lost, and SIGINT ended the command",
	 {{.lost = true, .wstatus = KILLED(SIGINT)}},
	 1,
	 .status = 1},
	{"lost in an earlier run", {{.lost = true}, {0}}, 2, .status = 1},
	{"lost in an earlier run, and SIGINT ended the last",
	 {{.lost = true}, {.wstatus = KILLED(SIGINT)}},
	 2,
	 .status = -SIGINT},
	{"lost in an earlier run, and SIGTERM ended the runs",
	 {{.lost = true}, {.cut = true}},
	 2,
	 .sig = SIGTERM,
	 .status = 1},

	{"the disk is full", {{0}}, 1, .error = ENOSPC, .status = 1},
	{"the disk is full, and SIGINT ended the command",
	 {{.wstatus = KILLED(SIGINT)}},
	 1,
	 .error = ENOSPC,
	 .status = 1},
	{"the reader has gone", {{.wstatus = EXITED(7)}}, 1, .error = EPIPE, .status = -SIGPIPE},
	{"the reader has gone, and LWPs are lost",
	 {{.lost = true}},
	 1,
	 .error = EPIPE,
	 .status = -SIGPIPE},
	{"the screen has gone", .hung_up = true, .error = EPIPE, .status = -SIGHUP},
	{"a signal ended the wait for the reader",
	 {{0}},
	 1,
	 .error = EINTR,
	 .sig = SIGTERM,
	 .status = 143},
	{"SIGINT did", {{.lost = true}}, 1, .error = EINTR, .sig = SIGINT, .status = -SIGINT},

	{"runs: the first that failed",
	 {{0}, {.wstatus = EXITED(3)}, {.wstatus = EXITED(4)}, {0}},
	 4,
	 .status = 3},
	{"runs: a signal", {{.wstatus = KILLED(SIGKILL)}, {0}}, 2, .status = 137},
	{"runs: one that a signal cut does not count",
	 {{0}, {.cut = true, .wstatus = EXITED(3)}},
	 2,
	 .sig = SIGHUP,
	 .status = 129},
	{"runs: SIGINT to us", {{0}, {.cut = true}}, 2, .sig = SIGINT, .status = -SIGINT},
	{"runs: a signal has precedence over a failure",
	 {{.wstatus = EXITED(3)}},
	 1,
	 .sig = SIGTERM,
	 .status = 143},
	{"runs: the second cannot start",
	 {{.wstatus = EXITED(3)}, {.refused = true, .error = ENOENT}},
	 2,
	 .status = 127},

	{"compared: all succeed",
	 {{.side = SIDE_OLD}, {.side = SIDE_NEW}},
	 2,
	 .compared = true,
	 .status = 0},
	{"compared: the new one fails",
	 {{.side = SIDE_OLD}, {.side = SIDE_NEW, .wstatus = EXITED(3)}},
	 2,
	 .compared = true,
	 .status = 4},
	{"compared: one fails, and an event grew",
	 {{.side = SIDE_OLD, .wstatus = KILLED(SIGKILL)}, {.side = SIDE_NEW}},
	 2,
	 .compared = true,
	 .limit = {.given = true, .above = true},
	 .status = 4},
	{"compared: one failed in a record, and an event grew",
	 {{0}},
	 1,
	 .compared = true,
	 .limit = {.given = true, .above = true, .failed = true},
	 .status = 4},
	{"an event grew",
	 {{0}},
	 1,
	 .compared = true,
	 .limit = {.given = true, .above = true},
	 .status = 3},
	{"an event has no verdict",
	 {{0}},
	 1,
	 .compared = true,
	 .limit = {.given = true, .unknown = true},
	 .status = 1},
	{"an event grew, and LWPs are lost",
	 {{.lost = true}},
	 1,
	 .compared = true,
	 .limit = {.given = true, .above = true},
	 .status = 1},
};

static void note_run(struct outcome *outcome, const struct how *how)
{
	outcome_run(outcome);
	if (how->refused) {
		outcome_refused(outcome, how->error, how->sig);
		return;
	}
	outcome->cut = how->cut;
	outcome_ended(outcome, how->side, how->wstatus);
	if (how->lost)
		outcome_lost(outcome);
}

static void test_status(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(situations) / sizeof(*situations); i++) {
		struct outcome outcome = {0};
		int status;

		for (unsigned n = 0; n < situations[i].n; n++)
			note_run(&outcome, &situations[i].run[n]);
		if (situations[i].sig != 0)
			outcome.sig = situations[i].sig;
		outcome.error = situations[i].error;
		outcome.hung_up = situations[i].hung_up;
		status = outcome_status(&outcome, situations[i].compared, &situations[i].limit);
		if (status != situations[i].status)
			fail_msg("%s: status %d, not %d", situations[i].what, status,
				 situations[i].status);
	}
}

/* After which runs does another one follow? */
static void test_goes_on(void **state)
{
	static const struct {
		struct how how;
		bool goes_on;
	} runs[] = {
		{{0}, true},
		{{.wstatus = EXITED(3)}, true},
		{{.wstatus = KILLED(SIGTERM)}, true},
		{{.lost = true}, true},
		{{.wstatus = KILLED(SIGINT)}, false},
		{{.lost = true, .wstatus = KILLED(SIGINT)}, false},
		{{.refused = true, .error = ENOENT}, false},
		{{.refused = true}, false},
	};
	struct outcome outcome;

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		outcome = (struct outcome){0};
		note_run(&outcome, &runs[i].how);
		assert_int_equal(outcome_goes_on(&outcome), runs[i].goes_on);
	}
	outcome = (struct outcome){.error = ENOSPC};
	assert_false(outcome_goes_on(&outcome));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
