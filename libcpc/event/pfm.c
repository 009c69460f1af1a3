/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* pfm.c - events by the names of libpfm4. */
#include "event.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Do not include libpfm4's copy of linux/perf_event.h, which conflicts with the original. */
#define __PERFMON_PERF_EVENT_H__
#include <perfmon/pfmlib_perf_event.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int init_result; /* of pfm_initialize(); set once */

/* The stand-in for a CPU that libpfm4 has no tables for; set once. */
static const struct cpci_standin *standin;

/* CPC_CPUID names another CPU, so the core PMU that libpfm4 finds is not meant; set once. */
static bool other_cpu;

/* The core PMU of this machine, and libpfm4's description of it; set once. */
static pfm_pmu_info_t core_info;
static struct cpci_core_pmu core = {.desc = "unknown CPU"};

static bool get_pmu(pfm_pmu_t pmu, pfm_pmu_info_t *info)
{
	*info = (pfm_pmu_info_t){.size = sizeof(*info)};
	return pfm_get_pmu_info(pmu, info) == PFM_SUCCESS;
}

/* Is this PMU one of the machine's? */
static bool is_local_pmu(const pfm_pmu_info_t *pmu)
{
	if (pmu->type == PFM_PMU_TYPE_CORE && standin != NULL)
		return strcmp(pmu->name, standin->pmu) == 0;
	return pmu->is_present && !(pmu->type == PFM_PMU_TYPE_CORE && other_cpu);
}

/* Sets `core`.  False: libpfm4 has no tables for it. */
static bool find_core(void)
{
	pfm_pmu_t pmu;

	pfm_for_all_pmus(pmu) {
		if (!get_pmu(pmu, &core_info) || core_info.type != PFM_PMU_TYPE_CORE ||
		    !is_local_pmu(&core_info))
			continue;
		core.name = core_info.name;
		core.desc = standin != NULL ? standin->desc : core_info.desc;
		return true;
	}
	return false;
}

/* A variable of the environment makes libpfm4 use the tables of other CPUs, too. */
static void initialize(void)
{
	static const char variable[] = "LIBPFM_ENCODE_INACTIVE";
	bool forced = getenv("LIBPFM_FORCE_PMU") != NULL;
	bool given = forced || getenv(variable) != NULL;
	const struct cpci_standin *same = cpci_find_standin();

	init_result = pfm_initialize();
	if (init_result != PFM_SUCCESS)
		return;
	other_cpu = !given && cpci_cpuid_is_other();
	if (!find_core() && !given && same != NULL && setenv(variable, "1", 1) == 0) {
		standin = same;
		pfm_terminate();
		init_result = pfm_initialize();
		unsetenv(variable);
		find_core();
	}
	if (core.name != NULL && !forced && same != NULL && strcmp(same->pmu, core.name) != 0)
		core.alias = same->pmu;
}

/* Starts libpfm4 when it is first needed: where debugfs is mounted, it reads all tracepoints. */
static bool is_usable(void)
{
	pthread_once(&once, initialize);
	return init_result == PFM_SUCCESS;
}

/*
 * libpfm4 since Debian 13 looks for the kernel's PMU of some Arm CPUs by a list of names. The list
 * lacks armv8_pmuv3, the name in virtual machines: make the attr of the event's code.  Without any
 * PMU, perf_event_open(2) refuses it.
 */
static int encode_armv8(const char *name, int modes, struct perf_event_attr *attr)
{
	const uint64_t no_hv = 1u << 27, no_kernel = 1u << 30, no_user = 1u << 31;
	uint64_t code;
	pfm_pmu_encode_arg_t arg = {.codes = &code, .count = 1, .size = sizeof(arg)};
	uint32_t type;
	int rc;

	if (!cpci_pmu_type("armv8_pmuv3", &type) && cpci_perf_have_core_pmu())
		return PFM_ERR_NOTSUPP;
	rc = pfm_get_os_event_encoding(name, modes, PFM_OS_NONE, &arg);
	if (rc != PFM_SUCCESS)
		return PFM_ERR_NOTSUPP;
	attr->type = PERF_TYPE_RAW;
	attr->config = code & ~(no_hv | no_kernel | no_user);
	attr->exclude_kernel = (code & no_kernel) != 0;
	attr->exclude_user = (code & no_user) != 0;
	attr->exclude_guest = 1;
	return PFM_SUCCESS;
}

