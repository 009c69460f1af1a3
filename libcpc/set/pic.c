/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* pic.c - requests that their LWP reads by an instruction (cpc_pic.h). */
#include "set.h"

#include <errno.h>
#include <stdlib.h>

#ifdef CPC_PIC_INLINE
/* The file of the only event of a request; -1: the value is not just the count of one event. */
static int own_file(const cpc_set_t *set, uint_t index)
{
	const struct cpci_plan *plan = set->plan;

	if (plan->req[index].event.nterms != 1 || plan->req[index].event.term[0].minus ||
	    (plan->req[index].flags & CPC_OVF_NOTIFY_EMT) != 0)
		return -1;
	for (uint_t i = 0; i < plan->nterms; i++) {
		if (plan->ref[i].req == index)
			return set->fd[i];
	}
	return -1;
}

/* Maps the event of a request if a counter of the CPU counts it. */
static void map_counter(cpc_set_t *set, struct cpc_pic *pic)
{
	const uint_t index = (uint_t)pic->index;
	const struct perf_event_attr *attr = &set->plan->req[index].event.term[0].attr;
	int fd = own_file(set, index);
	void *page;

	if (fd == -1 || cpci_perf_is_software(attr) || cpci_topdown_is_slots(attr) ||
	    cpci_topdown_is_metric(attr))
		return;
	page = cpci_user_map(fd, false);
	pic->start = set->start[index];
	pic->thread = cpc_pic_thread();
	/* A signal handler of this thread may read it. */
	atomic_signal_fence(memory_order_release);
	pic->page = page;
}
#endif

const cpc_pic_t *cpc_set_pic(cpc_t *cpc, cpc_set_t *set, int index)
{
	static const char fn[] = "cpc_set_pic";
	struct cpc_pic *pic;

	if (cpci_check_request(cpc, fn, set, index) == -1)
		return NULL;
	set = cpci_link_copy(set);
	if (set->bound != CPCI_LWP || set != cpci_link_own()) {
		cpci_failf(cpc, fn, EINVAL, 0, "the set is not bound to the calling LWP");
		return NULL;
	}
	if (set->pic == NULL)
		set->pic = calloc(CPCI_MAX_REQUESTS, sizeof(*set->pic));
	if (set->pic == NULL) {
		cpci_fail_nomem(cpc, fn);
		return NULL;
	}
	pic = &set->pic[index];
	pic->set = set;
	pic->index = index;
#ifdef CPC_PIC_INLINE
	if (pic->page == NULL)
		map_counter(set, pic);
#endif
	return pic;
}

int cpc_pic_sample(const cpc_pic_t *pic, uint64_t *value)
{
	const size_t n = cpci_raw_size(pic->set->plan);
	uint64_t val[CPCI_MAX_REQUESTS];
	/* The stack of a thread or of a signal handler may be small. */
	struct cpci_values sample = {.raw = __builtin_alloca(n * sizeof(uint64_t)), .val = val};

	if (cpci_sample(pic->set, &sample) == -1)
		return -1;
	*value = val[pic->index];
	return 0;
}

void cpci_pics_unmap(cpc_set_t *set)
{
	for (uint_t i = 0; set->pic != NULL && i < CPCI_MAX_REQUESTS; i++) {
		void *page = (void *)(uintptr_t)set->pic[i].page;

		if (page == NULL)
			continue;
		set->pic[i].page = NULL;
		atomic_signal_fence(memory_order_release);
		cpci_user_unmap(page);
	}
}
