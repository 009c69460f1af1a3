/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ring.c - the kernel's ring buffer of overflows (perf_event_open(2), "MMAP layout").
 *
 * The program can overwrite it by mistake, which must not crash the library: it reads a
 * record only as far as it is known to be in the ring.
 */
#include "perf.h"

#include <errno.h>
#include <libcpc.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* The fields at the beginning of each record, in this order. */
#define ALWAYS                                                                          \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | \
	 PERF_SAMPLE_ADDR)

uint64_t cpci_ring_sample_type(bool all)
{
	uint64_t type = ALWAYS;

	if (all)
		type |= PERF_SAMPLE_CALLCHAIN;
	/* Physical addresses require privilege. */
	if (all && (cpci_paranoid() < 2 || cpci_privileged_here()))
		type |= PERF_SAMPLE_PHYS_ADDR;
	return type;
}

/* The lowest skid of the PC that the event's PMU offers, as precise_ip: 0 to 3. */
static unsigned max_precise(const struct perf_event_attr *attr)
{
	char pmu[CPCI_PMU_NAME], text[CPCI_PMU_TEXT];
	uint64_t val;

	if (cpci_perf_is_software(attr) ||
	    !cpci_pmu_name(cpci_perf_is_core(attr) ? (uint32_t)PERF_TYPE_RAW : attr->type, pmu) ||
	    !cpci_pmu_read(pmu, "caps/", "max_precise", text) || !cpci_parse_number(text, &val))
		return 0;
	return val < 3 ? (unsigned)val : 3;
}

void cpci_ring_clock(struct perf_event_attr *attr)
{
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

void cpci_ring_record(struct perf_event_attr *attr, uint64_t sample_type, uint32_t wakeup,
		      bool precise)
{
	attr->sample_type = sample_type;
	attr->wakeup_events = wakeup;
	/* With longer stacks, which root can allow, the ring could be full before the wakeup. */
	if ((sample_type & PERF_SAMPLE_CALLCHAIN) != 0 &&
	    cpci_read_number("/proc/sys/kernel/perf_event_max_stack", 0) > CPC_OVF_MAX_FRAMES)
		attr->sample_max_stack = CPC_OVF_MAX_FRAMES;
	/* Not every event of a PMU supports its best level. */
	for (unsigned level = precise ? max_precise(attr) : 0; level > 0; level--) {
		attr->precise_ip = level & 3;
		if (cpci_perf_probe(attr) == 0)
			return;
	}
	attr->precise_ip = 0;
}

struct perf_event_attr cpci_ring_owner(uint64_t sample_type)
{
	struct perf_event_attr attr = cpci_perf_dummy;

	cpci_ring_clock(&attr);
	attr.sample_type = sample_type;
	attr.comm = 1;
	/* Do not wake a reader when half of the ring is full. */
	attr.watermark = 1;
	attr.wakeup_watermark = INT32_MAX;
	return attr;
}

/*
 * The kernel reports lost records only before the next record.  So cause one: setting the
 * thread's name, to its current name, writes a record.
 */
void cpci_ring_flush(void)
{
	char name[16];

	if (prctl(PR_GET_NAME, name) == 0)
		prctl(PR_SET_NAME, name);
}

int cpci_ring_map(struct cpci_ring *ring, int fd, size_t most, size_t least)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = MAP_FAILED;
	size_t size;

	if (least < page)
		least = page;
	for (size = most < least ? least : most; size >= least; size /= 2) {
		p = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED || (errno != EPERM && errno != ENOMEM))
			break;
	}
	if (p == MAP_FAILED)
		return -1;
	ring->page = p;
	ring->word = (const volatile uint64_t *)((char *)p + page);
	ring->nwords = (uint32_t)(size / sizeof(uint64_t));
	return 0;
}

void cpci_ring_unmap(struct cpci_ring *ring)
{
	munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->nwords * sizeof(uint64_t));
}

int cpci_ring_share(int fd, int owner, uint64_t *id)
{
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, owner) == -1)
		return -1;
	return ioctl(fd, PERF_EVENT_IOC_ID, id);
}