static int encode_event(const char *name, int modes, struct cpci_term *term)
{
	/* libpfm4 copies the whole attr, so it must not be larger than libpfm4's own. */
	struct perf_event_attr attr = {.size = PERF_ATTR_SIZE_VER1};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	int rc = pfm_get_os_event_encoding(name, modes, PFM_OS_PERF_EVENT, &arg);

	if (rc == PFM_ERR_NOTSUPP)
		rc = encode_armv8(name, modes, &attr);
	if (rc == PFM_SUCCESS)
		*term = (struct cpci_term){.attr = attr};
	return rc;
}

static bool is_named(const pfm_pmu_info_t *pmu, const char *name, size_t n)
{
	return strlen(pmu->name) == n && strncasecmp(pmu->name, name, n) == 0;
}

/* The length of an event's name before unit masks and modifiers, without the PMU's prefix. */
static size_t event_length(const char *name)
{
	return strcspn(name, ":.");
}

static const char *skip_pmu(const char *name)
{
	const char *colons = strstr(name, "::");

	return colons != NULL ? colons + 2 : name;
}

/* Does the PMU have an event of that name? */
static bool has_event(const pfm_pmu_info_t *pmu, const char *name)
{
	size_t n = event_length(name);
	pfm_event_info_t event;

	for (int i = pmu->first_event; i != -1; i = pfm_get_event_next(i)) {
		event = (pfm_event_info_t){.size = sizeof(event)};
		if (pfm_get_event_info(i, PFM_OS_NONE, &event) == PFM_SUCCESS &&
		    strlen(event.name) == n && strncasecmp(event.name, name, n) == 0)
			return true;
	}
	return false;
}

/*
 * With a stand-in, libpfm4 knows the events of all CPUs if a PMU is named, and otherwise
 * those of the CPU that it runs on.  For an event of the stand-in, `full` is the name with
 * its prefix.  False: the event is another CPU's.
 */
static bool is_local_event(const char *name, char *full, size_t size)
{
	const char *event = skip_pmu(name);
	size_t n = event == name ? 0 : (size_t)(event - name) - 2;
	bool is_elsewhere = false;
	pfm_pmu_info_t info;
	pfm_pmu_t pmu;

	if (strlcpy(full, name, size) >= size || (standin == NULL && !other_cpu))
		return true;
	if (n == 0 && standin != NULL && core.name != NULL && has_event(&core_info, event)) {
		snprintf(full, size, "%s::%s", standin->pmu, event);
		return true;
	}
	pfm_for_all_pmus(pmu) {
		if (!get_pmu(pmu, &info) || (n > 0 ? !is_named(&info, name, n)
						   : !info.is_present || !has_event(&info, event)))
			continue;
		if (is_local_pmu(&info))
			return true;
		is_elsewhere = true;
	}
	return !is_elsewhere;
}

bool cpci_pfm_elsewhere(const char *name, const char **desc)
{
	const char *event = skip_pmu(name);
	size_t n = event == name ? 0 : (size_t)(event - name) - 2;
	pfm_pmu_info_t info;
	pfm_pmu_t pmu;

	if (!is_usable())
		return false;
	pfm_for_all_pmus(pmu) {
		if (!get_pmu(pmu, &info) || is_local_pmu(&info) ||
		    (n > 0 && !is_named(&info, name, n)) || !has_event(&info, event))
			continue;
		*desc = info.desc;
		return true;
	}
	return false;
}

struct names {
	pfm_event_info_t event;
	const char *part; /* the unit mask or modifier to find */
	size_t n;
	bool found;
	char list[160]; /* all of them, as far as they fit */
};

static void list_name(struct names *names, const pfm_event_attr_info_t *attr)
{
	size_t used = strlen(names->list), room = sizeof(names->list) - used;

	if (used + 8 < sizeof(names->list) &&
	    (size_t)snprintf(names->list + used, room, "%s%s%s", used > 0 ? ", " : "", attr->name,
			     attr->type == PFM_ATTR_MOD_INTEGER ? "=" : "") >= room)
		snprintf(names->list + used, room, ", ...");
}

