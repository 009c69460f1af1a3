/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* walk.c - lists the events that can be counted, by opening each of them. */
#include "set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct walk {
	const struct cpci_defs *defs;
	enum cpc_event_group group;
	bool plain; /* leave out the groups that the walkers of Solaris do not pass */
	bool only_hardware, only_software;
	bool only_cpus;	     /* visit PMUs that count only CPUs, instead of the others */
	bool asked, allowed; /* is it known whether tracepoints may be counted; may they */
	int slot;	     /* -1, or a slot that cannot count everything */
	void *arg;
	cpc_walk_desc_fn *action;
};

static bool can_count(const struct cpci_event *event)
{
	for (uint_t i = 0; i < event->nterms; i++) {
		const struct perf_event_attr *attr = &event->term[i].attr;

		if (event->term[i].site > 1) /* like the first site */
			continue;
		if (cpci_perf_probe(attr) != 0 && cpci_perf_probe_cpu(attr) != 0)
			return false;
	}
	return true;
}

/* Has the PMU enough counters for all terms of a sum? */
static bool sum_fits(const char *name, const struct cpci_event *event)
{
	struct cpci_req req = {.name = (char *)(uintptr_t)name, .placed = -1, .event = *event};
	struct cpci_plan *plan = cpci_plan_new();
	int *fd = reallocarray(NULL, event->nterms + 1U, sizeof(*fd));
	const struct cpci_opening nothing = {0};
	struct cpci_term_ref bad;
	bool ok;

	ok = plan != NULL && fd != NULL && cpci_plan_add(plan, &req) == 0 &&
	     cpci_group_open(plan, CPCI_TARGET_SELF, &nothing, fd, &bad) == 0;
	if (ok)
		cpci_group_close(plan, fd);
	cpci_plan_drop(plan);
	free(fd);
	return ok;
}

/* Can it be counted, and does this walk include it? */
static bool is_offered(struct walk *walk, const char *name, const struct cpci_event *event)
{
	if (cpci_perf_is_software(&event->term[0].attr) ? walk->only_hardware : walk->only_software)
		return false;
	if (!can_count(event))
		return false;
	if (event->nterms > 1)
		return sum_fits(name, event);
	return walk->slot == -1 || !cpci_perf_is_core(&event->term[0].attr) ||
	       cpci_group_slot_counts((uint_t)walk->slot, &event->term[0].attr);
}

/* Visits an event if it can be counted. */
static void offer(struct walk *walk, const char *name, const char *desc)
{
	struct cpci_event event = {.defs = walk->defs};
	struct cpci_diag diag;
	bool offered = false;

	cpci_lock();
	if (cpci_event_resolve(name, CPC_COUNT_USER, &event, &diag) == 0) {
		offered = is_offered(walk, name, &event);
		cpci_event_free(&event);
	}
	cpci_unlock();
	if (offered)
		walk->action(walk->arg, walk->group, name, desc != NULL ? desc : "");
}

/* Visits an event of a PMU if this walk includes PMUs that count only CPUs, or other PMUs. */
static void offer_pmu(void *arg, const char *name, const char *desc)
{
	struct walk *walk = arg;
	char pmu[CPCI_PMU_NAME];

	snprintf(pmu, sizeof(pmu), "%.*s", (int)strcspn(name, "/"), name);
	if ((cpci_pmu_cpu(pmu) != -1) == walk->only_cpus)
		offer(walk, name, desc);
}

static void offer_named(void *arg, const char *name, const char *desc)
{
	offer(arg, name, desc);
}

static void visit_named(void *arg, const char *name, const char *desc)
{
	struct walk *walk = arg;

	walk->action(walk->arg, walk->group, name, desc);
}

/* There are thousands, all with the same permission: only the first one is opened. */
static void offer_tracepoint(void *arg, const char *name, const char *desc)
{
	struct walk *walk = arg;
	struct cpci_event event = {.defs = walk->defs};
	struct cpci_diag diag;

	cpci_lock();
	if (!walk->asked && cpci_event_resolve(name, CPC_COUNT_USER, &event, &diag) == 0) {
		walk->asked = true;
		walk->allowed = cpci_perf_probe(&event.term[0].attr) == 0;
		cpci_event_free(&event);
	}
	cpci_unlock();
	if (walk->allowed)
		walk->action(walk->arg, walk->group, name, desc);
}

/* Only the first definition of a name is used. */
static bool is_hidden(const struct cpci_defs *defs, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (strcasecmp(defs->def[j].name, defs->def[i].name) == 0 &&
		    cpci_def_is_here(&defs->def[j]))
			return true;
	}
	return false;
}

static void walk_defs(struct walk *walk, enum cpc_event_group group, enum cpci_source source)
{
	const struct cpci_defs *defs = walk->defs;

	walk->group = group;
	for (size_t i = 0; i < defs->n; i++) {
		const struct cpci_def *def = &defs->def[i];

		if (def->source == source && cpci_def_is_here(def) && !is_hidden(defs, i))
			offer(walk, def->name, def->desc);
	}
}

