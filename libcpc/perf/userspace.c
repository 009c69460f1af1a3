/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * userspace.c - reads the counters of the calling LWP without a system call.
 *
 * The kernel maps a page per event, which contains the register that counts it and the offset
 * to add.  Its lock changes whenever the kernel changes them (perf_event_open(2), "MMAP
 * layout").  This is only for hardware counters: pages of software events are stale.
 */
#include "perf.h"

#include <cpc_pic.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static uint64_t read_clock(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t val;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(val));
	return val;
#else
	return 0;
#endif
}

uint64_t cpci_user_config1(const struct perf_event_attr *attr)
{
#if defined(__aarch64__)
	/*
	 * An event must be opened for this (Documentation/arch/arm64/perf.rst).  Does the sysctl
	 * allow user space to read counters?
	 */
	static atomic_int allowed = -1;

	if (cpci_perf_is_software(attr))
		return 0;
	if (allowed == -1)
		allowed = cpci_read_number("/proc/sys/kernel/perf_user_access", 0) == 1;
	return allowed == 1 ? 2 : 0;
#else
	(void)attr;
	return 0; /* on x86, if one event is readable, all are */
#endif
}

/* Programs read the page by the declarations of the public header. */
#define SAME(ours, theirs)                                                    \
	_Static_assert(offsetof(struct cpc_pic_page, ours) ==                 \
			       offsetof(struct perf_event_mmap_page, theirs), \
		       #ours)
SAME(lock, lock);
SAME(index, index);
SAME(offset, offset);
SAME(time_running, time_running);
SAME(capabilities, capabilities);
SAME(pmc_width, pmc_width);

static uint32_t get_lock(const volatile struct perf_event_mmap_page *page)
{
	return page->lock;
}

void *cpci_user_map(int fd, bool timed)
{
	struct perf_event_mmap_page *page;
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return NULL;
	/* The cycles of a sample need the clock. */
	if (page->cap_user_rdpmc && (page->cap_user_time || !timed))
		return page;
	munmap(page, size);
	return NULL;
}

void cpci_user_unmap(void *page)
{
	munmap(page, (size_t)sysconf(_SC_PAGESIZE));
}

/* The time for which an event has been on the hardware. */
static uint64_t running_ns(const volatile struct perf_event_mmap_page *page)
{
	uint64_t cycles = read_clock(), mult = page->time_mult, rest;
	uint16_t shift = page->time_shift;

	if (page->cap_user_time_short)
		cycles = page->time_cycles + ((cycles - page->time_cycles) & page->time_mask);
	rest = cycles & ((1ULL << shift) - 1);
	return page->time_running + page->time_offset + (cycles >> shift) * mult +
	       (rest * mult >> shift);
}

/* Reads an event whose page's lock is even; false: it is not on the hardware. */
static bool read_value(const void *page, uint64_t *val)
{
#ifdef CPC_PIC_INLINE
	return cpc_pic_count(page, val);
#else
	(void)page, (void)val;
	return false;
#endif
}

#define TRIES 8 /* more conflicts with the kernel are not just bad luck */

/*
 * Reads all counters between two reads of all locks: if those did not change, neither did the
 * kernel in between, and the values belong to one instant.  Locks only grow, so comparing
 * their sum suffices.
 */
bool cpci_user_read(void *const *page, uint_t n, uint64_t *value, uint64_t *running)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t before = 0, after = 0;
		uint32_t busy = 0;

		for (uint_t i = 0; i < n; i++) {
			uint32_t lock = get_lock(page[i]);

			before += lock;
			busy |= lock & 1;
		}
		atomic_signal_fence(memory_order_acquire);
		for (uint_t i = 0; i < n; i++) {
			if (!read_value(page[i], &value[i]))
				return false;
		}
		*running = running_ns(page[0]);
		atomic_signal_fence(memory_order_acquire);
		for (uint_t i = 0; i < n; i++)
			after += get_lock(page[i]);
		if (before == after && busy == 0)
			return true;
	}
	return false;
}
