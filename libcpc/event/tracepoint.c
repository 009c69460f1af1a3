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
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_WORD 128

struct lookup {
	const char *name; /* as the user wrote it */
	char system[MAX_WORD], event[MAX_WORD], filter[CPCI_MAX_SYMBOL];
	uint_t flags;
	struct cpci_event *to;
	struct cpci_diag *diag;
};

static bool is_word(const char *s, const char *others)
{
	const char *first = s;

	while (isalnum((unsigned char)*s) || (*s != '\0' && strchr(others, *s) != NULL))
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
 * Without tracefs: is the name to be refused as a tracepoint?  Not if it is an event of
 * another CPU, or a name or a number with ":u" or ":k".
 */
static bool looks_like_one(const struct lookup *look)
{
	for (const char *c = look->system; *c != '\0'; c++) {
		if (isupper((unsigned char)*c))
			return false;
	}
	return look->event[1] != '\0' || look->event[0] == '*';
}

static int open_dir(int tracefs, const char *system)
{
	char path[MAX_WORD + 16];

	snprintf(path, sizeof(path), "events/%s", system);
	return openat(tracefs, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Reads the id of an event in the directory of its system.  -1: none. */
static long read_id(int system, const char *event)
{
	char path[MAX_WORD + 16];

	snprintf(path, sizeof(path), "%s/id", event);
	return cpci_read_number_at(system, path, -1);
}

/* Adds a tracepoint.  1: added; 0: no such name; -1: see diag. */
static int add_tracepoint(const struct lookup *look, int system, const char *event)
{
	struct cpci_term term = {.attr.type = PERF_TYPE_TRACEPOINT};
	long id = read_id(system, event);

	if (id < 0)
		return 0;
	term.attr.config = (uint64_t)id;
	strlcpy(term.filter, look->filter, sizeof(term.filter));
	cpci_perf_set_modes(&term.attr, look->flags);
	return cpci_event_add(look->to, &term, look->diag) == 0 ? 1 : -1;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Visits the names in a directory, in order, until a visit does not return 0. */
static int each_name(int dir, int (*visit)(void *arg, const char *name), void *arg)
{
	struct dirent **names;
	char path[32];
	int n, rc = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	n = scandir(path, &names, NULL, by_name);
	for (int i = 0; i < n; i++) {
		if (rc == 0 && is_word(names[i]->d_name, "_-"))
			rc = visit(arg, names[i]->d_name);
		free(names[i]);
	}
	if (n != -1)
		free(names);
	return rc;
}

struct match {
	const struct lookup *look;
	int system;
};

static bool is_pattern(const char *event)
{
	return strpbrk(event, "*?[") != NULL;
}

/* Their counts are nanoseconds: a sum with hits of tracepoints would mean nothing. */
static bool counts_time(const char *event)
{
	return strncmp(event, "sched_stat_", strlen("sched_stat_")) == 0;
}

static int add_match(void *arg, const char *event)
{
	const struct match *match = arg;
	const char *pattern = match->look->event;

	if (fnmatch(pattern, event, 0) != 0 || counts_time(event) != counts_time(pattern))
		return 0;
	return add_tracepoint(match->look, match->system, event) == -1 ? -1 : 0;
}

static int try_name(void *arg, const char *name)
{
	cpci_suggest_try(arg, name);
	return 0;
}

/* The most similar name in a directory, or `name` itself. */
static const char *nearest(int dir, const char *name, struct cpci_suggest *suggest)
{
	cpci_suggest_start(suggest, name);
	each_name(dir, try_name, suggest);
	return suggest->best[0] != '\0' ? suggest->best : name;
}

/* Completes "write" to "sys_enter_write", and "switch" to "sched_switch".  False: no such event. */
static bool complete_name(int dir, const char *system, const char *word, char name[2 * MAX_WORD])
{
	const char *const prefixes[] = {"sys_enter", system};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		snprintf(name, 2 * MAX_WORD, "%s_%s", prefixes[i], word);
		if (strlen(name) < MAX_WORD && read_id(dir, name) != -1)
			return true;
	}
	return false;
}

/* Suggests a similar tracepoint.  -1: `diag` has it; 0: none. */
static int suggest_other(const struct lookup *look, int tracefs)
{
	struct cpci_suggest system, event;
	const char *in = look->system, *name = look->event;
	const char *filter = look->filter[0] != '\0' ? "/" : "";
	char whole[2 * MAX_WORD];
	int dir = open_dir(tracefs, in), events;
	bool there;

	if (dir == -1) {
		events = openat(tracefs, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (events == -1)
			return 0;
		in = nearest(events, look->system, &system);
		close(events);
		dir = open_dir(tracefs, in);
	}
	if (dir == -1)
		return 0;
	if (is_pattern(name)) {
		close(dir);
		cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			  "unknown event '%s': no tracepoint of '%s' matches '%s'", look->name, in,
			  name);
		return -1;
	}
	if (complete_name(dir, in, name, whole))
		name = whole;
	else if (read_id(dir, name) == -1)
		name = nearest(dir, look->event, &event);
	there = read_id(dir, name) != -1;
	close(dir);
	if (!there || (name == look->event && in == look->system))
		return 0;
	cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
		  "unknown event '%s' (did you mean '%s:%s%s%s%s'?)", look->name, in, name, filter,
		  look->filter, filter);
	return -1;
}

static int cannot_read(const struct lookup *look, int err)
{
	if (err == EACCES)
		cpci_diag(look->diag, EACCES, CPC_RESOURCE_UNAVAIL,
			  "cannot look up tracepoint '%s': %s may be read by root only; "
			  "root can open it with: mount -o remount,mode=755 %s",
			  look->name, CPCI_TRACEFS, CPCI_TRACEFS);
	else
		cpci_diag(look->diag, ENOENT, CPC_RESOURCE_UNAVAIL,
			  "cannot look up tracepoint '%s': tracefs is not mounted; root can mount "
			  "it with: mount -t tracefs tracefs %s",
			  look->name, CPCI_TRACEFS);
	return -1;
}

struct meant {
	int tracefs;
	const char *word;
	char *name;
	size_t size;
};

static int try_system(void *arg, const char *system)
{
	const struct meant *meant = arg;
	int dir = open_dir(meant->tracefs, system);
	const char *prefix = "";
	bool found;

	if (dir == -1) /* a file */
		return 0;
	snprintf(meant->name, meant->size, "sys_enter_%s", meant->word);
	found = read_id(dir, meant->word) != -1;
	if (!found && strcmp(system, "syscalls") == 0 && read_id(dir, meant->name) != -1) {
		prefix = "sys_enter_";
		found = true;
	}
	close(dir);
	snprintf(meant->name, meant->size, "%s:%s%s", system, prefix, meant->word);
	return found;
}

/* Is it the name of a system?  Then suggests its tracepoints, or one that all system calls hit. */
static bool is_system(int events, const char *word, char *name, size_t size)
{
	struct stat st;

	if (fstatat(events, word, &st, 0) == -1 || !S_ISDIR(st.st_mode))
		return false;
	if (strcmp(word, "syscalls") == 0)
		strlcpy(name, "raw_syscalls:sys_enter", size);
	else
		snprintf(name, size, "%s:*", word);
	return true;
}

bool cpci_tracepoint_meant(const char *word, char *name, size_t size)
{
	struct meant meant = {.tracefs = -1, .word = word, .name = name, .size = size};
	int events;
	bool found;

	if (is_word(word, "_-") && strlen(word) < MAX_WORD)
		meant.tracefs = cpci_tracefs();
	if (meant.tracefs == -1)
		return false;
	events = openat(meant.tracefs, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (events == -1)
		return false;
	found = each_name(events, try_system, &meant) == 1 || is_system(events, word, name, size);
	close(events);
	return found;
}

int cpci_event_tracepoint(const char *name, uint_t flags, struct cpci_event *event,
			  struct cpci_diag *diag)
{
	struct lookup look = {.name = name, .flags = flags, .to = event, .diag = diag};
	struct match match = {.look = &look};
	int tracefs, rc = 0;

	if (is_code(name) || !split(&look))
		return 0;
	tracefs = cpci_tracefs();
	if (tracefs == -1)
		return looks_like_one(&look) ? cannot_read(&look, errno) : 0;
	match.system = open_dir(tracefs, look.system);
	if (match.system != -1) {
		rc = is_pattern(look.event) ? each_name(match.system, add_match, &match)
					    : add_tracepoint(&look, match.system, look.event);
		close(match.system);
	}
	if (rc == 0 && event->nterms == 0)
		return suggest_other(&look, tracefs);
	return rc == -1 ? -1 : 1;
}

bool cpci_tracepoint_is_own(const struct perf_event_attr *attr)
{
	static const struct {
		const char *system, *event;
	} own[] = {
		{"raw_syscalls", "sys_enter"},
		{"raw_syscalls", "sys_exit"},
		{"syscalls", "sys_enter_ioctl"},
		{"syscalls", "sys_exit_ioctl"},
		{"syscalls", "sys_enter_rt_sigprocmask"},
		{"syscalls", "sys_exit_rt_sigprocmask"},
		{"syscalls", "sys_enter_rt_sigreturn"},
		{"syscalls", "sys_exit_rt_sigreturn"},
		/*
		 * An IPI to the CPU itself, and FPU registers, which restarting a set can
		 * cause.
		 */
		{"csd", "csd_function_entry"},
		{"csd", "csd_function_exit"},
		{"x86_fpu", "x86_fpu_regs_activated"},
	};
	int tracefs = attr->type == PERF_TYPE_TRACEPOINT ? cpci_tracefs() : -1;
	bool is = false;

	for (size_t i = 0; tracefs != -1 && !is && i < sizeof(own) / sizeof(*own); i++) {
		int system = open_dir(tracefs, own[i].system);
		long id = system != -1 ? read_id(system, own[i].event) : -1;

		if (system != -1)
			close(system);
		is = id >= 0 && (uint64_t)id == attr->config;
	}
	return is;
}

struct visitor {
	int events, system;
	const char *name;
	void *arg;
	cpci_walk_fn *action;
};

static int visit_event(void *arg, const char *event)
{
	const struct visitor *v = arg;
	char name[2 * MAX_WORD + 2], path[MAX_WORD + 16];

	snprintf(path, sizeof(path), "%s/id", event);
	if (strlen(event) >= MAX_WORD || faccessat(v->system, path, F_OK, 0) == -1)
		return 0;
	snprintf(name, sizeof(name), "%s:%s", v->name, event);
	v->action(v->arg, name, "");
	return 0;
}

static int visit_system(void *arg, const char *system)
{
	struct visitor *v = arg;

	v->name = system;
	v->system = strlen(system) < MAX_WORD
			    ? openat(v->events, system, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			    : -1;
	if (v->system == -1) /* a file */
		return 0;
	each_name(v->system, visit_event, v);
	close(v->system);
	return 0;
}

void cpci_tracepoint_walk(void *arg, cpci_walk_fn *action)
{
	struct visitor v = {.arg = arg, .action = action};
	int tracefs = cpci_tracefs();

	if (tracefs == -1)
		return;
	v.events = openat(tracefs, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (v.events == -1)
		return;
	each_name(v.events, visit_system, &v);
	close(v.events);
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

/* Makes the path of a file of the tracepoint "system:event", below tracefs. */
static void event_path(const char *name, const char *file, char *path, size_t size)
{
	const int system = (int)strcspn(name, ":");

	snprintf(path, size, "events/%.*s/%s/%s", system, name, name + system + 1, file);
}

struct numbered {
	uint64_t id;
	char *name;
	size_t size;
};

static void try_id(void *arg, const char *name, const char *desc)
{
	const struct numbered *numbered = arg;
	char path[2 * MAX_WORD + 32];

	(void)desc;
	event_path(name, "id", path, sizeof(path));
	if (*numbered->name == '\0' &&
	    cpci_read_number_at(cpci_tracefs(), path, -1) == (long)numbered->id)
		strlcpy(numbered->name, name, numbered->size);
}

bool cpci_tracepoint_name(const struct perf_event_attr *attr, char *name, size_t size)
{
	struct numbered numbered = {.id = attr->config, .name = name, .size = size};

	*name = '\0';
	cpci_tracepoint_walk(&numbered, try_id);
	return *name != '\0';
}

void cpci_tracepoint_fields(const char *name, char *fields, size_t size)
{
	size_t room = 0, used = 0;
	char path[2 * MAX_WORD + 32], *line = NULL;
	FILE *f;
	int fd;

	*fields = '\0';
	event_path(name, "format", path, sizeof(path));
	fd = openat(cpci_tracefs(), path, O_RDONLY | O_CLOEXEC);
	f = fd != -1 ? fdopen(fd, "r") : NULL;
	if (f == NULL && fd != -1)
		close(fd);
	/* "	field:char comm[16];	offset:8;	size:16;	signed:0;" */
	while (f != NULL && getline(&line, &room, f) > 0) {
		char *field = strstr(line, "field:");
		int n;

		if (field == NULL)
			continue;
		field[strcspn(field, ";[")] = '\0';
		field = strrchr(field, ' ');
		if (field == NULL || strncmp(field + 1, "common_", 7) == 0)
			continue;
		n = snprintf(fields + used, size - used, "%s%s", used > 0 ? ", " : "", field + 1);
		if (n < 0 || (size_t)n >= size - used)
			break;
		used += (size_t)n;
	}
	free(line);
	if (f != NULL)
		fclose(f);
}