/* Can all its events be counted? */
static bool can_compute(const struct walk *walk, const cpc_ratio_t *ratio)
{
	bool ok = true;

	cpci_lock();
	for (uint_t i = 0; ok && i < ratio->nevents; i++) {
		struct cpci_event event = {.defs = walk->defs};
		struct cpci_diag diag;

		ok = cpci_event_resolve(ratio->event[i], CPC_COUNT_USER, &event, &diag) == 0 &&
		     can_count(&event);
		cpci_event_free(&event);
	}
	cpci_unlock();
	return ok;
}

static void walk_ratios(struct walk *walk)
{
	walk->group = CPC_GROUP_RATIO;
	for (size_t i = 0; i < walk->defs->n; i++) {
		const struct cpci_def *def = &walk->defs->def[i];
		struct cpci_event event;
		struct cpci_diag diag;
		cpc_ratio_t *ratio;

		/* Shipped definitions contain no sums of ratios. */
		if (!cpci_def_is_here(def) || is_hidden(walk->defs, i) ||
		    (!def->ratio && def->source != CPCI_DEF_USER))
			continue;
		ratio = cpci_ratio_find(walk->defs, def->name, &event, &diag);
		if (ratio != NULL && can_compute(walk, ratio))
			walk->action(walk->arg, walk->group, def->name, def->desc);
		cpci_ratio_free(ratio);
	}
}

/* Visits the syntax of function events, and the probes that are known without a program. */
static void walk_functions(struct walk *walk)
{
	struct perf_event_attr attr;

	if (!cpci_uprobe_attr(&attr, false) || cpci_uprobe_permitted(&attr) != 0)
		return;
	visit_named(walk, "uprobe/func=FUNCTION/", "calls of a function of a program or library");
	visit_named(walk, "uprobe/func=FUNCTION,ret/", "its returns");
	visit_named(walk, "sdt/PROVIDER:NAME/", "probe of a program or library (sys/sdt.h)");
	cpci_symbols_walk_probes(walk, visit_named);
}

static void walk_groups(struct walk *walk)
{
	bool core;

	walk_defs(walk, CPC_GROUP_USER, CPCI_DEF_USER);
	walk_defs(walk, CPC_GROUP_GENERIC, CPCI_DEF_GENERIC);
	walk_defs(walk, CPC_GROUP_SOLARIS, CPCI_DEF_SOLARIS);
	walk->group = CPC_GROUP_PLATFORM;
	cpci_lock();
	core = cpci_perf_have_core_pmu();
	cpci_unlock();
	if (core) {
		/* The kernel's generic events, then those of the CPU. */
		walk->only_hardware = true;
		cpci_pfm_walk(walk, offer_named);
		cpci_pfm_walk_core(walk, offer_named);
		walk->only_hardware = false;
	}
	walk->group = CPC_GROUP_PMU;
	cpci_sysfs_walk(walk, offer_pmu);
	walk->group = CPC_GROUP_SOFTWARE;
	walk->only_software = true;
	cpci_pfm_walk(walk, offer_named);
	cpci_software_walk(walk, offer_named);
	walk->only_software = false;
	if (walk->plain)
		return;
	/* They are too many to open each, if the machine has the PMU that most of them need. */
	walk->group = CPC_GROUP_VENDOR;
	cpci_vendor_walk(walk, core ? visit_named : offer_named);
	walk->group = CPC_GROUP_TRACEPOINT;
	cpci_tracepoint_walk(walk, offer_tracepoint);
	walk->group = CPC_GROUP_FUNCTION;
	walk_functions(walk);
	walk_ratios(walk);
	walk->group = CPC_GROUP_CPUS;
	walk->only_cpus = true;
	cpci_sysfs_walk(walk, offer_pmu);
}

