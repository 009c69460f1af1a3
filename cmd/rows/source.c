/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * source.c - describes runs of the sets of libcpc.
 */
#include "source.h"

#include "../base/util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CYCLES "tsc"
#else
#define CYCLES "tick"
#endif

_Static_assert(SPEC_MAX_SLOT < RUN_MAX_EVENTS, "a set has at most one request per slot");

static const char *mode_word(const struct spec_req *req)
{
	return !req->sys ? "" : req->nouser ? ":k" : ":uk";
}

/* A set can contain an event twice, with other modes or attributes: labels are unique. */
static char *make_label(const struct run_set *set, const struct spec_req *req)
{
	const char *mode = mode_word(req);
	char *label = xasprintf("%s%s", req->event, mode);

	if (run_find_event(set, label) != -1) {
		free(label);
		label = xasprintf("%s%s@pic%u", req->event, mode, req->slot);
	}
	return label;
}

/* The mode of a ratio: that of its events, or "" if these differ. */
static const char *mode_of(const struct spec *spec, const struct spec_ratio *ratio)
{
	const char *mode = mode_word(&spec->req[ratio->req[0]]);

	for (size_t i = 1; i < ratio->nevents; i++) {
		if (strcmp(mode, mode_word(&spec->req[ratio->req[i]])) != 0)
			return "";
	}
	return mode;
}

static void add_ratio(struct run_set *set, const struct setgrp *grp, const struct setgrp_set *from,
		      const struct spec_ratio *wanted)
{
	const cpc_ratio_t *ratio = setgrp_ratio(grp, wanted->name);
	struct run_ratio *to = &set->ratio[set->nratios++];

	to->ratio = xmade(cpc_ratio_parse(cpc_ratio_text(ratio)));
	to->label = xasprintf("%s%s", wanted->name, mode_of(&from->spec, wanted));
	to->event = xcalloc(wanted->nevents, sizeof(*to->event));
	for (size_t i = 0; i < wanted->nevents; i++)
		to->event[i] = (unsigned)wanted->req[i];
}

static struct run_set make_set(cpc_t *cpc, const struct setgrp *grp, const struct setgrp_set *from)
{
	struct run_set set = {.spec = xstrdup(from->text)};

	set.event = xcalloc(from->spec.nreqs, sizeof(*set.event));
	for (size_t i = 0; i < from->spec.nreqs; i++) {
		const struct spec_req *req = &from->spec.req[i];
		struct run_event event = {.slot = req->slot, .scale = 1};
		const char *unit = "";

		cpc_set_request_scale(cpc, from->set, (int)i, &event.scale, &unit);
		event.is_signed = cpc_set_request_signed(cpc, from->set, (int)i) == 1;
		event.unit = xstrdup(unit);
		event.name = xstrdup(req->event);
		event.label = make_label(&set, req);
		set.event[set.nevents++] = event;
	}
	set.ratio = xcalloc(from->spec.nratios + 1, sizeof(*set.ratio));
	for (size_t i = 0; i < from->spec.nratios; i++)
		add_ratio(&set, grp, from, &from->spec.ratio[i]);
	return set;
}

struct run source_run(cpc_t *cpc, const struct setgrp *grp, const char *tool, char **argv)
{
	struct run run = {.tool = xstrdup(tool),
			  .argv = run_copy_argv(argv),
			  .nsets = grp->n,
			  .cycles = xstrdup(CYCLES)};
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	run.host = xstrdup(host);
	run.set = xcalloc(grp->n, sizeof(*run.set));
	for (size_t i = 0; i < grp->n; i++)
		run.set[i] = make_set(cpc, grp, &grp->set[i]);
	return run;
}
