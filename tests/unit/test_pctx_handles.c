/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Handles of libpctx: several at a time, their errors, the caller's data in them, and their
 * release.
 *
 * The tracked program is this one; its first argument selects the action.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <libpctx.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[] = "/proc/self/exe";
static char errors[512];

static void keep_error(const char *fn, const char *fmt, va_list ap)
{
	(void)fn;
	vsnprintf(errors, sizeof(errors), fmt, ap);
	end_message(errors);
}

/* Ends a child by a signal, which it can take only if it is not stopped. */
static void end(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* The wait status of a child.  pthread_join(3) returns before the kernel detaches the thread's
 * tracees. */
static int end_of(pid_t pid)
{
	int status;

	do
		assert_int_equal(waitpid(pid, &status, 0), pid);
	while (WIFSTOPPED(status));
	return status;
}

static void refused(pctx_t *pctx, int error, const char *why)
{
	int err = errno;

	assert_null(pctx);
	assert_int_equal(err, error);
	if (strstr(errors, why) == NULL)
		fail_msg("'%s' does not tell '%s'", errors, why);
	errors[0] = '\0';
}

/* ---- how many ------------------------------------------------------------- */

static void *open_and_release(void *arg)
{
	pctx_t *pctx = pctx_open(NULL, keep_error);

	if (pctx != NULL)
		pctx_release(pctx);
	return pctx != NULL ? arg : NULL;
}

static void one_per_thread(void **state)
{
	static const char why[] = "this thread has another handle";
	char *argv[] = {self, NULL};
	pctx_t *pctx = pctx_open(NULL, keep_error);
	pid_t pid = start_sleeper();
	pthread_t thread;
	void *done;
	int status;

	(void)state;
	assert_non_null(pctx);
	refused(pctx_open(NULL, keep_error), EBUSY, why);
	refused(pctx_capture(pid, NULL, 0, keep_error), EBUSY, why);
	refused(pctx_create(self, argv, NULL, 0, keep_error), EBUSY, why);
	/* Another thread and a forked child have no handle. */
	assert_int_equal(pthread_create(&thread, NULL, open_and_release, &status), 0);
	pthread_join(thread, &done);
	assert_ptr_equal(done, &status);
	if (fork() == 0)
		_exit(open_and_release(&status) != NULL ? 3 : 4);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 3 << 8);
	pctx_release(pctx);
	pctx = pctx_capture(pid, NULL, 0, keep_error);
	assert_non_null(pctx);
	pctx_release(pctx);
	end(pid);
}

/* ---- what is refused --------------------------------------------------------- */

static void no_such_ids(void **state)
{
	pctx_t *pctx;

	(void)state;
	refused(pctx_capture(0, NULL, 0, keep_error), EINVAL,
		"cannot track process 0: process ids are greater than 0");
	refused(pctx_capture(-7, NULL, 0, keep_error), EINVAL, "cannot track process -7");
	pctx = pctx_open(NULL, keep_error);
	assert_non_null(pctx);
	refused(pctx_add(pctx, 0), EINVAL, "cannot track process 0");
	refused(pctx_add(pctx, -1), EINVAL, "cannot track process -1");
	pctx_release(pctx);
}

static void *capture_traced(void *arg)
{
	return pctx_capture(*(pid_t *)arg, NULL, 0, keep_error) == NULL && errno == EBUSY ? arg
											  : NULL;
}

static void *abandon(void *arg)
{
	pctx_t *pctx = pctx_capture(*(pid_t *)arg, NULL, 0, keep_error);

	if (pctx == NULL)
		return NULL;
	pctx_abandon(pctx);
	/* It is ours until this thread ends. */
	return capture_traced(arg);
}

static void traced_by_us(void **state)
{
	pid_t pid = start_sleeper();
	pctx_t *pctx = pctx_capture(pid, NULL, 0, keep_error);
	pthread_t thread;
	void *done;

	(void)state;
	assert_non_null(pctx);
	assert_int_equal(pthread_create(&thread, NULL, capture_traced, &pid), 0);
	pthread_join(thread, &done);
	assert_ptr_equal(done, &pid);
	assert_non_null(strstr(errors, "this program traces it already"));
	pctx_release(pctx);
	end(pid);
}

/* ---- abandoning ---------------------------------------------------------------- */

/* The kernel detaches the tracees of a thread at its end, some time after pthread_join(3)
 * returns. */
static void wait_until_free(pid_t pid)
{
	char path[64], line[128];
	int tracer;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	do {
		FILE *f = fopen(path, "re");

		tracer = -1;
		assert_non_null(f);
		while (tracer == -1 && fgets(line, sizeof(line), f) != NULL)
			sscanf(line, "TracerPid: %d", &tracer);
		fclose(f);
	} while (tracer > 0);
	assert_int_equal(tracer, 0);
}

