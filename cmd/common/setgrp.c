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

static bool is_attr(void *arg, const char *name)
{
	return cpc_is_attr(arg, name) != 0;
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

/*
 * Tells why: in the library's words, unless an attribute that only specs have was meant for
 * an event, or with `functions` a function of a program.  Returns the exit status.
 */
static int refuse(cpc_t *cpc, const char *event, bool functions)
{
	struct nearest nearest = {.word = event};
	static const char *const modes[] = {"nouser", "sys"};
	const char *meant = cpc_nearest(event, modes, sizeof(modes) / sizeof(*modes));
	const char *function = functions ? function_of(event) : NULL;
	char *why = xstrdup(cpcerr_text());
	bool unknown = strncmp(why, "unknown event", strlen("unknown event")) == 0 &&
		       strcmp(event, modes[0]) != 0 && strcmp(event, modes[1]) != 0;
	int status = cpcerr_is_usage() ? STATUS_USAGE : STATUS_FAILED;

	if (unknown && strchr(event, ':') != NULL && strstr(why, "did you mean") == NULL)
		cpc_walk_events_desc(cpc, &nearest, try_probe);
	if (nearest.probe[0] != '\0') {
		say("%s (did you mean 'sdt/%s/'?)", why, nearest.probe);
	} else if (cpcerr_subcode() == CPC_INVALID_EVENT && meant != NULL) {
		say("unknown event '%s' (did you mean '%s'?)", event, meant);
	} else if (function != NULL && function != event) {
		say("unknown event '%s' (did you mean 'uprobe/func=%s/'?)", event, function);
		status = STATUS_USAGE;
	} else if (function != NULL && unknown && strstr(why, "did you mean") == NULL) {
		say("%s; calls of a function: uprobe/func=%s/", why, function);
	} else {
		say("%s", why);
	}
	free(why);
	return status;
}

int setgrp_parse(cpc_t *cpc, const char *text, struct spec *spec)
{
	const struct spec_names names = {.is_attr = is_attr, .arg = cpc};
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

int setgrp_add_spec(struct setgrp *grp, cpc_t *cpc, char *text, struct spec *spec, bool debug)
{
	struct setgrp_set set = {.text = text, .spec = *spec, .system_only = true};
	size_t bad;

	set.set = setgrp_make(cpc, spec, &bad);
	if (set.set == NULL) {
		int status = refuse(cpc, spec->req[bad].event, grp->functions);

		spec_free(spec);
		free(text);
		return status;
	}
	for (size_t i = 0; i < spec->nreqs; i++) {
		set.system_only = set.system_only && spec->req[i].nouser && spec->req[i].sys;
		add_column(grp, spec->req[i].slot);
	}
	/* Later requests may take the slots of earlier ones. */
	for (size_t i = 0; debug && i < spec->nreqs; i++)
		describe(cpc, set.set, (int)i);
	cpc_walk_symbols(cpc, set.set, &set.symbols, has_symbol);
	grp->set = reallocarray(grp->set, grp->n + 1, sizeof(*grp->set));
	if (grp->set == NULL)
		die("%s", strerror(errno));
	grp->set[grp->n++] = set;
	*spec = (struct spec){0};
	return STATUS_OK;
}

int setgrp_add(struct setgrp *grp, cpc_t *cpc, const char *text, bool debug)
{
	struct spec spec;
	int status = setgrp_parse(cpc, text, &spec);

	return status == STATUS_OK ? setgrp_add_spec(grp, cpc, xstrdup(text), &spec, debug)
				   : status;
}

void setgrp_free(struct setgrp *grp)
{
	for (size_t i = 0; i < grp->n; i++) {
		spec_free(&grp->set[i].spec);
		free(grp->set[i].text);
	}
	free(grp->set);
	*grp = (struct setgrp){0};
}
