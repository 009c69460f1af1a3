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
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lookup {
	const char *name; /* as the user wrote it */
	char pmu[CPCI_PMU_NAME];
	struct cpci_event *event;
	struct cpci_diag *diag;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct lookup *l, int subcode,
							const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return cpci_diag(l->diag, EINVAL, subcode, "invalid event '%s': %s", l->name, why);
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
	return cpci_diag(l->diag, EINVAL, CPC_INVALID_EVENT,
			 "invalid event '%s': PMU '%s' has no %s '%s'%s", l->name, l->pmu,
			 has_value ? "field" : "event or field", term, hint);
}

static int put_field(const struct lookup *l, const char *field, const char *text)
{
	struct perf_event_attr *attr = &l->event->term[l->event->nterms - 1].attr;
	char format[CPCI_PMU_TEXT];
	uint64_t val = 1, max, unknown = 0;

	if (text != NULL && !cpci_parse_number(text, &val))
		return refuse(l, CPC_INVALID_EVENT, "the value of '%s' must be a number, not '%s'",
			      field, text);
	if (strcmp(field, "config") == 0) {
		strlcpy(format, "config:0-63", sizeof(format));
		unknown = val & ~cpci_pmu_mask(l->pmu);
	} else if (!cpci_pmu_format(l->pmu, field, format)) {
		return refuse_term(l, field, text != NULL);
	}
	if (unknown != 0)
		return refuse(l, CPC_ATTRIBUTE_OUT_OF_RANGE,
			      "no field of PMU '%s' has the bits 0x%llx", l->pmu,
			      (unsigned long long)unknown);
	if (cpci_pmu_put_bits(attr, format, val, &max))
		return 0;
	return refuse(l, CPC_ATTRIBUTE_OUT_OF_RANGE, "'%s' is at most 0x%llx", field,
		      (unsigned long long)max);
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
			return refuse(l, CPC_INVALID_EVENT, "a term is missing, or too long");
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

/* Refuses an unknown PMU: one that exists on other machines, or a wrong name. */
static int no_pmu(const struct lookup *l)
{
	static const char *const prefixes[] = {"amd_", "arm",	 "cpu", "cstate_", "hisi_",
					       "ibs_", "intel_", "msr", "power",   "uncore_"};
	struct cpci_suggest suggest;

	cpci_suggest_start(&suggest, l->pmu);
	cpci_suggest_try(&suggest, "breakpoint");
	cpci_suggest_try(&suggest, "sdt");
	cpci_pmu_each(&suggest, cpci_suggest_try);
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes) && suggest.distance > 1; i++) {
		if (strncmp(l->pmu, prefixes[i], strlen(prefixes[i])) != 0)
			continue;
		return cpci_diag(l->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
				 "cannot count '%s': the kernel has no PMU '%s' on this machine%s",
				 l->name, l->pmu,
				 cpci_perf_have_core_pmu() ? ""
							   : ", nor any other hardware counters");
	}
	return suggest.best[0] != '\0'
		       ? refuse(l, CPC_INVALID_EVENT, "unknown PMU '%s' (did you mean '%s'?)",
				l->pmu, suggest.best)
		       : refuse(l, CPC_INVALID_EVENT, "unknown PMU '%s'", l->pmu);
}

/* Is `name` an event or a field of the PMU? */
static bool is_own_term(const struct lookup *l, const char *name)
{
	char text[CPCI_PMU_TEXT];

	return cpci_pmu_read(l->pmu, "events/", name, text) || cpci_pmu_format(l->pmu, name, text);
}

/* Adds a generic event of one kind of cores, such as cycles.  0: it is not one; -1: see diag. */
static int add_generic(const struct lookup *l, uint32_t type, const char *name, uint_t flags)
{
	const struct cpci_cores *all = cpci_cores();
	struct cpci_event event = {0};
	struct cpci_diag diag;
	struct cpci_term term;

	if (strpbrk(name, ",=:.") != NULL || is_own_term(l, name) ||
	    cpci_event_pfm(name, flags, &event, &diag) != 1)
		return 0;
	term = event.term[0];
	cpci_event_free(&event);
	if (term.attr.type != PERF_TYPE_HARDWARE && term.attr.type != PERF_TYPE_HW_CACHE)
		return 0;
	term.one_pmu = true;
	for (size_t k = 0; all->n > 1 && k < all->n; k++) {
		if (all->core[k].type == type)
			cpci_generic_for(&term.attr, &all->core[k]);
	}
	return cpci_event_add(l->event, &term, l->diag) == 0 ? 1 : -1;
}

static bool is_core(const struct lookup *l, uint32_t type)
{
	return cpci_cores_have_type(type) || strcmp(l->pmu, "cpu") == 0;
}

/* Adds a term of the PMU.  -1: see diag. */
static int add_term(const struct lookup *l, uint32_t type, const char *terms, uint_t flags)
{
	const struct cpci_term term = {.one_pmu = true, .attr.type = type};
	int rc = is_core(l, type) ? add_generic(l, type, terms, flags) : 0;

	if (rc != 0)
		return rc == 1 ? 0 : -1;
	if (cpci_event_add(l->event, &term, l->diag) == -1 || put_terms(l, terms, false) == -1)
		return -1;
	/* Only the PMUs of cores can separate user and kernel mode. */
	if (is_core(l, type))
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
	if (pmu == NULL || !cpci_pmu_type(pmu, &type))
		return cpci_diag(
			l->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s': the kernel has it on Intel's CPUs from Ice Lake on, "
			"and not on this machine",
			l->name);
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
		return refuse(&l, CPC_INVALID_EVENT, "write %s/%s/", l.pmu,
			      strchr(l.pmu, ':') != NULL ? "filter" : "term,...");
	snprintf(text, sizeof(text), "%.*s", (int)(n - 1), slash + 1);
	if (l.pmu[0] == '.' || !cpci_pmu_type(l.pmu, &type)) {
		cpci_pmu_each(&boxes, add_box);
		return boxes.rc == -1 ? -1 : event->nterms > 0 ? 1 : no_pmu(&l);
	}
	return add_term(&l, type, text, flags) == 0 ? 1 : -1;
}

/* Visits the events of all PMUs that match a pattern of glob(3), as "pmu/event/". */
static void each_match(const char *pattern, void *arg, cpci_walk_fn *visit)
{
	char name[512], file[288], unit[CPCI_PMU_TEXT], desc[64];
	glob_t found = {0};

	snprintf(name, sizeof(name), CPCI_PMU_DEVICES "/*/events/%s", pattern);
	glob(name, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *pmu = found.gl_pathv[i] + strlen(CPCI_PMU_DEVICES "/");
		const char *event = strrchr(pmu, '/') + 1;

		if (strchr(event, '.') != NULL) /* the scale or the unit of an event */
			continue;
		pmu[strcspn(pmu, "/")] = '\0';
		snprintf(name, sizeof(name), "%s/%s/", pmu, event);
		snprintf(file, sizeof(file), "%s.unit", event);
		desc[0] = '\0';
		if (cpci_pmu_read(pmu, "events/", file, unit))
			snprintf(desc, sizeof(desc), "in %.32s", unit);
		visit(arg, name, desc);
	}
	globfree(&found);
}

void cpci_sysfs_walk(void *arg, cpci_walk_fn *action)
{
	each_match("*", arg, action);
}

bool cpci_sysfs_meant(const char *event, char *name, size_t size)
{
	struct cpci_first first = {.name = name, .size = size};

	*name = '\0';
	if (*event != '\0' && strpbrk(event, "./*?[\\") == NULL)
		each_match(event, &first, cpci_take_first);
	return *name != '\0';
}