static void abandoned(void **state)
{
	pid_t pid = start_sleeper();
	pthread_t thread;
	void *done;

	(void)state;
	errors[0] = '\0';
	assert_int_equal(pthread_create(&thread, NULL, abandon, &pid), 0);
	pthread_join(thread, &done);
	assert_ptr_equal(done, &pid);
	assert_non_null(strstr(errors, "this program traces it already"));
	wait_until_free(pid);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(end_of(pid), SIGTERM);
}

/* An LWP that waits for its vfork(2) cannot stop: pctx_release() would wait for it. */
static void abandoned_in_vfork(void **state)
{
	int said[2];
	pid_t pid, child;
	pthread_t thread;
	void *done;

	(void)state;
	assert_int_equal(pipe(said), 0);
	pid = fork();
	if (pid == 0) {
		if (vfork() == 0) {
			pid = getpid();
			if (write(said[1], &pid, sizeof(pid)) == sizeof(pid))
				pause();
			_exit(0);
		}
		_exit(6);
	}
	assert_int_equal(read(said[0], &child, sizeof(child)), sizeof(child));
	alarm(60);
	assert_int_equal(pthread_create(&thread, NULL, abandon, &pid), 0);
	pthread_join(thread, &done);
	alarm(0);
	assert_ptr_equal(done, &pid);
	kill(child, SIGKILL);
	assert_int_equal(end_of(pid), 6 << 8);
	close(said[0]);
	close(said[1]);
}

/* Stopped LWPs continue at once. */
static void abandoned_unrun(void **state)
{
	char what[] = "exit7", *argv[] = {self, what, NULL};
	pctx_t *pctx = pctx_create(self, argv, NULL, 0, keep_error);
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(pctx);
	pid = pctx_pid(pctx);
	pctx_abandon(pctx);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 7 << 8);
}

/* ---- what cannot be executed ------------------------------------------------------ */

static void write_file(const char *path, mode_t mode, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int create_status(const char *name)
{
	char *argv[] = {(char *)(uintptr_t)name, NULL};
	pctx_t *pctx = pctx_create(name, argv, NULL, 0, keep_error);
	int status;

	if (pctx == NULL)
		return -errno;
	assert_int_equal(pctx_wait(pctx, &status), 0);
	pctx_release(pctx);
	return WEXITSTATUS(status);
}

/* PATH is searched as by execvp(3), but scripts without `#!` are not given to a shell. */
static void path_search(void **state)
{
	const char *old = getenv("PATH");
	char *saved = old != NULL ? strdup(old) : NULL;
	char dir[] = "/tmp/test_pctx.XXXXXX", path[128], back[256];

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_non_null(getcwd(back, sizeof(back)));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(mkdir("a", 0755) | mkdir("b", 0755), 0);
	write_file("a/garbage", 0755, "exit 3\n");
	write_file("a/closed", 0644, "");
	write_file("a/true", 0644, "");
	write_file("here", 0755, "#!/bin/sh\nexit 1\n");

	snprintf(path, sizeof(path), "/nonexistent:%s/here:%s/a:%s/b:/bin:/usr/bin", dir, dir, dir);
	setenv("PATH", path, 1);
	assert_int_equal(create_status("garbage"), -ENOEXEC);
	assert_string_equal(errors,
			    "cannot execute program 'garbage': Exec format error (neither a "
			    "program for this machine nor a script that begins with #!)");
	assert_int_equal(create_status("a/garbage"), -ENOEXEC);
	assert_int_equal(create_status("true"), 0); /* that in a/ cannot be executed */
	assert_int_equal(create_status("closed"), -EACCES);
	assert_int_equal(create_status("absent"), -ENOENT);
	assert_int_equal(create_status(""), -ENOENT);
	assert_int_equal(create_status("here"), -ENOENT);
	setenv("PATH", "/nonexistent:", 1);
	assert_int_equal(create_status("here"), 1);
	setenv("PATH", "", 1);
	assert_int_equal(create_status("here"), 1);
	unsetenv("PATH");
	assert_int_equal(create_status("true"), 0);

	if (saved != NULL)
		setenv("PATH", saved, 1);
	free(saved);
	assert_int_equal(unlink("a/garbage") | unlink("a/closed") | unlink("a/true") |
				 unlink("here") | rmdir("a") | rmdir("b") | chdir(back) |
				 rmdir(dir),
			 0);
}

/* The error is the limit of files, not one of ptrace(2). */
static void no_files(void **state)
{
	struct rlimit old, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = old;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	int status = create_status("true");

	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(status, -EMFILE);
	assert_string_equal(errors, "cannot start program 'true': pipe2(2): Too many open files");
}

/* ---- pointers and answers ------------------------------------------------------------ */

/* The program: a thread, a child, and an exec. */
static void *do_nothing(void *arg)
{
	return arg;
}

static int live(void)
{
	pthread_t thread;
	pid_t pid;

	if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	pid = fork();
	if (pid == 0)
		_exit(pctx_request(5) == -1 && errno == 5 ? 0 : 2);
	if (waitpid(pid, NULL, 0) != pid || pctx_request(0) != 0)
		return 3;
	execlp("true", "true", (char *)NULL);
	return 4;
}

static struct {
	int procs[2], lwps[8]; /* what pointers point to */
	int nprocs, nlwps, nreleased, nasked;
} seen;

static void release(void *arg)
{
	seen.nreleased++;
	(void)arg;
}

static int answer(int op, void *arg)
{
	assert_true((int *)arg >= seen.lwps && (int *)arg < seen.lwps + ARRAY_SIZE(seen.lwps));
	seen.nasked++;
	return op;
}

static int data_init(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	int *data = &seen.lwps[seen.nlwps++];

	(void)pid;
	(void)arg;
	if (pctx_data(pctx) == NULL)
		pctx_set_data(pctx, &seen.procs[seen.nprocs++]);
	assert_null(pctx_lwp_data(pctx, lwp)); /* also that of LWP 1 after an exec */
	assert_int_equal(pctx_lwp_set_data(pctx, lwp, data), 0);
	*data = (int)lwp;
	/* The second takes the place of the first. */
	assert_int_equal(pctx_lwp_answer(pctx, lwp, answer, data, release), 0);
	assert_int_equal(pctx_lwp_answer(pctx, lwp, answer, data, release), 0);
	return 0;
}

static void check_data(pctx_t *pctx, id_t lwp)
{
	const int *data = pctx_lwp_data(pctx, lwp);

	assert_non_null(data);
	assert_int_equal(*data, (int)lwp);
	assert_non_null(pctx_data(pctx));
}

static int data_lwp(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)pid;
	(void)arg;
	check_data(pctx, lwp);
	return 0;
}

