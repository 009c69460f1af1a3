/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * wait-kinds MODE - every way to wait for children.
 *
 *   ignored     SIGCHLD ignored: children vanish, waiting finds none
 *   nocldwait   the same by SA_NOCLDWAIT, with a handler that is called for each
 *   nocldstop   no SIGCHLD for stops, one for the death
 *   counted     one SIGCHLD for each of 20 children, with its pid and status
 *   nowait      waitid(2) that leaves the child there, and WNOHANG before its end
 *   rusage      wait4(2) gives the time and faults of the child
 *   cloned      a child without exit signal: only __WCLONE and __WALL see it
 *   thread      a thread's child, waited for by another; not with __WNOTHREAD
 *   pidfd       poll(2) and waitid(P_PIDFD)
 *   group       by process group
 *   blocked     waiting interrupted by a signal: EINTR, once
 *   none        without children: ECHILD
 *   late        waiting begins long after the end
 *
 * Known: every child does a chore of 5 calls.  PASS, or FAIL and why.
 */
#include "work.h"

#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct chore chore = {.pages = 2, .calls = 5};
static volatile sig_atomic_t came, said_pid, said_code, said_status;
static char stack[64 * 1024] __attribute__((aligned(64)));

static void hear(int sig, siginfo_t *info, void *context)
{
	(void)context;
	came++;
	if (sig == SIGCHLD) {
		said_pid = info->si_pid;
		said_code = info->si_code;
		said_status = info->si_status;
	}
}

static void handle(int sig, int flags)
{
	struct sigaction act = {.sa_sigaction = hear, .sa_flags = SA_SIGINFO | flags};

	sigaction(sig, &act, NULL);
}

static pid_t start(int status)
{
	pid_t pid = fork();

	if (pid == -1)
		broken("fork");
	if (pid == 0) {
		do_chore(&chore);
		_exit(status);
	}
	return pid;
}

static void reap(pid_t pid, int status)
{
	int got;

	must(waitpid(pid, &got, 0) == pid && got == status << 8, "a wait status");
}

/* EOF when the child has ended: it alone has the other end. */
static void vanish(void)
{
	int ends[2], status;
	char byte;

	for (int i = 0; i < 5; i++) {
		if (pipe(ends) == -1)
			broken("pipe");
		start(i);
		close(ends[1]);
		must(read(ends[0], &byte, 1) == 0, "an end");
		close(ends[0]);
	}
	must(wait(&status) == -1 && errno == ECHILD, "no child is left");
}

static void ignored(void)
{
	signal(SIGCHLD, SIG_IGN);
	vanish();
}

static void nocldwait(void)
{
	handle(SIGCHLD, SA_NOCLDWAIT | SA_RESTART);
	vanish();
	must(came > 0 && came <= 5, "signals for them");
}

static void nocldstop(void)
{
	int status;
	pid_t pid;

	handle(SIGCHLD, SA_NOCLDSTOP | SA_RESTART);
	pid = fork();
	if (pid == 0) {
		do_chore(&chore);
		raise(SIGSTOP);
		_exit(3);
	}
	must(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "a stop");
	must(came == 0, "no signal for a stop");
	kill(pid, SIGCONT);
	reap(pid, 3);
	must(came == 1 && said_code == CLD_EXITED, "one signal for its death");
}

static void counted(void)
{
	sigset_t chld, before;

	handle(SIGCHLD, SA_RESTART);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &before);
	for (int i = 0; i < 20; i++) {
		pid_t pid = start(i);

		while (came == i)
			sigsuspend(&before);
		must(came == i + 1 && said_pid == pid && said_code == CLD_EXITED &&
			     said_status == i,
		     "what the signal says");
		reap(pid, i);
	}
	must(came == 20, "a signal for each");
}

static void nowait(void)
{
	siginfo_t info = {0};
	int hold[2], status;
	pid_t pid;

	if (pipe(hold) == -1)
		broken("pipe");
	pid = fork();
	if (pid == 0) {
		close(hold[1]);
		do_chore(&chore);
		_exit(read(hold[0], &status, 1) == 0 ? 4 : 5);
	}
	for (int i = 0; i < 100; i++)
		must(waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == 0, "it lives");
	close(hold[1]);
	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == pid &&
		     info.si_status == 4 && info.si_code == CLD_EXITED,
	     "it is there");
	must(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0 && info.si_pid == pid, "it still is");
	reap(pid, 4);
}

