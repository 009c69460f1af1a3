/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* sample_ovf.c - samples a set and takes its buffered overflows, as PCs or as records. */
#include "set.h"

#include <errno.h>
#include <string.h>

/*
 * The sample comes first, so that an error takes no records, and so that a set of another
 * LWP, which may be unbinding it, is left alone.  Returns the set that was sampled; NULL and errno.
 */
static cpc_set_t *sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
	set = cpci_set_sample(cpc, set, buf);
	if (set == NULL || set->pcbuf != NULL)
		return set;
	errno = EINVAL;
	return NULL;
}

static int finish(const cpc_set_t *set, cpc_buf_t *buf, uint_t n)
{
	int rc = cpci_pcbuf_end(set->pcbuf);

	buf->npcs = n;
	buf->nlost = buf->nthrottled = 0;
	cpci_pcbuf_add_losses(set->pcbuf, &buf->nlost, &buf->nthrottled);
	return rc;
}

int cpc_set_sample_pcbuf(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf, uint64_t *pcbuf)
{
	struct cpci_overflow_record ovf = {0};
	uint_t n = 0;
	uint32_t end;

	set = sample(cpc, set, buf);
	if (set == NULL)
		return -1;
	end = cpci_pcbuf_begin(set->pcbuf);
	while (n < CPC_PCBUF_SIZE && cpci_pcbuf_take(set->pcbuf, end, &ovf))
		pcbuf[n++] = ovf.rec.pc;
	memset(&pcbuf[n], 0, (CPC_PCBUF_SIZE - n) * sizeof(*pcbuf));
	return finish(set, buf, n);
}

static void describe(const struct cpci_plan *plan, const struct cpci_overflow_record *ovf,
		     bool stacks, cpc_ovf_t *out)
{
	const struct perf_event_attr *attr = &cpci_plan_nth(plan, ovf->term)->attr;
	const struct cpci_record *rec = &ovf->rec;

	*out = (cpc_ovf_t){
		.co_index = (int)plan->ref[ovf->term].req,
		.co_lwp = (id_t)rec->tid,
		.co_hrtime = (hrtime_t)rec->time_ns,
	};
	/* A precise PC is not that of the interrupt. */
	if (!rec->exact) {
		out->co_pc = rec->pc;
		out->co_valid |= CPC_OVF_HAS_PC;
	}
	if (rec->exact || cpci_perf_is_fault(attr)) {
		out->co_trigger_pc = rec->pc;
		out->co_valid |= CPC_OVF_HAS_TRIGGER_PC;
	}
	if (rec->addr != 0 || cpci_perf_has_address(attr)) {
		out->co_vaddr = rec->addr;
		out->co_valid |= CPC_OVF_HAS_VADDR;
	}
	if (rec->phys != 0) {
		out->co_paddr = rec->phys;
		out->co_valid |= CPC_OVF_HAS_PADDR;
	}
	if (stacks) {
		out->co_nframes = ovf->nframes;
		out->co_nkernel = ovf->nkernel;
		out->co_frame = ovf->frame;
		out->co_valid |= CPC_OVF_HAS_STACK;
	}
}

int cpc_set_sample_ovf(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf, void *arg,
		       void (*action)(void *arg, const cpc_ovf_t *ovf))
{
	uint64_t frame[CPC_OVF_MAX_FRAMES];
	struct cpci_overflow_record ovf = {.frame = frame};
	bool stacks;
	cpc_ovf_t out;
	uint_t n = 0;
	uint32_t end;

	set = sample(cpc, set, buf);
	if (set == NULL)
		return -1;
	stacks = cpci_pcbuf_has_stacks(set->pcbuf);
	ovf.max_frames = stacks ? CPC_OVF_MAX_FRAMES : 0;
	end = cpci_pcbuf_begin(set->pcbuf);
	while (cpci_pcbuf_take(set->pcbuf, end, &ovf)) {
		describe(set->plan, &ovf, stacks, &out);
		action(arg, &out);
		n++;
	}
	return finish(set, buf, n);
}
