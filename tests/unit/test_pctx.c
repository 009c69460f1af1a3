/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * libpctx by its public header: which handlers are called, in which order.
 *
 * The tracked program is this one; its first argument selects the action.
 */
#include "unit.h"

#include <errno.h>
#include <libpctx.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[] = "/proc/self/exe";
static char errors[512];

struct story {
	char text[2048];
	bool follow;	   /* children */
	bool stop_at_exec; /* the exec handler returns 1 */
	int terminate_at;  /* the tick at which to end; 0: never */
	int ticks;
	pid_t first;
};

/* ---- the tracked program ------------------------------------------------ */

static void *do_nothing(void *arg)
{
	return arg;
}

static void *do_exec(void *arg)
{
	char *argv[] = {arg, NULL};

	execvp("true", argv);
	return NULL;
}

static void run_thread(void *(*start)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start, arg) != 0)
		_exit(99);
	pthread_join(thread, NULL);
}

static int act(const char *what)
{
	if (strcmp(what, "thread") == 0) {
		run_thread(do_nothing, NULL);
	} else if (strcmp(what, "exec") == 0) {
		execlp("true", "true", "a  b", "", (char *)NULL);
	} else if (strcmp(what, "exec-fails") == 0) {
		execlp("/nonexistent", "nonexistent", (char *)NULL);
	} else if (strcmp(what, "exec-thread") == 0) {
		char name[] = "true";

		run_thread(do_exec, name);
	} else if (strcmp(what, "fork") == 0) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(5);
		return waitpid(pid, &status, 0) == pid && status == 5 << 8 ? 0 : 98;
	} else if (strcmp(what, "exit7") == 0) {
		return 7;
	} else if (strcmp(what, "kill") == 0) {
		raise(SIGKILL);
	} else if (strcmp(what, "sleep") == 0) {
		for (;;)
			pause();
	}
	return 0;
}

/* ---- the handlers ------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void tell(struct story *s, const char *fmt, ...)
{
	size_t n = strlen(s->text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->text + n, sizeof(s->text) - n, fmt, ap);
	va_end(ap);
}

/* Names processes by the order of their births. */
static char who(const struct story *s, pid_t pid)
{
	return pid == s->first ? 'A' : 'B';
}

static int on_init(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	struct story *s = arg;

	if (s->first == 0)
		s->first = pid;
	assert_int_equal(pctx_pid(pctx), pid);
	assert_true(pctx_lwp_tid(pctx, lwp) > 0);
	tell(s, "%c init %d; ", who(s, pid), (int)lwp);
	return 0;
}

static int on_fini(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	assert_true(pctx_lwp_tid(pctx, lwp) > 0); /* gone, but known */
	tell(arg, "%c fini %d; ", who(arg, pid), (int)lwp);
	return 0;
}

static int on_create(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)pctx;
	tell(arg, "%c create %d; ", who(arg, pid), (int)lwp);
	return 0;
}

static int on_lwp_exit(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)pctx;
	tell(arg, "%c lwp_exit %d; ", who(arg, pid), (int)lwp);
	return 0;
}

static int on_exec(pctx_t *pctx, pid_t pid, id_t lwp, char *cmd, void *arg)
{
	const struct story *s = arg;

	(void)pctx;
	tell(arg, "%c exec %d '%s'; ", who(arg, pid), (int)lwp, cmd);
	return s->stop_at_exec;
}

static void on_fork(pctx_t *pctx, pid_t pid, id_t lwp, pid_t child, void *arg)
{
	const struct story *s = arg;

	assert_int_equal(pctx_pid(pctx), child);
	tell(arg, "%c fork %d; ", who(arg, pid), (int)lwp);
	if (s->follow)
		assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
}

static void on_exit_proc(pctx_t *pctx, pid_t pid, id_t lwp, int status, void *arg)
{
	(void)pctx;
	(void)lwp;
	if (WIFSIGNALED(status))
		tell(arg, "%c killed %d; ", who(arg, pid), WTERMSIG(status));
	else
		tell(arg, "%c exit %d; ", who(arg, pid), WEXITSTATUS(status));
}

static int on_tick(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	struct story *s = arg;

	(void)pid;
	assert_int_equal(lwp, 1);
	if (++s->ticks == s->terminate_at)
		pctx_terminate(pctx);
	return 0;
}

static void keep_error(const char *fn, const char *fmt, va_list ap)
{
	(void)fn;
	vsnprintf(errors, sizeof(errors), fmt, ap);
	end_message(errors);
}

static void watch(pctx_t *pctx)
{
	assert_int_equal(
		pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, on_init, PCTX_FINI_LWP_EVENT, on_fini,
				PCTX_SYSC_LWP_CREATE_EVENT, on_create, PCTX_SYSC_LWP_EXIT_EVENT,
				on_lwp_exit, PCTX_SYSC_EXEC_EVENT, on_exec, PCTX_SYSC_FORK_EVENT,
				on_fork, PCTX_SYSC_EXIT_EVENT, on_exit_proc, PCTX_NULL_EVENT),
		0);
}