/* Looks up one unit mask or modifier of the event. */
static void look_up(struct names *names)
{
	pfm_event_attr_info_t attr;
	int i;

	names->list[0] = '\0';
	names->found = false;
	pfm_for_each_event_attr(i, &names->event)
	{
		attr = (pfm_event_attr_info_t){.size = sizeof(attr)};
		if (pfm_get_event_attr_info(names->event.idx, i, PFM_OS_PERF_EVENT, &attr) !=
		    PFM_SUCCESS)
			continue;
		list_name(names, &attr);
		names->found |= strlen(attr.name) == names->n &&
				strncasecmp(attr.name, names->part, names->n) == 0;
	}
}

/* Explains an error: libpfm4 only reports that some unit mask or modifier is wrong. */
static int explain(const char *name, int rc, struct cpci_diag *diag)
{
	struct names names = {.event = {.size = sizeof(names.event)}};
	const char *part = skip_pmu(name);
	char base[200];
	int idx;

	part += event_length(part);
	snprintf(base, sizeof(base), "%.*s", (int)(part - name), name);
	idx = pfm_find_event(base);
	if (idx < 0 || pfm_get_event_info(idx, PFM_OS_PERF_EVENT, &names.event) != PFM_SUCCESS)
		return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "invalid event '%s': %s", name,
				 pfm_strerror(rc));
	for (; *part != '\0'; part += event_length(part)) {
		names.part = ++part;
		names.n = strcspn(part, ":.=");
		look_up(&names);
		if (!names.found && cpci_event_precise(name, names.part, names.n, diag))
			return -1;
		if (!names.found)
			return cpci_diag(
				diag, EINVAL, CPC_INVALID_EVENT,
				"invalid event '%s': '%s' has no unit mask or modifier '%.*s'; it "
				"has: %s",
				name, base, (int)names.n, names.part, names.list);
	}
	look_up(&names);
	return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			 "invalid event '%s': %s; unit masks and modifiers of '%s' are: %s", name,
			 pfm_strerror(rc), base, names.list);
}

/* Does it begin with the name of a tracepoint system and a colon? */
static bool is_tracepoint(const char *name)
{
	const size_t n = strcspn(name, ":");
	char path[128];
	int tracefs;

	/* Two colons follow the name of a PMU. */
	if (n == 0 || n > sizeof(path) / 2 || name[n] == '\0' || name[n + 1] == ':')
		return false;
	snprintf(path, sizeof(path), "events/%.*s", (int)n, name);
	tracefs = cpci_tracefs();
	return tracefs != -1 && faccessat(tracefs, path, F_OK, 0) == 0;
}

/* The kernel's names of PMUs end in `kernel` where libpfm4's names begin with `pfm`. */
static const struct {
	const char *pfm, *kernel;
} families[] = {
	{"adl_glc", "cpu_core"},  {"adl_grt", "cpu_atom"},  {"arm_ac", "_cortex_a"},
	{"arm_n", "_neoverse_n"}, {"arm_v", "_neoverse_v"},
};

/* Does libpfm4 call this kind of cores as the first `n` bytes of `prefix`? */
static bool is_kind(const struct cpci_core *kind, const char *prefix, size_t n)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		const size_t common = strlen(families[i].pfm);
		const char *rest = strstr(kind->name, families[i].kernel);

		if (n < common || rest == NULL || strncasecmp(prefix, families[i].pfm, common) != 0)
			continue;
		rest += strlen(families[i].kernel);
		if (strlen(rest) == n - common &&
		    strncasecmp(prefix + common, rest, n - common) == 0)
			return true;
	}
	return false;
}

/* An event with the name of a PMU, "arm_ac57::CPU_CYCLES", counts on this kind of cores only. */
static void keep_kind(const char *name, struct cpci_term *term)
{
	const struct cpci_cores *all = cpci_cores();
	const char *event = skip_pmu(name);

	for (size_t k = 0; event != name && all->n > 1 && k < all->n; k++) {
		if (!is_kind(&all->core[k], name, (size_t)(event - name) - 2))
			continue;
		term->attr.type = all->core[k].type;
		term->one_pmu = true;
	}
}

/* libpfm4 takes "read" for the raw code 0xead.  A code without a digit is a word. */
static bool is_word_of_hex(const char *name)
{
	return name[0] == 'r' && name[1 + strspn(name + 1, "abcdefABCDEF")] == '\0';
}

