/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * sysfs.c - events of the PMUs that the kernel exports: "pmu/term[=val],.../".
 *
 * A term is an event in the PMU's directory events/, or a field in its directory format/,
 * which gives the bits of the field in config to config3
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events).
 */
#include "event.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lookup {
	const char *name; /* as the user wrote it */
	char pmu[CPCI_PMU_NAME];
	struct cpci_event *event;
	struct cpci_diag *diag;
};

static int refuse(const struct lookup *l, int subcode, const char *fmt, const char *a,
		  const char *b)
{
	char why[256];

	snprintf(why, sizeof(why), fmt, a, b);
	cpci_diag(l->diag, EINVAL, subcode, "invalid event '%s': %s", l->name, why);
	return -1;
}

static void try_term(void *arg, const char *term)
{
	if (strchr(term, '.') == NULL) /* the scale or the unit of an event */
		cpci_suggest_try(arg, term);
}

/* Refuses a term that is neither an event nor a field, or an event with a value. */
static int refuse_term(const struct lookup *l, const char *term, bool has_value)
{
	struct cpci_suggest suggest;
	char hint[120] = "";

	cpci_suggest_start(&suggest, term);
	cpci_pmu_each_file(l->pmu, "format", &suggest, try_term);
	if (!has_value)
		cpci_pmu_each_file(l->pmu, "events", &suggest, try_term);
	if (suggest.best[0] != '\0')
		snprintf(hint, sizeof(hint), " (did you mean '%s'?)", suggest.best);
	cpci_diag(l->diag, EINVAL, CPC_INVALID_EVENT,
		  "invalid event '%s': PMU '%s' has no %s '%s'%s", l->name, l->pmu,
		  has_value ? "field" : "event or field", term, hint);
	return -1;
}

static int put_field(const struct lookup *l, const char *field, const char *text)
{
	struct perf_event_attr *attr = &l->event->term[l->event->nterms - 1].attr;
	char format[CPCI_PMU_TEXT], limit[32];
	uint64_t val = 1, max;

	if (text != NULL && !cpci_parse_number(text, &val))
		return refuse(l, CPC_INVALID_EVENT, "the value of '%s' must be a number, not '%s'",
			      field, text);
	if (strcmp(field, "config") == 0)
		strlcpy(format, "config:0-63", sizeof(format));
	else if (cpci_pmu_is_word(field))
		snprintf(format, sizeof(format), "%s:0-63", field);
	else if (!cpci_pmu_format(l->pmu, field, format))
		return refuse_term(l, field, text != NULL);
	if (strcmp(field, "config") == 0 && (val & ~cpci_pmu_mask(l->pmu)) != 0) {
		snprintf(limit, sizeof(limit), "0x%llx",
			 (unsigned long long)(val & ~cpci_pmu_mask(l->pmu)));
		return refuse(l, CPC_ATTRIBUTE_OUT_OF_RANGE, "no field of PMU '%s' has the bits %s",
			      l->pmu, limit);
	}
	if (cpci_pmu_put_bits(attr, format, val, &max))
		return 0;
	snprintf(limit, sizeof(limit), "0x%llx", (unsigned long long)max);
	return refuse(l, CPC_ATTRIBUTE_OUT_OF_RANGE, "'%s' is at most %s", field, limit);
}

static int put_terms(const struct lookup *l, const char *terms, bool inside);

/* Applies an event of the PMU: its terms, scale and unit.  0: no such event. */
static int put_event(const struct lookup *l, const char *name)
{
	char text[CPCI_PMU_TEXT], file[96];

	if (!cpci_pmu_read(l->pmu, "events/", name, text))
		return 0;
	if (put_terms(l, text, true) == -1)
		return -1;
	snprintf(file, sizeof(file), "%s.scale", name);
	if (cpci_pmu_read(l->pmu, "events/", file, text))
		l->event->scale = strtod(text, NULL);
	snprintf(file, sizeof(file), "%s.unit", name);
	if (cpci_pmu_read(l->pmu, "events/", file, text))
		strlcpy(l->event->unit, text, sizeof(l->event->unit));
	return 1;
}

