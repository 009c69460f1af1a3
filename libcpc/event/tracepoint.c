/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tracepoint.c - tracepoints of the kernel, from tracefs: "system:event"; as a sum of all
 * that match a pattern, "system:ev*"; and with a filter, "system:event/field<100/"
 * (Documentation/trace/events.rst).
 */
#include "event.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#define MAX_WORD 128

struct lookup {
	const char *name; /* as the user wrote it */
	char system[MAX_WORD], event[MAX_WORD], filter[CPCI_MAX_SYMBOL];
	uint_t flags;
	struct cpci_event *to;
	struct cpci_diag *diag;
	int rc; /* -1: see diag */
};

static bool is_word(const char *s, const char *extra)
{
	const char *first = s;

	while (isalnum((unsigned char)*s) || (*s != '\0' && strchr(extra, *s) != NULL))
		s++;
	return *s == '\0' && s > first;
}

/* A raw code with a modifier, such as "0x8:k", is not a tracepoint; "9p" is a system. */
static bool is_code(const char *name)
{
	return isdigit((unsigned char)*name) &&
	       name[strspn(name, "0123456789xXabcdefABCDEF")] == ':';
}

/* Splits "system:event" or "system:event/filter/".  False: it is neither. */
static bool split(struct lookup *look)
{
	const char *colon = strchr(look->name, ':'), *slash = strchr(look->name, '/');
	size_t n = slash != NULL ? (size_t)(slash - look->name) : strlen(look->name);
	size_t filter = slash != NULL ? strlen(slash + 1) : 0;

	if (colon == NULL || (slash != NULL && slash < colon) ||
	    (size_t)(colon - look->name) >= sizeof(look->system) ||
	    n - (size_t)(colon - look->name) > sizeof(look->event))
		return false;
	snprintf(look->system, sizeof(look->system), "%.*s", (int)(colon - look->name), look->name);
	snprintf(look->event, sizeof(look->event), "%.*s", (int)(look->name + n - colon - 1),
		 colon + 1);
	look->filter[0] = '\0';
	if (filter > 1 && slash[filter] == '/' && filter <= sizeof(look->filter))
		snprintf(look->filter, sizeof(look->filter), "%.*s", (int)filter - 1, slash + 1);
	return is_word(look->system, "_-") && is_word(look->event, "_-*?[]!") &&
	       (slash == NULL || look->filter[0] != '\0');
}

/*
 * Without tracefs, should the name be refused as a tracepoint?  Not if it may be an event of
 * another CPU, or a name or a number with ":u" or ":k".
 */
static bool looks_like_tracepoint(const struct lookup *look)
{
	for (const char *c = look->system; *c != '\0'; c++) {
		if (isupper((unsigned char)*c))
			return false;
	}
	return look->event[1] != '\0' || look->event[0] == '*';
}

/*
 * Visits the tracepoints that match patterns of glob(3), in order.  The path is in /proc/self, so
 * it finds none if /proc belongs to a PID namespace without this process.
 */
static void each_match(const char *system, const char *event, void *arg, cpci_walk_fn *visit)
{
	char path[3 * MAX_WORD];
	glob_t found = {0};

	snprintf(path, sizeof(path), "/proc/self/fd/%d/events/%s/%s/id", cpci_tracefs(), system,
		 event);
	glob(path, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *name = found.gl_pathv[i];

		*strrchr(name, '/') = '\0'; /* without "/id" */
		*strrchr(name, '/') = ':';
		visit(arg, strrchr(name, '/') + 1, "");
	}
	globfree(&found);
}

/* Reads the id of the tracepoint "system:event".  -1: none. */
static long read_id(const char *name)
{
	char path[2 * MAX_WORD + 32];

	cpci_tracepoint_path(name, "id", path, sizeof(path));
	return cpci_read_number_at(cpci_tracefs(), path, -1);
}

static bool is_pattern(const char *event)
{
	return strpbrk(event, "*?[") != NULL;
}

/* Does the tracepoint count nanoseconds?  A sum of these and of hits would mean nothing. */
static bool counts_time(const char *event)
{
	return strncmp(event, "sched_stat_", strlen("sched_stat_")) == 0;
}

