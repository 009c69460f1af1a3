/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * drive-overflows PERIOD TOTAL STEP THREADS EVENT [BESIDE [CPU...]] - each thread binds EVENT with
 * an overflow each PERIOD counts, and BESIDE, then lets TOTAL instructions and twice as many cycles
 * happen in steps of STEP, by /dev/fakepmu of tests/vm/pmu.  Before each step it moves to the next
 * of the CPUs.
 *
 * Known, if STEP divides PERIOD: each thread has TOTAL / PERIOD signals, and BESIDE counts all
 * cycles. Prints a line per thread, or the capabilities if the set is refused.
 */
#include "work.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libcpc.h>

static uint64_t period, total, step;
static const char *event, *beside;
static int device, ncpus, cpu[16];
static cpc_t *cpc;

struct lwp {
	cpc_set_t *set;
	cpc_buf_t *buf;
	unsigned long nsignals, nbad;
	uint64_t sum; /* of BESIDE */
	int second;   /* its index; -1: none */
};
static __thread struct lwp me;

/* At an overflow EVENT has wrapped to 0. */
static void on_overflow(int sig, siginfo_t *info, void *context)
{
	uint64_t count = 0;

	(void)sig, (void)context;
	me.nsignals++;
	me.nbad += info->si_code != EMT_CPCOVF;
	if (cpc_set_sample(cpc, me.set, me.buf) == -1) {
		me.nbad++;
		return;
	}
	cpc_buf_get(cpc, me.buf, 0, &count);
	me.nbad += count != 0;
	if (me.second != -1 && cpc_buf_get(cpc, me.buf, me.second, &count) == 0)
		me.sum += count;
	me.nbad += cpc_set_restart(cpc, me.set) == -1;
}

static void drive(const char *text)
{
	if (write(device, text, strlen(text)) == -1)
		broken(text);
}

static void bind_set(void)
{
	me.second = -1;
	me.set = cpc_set_create(cpc);
	if (me.set == NULL ||
	    cpc_set_add_request(cpc, me.set, event, 0 - period, CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT,
				0, NULL) == -1)
		broken(event);
	if (beside != NULL)
		me.second = cpc_set_add_request(cpc, me.set, beside, 0, CPC_COUNT_USER, 0, NULL);
	me.buf = cpc_buf_create(cpc, me.set);
	if (me.buf == NULL || cpc_bind_curlwp(cpc, me.set, 0) == -1) {
		printf("capabilities %u\n", cpc_caps(cpc));
		fflush(stdout);
		broken("cpc_bind_curlwp");
	}
}

static void *run(void *arg)
{
	char instructions[64], cycles[64];
	uint64_t rest = 0;

	(void)arg;
	bind_set();
	snprintf(instructions, sizeof(instructions), "0xc0 %" PRIu64 " u", step);
	snprintf(cycles, sizeof(cycles), "0x3c %" PRIu64 " u", 2 * step);
	for (uint64_t n = 0; n < total; n += step) {
		if (ncpus > 0)
			move_to(cpu[n / step % (uint64_t)ncpus]);
		drive(cycles);
		drive(instructions);
	}
	if (cpc_set_sample(cpc, me.set, me.buf) == -1)
		broken("cpc_set_sample");
	cpc_buf_get(cpc, me.buf, 0, &rest);
	printf("%lu signals, %lu bad, rest %" PRIu64 ", beside %" PRIu64 "\n", me.nsignals, me.nbad,
	       rest + period, me.sum);
	cpc_unbind(cpc, me.set);
	return NULL;
}

int main(int argc, char *argv[])
{
	struct sigaction act = {.sa_sigaction = on_overflow, .sa_flags = SA_RESTART | SA_SIGINFO};
	pthread_t thread[64];
	long n = 0;

	cpc = cpc_open(CPC_VER_CURRENT);
	device = open("/dev/fakepmu", O_WRONLY | O_CLOEXEC);
	if (argc < 6 || cpc == NULL || device == -1)
		broken("cannot begin");
	period = (uint64_t)number(argv[1]), total = (uint64_t)number(argv[2]);
	step = (uint64_t)number(argv[3]);
	event = argv[5], beside = argc > 6 ? argv[6] : NULL;
	while (ncpus < 16 && 7 + ncpus < argc) {
		cpu[ncpus] = (int)number(argv[7 + ncpus]);
		ncpus++;
	}
	sigaction(SIGEMT, &act, NULL);
	for (n = 1; n < number(argv[4]) && n < 64; n++)
		thread[n] = start_thread(run, NULL);
	run(NULL);
	while (--n > 0)
		pthread_join(thread[n], NULL);
	return 0;
}