/* Applies terms separated by commas; `inside` an event these are only fields. */
static int put_terms(const struct lookup *l, const char *terms, bool inside)
{
	char term[80], *val;
	size_t n;
	int rc;

	for (; *terms != '\0'; terms += n + (terms[n] == ',')) {
		n = strcspn(terms, ",");
		if (n == 0 || n >= sizeof(term))
			return refuse(l, CPC_INVALID_EVENT, "a term is missing, or too long%s%s",
				      "", "");
		snprintf(term, sizeof(term), "%.*s", (int)n, terms);
		val = strchr(term, '=');
		if (val != NULL)
			*val++ = '\0';
		rc = val == NULL && !inside ? put_event(l, term) : 0;
		if (rc == 0)
			rc = put_field(l, term, val);
		if (rc == -1)
			return -1;
	}
	return 0;
}

/* Can the PMU separate user and kernel mode?  Only those of CPU cores can. */
static bool knows_modes(const struct lookup *l)
{
	const struct cpci_cores *cores = cpci_cores();

	for (size_t i = 0; i < cores->n; i++) {
		if (strcmp(cores->core[i].name, l->pmu) == 0)
			return true;
	}
	return strcmp(l->pmu, "cpu") == 0;
}

static void try_pmu(void *arg, const char *pmu)
{
	cpci_suggest_try(arg, pmu);
}

/* Refuses an unknown PMU: one that exists on other machines, or a wrong name. */
static int no_pmu(const struct lookup *l)
{
	static const char *const prefixes[] = {"amd_", "arm",	 "cpu", "cstate_", "hisi_",
					       "ibs_", "intel_", "msr", "power",   "uncore_"};
	struct cpci_suggest suggest;

	cpci_suggest_start(&suggest, l->pmu);
	cpci_suggest_try(&suggest, "breakpoint");
	cpci_suggest_try(&suggest, "sdt");
	cpci_pmu_each(&suggest, try_pmu);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes) && suggest.distance > 1; i++) {
		if (strncmp(l->pmu, prefixes[i], strlen(prefixes[i])) != 0)
			continue;
		cpci_diag(l->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel has no PMU '%s' on this machine%s",
			  l->name, l->pmu,
			  cpci_perf_have_core_pmu() ? "" : ", nor any other hardware counters");
		return -1;
	}
	return suggest.best[0] != '\0'
		       ? refuse(l, CPC_INVALID_EVENT, "unknown PMU '%s' (did you mean '%s'?)",
				l->pmu, suggest.best)
		       : refuse(l, CPC_INVALID_EVENT, "unknown PMU '%s'%s", l->pmu, "");
}

/* Adds a term of the PMU.  -1: see diag. */
static int add_term(const struct lookup *l, uint32_t type, const char *terms, uint_t flags)
{
	const struct cpci_term term = {.one_pmu = true, .attr.type = type};

	if (cpci_event_add(l->event, &term, l->diag) == -1 || put_terms(l, terms, false) == -1)
		return -1;
	if (knows_modes(l))
		cpci_perf_set_modes(&l->event->term[l->event->nterms - 1].attr, flags);
	return 0;
}

/* Similar units have a PMU each: "uncore_cha" is the sum of uncore_cha_0 and so on. */
struct boxes {
	const struct lookup *one;
	const char *terms;
	uint_t flags;
	int rc;
};

static void add_box(void *arg, const char *pmu)
{
	struct boxes *boxes = arg;
	struct lookup l = *boxes->one;
	size_t n = strlen(l.pmu);
	uint32_t type;

	if (boxes->rc == -1 || strncmp(pmu, l.pmu, n) != 0 || pmu[n] != '_' || pmu[n + 1] == '\0' ||
	    pmu[n + 1 + strspn(pmu + n + 1, "0123456789")] != '\0' || !cpci_pmu_type(pmu, &type))
		return;
	strlcpy(l.pmu, pmu, sizeof(l.pmu));
	boxes->rc = add_term(&l, type, boxes->terms, boxes->flags);
}

