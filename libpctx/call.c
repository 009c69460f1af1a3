/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * call.c - an LWP asks whoever controls it, and is answered before it goes on.
 *
 * It sends itself a signal that is ignored by default, which nobody sees but a tracer,
 * who finds the LWP stopped and in the signal the address of the request.  The signal's
 * code is positive: the kernel takes such a one from the LWP itself only, so that no
 * other process, of whatever user, can ask in its name.
 *
 * The program must not notice.  While the LWP asks, all signals but the one are blocked,
 * and that is sent while it is blocked, too.  So when it is unblocked it is the first to
 * be taken: before a signal of the same number that is meant for the whole process.  The
 * tracer drops it and puts the mask back in the same stop.
 */
#include "pctx_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>

#define CALL_CODE 0x70637478 /* siginfo_t's si_code: "pctx" */
#define UNANSWERED (-1)

/* On the stack of the LWP that asks. */
struct call {
	long op;
	uint64_t mask; /* the signals that the program has blocked */
	long result;   /* 0, an errno, or UNANSWERED */
};

/* By preference: threads send each other SIGURG, as those of Go do, but not SIGWINCH. */
static const int rings[] = {SIGWINCH, SIGURG};

static uint64_t bit(int sig)
{
	return (uint64_t)1 << (sig - 1);
}

/* ---- the LWP that asks; safe in signal handlers ---------------------------- */

/* The kernel's own masks: libc's leave out the signals that it uses itself. */
static void set_mask(const uint64_t *mask, uint64_t *old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, old, sizeof(*mask));
}

/* False only when it is certain that nobody traces us. */
static bool traced(void)
{
	static const char tracer[] = "\nTracerPid:\t";
	char status[512]; /* there it comes early */
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
 * How unwelcome a signal is.  0: the program can neither see nor miss it.  Blocked, it
 * may be waited for.  With a handler, it would be seen if the tracer did not drop it.
 * Pending, perhaps for this LWP, it would keep ours from being sent.
 */
static unsigned unwelcome(int sig, uint64_t mask)
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

/* The signal to ring with, or 0: there is nobody to hear it, but perhaps a handler. */
static int choose(uint64_t mask)
{
	unsigned cost, least = UINT32_MAX;
	int sig = 0;

	for (size_t i = 0; i < sizeof(rings) / sizeof(*rings) && least > 0; i++) {
		cost = unwelcome(rings[i], mask);
		if (cost < least) {
			least = cost;
			sig = rings[i];
		}
	}
	return least == 0 || traced() ? sig : 0;
}

int pctx_call(int op)
{
	struct call call = {.op = op, .result = UNANSWERED};
	const uint64_t all = UINT64_MAX;
	siginfo_t info;
	uint64_t others;
	int sig;

	set_mask(&all, &call.mask);
	sig = choose(call.mask);
	if (sig != 0) {
		memset(&info, 0, sizeof(info));
		info.si_signo = sig;
		info.si_code = CALL_CODE;
		info.si_value.sival_ptr = &call;
		others = ~bit(sig);
		syscall(SYS_rt_tgsigqueueinfo, getpid(), _lwp_self(), sig, &info);
		set_mask(&others, NULL); /* stopped and answered in here */
		if (call.result == 0)
			return 0;
	}
	set_mask(&call.mask, NULL);
	errno = call.result != UNANSWERED ? (int)call.result : ESRCH;
	return -1;
}

/* ---- whoever controls it ----------------------------------------------------- */

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

bool pctxi_call(struct pctxi_lwp *lwp, int sig)
{
	struct pctx *ctx = lwp->ctx;
	struct call call;
	siginfo_t info;
	uintptr_t at;
	long result = ESRCH;

	if ((sig != rings[0] && sig != rings[1]) ||
	    ptrace(PTRACE_GETSIGINFO, lwp->tid, NULL, &info) == -1 || info.si_code != CALL_CODE)
		return false;
	at = (uintptr_t)info.si_value.sival_ptr;
	if (!peek(lwp->tid, at, &call, offsetof(struct call, result)))
		return true;
	if (ctx->state == PCTX_FOLLOWED && ctx->call != NULL)
		result = ctx->call(ctx, ctx->pid, lwp->id, (int)call.op, ctx->arg);
	ptrace(PTRACE_SETSIGMASK, lwp->tid, sizeof(call.mask), &call.mask);
	ptrace(PTRACE_POKEDATA, lwp->tid, at + offsetof(struct call, result), result);
	return true;
}
