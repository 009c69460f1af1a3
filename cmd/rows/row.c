/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * row.c - words, times and ratios of the row model.
 */
#include "row.h"

#include "../base/say.h"
#include "../base/spec.h"
#include "../base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const kind_names[ROW_KINDS] = {
	[ROW_TICK] = "tick",	     [ROW_INIT_LWP] = "init_lwp",
	[ROW_FINI_LWP] = "fini_lwp", [ROW_LWP_CREATE] = "lwp_create",
	[ROW_LWP_EXIT] = "lwp_exit", [ROW_FORK] = "fork",
	[ROW_EXEC] = "exec",	     [ROW_IMAGE] = "image",
	[ROW_EXIT] = "exit",	     [ROW_DETACH] = "detach",
	[ROW_TOTAL] = "total",	     [ROW_SUM] = "sum",
};

static const char *const scope_names[SCOPES] = {
	[SCOPE_NONE] = "",
	[SCOPE_LWP] = "lwp",
	[SCOPE_PROCESS] = "process",
	[SCOPE_CPU] = "cpu",
	[SCOPE_CORE] = "core",
	[SCOPE_SOCKET] = "socket",
	[SCOPE_NODE] = "node",
	[SCOPE_KIND] = "kind",
	[SCOPE_ALL] = "all",
	[SCOPE_COMMAND] = "command",
	[SCOPE_CGROUP] = "cgroup",
	[SCOPE_SERVICE] = "service",
	[SCOPE_CONTAINER] = "container",
	[SCOPE_USER] = "user",
};

static const char *const key_kind_names[KEY_KINDS] = {
	[KEY_NAME] = "name", [KEY_IDLE] = "idle",     [KEY_KERNEL] = "kernel",
	[KEY_NONE] = "none", [KEY_OTHERS] = "others", [KEY_UNKNOWN] = "unknown",
};

static const char *const fixed_keys[KEY_KINDS] = {
	[KEY_NAME] = "",       [KEY_IDLE] = "(idle)",	  [KEY_KERNEL] = "(kernel)",
	[KEY_NONE] = "(none)", [KEY_OTHERS] = "(others)", [KEY_UNKNOWN] = "(unknown)",
};

static const char *const side_names[] = {[SIDE_NONE] = "", [SIDE_OLD] = "old", [SIDE_NEW] = "new"};

static int find_name(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++) {
		if (strcmp(names[i], name) == 0)
			return i;
	}
	return -1;
}

const char *row_kind_name(enum row_kind kind)
{
	return kind_names[kind];
}

int row_kind_parse(const char *name)
{
	return find_name(kind_names, ROW_KINDS, name);
}

const char *scope_name(enum scope scope)
{
	return scope_names[scope];
}

const char *scope_member(enum scope scope)
{
	return scope == SCOPE_KIND ? "pmu" : scope_names[scope];
}

enum scope scope_parse(const char *name)
{
	int scope = find_name(scope_names, SCOPES, name);

	return scope != -1 ? (enum scope)scope : SCOPE_NONE;
}

const char *row_word(const char *word)
{
	static const struct synonym words[] = {
		{"thread", "lwp"},
		{"tid", "lwp"},
		{"pid", "process"},
		{"tgid", "process"},
		{"comm", "command"},
		{"cmd", "command"},
		{"program", "command"},
		{"uid", "user"},
		{"unit", "service"},
		{"docker", "container"},
		{"cor", "core"}, /* as on Solaris */
		{"soc", "socket"},
		{"package", "socket"},
		{"numa", "node"},
		{"pmu", "kind"},
		{0},
	};
	const char *here = synonym_find(words, word);

	return here != NULL ? here : word;
}

const char *run_side_name(enum run_side side)
{
	return side_names[side];
}

int run_side_parse(const char *name)
{
	int side = find_name(side_names, sizeof(side_names) / sizeof(*side_names), name);

	return side == SIDE_NONE ? -1 : side;
}

void iso_time(char text[ISO_TIME_SIZE], int64_t ns)
{
	time_t s = (time_t)(ns / NSEC - (ns % NSEC < 0));
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(text, ISO_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, ISO_TIME_SIZE - n, ".%09dZ", (int)(ns - s * NSEC));
}

