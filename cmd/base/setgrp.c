/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * setgrp.c - the sets of a run, one per -c, which take turns.
 */
#include "setgrp.h"

#include "say.h"
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Inserts a column in order of its slot. */
static void add_column(struct setgrp *grp, unsigned slot)
{
	unsigned i = grp->ncols;

	for (unsigned j = 0; j < grp->ncols; j++) {
		if (grp->col[j] == slot)
			return;
	}
	for (; i > 0 && grp->col[i - 1] > slot; i--)
		grp->col[i] = grp->col[i - 1];
	grp->col[i] = slot;
	grp->ncols++;
}

static int add_request(cpc_t *cpc, cpc_set_t *set, const struct spec_req *req)
{
	cpc_attr_t *attrs = xcalloc(req->nattrs + 1, sizeof(*attrs));
	uint_t n = 0, flags = 0;
	char picnum[] = "picnum";
	int rc;

	for (size_t i = 0; i < req->nattrs; i++)
		attrs[n++] = (cpc_attr_t){req->attr[i].name, req->attr[i].val};
	if (req->placed)
		attrs[n++] = (cpc_attr_t){picnum, req->slot};
	if (!req->nouser)
		flags |= CPC_COUNT_USER;
	if (req->sys)
		flags |= CPC_COUNT_SYSTEM;
	rc = cpc_set_add_request(cpc, set, req->event, 0, flags, n, attrs);
	free(attrs);
	return rc;
}

static void describe(cpc_t *cpc, const cpc_set_t *set, int index)
{
	char text[1024];

	if (cpc_set_describe(cpc, set, index, text, sizeof(text)) == 0)
		say("%s", text);
}

/* Who is asked what words of a spec mean. */
struct names {
	cpc_t *cpc;
	const struct setgrp *grp;
};

static bool is_attr(void *arg, const char *name)
{
	return cpc_is_attr(((const struct names *)arg)->cpc, name) != 0;
}

static const char *ratio_event(void *arg, const char *name, size_t index)
{
	const cpc_ratio_t *ratio = setgrp_ratio(((const struct names *)arg)->grp, name);

	return ratio != NULL ? cpc_ratio_event(ratio, (uint_t)index) : NULL;
}

bool names_file(const char *symbol)
{
	return *symbol == '/';
}

static void has_symbol(void *arg, int index, const char *symbol, uint64_t address)
{
	(void)index, (void)address;
	*(bool *)arg |= !names_file(symbol);
}

/* The function that an event seems to be named after; NULL: it does not. */
static const char *function_of(const char *event)
{
	static const char *const prefixes[] = {"breakpoint:", "uprobe:", "probe:", "func:"};
	const char *name = event;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (strncmp(event, prefixes[i], strlen(prefixes[i])) == 0)
			name = event + strlen(prefixes[i]);
	}
	for (const char *c = name; *c != '\0'; c++) {
		if (!isalpha((unsigned char)*c) && *c != '_' &&
		    (c == name || !isdigit((unsigned char)*c)))
			return NULL;
	}
	return *name != '\0' ? name : NULL;
}

struct nearest {
	const char *word;
	char probe[256]; /* "provider:name"; "": none is near */
};

static void try_probe(void *arg, enum cpc_event_group group, const char *event, const char *desc)
{
	struct nearest *nearest = arg;
	char probe[sizeof(nearest->probe)];
	const char *const both[] = {nearest->probe, probe};
	size_t n = strlen(event);

	(void)desc;
	if (group != CPC_GROUP_FUNCTION || strncmp(event, "sdt/", 4) != 0 || n > sizeof(probe) ||
	    strcmp(nearest->probe, nearest->word) == 0)
		return;
	snprintf(probe, sizeof(probe), "%.*s", (int)(n - 5), event + 4);
	if (strcmp(probe, nearest->word) == 0 || cpc_nearest(nearest->word, both, 2) == probe)
		strcpy(nearest->probe, probe);
}

/* The ratio that an event is counted for, as what a message ends with; "": none. */
static void tell_ratio(const struct spec *spec, size_t req, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; i < spec->nratios; i++) {
		for (size_t j = 0; j < spec->ratio[i].nevents; j++) {
			if (spec->ratio[i].req[j] == req)
				snprintf(text, size, "; it is part of the ratio '%s'",
					 spec->ratio[i].name);
		}
	}
}

