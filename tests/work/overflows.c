/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * overflows MODE - overflows of one's own counters while all kinds of things happen.
 *
 *   storm     threads that overflow at every page fault, and restart without reason
 *   blocked   signals are blocked while it overflows, is switched off and on
 *   unbind    unbound by itself and by another LWP, with signals on their way
 *   close     the handle is closed under a bound set, with signals on their way
 *   fork      children, of a process that overflows and of the handler
 *   exec      executes itself
 *   exit      exits, and dies of a signal, while threads overflow
 *   dlopen    loads and unloads a library
 *   longjmp   jumps out of the handler, with the mask and without
 *   sample    the handler samples sets of other LWPs
 *   stack     alternate stacks, of each thread
 *   handlers  the program's own handlers, timers and real-time signals
 *
 * Known: PASS; each overflow is one signal, and its values are exact.
 */
#include "overflows.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/time.h>

static void *storm_thread(void *arg)
{
	uint64_t period = *(uint64_t *)arg;

	prepare(period);
	bind_set();
	for (int i = 0; i < 10; i++) {
		fault(20 * (long)period);
		must_have(20 * (i + 1));
		for (int k = 0; k < 20; k++)
			must(cpc_set_restart(self.cpc, self.set) == 0, "cpc_set_restart");
	}
	must_count(value(1) == 0, "the period begins again");
	finish();
	return NULL;
}

static void storm(void)
{
	uint64_t period[] = {1, 2, 3, 10};
	pthread_t thread[4];

	catch_emt(on_emt, SA_RESTART);
	for (int i = 0; i < 4; i++)
		thread[i] = start_thread(storm_thread, &period[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
}

static void blocked(void)
{
	sigset_t mask, old;

	catch_emt(on_emt, 0);
	prepare(10);
	bind_set();
	for (int i = 0; i < 40; i++) {
		sigemptyset(&mask);
		sigaddset(&mask, SIGEMT);
		if (i % 2 == 0)
			sigfillset(&mask);
		pthread_sigmask(SIG_SETMASK, &mask, &old);
		fault(25);
		if (i % 4 < 2)
			must(cpc_disable(self.cpc) == 0 && cpc_enable(self.cpc) == 0, "cpc_enable");
		fault(25);
		must_have(i);
		must_count(value(1) == 10, "nothing is counted");
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		must_have(i + 1);
	}
	finish();
}

static void just_count(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	self.signals++;
}

static _Atomic(cpc_set_t *) overflowing;

static void *overflow_once(void *arg)
{
	prepare(300);
	bind_set();
	*(cpc_t **)arg = self.cpc;
	overflowing = self.set;
	fault(2000);
	must_count(self.signals <= 1, "signals");
	while (overflowing != NULL) /* at its end, the set would be unbound */
		sched_yield();
	return NULL;
}

static void unbind(void)
{
	sigset_t all, old;

	catch_emt(on_emt, 0);
	prepare(10);
	sigfillset(&all);
	for (int i = 0; i < 100; i++) {
		self.signals = 0;
		bind_set();
		fault(10 * (i % 3));
		must_have(i % 3);
		if (i % 2 == 0)
			pthread_sigmask(SIG_SETMASK, &all, &old);
		fault(i % 2 == 0 ? 20 : 9);
		must(cpc_unbind(self.cpc, self.set) == 0, "cpc_unbind");
		if (i % 2 == 0)
			pthread_sigmask(SIG_SETMASK, &old, NULL);
		must_have(i % 3);
	}
	finish();
	/* Another LWP unbinds it near an overflow, while no other call on the set runs. */
	catch_emt(just_count, 0);
	for (int i = 0; i < 20; i++) {
		cpc_t *cpc = NULL;
		pthread_t thread = start_thread(overflow_once, &cpc);

		while (overflowing == NULL)
			sched_yield();
		for (int k = 0; k < i * 20; k++)
			sched_yield();
		must(cpc_unbind(cpc, overflowing) == 0, "cpc_unbind by another");
		overflowing = NULL;
		pthread_join(thread, NULL);
		must(cpc_close(cpc) == 0, "cpc_close");
	}
}

static void close_handle(void)
{
	sigset_t all, old;

	catch_emt(on_emt, 0);
	sigfillset(&all);
	for (int i = 0; i < 20; i++) {
		prepare(10);
		bind_set();
		fault(15);
		must_have(1);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		fault(i % 2 * 10);
		finish();
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		must_have(1);
		fault(20);
		must_have(1);
	}
}

static void children(void)
{
	int status;

	catch_emt(on_emt, 0);
	prepare(10);
	bind_set();
	for (int i = 0; i < 20; i++) {
		fault(5);
		must(cpc_disable(self.cpc) == 0, "cpc_disable");
		pid_t pid = fork();

		if (pid == 0) {
			fault(20);
			must_have(i); /* from before */
			must(cpc_set_restart(self.cpc, self.set) == -1, "bound in a child");
			bind_set();
			fault(29);
			must_have(i + 2);
			_exit(0);
		}
		must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "child");
		must(cpc_set_restart(self.cpc, self.set) == 0 && cpc_enable(self.cpc) == 0, "on");
		fault(10);
		must_have(i + 1);
		must(cpc_set_restart(self.cpc, self.set) == 0, "cpc_set_restart");
	}
	self.forks = true;
	self.signals = 0;
	fault(25);
	/* After a fork, what the handler writes to is copied: a few faults more, but frozen. */
	must_count(self.wrong == 0 && self.signals >= 2, "handler that forks");
	finish();
}

static void execed(void)
{
	static const char counter[] = "anon_inode:[perf_event]";
	char path[64], file[sizeof(counter)];
	sigset_t pending;

	sigpending(&pending);
	must(sigisemptyset(&pending) == 1, "something is pending");
	for (int fd = 0; fd < 100; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		must(readlink(path, file, sizeof(file)) < (ssize_t)sizeof(counter) - 1 ||
			     memcmp(file, counter, sizeof(counter) - 1) != 0,
		     "a counter is left");
	}
	fault(100);
}

static void exec_itself(void)
{
	int status;

	catch_emt(on_emt, 0);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			prepare(1);
			bind_set();
			fault(i);
			execl("/proc/self/exe", "overflows", "execed", NULL);
			_exit(WORK_BROKEN);
		}
		must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "new program");
	}
}

