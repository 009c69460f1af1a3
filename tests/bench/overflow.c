/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * overflow [ROUNDS] - cost of an overflow: with a signal for each, buffered, and
 * by the least program that reads the kernel's ring buffer.  Nanoseconds per overflow of page
 * faults beside what the faults take alone, and then what that makes of the CPU time of a program
 * that does little else; medians of interleaved rounds.
 */
#include "bench.h"

#include <err.h>
#include <libcpc.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAULTS 8192
#define PAGE 4096UL
/* CPU time, also of the library's thread: the machine may be busy. */
#define CLOCK CLOCK_PROCESS_CPUTIME_ID
#define RING_PAGES 64

enum way { BARE, SIGNALS, BUFFERED, RING, NWAYS };

static cpc_t *cpc;
static cpc_set_t *set;
static cpc_buf_t *buf;
static volatile uint64_t sum; /* what a profiler would make of the PCs */
static unsigned long noverflows;

static void take_one(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	sum += (uintptr_t)info->si_addr;
	noverflows++;
	cpc_set_restart(cpc, set);
}

/* How many are there? */
static uint_t take_buffer(void)
{
	uint64_t pc[CPC_PCBUF_SIZE];

	if (cpc_set_sample_pcbuf(cpc, set, buf, pc) == -1)
		return 0;
	for (uint_t i = 0; i < cpc_buf_npcs(cpc, buf); i++)
		sum += pc[i];
	noverflows += cpc_buf_npcs(cpc, buf);
	return cpc_buf_npcs(cpc, buf);
}

static void on_full(int sig)
{
	(void)sig;
	take_buffer();
}

static void bind_set(enum way way, uint64_t period)
{
	struct sigaction act = {.sa_flags = SA_RESTART};

	if (way == SIGNALS) {
		act.sa_sigaction = take_one;
		act.sa_flags |= SA_SIGINFO;
	} else {
		act.sa_handler = on_full;
	}
	sigaction(SIGEMT, &act, NULL);
	set = cpc_set_create(cpc);
	if (set == NULL || cpc_set_add_request(cpc, set, "page-faults", 0 - period,
					       CPC_COUNT_USER | CPC_OVF_NOTIFY_EMT |
						       (way == BUFFERED ? CPC_OVF_BUFFERED : 0),
					       0, NULL) == -1)
		exit(1);
	buf = cpc_buf_create(cpc, set);
	if (buf == NULL || cpc_bind_curlwp(cpc, set, 0) == -1)
		exit(1);
}

static struct perf_event_mmap_page *ring;
static int ring_fd;

static void open_ring(uint64_t period)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = period,
		/* What the library's records have, so that they are as large. */
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR,
		.wakeup_events = CPC_PCBUF_SIZE,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	ring_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0UL);
	if (ring_fd == -1)
		err(1, "perf_event_open");
	ring = mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring_fd, 0);
	if (ring == MAP_FAILED)
		err(1, "mmap");
}

/* Word by word, since a record may go on at the beginning of the ring. */
static void drain_ring(void)
{
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	const char *data = (const char *)ring + PAGE;

	for (uint64_t at = ring->data_tail; at != head;) {
		const uint64_t *word = (const uint64_t *)(data + at % (RING_PAGES * PAGE));
		const struct perf_event_header *header = (const void *)word;

		if (header->type == PERF_RECORD_SAMPLE) {
			sum += *(const uint64_t *)(data + (at + 16) % (RING_PAGES * PAGE));
			noverflows++;
		}
		at += header->size;
	}
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
}

/* Touches FAULTS pages, and returns how long that takes. */
static double run(enum way way, uint64_t period)
{
	int64_t start;
	double ns;
	char *p = mmap(NULL, FAULTS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	madvise(p, FAULTS * PAGE, MADV_NOHUGEPAGE);
	noverflows = 0;
	if (way == RING)
		open_ring(period);
	else if (way != BARE)
		bind_set(way, period);
	start = now_ns(CLOCK);
	for (size_t i = 0; i < FAULTS; i++) {
		((volatile char *)p)[i * PAGE] = 1;
		if (way == RING && i % (CPC_PCBUF_SIZE * period) == 0)
			drain_ring();
	}
	/* What the last signal has left, or no signal has come for yet. */
	if (way == RING)
		drain_ring();
	while (way == BUFFERED && take_buffer() > 0)
		;
	ns = (double)(now_ns(CLOCK) - start);
	if (way == RING) {
		munmap(ring, (1 + RING_PAGES) * PAGE);
		close(ring_fd);
	} else if (way != BARE) {
		cpc_set_destroy(cpc, set);
		cpc_buf_destroy(cpc, buf);
	}
	munmap(p, FAULTS * PAGE);
	if (way != BARE && noverflows < FAULTS / period)
		errx(1, "%lu overflows of %lu", noverflows, FAULTS / (unsigned long)period);
	return ns;
}

/* Medians of all ways. */
static void measure(size_t rounds, uint64_t period, double *ns)
{
	static double round[NWAYS][MAX_ROUNDS];

	for (size_t r = 0; r < rounds; r++) {
		for (enum way way = BARE; way < NWAYS; way++)
			round[way][r] = run(way, period);
	}
	for (enum way way = BARE; way < NWAYS; way++)
		ns[way] = median(round[way], rounds);
}

int main(int argc, char *argv[])
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 101;
	double ns[NWAYS], cost[NWAYS];

	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL || rounds == 0 || rounds > MAX_ROUNDS)
		errx(1, "no counters, or not 1 to %d rounds", MAX_ROUNDS);
	measure(rounds, 1, ns);
	for (enum way way = BARE; way < NWAYS; way++)
		cost[way] = (ns[way] - ns[BARE]) / FAULTS;
	printf("an overflow: a signal each %.0f ns; buffered %.0f ns, %.2f of that; a bare ring "
	       "%.0f ns, buffered is %.2f x\n",
	       cost[SIGNALS], cost[BUFFERED], cost[BUFFERED] / cost[SIGNALS], cost[RING],
	       cost[BUFFERED] / cost[RING]);
	for (uint64_t period = 10; period <= 50; period *= 5) {
		measure(rounds, period, ns);
		printf("CPU time, an overflow for %2d page faults: bare 1.00 x; a signal each %.2f "
		       "x; buffered %.2f x, which saves %.0f %%\n",
		       (int)period, ns[SIGNALS] / ns[BARE], ns[BUFFERED] / ns[BARE],
		       100 * (1 - ns[BUFFERED] / ns[SIGNALS]));
	}
	return cpc_close(cpc);
}