int cpci_event_pfm(const char *name, uint_t flags, struct cpci_event *event, struct cpci_diag *diag)
{
	struct cpci_term term;
	int modes = 0, rc;
	char full[256];

	/*
	 * Skip names with a slash: other resolvers know them, but libpfm4 reports an error.
	 * The same is true of patterns of tracepoints, where debugfs is mounted.
	 */
	if (strchr(name, '/') != NULL || is_tracepoint(name) || !is_usable() ||
	    is_word_of_hex(name))
		return 0;
	/* Modes in the name itself (":k") override these. */
	if ((flags & CPC_COUNT_USER) != 0)
		modes |= PFM_PLM3;
	if ((flags & CPC_COUNT_SYSTEM) != 0)
		modes |= PFM_PLM0;
	if (!is_local_event(name, full, sizeof(full)))
		return 0;
	rc = encode_event(full, modes, &term);
	/* libpfm4 ignores case in tracepoints, unlike the kernel: leave them to tracepoint.c. */
	if (rc == PFM_SUCCESS && term.attr.type == PERF_TYPE_TRACEPOINT)
		return 0;
	if (rc == PFM_SUCCESS) {
		keep_kind(name, &term);
		return cpci_event_add(event, &term, diag) == 0 ? 1 : -1;
	}
	if (rc == PFM_ERR_NOTFOUND)
		return 0;
	return rc == PFM_ERR_NOMEM ? cpci_diag_nomem(diag) : explain(full, rc, diag);
}

const struct cpci_core_pmu *cpci_pfm_core(void)
{
	(void)is_usable();
	return &core;
}

typedef void visit_fn(const pfm_event_info_t *event, void *arg, cpci_walk_fn *action);

/* Visits the events of one PMU, in libpfm4's order. */
static void walk_pmu(const pfm_pmu_info_t *info, visit_fn *visit, void *arg, cpci_walk_fn *action)
{
	pfm_event_info_t event;

	for (int i = info->first_event; i != -1; i = pfm_get_event_next(i)) {
		event = (pfm_event_info_t){.size = sizeof(event)};
		if (pfm_get_event_info(i, PFM_OS_PERF_EVENT, &event) == PFM_SUCCESS)
			visit(&event, arg, action);
	}
}

/* Visits short names of generic events.  Skips tracepoints, and software events of kernel.c. */
static void visit_generic(const pfm_event_info_t *event, void *arg, cpci_walk_fn *action)
{
	char name[64];

	if (event->equiv == NULL || strlcpy(name, event->name, sizeof(name)) >= sizeof(name))
		return;
	for (char *c = name; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!cpci_software_has(name))
		action(arg, name, "");
}

void cpci_pfm_walk(void *arg, cpci_walk_fn *action)
{
	pfm_pmu_info_t info;

	if (is_usable() && get_pmu(PFM_PMU_PERF_EVENT, &info))
		walk_pmu(&info, visit_generic, arg, action);
}

/* Visits an event alone, and with each of its unit masks. */
static void visit_core(const pfm_event_info_t *event, void *arg, cpci_walk_fn *action)
{
	pfm_event_attr_info_t attr;
	char name[256];
	int i;

	action(arg, event->name, event->desc);
	pfm_for_each_event_attr(i, event)
	{
		attr = (pfm_event_attr_info_t){.size = sizeof(attr)};
		if (pfm_get_event_attr_info(event->idx, i, PFM_OS_PERF_EVENT, &attr) !=
			    PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		snprintf(name, sizeof(name), "%s:%s", event->name, attr.name);
		action(arg, name, attr.desc);
	}
}

void cpci_pfm_walk_prefix(const char *prefix, size_t n, void *arg, cpci_walk_fn *action)
{
	pfm_pmu_info_t info;
	pfm_pmu_t pmu;

	if (!is_usable())
		return;
	pfm_for_all_pmus(pmu) {
		if (get_pmu(pmu, &info) &&
		    (prefix != NULL ? is_named(&info, prefix, n)
				    : is_local_pmu(&info) && info.type == PFM_PMU_TYPE_CORE))
			walk_pmu(&info, visit_core, arg, action);
	}
}

void cpci_pfm_walk_core(void *arg, cpci_walk_fn *action)
{
	cpci_pfm_walk_prefix(NULL, 0, arg, action);
}
