/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * setgrp.c - the sets of a run.
 */
#include "setgrp.h"

#include "say.h"
#include "util.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add_request(cpc_t *cpc, cpc_set_t *set, const struct spec_req *req)
{
	cpc_attr_t *attrs = xcalloc(req->nattrs + 1, sizeof(*attrs));
	uint_t n = 0, flags = 0;
	char picnum[] = "picnum";
	int rc;

	for (size_t i = 0; i < req->nattrs; i++)
		attrs[n++] = (cpc_attr_t){req->attr[i].name, req->attr[i].val};
	if (req->placed)
		attrs[n++] = (cpc_attr_t){picnum, req->slot};
	if (!req->nouser)
		flags |= CPC_COUNT_USER;
	if (req->sys)
		flags |= CPC_COUNT_SYSTEM;
	rc = cpc_set_add_request(cpc, set, req->event, 0, flags, n, attrs);
	free(attrs);
	return rc;
}

/* The argument of the functions of struct spec_names. */
struct names {
	cpc_t *cpc;
	struct setgrp *grp;
	int status; /* an exit status after a message: a ratio is invalid */
};

static bool is_attr(void *arg, const char *name)
{
	return cpc_is_attr(((const struct names *)arg)->cpc, name) != 0;
}

/* Adds a ratio to those of the group.  NULL: not a ratio, or invalid: see `names->status`. */
static const cpc_ratio_t *add_ratio(struct names *names, const char *name)
{
	struct setgrp *grp = names->grp;
	cpc_ratio_t *ratio;

	if (cpc_name_kind(names->cpc, name) != CPC_NAME_RATIO)
		return NULL;
	ratio = cpc_ratio_find(names->cpc, name);
	if (ratio == NULL) {
		say("%s", cpcerr_text());
		names->status = cpcerr_is_usage() ? STATUS_USAGE : STATUS_FAILED;
		return NULL;
	}
	grp->ratio = xrealloc(grp->ratio, (grp->nratios + 1) * sizeof(*grp->ratio));
	grp->ratio[grp->nratios++] = (struct setgrp_ratio){xstrdup(name), ratio};
	return ratio;
}

static const char *ratio_event(void *arg, const char *name, size_t index)
{
	struct names *names = arg;
	const cpc_ratio_t *ratio = setgrp_ratio(names->grp, name);

	if (ratio == NULL && names->status == STATUS_OK)
		ratio = add_ratio(names, name);
	return ratio != NULL ? cpc_ratio_event(ratio, (uint_t)index) : NULL;
}

bool symbol_has_path(const char *symbol)
{
	return *symbol == '/';
}

/* The symbol is FILE:FUNCTION or FILE:PROVIDER:NAME; FILE may have colons. */
char *symbol_file(const char *symbol, struct stat *st)
{
	char *path = xstrdup(symbol), *colon;

	while ((colon = strrchr(path, ':')) != NULL) {
		*colon = '\0';
		if (stat(path, st) == 0)
			return path;
	}
	free(path);
	return NULL;
}

static void note_symbol(void *arg, int index, const char *symbol, uint64_t address)
{
	struct setgrp_set *set = arg;

	(void)index, (void)address;
	if (symbol_has_path(symbol))
		set->file_symbols = true;
	else
		set->symbols = true;
}

/* A clone that was reported, and its event. */
struct clone {
	struct clone *next;
	char *event, *name;
};

/* The clones of each function follow it in cpc_walk_symbols(3). */
struct clones {
	const struct setgrp_set *set;
	int index;
	char function[512];
};

static void note_clone(void *arg, int index, const char *symbol, uint64_t address)
{
	static struct clone *reported;
	struct clones *clones = arg;
	const size_t n = strlen(clones->function);
	const char *event = clones->set->spec.req[index].event;
	struct clone *clone = reported;

	(void)address;
	if (n == 0 || index != clones->index || strncmp(symbol, clones->function, n) != 0 ||
	    symbol[n] != '.') {
		strlcpy(clones->function, symbol, sizeof(clones->function));
		clones->index = index;
		return;
	}
	while (clone != NULL &&
	       (strcmp(clone->event, event) != 0 || strcmp(clone->name, symbol) != 0))
		clone = clone->next;
	if (clone != NULL)
		return;
	clone = xcalloc(1, sizeof(*clone));
	*clone = (struct clone){reported, xstrdup(event), xstrdup(symbol)};
	reported = clone;
	say("%s also counts '%s', a clone that the compiler made of the function", event, symbol);
}

