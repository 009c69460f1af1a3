/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* cpc_overflow.h - how overflows of counters are reported to a program; a part of libcpc.h. */
#ifndef CPC_OVERFLOW_H
#define CPC_OVERFLOW_H

#include <cpc_types.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Overflow.  A request with CPC_OVF_NOTIFY_EMT, without CPC_OVF_BUFFERED, and preset P
 * overflows when it has counted 2^64 - P events.  Its set must be bound to the calling LWP.  An
 * overflow freezes all counters of the set, and the LWP gets SIGEMT once, with si_code EMT_CPCOVF
 * and the interrupted PC in si_addr.  cpc_set_restart() starts the counters again, from the
 * presets or from the values of cpc_request_preset() since the bind.  The signal handler may call
 * all of these.  The library uses the signal SIGRTMAX - 2 for this, or the next lower one that is
 * free.  cpc_bind_curlwp(3CPC).
 *
 * cpc_set_restart() also restarts a set that does not report overflows.
 *
 * Return 0, or -1 and errno: EINVAL (the calling LWP has not bound this set to itself; no
 * such request), EAGAIN (another program took the counters, or the set was invalidated).
 */
int cpc_set_restart(cpc_t *cpc, cpc_set_t *set);
int cpc_request_preset(cpc_t *cpc, int index, uint64_t preset);

/*
 * Extension.  Sets bit `index` of `*requests` for each request of the calling LWP's frozen set that
 * has overflowed.  No bit is set if the set is not frozen, or if its LWP is new
 * (CPC_BIND_LWP_INHERIT).  Returns 0, or -1 and errno: EINVAL.
 */
int cpc_set_overflowed(cpc_t *cpc, const cpc_set_t *set, uint64_t *requests);

/* How many overflows are buffered before SIGEMT is sent. */
#define CPC_PCBUF_SIZE 256

/*
 * Buffered overflow.  If a request also has CPC_OVF_BUFFERED, an overflow freezes nothing: the
 * kernel records it, and the request counts on from its preset.  The LWP gets SIGEMT after each
 * CPC_PCBUF_SIZE records of its set, with the PC of the last record in si_addr.  The context is
 * that of the code that the LWP has reached by then.
 *
 * Samples a set as cpc_set_sample() does, and moves the PCs of the oldest overflows into
 * `pcbuf`, which has room for CPC_PCBUF_SIZE; unused elements become 0.  Later overflows remain
 * for the next call; if these are as many again, SIGEMT comes again.  Safe in signal handlers.
 * Returns 0, or -1 and errno: those of cpc_set_sample(); EINVAL also if no request of the set is
 * buffered; EBADMSG (the program has overwritten the buffer).  cpc_set_sample_pcbuf(3).
 */
int cpc_set_sample_pcbuf(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf, uint64_t *pcbuf);

/* The bits of `co_valid`: which fields of a record are known.  Unknown fields are 0. */
#define CPC_OVF_HAS_PC 0x1	   /* where the LWP was interrupted */
#define CPC_OVF_HAS_TRIGGER_PC 0x2 /* the instruction that made the counter overflow */
#define CPC_OVF_HAS_VADDR 0x4	   /* the address that it referred to */
#define CPC_OVF_HAS_PADDR 0x8	   /* the same in physical memory */
#define CPC_OVF_HAS_STACK 0x10	   /* the call stack */

#define CPC_OVF_MAX_FRAMES 127

typedef struct {
	uint_t co_valid;
	int co_index; /* the index of the request */
	id_t co_lwp;  /* the LWP's id, as _lwp_self() returns it */
	hrtime_t co_hrtime;
	uint64_t co_pc, co_trigger_pc, co_vaddr, co_paddr;
	uint_t co_nframes;	  /* CPC_OVF_MAX_FRAMES at most */
	uint_t co_nkernel;	  /* how many of them are in the kernel: the first ones */
	const uint64_t *co_frame; /* innermost first */
} cpc_ovf_t;

/*
 * Extension.  Like cpc_set_sample_pcbuf(), but calls `action` with the whole record of each
 * overflow that exists at the call, oldest first.  `ovf` is valid until `action` returns.
 */
int cpc_set_sample_ovf(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf, void *arg,
		       void (*action)(void *arg, const cpc_ovf_t *ovf));

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* CPC_OVERFLOW_H */