/*
 * Tells why request `i` is refused: in the library's words, unless an attribute that only
 * specs have was meant for an event, or with `functions` a function of a program.  Returns
 * the exit status.
 */
static int refuse(cpc_t *cpc, const struct spec *spec, size_t i, bool functions)
{
	static const char *const modes[] = {"nouser", "sys"};
	const char *event = spec->req[i].event;
	struct nearest nearest = {.word = event};
	const char *meant = cpc_nearest(event, modes, sizeof(modes) / sizeof(*modes));
	const char *function = functions ? function_of(event) : NULL;
	char *why = xstrdup(cpcerr_text());
	bool unknown = cpcerr_subcode() == CPC_UNKNOWN_EVENT && strcmp(event, modes[0]) != 0 &&
		       strcmp(event, modes[1]) != 0;
	int status = cpcerr_is_usage() ? STATUS_USAGE : STATUS_FAILED;
	char ratio[128];

	if (unknown && strchr(event, ':') != NULL)
		cpc_walk_events_desc(cpc, &nearest, try_probe);
	tell_ratio(spec, i, ratio, sizeof(ratio));
	if (*ratio != '\0') {
		say("%s%s", why, ratio);
	} else if (nearest.probe[0] != '\0') {
		say("%s (did you mean 'sdt/%s/'?)", why, nearest.probe);
	} else if (meant != NULL && (unknown || cpcerr_subcode() == CPC_INVALID_EVENT)) {
		say("unknown event '%s' (did you mean '%s'?)", event, meant);
	} else if (function != NULL && function != event) {
		say("unknown event '%s' (did you mean 'uprobe/func=%s/'?)", event, function);
		status = STATUS_USAGE;
	} else if (function != NULL && unknown) {
		say("%s; calls of a function: uprobe/func=%s/", why, function);
	} else {
		say("%s", why);
	}
	free(why);
	return status;
}

/* The requests of a spec.  Returns the exit status. */
static int parse(const struct setgrp *grp, cpc_t *cpc, const char *text, struct spec *spec)
{
	struct names asked = {.cpc = cpc, .grp = grp};
	const struct spec_names names = {
		.is_attr = is_attr, .ratio_event = ratio_event, .arg = &asked};
	char why[256];

	if (spec_parse(text, &names, spec, why, sizeof(why)) == 0)
		return STATUS_OK;
	say("bad event spec '%s': %s", text, why);
	return STATUS_USAGE;
}

cpc_set_t *setgrp_make(cpc_t *cpc, const struct spec *spec, size_t *bad)
{
	cpc_set_t *set = cpc_set_create(cpc);

	if (set == NULL)
		die("%s", strerror(errno));
	for (*bad = 0; *bad < spec->nreqs; ++*bad) {
		if (add_request(cpc, set, &spec->req[*bad]) == -1) {
			cpc_set_destroy(cpc, set);
			return NULL;
		}
	}
	return set;
}

/* The word `name` of a spec is that of a ratio.  Returns the exit status. */
static int learn_ratio(struct setgrp *grp, cpc_t *cpc, const char *name)
{
	cpc_ratio_t *ratio = cpc_ratio_find(cpc, name);

	if (ratio == NULL) {
		say("%s", cpcerr_text());
		return cpcerr_is_usage() ? STATUS_USAGE : STATUS_FAILED;
	}
	grp->ratio = xrealloc(grp->ratio, (grp->nratios + 1) * sizeof(*grp->ratio));
	grp->ratio[grp->nratios++] = (struct setgrp_ratio){xstrdup(name), ratio};
	return STATUS_OK;
}

/* The first request of a spec whose name is that of a ratio that is not known yet; or NULL. */
static const char *find_ratio(cpc_t *cpc, const struct spec *spec)
{
	for (size_t i = 0; i < spec->nreqs; i++) {
		const struct spec one = {.nreqs = 1, .req = &spec->req[i]};
		size_t bad;
		cpc_set_t *set = setgrp_make(cpc, &one, &bad);

		if (set == NULL && cpcerr_subcode() == CPC_IS_RATIO)
			return spec->req[i].event;
		if (set != NULL)
			cpc_set_destroy(cpc, set);
	}
	return NULL;
}

