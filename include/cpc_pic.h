/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_pic.h - read one counter of the calling LWP by an instruction, inline.
 *
 * Extension, in place of reading the %pic register, or of RDPMC (cpc_bind_event(3CPC), NOTES).
 * Where user space cannot read the counter, cpc_read_pic() makes a system call.
 */
#ifndef CPC_PIC_H
#define CPC_PIC_H

#include <libcpc.h>

#ifdef __cplusplus
extern "C" {
#endif

#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define CPC_PIC_INLINE 1 /* this machine has such an instruction */
#endif

/*
 * The kernel maps a page for each event.  This is the beginning of struct perf_event_mmap_page
 * of <linux/perf_event.h>, which some programs cannot include.
 */
struct cpc_pic_page {
	uint32_t version, compat_version;
	uint32_t lock;	/* odd while the kernel changes the other fields */
	uint32_t index; /* the register's number plus 1; 0: no register counts the event now */
	int64_t offset; /* add this to the register's value */
	uint64_t time_enabled, time_running;
	uint64_t capabilities;
	uint16_t pmc_width; /* the width of the register in bits */
};
#define CPC_PIC_CAP_RDPMC 0x4 /* a capability: user space may read the register */

/* One request of a set that is bound to an LWP.  Only for cpc_read_pic(). */
typedef struct cpc_pic {
	const volatile struct cpc_pic_page *page; /* NULL: a system call is needed */
	const void *thread;			  /* the thread pointer of the counter's LWP */
	uint64_t start;				  /* the preset */
	cpc_set_t *set;
	int index;
} cpc_pic_t;

#pragma GCC visibility push(default)

/*
 * Returns the argument of cpc_read_pic() for request `index` of a set that the calling LWP has
 * bound to itself.  The argument belongs to the set, and lives as long.  In an LWP that inherited
 * the set, it lives until the LWP binds another set.  Returns NULL and errno: EINVAL (no such
 * request, a set of another handle, or not bound to the calling LWP), ENOMEM.
 */
const cpc_pic_t *cpc_set_pic(cpc_t *cpc, cpc_set_t *set, int index);

/* Does the same as cpc_read_pic(), always by a system call. */
int cpc_pic_sample(const cpc_pic_t *pic, uint64_t *value);

#pragma GCC visibility pop

#ifdef CPC_PIC_INLINE

#if defined(__x86_64__)

static inline uint64_t cpc_pic_register(uint32_t i)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(i));
	return (uint64_t)high << 32 | low;
}

/* The thread pointer: the ABI stores it at address 0 of its own segment. */
static inline const void *cpc_pic_thread(void)
{
	const void *tp;

	__asm__("mov %%fs:0, %0" : "=r"(tp));
	return tp;
}

#else /* __aarch64__ */

#define CPC_PIC_READ(n)                                                       \
	case n:                                                               \
		__asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); \
		break;

/* The register's number is part of the instruction, hence one instruction for each. */
static inline uint64_t cpc_pic_register(uint32_t i)
{
	uint64_t value = 0;

	/* clang-format off */
	switch (i) {
	CPC_PIC_READ(0) CPC_PIC_READ(1) CPC_PIC_READ(2) CPC_PIC_READ(3) CPC_PIC_READ(4)
	CPC_PIC_READ(5) CPC_PIC_READ(6) CPC_PIC_READ(7) CPC_PIC_READ(8) CPC_PIC_READ(9)
	CPC_PIC_READ(10) CPC_PIC_READ(11) CPC_PIC_READ(12) CPC_PIC_READ(13) CPC_PIC_READ(14)
	CPC_PIC_READ(15) CPC_PIC_READ(16) CPC_PIC_READ(17) CPC_PIC_READ(18) CPC_PIC_READ(19)
	CPC_PIC_READ(20) CPC_PIC_READ(21) CPC_PIC_READ(22) CPC_PIC_READ(23) CPC_PIC_READ(24)
	CPC_PIC_READ(25) CPC_PIC_READ(26) CPC_PIC_READ(27) CPC_PIC_READ(28) CPC_PIC_READ(29)
	CPC_PIC_READ(30)
	default: /* 31: the cycle counter */
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
	}
	/* clang-format on */
	return value;
}

#undef CPC_PIC_READ

static inline const void *cpc_pic_thread(void)
{
	const void *tp;

	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

#endif

/*
 * Reads the count of an event; the caller checks the lock of its page before and after.
 * Returns 0: no register counts it now, or user space may not read the register.
 */
static inline int cpc_pic_count(const volatile struct cpc_pic_page *page, uint64_t *count)
{
	uint32_t index = page->index;
	unsigned unused = 64U - page->pmc_width;

	if (index == 0 || (page->capabilities & CPC_PIC_CAP_RDPMC) == 0)
		return 0;
	/* Sign extension: the kernel starts counters below 0. */
	*count = (uint64_t)page->offset +
		 (uint64_t)((int64_t)(cpc_pic_register(index - 1) << unused) >> unused);
	return 1;
}

#endif /* CPC_PIC_INLINE */

/*
 * Reads the value of a request as cpc_set_sample() does: it starts at the preset and wraps at
 * 2^64.  Safe in signal handlers.  Returns 0, or -1 and the errno of cpc_set_sample(); EINVAL
 * in an LWP that has not bound the set.  Only the system call notices that the set was
 * invalidated because a CPU was bound; until then the value goes on counting.
 */
static inline int cpc_read_pic(const cpc_pic_t *pic, uint64_t *value)
{
#ifdef CPC_PIC_INLINE
	const volatile struct cpc_pic_page *page = pic->page;
	uint64_t count;
	uint32_t lock;
	int tries;

	/* 8 conflicts with the kernel are not just bad luck: fall back to the system call. */
	for (tries = 0; page != NULL && pic->thread == cpc_pic_thread() && tries < 8; tries++) {
		int here;

		lock = page->lock;
		__asm__ volatile("" : : : "memory");
		here = (lock & 1) == 0 && cpc_pic_count(page, &count);
		__asm__ volatile("" : : : "memory");
		if (page->lock != lock || (lock & 1) != 0)
			continue;
		if (!here)
			break;
		*value = pic->start + count;
		return 0;
	}
#endif
	return cpc_pic_sample(pic, value);
}

#ifdef __cplusplus
}
#endif

#endif /* CPC_PIC_H */