static void *overflow_forever(void *arg)
{
	prepare(1);
	bind_set();
	atomic_fetch_add((atomic_int *)arg, 1);
	for (;;)
		fault(50);
	return NULL;
}

static void exits(void)
{
	int status;

	catch_emt(on_emt, 0);
	for (int i = 0; i < 12; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			static atomic_int ready;

			for (int k = 0; k < 3; k++)
				start_thread(overflow_forever, &ready);
			while (ready < 3)
				sched_yield();
			if (i % 3 == 0)
				exit(7);
			if (i % 3 == 1)
				_exit(7);
			raise(SIGTERM);
		}
		must(pid > 0 && waitpid(pid, &status, 0) == pid, "waitpid");
		must(i % 3 < 2 ? WIFEXITED(status) && WEXITSTATUS(status) == 7
			       : WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
		     "status");
	}
}

static void load_library(void)
{
	catch_emt(on_emt, SA_RESTART);
	for (uint64_t period = 1; period <= 3; period++) {
		prepare(period);
		bind_set();
		for (int i = 0; i < 10; i++) {
			void *lib = dlopen("libcmocka.so.0", RTLD_NOW);

			if (lib == NULL)
				lib = dlopen("libm.so.6", RTLD_NOW);
			must(lib != NULL, "dlopen");
			must(dlsym(lib, "no_such_symbol") == NULL, "dlsym");
			dlclose(lib);
		}
		must_count(self.wrong == 0, "values");
		finish();
	}
}

static sigjmp_buf escape;