bool iso_time_parse(const char *text, int64_t *ns)
{
	char canonical[ISO_TIME_SIZE];
	struct tm tm = {0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (end == NULL || *end != '.' || strlen(end) != strlen(".123456789Z"))
		return false;
	/* Later years do not fit in 64 bits of nanoseconds. */
	if (tm.tm_year < 0 || tm.tm_year > 300)
		return false;
	*ns = timegm(&tm) * NSEC + strtol(end + 1, NULL, 10);
	iso_time(canonical, *ns);
	return strcmp(canonical, text) == 0; /* refuses the 31st of February, too */
}

const char *key_kind_name(enum key_kind kind)
{
	return key_kind_names[kind];
}

int key_kind_parse(const char *name)
{
	return find_name(key_kind_names, KEY_KINDS, name);
}

const char *key_fixed_text(enum key_kind kind)
{
	return fixed_keys[kind];
}

enum key_kind key_kind_of_text(const char *text)
{
	int kind = find_name(fixed_keys, KEY_KINDS, text);

	return kind != -1 ? (enum key_kind)kind : KEY_NAME;
}

void row_set_fixed_key(struct row *row, enum key_kind kind)
{
	row->key = fixed_keys[kind];
	row->key_kind = kind;
}

char *row_key_text(const struct row *row, enum escape how)
{
	char *text, *rest;

	if (row->key_kind != KEY_NAME)
		return xstrdup(row->key);
	if (*row->key == '\0')
		return xstrdup("(empty)");
	if (*row->key != '(')
		return escaped(row->key, how);
	rest = escaped(row->key + 1, how);
	text = xasprintf("\\050%s", rest); /* as vis(3) escapes it */
	free(rest);
	return text;
}

static bool is_named(const struct run_event *event, const char *name)
{
	const size_t n = strlen(name);

	/* Modes can follow: "task-clock:u". */
	return strncmp(event->name, name, n) == 0 &&
	       (event->name[n] == '\0' || event->name[n] == ':');
}

bool run_event_is_clock(const struct run_event *event)
{
	return *event->unit == '\0' &&
	       (is_named(event, "task-clock") || is_named(event, "cpu-clock") ||
		is_named(event, "busy-time") || is_named(event, "run-delay") ||
		is_named(event, "throttled-time"));
}

bool run_event_is_wait(const struct run_event *event)
{
	return run_event_is_clock(event) && is_named(event, "run-delay");
}

bool run_event_is_cpu_time(const struct run_event *event)
{
	return run_event_is_clock(event) && !run_event_is_wait(event) &&
	       !is_named(event, "throttled-time");
}

double row_ratio(const struct run *run, const struct row *row, unsigned i)
{
	const struct run_set *set = &run->set[row->set];
	const struct run_ratio *ratio = &set->ratio[i];
	long double count[RUN_MAX_EVENTS];

	for (unsigned k = 0; k < cpc_ratio_nevents(ratio->ratio); k++) {
		unsigned at = ratio->event[k];
		const struct run_event *event = &set->event[at];

		if ((row->valid >> at & 1) == 0)
			return (double)NAN;
		count[k] = event->is_signed ? (long double)(int64_t)row->val[at]
					    : (long double)row->val[at];
		count[k] *= (long double)event->scale;
	}
	return cpc_ratio_value(ratio->ratio, count);
}

void row_copy_texts(struct row *row)
{
	row->comm = copy_text(row->comm);
	row->key = copy_text(row->key);
	row->user = copy_text(row->user);
	row->container = copy_text(row->container);
	row->pod = copy_text(row->pod);
	row->outer = copy_text(row->outer);
	row->command = copy_text(row->command);
}

void row_free_texts(struct row *row)
{
	free((char *)row->comm);
	free((char *)row->key);
	free((char *)row->user);
	free((char *)row->container);
	free((char *)row->pod);
	free((char *)row->outer);
	free((char *)row->command);
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

struct row row_object(const struct row *row)
{
	return (struct row){
		.scope = row->scope,
		.id = row->id,
		.key = row->key,
		.key_kind = row->key_kind,
		.container = row->container,
		.pod = row->pod,
		.outer = row->outer,
	};
}

int row_compare(const struct row *a, const struct row *b)
{
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->lwp != b->lwp)
		return a->lwp < b->lwp ? -1 : 1;
	if (a->key_kind != b->key_kind)
		return a->key_kind == KEY_NAME	 ? 1
		       : b->key_kind == KEY_NAME ? -1
						 : (int)a->key_kind - (int)b->key_kind;
	if (compare_texts(a->key, b->key) != 0)
		return compare_texts(a->key, b->key);
	return compare_texts(a->comm, b->comm);
}

bool run_find_kinds(struct run *run)
{
	const struct run_cpu *first[RUN_MAX_KINDS];
	size_t n = 0;

	for (size_t i = 0; i < run->ncpus; i++) {
		struct run_cpu *cpu = &run->cpu[i];
		size_t k = 0;

		while (k < n && compare_texts(first[k]->pmu, cpu->pmu) != 0)
			k++;
		if (k == RUN_MAX_KINDS)
			return false;
		if (k == n)
			first[n++] = cpu;
		cpu->kind = first[k]->id;
	}
	return true;
}

int run_find_event(const struct run_set *set, const char *label)
{
	for (unsigned i = 0; i < set->nevents; i++) {
		if (strcmp(set->event[i].label, label) == 0)
			return (int)i;
	}
	return -1;
}

int run_find_ratio(const struct run_set *set, const char *label)
{
	for (unsigned i = 0; i < set->nratios; i++) {
		if (strcmp(set->ratio[i].label, label) == 0)
			return (int)i;
	}
	return -1;
}

char **run_copy_argv(char *const *argv)
{
	char **copy;
	size_t n = 0;

	while (argv[n] != NULL)
		n++;
	copy = xcalloc(n + 1, sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(argv[i]);
	return copy;
}

static void free_ratio(struct run_ratio *ratio)
{
	cpc_ratio_free(ratio->ratio);
	free(ratio->label);
	free(ratio->event);
}

void run_free(struct run *run)
{
	for (size_t i = 0; i < run->nsets; i++) {
		struct run_set *set = &run->set[i];

		for (unsigned j = 0; j < set->nevents; j++) {
			free(set->event[j].name);
			free(set->event[j].label);
			free(set->event[j].unit);
		}
		for (unsigned j = 0; j < set->nratios; j++)
			free_ratio(&set->ratio[j]);
		free(set->ratio);
		free(set->event);
		free(set->spec);
	}
	for (char **arg = run->argv; arg != NULL && *arg != NULL; arg++)
		free(*arg);
	free(run->argv);
	free(run->set);
	for (size_t i = 0; i < run->ncpus; i++)
		free(run->cpu[i].pmu);
	free(run->cpu);
	free(run->tool);
	free(run->host);
	free(run->cycles);
	free(run->engine);
	*run = (struct run){0};
}