static pctx_t *create(char *what, struct story *s)
{
	char *argv[] = {self, what, NULL};
	pctx_t *pctx = pctx_create(self, argv, s, 0, keep_error);

	assert_non_null(pctx);
	watch(pctx);
	return pctx;
}

/* ---- the tests ---------------------------------------------------------- */

static void orders(void **state)
{
	static const struct {
		const char *what;
		bool follow, stop_at_exec;
		const char *story;
		int status;
	} cases[] = {
		{"exit7", false, false, "A init 1; A fini 1; A exit 7; ", 7 << 8},
		{"kill", false, false, "A init 1; A fini 1; A killed 9; ", SIGKILL},
		{"thread", false, false,
		 "A init 1; A init 2; A create 2; A fini 2; A lwp_exit 2; A fini 1; A exit 0; ", 0},
		{"exec", false, false,
		 "A init 1; A fini 1; A exec 1 'true a  b '; A init 1; A fini 1; A exit 0; ", 0},
		{"exec", false, true, "A init 1; A fini 1; A exec 1 'true a  b '; ", 0},
		{"exec-fails", false, false, "A init 1; A fini 1; A exit 0; ", 0},
		{"exec-thread", false, false,
		 "A init 1; A init 2; A create 2; A fini 1; A fini 2; A exec 2 'true'; A init 1; "
		 "A fini 1; A exit 0; ",
		 0},
		{"fork", false, false, "A init 1; A fork 1; A fini 1; A exit 0; ", 0},
		{"fork", true, false,
		 "A init 1; A fork 1; B init 1; B fini 1; B exit 5; A fini 1; A exit 0; ", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct story s = {.follow = cases[i].follow, .stop_at_exec = cases[i].stop_at_exec};
		char what[32];
		int status = -1;
		pctx_t *pctx;

		snprintf(what, sizeof(what), "%s", cases[i].what);
		pctx = create(what, &s);
		assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
		assert_int_equal(pctx_wait(pctx, &status), 0);
		pctx_release(pctx);
		assert_string_equal(s.text, cases[i].story);
		assert_int_equal(status, cases[i].status);
	}
}

static void heard(__attribute__((unused)) int sig)
{
}

static void raise_usr1(void)
{
	raise(SIGUSR1);
}

static void not_started(void **state)
{
	static char nowhere[] = "/nonexistent/program", dir[] = "/tmp";
	char *argv[] = {dir, NULL};

	(void)state;
	assert_null(pctx_create(nowhere, argv, NULL, 0, keep_error));
	assert_int_equal(errno, ENOENT);
	assert_string_equal(errors, "cannot find program '/nonexistent/program'");
	assert_null(pctx_create(dir, argv, NULL, 0, keep_error));
	assert_int_equal(errno, EACCES);
	assert_string_equal(errors, "cannot execute program '/tmp': Permission denied");
	signal(SIGUSR1, heard);
	pthread_atfork(NULL, NULL, raise_usr1);
	assert_null(pctx_create(self, argv, NULL, 0, keep_error));
	assert_int_equal(errno, EINTR);
	signal(SIGUSR1, SIG_IGN);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing is left behind */
}

static void captured(void **state)
{
	struct story s = {.terminate_at = 3};
	pid_t pid = start_sleeper();
	pctx_t *pctx;
	int status;

	(void)state;
	pctx = pctx_capture(pid, &s, 0, keep_error);
	assert_non_null(pctx);
	watch(pctx);
	assert_int_equal(pctx_run(pctx, 1, 0, on_tick), 0);
	assert_int_equal(s.ticks, 3);
	assert_string_equal(s.text, "A init 1; ");
	assert_int_equal(pctx_run(pctx, 1, 0, on_tick), -1); /* once only */
	assert_int_equal(errno, EINVAL);
	assert_int_equal(pctx_wait(pctx, &status), -1);
	assert_int_equal(errno, ECHILD);
	pctx_release(pctx);

	/* Again, for a number of samples; then it is alive and not traced. */
	s = (struct story){0};
	pctx = pctx_capture(pid, &s, 0, keep_error);
	assert_non_null(pctx);
	watch(pctx);
	assert_int_equal(pctx_run(pctx, 1, 5, on_tick), 0);
	assert_int_equal(s.ticks, 5);
	pctx_release(pctx);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static void not_captured(void **state)
{
	siginfo_t info;
	char want[256];
	pid_t pid;

	(void)state;
	assert_null(pctx_capture(getpid(), NULL, 0, keep_error));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(errors, "the tracking program itself"));

	pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_null(pctx_capture(pid, NULL, 0, keep_error));
	assert_int_equal(errno, ESRCH);
	snprintf(want, sizeof(want), "cannot track process %d: it has ended", (int)pid);
	assert_string_equal(errors, want);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_null(pctx_capture(pid, NULL, 0, keep_error));
	assert_int_equal(errno, ESRCH);
	snprintf(want, sizeof(want), "cannot track process %d: no such process", (int)pid);
	assert_string_equal(errors, want);
}

/* Several processes in one loop. */
static void added(void **state)
{
	struct story s = {0};
	pctx_t *pctx = pctx_open(&s, keep_error), *first;
	pid_t pid[2];

	(void)state;
	assert_non_null(pctx);
	assert_int_equal(pctx_pid(pctx), 0);
	watch(pctx);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			for (;;)
				pause();
		}
	}
	first = pctx_add(pctx, pid[0]);
	assert_non_null(first);
	assert_int_equal(pctx_pid(first), pid[0]);
	assert_ptr_equal(pctx_add(pctx, pid[0]), first);
	assert_null(pctx_add(pctx, getpid()));
	assert_int_equal(errno, EINVAL);
	assert_non_null(pctx_add(pctx, pid[1]));
	for (int i = 0; i < 2; i++)
		kill(pid[i], SIGKILL);
	assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
	assert_int_equal(strncmp(s.text, "A init 1; B init 1; ", 20), 0);
	assert_non_null(strstr(s.text, "A fini 1; A killed 9; "));
	assert_non_null(strstr(s.text, "B fini 1; B killed 9; "));
	assert_null(pctx_add(pctx, getppid()));
	assert_int_equal(errno, EINVAL);
	pctx_release(pctx);
}