void setgrp_report_clones(cpc_t *cpc, const struct setgrp_set *set, const cpc_set_t *bound)
{
	struct clones clones = {.set = set};

	if (set->symbols || set->file_symbols)
		cpc_walk_symbols(cpc, bound, &clones, note_clone);
}

/*
 * Events of other tools begin with their kind: "tracepoint:sched:sched_switch".  Our event is the
 * name between `before` and `after`; `before` NULL: we cannot count this kind.
 */
static const struct kind {
	const char *prefix, *before, *after;
	bool function;
} kinds[] = {
	{"tracepoint:", "", "", false},
	{"software:", "", "", false},
	{"hardware:", "", "", false},
	{"usdt:", "sdt/", "/", false},
	{"kprobe:", NULL, NULL, false},
	{"kretprobe:", NULL, NULL, false},
	{"breakpoint:", "uprobe/func=", "/", true},
	{"uprobe:", "uprobe/func=", "/", true},
	{"probe:", "uprobe/func=", "/", true},
	{"func:", "uprobe/func=", "/", true},
	{0},
};

/* The kind of an event, and its name without the kind, but with the path of a file; or NULL. */
static const struct kind *kind_of(const char *event, bool functions, const char **name)
{
	bool path;

	for (const struct kind *kind = kinds; kind->prefix != NULL; kind++) {
		size_t n = strlen(kind->prefix);

		if (strncmp(event, kind->prefix, n) != 0)
			continue;
		*name = event + n;
		path = **name == '/' && strchr(*name, ':') != NULL;
		if (!kind->function || path)
			return **name != '\0' ? kind : NULL;
		*name = strrchr(event, ':') + 1;
		return functions && is_identifier(*name) ? kind : NULL;
	}
	return NULL;
}

/* Events and attributes by words that other tools have for them. */
static const struct synonym words[] = {
	{"time", "task-clock"},
	{"cpu", "task-clock"},
	{"cpu-time", "task-clock"},
	{"cputime", "task-clock"},
	{"usage", "task-clock"},
	{"utilization", "task-clock"},
	{"load", "task-clock"},
	{"user", "task-clock"},
	{"user-time", "task-clock"},
	{"system-time", "task-clock"},
	{"switches", "context-switches"},
	{"csw", "context-switches"},
	{"cswch", "context-switches"},
	{"ctxsw", "context-switches"},
	{"wait", "run-delay"},
	{"wait-time", "run-delay"},
	{"cpu-wait", "run-delay"},
	{"run-wait", "run-delay"},
	{"runqueue", "run-delay"},
	{"runqlat", "run-delay"},
	{"sched-delay", "run-delay"},
	{"latency", "run-delay"},
	{"steal", "run-delay"},
	{"throttled", "throttled-time"},
	{"throttling", "throttled-time"},
	{"throttled_usec", "throttled-time"},
	{"nr_throttled", "throttled-time"},
	{"minflt", "minor-faults"},
	{"majflt", "major-faults"},
	{"instr", "instructions"},
	{"insn", "instructions"},
	{"insns", "instructions"},
	{"llc-misses", "cache-misses"},
	{"forks", "sched:sched_process_fork"},
	{"execs", "sched:sched_process_exec"},
	{"wakeups", "sched:sched_wakeup"},
	{"wakeup", "sched:sched_wakeup"},
	{"cycles_user", "Cycle_cnt"},
	{"signals", "signal:signal_generate"},
	{"interrupts", "irq:irq_handler_entry"},
	{"irq", "irq:irq_handler_entry"},
	{"io", "block:block_rq_issue"},
	{"disk", "block:block_rq_issue"},
	{"energy", "power/energy-pkg/"},
	{"energy-pkg", "power/energy-pkg/"},
	{"energy-cores", "power/energy-cores/"},
	{"energy-ram", "power/energy-ram/"},
	{"syscall", "raw_syscalls:sys_enter"},
	{"syscalls", "raw_syscalls:sys_enter"},
	{"kernel", "sys"},
	{"k", "sys"},
	{0},
};

/* What is said of such an event, or of such a word. */
static const struct synonym notes[] = {
	{"sched:sched_wakeup", " it counts for the LWP that wakes another one; context-switches "
			       "and run-delay count for the one that waited"},
	{"steal", " it counts waits inside this machine; vmstat(8) shows the steal of a "
		  "hypervisor"},
	{"Cycle_cnt", " it counts user mode, if neither sys nor nouser is given"},
	{0},
};