/* Adds "slots" or "topdown-..." without a PMU: there is only one that has them. */
static int add_topdown(struct lookup *l, uint_t flags)
{
	const char *pmu = cpci_topdown_pmu();
	uint32_t type;

	if (strcmp(l->name, "slots") != 0 && strncmp(l->name, "topdown-", 8) != 0)
		return 0;
	if (pmu == NULL || !cpci_pmu_type(pmu, &type)) {
		cpci_diag(l->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel has it on Intel's CPUs from Ice Lake on, "
			  "and not on this machine",
			  l->name);
		return -1;
	}
	strlcpy(l->pmu, pmu, sizeof(l->pmu));
	return add_term(l, type, l->name, flags) == 0 ? 1 : -1;
}

int cpci_event_sysfs(const char *name, uint_t flags, struct cpci_event *event,
		     struct cpci_diag *diag)
{
	struct lookup l = {.name = name, .event = event, .diag = diag};
	const char *slash = strchr(name, '/'), *last;
	char text[CPCI_PMU_TEXT];
	struct boxes boxes = {.one = &l, .terms = text, .flags = flags};
	uint32_t type;
	size_t n;

	if (slash == NULL)
		return add_topdown(&l, flags);
	if (slash == name || (size_t)(slash - name) >= sizeof(l.pmu))
		return 0;
	snprintf(l.pmu, sizeof(l.pmu), "%.*s", (int)(slash - name), name);
	last = strrchr(name, '/') + 1;
	if (last > slash + 1 && cpci_event_precise(name, last, strlen(last), diag))
		return -1;
	n = strlen(slash + 1);
	if (n < 2 || slash[n] != '/' || n > sizeof(text))
		return refuse(&l, CPC_INVALID_EVENT, "write %s/term,.../%s", l.pmu, "");
	snprintf(text, sizeof(text), "%.*s", (int)(n - 1), slash + 1);
	if (l.pmu[0] == '.' || !cpci_pmu_type(l.pmu, &type)) {
		cpci_pmu_each(&boxes, add_box);
		return boxes.rc == -1 ? -1 : event->nterms > 0 ? 1 : no_pmu(&l);
	}
	return add_term(&l, type, text, flags) == 0 ? 1 : -1;
}

struct meant {
	const char *event;
	char *name; /* "pmu/event/"; "": no PMU has the event */
	size_t size;
};

static void try_file(void *arg, const char *pmu)
{
	const struct meant *meant = arg;
	char text[CPCI_PMU_TEXT];

	if (*meant->name == '\0' && cpci_pmu_read(pmu, "events/", meant->event, text))
		snprintf(meant->name, meant->size, "%s/%s/", pmu, meant->event);
}

bool cpci_sysfs_meant(const char *event, char *name, size_t size)
{
	struct meant meant = {.event = event, .name = name, .size = size};

	*name = '\0';
	if (*event != '\0' && strpbrk(event, "./") == NULL)
		cpci_pmu_each(&meant, try_file);
	return *name != '\0';
}

struct visitor {
	char pmu[CPCI_PMU_NAME];
	void *arg;
	cpci_walk_fn *action;
};

static void visit_event(void *arg, const char *event)
{
	const struct visitor *v = arg;
	char name[512], file[288], unit[CPCI_PMU_TEXT], desc[64] = "";

	if (strchr(event, '.') != NULL) /* the scale or the unit of an event */
		return;
	snprintf(name, sizeof(name), "%s/%s/", v->pmu, event);
	snprintf(file, sizeof(file), "%s.unit", event);
	if (cpci_pmu_read(v->pmu, "events/", file, unit))
		snprintf(desc, sizeof(desc), "in %.32s", unit);
	v->action(v->arg, name, desc);
}

static void visit_pmu(void *arg, const char *pmu)
{
	struct visitor *v = arg;

	if (strlcpy(v->pmu, pmu, sizeof(v->pmu)) < sizeof(v->pmu))
		cpci_pmu_each_file(pmu, "events", v, visit_event);
}

void cpci_sysfs_walk(void *arg, cpci_walk_fn *action)
{
	struct visitor v = {.arg = arg, .action = action};

	cpci_pmu_each(&v, visit_pmu);
}
