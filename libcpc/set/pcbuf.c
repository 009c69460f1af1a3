/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pcbuf.c - buffered overflows of a set: the kernel writes records into a ring, and the set's
 * LWP takes them.  When there are enough records, the poller wakes up and sends the LWP the
 * library's private signal, whose handler sends SIGEMT if one is due.
 *
 * Only the LWP takes records, also in signal handlers, and so without a lock: it reads a
 * record, and then takes it by a compare-and-exchange.  If that fails, a signal handler has
 * taken it, and what was read is discarded.
 */
#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Sizes of rings in bytes, without and with call stacks.  Those of inheritable sets are
 * smaller, because many threads may have one: the kernel limits the total of locked memory.
 */
enum { PLAIN_MOST = 256 << 10, PLAIN_INHERITED = 64 << 10, PLAIN_LEAST = 16 << 10 };
enum { STACKS_MOST = 1 << 20, STACKS_LEAST = 512 << 10 };
/* Words of the largest record, together with a record of losses. */
enum { PLAIN_RECORD = 16, STACKS_RECORD = 256 };

/* Records are counted modulo 2^32, and signals, one per CPC_PCBUF_SIZE records, modulo 2^24. */
#define SIGNAL_BITS 24
_Static_assert(CPC_PCBUF_SIZE == 1 << (32 - SIGNAL_BITS), "counts of records wrap in step");

struct cpci_pcbuf {
	const struct cpci_plan *plan;
	struct cpci_ring ring;
	struct cpci_watch watch; /* its file is that of the event that owns the ring */
	/* the number of records taken, in the upper half, and the position after them */
	_Atomic(uint64_t) taken;
	/* 2 * the signals due when one was last sent; + 1 until the LWP begins to take records */
	_Atomic(uint32_t) signalled;
	_Atomic(uint64_t) nlost, nthrottled;
	atomic_bool filled; /* records may have been lost that the kernel has not reported */
	atomic_bool damaged;
	uint64_t id[]; /* per term; 0: it is not buffered */
};

/* ---- when to send a signal ----------------------------------------------------------- */

struct survey {
	uint32_t unread; /* records not taken yet */
	uint32_t due;	 /* signals since the beginning */
	uint64_t pc;	 /* of the last record */
};

/* Repeats if a signal handler takes records meanwhile. */
static struct survey survey(const struct cpci_pcbuf *b)
{
	uint64_t taken = b->taken, before;
	struct cpci_record rec;
	struct survey s;

	do {
		uint32_t head = cpci_ring_head(&b->ring), at = (uint32_t)taken;

		s = (struct survey){0};
		while (at != head && cpci_ring_parse(&b->ring, at, head, &rec)) {
			if (rec.kind == CPCI_RECORD_SAMPLE) {
				s.unread++;
				s.pc = rec.pc;
			}
			at += rec.nwords;
		}
		before = taken;
		taken = b->taken;
	} while (taken != before);
	s.due = ((uint32_t)(taken >> 32) + s.unread) / CPC_PCBUF_SIZE;
	return s;
}

/* Is signal number `due` later than number `sent`? */
static bool is_after(uint32_t due, uint32_t sent)
{
	return (int32_t)((due - sent) << (32 - SIGNAL_BITS)) > 0;
}

/*
 * Sends a signal if another one is due.  Pending signals merge into one, so an LWP that takes
 * records after the first signal, and leaves enough for another one, sends that itself.
 */
static void send_if_due(struct cpci_pcbuf *b, bool by_taker)
{
	const struct survey s = survey(b);
	uint32_t signalled = b->signalled, next;
	bool more;

	do {
		more = is_after(s.due, signalled >> 1);
		if (by_taker ? s.unread < CPC_PCBUF_SIZE || (signalled & 1) != 0 : !more)
			return;
		next = (more ? s.due : signalled >> 1) << 1 | (s.unread > 0);
	} while (!atomic_compare_exchange_weak(&b->signalled, &signalled, next));
	if (s.unread > 0)
		cpci_emt_send_once(s.pc);
}

