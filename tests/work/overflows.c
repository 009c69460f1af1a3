/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * overflows MODE - overflows of one's own counters while all kinds of things happen.
 *
 *   storm     threads that overflow at every page fault, and restart without reason
 *   blocked   signals are blocked while it overflows, is switched off and on
 *   unbind    unbound by itself and by others, with signals on their way
 *   close     the handle is closed under a bound set, with signals on their way
 *   fork      children, of a process that overflows and of the handler
 *   exec      executes itself
 *   exit      exits, and dies of a signal, while threads overflow
 *   dlopen    loads and unloads a library
 *   longjmp   jumps out of the handler, with the mask and without
 *   sample    the handler samples sets of others
 *   stack     alternate stacks, of each thread
 *   handlers  the program's own handlers, timers and real-time signals
 *   several   two requests, each of which overflows
 *   clock     the CPU time
 *   calls     system calls, by their tracepoint
 *
 * Known: PASS; each overflow is one signal, and its values are exact.
 */
#include "work.h"

#include <dlfcn.h>
#include <libcpc.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

#define PERIOD(n) (UINT64_MAX - (n) + 1)

/* Of each thread. */
static _Thread_local struct {
	cpc_t *cpc;
	cpc_set_t *set, *other;
	cpc_buf_t *buf, *other_buf;
	uint64_t period; /* of the first request; 0: not looked at */
	volatile long signals, wrong;
	bool stay, forks;
} self;

#define AREA 512L /* pages */

/*
 * So many page faults in user mode.  Not touch_pages(): a fault whose overflow sends a signal
 * begins anew, and counts again, if it is the first of its mapping and another thread happens
 * to change the address space.
 */
static void fault(long pages)
{
	static _Thread_local volatile char *area;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (area == NULL) {
		area = mmap(NULL, AREA * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		if (area == MAP_FAILED)
			broken("mmap");
		madvise((void *)area, AREA * page, MADV_NOHUGEPAGE);
		area[0] = 1;
	}
	while (pages > 0) {
		long n = pages < AREA ? pages : AREA - 1;

		madvise((void *)(area + page), (AREA - 1) * page, MADV_DONTNEED);
		for (long i = 1; i <= n; i++)
			area[(size_t)i * page] = 1;
		pages -= n;
	}
}

static void fork_in_handler(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		fault(10); /* nothing is bound here */
		_exit(cpc_set_restart(self.cpc, self.set) == -1 ? 0 : 1);
	}
	self.wrong += pid == -1 || waitpid(pid, &status, 0) != pid || status != 0;
}

static void on_emt(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	uint64_t val = 0;

	(void)context;
	self.signals++;
	self.wrong += sig != SIGEMT || info->si_code != EMT_CPCOVF || info->si_addr == NULL;
	if (cpc_set_sample(self.cpc, self.set, self.buf) == -1 ||
	    cpc_buf_get(self.cpc, self.buf, 1, &val) == -1 ||
	    (self.period != 0 && val != self.period))
		self.wrong++;
	if (self.other != NULL)
		self.wrong += cpc_set_sample(self.cpc, self.other, self.other_buf) == -1;
	if (self.forks)
		fork_in_handler();
	if (!self.stay)
		self.wrong += cpc_set_restart(self.cpc, self.set) == -1;
	errno = saved;
}

static void catch_emt(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	must(sigaction(SIGEMT, &act, NULL) == 0, "sigaction");
}

static int add(const char *event, uint64_t preset, uint_t flags)
{
	int index = cpc_set_add_request(self.cpc, self.set, event, preset, CPC_COUNT_USER | flags,
					0, NULL);

	must(index != -1, "cpc_set_add_request");
	return index;
}

/* Page faults that overflow, and the same counted beside; all that runs later is there. */
static void prepare(uint64_t period)
{
	self.cpc = cpc_open(CPC_VER_CURRENT);
	must(self.cpc != NULL, "cpc_open");
	self.set = cpc_set_create(self.cpc);
	add("page-faults", PERIOD(period), CPC_OVF_NOTIFY_EMT);
	add("faults", 0, 0);
	self.buf = cpc_buf_create(self.cpc, self.set);
	self.period = period;
	fault(1);
	raise(SIGEMT);
	self.signals = self.wrong = 0;
}

static void bind_set(void)
{
	must(cpc_bind_curlwp(self.cpc, self.set, 0) == 0, "cpc_bind_curlwp");
}

static uint64_t value(int index)
{
	uint64_t val = 0;

	must(cpc_set_sample(self.cpc, self.set, self.buf) == 0, "cpc_set_sample");
	must(cpc_buf_get(self.cpc, self.buf, index, &val) == 0, "cpc_buf_get");
	return val;
}

/*
 * An expectation of numbers.  ThreadSanitizer gives signals to their handlers when the program
 * calls something next, so that there is more or less of each then; what else it finds counts.
 */
static void must_count(bool good, const char *what)
{
#ifndef __SANITIZE_THREAD__
	must(good, what);
#else
	(void)good;
	(void)what;
#endif
}