int setgrp_parse_ratios(struct setgrp *grp, cpc_t *cpc, const char *text, struct spec *spec)
{
	int status = parse(grp, cpc, text, spec);
	const char *ratio;

	while (status == STATUS_OK && (ratio = find_ratio(cpc, spec)) != NULL) {
		status = learn_ratio(grp, cpc, ratio);
		spec_free(spec);
		if (status == STATUS_OK)
			status = parse(grp, cpc, text, spec);
	}
	return status;
}

/*
 * Makes the set, of `text` once more when one of its words turns out to be a ratio.  Returns the
 * exit status; the spec is freed if it is not 0.
 */
static int make_set(struct setgrp *grp, cpc_t *cpc, struct setgrp_set *set)
{
	int status = STATUS_OK;
	size_t bad;

	while (status == STATUS_OK && (set->set = setgrp_make(cpc, &set->spec, &bad)) == NULL) {
		if (cpcerr_subcode() == CPC_IS_RATIO)
			status = learn_ratio(grp, cpc, set->spec.req[bad].event);
		else
			status = refuse(cpc, &set->spec, bad, grp->functions);
		spec_free(&set->spec);
		if (status == STATUS_OK)
			status = parse(grp, cpc, set->text, &set->spec);
	}
	return status;
}

static void describe_all(cpc_t *cpc, const struct setgrp *grp, const struct setgrp_set *set)
{
	for (size_t i = 0; i < set->spec.nreqs; i++)
		describe(cpc, set->set, (int)i);
	for (size_t i = 0; i < set->spec.nratios; i++) {
		const char *name = set->spec.ratio[i].name;

		say("%s: ratio: %s", name, cpc_ratio_text(setgrp_ratio(grp, name)));
	}
}

int setgrp_add_spec(struct setgrp *grp, cpc_t *cpc, char *text, struct spec *spec, bool debug)
{
	struct setgrp_set set = {.text = text, .spec = *spec, .system_only = true};
	int status = make_set(grp, cpc, &set);

	*spec = (struct spec){0}; /* it is the set's, or gone */
	if (status != STATUS_OK) {
		free(text);
		return status;
	}
	for (size_t i = 0; i < set.spec.nreqs; i++) {
		const struct spec_req *req = &set.spec.req[i];

		set.system_only = set.system_only && req->nouser && req->sys;
		add_column(grp, req->slot);
	}
	/* Later requests may take the slots of earlier ones. */
	if (debug)
		describe_all(cpc, grp, &set);
	cpc_walk_symbols(cpc, set.set, &set.symbols, has_symbol);
	grp->set = reallocarray(grp->set, grp->n + 1, sizeof(*grp->set));
	if (grp->set == NULL)
		die("%s", strerror(errno));
	grp->set[grp->n++] = set;
	*spec = (struct spec){0};
	return STATUS_OK;
}

const cpc_ratio_t *setgrp_ratio(const struct setgrp *grp, const char *name)
{
	for (size_t i = 0; i < grp->nratios; i++) {
		if (strcmp(grp->ratio[i].name, name) == 0)
			return grp->ratio[i].ratio;
	}
	return NULL;
}

int setgrp_add(struct setgrp *grp, cpc_t *cpc, const char *text, bool debug)
{
	struct spec spec;
	int status = parse(grp, cpc, text, &spec);

	return status == STATUS_OK ? setgrp_add_spec(grp, cpc, xstrdup(text), &spec, debug)
				   : status;
}

void setgrp_free(struct setgrp *grp)
{
	for (size_t i = 0; i < grp->n; i++) {
		spec_free(&grp->set[i].spec);
		free(grp->set[i].text);
	}
	for (size_t i = 0; i < grp->nratios; i++) {
		free(grp->ratio[i].name);
		cpc_ratio_free(grp->ratio[i].ratio);
	}
	free(grp->ratio);
	free(grp->set);
	*grp = (struct setgrp){0};
}