static int walk_all(cpc_t *cpc, const char *fn, struct walk walk)
{
	struct cpci_diag diag;
	int cancel;

	if (cpci_check_handle(cpc) == -1)
		return -1;
	walk.defs = cpci_defs(cpc, fn, &diag);
	if (walk.defs == NULL)
		return cpci_fail(cpc, fn, &diag);
	/* Directories are open: disable cancellation.  But callbacks must not hold the lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	walk_groups(&walk);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

int cpc_walk_events_desc(cpc_t *cpc, void *arg, cpc_walk_desc_fn *action)
{
	const struct walk walk = {.slot = -1, .arg = arg, .action = action};

	return walk_all(cpc, "cpc_walk_events_desc", walk);
}

/* ---- the walkers of Solaris, which pass fewer arguments, and fewer groups ----------------- */

/* Programs call them for each LWP, so a handle remembers what it has found. */
struct cpci_walked {
	struct cpci_walked *next;
	int slot;    /* -1, or a slot that cannot count everything */
	char *names; /* of each event: 'g' if it is generic, else 'p'; its name; '\0' */
	size_t size;
};

static void note_name(void *arg, enum cpc_event_group group, const char *event, const char *desc)
{
	(void)desc;
	fprintf(arg, "%c%s%c", group == CPC_GROUP_GENERIC ? 'g' : 'p', event, '\0');
}

void cpci_walked_free(struct cpci_walked *w)
{
	while (w != NULL) {
		struct cpci_walked *next = w->next;

		free(w->names);
		free(w);
		w = next;
	}
}

/* Finds the events of a slot.  NULL: the error handler got the reason. */
static struct cpci_walked *find_names(cpc_t *cpc, const char *fn, int slot)
{
	struct cpci_walked *w = calloc(1, sizeof(*w));
	FILE *f = w != NULL ? open_memstream(&w->names, &w->size) : NULL;
	const struct walk walk = {.plain = true, .slot = slot, .arg = f, .action = note_name};
	bool failed = f == NULL;
	int rc = 0;

	if (f != NULL) {
		w->slot = slot;
		rc = walk_all(cpc, fn, walk);
		failed = fclose(f) != 0;
	}
	if (rc == 0 && !failed)
		return w;
	if (failed)
		cpci_fail_nomem(cpc, fn);
	cpci_walked_free(w);
	return NULL;
}

static struct cpci_walked *of_slot(struct cpci_walked *w, int slot)
{
	while (w != NULL && w->slot != slot)
		w = w->next;
	return w;
}

static const struct cpci_walked *walked(cpc_t *cpc, const char *fn, int slot)
{
	struct cpci_walked *w = of_slot(cpc->walked, slot), *other;

	if (w != NULL || (w = find_names(cpc, fn, slot)) == NULL)
		return w;
	cpci_lock();
	other = of_slot(cpc->walked, slot);
	if (other == NULL) {
		w->next = cpc->walked;
		cpc->walked = w;
	}
	cpci_unlock();
	if (other == NULL)
		return w;
	cpci_walked_free(w);
	return other;
}

struct plain {
	void *arg;
	bool generic;
	uint_t picno;
	void (*all)(void *arg, const char *event);
	void (*pic)(void *arg, uint_t picno, const char *event);
};

static void walk_plain(cpc_t *cpc, const char *fn, int slot, const struct plain *plain)
{
	const struct cpci_walked *w = cpci_check_handle(cpc) == 0 ? walked(cpc, fn, slot) : NULL;

	for (size_t at = 0; w != NULL && at < w->size; at += strlen(w->names + at) + 1) {
		const char *name = w->names + at + 1;

		if ((w->names[at] == 'g') != plain->generic)
			continue;
		if (plain->all != NULL)
			plain->all(plain->arg, name);
		else
			plain->pic(plain->arg, plain->picno, name);
	}
}

void cpc_walk_events_all(cpc_t *cpc, void *arg, void (*action)(void *arg, const char *event))
{
	const struct plain plain = {.arg = arg, .all = action};

	walk_plain(cpc, "cpc_walk_events_all", -1, &plain);
}

void cpc_walk_generic_events_all(cpc_t *cpc, void *arg,
				 void (*action)(void *arg, const char *event))
{
	const struct plain plain = {.arg = arg, .all = action, .generic = true};

	walk_plain(cpc, "cpc_walk_generic_events_all", -1, &plain);
}

static void walk_pic(cpc_t *cpc, const char *fn, const struct plain *plain)
{
	bool general;

	if (plain->picno >= cpc_npic(cpc))
		return;
	cpci_lock();
	general = cpci_group_slot_is_general(plain->picno);
	cpci_unlock();
	walk_plain(cpc, fn, general ? -1 : (int)plain->picno, plain);
}

void cpc_walk_events_pic(cpc_t *cpc, uint_t picno, void *arg,
			 void (*action)(void *arg, uint_t picno, const char *event))
{
	const struct plain plain = {.arg = arg, .pic = action, .picno = picno};

	walk_pic(cpc, "cpc_walk_events_pic", &plain);
}

void cpc_walk_generic_events_pic(cpc_t *cpc, uint_t picno, void *arg,
				 void (*action)(void *arg, uint_t picno, const char *event))
{
	const struct plain plain = {.arg = arg, .pic = action, .picno = picno, .generic = true};

	walk_pic(cpc, "cpc_walk_generic_events_pic", &plain);
}

int cpc_is_attr(cpc_t *cpc, const char *name)
{
	int is;

	(void)cpc;
	cpci_lock();
	is = strcmp(name, "picnum") == 0 || cpci_attr_is(name);
	cpci_unlock();
	return is;
}

void cpc_walk_attrs(cpc_t *cpc, void *arg, void (*action)(void *arg, const char *attr))
{
	(void)cpc;
	action(arg, "picnum");
	cpci_attr_walk(arg, action);
}

const char *cpc_nearest(const char *word, const char *const *known, size_t n)
{
	struct cpci_suggest suggest;
	const char *best = NULL;

	cpci_suggest_start(&suggest, word);
	for (size_t i = 0; i < n; i++) {
		unsigned before = suggest.distance;

		cpci_suggest_try(&suggest, known[i]);
		if (suggest.distance < before)
			best = known[i];
	}
	return best;
}
