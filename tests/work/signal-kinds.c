/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signal-kinds MODE - signals of all kinds, and the siginfo that comes with them.
 *
 *   queue     100 real-time signals with values, queued while blocked: all, in order
 *   process   the same, sent to the process by a child
 *   threads   signals for one thread of three, each taken by that thread
 *   wait      sigwaitinfo(2) and sigtimedwait(2), with the sender
 *   signalfd  read from a file
 *   itimer    ITIMER_REAL and ITIMER_VIRTUAL
 *   timer     timer_create(2) for one thread
 *   alarm     one alarm wakes a sleep
 *   restart   a read that a handler interrupts goes on
 *   eintr     a read that a handler ends
 *   fault     SIGSEGV of 20 bad accesses, with their addresses, on a stack of its own
 *   trap      SIGTRAP of its own, by kill(2), raise(3) and an instruction
 *   nested    a handler that is interrupted by another
 *   cont      SIGCONT with a handler, without a stop
 *   ignored   signals that are ignored, and that are by default
 *   raised    raise(3), for 0.4 s: a handler hears each
 *   sleep     sleeps that nothing disturbs last to their end, and not longer
 *
 * Known: PASS, or FAIL and why.
 */
#include "work.h"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static volatile sig_atomic_t came, wrong, by_thread[3];
static int sent_to; /* SIGRTMIN + 1 */
static __thread int me;
static volatile siginfo_t last;

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};

	must(sigaction(sig, &act, NULL) == 0, "sigaction");
}

static void hear(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	came++;
	last = *info;
}

static void in_order(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	wrong |= info->si_code != SI_QUEUE || info->si_value.sival_int != came;
	came++;
}

static void block(int sig, int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(how, &set, NULL);
}

static void send_100(pid_t to)
{
	for (int i = 0; i < 100; i++)
		must(sigqueue(to, sent_to, (union sigval){.sival_int = i}) == 0, "sigqueue");
}

static void queue(void)
{
	handle(sent_to, in_order, 0);
	block(sent_to, SIG_BLOCK);
	send_100(getpid());
	must(came == 0, "blocked");
	block(sent_to, SIG_UNBLOCK);
	must(came == 100 && !wrong, "100, in order");
}

static void process(void)
{
	pid_t parent = getpid(), pid;
	int status;

	handle(sent_to, in_order, SA_RESTART);
	pid = fork();
	if (pid == 0) {
		send_100(parent);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0, "the sender");
	while (came < 100)
		usleep(100);
	must(came == 100 && !wrong, "100, in order");
}

static void count_mine(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	wrong |= info->si_code != SI_TKILL || info->si_pid != getpid();
	by_thread[me]++;
}

static pthread_barrier_t ready;
static volatile bool done;

static void *listen_as(void *arg)
{
	me = (int)(long)arg;
	pthread_barrier_wait(&ready);
	while (!done)
		usleep(100);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[3];

	handle(SIGUSR1, count_mine, SA_RESTART);
	pthread_barrier_init(&ready, NULL, 4);
	for (long i = 0; i < 3; i++)
		thread[i] = start_thread(listen_as, (void *)i);
	pthread_barrier_wait(&ready);
	for (int i = 0; i < 30; i++) {
		int before = by_thread[i % 3];

		pthread_kill(thread[i % 3], SIGUSR1);
		while (by_thread[i % 3] == before)
			usleep(50);
	}
	done = true;
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		must(by_thread[i] == 10, "10 for each");
	}
	must(!wrong, "the sender");
}

static void wait_for(void)
{
	struct timespec soon = {.tv_nsec = 1000000};
	siginfo_t info;
	sigset_t set;
	pid_t pid;
	int status;

	block(SIGUSR2, SIG_BLOCK);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	must(sigtimedwait(&set, &info, &soon) == -1 && errno == EAGAIN, "none yet");
	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0) {
			kill(getppid(), SIGUSR2);
			_exit(0);
		}
		must(sigwaitinfo(&set, &info) == SIGUSR2 && info.si_pid == pid &&
			     info.si_code == SI_USER,
		     "the sender");
		must(waitpid(pid, &status, 0) == pid, "its end");
	}
}

static void by_file(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int fd;

	block(SIGUSR1, SIG_BLOCK);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	must(fd != -1, "signalfd");
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGUSR1);
		must(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGUSR1 &&
			     info.ssi_pid == (unsigned)getpid(),
		     "what it says");
	}
}

static void itimer(void)
{
	struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};

	handle(SIGALRM, hear, SA_RESTART);
	setitimer(ITIMER_REAL, &every, NULL);
	while (came < 20)
		pause();
	setitimer(ITIMER_REAL, &never, NULL);
	came = 0;
	handle(SIGVTALRM, hear, SA_RESTART);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	while (came < 5)
		;
	setitimer(ITIMER_VIRTUAL, &never, NULL);
}