void cpci_pcbuf_notice(struct cpci_pcbuf *b)
{
	b->watch.noticing = false;
	send_if_due(b, false);
}

bool cpci_pcbuf_signalled(const struct cpci_pcbuf *b)
{
	return b->signalled != 0;
}

/* ---- taking records, in the LWP ------------------------------------------------------- */

/* Finds the term of a record by the id of its event. */
static bool find_term(const struct cpci_pcbuf *b, uint64_t id, uint_t *term)
{
	for (uint_t i = 0; i < b->plan->nterms; i++) {
		if (b->id[i] == id && id != 0) {
			*term = i;
			return true;
		}
	}
	return false;
}

/* Reads the record at `at`; `ovf` gets its contents. */
static bool read_record(const struct cpci_pcbuf *b, uint32_t at, uint32_t end,
			struct cpci_record *rec, struct cpci_overflow_record *ovf)
{
	if (!cpci_ring_parse(&b->ring, at, end, rec))
		return false;
	if (rec->kind != CPCI_RECORD_SAMPLE)
		return true;
	ovf->rec = *rec;
	if (ovf->max_frames > 0)
		ovf->nframes =
			cpci_ring_stack(&b->ring, rec, ovf->frame, ovf->max_frames, &ovf->nkernel);
	return find_term(b, rec->id, &ovf->term);
}

uint32_t cpci_pcbuf_begin(struct cpci_pcbuf *b)
{
	uint32_t head = cpci_ring_head(&b->ring);
	uint32_t room = b->ring.nwords - (head - (uint32_t)b->taken);

	atomic_fetch_and(&b->signalled, ~1U);
	if (room < (cpci_pcbuf_has_stacks(b) ? STACKS_RECORD : PLAIN_RECORD))
		b->filled = true;
	return head;
}

bool cpci_pcbuf_take(struct cpci_pcbuf *b, uint32_t end, struct cpci_overflow_record *ovf)
{
	uint64_t taken = b->taken;
	struct cpci_record rec;

	while ((int32_t)(end - (uint32_t)taken) > 0) {
		uint64_t count = taken >> 32;
		uint32_t next;

		if (read_record(b, (uint32_t)taken, end, &rec, ovf)) {
			count += rec.kind == CPCI_RECORD_SAMPLE;
			next = (uint32_t)taken + rec.nwords;
		} else if (b->taken == taken) {
			b->damaged = true;
			next = end;
		} else {
			taken = b->taken;
			continue;
		}
		if (!atomic_compare_exchange_strong(&b->taken, &taken, count << 32 | next))
			continue;
		cpci_ring_release(&b->ring, next);
		if (b->damaged)
			return false;
		if (rec.kind == CPCI_RECORD_SAMPLE)
			return true;
		if (rec.kind == CPCI_RECORD_LOST)
			b->nlost += rec.lost;
		b->nthrottled += rec.kind == CPCI_RECORD_THROTTLE;
		taken = b->taken;
	}
	return false;
}

/* Takes records of losses up to the next overflow. */
static void take_losses(struct cpci_pcbuf *b)
{
	uint32_t head = cpci_ring_head(&b->ring);
	uint32_t at = (uint32_t)b->taken;
	struct cpci_overflow_record ovf = {0};
	struct cpci_record rec;

	while (at != head && cpci_ring_parse(&b->ring, at, head, &rec) &&
	       rec.kind != CPCI_RECORD_SAMPLE)
		at += rec.nwords;
	cpci_pcbuf_take(b, at, &ovf);
}

static void find_losses(struct cpci_pcbuf *b)
{
	if (!b->filled)
		return;
	b->filled = false;
	cpci_ring_flush();
	take_losses(b);
}

int cpci_pcbuf_end(struct cpci_pcbuf *b)
{
	find_losses(b);
	send_if_due(b, true);
	if (!b->damaged)
		return 0;
	return cpci_errno(EBADMSG);
}

