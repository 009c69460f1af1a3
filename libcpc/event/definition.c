/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* definition.c - sums and differences of events, which may be defined so, too. */
#include "event.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_DEPTH 8 /* nested definitions */

/* Adds one event of an expression to `event`, with its sign. */
static int add_part(const struct cpci_def *def, const char *part, bool minus, uint_t flags,
		    struct cpci_event *event, struct cpci_diag *diag)
{
	struct cpci_event sub = {.defs = event->defs, .depth = event->depth + 1, .scale = 1};
	const char *pmu = def->section != NULL ? cpci_pfm_core()->name : "perf";
	struct cpci_diag why;
	char prefixed[256];
	int known = 0, rc = 0;

	/*
	 * In a section for some machines, names are events of their core PMU; in shipped
	 * definitions for all machines, they are software events.
	 */
	if (def->section != NULL ? pmu != NULL && strchr(part, '/') == NULL
				 : def->source != CPCI_DEF_USER && def->source != CPCI_DEF_VENDOR) {
		snprintf(prefixed, sizeof(prefixed), "%s::%s", pmu, part);
		known = cpci_event_pfm(prefixed, flags, &sub, &why);
	}
	if (known != 1 && cpci_event_resolve(part, flags, &sub, &why) == -1) {
		*diag = why;
		if (event->depth > 0)
			return -1; /* the outermost definition adds its line */
		return cpci_diag(diag, why.err, why.subcode, "%s:%d: cannot resolve '%s': %s",
				 def->file, def->line, def->name, why.text);
	}
	if (event->nterms > 0 && (sub.scale != event->scale)) {
		cpci_event_free(&sub);
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
				 "%s:%d: '%s' adds up events in different units", def->file,
				 def->line, def->name);
	}
	if (event->nterms + sub.nterms > CPCI_MAX_TERMS) {
		cpci_event_free(&sub);
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
				 "%s:%d: '%s' is made of more than %d events", def->file, def->line,
				 def->name, CPCI_MAX_TERMS);
	}
	if (event->redefined == NULL) {
		event->redefined = sub.redefined;
		event->replaced = sub.replaced;
	}
	event->scale = sub.scale;
	strlcpy(event->unit, sub.unit, sizeof(event->unit));
	for (uint_t i = 0; rc == 0 && i < sub.nterms; i++) {
		sub.term[i].minus = sub.term[i].minus != minus;
		rc = cpci_event_add(event, &sub.term[i], diag);
	}
	cpci_event_free(&sub);
	return rc;
}

/* Evaluates an expression that check_expr() has accepted. */
static int evaluate(const struct cpci_def *def, uint_t flags, struct cpci_event *event,
		    struct cpci_diag *diag)
{
	bool minus = false;
	char part[CPCI_MAX_PART];
	size_t n;

	if (def->error != NULL)
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "%s:%d: '%s' is not an event: %s",
				 def->file, def->line, def->name, def->error);
	if (def->ratio) {
		event->ratio = def;
		return cpci_diag(diag, EINVAL, CPC_IS_RATIO, "%s:%d: '%s' is a ratio, not an event",
				 def->file, def->line, def->name);
	}
	if (event->depth >= MAX_DEPTH)
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
				 "%s:%d: the definition of '%s' refers to itself", def->file,
				 def->line, def->name);
	for (const char *p = def->expr; *p != '\0'; p += n + strspn(p + n, " \t")) {
		n = strcspn(p, " \t");
		if (n == 1 && (*p == '+' || *p == '-')) {
			minus = *p == '-';
			continue;
		}
		snprintf(part, sizeof(part), "%.*s", (int)n, p);
		if (add_part(def, part, minus, flags, event, diag) == -1) {
			/* A definition that contains a ratio is a ratio. */
			event->ratio = def;
			return -1;
		}
	}
	return 1;
}

