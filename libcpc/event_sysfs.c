/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event_sysfs.c - events of the PMUs that the kernel exports: "pmu/term[=val],.../".
 *
 * A term is an event of the PMU's events/ directory, or a field of its format/
 * directory, which says where in config, config1 and config2 its bits go
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-format and -events).
 */
#include "cpc_impl.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"

struct lookup {
	const char *name; /* as the user wrote it */
	char pmu[CPCI_PMU_NAME];
	struct cpci_event *event;
	struct cpci_diag *diag;
};

/* The first line of DEVICES/pmu/dir/file, without its end.  False: no such file. */
static bool read_attr(const char *pmu, const char *dir, const char *file, char *text)
{
	char path[512];
	bool got = false;
	FILE *f;

	if (strchr(file, '/') != NULL || *file == '.' ||
	    (size_t)snprintf(path, sizeof(path), DEVICES "/%s/%s%s", pmu, dir, file) >=
		    sizeof(path))
		return false;
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	if (fgets(text, CPCI_PMU_TEXT, f) != NULL) {
		text[strcspn(text, "\n")] = '\0';
		got = true;
	}
	fclose(f);
	return got;
}

bool cpci_sysfs_format(const char *pmu, const char *field, char *format)
{
	return read_attr(pmu, "format/", field, format);
}

static int bad(const struct lookup *l, int subcode, const char *fmt, const char *a, const char *b)
{
	char why[256];

	snprintf(why, sizeof(why), fmt, a, b);
	cpci_diag(l->diag, EINVAL, subcode, "bad event '%s': %s", l->name, why);
	return -1;
}

bool cpci_put_bits(struct cpci_term *term, const char *format, uint64_t val, uint64_t *max)
{
	uint64_t *word = &term->config, left = val;
	unsigned bits = 0;
	char *end;

	if (strncmp(format, "config1:", 8) == 0)
		word = &term->config1;
	else if (strncmp(format, "config2:", 8) == 0)
		word = &term->config2;
	for (const char *p = strchr(format, ':'); p != NULL && *p != '\0'; p = end) {
		unsigned long lo = strtoul(p + 1, &end, 10), hi = lo;

		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		if (end == p + 1 || hi < lo || hi > 63)
			break;
		for (unsigned long bit = lo; bit <= hi; bit++, bits++, left >>= 1)
			*word = (*word & ~(1ULL << bit)) | (left & 1) << bit;
	}
	*max = bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;
	return val <= *max;
}

static int put_field(const struct lookup *l, const char *field, const char *text)
{
	struct cpci_term *term = &l->event->term[0];
	char format[CPCI_PMU_TEXT], limit[32];
	uint64_t val = 1, max;

	if (text != NULL && !cpci_parse_number(text, &val))
		return bad(l, CPC_INVALID_EVENT, "the value of '%s' is to be a number, not '%s'",
			   field, text);
	if (strcmp(field, "config") == 0)
		strlcpy(format, "config:0-63", sizeof(format));
	else if (strcmp(field, "config1") == 0)
		strlcpy(format, "config1:0-63", sizeof(format));
	else if (strcmp(field, "config2") == 0)
		strlcpy(format, "config2:0-63", sizeof(format));
	else if (!cpci_sysfs_format(l->pmu, field, format))
		return bad(l, CPC_INVALID_EVENT, "PMU '%s' has neither an event nor a field '%s'",
			   l->pmu, field);
	if (cpci_put_bits(term, format, val, &max))
		return 0;
	snprintf(limit, sizeof(limit), "0x%llx", (unsigned long long)max);
	return bad(l, CPC_ATTRIBUTE_OUT_OF_RANGE, "'%s' is at most %s", field, limit);
}

static int put_terms(const struct lookup *l, const char *terms, bool inside);

/* An event of the PMU: its terms, scale and unit.  0: there is none of that name. */
static int put_event(const struct lookup *l, const char *name)
{
	char text[CPCI_PMU_TEXT], file[96];

	if (!read_attr(l->pmu, "events/", name, text))
		return 0;
	if (put_terms(l, text, true) == -1)
		return -1;
	snprintf(file, sizeof(file), "%s.scale", name);
	if (read_attr(l->pmu, "events/", file, text))
		l->event->scale = strtod(text, NULL);
	snprintf(file, sizeof(file), "%s.unit", name);
	if (read_attr(l->pmu, "events/", file, text))
		strlcpy(l->event->unit, text, sizeof(l->event->unit));
	return 1;
}