/* Adds a tracepoint that matches the name. */
static void add_match(void *arg, const char *name, const char *desc)
{
	struct cpci_term term = {.attr.type = PERF_TYPE_TRACEPOINT};
	struct lookup *look = arg;
	long id = read_id(name);
	const char *why;
	size_t at;

	(void)desc;
	if (look->rc == -1 || id < 0 ||
	    counts_time(strchr(name, ':') + 1) != counts_time(look->event))
		return;
	why = look->filter[0] != '\0' ? cpci_filter_misleads(name, look->filter, &at) : NULL;
	if (why != NULL) {
		look->rc = cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
				     "invalid event '%s': at '%s': %s", look->name,
				     look->filter + at, why);
		return;
	}
	term.attr.config = (uint64_t)id;
	strlcpy(term.filter, look->filter, sizeof(term.filter));
	cpci_perf_set_modes(&term.attr, look->flags);
	look->rc = cpci_event_add(look->to, &term, look->diag);
}

/* The name of the first tracepoint that matches patterns.  False: "", none. */
static bool find_first(const char *system, const char *event, char *name, size_t size)
{
	struct cpci_first first = {.name = name, .size = size};

	*name = '\0';
	each_match(system, event, &first, cpci_take_first);
	return *name != '\0';
}

static bool is_system(const char *word)
{
	char name[2 * MAX_WORD];

	return find_first(word, "*", name, sizeof(name));
}

/* Suggests a system that has tracepoints. */
static void try_system(void *arg, const char *name, const char *desc)
{
	char system[MAX_WORD];

	(void)desc;
	snprintf(system, sizeof(system), "%.*s", (int)strcspn(name, ":"), name);
	cpci_suggest_try(arg, system);
}

/* Suggests an event of any system, with its system. */
static void try_event(void *arg, const char *name, const char *desc)
{
	struct cpci_suggest *suggest = arg;
	const char *event = strchr(name, ':') + 1;
	unsigned before = suggest->distance;

	(void)desc;
	cpci_suggest_try(suggest, event);
	if (suggest->distance < before)
		strlcpy(suggest->best, name, sizeof(suggest->best));
}

/*
 * Finds a tracepoint in a system: completes "write" to "sys_enter_write", and "switch" to
 * "sched_switch", or takes the event itself or a similar one.
 */
static void find_similar(const char *system, const char *event, char name[2 * MAX_WORD])
{
	const char *const prefixes[] = {"sys_enter", system};
	struct cpci_suggest suggest;
	char whole[2 * MAX_WORD];

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		snprintf(whole, sizeof(whole), "%s_%s", prefixes[i], event);
		if (find_first(system, whole, name, 2 * MAX_WORD))
			return;
	}
	if (find_first(system, event, name, 2 * MAX_WORD))
		return;
	cpci_suggest_start(&suggest, event);
	each_match(system, "*", &suggest, try_event);
	strlcpy(name, suggest.best, 2 * MAX_WORD);
}

/* Suggests a similar tracepoint.  -1: `diag` has it; 0: none. */
static int suggest_other(const struct lookup *look)
{
	const char *system = look->system, *filter = look->filter[0] != '\0' ? "/" : "";
	struct cpci_suggest suggest;
	char name[2 * MAX_WORD];

	if (!is_system(system)) {
		cpci_suggest_start(&suggest, system);
		each_match("*", "*", &suggest, try_system);
		system = suggest.best;
	}
	if (*system == '\0')
		return 0;
	if (is_pattern(look->event))
		return cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
				 "unknown event '%s': no tracepoint of '%s' matches '%s'",
				 look->name, system, look->event);
	find_similar(system, look->event, name);
	if (read_id(name) == -1)
		return 0;
	return cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			 "unknown event '%s' (did you mean '%s%s%s%s'?)", look->name, name, filter,
			 look->filter, filter);
}

