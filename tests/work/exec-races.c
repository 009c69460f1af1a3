/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * exec-races MODE - exec while much else goes on.
 *
 *   all      20 threads execute at the same time: one wins
 *   forking  a thread executes while other threads fork; their children end by themselves
 *   making   a thread executes while other threads make threads
 *   failing  20 threads fail to execute, in four ways, again and again; then one succeeds
 *   vforked  vforked children fail to execute
 *   leader   the leader executes while 20 threads run
 *   gone     a thread executes after the leader has ended
 *   ending   a thread executes while another ends the process: the one or the other
 *   script   a script, and the interpreter of its interpreter
 *   many     30 images in a row, each with threads (RACES_LEFT, RACES_THREADS: other numbers)
 *   handed   30 images in a row (RACES_LEFT), each executed by a thread that is not the leader
 *
 * Known: one process to its end, and what it forked.  PASS, or FAIL and why.
 */
#include "work.h"

#include <fcntl.h>
#include <sys/wait.h>

static pthread_barrier_t together;
static char *const won[] = {(char[]){"exec-races"}, (char[]){"won"}, NULL};

static bool alone(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", (int)getpid());
	return gettid() == getpid() && access(path, F_OK) == 0;
}

/* The image with which a mode ends. */
static void has_won(void)
{
	must(alone(), "the only LWP");
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void *execute(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&together);
	execv("/proc/thread-self/exe", won);
	must(false, "exec");
	return NULL;
}

static void *idle(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&together);
	for (;;)
		pause();
	return NULL;
}

static void *fork_on(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&together);
	for (;;) {
		if (fork() == 0)
			_exit(0);
		waitpid(-1, NULL, WNOHANG);
	}
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *make_on(void *arg)
{
	pthread_t thread;

	(void)arg;
	pthread_barrier_wait(&together);
	for (;;) {
		if (pthread_create(&thread, NULL, nothing, NULL) == 0)
			pthread_join(thread, NULL);
	}
	return NULL;
}

__attribute__((noreturn)) static void start(int n, void *(*others)(void *), void *(*last)(void *))
{
	pthread_barrier_init(&together, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		start_thread(others, NULL);
	last(NULL);
	for (;;)
		pause();
}

static void all(void)
{
	start(20, execute, idle);
}

static void forking(void)
{
	start(4, fork_on, execute);
}

static void making(void)
{
	start(4, make_on, execute);
}

static void leader(void)
{
	start(20, idle, execute);
}

static void fail_to_execute(int i)
{
	char *none[] = {(char[]){"none"}, NULL};
	static const char *const paths[] = {"/nonexistent", "/", "/proc/self/maps",
					    "/proc/version"};
	static const int errors[] = {ENOENT, EACCES, EACCES, EACCES};

	must(execv(paths[i % 4], none) == -1 && errno == errors[i % 4], "an exec that fails");
}

static void *fail_often(void *arg)
{
	for (int i = 0; i < 40; i++)
		fail_to_execute(i);
	return arg;
}

static void failing(void)
{
	pthread_t thread[20];

	for (int i = 0; i < 20; i++)
		thread[i] = start_thread(fail_often, NULL);
	for (int i = 0; i < 20; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_init(&together, NULL, 1);
	execute(NULL);
}

static void vforked(void)
{
	int status;

	for (volatile int i = 0; i < 20; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			fail_to_execute(i);
			_exit(7);
		}
		must(waitpid(pid, &status, 0) == pid && status == 7 << 8, "its child");
	}
}

static void *execute_late(void *arg)
{
	usleep(10000);
	pthread_barrier_init(&together, NULL, 1);
	return execute(arg);
}

static void gone(void)
{
	start_thread(execute_late, NULL);
	syscall(SYS_exit, 3);
}

static void *end_all(void *arg)
{
	pthread_barrier_wait(&together);
	_exit(0);
	return arg;
}

static void ending(void)
{
	int status;

	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			if (dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO) == -1)
				broken("/dev/null");
			pthread_barrier_init(&together, NULL, 2);
			start_thread(end_all, NULL);
			execute(NULL);
		}
		must(waitpid(pid, &status, 0) == pid && status == 0, "one or the other");
	}
}

static void write_script(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	must(fd != -1 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
	close(fd);
}

static void script(void)
{
	char dir[] = "/tmp/exec-races.XXXXXX", name[64], text[80];
	int status;
	pid_t pid;

	must(mkdtemp(dir) != NULL, "a directory");
	snprintf(name, sizeof(name), "%s/a", dir);
	write_script(name, "#!/bin/sh\nexit 5\n");
	snprintf(text, sizeof(text), "#!%s\n", name);
	snprintf(name, sizeof(name), "%s/b", dir);
	write_script(name, text);
	for (int i = 0; i < 5; i++) {
		pid = vfork();
		if (pid == 0) {
			execl(name, name, (char *)NULL);
			_exit(6);
		}
		must(waitpid(pid, &status, 0) == pid && status == 5 << 8, "its status");
	}
	unlink(name);
	name[strlen(name) - 1] = 'a';
	unlink(name);
	rmdir(dir);
}

/* Images that are still to come. */
static long left(void)
{
	const char *text = getenv("RACES_LEFT");

	must(alone(), "the only LWP");
	return text != NULL ? number(text) : 30;
}

static void execute_next(const char *mode, long n)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", n - 1);
	setenv("RACES_LEFT", text, 1);
	execl("/proc/thread-self/exe", "exec-races", mode, (char *)NULL);
	must(false, "exec");
}

static void many(void)
{
	const char *threads = getenv("RACES_THREADS");
	long n = left(), nthreads = threads != NULL ? number(threads) : 3;

	if (n == 0)
		return;
	for (long i = 0; i < nthreads; i++)
		start_thread(nothing, NULL);
	execute_next("many", n);
}

static void *execute_handed(void *arg)
{
	execute_next("handed", *(const long *)arg);
	return NULL;
}

static void handed(void)
{
	static long n;

	n = left();
	if (n == 0)
		return;
	start_thread(execute_handed, &n);
	for (;;)
		pause();
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"all", all},	      {"forking", forking}, {"making", making},
		{"failing", failing}, {"vforked", vforked}, {"leader", leader},
		{"gone", gone},	      {"ending", ending},   {"script", script},
		{"many", many},	      {"handed", handed},   {"won", has_won},
	};

	return RUN_MODE(modes, argc, argv);
}
