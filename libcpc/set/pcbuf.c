/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pcbuf.c - buffered overflows of a set: a ring that the kernel writes, and that the LWP of
 * the set takes records from.  When so many are there, the poller wakes up and sends that LWP
 * the signal of the library's own, whose handler sends SIGEMT if that is due.
 *
 * All of that is done by the LWP alone, in signal handlers, too, and so without a lock: a
 * record is read, and then taken by a compare-and-exchange.  If that fails, a handler was
 * faster, and what was read is nothing.
 */
#include "set.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Bytes of records: without call stacks and with them, at first and at least.  What many
 * threads inherit is to be had by many: the kernel limits how much it locks for all of them.
 */
enum { PLAIN_MOST = 256 << 10, PLAIN_INHERITED = 64 << 10, PLAIN_LEAST = 16 << 10 };
enum { STACKS_MOST = 1 << 20, STACKS_LEAST = 512 << 10 };
/* Words of the largest record, and of what tells a loss before it. */
enum { PLAIN_RECORD = 16, STACKS_RECORD = 256 };

/*
 * Records are counted modulo 2^32, and so signals, of which each stands for CPC_PCBUF_SIZE of
 * them, modulo 2^24.
 */
#define SIGNAL_BITS 24
_Static_assert(CPC_PCBUF_SIZE == 1 << (32 - SIGNAL_BITS), "counts of records wrap in step");

struct cpci_pcbuf {
	const struct cpci_plan *plan;
	struct cpci_ring ring;
	int fd;	      /* of the event that owns the ring */
	uint64_t *id; /* per term; 0: it is not buffered */
	struct cpci_watch *watch;
	pid_t lwp;		 /* whom the poller sends... */
	int sig;		 /* ...this... */
	atomic_int noticing;	 /* ...unless it did, and that has not come yet */
	_Atomic(uint64_t) taken; /* how many records, in the upper half, and up to where */
	/* How many signals were due when one was sent last; the lowest bit: not heard yet. */
	_Atomic(uint32_t) told;
	_Atomic(uint64_t) nlost, nthrottled;
	atomic_bool filled; /* there may be losses that the kernel has not told */
	atomic_bool damaged;
};

/* ---- when there is a signal ---------------------------------------------------------- */

struct survey {
	uint32_t unread; /* records */
	uint32_t due;	 /* signals, since the beginning */
	uint64_t pc;	 /* of the last record */
};

/* A handler may take records meanwhile, which then are others: so look again. */
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

/* Is signal number `due` after number `sent`? */
static bool is_after(uint32_t due, uint32_t sent)
{
	return (int32_t)((due - sent) << (32 - SIGNAL_BITS)) > 0;
}

/*
 * There is a signal when one more is due.  Pending ones become one, so whoever took records of
 * the first, and leaves enough for another one, sends that.
 */
static void send_if_due(struct cpci_pcbuf *b, bool by_taker)
{
	const struct survey s = survey(b);
	uint32_t told = b->told, next;
	bool more;

	do {
		more = is_after(s.due, told >> 1);
		if (by_taker ? s.unread < CPC_PCBUF_SIZE || (told & 1) != 0 : !more)
			return;
		next = (more ? s.due : told >> 1) << 1 | (s.unread > 0);
	} while (!atomic_compare_exchange_weak(&b->told, &told, next));
	if (s.unread > 0)
		cpci_emt_send_once(s.pc);
}

void cpci_pcbuf_notice(struct cpci_pcbuf *b)
{
	b->noticing = false;
	send_if_due(b, false);
}

bool cpci_pcbuf_told(const struct cpci_pcbuf *b)
{
	return b->told != 0;
}

/* In the poller.  More than the LWP may have pending is tried again after the next records. */
static void on_ready(void *arg)
{
	struct cpci_pcbuf *b = arg;

	if (!atomic_exchange(&b->noticing, true) &&
	    syscall(SYS_tgkill, getpid(), b->lwp, b->sig) == -1)
		b->noticing = false;
}

/* ---- taking records, in the LWP ------------------------------------------------------- */

static bool knows(const struct cpci_pcbuf *b, uint64_t id, uint_t *term)
{
	for (uint_t i = 0; i < b->plan->nterms; i++) {
		if (b->id[i] == id && id != 0) {
			*term = i;
			return true;
		}
	}
	return false;
}

/* The record at `at`; `ovf` gets what is to be told of it. */
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
	return knows(b, rec->id, &ovf->term);
}

