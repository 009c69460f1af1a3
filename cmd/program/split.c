/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * split.c - splits a spec that needs too many counters into sets that take turns.
 *
 * Which events fit together depends on the machine, the events and other programs.  So trials bind
 * them.  Counts are not extrapolated: each is the count of its turns.  The events of a ratio count
 * in the same turns.
 */
#include "split.h"

#include "../base/say.h"
#include "../base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_PART SIZE_MAX /* the request has no part yet */

static struct spec_req copy_req(const struct spec_req *req)
{
	struct spec_req copy = *req;

	copy.event = xstrdup(req->event);
	copy.attr = xcalloc(req->nattrs + 1, sizeof(*copy.attr));
	for (size_t i = 0; i < req->nattrs; i++)
		copy.attr[i] = (struct spec_attr){xstrdup(req->attr[i].name), req->attr[i].val};
	return copy;
}

/* Copies a ratio to a part; request `i` is request `index[i]` of the part. */
static struct spec_ratio copy_ratio(const struct spec_ratio *ratio, const size_t *index)
{
	struct spec_ratio copy = {.name = xstrdup(ratio->name), .nevents = ratio->nevents};

	copy.req = xcalloc(ratio->nevents, sizeof(*copy.req));
	for (size_t i = 0; i < ratio->nevents; i++)
		copy.req[i] = index[ratio->req[i]];
	return copy;
}

/* Copies the requests of part `k`, with their slots, and their ratios. */
static struct spec copy_part(const struct spec *spec, const size_t *part, size_t k)
{
	struct spec copy = {.req = xcalloc(spec->nreqs, sizeof(*copy.req)),
			    .ratio = xcalloc(spec->nratios + 1, sizeof(*copy.ratio))};
	size_t *index = xcalloc(spec->nreqs, sizeof(*index));

	for (size_t i = 0; i < spec->nreqs; i++) {
		if (part[i] != k)
			continue;
		index[i] = copy.nreqs;
		copy.req[copy.nreqs++] = copy_req(&spec->req[i]);
	}
	for (size_t i = 0; i < spec->nratios; i++) {
		if (part[spec->ratio[i].req[0]] == k)
			copy.ratio[copy.nratios++] = copy_ratio(&spec->ratio[i], index);
	}
	free(index);
	return copy;
}

static bool same_attrs(const struct spec_req *a, const struct spec_req *b)
{
	bool same = a->nouser == b->nouser && a->sys == b->sys && a->nattrs == b->nattrs;

	for (size_t i = 0; same && i < a->nattrs; i++)
		same = strcmp(a->attr[i].name, b->attr[i].name) == 0 &&
		       a->attr[i].val == b->attr[i].val;
	return same;
}

/* Writes the attributes of a request, for `slot` or, if that is "", for all slots. */
static void write_attrs(FILE *f, const struct spec_req *req, const char *slot)
{
	if (req->nouser)
		fprintf(f, ",nouser%s", slot);
	if (req->sys)
		fprintf(f, ",sys%s", slot);
	for (size_t i = 0; i < req->nattrs; i++)
		fprintf(f, ",%s%s=%#llx", req->attr[i].name, slot,
			(unsigned long long)req->attr[i].val);
}

/* Writes a part as an argument of -c. */
static char *write_spec(const struct spec *spec)
{
	int *slot = xcalloc(spec->nreqs, sizeof(*slot));
	bool same = true;
	size_t size;
	char *text, word[16];
	FILE *f = xmade(open_memstream(&text, &size));

	for (size_t i = 0; i < spec->nreqs; i++) {
		const struct spec_req *req = &spec->req[i];

		same = same && same_attrs(req, &spec->req[0]);
		slot[i] = req->placed ? (int)req->slot : -1;
		fputs(i > 0 ? "," : "", f);
		if (req->placed)
			fprintf(f, "pic%u=", req->slot);
		fputs(req->event, f);
	}
	/* The events of the ratios are in the spec: the ratios add none. */
	for (size_t i = 0; i < spec->nratios; i++)
		fprintf(f, ",%s", spec->ratio[i].name);
	cpc_choose_slots(spec->nreqs, slot);
	if (same)
		write_attrs(f, &spec->req[0], "");
	for (size_t i = 0; !same && i < spec->nreqs; i++) {
		snprintf(word, sizeof(word), "%d", slot[i]);
		write_attrs(f, &spec->req[i], word);
	}
	xmade(fclose(f) == 0 ? text : NULL);
	free(slot);
	return text;
}

static bool part_counts(cpc_t *cpc, const struct spec *spec, const size_t *part, size_t k,
			const struct split_trial *trial)
{
	struct spec one = copy_part(spec, part, k);
	size_t bad;
	cpc_set_t *set = setgrp_make(cpc, &one, &bad);
	bool good = set != NULL && trial->counts(trial->arg, cpc, set, one.nreqs == 1);

	if (set != NULL)
		cpc_set_destroy(cpc, set);
	spec_free(&one);
	return good;
}