struct nearest {
	const char *word;
	char probe[256]; /* "provider:name"; "": no probe has a similar name */
};

static void try_probe(void *arg, enum cpc_event_group group, const char *event, const char *desc)
{
	struct nearest *nearest = arg;
	char probe[sizeof(nearest->probe)];
	const char *const both[] = {nearest->probe, probe};
	size_t n = strlen(event);

	(void)desc;
	if (group != CPC_GROUP_FUNCTION || strncmp(event, "sdt/", 4) != 0 || n > sizeof(probe) ||
	    strcmp(nearest->probe, nearest->word) == 0)
		return;
	snprintf(probe, sizeof(probe), "%.*s", (int)(n - 5), event + 4);
	if (strcmp(probe, nearest->word) == 0 || cpc_nearest(nearest->word, both, 2) == probe)
		strcpy(nearest->probe, probe);
}

/* Writes the end of a message: which ratio requires the event; "": none. */
static void describe_ratio(const struct spec *spec, size_t req, char *text, size_t size)
{
	*text = '\0';
	for (size_t i = 0; i < spec->nratios; i++) {
		for (size_t j = 0; j < spec->ratio[i].nevents; j++) {
			if (spec->ratio[i].req[j] == req)
				snprintf(text, size, "; ratio '%s' requires it",
					 spec->ratio[i].name);
		}
	}
}

/*
 * Reports why libcpc refused request `i`.  Adds or prefers a hint if the event looks like one of
 * another tool, an attribute, a program or a function.  Returns the exit status.
 */
static int refuse(cpc_t *cpc, const struct spec *spec, size_t i, bool functions)
{
	static const char *const modes[] = {"nouser", "sys"};
	const char *event = spec->req[i].event;
	struct nearest nearest = {.word = event};
	const char *mode = cpc_nearest(event, modes, sizeof(modes) / sizeof(*modes));
	const char *other = synonym_find(words, event), *name = event;
	const char *note = synonym_find(notes, event);
	const struct kind *kind = kind_of(event, functions, &name);
	char *why = xstrdup(cpcerr_text());
	int subcode = cpcerr_subcode();
	bool unknown = subcode == CPC_INVALID_EVENT && strcmp(event, modes[0]) != 0 &&
		       strcmp(event, modes[1]) != 0 &&
		       cpc_name_kind(cpc, event) == CPC_NAME_UNKNOWN;
	int status = cpcerr_is_usage() ? STATUS_USAGE : STATUS_FAILED;
	char ratio[128];

	if (unknown && strchr(event, ':') != NULL)
		cpc_walk_events_desc(cpc, &nearest, try_probe);
	if (note == NULL && other != NULL)
		note = synonym_find(notes, other);
	describe_ratio(spec, i, ratio, sizeof(ratio));
	if (*ratio != '\0') {
		say("%s%s", why, ratio);
	} else if (subcode == CPC_INVALID_EVENT && *event == '{') {
		say("unknown event '%s': the events of a -c count together, without braces", event);
	} else if (kind != NULL) {
		status = STATUS_USAGE;
		if (kind->before == NULL)
			say("unknown event '%s': functions of the kernel cannot be counted, but "
			    "tracepoints and system calls",
			    event);
		else
			say("unknown event '%s' (did you mean '%s%s%s'?)", event, kind->before,
			    name, kind->after);
	} else if (subcode == CPC_INVALID_EVENT && other != NULL) {
		say("unknown event '%s' (did you mean %s'%s'?%s)", event,
		    strchr(other, ':') != NULL ? "the tracepoint " : "", other,
		    note != NULL ? note : "");
	} else if (unknown && functions && is_program(event)) {
		say("unknown event '%s': it is a program, and -c is for events; cputrack -h lists "
		    "them",
		    event);
	} else if (nearest.probe[0] != '\0') {
		say("%s (did you mean 'sdt/%s/'?)", why, nearest.probe);
	} else if (mode != NULL && subcode == CPC_INVALID_EVENT) {
		say("unknown event '%s' (did you mean '%s'?)", event, mode);
	} else if (functions && unknown && is_identifier(event)) {
		say("%s; calls of a function: uprobe/func=%s/", why, event);
	} else if (unknown) {
		say("%s; %s -h lists the events", why, program_invocation_short_name);
	} else {
		say("%s", why);
	}
	free(why);
	return status;
}