uint32_t cpci_pcbuf_begin(struct cpci_pcbuf *b)
{
	uint32_t head = cpci_ring_head(&b->ring);
	uint32_t room = b->ring.nwords - (head - (uint32_t)b->taken);

	atomic_fetch_and(&b->told, ~1U);
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

/* Up to the next overflow: what is lost, and nothing else. */
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
	errno = EBADMSG;
	return -1;
}

void cpci_pcbuf_abandon(struct cpci_pcbuf *b)
{
	uint32_t end = cpci_pcbuf_begin(b);
	struct cpci_overflow_record ovf = {0};

	while (cpci_pcbuf_take(b, end, &ovf))
		b->nlost++;
	find_losses(b);
}

uint64_t cpci_pcbuf_lost(const struct cpci_pcbuf *b)
{
	return b->nlost;
}

uint64_t cpci_pcbuf_throttled(const struct cpci_pcbuf *b)
{
	return b->nthrottled;
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

static int map(struct cpci_pcbuf *b, uint64_t sample_type, bool inherited)
{
	b->ring.sample_type = sample_type;
	if (cpci_pcbuf_has_stacks(b))
		return cpci_ring_map(&b->ring, b->fd, inherited ? STACKS_LEAST : STACKS_MOST,
				     STACKS_LEAST);
	return cpci_ring_map(&b->ring, b->fd, inherited ? PLAIN_INHERITED : PLAIN_MOST,
			     PLAIN_LEAST);
}

/* All terms that are buffered write into the one ring. */
static int share(struct cpci_pcbuf *b, const int *fd)
{
	for (uint_t i = 0; i < b->plan->nterms; i++) {
		if (cpci_plan_buffers(b->plan, i) && cpci_ring_share(fd[i], b->fd, &b->id[i]) == -1)
			return -1;
	}
	return 0;
}

static struct cpci_pcbuf *new_pcbuf(const struct cpci_plan *plan, int sig, struct cpci_diag *diag)
{
	struct cpci_pcbuf *b = calloc(1, sizeof(*b));

	if (b != NULL) {
		b->plan = plan;
		b->lwp = cpci_self();
		b->sig = sig;
		b->fd = -1;
		b->id = calloc(plan->nterms, sizeof(*b->id));
		if (b->id != NULL)
			return b;
	}
	free(b);
	cpci_diag_nomem(diag);
	return NULL;
}

struct cpci_pcbuf *cpci_pcbuf_open(const struct cpci_plan *plan, uint64_t sample_type,
				   const int *fd, int sig, bool inherited, struct cpci_diag *diag)
{
	struct cpci_pcbuf *b = new_pcbuf(plan, sig, diag);

	if (b == NULL)
		return NULL;
	b->fd = cpci_group_open_owner(plan, sample_type);
	if (b->fd == -1) {
		cpci_explain_pcbuf(diag, errno, CPCI_PCBUF_OPEN);
	} else if (map(b, sample_type, inherited) == -1) {
		cpci_explain_pcbuf(diag, errno, CPCI_PCBUF_MAP);
	} else if (share(b, fd) == -1) {
		cpci_explain_pcbuf(diag, errno, CPCI_PCBUF_SHARE);
	} else {
		b->watch = cpci_poller_watch(b->fd, on_ready, b);
		if (b->watch != NULL)
			return b;
		cpci_explain_pcbuf(diag, errno, CPCI_PCBUF_POLLER);
	}
	cpci_pcbuf_close(b);
	return NULL;
}

void cpci_pcbuf_stop(struct cpci_pcbuf *b)
{
	if (b->watch != NULL)
		cpci_poller_forget(b->watch);
	b->watch = NULL;
}

/* Its memory remains: the LWP may be looking at it. */
void cpci_pcbuf_cut(struct cpci_pcbuf *b, int file)
{
	cpci_pcbuf_stop(b);
	dup3(file, b->fd, O_CLOEXEC);
}

void cpci_pcbuf_forked(struct cpci_pcbuf *b)
{
	free(b->watch);
	b->watch = NULL;
	b->ring.page = NULL;
}

void cpci_pcbuf_close(struct cpci_pcbuf *b)
{
	if (b == NULL)
		return;
	cpci_pcbuf_stop(b);
	if (b->ring.page != NULL)
		cpci_ring_unmap(&b->ring);
	if (b->fd != -1)
		close(b->fd);
	free(b->id);
	free(b);
}