static void must_have(long signals)
{
#ifndef __SANITIZE_THREAD__
	if (self.signals != signals || self.wrong != 0)
		dprintf(STDOUT_FILENO, "%ld signals, not %ld, %ld wrong\n", self.signals, signals,
			self.wrong);
#endif
	must_count(self.signals == signals && self.wrong == 0, "signals");
}

static void finish(void)
{
	must(cpc_close(self.cpc) == 0, "cpc_close");
}

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
	must_count(value(1) == 0, "it begins anew");
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
	/* Another one unbinds it, about when it overflows; nobody may be in a call on it then. */
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

/* By turns, as their periods will have it, and both at once. */
static void several(void)
{
	uint64_t which, told[4] = {0};

	catch_emt(on_emt, 0);
	prepare(70);
	self.set = cpc_set_create(self.cpc);
	add("page-faults", PERIOD(70), CPC_OVF_NOTIFY_EMT);
	add("faults", PERIOD(100), CPC_OVF_NOTIFY_EMT);
	self.buf = cpc_buf_create(self.cpc, self.set);
	self.period = 0;
	self.stay = true;
	bind_set();
	for (int i = 0; i < 60; i++) {
		uint64_t first = (uint64_t)(i % 3 == 0 ? 30 : i % 3 == 1 ? 50 : 40);

		must(cpc_request_preset(self.cpc, 0, PERIOD(first)) == 0 &&
			     cpc_request_preset(self.cpc, 1, PERIOD(40)) == 0 &&
			     cpc_set_restart(self.cpc, self.set) == 0,
		     "cpc_set_restart");
		fault(60);
		must(cpc_set_overflowed(self.cpc, self.set, &which) == 0, "cpc_set_overflowed");
		told[which & 3]++;
		must_count((which & (first <= 40 ? 1 : 2)) != 0, "the nearer one");
		must_count(value(0) - PERIOD(first) == value(1) - PERIOD(40), "both are frozen");
	}
	must_have(60);
	must_count(told[0] == 0 && told[1] >= 20 && told[2] == 20, "which overflowed");
	finish();
}

static volatile uint64_t least = UINT64_MAX;

static void on_clock(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	uint64_t val = 0;

	(void)sig;
	(void)info;
	(void)context;
	cpc_set_sample(self.cpc, self.set, self.buf);
	cpc_buf_get(self.cpc, self.buf, 0, &val);
	if (val < least)
		least = val;
	self.signals++;
	self.wrong += cpc_set_restart(self.cpc, self.set) == -1;
	errno = saved;
}

static void clocks(void)
{
	struct timespec spent;

	catch_emt(on_clock, 0);
	prepare(1000000);
	for (uint64_t period = 1; period <= 1000000; period *= 1000) {
		self.set = cpc_set_create(self.cpc);
		add("task-clock", PERIOD(period), CPC_OVF_NOTIFY_EMT);
		self.buf = cpc_buf_create(self.cpc, self.set);
		if (cpc_bind_curlwp(self.cpc, self.set, 0) == -1) {
			must(errno == ENOTSUP, "only some kernels cannot");
			return;
		}
		self.signals = 0;
		do {
			for (volatile int i = 0; i < 100000; i++)
				;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
		} while (self.signals < 5);
		/* Never too early: it has counted so many, and wrapped. */
		must_count(self.wrong == 0 && least < UINT64_MAX / 2, "values");
		must(cpc_unbind(self.cpc, self.set) == 0, "cpc_unbind");
	}
	finish();
}

static void on_call(int sig, siginfo_t *info, void *context)
{
	uint64_t val = 1;

	(void)sig;
	(void)info;
	(void)context;
	self.signals++;
	if (cpc_set_sample(self.cpc, self.set, self.buf) == -1 ||
	    cpc_buf_get(self.cpc, self.buf, 0, &val) == -1 || val != 0 ||
	    cpc_set_restart(self.cpc, self.set) == -1)
		self.wrong++;
	do_chore(&(struct chore){.calls = 3}); /* counted, if it does not overflow now */
}

static void calls(void)
{
	catch_emt(on_call, 0);
	for (uint64_t period = 1; period <= 1000; period *= 10) {
		self.cpc = cpc_open(CPC_VER_CURRENT);
		self.set = cpc_set_create(self.cpc);
		self.buf = NULL;
		add("syscalls:sys_enter_getpriority", PERIOD(period), CPC_OVF_NOTIFY_EMT);
		self.buf = cpc_buf_create(self.cpc, self.set);
		bind_set();
		self.signals = self.wrong = 0;
		if (period > 3) {
			/* After the first, the handler makes three of each period itself. */
			do_chore(&(struct chore){.calls = (long)(period + 49 * (period - 3))});
			must_have(50);
		}
		finish();
	}
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"storm", storm},	 {"blocked", blocked},	    {"unbind", unbind},
		{"close", close_handle}, {"fork", children},	    {"exec", exec_itself},
		{"execed", execed},	 {"exit", exits},	    {"dlopen", load_library},
		{"longjmp", longjmps},	 {"sample", sample_others}, {"stack", stacks},
		{"handlers", handlers},	 {"several", several},	    {"clock", clocks},
		{"calls", calls},
	};

	return RUN_MODE(modes, argc, argv);
}
