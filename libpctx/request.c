/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * request.c - an LWP sends a request to its tracer, and waits for the answer.
 *
 * The request is a signal that the LWP sends to itself.  The signal is ignored by default,
 * and stops the LWP only if it is traced; its siginfo has the address of the request.  Its
 * si_code is positive: the kernel accepts such a signal from the LWP itself only, so that no
 * other process can forge a request.
 *
 * The program must not notice.  The LWP blocks all signals, sends this one and unblocks it,
 * so that it is delivered first, before a signal of the same number that is pending for the
 * whole process.  The tracer suppresses it and restores the signal mask in the same stop.
 *
 * A BPF program that watches the LWP sees signals when they are sent, and can send one
 * itself.  So if no tracer has answered, the LWP sends itself a blocked signal, and checks
 * whether another one of that number arrives.  It takes both out of the queue.
 */
#include "control.h"
#include "procfs.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNANSWERED (-1)

/* On the stack of the requesting LWP. */
struct request {
	long op;
	uint64_t mask; /* the signals that the program has blocked */
	long result;   /* 0, an errno, or UNANSWERED */
};

/* Prefer SIGWINCH: runtimes such as that of Go use SIGURG between threads. */
static const int signals[] = {SIGWINCH, SIGURG};

static uint64_t bit(int sig)
{
	return (uint64_t)1 << (sig - 1);
}

/* ---- the requesting LWP; safe in signal handlers ------------------------ */

/* A raw system call: sigprocmask(3) does not block the signals that libc uses itself. */
static void set_mask(const uint64_t *mask, uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, old, sizeof(*mask));
}

/* Are we traced?  False only if it is certain that we are not. */
static bool is_traced(void)
{
	struct pctxi_task self;

	return pctxi_task_read_self(&self) == -1 || self.tracer != 0;
}

/*
 * The risk of using a signal; 0: none.  A blocked one may be awaited by sigwait(3).  One with
 * a handler is noticed if the tracer does not suppress it.  A pending one, perhaps for this
 * LWP, prevents ours from being queued.
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

/* The signal to use; 0: the program could notice any, and we are not traced. */
static int choose_signal(uint64_t mask)
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
	return least == 0 || is_traced() ? sig : 0;
}

static void send_request(int sig, siginfo_t *info)
{
	info->si_signo = sig;
	info->si_code = PCTX_REQUEST_CODE;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), _lwp_self(), sig, info);
}

/* A real-time signal that is not pending, and can be queued several times; 0: none. */
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

/* Does a BPF program answer the request?  All signals are blocked. */
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
			/* The program's own signal, which arrived for the process. */
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
	sig = choose_signal(request.mask);
	if (sig != 0) {
		memset(&info, 0, sizeof(info));
		info.si_value.sival_ptr = &request;
		others = ~bit(sig);
		send_request(sig, &info);
		set_mask(&others, NULL); /* it stops here and is answered */
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

/* ---- the tracer --------------------------------------------------------------- */

bool pctxi_request_answer(struct pctxi_lwp *lwp, int sig)
{
	const struct pctxi_answerer answerer = lwp->answerer;
	struct request request;
	siginfo_t info;
	uintptr_t at;
	long result = ESRCH;

	if ((sig != signals[0] && sig != signals[1]) ||
	    ptrace(PTRACE_GETSIGINFO, lwp->tid, NULL, &info) == -1 ||
	    info.si_code != PCTX_REQUEST_CODE)
		return false;
	at = (uintptr_t)info.si_value.sival_ptr;
	if (!pctxi_peek(lwp->tid, at, &request, offsetof(struct request, result)))
		return true;
	if (lwp->ctx->state == PCTXI_PROC_FOLLOWED && answerer.answer != NULL)
		result = answerer.answer((int)request.op, answerer.arg);
	ptrace(PTRACE_SETSIGMASK, lwp->tid, sizeof(request.mask), &request.mask);
	ptrace(PTRACE_POKEDATA, lwp->tid, at + offsetof(struct request, result), result);
	return true;
}