/* The kind of event that a user's definition replaces; NULL: none. */
static const char *find_replaced(const char *name, uint_t flags, const struct cpci_defs *defs)
{
	struct cpci_event other = {.defs = defs, .scale = 1};
	const char *what = NULL;
	struct cpci_diag why;

	for (size_t i = 0; i < defs->n; i++) {
		const struct cpci_def *def = &defs->def[i];

		if (def->source != CPCI_DEF_USER && !def->ratio &&
		    strcasecmp(def->name, name) == 0 && cpci_def_is_here(def))
			return def->source == CPCI_DEF_SOLARIS ? "Solaris event" : "generic event";
	}
	if (cpci_event_software(name, flags, &other, &why) != 0)
		what = "event of the kernel";
	else if (cpci_event_pfm(name, flags, &other, &why) != 0)
		what = "event of libpfm4";
	cpci_event_free(&other);
	return what;
}

/* The first event listed in a definition that this machine can count; "": none. */
static void find_nearest(const struct cpci_def *def, uint_t flags, const struct cpci_event *event,
			 char *name, size_t size)
{
	size_t n;

	for (const char *p = def->expr; *p != '\0'; p += n + strspn(p + n, " \t")) {
		struct cpci_event near = {.defs = event->defs, .depth = event->depth + 1};
		struct cpci_diag why;

		n = strcspn(p, " \t");
		snprintf(name, size, "%.*s", (int)n, p);
		if (strcmp(name, "none") != 0 &&
		    cpci_event_resolve(name, flags, &near, &why) == 0) {
			cpci_event_free(&near);
			return;
		}
	}
	*name = '\0';
}

static int refuse_past(const struct cpci_def *def, uint_t flags, const struct cpci_event *event,
		       struct cpci_diag *diag)
{
	char nearest[CPCI_MAX_PART];

	find_nearest(def, flags, event, nearest, sizeof(nearest));
	return cpci_diag(
		diag, EINVAL, CPC_RESOURCE_UNAVAIL,
		"cannot count '%s': it is an event of the UltraSPARC (%s), and there is nothing "
		"like it on this machine%s%s%s",
		def->name, def->desc, *nearest != '\0' ? "; the nearest is '" : "", nearest,
		*nearest != '\0' ? "'" : "");
}

int cpci_event_defined(const char *name, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag)
{
	static const char *const kinds[] = {[CPCI_DEF_USER] = "user definition",
					    [CPCI_DEF_SOLARIS] = "Solaris name",
					    [CPCI_DEF_GENERIC] = "generic name"};
	const struct cpci_defs *defs = event->defs;
	const struct cpci_def *elsewhere = NULL;
	const char *pmu;

	for (size_t i = 0; defs != NULL && i < defs->n; i++) {
		struct cpci_def *def = &defs->def[i];

		if (strcasecmp(def->name, name) != 0)
			continue;
		if (elsewhere != NULL && elsewhere->source != def->source)
			break; /* definitions replace those of later sources on all machines */
		if (cpci_def_is_here(def)) {
			event->resolver = kinds[def->source];
			if (def->source == CPCI_DEF_USER && !def->warned) {
				event->replaced = find_replaced(name, flags, defs);
				event->redefined = event->replaced != NULL ? def : NULL;
			}
			return evaluate(def, flags, event, diag);
		}
		if (def->past)
			return refuse_past(def, flags, event, diag);
		elsewhere = def;
	}
	if (elsewhere == NULL)
		return 0;
	pmu = cpci_pfm_core()->name;
	return cpci_diag(
		diag, EINVAL, CPC_RESOURCE_UNAVAIL,
		"cannot count '%s': no event that is known for the CPU of this machine (%s) "
		"counts the same",
		name, pmu != NULL ? pmu : "not known to libpfm4");
}

int cpci_event_vendor(const char *name, uint_t flags, struct cpci_event *event,
		      struct cpci_diag *diag)
{
	const struct cpci_defs *vendor;
	const struct cpci_def *def;

	if (isdigit((unsigned char)*name)) /* a raw code */
		return 0;
	vendor = cpci_vendor_defs(diag);
	if (vendor == NULL)
		return -1;
	def = cpci_vendor_find(vendor, name);
	return def != NULL ? evaluate(def, flags, event, diag) : 0;
}