uint32_t cpci_ring_head(const struct cpci_ring *ring)
{
	return (uint32_t)(__atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) /
			  sizeof(uint64_t));
}

void cpci_ring_release(struct cpci_ring *ring, uint32_t at)
{
	__u64 tail = ring->page->data_tail, next;
	int32_t n;

	/* Never move backwards: a signal handler that interrupted us may have released more. */
	do {
		n = (int32_t)(at - (uint32_t)(tail / sizeof(uint64_t)));
		if (n <= 0)
			return;
		next = tail + (uint64_t)n * sizeof(uint64_t);
	} while (!__atomic_compare_exchange_n(&ring->page->data_tail, &tail, next, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static uint64_t word_at(const struct cpci_ring *ring, uint32_t at)
{
	return ring->word[at & (ring->nwords - 1)];
}

/* The `left` words from `at` on are a sample. */
static bool parse_sample(const struct cpci_ring *ring, uint32_t at, uint32_t left,
			 struct cpci_record *rec)
{
	const uint32_t always = 5;

	if (left < always)
		return false;
	rec->kind = CPCI_RECORD_SAMPLE;
	rec->id = word_at(ring, at);
	rec->pc = word_at(ring, at + 1);
	/* The first half of the word is the process id, the second the thread id. */
	rec->tid = ((const volatile int32_t *)&ring->word[(at + 2) & (ring->nwords - 1)])[1];
	rec->time_ns = word_at(ring, at + 3);
	rec->addr = word_at(ring, at + 4);
	at += always;
	left -= always;
	if ((ring->sample_type & PERF_SAMPLE_CALLCHAIN) != 0) {
		uint64_t n = left > 0 ? word_at(ring, at) : UINT64_MAX;

		if (n >= left)
			return false;
		rec->chain = at + 1;
		rec->nchain = (uint32_t)n;
		at += 1 + (uint32_t)n;
		left -= 1 + (uint32_t)n;
	}
	if ((ring->sample_type & PERF_SAMPLE_PHYS_ADDR) != 0) {
		if (left == 0)
			return false;
		rec->phys = word_at(ring, at);
		left--;
	}
	return left == 0;
}

bool cpci_ring_parse(const struct cpci_ring *ring, uint32_t at, uint32_t head,
		     struct cpci_record *rec)
{
	uint32_t left = head - at, n;
	struct perf_event_header header;
	uint64_t first;

	if (left == 0 || left > ring->nwords)
		return false;
	first = word_at(ring, at);
	memcpy(&header, &first, sizeof(header));
	n = header.size / sizeof(uint64_t);
	if (header.size % sizeof(uint64_t) != 0 || n == 0 || n > left)
		return false;
	*rec = (struct cpci_record){.kind = CPCI_RECORD_OTHER, .nwords = n};
	switch (header.type) {
	case PERF_RECORD_SAMPLE:
		rec->exact = (header.misc & PERF_RECORD_MISC_EXACT_IP) != 0;
		return parse_sample(ring, at + 1, n - 1, rec);
	case PERF_RECORD_LOST:
		if (n < 3)
			return false;
		rec->kind = CPCI_RECORD_LOST;
		rec->lost = word_at(ring, at + 2);
		return true;
	case PERF_RECORD_THROTTLE:
		rec->kind = CPCI_RECORD_THROTTLE;
		return true;
	default:
		return true;
	}
}

uint32_t cpci_ring_stack(const struct cpci_ring *ring, const struct cpci_record *rec,
			 uint64_t *frame, uint32_t max, uint32_t *nkernel)
{
	bool kernel = false;
	uint32_t n = 0;

	*nkernel = 0;
	for (uint32_t i = 0; i < rec->nchain && n < max; i++) {
		uint64_t addr = word_at(ring, rec->chain + i);

		/* A mark that says of which mode the next frames are. */
		if (addr >= (uint64_t)PERF_CONTEXT_MAX) {
			kernel = addr == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		frame[n++] = addr;
		if (kernel)
			*nkernel = n;
	}
	return n;
}