void cpci_pcbuf_abandon(struct cpci_pcbuf *b)
{
	uint32_t end = cpci_pcbuf_begin(b);
	struct cpci_overflow_record ovf = {0};

	while (cpci_pcbuf_take(b, end, &ovf))
		b->nlost++;
	find_losses(b);
}

void cpci_pcbuf_add_losses(const struct cpci_pcbuf *b, uint64_t *nlost, uint64_t *nthrottled)
{
	if (b == NULL)
		return;
	*nlost += b->nlost;
	*nthrottled += b->nthrottled;
}

bool cpci_pcbuf_has_stacks(const struct cpci_pcbuf *b)
{
	return (b->ring.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
}

/* ---- while its set is bound ------------------------------------------------------------ */

uint64_t cpci_pcbuf_sample_type(const struct cpci_plan *plan)
{
	bool all = false;

	for (uint_t i = 0; i < plan->nreqs; i++)
		all |= (plan->req[i].flags & CPC_OVF_RECORD) != 0;
	return plan->nbuffered > 0 ? cpci_ring_sample_type(all) : 0;
}

static int map_ring(struct cpci_pcbuf *b, bool inherited)
{
	if (cpci_pcbuf_has_stacks(b))
		return cpci_ring_map(&b->ring, b->watch.fd, inherited ? STACKS_LEAST : STACKS_MOST,
				     STACKS_LEAST);
	return cpci_ring_map(&b->ring, b->watch.fd, inherited ? PLAIN_INHERITED : PLAIN_MOST,
			     PLAIN_LEAST);
}

/* Makes all buffered terms write into the ring. */
static int share_ring(struct cpci_pcbuf *b, const int *fd)
{
	for (uint_t i = 0; i < b->plan->nterms; i++) {
		if (cpci_plan_buffers(b->plan, i) &&
		    cpci_ring_share(fd[i], b->watch.fd, &b->id[i]) == -1)
			return -1;
	}
	return 0;
}

struct cpci_pcbuf *cpci_pcbuf_open(const struct cpci_plan *plan, const int *fd, bool inherited,
				   struct cpci_diag *diag)
{
	struct cpci_pcbuf *b = calloc(1, sizeof(*b) + plan->nterms * sizeof(*b->id));

	if (b == NULL) {
		cpci_diag_nomem(diag);
		return NULL;
	}
	b->plan = plan;
	b->watch.lwp = cpci_self();
	b->ring.sample_type = cpci_pcbuf_sample_type(plan);
	b->watch.fd = cpci_group_open_owner(plan, b->ring.sample_type);
	if (b->watch.fd == -1) {
		cpci_explain_pcbuf(diag, errno, CPCI_PCBUF_OPEN);
	} else if (map_ring(b, inherited) == -1) {
		cpci_explain_pcbuf(diag, errno, CPCI_PCBUF_MAP);
	} else if (share_ring(b, fd) == -1) {
		cpci_explain_pcbuf(diag, errno, CPCI_PCBUF_SHARE);
	} else if (cpci_poller_watch(&b->watch) == -1) {
		cpci_explain_pcbuf(diag, errno, CPCI_PCBUF_POLLER);
	} else {
		return b;
	}
	cpci_pcbuf_close(b);
	return NULL;
}

void cpci_pcbuf_stop(struct cpci_pcbuf *b)
{
	cpci_poller_forget(&b->watch);
}

/* It does not unmap the ring, which the LWP may be reading. */
void cpci_pcbuf_revoke(struct cpci_pcbuf *b, int file)
{
	cpci_pcbuf_stop(b);
	dup3(file, b->watch.fd, O_CLOEXEC);
}

void cpci_pcbuf_forked(struct cpci_pcbuf *b)
{
	b->watch.live = false;
	b->ring.page = NULL;
}

void cpci_pcbuf_close(struct cpci_pcbuf *b)
{
	if (b == NULL)
		return;
	cpci_pcbuf_stop(b);
	if (b->ring.page != NULL)
		cpci_ring_unmap(&b->ring);
	if (b->watch.fd != -1)
		close(b->watch.fd);
	free(b);
}
