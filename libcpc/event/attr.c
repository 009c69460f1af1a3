/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * attr.c - attributes of requests: they set fields of the PMU that counts the event, by their
 * names in the kernel or on Solaris.
 */
#include "event.h"

#include <errno.h>
#include <string.h>

/*
 * All attributes that exist on any machine; this machine may lack some.  Without `field`, the
 * PMU's field has the same name as the attribute.
 */
static const struct known {
	const char *name;
	const char *field;
	bool negated;	 /* it clears its field */
	const char *why; /* why no machine has it */
} known[] = {
	/* Linux: all bits of a word, as in perf_event_open(2) */
	{.name = "config1"},
	{.name = "config2"},
	{.name = "config3"},
	/* samples */
	{.name = "precise", .why = "it makes samples precise; counts are always exact"},
	/* x86 */
	{.name = "event"},
	{.name = "umask"},
	{.name = "edge"},
	{.name = "inv"},
	{.name = "cmask"},
	{.name = "any"},
	{.name = "in_tx"},
	{.name = "in_tx_cp"},
	{.name = "ldlat"},
	{.name = "offcore_rsp"},
	{.name = "frontend"},
	/* Arm */
	{.name = "long"},
	{.name = "rdpmc"},
	{.name = "threshold"},
	{.name = "threshold_compare"},
	{.name = "threshold_count"},
	/* Solaris */
	{.name = "pc"},
	{.name = "noedge", .field = "edge", .negated = true},
	{.name = "emask", .field = "umask"},
	{.name = "compl"},
	{.name = "tag"},
	{.name = "cascade"},
	{.name = "int", .why = "the kernel keeps the interrupts of the counters to itself"},
};

static const struct known *find_known(const char *name)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	}
	return NULL;
}

bool cpci_attr_is(const char *name)
{
	char pmu[CPCI_PMU_NAME], format[CPCI_PMU_TEXT];

	return find_known(name) != NULL ||
	       (cpci_pmu_name(PERF_TYPE_RAW, pmu) && cpci_pmu_format(pmu, name, format));
}

void cpci_attr_try(struct cpci_suggest *suggest)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		cpci_suggest_try(suggest, known[i].name);
}

static int refuse_unknown(const char *event, const char *name, const char *pmu,
			  struct cpci_diag *diag)
{
	struct cpci_suggest suggest;

	cpci_suggest_start(&suggest, name);
	cpci_attr_try(&suggest);
	if (pmu != NULL)
		cpci_pmu_each_file(pmu, "format", &suggest, cpci_suggest_try);
	if (suggest.best[0] != '\0')
		return cpci_diag(diag, EINVAL, CPC_INVALID_ATTRIBUTE,
				 "unknown attribute '%s' of event '%s' (did you mean '%s'?)", name,
				 event, suggest.best);
	return cpci_diag(diag, EINVAL, CPC_INVALID_ATTRIBUTE,
			 "unknown attribute '%s' of event '%s'", name, event);
}

/* Refuses a known attribute that this term does not have. */
static int refuse(const struct cpci_term *term, const char *event, const char *name,
		  const char *pmu, struct cpci_diag *diag)
{
	if (cpci_perf_is_software(&term->attr))
		return cpci_diag(diag, EINVAL, CPC_INVALID_ATTRIBUTE,
				 "event '%s' has no attribute '%s': it is not counted by a PMU",
				 event, name);
	if (pmu != NULL)
		return cpci_diag(
			diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			"attribute '%s' of event '%s' cannot be set: PMU '%s' has no such field",
			name, event, pmu);
	if (cpci_perf_have_core_pmu())
		return cpci_diag(
			diag, EINVAL, CPC_INVALID_ATTRIBUTE,
			"attribute '%s' does not go with event '%s', whose code the kernel "
			"chooses; name an event of the CPU, or give its code",
			name, event);
	return cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			 "attribute '%s' of event '%s' cannot be set: the kernel has no hardware "
			 "counters on this machine",
			 name, event);
}

static int set_field(struct cpci_term *term, const char *event, const cpc_attr_t *attr,
		     struct cpci_diag *diag)
{
	const struct known *how = find_known(attr->ca_name);
	const char *field = attr->ca_name, *pmu = NULL;
	char buf[CPCI_PMU_NAME], format[CPCI_PMU_TEXT];
	uint64_t val = attr->ca_val, max;

	if (how != NULL && how->field != NULL)
		field = how->field;
	/* Events that the kernel numbers itself have no fields. */
	if (!cpci_perf_is_software(&term->attr) && term->attr.type != PERF_TYPE_HARDWARE &&
	    term->attr.type != PERF_TYPE_HW_CACHE && cpci_pmu_name(term->attr.type, buf))
		pmu = buf;
	if (pmu == NULL || !cpci_pmu_format(pmu, field, format))
		return cpci_attr_is(attr->ca_name)
			       ? refuse(term, event, attr->ca_name, pmu, diag)
			       : refuse_unknown(event, attr->ca_name, pmu, diag);
	if (how != NULL && how->negated && val <= 1)
		val = !val;
	if (cpci_pmu_put_bits(&term->attr, format, val, &max))
		return 0;
	return cpci_diag(diag, EINVAL, CPC_ATTRIBUTE_OUT_OF_RANGE,
			 "attribute '%s' of event '%s' is at most 0x%llx, not 0x%llx",
			 attr->ca_name, event, (unsigned long long)max,
			 (unsigned long long)attr->ca_val);
}

int cpci_attr_apply(struct cpci_event *event, const char *name, const cpc_attr_t *attr,
		    struct cpci_diag *diag)
{
	const struct known *how = find_known(attr->ca_name);

	if (how != NULL && how->why != NULL)
		return cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
				 "attribute '%s' of event '%s' cannot be set: %s", attr->ca_name,
				 name, how->why);
	for (uint_t i = 0; i < event->nterms; i++) {
		if (set_field(&event->term[i], name, attr, diag) == -1)
			return -1;
	}
	return 0;
}

struct visitor {
	void *arg;
	void (*action)(void *arg, const char *attr);
};

static void visit_field(void *arg, const char *field)
{
	const struct visitor *v = arg;

	v->action(v->arg, field);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (known[i].field != NULL && strcmp(known[i].field, field) == 0)
			v->action(v->arg, known[i].name);
	}
}

void cpci_attr_walk(void *arg, void (*action)(void *arg, const char *attr))
{
	struct visitor v = {.arg = arg, .action = action};
	char pmu[CPCI_PMU_NAME];

	if (cpci_pmu_name(PERF_TYPE_RAW, pmu))
		cpci_pmu_each_file(pmu, "format", &v, visit_field);
}