static void jump(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	self.signals++;
	siglongjmp(escape, 1);
}

static void longjmp_rounds(int mask)
{
	volatile int rounds = 0;

	catch_emt(on_emt, 0);
	prepare(10);
	catch_emt(jump, mask ? 0 : SA_NODEFER);
	bind_set();
	while (rounds < 50) {
		if (sigsetjmp(escape, mask) == 0)
			fault(15);
		rounds++;
		must_count(value(1) == 10, "frozen");
		must(cpc_set_restart(self.cpc, self.set) == 0, "cpc_set_restart");
	}
	must_have(50);
	finish();
}

static void longjmps(void)
{
	longjmp_rounds(1);
	longjmp_rounds(0);
}

static void sample_others(void)
{
	cpc_set_t *own;

	catch_emt(on_emt, 0);
	prepare(10);
	own = self.set;
	self.set = cpc_set_create(self.cpc);
	add("page-faults", 0, 0);
	self.other = self.set;
	self.other_buf = cpc_buf_create(self.cpc, self.other);
	self.set = own;
	/* Of a CPU, where that is permitted; else one that is not bound, which fails. */
	if (geteuid() == 0 &&
	    cpc_bind_cpu(self.cpc, 0, self.other, CPC_BIND_CPU_REMOTE | CPC_BIND_CPU_SHARED) == 0) {
		bind_set();
		fault(105);
		must_have(10);
	} else {
		bind_set();
		fault(105);
		must_count(self.signals == 10 && self.wrong == 10, "a set that is not bound");
	}
	must_count(value(1) == 5, "the rest");
	finish();
}

static void *stack_thread(void *arg)
{
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 16384;
	stack_t stack = {.ss_sp = malloc(size), .ss_size = size};

	(void)arg;
	must(stack.ss_sp != NULL && sigaltstack(&stack, NULL) == 0, "sigaltstack");
	memset(stack.ss_sp, 0, size);
	prepare(10);
	bind_set();
	fault(505);
	must_have(50);
	must_count(value(1) == 5, "the rest");
	finish();
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	free(stack.ss_sp);
	return NULL;
}

static void stacks(void)
{
	pthread_t thread[3];

	catch_emt(on_emt, SA_ONSTACK);
	for (int i = 0; i < 3; i++)
		thread[i] = start_thread(stack_thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
}

static volatile sig_atomic_t ticks, own;

static void on_tick(int sig)
{
	ticks += sig == SIGALRM;
	own += sig != SIGALRM;
}

static void handlers(void)
{
	const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	struct sigaction act = {.sa_handler = on_tick, .sa_flags = SA_RESTART}, now;
	sigset_t before, after;

	for (int sig = SIGRTMAX - 4; sig <= SIGRTMAX; sig++)
		must(sigaction(sig, &act, NULL) == 0, "sigaction");
	sigfillset(&act.sa_mask);
	must(sigaction(SIGALRM, &act, NULL) == 0, "sigaction");
	raise(SIGALRM);
	catch_emt(on_emt, 0);
	prepare(10);
	bind_set();
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 100; i++) {
		fault(10);
		raise(SIGRTMAX - i % 5);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	must(memcmp(&before, &after, _NSIG / 8) == 0, "mask");
	must_have(100);
	must(own == 100, "real-time signals");
	for (int sig = SIGRTMAX - 4; sig <= SIGRTMAX; sig++) {
		sigaction(sig, NULL, &now);
		must(now.sa_handler == on_tick, "handlers are the program's");
	}
	finish();
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"storm", storm},	 {"blocked", blocked},	    {"unbind", unbind},
		{"close", close_handle}, {"fork", children},	    {"exec", exec_itself},
		{"execed", execed},	 {"exit", exits},	    {"dlopen", load_library},
		{"longjmp", longjmps},	 {"sample", sample_others}, {"stack", stacks},
		{"handlers", handlers},
	};

	return RUN_MODE(modes, argc, argv);
}