static void rusage(void)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		do_chore(&chore);
		touch_pages(2000);
		_exit(0);
	}
	must(wait4(pid, &status, 0, &usage) == pid && status == 0, "wait4");
	must(usage.ru_minflt >= 2000 && usage.ru_minflt < 4000, "its faults");
	must(usage.ru_maxrss > 0 && usage.ru_utime.tv_sec < 10, "its time");
}

static int run_child(void *arg)
{
	do_chore(&chore);
	return (int)(long)arg;
}

static void cloned(void)
{
	char *top = stack + sizeof(stack);
	int status;
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		pid = clone(run_child, top, 0, (void *)6L);
		must(waitpid(pid, &status, 0) == -1 && errno == ECHILD, "not by default");
		must(waitpid(pid, &status, i % 2 == 0 ? (int)__WCLONE : __WALL) == pid &&
			     status == 6 << 8,
		     "when asked for");
	}
}

static pid_t theirs;

static void *start_in_thread(void *arg)
{
	theirs = start(8);
	pause();
	return arg;
}

static void thread(void)
{
	pthread_t starter = start_thread(start_in_thread, NULL);
	int status;

	while (__atomic_load_n(&theirs, __ATOMIC_ACQUIRE) == 0)
		usleep(100);
	must(waitpid(theirs, &status, __WNOTHREAD) == -1 && errno == ECHILD, "not ours");
	reap(theirs, 8);
	pthread_cancel(starter);
	pthread_join(starter, NULL);
}

static void by_pidfd(void)
{
	for (int i = 0; i < 5; i++) {
		siginfo_t info = {0};
		pid_t pid = start(i);
		struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};

		must(end.fd != -1 && poll(&end, 1, -1) == 1, "the end");
		must(waitid(3 /* P_PIDFD */, (id_t)end.fd, &info, WEXITED) == 0 &&
			     info.si_pid == pid && info.si_status == i,
		     "pid and status");
		close(end.fd);
	}
}

static void group(void)
{
	int status, hold[2];
	pid_t pid, other = start(1);

	if (pipe(hold) == -1)
		broken("pipe");
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		close(hold[1]);
		do_chore(&chore);
		_exit(read(hold[0], &status, 1) == 0 ? 2 : 5);
	}
	setpgid(pid, pid);
	close(hold[1]);
	must(waitpid(-pid, &status, 0) == pid && status == 2 << 8, "of its group");
	must(waitpid(0, &status, 0) == other && status == 1 << 8, "of our group");
}

/* In a system call, and not stopped by a tracer. */
static bool sleeps(pid_t pid)
{
	char path[64], state = '\0';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		broken(path);
	fclose(f);
	return state == 'S';
}

static void blocked(void)
{
	atomic_bool *waits = mmap(NULL, sizeof(*waits), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid, parent = getpid();

	if (waits == MAP_FAILED)
		broken("mmap");
	handle(SIGUSR1, 0);
	pid = fork();
	if (pid == 0) {
		do_chore(&chore);
		while (!*waits || !sleeps(parent))
			usleep(1000);
		kill(parent, SIGUSR1);
		for (;;)
			pause();
	}
	*waits = true;
	must(waitpid(pid, &status, 0) == -1 && errno == EINTR && came == 1, "EINTR, once");
	kill(pid, SIGKILL);
	must(waitpid(pid, &status, 0) == pid && status == SIGKILL, "killed");
}

static void none(void)
{
	int status;

	must(wait(&status) == -1 && errno == ECHILD, "no child");
	must(waitpid(getppid(), &status, 0) == -1 && errno == ECHILD, "not a child");
	must(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD, "no child, WNOHANG");
	do_chore(&chore);
}

static void late(void)
{
	pid_t pid[10];

	for (int i = 0; i < 10; i++)
		pid[i] = start(i);
	usleep(20000);
	for (int i = 9; i >= 0; i--)
		reap(pid[i], i);
}

int main(int argc, char *argv[])
{
	static const struct mode modes[] = {
		{"ignored", ignored}, {"nocldwait", nocldwait}, {"nocldstop", nocldstop},
		{"counted", counted}, {"nowait", nowait},	{"rusage", rusage},
		{"cloned", cloned},   {"thread", thread},	{"pidfd", by_pidfd},
		{"group", group},     {"blocked", blocked},	{"none", none},
		{"late", late},
	};

	return RUN_MODE(modes, argc, argv);
}
