/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* buf.c - buffers and their arithmetic. */
#include "set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

cpc_buf_t *cpc_buf_create(cpc_t *cpc, cpc_set_t *set)
{
	bool known = false;
	cpc_buf_t *buf;
	uint_t n;

	if (cpci_check_set(cpc, "cpc_buf_create", set) == -1)
		return NULL;
	n = set->plan->nreqs;
	buf = calloc(1, sizeof(*buf) + (n + cpci_raw_size(set->plan)) * sizeof(uint64_t));
	cpci_lock();
	if (buf != NULL && known_add(&cpci_known_bufs, buf)) {
		known = true;
		buf->cpc = cpc;
		buf->plan = cpci_plan_hold(set->plan);
		buf->nreqs = n;
		buf->raw = buf->val + n;
		LIST_INSERT_HEAD(&cpc->bufs, buf, entry);
	}
	cpci_unlock();
	if (known)
		return buf;
	free(buf);
	cpci_fail_nomem(cpc, "cpc_buf_create");
	return NULL;
}

/* If it succeeds, it keeps errno. */
int cpc_buf_destroy(cpc_t *cpc, cpc_buf_t *buf)
{
	int err = errno;
	bool known;

	cpci_lock();
	known = cpci_is_buf(cpc, buf) && known_remove(&cpci_known_bufs, buf);
	if (known)
		LIST_REMOVE(buf, entry);
	cpci_unlock();
	if (!known)
		return cpci_refuse(cpc, "cpc_buf_destroy", buf, "buffer");
	cpci_plan_drop(buf->plan);
	free(buf);
	errno = err;
	return 0;
}

/* The functions below only set errno: they may be called in signal handlers. */
static bool has_request(const cpc_t *cpc, const cpc_buf_t *buf, int index)
{
	return cpci_is_buf(cpc, buf) && index >= 0 && (uint_t)index < buf->nreqs;
}

/* Is it a buffer of this handle, and of a set with as many requests? */
static bool is_like(const cpc_t *cpc, const cpc_buf_t *buf, const cpc_buf_t *other)
{
	return cpci_is_buf(cpc, buf) && buf->nreqs == other->nreqs;
}

int cpc_buf_get(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t *val)
{
	if (!has_request(cpc, buf, index))
		return cpci_errno(EINVAL);
	*val = buf->val[index];
	return 0;
}

int cpc_buf_set(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t val)
{
	if (!has_request(cpc, buf, index))
		return cpci_errno(EINVAL);
	buf->val[index] = val;
	return 0;
}

/* What these return for a pointer that is not a buffer. */
static inline uint_t no_buf(void)
{
	errno = EINVAL;
	return 0;
}

hrtime_t cpc_buf_hrtime(cpc_t *cpc, cpc_buf_t *buf)
{
	return cpci_is_buf(cpc, buf) ? buf->hrtime : no_buf();
}

uint64_t cpc_buf_tick(cpc_t *cpc, cpc_buf_t *buf)
{
	return cpci_is_buf(cpc, buf) ? buf->tick : no_buf();
}

uint_t cpc_buf_npcs(cpc_t *cpc, cpc_buf_t *buf)
{
	return cpci_is_buf(cpc, buf) ? buf->npcs : no_buf();
}

uint64_t cpc_buf_nlost(cpc_t *cpc, cpc_buf_t *buf)
{
	return cpci_is_buf(cpc, buf) ? buf->nlost : no_buf();
}

uint64_t cpc_buf_nthrottled(cpc_t *cpc, cpc_buf_t *buf)
{
	return cpci_is_buf(cpc, buf) ? buf->nthrottled : no_buf();
}

/* left + sign * right, modulo 2^64; `sign` is 1 or -1. */
static int combine(const cpc_t *cpc, cpc_buf_t *result, const cpc_buf_t *left,
		   const cpc_buf_t *right, int64_t sign)
{
	const uint64_t factor = (uint64_t)sign;

	if (!cpci_is_buf(cpc, result) || !is_like(cpc, left, result) ||
	    !is_like(cpc, right, result))
		return cpci_errno(EINVAL);
	for (uint_t i = 0; i < result->nreqs; i++)
		result->val[i] = left->val[i] + factor * right->val[i];
	result->nlost = left->nlost + factor * right->nlost;
	result->nthrottled = left->nthrottled + factor * right->nthrottled;
	result->npcs = 0;
	result->tick = left->tick + factor * right->tick;
	result->hrtime = left->hrtime > right->hrtime ? left->hrtime : right->hrtime;
	return 0;
}

int cpc_buf_sub(cpc_t *cpc, cpc_buf_t *result, cpc_buf_t *left, cpc_buf_t *right)
{
	return combine(cpc, result, left, right, -1);
}

int cpc_buf_add(cpc_t *cpc, cpc_buf_t *result, cpc_buf_t *left, cpc_buf_t *right)
{
	return combine(cpc, result, left, right, 1);
}

int cpc_buf_copy(cpc_t *cpc, cpc_buf_t *dest, cpc_buf_t *src)
{
	if (!cpci_is_buf(cpc, dest) || !is_like(cpc, src, dest))
		return cpci_errno(EINVAL);
	memmove(dest->val, src->val, src->nreqs * sizeof(*src->val));
	dest->npcs = src->npcs;
	dest->nlost = src->nlost;
	dest->nthrottled = src->nthrottled;
	dest->tick = src->tick;
	dest->hrtime = src->hrtime;
	return 0;
}

void cpc_buf_zero(cpc_t *cpc, cpc_buf_t *buf)
{
	if (!cpci_is_buf(cpc, buf))
		return;
	memset(buf->val, 0, buf->nreqs * sizeof(*buf->val));
	buf->npcs = 0;
	buf->nlost = buf->nthrottled = 0;
	buf->tick = 0;
	buf->hrtime = 0;
}