static int data_exec(pctx_t *pctx, pid_t pid, id_t lwp, char *cmd, void *arg)
{
	(void)cmd;
	return data_lwp(pctx, pid, lwp, arg);
}

static void data_exit(pctx_t *pctx, pid_t pid, id_t lwp, int status, void *arg)
{
	assert_int_equal(status, 0);
	data_lwp(pctx, pid, lwp, arg);
}

static void data_fork(pctx_t *pctx, pid_t pid, id_t lwp, pid_t child, void *arg)
{
	(void)child;
	(void)arg;
	assert_null(pctx_data(pctx));
	assert_non_null(pctx_parent(pctx));
	assert_int_equal(pctx_pid(pctx_parent(pctx)), pid);
	assert_null(pctx_parent(pctx_parent(pctx)));
	check_data(pctx_parent(pctx), lwp);
	assert_true(pctx_lwp_tid(pctx_parent(pctx), lwp) > 0);
	assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
}

static void data_and_answers(void **state)
{
	char what[] = "live", *argv[] = {self, what, NULL};
	pctx_t *pctx = pctx_create(self, argv, NULL, 0, keep_error);
	int status;

	(void)state;
	assert_non_null(pctx);
	assert_null(pctx_data(pctx));
	assert_int_equal(pctx_lwp_set_data(pctx, 2, &seen), -1);
	assert_int_equal(errno, ESRCH);
	assert_int_equal(pctx_lwp_answer(pctx, 2, answer, &seen, release), -1);
	assert_int_equal(errno, ESRCH);
	/* Without an answer, the release is not kept. */
	assert_int_equal(pctx_lwp_answer(pctx, 1, answer, &seen, release), 0);
	assert_int_equal(pctx_lwp_answer(pctx, 1, NULL, &seen, release), 0);
	assert_int_equal(seen.nreleased, 1);
	assert_int_equal(pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, data_init, PCTX_FINI_LWP_EVENT,
					 data_lwp, PCTX_SYSC_LWP_CREATE_EVENT, data_lwp,
					 PCTX_SYSC_LWP_EXIT_EVENT, data_lwp, PCTX_SYSC_EXEC_EVENT,
					 data_exec, PCTX_SYSC_EXIT_EVENT, data_exit,
					 PCTX_SYSC_FORK_EVENT, data_fork, PCTX_NULL_EVENT),
			 0);
	assert_int_equal(pctx_run(pctx, 0, 0, NULL), 0);
	assert_int_equal(pctx_wait(pctx, &status), 0);
	assert_int_equal(status, 0);
	assert_int_equal(seen.nprocs, 2);
	assert_int_equal(seen.nlwps, 4); /* two, the child's, and that after the exec */
	assert_int_equal(seen.nasked, 2);
	assert_int_equal(seen.nreleased, 1 + 2 * 4);
	pctx_release(pctx);
	assert_int_equal(seen.nreleased, 1 + 2 * 4);
}

