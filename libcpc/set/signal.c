/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * signal.c - the signals of overflows: SIGEMT for the program, and the private signal with
 * which the kernel and the poller notify the library.
 */
#include "set.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The private signal, once reserved; its handler is never removed. */
static _Atomic int notice_sig;

/* The highest free real-time signal; 0: none. */
static int find_free(void)
{
	struct sigaction old;

	for (int sig = SIGRTMAX - 2; sig >= SIGRTMIN; sig--) {
		if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			return sig;
	}
	return 0;
}

int cpci_notice_prepare(void (*handler)(int sig, siginfo_t *info, void *context))
{
	struct sigaction act = {.sa_sigaction = handler,
				.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	int sig;

	cpci_lock();
	sig = notice_sig != 0 ? notice_sig : find_free();
	cpci_fill_mask(&act.sa_mask);
	if (notice_sig == 0 && sig != 0 && sigaction(sig, &act, NULL) == 0)
		notice_sig = sig;
	cpci_unlock();
	return notice_sig;
}

int cpci_notice_sig(void)
{
	return notice_sig;
}

bool cpci_signal_take(int sig, siginfo_t *info)
{
	const struct timespec now = {0};
	int err = errno;
	sigset_t set;
	bool taken;

	sigemptyset(&set);
	sigaddset(&set, sig);
	taken = sigtimedwait(&set, info, &now) == sig;
	errno = err;
	return taken;
}

void cpci_signal_put_back(const siginfo_t *info)
{
	syscall(SYS_rt_tgsigqueueinfo, getpid(), cpci_self(), info->si_signo, info);
}

void cpci_emt_init(struct cpci_emt *emt)
{
	*emt = (struct cpci_emt){
		.pid = getpid(),
		.lwp = cpci_self(),
		.info = {.si_signo = SIGEMT, .si_code = EMT_CPCOVF},
	};
}

void cpci_emt_send(struct cpci_emt *emt, uint64_t pc)
{
	emt->info.si_addr = (void *)(uintptr_t)pc;
	syscall(SYS_rt_tgsigqueueinfo, emt->pid, emt->lwp, SIGEMT, &emt->info);
}

void cpci_emt_send_once(uint64_t pc)
{
	struct cpci_emt emt;

	cpci_emt_init(&emt);
	cpci_emt_send(&emt, pc);
}