int setgrp_parse(struct setgrp *grp, cpc_t *cpc, const char *text, struct spec *spec)
{
	struct names asked = {.cpc = cpc, .grp = grp};
	const struct spec_names names = {
		.is_attr = is_attr, .ratio_event = ratio_event, .arg = &asked};
	char why[256];
	int rc = spec_parse(text, &names, spec, why, sizeof(why));

	if (rc == 0 && asked.status != STATUS_OK)
		spec_free(spec);
	if (rc == 0 || asked.status != STATUS_OK)
		return asked.status;
	say("invalid event spec '%s': %s", text, why);
	return STATUS_USAGE;
}

cpc_set_t *setgrp_make(cpc_t *cpc, const struct spec *spec, size_t *bad)
{
	cpc_set_t *set = xmade(cpc_set_create(cpc));

	for (*bad = 0; *bad < spec->nreqs; ++*bad) {
		if (add_request(cpc, set, &spec->req[*bad]) == -1) {
			cpc_set_destroy(cpc, set);
			return NULL;
		}
	}
	return set;
}

/* Does it probe code, rather than setting a breakpoint in an LWP? */
static bool probes_code(const struct setgrp_set *set)
{
	bool found = false;

	for (size_t i = 0; i < set->spec.nreqs; i++)
		found |= strncmp(set->spec.req[i].event, "uprobe/", 7) == 0 ||
			 strncmp(set->spec.req[i].event, "sdt/", 4) == 0;
	return found;
}

static void describe(cpc_t *cpc, const struct setgrp *grp, const struct setgrp_set *set)
{
	char text[1024];

	for (size_t i = 0; i < set->spec.nreqs; i++) {
		if (cpc_set_describe(cpc, set->set, (int)i, text, sizeof(text)) == 0)
			say("%s", text);
	}
	for (size_t i = 0; i < set->spec.nratios; i++) {
		const char *name = set->spec.ratio[i].name;

		say("%s: ratio: %s", name, cpc_ratio_text(setgrp_ratio(grp, name)));
	}
	if (probes_code(set))
		say("caution: '%s' sets probes in code; a program that copies this code and runs "
		    "the copy is killed by the copied probe (SIGTRAP)",
		    set->text);
}

int setgrp_add_spec(struct setgrp *grp, cpc_t *cpc, char *text, struct spec *spec, bool debug)
{
	struct setgrp_set set = {.text = text, .spec = *spec, .system_only = true};
	size_t bad;
	int status;

	set.set = setgrp_make(cpc, spec, &bad);
	if (set.set == NULL) {
		status = refuse(cpc, spec, bad, grp->functions);
		spec_free(spec);
		free(text);
		return status;
	}
	*spec = (struct spec){0}; /* the set owns it */
	for (size_t i = 0; i < set.spec.nreqs; i++) {
		const struct spec_req *req = &set.spec.req[i];

		set.system_only = set.system_only && req->nouser && req->sys;
	}
	if (debug)
		describe(cpc, grp, &set);
	cpc_walk_symbols(cpc, set.set, &set, note_symbol);
	grp->set = xrealloc(grp->set, (grp->n + 1) * sizeof(*grp->set));
	grp->set[grp->n++] = set;
	return STATUS_OK;
}

const cpc_ratio_t *setgrp_ratio(const struct setgrp *grp, const char *name)
{
	for (size_t i = 0; i < grp->nratios; i++) {
		if (strcmp(grp->ratio[i].name, name) == 0)
			return grp->ratio[i].ratio;
	}
	return NULL;
}

unsigned setgrp_events(const struct setgrp *grp)
{
	size_t n = 0;

	for (size_t i = 0; i < grp->n; i++)
		n += grp->set[i].spec.nreqs;
	return (unsigned)n;
}

void setgrp_free(struct setgrp *grp)
{
	for (size_t i = 0; i < grp->n; i++) {
		spec_free(&grp->set[i].spec);
		free(grp->set[i].text);
	}
	for (size_t i = 0; i < grp->nratios; i++) {
		free(grp->ratio[i].name);
		cpc_ratio_free(grp->ratio[i].ratio);
	}
	free(grp->ratio);
	free(grp->set);
	*grp = (struct setgrp){0};
}
