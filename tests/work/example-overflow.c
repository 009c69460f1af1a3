/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * example-overflow [PAGES [LOOPS]] - example 2 of cpc_bind_curlwp(3CPC): a signal handler
 * that catches overflows, after 1000 counts each.
 *
 * EVENT names what overflows, EVENT1 what is counted beside it.  The computation is that of
 * example-count, 20 times.
 *
 * Known: two lines for each 1000 of EVENT: the PC and the stack pointer, and the value, which
 * is 0 at the overflow of an exact event.
 *
 * Added to the manual's: error(), the computation, where this machine has PC and SP, another
 * name for index, which is a function of strings.h here, and the `if' that the manual forgot.
 */
#include "example.h"

#include <errno.h>
#include <inttypes.h>
#include <libcpc.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define index index0

#define PRESET (UINT64_MAX - 999ull)

cpc_t *cpc;
cpc_set_t *set;
cpc_buf_t *buf;
int index;

static int ind1;
static uint64_t val1 = 5;

static void emt_handler(int sig, siginfo_t *sip, void *arg)
{
	ucontext_t *uap = arg;
	uint64_t val;

	if (sig != SIGEMT || sip->si_code != EMT_CPCOVF) {
		psignal(sig, "example");
		psiginfo(sip, "example");
		return;
	}
	(void)printf("lwp%d - si_addr %p ucontext: %%pc %p %%sp %p\n", _lwp_self(),
		     (void *)sip->si_addr, (void *)uap->uc_mcontext.REGISTER(PC),
		     (void *)uap->uc_mcontext.REGISTER(SP));
	if (cpc_set_sample(cpc, set, buf) != 0)
		error("cannot sample: %s", strerror(errno));
	cpc_buf_get(cpc, buf, index, &val);
	(void)printf("0x%" PRIx64 "\n", val);
	(void)fflush(stdout);
	if (cpc_request_preset(cpc, ind1, val1) != 0)
		error("cannot set preset for request %d: %s", ind1, strerror(errno));
	if (cpc_set_restart(cpc, set) != 0)
		error("cannot restart lwp%d: %s", _lwp_self(), strerror(errno));
}

int main(int argc, char *argv[])
{
	char *event = getenv("EVENT"), *event1 = getenv("EVENT1");
	struct sigaction act;
	int iter;

	prepare(argc, argv);
	if ((cpc = cpc_open(CPC_VER_CURRENT)) == NULL)
		error("perf counters unavailable: %s", strerror(errno));
	if ((set = cpc_set_create(cpc)) == NULL)
		error("could not create set: %s", strerror(errno));

	act.sa_sigaction = emt_handler;
	bzero(&act.sa_mask, sizeof(act.sa_mask));
	act.sa_flags = SA_RESTART | SA_SIGINFO;
	if (sigaction(SIGEMT, &act, NULL) == -1)
		error("sigaction: %s", strerror(errno));
	if ((index = cpc_set_add_request(cpc, set, event, PRESET,
					 CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT, 0, NULL)) != 0)
		error("cannot add request to set: %s", strerror(errno));
	if ((ind1 = cpc_set_add_request(cpc, set, event1, 0, CPC_COUNT_USER, 0, NULL)) == -1)
		error("could not add first request: %s", strerror(errno));
	if ((buf = cpc_buf_create(cpc, set)) == NULL)
		error("cannot create buffer: %s", strerror(errno));
	if (cpc_bind_curlwp(cpc, set, 0) == -1)
		error("cannot bind lwp%d: %s", _lwp_self(), strerror(errno));
	for (iter = 1; iter <= 20; iter++)
		compute();
	cpc_unbind(cpc, set); /* done */
	return (0);
}