static int cannot_read(const struct lookup *look, int err)
{
	if (err == EACCES)
		return cpci_diag(look->diag, EACCES, CPC_RESOURCE_UNAVAIL,
				 "cannot look up tracepoint '%s': %s may be read by root only; "
				 "root can open it with: mount -o remount,mode=755 %s",
				 look->name, CPCI_TRACEFS, CPCI_TRACEFS);
	return cpci_diag(look->diag, ENOENT, CPC_RESOURCE_UNAVAIL,
			 "cannot look up tracepoint '%s': tracefs is not mounted; root can mount "
			 "it with: mount -t tracefs tracefs %s",
			 look->name, CPCI_TRACEFS);
}

bool cpci_tracepoint_meant(const char *word, char *name, size_t size)
{
	char call[MAX_WORD + 16];

	if (!is_word(word, "_-") || strlen(word) >= MAX_WORD)
		return false;
	snprintf(call, sizeof(call), "sys_enter_%s", word);
	if (find_first("*", word, name, size) || find_first("syscalls", call, name, size))
		return true;
	if (!is_system(word))
		return false;
	/* Suggest its tracepoints, or one that all system calls hit. */
	if (strcmp(word, "syscalls") == 0)
		strlcpy(name, "raw_syscalls:sys_enter", size);
	else
		snprintf(name, size, "%s:*", word);
	return true;
}

int cpci_event_tracepoint(const char *name, uint_t flags, struct cpci_event *event,
			  struct cpci_diag *diag)
{
	struct lookup look = {.name = name, .flags = flags, .to = event, .diag = diag};
	char whole[2 * MAX_WORD];

	if (is_code(name) || !split(&look))
		return 0;
	if (cpci_tracefs() == -1)
		return looks_like_tracepoint(&look) ? cannot_read(&look, errno) : 0;
	snprintf(whole, sizeof(whole), "%s:%s", look.system, look.event);
	if (is_pattern(look.event))
		each_match(look.system, look.event, &look, add_match);
	else
		add_match(&look, whole, "");
	if (look.rc == 0 && event->nterms == 0)
		return suggest_other(&look);
	return look.rc == 0 ? 1 : -1;
}

bool cpci_tracepoint_is_own(const struct perf_event_attr *attr)
{
	static const char *const own[] = {
		"raw_syscalls:sys_enter",
		"raw_syscalls:sys_exit",
		"syscalls:sys_enter_ioctl",
		"syscalls:sys_exit_ioctl",
		"syscalls:sys_enter_rt_sigprocmask",
		"syscalls:sys_exit_rt_sigprocmask",
		"syscalls:sys_enter_rt_sigreturn",
		"syscalls:sys_exit_rt_sigreturn",
		/* An IPI to the CPU itself, and FPU registers, which restarting a set can cause. */
		"csd:csd_function_entry",
		"csd:csd_function_exit",
		"x86_fpu:x86_fpu_regs_activated",
	};

	if (attr->type != PERF_TYPE_TRACEPOINT)
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		if (read_id(own[i]) == (long)attr->config)
			return true;
	}
	return false;
}

void cpci_tracepoint_walk(void *arg, cpci_walk_fn *action)
{
	each_match("*", "*", arg, action);
}

bool cpci_tracepoint_near(const char *word, char *name, size_t size)
{
	struct cpci_suggest suggest;

	/* There are thousands of events: a short word would be similar to many. */
	if (!is_word(word, "_") || strchr(word, '_') == NULL)
		return false;
	cpci_suggest_start(&suggest, word);
	suggest.distance = 3;
	cpci_tracepoint_walk(&suggest, try_event);
	strlcpy(name, suggest.best, size);
	return suggest.best[0] != '\0';
}

struct numbered {
	uint64_t id;
	char *name;
	size_t size;
};

static void try_id(void *arg, const char *name, const char *desc)
{
	const struct numbered *numbered = arg;

	(void)desc;
	if (*numbered->name == '\0' && read_id(name) == (long)numbered->id)
		strlcpy(numbered->name, name, numbered->size);
}

bool cpci_tracepoint_name(const struct perf_event_attr *attr, char *name, size_t size)
{
	struct numbered numbered = {.id = attr->config, .name = name, .size = size};

	*name = '\0';
	cpci_tracepoint_walk(&numbered, try_id);
	return *name != '\0';
}