/* Puts request `i` into part `k`, with the other events of its ratios. */
static void put_request(const struct spec *spec, size_t *part, size_t i, size_t k)
{
	part[i] = k;
	for (size_t r = 0; r < spec->nratios; r++) {
		const struct spec_ratio *ratio = &spec->ratio[r];
		bool has = false;

		for (size_t e = 0; !has && e < ratio->nevents; e++)
			has = ratio->req[e] == i;
		for (size_t e = 0; has && e < ratio->nevents; e++) {
			if (part[ratio->req[e]] != k)
				put_request(spec, part, ratio->req[e], k);
		}
	}
}

/* Puts request `i` into the first of `*n` parts that has room, or into a new part, if it counts. */
static void place_request(cpc_t *cpc, const struct spec *spec, size_t *part, size_t i, size_t *n,
			  const struct split_trial *trial)
{
	bool alone;

	put_request(spec, part, i, *n);
	alone = part_counts(cpc, spec, part, *n, trial);
	for (size_t k = 0; k < *n; k++) {
		put_request(spec, part, i, k);
		if (part_counts(cpc, spec, part, k, trial))
			return;
	}
	put_request(spec, part, i, alone ? *n : NO_PART);
	*n += alone;
}

/*
 * Chooses the part of each request.  A request that counts only together with another, such as a
 * topdown metric, is retried after the others.  Returns the number of parts; 0: some request cannot
 * be counted.
 */
static size_t choose_parts(cpc_t *cpc, const struct spec *spec, size_t *part,
			   const struct split_trial *trial)
{
	size_t n = 0, left = spec->nreqs, before;

	for (size_t i = 0; i < spec->nreqs; i++)
		part[i] = NO_PART;
	do {
		before = left;
		left = 0;
		for (size_t i = 0; i < spec->nreqs; i++) {
			if (part[i] == NO_PART)
				place_request(cpc, spec, part, i, &n, trial);
		}
		for (size_t i = 0; i < spec->nreqs; i++)
			left += part[i] == NO_PART;
	} while (left > 0 && left < before);
	return left == 0 ? n : 0;
}

static int add_parts(struct setgrp *grp, cpc_t *cpc, const struct spec *spec, const size_t *part,
		     size_t n, bool debug)
{
	int status = STATUS_OK;

	for (size_t k = 0; status == STATUS_OK && k < n; k++) {
		struct spec one = copy_part(spec, part, k);

		status = setgrp_add_spec(grp, cpc, write_spec(&one), &one, debug);
	}
	grp->split = true;
	return status;
}

int split_add(struct setgrp *grp, cpc_t *cpc, const char *text, bool debug,
	      const struct split_trial *trial)
{
	struct spec spec;
	size_t *part, n = 0;
	int status = setgrp_parse(grp, cpc, text, &spec);

	if (status != STATUS_OK)
		return status;
	part = xcalloc(spec.nreqs, sizeof(*part));
	/* Slots are the columns of one table, which has room for so many. */
	if (trial != NULL && spec.nreqs <= SPEC_MAX_SLOT + 1)
		n = choose_parts(cpc, &spec, part, trial);
	if (n < 2) {
		status = setgrp_add_spec(grp, cpc, xstrdup(text), &spec, debug);
	} else {
		say("cannot count the events of '%s' together: %zu specs take turns", text, n);
		status = add_parts(grp, cpc, &spec, part, n, debug);
		spec_free(&spec);
	}
	free(part);
	return status;
}

int split_refuse(cpc_t *cpc, const struct setgrp_set *set, const struct split_trial *trial)
{
	size_t *part = xcalloc(set->spec.nreqs, sizeof(*part));
	char *why = xstrdup(cpcerr_text());
	/* A missing symbol of a file is not an error of usage. */
	bool usage = cpcerr_is_usage() && !set->symbols && !set->file_symbols;
	bool helps = choose_parts(cpc, &set->spec, part, trial) > 1;

	say("%s%s", why, helps ? "; use --split to count them in turns" : "");
	free(why);
	free(part);
	return usage ? STATUS_USAGE : STATUS_FAILED;
}

void split_report_shares(const struct setgrp *grp)
{
	double all = 0;

	for (size_t i = 0; i < grp->n; i++)
		all += (double)grp->set[i].cycles;
	for (size_t i = 0; all > 0 && i < grp->n; i++) {
		const struct setgrp_set *set = &grp->set[i];
		const char *never = !set->had_turn ? " (its turn never came)" : "";

		if (grp->split)
			say("counted %.1f%% of the time: '%s'%s", 100 * (double)set->cycles / all,
			    set->text, never);
		else if (!set->had_turn)
			say("not counted: '%s'%s: each -c counts for one interval", set->text,
			    never);
	}
}
