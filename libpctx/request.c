/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * request.c - an LWP asks its tracer for something, and is answered before it goes on.
 *
 * The request is a signal that the LWP sends to itself.  Ignored by default, it stops the
 * LWP only if it is traced; its siginfo has the address of the request.  si_code is
 * positive: the kernel accepts such a signal from the LWP itself only, so that no other
 * process can make a request in its name.
 *
 * The program must not notice.  The signal is sent with all signals blocked; then that one
 * is unblocked, which makes it the first to be delivered, before a signal of the same
 * number that is pending for the whole process.  The tracer suppresses it and restores the
 * signal mask in the same stop.
 *
 * Who watches the LWP in the kernel, without tracing it, sees signals as they are sent, and can
 * send one itself.  So where no tracer answered, the LWP sends itself a signal that it has
 * blocked, and looks whether another of that number has come.  It takes both out of the queue.
 */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNANSWERED (-1)

/* On the stack of the LWP that asks. */
struct request {
	long op;
	uint64_t mask; /* the signals that the program has blocked */
	long result;   /* 0, an errno, or UNANSWERED */
};

/* SIGWINCH comes first: runtimes such as that of Go use SIGURG between threads. */
static const int signals[] = {SIGWINCH, SIGURG};

static uint64_t bit(int sig)
{
	return (uint64_t)1 << (sig - 1);
}

/* ---- the LWP that asks; safe in signal handlers ---------------------------- */

/* By system call: sigprocmask(3) does not block the signals that libc uses itself. */
static void set_mask(const uint64_t *mask, uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, old, sizeof(*mask));
}

/* False only when it is certain that nobody traces us. */
static bool traced(void)
{
	static const char tracer[] = "\nTracerPid:\t";
	char status[512]; /* TracerPid is among the first lines */
	const char *at;
	ssize_t n;
	int fd = open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return true;
	n = read(fd, status, sizeof(status) - 1);
	close(fd);
	status[n > 0 ? n : 0] = '\0';
	at = strstr(status, tracer);
	return at == NULL || at[sizeof(tracer) - 1] != '0';
}

/*
 * What it can cost to use a signal; 0: nothing.  A blocked one may be waited for by
 * sigwait(3).  One with a handler is seen if the tracer does not suppress it.  One that
 * is pending, perhaps for this LWP, keeps ours from being queued.
 */
static unsigned cost_of(int sig, uint64_t mask)
{
	struct sigaction act;
	uint64_t pending = 0;
	unsigned cost = 0;

	if (sigaction(sig, NULL, &act) == 0 && act.sa_handler != SIG_DFL &&
	    act.sa_handler != SIG_IGN)
		cost += 2;
	if ((mask & bit(sig)) == 0)
		return cost;
	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	return cost + 1 + ((pending & bit(sig)) != 0 ? 4 : 0);
}

/* The signal to use; 0: it could be noticed, and nobody traces us. */
static int choose(uint64_t mask)
{
	unsigned cost, least = UINT32_MAX;
	int sig = 0;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals) && least > 0; i++) {
		cost = cost_of(signals[i], mask);
		if (cost < least) {
			least = cost;
			sig = signals[i];
		}
	}
	return least == 0 || traced() ? sig : 0;
}

static void send_request(int sig, siginfo_t *info)
{
	info->si_signo = sig;
	info->si_code = PCTX_REQUEST_CODE;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), _lwp_self(), sig, info);
}

/* A real-time signal that is not pending, and of which several can be; 0: there is none. */
static int choose_for_kernel(void)
{
	uint64_t pending = 0;

	syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	for (int sig = SIGRTMAX; sig >= SIGRTMIN; sig--) {
		if ((pending & bit(sig)) == 0)
			return sig;
	}
	return 0;
}

/* Does somebody in the kernel take the request?  All signals are blocked. */
static bool ask_kernel(int op)
{
	const struct timespec now = {0};
	siginfo_t info = {.si_value.sival_int = op};
	int sig = choose_for_kernel();
	uint64_t set = sig != 0 ? bit(sig) : 0;
	bool answered = false;

	if (sig == 0)
		return false;
	send_request(sig, &info);
	while (syscall(SYS_rt_sigtimedwait, &set, &info, &now, sizeof(set)) == sig) {
		if (info.si_code != SI_KERNEL && info.si_code != PCTX_REQUEST_CODE) {
			/* The program's: it came just now, for the whole process. */
			syscall(SYS_rt_sigqueueinfo, getpid(), sig, &info);
			break;
		}
		answered |= info.si_code == SI_KERNEL;
	}
	return answered;
}

int pctx_request(int op)
{
	struct request request = {.op = op, .result = UNANSWERED};
	const uint64_t all = UINT64_MAX;
	siginfo_t info;
	uint64_t others;
	int sig;

	set_mask(&all, &request.mask);
	sig = choose(request.mask);
	if (sig != 0) {
		memset(&info, 0, sizeof(info));
		info.si_value.sival_ptr = &request;
		others = ~bit(sig);
		send_request(sig, &info);
		set_mask(&others, NULL); /* stopped and answered in here */
		if (request.result == 0)
			return 0;
		set_mask(&all, NULL);
	}
	if (request.result == UNANSWERED && ask_kernel(op))
		request.result = 0;
	set_mask(&request.mask, NULL);
	if (request.result == 0)
		return 0;
	errno = request.result != UNANSWERED ? (int)request.result : ESRCH;
	return -1;
}

/* ---- its tracer --------------------------------------------------------------- */

static bool peek(pid_t tid, uintptr_t from, void *to, size_t size)
{
	for (size_t at = 0; at < size; at += sizeof(long)) {
		errno = 0;
		long word = ptrace(PTRACE_PEEKDATA, tid, (void *)(from + at), NULL);

		if (errno != 0)
			return false;
		memcpy((char *)to + at, &word, sizeof(word));
	}
	return true;
}

bool pctxi_request_answer(struct pctxi_lwp *lwp, int sig)
{
	const struct pctxi_answerer who = lwp->answerer;
	struct request request;
	siginfo_t info;
	uintptr_t at;
	long result = ESRCH;

	if ((sig != signals[0] && sig != signals[1]) ||
	    ptrace(PTRACE_GETSIGINFO, lwp->tid, NULL, &info) == -1 ||
	    info.si_code != PCTX_REQUEST_CODE)
		return false;
	at = (uintptr_t)info.si_value.sival_ptr;
	if (!peek(lwp->tid, at, &request, offsetof(struct request, result)))
		return true;
	if (lwp->ctx->state == PCTXI_PROC_FOLLOWED && who.answer != NULL)
		result = who.answer((int)request.op, who.arg);
	ptrace(PTRACE_SETSIGMASK, lwp->tid, sizeof(request.mask), &request.mask);
	ptrace(PTRACE_POKEDATA, lwp->tid, at + offsetof(struct request, result), result);
	return true;
}
