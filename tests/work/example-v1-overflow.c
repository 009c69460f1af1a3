/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * example-v1-overflow [PAGES [LOOPS]] - example 2 of cpc_bind_event(3CPC): a signal handler
 * that catches overflows, after 1000 counts each.
 *
 * PERFEVENTS says what overflows, in pic0, and what is counted beside it, in pic1.  The
 * computation is that of example-v1-count, 20 times.
 *
 * Known: two lines for each 1000 of pic0: the PC and the stack pointer, and both values, of
 * which the first is 0 at the overflow of an exact event.
 *
 * Added to the manual's: error(), the computation, the event as in example 1, and where this
 * machine has PC and SP.
 */
#include "example.h"

#include <inttypes.h>
#include <libcpc_v1.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define REGISTER_USP REGISTER_SP

#define PRESET0 (UINT64_MAX - UINT64_C(999))
#define PRESET1 0

static void emt_handler(int sig, siginfo_t *sip, void *arg)
{
	ucontext_t *uap = arg;
	cpc_event_t sample;

	if (sig != SIGEMT || sip->si_code != EMT_CPCOVF) {
		psignal(sig, "example");
		psiginfo(sip, "example");
		return;
	}
	(void)printf("lwp%d - si_addr %p ucontext: %%pc %p %%sp %p\n", _lwp_self(),
		     (void *)sip->si_addr, (void *)uap->uc_mcontext.REGISTER(PC),
		     (void *)uap->uc_mcontext.REGISTER(USP));
	if (cpc_take_sample(&sample) == -1)
		error("can't sample: %s", strerror(errno));
	(void)printf("0x%" PRIx64 " 0x%" PRIx64 "\n", sample.ce_pic[0], sample.ce_pic[1]);
	(void)fflush(stdout);
	sample.ce_pic[0] = PRESET0;
	sample.ce_pic[1] = PRESET1;
	if (cpc_bind_event(&sample, CPC_BIND_EMT_OVF) == -1)
		error("cannot bind lwp%d: %s", _lwp_self(), strerror(errno));
}

int main(int argc, char *argv[])
{
	struct sigaction act;
	cpc_event_t event;
	int iter;

	prepare(argc, argv);
	if (cpc_strtoevent(cpc_getcpuver(), getenv("PERFEVENTS"), &event) != 0)
		error("can't measure '%s' on this processor", getenv("PERFEVENTS"));

	act.sa_sigaction = emt_handler;
	bzero(&act.sa_mask, sizeof(act.sa_mask));
	act.sa_flags = SA_RESTART | SA_SIGINFO;
	if (sigaction(SIGEMT, &act, NULL) == -1)
		error("sigaction: %s", strerror(errno));
	event.ce_pic[0] = PRESET0;
	event.ce_pic[1] = PRESET1;
	if (cpc_bind_event(&event, CPC_BIND_EMT_OVF) == -1)
		error("cannot bind lwp%d: %s", _lwp_self(), strerror(errno));

	for (iter = 1; iter <= 20; iter++)
		compute();

	cpc_bind_event(NULL, 0); /* done */
	return (0);
}