static void *end_late(void *hold)
{
	char byte;

	syscall(SYS_exit, read(*(int *)hold, &byte, 1) == 0 ? 7 : 9);
	return NULL;
}

static void start_leaderless(int hold[2])
{
	pthread_t thread;

	close(hold[1]);
	if (pthread_create(&thread, NULL, end_late, hold) == 0)
		syscall(SYS_exit, 5);
	_exit(9);
}

static void await_zombie(pid_t pid)
{
	char name[64];
	char word = 0;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	while (word != 'Z') {
		FILE *f = fopen(name, "re");

		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &word), 1);
		fclose(f);
	}
}

/* A process whose leader ended before the attach: its status is the one that its parent gets. */
static void dead_leader(void **state)
{
	struct story s = {0};
	int hold[2], said[2], status[2];
	char want[64];
	pctx_t *pctx;

	(void)state;
	assert_int_equal(pipe(hold) | pipe(said), 0);
	if (fork() == 0) {
		status[0] = fork();
		if (status[0] == 0)
			start_leaderless(hold);
		close(hold[1]);
		if (write(said[1], status, sizeof(int)) != sizeof(int))
			_exit(1);
		waitpid(status[0], &status[1], 0);
		_exit(write(said[1], &status[1], sizeof(int)) != sizeof(int));
	}
	assert_int_equal(read(said[0], &status[0], sizeof(int)), sizeof(int));
	await_zombie(status[0]);
	pctx = pctx_capture(status[0], &s, 0, keep_error);
	assert_non_null(pctx);
	watch(pctx);
	close(hold[0]);
	close(hold[1]);
	assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
	assert_int_equal(read(said[0], &status[1], sizeof(int)), sizeof(int));
	snprintf(want, sizeof(want), "A init 1; A fini 1; A lwp_exit 1; A exit %d; ",
		 WEXITSTATUS(status[1]));
	assert_string_equal(s.text, want);
	pctx_release(pctx);
	while (wait(NULL) > 0)
		;
}

/* Releasing a handle that never ran detaches its processes. */
static void released_unrun(void **state)
{
	struct story s = {0};
	char what[] = "exit7";
	pctx_t *pctx = create(what, &s);
	pid_t pid = pctx_pid(pctx);
	int status;

	(void)state;
	pctx_release(pctx);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 7 << 8);
	assert_string_equal(s.text, "");
}

static void unknown_event(void **state)
{
	struct story s = {0};
	char what[] = "exit7";
	pctx_t *pctx = create(what, &s);

	(void)state;
	assert_int_equal(pctx_set_events(pctx, 42, NULL, PCTX_NULL_EVENT), -1);
	assert_int_equal(errno, EINVAL);
	assert_string_equal(errors, "unknown event 42");
	errno = 0;
	assert_int_equal(pctx_lwp_tid(pctx, 2), -1);
	assert_int_equal(errno, ESRCH);
	pctx_release(pctx);
	assert_true(waitpid(-1, NULL, 0) > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders),	  cmocka_unit_test(not_started),
		cmocka_unit_test(captured),	  cmocka_unit_test(not_captured),
		cmocka_unit_test(added),	  cmocka_unit_test(dead_leader),
		cmocka_unit_test(released_unrun), cmocka_unit_test(unknown_event),
	};

	if (argc > 1)
		_exit(act(argv[1])); /* without the sanitizers' words at exit: it is traced */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