/* The answerer of an LWP that lives on is released with the handle. */
static void released_alive(void **state)
{
	pid_t pid = start_sleeper();
	pctx_t *pctx = pctx_capture(pid, NULL, 0, keep_error);

	(void)state;
	assert_non_null(pctx);
	seen.nreleased = 0;
	assert_int_equal(pctx_lwp_answer(pctx, 1, answer, &seen, release), 0);
	pctx_release(pctx);
	assert_int_equal(seen.nreleased, 1);
	end(pid);
}

static int no_tick(pctx_t *pctx, pid_t pid, id_t lwp, void *arg)
{
	(void)pctx, (void)pid, (void)lwp, (void)arg;
	return 0;
}

static int no_answer(int op, void *arg)
{
	(void)op, (void)arg;
	return 0;
}

#define EXPECT_EINVAL(call)                      \
	do {                                     \
		errno = 0;                       \
		assert_true(call);               \
		assert_int_equal(errno, EINVAL); \
	} while (0)

static void refuse(pctx_t *bad)
{
	int status;

	EXPECT_EINVAL(pctx_set_events(bad, PCTX_NULL_EVENT) == -1);
	EXPECT_EINVAL(pctx_run(bad, 0, 0, no_tick) == -1);
	EXPECT_EINVAL(pctx_add(bad, getpid()) == NULL);
	EXPECT_EINVAL(pctx_add_found(bad, getpid()) == NULL);
	EXPECT_EINVAL(pctx_wait(bad, &status) == -1);
	EXPECT_EINVAL(pctx_pid(bad) == -1);
	EXPECT_EINVAL(pctx_watch_libraries(bad, PCTX_LIBRARIES_ALL) == -1);
	EXPECT_EINVAL(pctx_stopped(bad) == 0);
	EXPECT_EINVAL(pctx_lwp_tid(bad, 1) == -1);
	EXPECT_EINVAL(pctx_parent(bad) == NULL);
	EXPECT_EINVAL(pctx_data(bad) == NULL);
	EXPECT_EINVAL(pctx_lwp_set_data(bad, 1, bad) == -1);
	EXPECT_EINVAL(pctx_lwp_data(bad, 1) == NULL);
	EXPECT_EINVAL(pctx_lwp_answer(bad, 1, no_answer, NULL, NULL) == -1);
	pctx_set_data(bad, bad);
	pctx_terminate(bad);
	pctx_release(bad);
	pctx_abandon(bad);
}

/* Pointers that were never handles, and released ones. */
static void no_handles(void **state)
{
	static uint64_t memory[256];
	static char text[] = "not a handle";
	pid_t child = start_sleeper();
	pctx_t *pctx = pctx_capture(child, NULL, 0, keep_error), *opened;

	(void)state;
	assert_non_null(pctx);
	refuse(NULL);
	refuse((pctx_t *)1);
	refuse((pctx_t *)UINTPTR_MAX);
	refuse((pctx_t *)memory);
	refuse((pctx_t *)text);
	refuse((pctx_t *)((char *)pctx + 16));
	assert_int_equal(pctx_lwp_tid(pctx, 1), child);
	pctx_release(pctx);
	refuse(pctx);
	opened = pctx_open(NULL, keep_error);
	assert_non_null(opened);
	pctx_abandon(opened);
	refuse(opened);
	end(child);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_handles),	      cmocka_unit_test(one_per_thread),
		cmocka_unit_test(no_such_ids),	      cmocka_unit_test(traced_by_us),
		cmocka_unit_test(abandoned),	      cmocka_unit_test(abandoned_unrun),
		cmocka_unit_test(path_search),	      cmocka_unit_test(no_files),
		cmocka_unit_test(data_and_answers),   cmocka_unit_test(released_alive),
		cmocka_unit_test(abandoned_in_vfork),
	};

	if (argc > 1) /* without what sanitizers do at exit: it is traced */
		_exit(strcmp(argv[1], "live") == 0 ? live() : 7);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
