/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* event.c - finds the counters of the kernel for the name of an event. */
#include "event.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The first resolver that knows the name wins. */
static const struct {
	const char *name;
	cpci_resolver *resolve;
} resolvers[] = {
	{"definition", cpci_event_defined},
	{"kernel", cpci_event_software},
	{"libpfm4", cpci_event_pfm},
	{"breakpoint", cpci_event_breakpoint},
	{"function", cpci_event_uprobe},
	{"probe", cpci_event_sdt},
	{"tracepoint", cpci_event_tracepoint},
	{"sysfs", cpci_event_sysfs},
	{"event file", cpci_event_vendor},
	/* the last one: it accepts everything that begins with a digit */
	{"raw code", cpci_event_raw},
};

static void try_name(void *arg, const char *name, const char *desc)
{
	(void)desc;
	cpci_suggest_try(arg, name);
}

/* Suggests an event of this CPU that has the name of another CPU's event. */
static void try_here(void *arg, const char *name, const char *desc)
{
	struct cpci_suggest *suggest = arg;

	if (strcasecmp(name, suggest->name) == 0) {
		suggest->distance = 0;
		strlcpy(suggest->best, name, sizeof(suggest->best));
	}
	try_name(arg, name, desc);
}

/* Visits all hardware events of this machine. */
static void walk_hardware(struct cpci_suggest *suggest, cpci_walk_fn *action)
{
	cpci_vendor_walk(suggest, action);
	cpci_pfm_walk(suggest, action);
	cpci_pfm_walk_core(suggest, action);
}

/* Refuses an event that libpfm4 has for other CPUs only, and suggests one of this CPU. */
static void refuse_other_cpu(const char *name, const char *cpu, struct cpci_diag *diag)
{
	const char *colons = strstr(name, "::");
	struct cpci_suggest suggest;

	if (colons == NULL && cpci_perf_have_core_pmu() && cpci_pfm_core()->name == NULL) {
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': libpfm4 does not know this CPU; use the names of the "
			  "kernel, such as instructions, or of the vendor's event files "
			  "(cpc-events(1))",
			  name);
		return;
	}
	cpci_suggest_start(&suggest, colons != NULL ? colons + 2 : name);
	if (cpci_perf_have_core_pmu())
		walk_hardware(&suggest, try_here);
	cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
		  "cannot count '%s': it is an event of another CPU (%s)%s%s%s", name, cpu,
		  cpci_perf_have_core_pmu()
			  ? ""
			  : ", and the kernel has no hardware counters on this machine",
		  suggest.best[0] != '\0' ? "; the nearest name here is " : "", suggest.best);
}

/* Suggests an event of the PMU that the name has as its prefix. */
static void try_prefixed(struct cpci_suggest *suggest, const char *name)
{
	const char *colons = strstr(name, "::");

	if (colons == NULL)
		return;
	cpci_suggest_start(suggest, colons + 2);
	cpci_pfm_walk_prefix(name, (size_t)(colons - name), suggest, try_name);
}

static void refuse_unknown(const char *name, struct cpci_event *event, struct cpci_diag *diag)
{
	const struct cpci_defs *defs = event->defs;
	const char *cpu, *modifier = strrchr(name, ':'), *kind = "";
	struct cpci_suggest suggest;
	char meant[256];
	bool tracepoint = cpci_tracepoint_meant(name, meant, sizeof(meant));
	bool found = tracepoint || cpci_sysfs_meant(name, meant, sizeof(meant));

	if (modifier != NULL && cpci_event_precise(name, modifier + 1, strlen(modifier + 1), diag))
		return;
	if (cpci_pfm_elsewhere(name, &cpu)) {
		refuse_other_cpu(name, cpu, diag);
		return;
	}
	cpci_suggest_start(&suggest, name);
	for (size_t i = 0; !found && defs != NULL && i < defs->n; i++)
		cpci_suggest_try(&suggest, defs->def[i].name);
	if (!found) {
		cpci_software_walk(&suggest, try_name);
		walk_hardware(&suggest, try_name);
		cpci_attr_try(&suggest); /* an attribute without a value is taken for an event */
		snprintf(meant, sizeof(meant), "%s", suggest.best);
	}
	if (meant[0] == '\0') {
		try_prefixed(&suggest, name);
		if (suggest.best[0] != '\0')
			snprintf(meant, sizeof(meant), "%.*s%s", (int)(suggest.name - name), name,
				 suggest.best);
	}
	if (tracepoint || (meant[0] == '\0' && cpci_tracepoint_near(name, meant, sizeof(meant))))
		kind = "the tracepoint ";
	event->unknown = meant[0] == '\0';
	if (event->unknown)
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "unknown event '%s'", name);
	else
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "unknown event '%s' (did you mean %s'%s'?)", name, kind, meant);
}

