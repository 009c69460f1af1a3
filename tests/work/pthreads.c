/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pthreads MODE - what the C library does with threads.
 *
 *   setxid  20 threads change their user by a signal of the library; root only
 *   cancel  threads are cancelled, in calls and computing
 *   keys    thread-local destructors
 *   atfork  a fork with handlers, in a process of 10 threads
 *   cond    40000 hand-overs between two threads
 *   system  system(3), popen(3)
 *   early   the process ends while threads are being made
 *
 * Known: PASS, or FAIL and why.
 */
#include "work.h"

#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int count;
static atomic_bool done;

static void *idle(void *arg)
{
	(void)arg;
	while (!done)
		usleep(200);
	return (void *)(long)geteuid();
}

static void setxid(void)
{
	pthread_t thread[20];
	void *euid;

	for (int i = 0; i < 20; i++)
		thread[i] = start_thread(idle, NULL);
	for (int i = 0; i < 5; i++)
		must(seteuid(i % 2 == 0 ? 65534 : 0) == 0, "seteuid");
	done = true;
	for (int i = 0; i < 20; i++) {
		pthread_join(thread[i], &euid);
		must((long)euid == 65534, "the user of a thread");
	}
}

static void *compute(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		__asm__ volatile("" ::: "memory");
	return arg;
}

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void cancel(void)
{
	void *how;

	for (int i = 0; i < 20; i++) {
		pthread_t thread = start_thread(i % 2 == 0 ? compute : sleep_on, NULL);

		pthread_cancel(thread);
		pthread_join(thread, &how);
		must(how == PTHREAD_CANCELED, "cancelled");
	}
}

static pthread_key_t key;

static void destroy(void *value)
{
	(void)value;
	count++;
}

static void *use_key(void *arg)
{
	pthread_setspecific(key, &count);
	return arg;
}

static void keys(void)
{
	pthread_key_create(&key, destroy);
	for (int i = 0; i < 50; i++)
		pthread_join(start_thread(use_key, NULL), NULL);
	must(count == 50, "a destructor for each");
}

static void add_one(void)
{
	count++;
}

static void atfork(void)
{
	pthread_t thread[10];
	int status;

	pthread_atfork(add_one, add_one, add_one);
	for (int i = 0; i < 10; i++)
		thread[i] = start_thread(idle, NULL);
	for (int i = 1; i <= 10; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(count);
		must(waitpid(pid, &status, 0) == pid && status == 2 * i << 8, "the handlers");
	}
	done = true;
	for (int i = 0; i < 10; i++)
		pthread_join(thread[i], NULL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void take_turns(int who)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 20000; i++) {
		while (count % 2 != who)
			pthread_cond_wait(&changed, &lock);
		count++;
		pthread_cond_signal(&changed);
	}
	pthread_mutex_unlock(&lock);
}

static void *other_turn(void *arg)
{
	take_turns(1);
	return arg;
}

static void cond(void)
{
	pthread_t thread = start_thread(other_turn, NULL);

	take_turns(0);
	pthread_join(thread, NULL);
	must(count == 40000, "all turns");
}

static void by_system(void)
{
	char line[16];
	FILE *f;

	must(system("exit 6") == 6 << 8, "system");
	must(system("kill -9 $$") == SIGKILL, "system, killed");
	f = popen("echo text", "re");
	must(f != NULL && fgets(line, sizeof(line), f) != NULL && strcmp(line, "text\n") == 0,
	     "popen");
	must(pclose(f) == 0, "pclose");
}

static void *make_on(void *arg)
{
	pthread_t thread;

	/* pthread_detach(3) would access the thread, which may have ended. */
	for (;;) {
		if (try_thread(&thread, PTHREAD_CREATE_DETACHED, use_key, NULL) != 0)
			usleep(100);
	}
	return arg;
}

static void early(void)
{
	int status;

	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == -1)
			broken("fork");
		if (pid == 0) {
			start_thread(make_on, NULL);
			start_thread(make_on, NULL);
			usleep((useconds_t)(i * 300));
			_exit(8);
		}
		must(waitpid(pid, &status, 0) == pid && status == 8 << 8, "its end");
	}
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"setxid", setxid}, {"cancel", cancel},	   {"keys", keys},   {"atfork", atfork},
		{"cond", cond},	    {"system", by_system}, {"early", early},
	};

	return RUN_MODE(modes, argc, argv);
}