static void timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = sent_to,
				 .sigev_value.sival_int = 77};
	struct itimerspec every = {{0, 1000000}, {0, 1000000}};
	timer_t id;

	handle(sent_to, hear, SA_RESTART);
	event._sigev_un._tid = gettid();
	must(timer_create(CLOCK_MONOTONIC, &event, &id) == 0, "timer_create");
	timer_settime(id, 0, &every, NULL);
	while (came < 20)
		pause();
	timer_delete(id);
	must(last.si_code == SI_TIMER && last.si_value.sival_int == 77, "what it says");
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void alarm_once(void)
{
	struct timespec end = {.tv_sec = 30}, left;
	struct itimerval soon = {{0, 0}, {0, 20000}};

	handle(SIGALRM, hear, 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	must(nanosleep(&end, &left) == -1 && errno == EINTR && came == 1, "woken once");
	must(left.tv_sec < 30 && left.tv_sec > 10, "the time that is left");
}

static void read_with(int flags, bool goes_on)
{
	struct itimerval soon = {{0, 0}, {0, 10000}};
	int ends[2];
	char byte;
	ssize_t n;
	pid_t pid;

	handle(SIGALRM, hear, flags);
	if (pipe(ends) == -1)
		broken("pipe");
	pid = fork();
	if (pid == 0) {
		usleep(50000);
		must(write(ends[1], "x", 1) == 1, "write");
		_exit(0);
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	n = read(ends[0], &byte, 1);
	/* On a slow machine the byte may be there before we read. */
	must(n == 1 || (!goes_on && n == -1 && errno == EINTR), "a read");
	must(waitpid(pid, NULL, 0) == pid || errno == EINTR, "its end");
	while (came == 0)
		usleep(100);
	must(came == 1, "one signal");
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

static void go_on(void)
{
	read_with(SA_RESTART, true);
}

static void eintr(void)
{
	read_with(0, false);
}

static sigjmp_buf back;
static void *volatile bad;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	wrong |= info->si_addr != bad || info->si_code != SEGV_MAPERR;
	came++;
	siglongjmp(back, sig);
}

static void fault(void)
{
	static char alt[64 * 1024];
	stack_t stack = {.ss_sp = alt, .ss_size = sizeof(alt)};

	sigaltstack(&stack, NULL);
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	for (volatile long i = 1; i <= 20; i++) {
		bad = (void *)(i * 8);
		if (sigsetjmp(back, 1) == 0)
			*(volatile char *)bad = 1;
	}
	must(came == 20 && !wrong, "20 faults");
}

static void trap(void)
{
	handle(SIGTRAP, hear, 0);
	raise(SIGTRAP);
	must(came == 1 && last.si_code == SI_TKILL, "by raise");
	kill(getpid(), SIGTRAP);
	must(came == 2 && last.si_code == SI_USER, "by kill");
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("int3");
	must(came == 3 && last.si_code != SI_TKILL, "by int3");
#endif
}

static void outer(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	if (sig == SIGUSR1)
		raise(SIGUSR2);
	came = came * 10 + (sig == SIGUSR1 ? 1 : 2);
}

static void nested(void)
{
	handle(SIGUSR1, outer, 0);
	handle(SIGUSR2, outer, 0);
	raise(SIGUSR1);
	must(came == 21, "the inner, then the outer");
}

static void cont(void)
{
	handle(SIGCONT, hear, 0);
	for (int i = 1; i <= 5; i++) {
		kill(getpid(), SIGCONT);
		must(came == i, "each");
	}
}

static void ignored(void)
{
	signal(SIGUSR1, SIG_IGN);
	for (int i = 0; i < 100; i++) {
		raise(SIGUSR1);
		raise(SIGWINCH);
		raise(SIGURG);
		raise(SIGCHLD);
	}
}

static void raised(void)
{
	int64_t end = now_ms() + 400;

	handle(SIGUSR1, hear, 0);
	for (int i = 1; now_ms() < end; i++) {
		raise(SIGUSR1);
		must(came == i, "each");
	}
}

static void sleeps(void)
{
	struct timespec nap = {.tv_nsec = 30000000};
	int64_t start;

	for (int i = 0; i < 3; i++) {
		start = now_ms();
		must(nanosleep(&nap, NULL) == 0, "not disturbed");
		must(now_ms() - start >= 29, "to its end");
	}
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"queue", queue},   {"process", process},  {"threads", threads},
		{"wait", wait_for}, {"signalfd", by_file}, {"itimer", itimer},
		{"timer", timer},   {"alarm", alarm_once}, {"restart", go_on},
		{"eintr", eintr},   {"fault", fault},	   {"trap", trap},
		{"nested", nested}, {"cont", cont},	   {"ignored", ignored},
		{"sleep", sleeps},  {"raised", raised},	   {"raised", raised},
	};

	sent_to = SIGRTMIN + 1;
	return RUN_MODE(modes, argc, argv);
}