/* Does the term count on all kinds of cores? */
static bool is_on_all_kinds(const struct cpci_term *term)
{
	return !term->one_pmu &&
	       (term->attr.type == PERF_TYPE_HARDWARE || term->attr.type == PERF_TYPE_HW_CACHE ||
		term->attr.type == PERF_TYPE_RAW);
}

/* The term on one kind of cores. */
static struct cpci_term on_kind(const struct cpci_term *term, const struct cpci_core *kind)
{
	struct cpci_term copy = *term;

	if (term->attr.type == PERF_TYPE_RAW)
		copy.attr.type = kind->type;
	else
		cpci_generic_for(&copy.attr, kind);
	return copy;
}

/* Is this kind of cores known to lack a term of the event?  Then it has no part of the sum. */
static bool kind_lacks(const struct cpci_event *event, const struct cpci_core *kind)
{
	for (uint_t i = 0; i < event->nterms; i++) {
		int err = 0;

		if (is_on_all_kinds(&event->term[i])) {
			const struct cpci_term term = on_kind(&event->term[i], kind);

			err = cpci_perf_probe(&term.attr);
		}
		if (err == ENOENT || err == EOPNOTSUPP)
			return true;
	}
	return false;
}

/*
 * If there are several kinds of cores, makes an event of the core PMU the sum over all kinds
 * that have it: each PMU counts on one kind only.  -1: see `diag`.
 */
static int sum_over_cores(struct cpci_event *event, struct cpci_diag *diag)
{
	const struct cpci_cores *all = cpci_cores();
	struct cpci_event one = *event;
	int rc = 0;

	if (all->n < 2)
		return 0;
	for (size_t k = 0; k < all->n; k++)
		event->lacking |= kind_lacks(&one, &all->core[k]) ? 1U << k : 0;
	if (event->lacking == (1U << all->n) - 1)
		event->lacking = 0; /* binding reports why */
	event->nterms = 0;
	event->term = NULL;
	for (uint_t i = 0; rc == 0 && i < one.nterms; i++) {
		if (!is_on_all_kinds(&one.term[i])) {
			rc = cpci_event_add(event, &one.term[i], diag);
			continue;
		}
		for (size_t k = 0; rc == 0 && k < all->n; k++) {
			const struct cpci_term term = on_kind(&one.term[i], &all->core[k]);

			if ((event->lacking & 1U << k) == 0)
				rc = cpci_event_add(event, &term, diag);
		}
	}
	cpci_event_free(&one);
	return rc;
}

/* A unit mask that libpfm4 does not know may be a new one of the vendor's files. */
static bool try_new_unit_mask(const char *name, uint_t flags, struct cpci_event *event,
			      const struct cpci_diag *diag)
{
	struct cpci_diag why;

	if (diag->subcode != CPC_INVALID_EVENT || strcmp(event->resolver, "libpfm4") != 0)
		return false;
	cpci_event_free(event);
	event->resolver = "event file";
	return cpci_event_vendor(name, flags, event, &why) == 1;
}

/* Writes "event:uk" of column titles and perf(1) as "event:u:k".  False: no such name. */
static bool split_modes(const char *name, char *split, size_t size)
{
	const char *modes = strrchr(name, ':');
	size_t n = modes != NULL ? strlen(modes + 1) : 0;

	if (n < 2 || n > 3 || strspn(modes + 1, "ukh") != n ||
	    strlcpy(split, name, size) + n > size)
		return false;
	split += modes - name;
	for (size_t i = 0; i < n; i++) {
		*split++ = ':';
		*split++ = modes[1 + i];
	}
	*split = '\0';
	return true;
}

int cpci_event_resolve(const char *given, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag)
{
	char split[CPCI_MAX_PART];
	const char *name = split_modes(given, split, sizeof(split)) ? split : given;
	int known = 0;

	for (size_t i = 0; known == 0 && i < sizeof(resolvers) / sizeof(*resolvers); i++) {
		cpci_event_free(event);
		event->scale = 1;
		event->lacking = 0;
		event->unit[0] = '\0';
		event->resolver = resolvers[i].name;
		known = resolvers[i].resolve(name, flags, event, diag);
	}
	if (known == -1 && try_new_unit_mask(name, flags, event, diag))
		known = 1;
	if (known == 0)
		refuse_unknown(name, event, diag);
	if (known != 1) {
		cpci_event_free(event);
		return -1;
	}
	for (uint_t i = 0; i < event->nterms; i++)
		cpci_perf_finish(&event->term[i].attr, flags);
	if (event->depth > 0 || sum_over_cores(event, diag) == 0)
		return 0;
	cpci_event_free(event);
	return -1;
}
