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
 * overflows when it has counted 2^64 - P events.  Then all counters of the set, which must be
 * bound to the calling LWP, are frozen, and that LWP gets SIGEMT once, with si_code
 * EMT_CPCOVF and si_addr the interrupted PC.  cpc_set_restart() starts the counters again:
 * from the presets, or from the values that cpc_request_preset() has set since.  All of these may
 * be called in the signal handler.  For this the library uses signal SIGRTMAX - 2, or the next
 * lower one that is free. cpc_bind_curlwp(3CPC).
 *
 * cpc_set_restart() also restarts a set that does not report overflows.
 *
 * Return 0, or -1 and errno: EINVAL (the calling LWP has not bound this set to itself; no
 * such request), EAGAIN (another program took the counters, or the set was invalidated).
 */
int cpc_set_restart(cpc_t *cpc, cpc_set_t *set);
int cpc_request_preset(cpc_t *cpc, int index, uint64_t preset);

/*
 * Extension.  Which requests of the calling LWP's frozen set have overflowed: bit `index` of
 * `*requests` for each; 0: the set is not frozen.  Returns 0, or -1 and errno: EINVAL.
 */
int cpc_set_overflowed(cpc_t *cpc, const cpc_set_t *set, uint64_t *requests);

/* How many overflows are buffered before SIGEMT is sent. */
#define CPC_PCBUF_SIZE 256

/*
 * Buffered overflow.  A request with CPC_OVF_BUFFERED as well counts on from its preset when
 * it overflows, and the kernel keeps a record of it.  The LWP gets SIGEMT after each
 * CPC_PCBUF_SIZE records of its set, with the PC of the last one in si_addr; the context is
 * that of wherever the LWP was by then.
 *
 * Samples a set as cpc_set_sample() does, and moves the PCs of the oldest overflows into
 * `pcbuf`, which has room for CPC_PCBUF_SIZE; 0 for those that there are not.  If there were
 * more, they are left, and SIGEMT comes again.  Safe in signal handlers.  Returns 0, or -1 and
 * errno: those of cpc_set_sample(); EINVAL also if the set has no request that is buffered;
 * EBADMSG (the program wrote over the buffer).  cpc_set_sample_pcbuf(3).
 */
int cpc_set_sample_pcbuf(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf, uint64_t *pcbuf);

/* What a record knows about an overflow, or'ed in `co_valid`.  Unknown fields are 0. */
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
 * Extension.  The same with all that is known of each overflow: calls `action` for each that
 * there was when it was called, oldest first.  The record is gone when `action` returns.
 */
int cpc_set_sample_ovf(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf, void *arg,
		       void (*action)(void *arg, const cpc_ovf_t *ovf));

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* CPC_OVERFLOW_H */