/* Terms separated by commas; `inside` an event there are only fields. */
static int put_terms(const struct lookup *l, const char *terms, bool inside)
{
	char term[80], *val;
	size_t n;
	int rc;

	for (; *terms != '\0'; terms += n + (terms[n] == ',')) {
		n = strcspn(terms, ",");
		if (n == 0 || n >= sizeof(term))
			return bad(l, CPC_INVALID_EVENT, "a term is missing, or too long%s%s", "",
				   "");
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

/* Those of CPU cores tell user from kernel mode; others count whatever happens. */
static bool knows_modes(const struct lookup *l)
{
	char path[160];

	if (strcmp(l->pmu, "cpu") == 0)
		return true;
	snprintf(path, sizeof(path), DEVICES "/%s/cpus", l->pmu); /* one of several core types */
	return access(path, F_OK) == 0;
}

int cpci_event_sysfs(const char *name, uint_t flags, struct cpci_event *event,
		     struct cpci_diag *diag)
{
	struct lookup l = {.name = name, .event = event, .diag = diag};
	const char *slash = strchr(name, '/');
	char text[CPCI_PMU_TEXT];
	uint64_t type;
	size_t n;

	if (slash == NULL || slash == name || (size_t)(slash - name) >= sizeof(l.pmu))
		return 0;
	snprintf(l.pmu, sizeof(l.pmu), "%.*s", (int)(slash - name), name);
	if (l.pmu[0] == '.' || !read_attr(l.pmu, "", "type", text) ||
	    !cpci_parse_number(text, &type))
		return bad(&l, CPC_INVALID_EVENT, "the kernel has no PMU '%s' on this machine%s",
			   l.pmu, "");
	n = strlen(slash + 1);
	if (n < 2 || slash[n] != '/' || n > sizeof(text))
		return bad(&l, CPC_INVALID_EVENT, "write %s/term,.../%s", l.pmu, "");
	snprintf(text, sizeof(text), "%.*s", (int)(n - 1), slash + 1);
	event->nterms = 1;
	event->term[0] = (struct cpci_term){.type = (uint32_t)type};
	if (put_terms(&l, text, false) == -1)
		return -1;
	if (knows_modes(&l))
		cpci_term_modes(&event->term[0], flags);
	return 1;
}

/* Visits the names in a directory that do not begin with a dot. */
static void each_name(const char *path, void *arg, void (*visit)(void *arg, const char *name))
{
	DIR *dir = opendir(path);
	struct dirent *de;

	if (dir == NULL)
		return;
	while ((de = readdir(dir)) != NULL) {
		if (de->d_name[0] != '.')
			visit(arg, de->d_name);
	}
	closedir(dir);
}

struct find_pmu {
	uint32_t type;
	bool core; /* any PMU of CPU cores will do */
	char *name;
	bool found;
};

static void try_pmu(void *arg, const char *pmu)
{
	struct find_pmu *f = arg;
	char text[CPCI_PMU_TEXT];
	uint64_t type;

	if (f->found || strlen(pmu) >= CPCI_PMU_NAME || !read_attr(pmu, "", "type", text) ||
	    !cpci_parse_number(text, &type))
		return;
	if (type == f->type || (f->core && read_attr(pmu, "", "cpus", text))) {
		strlcpy(f->name, pmu, CPCI_PMU_NAME);
		f->found = true;
	}
}

bool cpci_sysfs_pmu(uint32_t type, char *name)
{
	/* Codes of the core PMU are of this type, whatever the PMU's own is (Arm). */
	struct find_pmu f = {.type = type, .core = type == PERF_TYPE_RAW, .name = name};

	each_name(DEVICES, &f, try_pmu);
	return f.found;
}

/* "0-3,8": is it one of them? */
static bool lists(const char *list, int cpu)
{
	char *end;

	for (const char *p = list;; p = end + 1) {
		long first = strtol(p, &end, 10), last = first;

		if (end == p)
			return false;
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (first <= cpu && cpu <= last)
			return true;
		if (*end != ',')
			return false;
	}
}

bool cpci_sysfs_counts_on(uint32_t type, int cpu)
{
	char pmu[CPCI_PMU_NAME], text[CPCI_PMU_TEXT];
	struct find_pmu f = {.type = type, .name = pmu};

	each_name(DEVICES, &f, try_pmu);
	if (!f.found)
		return true;
	if (read_attr(pmu, "", "cpumask", text) || read_attr(pmu, "", "cpus", text))
		return lists(text, cpu);
	return true;
}

void cpci_sysfs_walk_format(const char *pmu, void *arg,
			    void (*action)(void *arg, const char *field))
{
	char path[512];

	snprintf(path, sizeof(path), DEVICES "/%s/format", pmu);
	each_name(path, arg, action);
}

#if defined(__aarch64__)

/* The codes below 0x40, and from 0x4000 on, that the architecture gives to events. */
struct common {
	char pmu[CPCI_PMU_NAME];
	uint64_t low, high; /* a bit for each that some PMU here implements */
	bool any;
};

static void note_code(void *arg, const char *event)
{
	struct common *common = arg;
	char text[CPCI_PMU_TEXT];
	uint64_t code;

	if (!read_attr(common->pmu, "events/", event, text) || strncmp(text, "event=", 6) != 0 ||
	    !cpci_parse_number(text + 6, &code))
		return;
	common->any = true;
	if (code < 64)
		common->low |= 1ULL << code;
	else if (code >= 0x4000 && code < 0x4040)
		common->high |= 1ULL << (code - 0x4000);
}

static void note_pmu(void *arg, const char *pmu)
{
	struct common *common = arg;
	char path[512], text[CPCI_PMU_TEXT];

	if (!read_attr(pmu, "", "cpus", text) ||
	    strlcpy(common->pmu, pmu, sizeof(common->pmu)) >= sizeof(common->pmu))
		return;
	snprintf(path, sizeof(path), DEVICES "/%s/events", pmu);
	each_name(path, common, note_code);
}

static struct common common;

static void note_all(void)
{
	each_name(DEVICES, &common, note_pmu);
}

/*
 * A common event that the CPU does not have can be opened, and stays 0; but the kernel
 * names only those that it has (PMCEID0_EL0 of the Arm Architecture Reference Manual).
 */
bool cpci_sysfs_implements(const struct cpci_term *term)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t code = term->config & 0xffff;

	if (cpci_term_is_software(term) || term->type == PERF_TYPE_HARDWARE ||
	    term->type == PERF_TYPE_HW_CACHE)
		return true; /* the kernel looks itself */
	pthread_once(&once, note_all);
	if (!common.any)
		return true;
	if (code < 64)
		return (common.low >> code & 1) != 0;
	if (code >= 0x4000 && code < 0x4040)
		return (common.high >> (code - 0x4000) & 1) != 0;
	return true;
}

#else

bool cpci_sysfs_implements(const struct cpci_term *term)
{
	(void)term;
	return true; /* nobody tells */
}

#endif

struct visitor {
	char pmu[CPCI_PMU_NAME];
	void *arg;
	cpci_walk_fn *action;
};

static void visit_event(void *arg, const char *event)
{
	const struct visitor *v = arg;
	char name[512];

	if (strchr(event, '.') != NULL) /* an event's scale or unit */
		return;
	snprintf(name, sizeof(name), "%s/%s/", v->pmu, event);
	v->action(v->arg, name, "");
}

static void visit_pmu(void *arg, const char *pmu)
{
	struct visitor *v = arg;
	char path[512];

	if (strlcpy(v->pmu, pmu, sizeof(v->pmu)) >= sizeof(v->pmu))
		return;
	snprintf(path, sizeof(path), DEVICES "/%s/events", pmu);
	each_name(path, v, visit_event);
}

void cpci_sysfs_walk(void *arg, cpci_walk_fn *action)
{
	struct visitor v = {.arg = arg, .action = action};

	each_name(DEVICES, &v, visit_pmu);
}
