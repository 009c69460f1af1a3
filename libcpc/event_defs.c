/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event_defs.c - event definitions: names that stand for other events.
 *
 *     name = event [+|- event]...  # description
 *
 * A line "[pmu,pmu]" begins a section for machines whose core PMU has one of these
 * libpfm4 names, "[*]" one for all.  The first definition that fits the machine wins.
 */
#include "cpc_impl.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_DEPTH 8 /* definitions in terms of definitions */

/* The shipped definitions, made of libcpc/events/ by the build. */
extern const char cpci_events_solaris[], cpci_events_generic[];

/* A line of a definition file, as it is read. */
struct reader {
	struct cpci_defs *defs;
	enum cpci_source source;
	const char *file;
	int line;
	bool here; /* the section is for this machine */
	bool arch; /* it is for some machines only */
	struct cpci_diag *diag;
};

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r", end[-1]) != NULL)
		*--end = '\0';
	return s;
}

static int bad(const struct reader *r, const char *what)
{
	cpci_diag(r->diag, EINVAL, CPC_INVALID_EVENT, "%s:%d: %s", r->file, r->line, what);
	return -1;
}

/* "skl,skx": is this machine's core PMU among them? */
static bool lists(const char *pmus, const char *mine)
{
	size_t n;

	for (const char *p = pmus; *p != '\0'; p += n + (p[n] == ',')) {
		n = strcspn(p, ",");
		if (mine != NULL && strlen(mine) == n && strncasecmp(p, mine, n) == 0)
			return true;
	}
	return false;
}

static int read_section(struct reader *r, char *line)
{
	size_t n = strlen(line);

	if (n < 3 || line[n - 1] != ']')
		return bad(r, "a section is [pmu,...] or [*]");
	line[n - 1] = '\0';
	r->arch = strcmp(line + 1, "*") != 0;
	r->here = !r->arch || lists(line + 1, r->defs->pmu);
	return 0;
}

static int add(struct reader *r, const char *name, const char *expr, const char *desc)
{
	struct cpci_defs *defs = r->defs;
	struct cpci_def *def;

	def = reallocarray(defs->def, defs->n + 1, sizeof(*def));
	if (def == NULL)
		return bad(r, strerror(ENOMEM));
	defs->def = def;
	def += defs->n;
	*def = (struct cpci_def){.source = r->source,
				 .line = r->line,
				 .arch = r->arch,
				 .here = r->here,
				 .file = strdup(r->file),
				 .name = strdup(name),
				 .expr = strdup(expr),
				 .desc = strdup(desc)};
	defs->n++;
	if (def->file == NULL || def->name == NULL || def->expr == NULL || def->desc == NULL)
		return bad(r, strerror(ENOMEM));
	return 0;
}

static int read_line(struct reader *r, char *line)
{
	char *hash = strchr(line, '#'), *desc = hash != NULL ? hash + 1 : line + strlen(line);
	char *eq, *name, *expr;

	if (hash != NULL)
		*hash = '\0';
	desc = trim(desc);
	line = trim(line);
	if (*line == '\0')
		return 0;
	if (*line == '[')
		return read_section(r, line);
	eq = strchr(line, '=');
	if (eq == NULL)
		return bad(r, "a definition is: name = event [+|- event]...  # description");
	*eq = '\0';
	name = trim(line);
	expr = trim(eq + 1);
	if (*name == '\0' || strpbrk(name, " \t,:/") != NULL)
		return bad(r, "the name of an event has no blanks, commas, colons and slashes");
	if (r->source == CPCI_DEF_USER && (cpci_attr_is(name) || isdigit((unsigned char)*name)))
		return bad(r, "the name of an event is not that of an attribute, nor a number");
	if (*expr == '\0')
		return bad(r, "an event is missing after '='");
	if (strchr(expr, ',') != NULL && strchr(expr, '/') == NULL)
		return bad(r,
			   "a definition has no attributes: \":k\" after a name of libpfm4 is for "
			   "kernel mode");
	return add(r, name, expr, desc);
}

/* Reads a whole text, which it changes. */
static int read_text(struct reader *r, char *text)
{
	char *next;

	r->here = true;
	r->arch = false;
	for (r->line = 1; text != NULL; r->line++, text = next) {
		next = strchr(text, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (read_line(r, text) == -1)
			return -1;
	}
	return 0;
}

static int read_builtin(struct reader *r, const char *file, enum cpci_source source,
			const char *text)
{
	char *copy = strdup(text);
	int rc;

	if (copy == NULL)
		return bad(r, strerror(ENOMEM));
	r->file = file;
	r->source = source;
	rc = read_text(r, copy);
	free(copy);
	return rc;
}

/* A file of the user's; one that is not there is no error unless it `must` be. */
static int read_file(struct reader *r, const char *path, bool must)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = fopen(path, "re");
	int rc = 0;

	r->file = path;
	r->line = 0;
	r->source = CPCI_DEF_USER;
	if (f == NULL) {
		/* HOME may be another user's, as after setpriv(1). */
		if (!must && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
			return 0;
		cpci_diag(r->diag, errno, 0, "cannot read event definitions '%s': %s", path,
			  strerror(errno));
		return -1;
	}
	/* No text has a NUL byte, so this is all of it. */
	if (getdelim(&text, &size, '\0', f) > 0)
		rc = read_text(r, text);
	else if (ferror(f))
		rc = bad(r, strerror(errno));
	free(text);
	fclose(f);
	return rc;
}

/* What CPC_EVENTS names, and the configuration of the user and of the system. */
static int read_files(struct reader *r)
{
	const char *env = getenv("CPC_EVENTS"), *dir = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	char path[4096];

	if (env != NULL && *env != '\0' && read_file(r, env, true) == -1)
		return -1;
	path[0] = '\0';
	if (dir != NULL && *dir == '/')
		snprintf(path, sizeof(path), "%s/cpc/events.def", dir);
	else if (home != NULL && *home == '/')
		snprintf(path, sizeof(path), "%s/.config/cpc/events.def", home);
	if (*path != '\0' && read_file(r, path, false) == -1)
		return -1;
	return read_file(r, "/etc/cpc/events.def", false);
}

struct cpci_defs *cpci_defs_new(struct cpci_diag *diag)
{
	struct cpci_defs *defs = calloc(1, sizeof(*defs));
	struct reader r = {.defs = defs, .file = "", .diag = diag};
	struct cpci_core_pmu core;

	if (defs == NULL) {
		cpci_diag(diag, ENOMEM, 0, "%s", strerror(ENOMEM));
		return NULL;
	}
	if (cpci_pfm_core(&core))
		defs->pmu = core.name;
	if (read_files(&r) == 0 &&
	    read_builtin(&r, "solaris.def", CPCI_DEF_SOLARIS, cpci_events_solaris) == 0 &&
	    read_builtin(&r, "generic.def", CPCI_DEF_GENERIC, cpci_events_generic) == 0)
		return defs;
	cpci_defs_free(defs);
	return NULL;
}

void cpci_defs_free(struct cpci_defs *defs)
{
	if (defs == NULL)
		return;
	for (size_t i = 0; i < defs->n; i++) {
		free(defs->def[i].file);
		free(defs->def[i].name);
		free(defs->def[i].expr);
		free(defs->def[i].desc);
	}
	free(defs->def);
	free(defs);
}

/* ---- looking up ------------------------------------------------------------ */

/* One event of an expression, added to `event` with its sign. */
static int add_part(const struct cpci_def *def, const char *part, bool minus, uint_t flags,
		    struct cpci_event *event, struct cpci_diag *diag)
{
	struct cpci_event sub = {.defs = event->defs, .depth = event->depth + 1, .scale = 1};
	struct cpci_diag why;
	char prefixed[256];
	int known = 0;

	/*
	 * In a section for some machines, names are those of their PMU; in the shipped
	 * ones for all, those that the kernel has for all.
	 */
	if (def->arch || def->source != CPCI_DEF_USER) {
		snprintf(prefixed, sizeof(prefixed), "%s::%s",
			 def->arch ? event->defs->pmu : "perf", part);
		known = cpci_event_pfm(prefixed, flags, &sub, &why);
	}
	if (known != 1 && cpci_event_resolve(part, flags, &sub, &why) == -1) {
		*diag = why;
		if (event->depth > 0)
			return -1; /* the definition that the user named tells where */
		cpci_diag(diag, why.err, why.subcode, "%s:%d: '%s' cannot be had: %s", def->file,
			  def->line, def->name, why.text);
		return -1;
	}
	if (event->nterms > 0 && (sub.scale != event->scale)) {
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "%s:%d: '%s' adds up events in different units", def->file, def->line,
			  def->name);
		return -1;
	}
	if (event->nterms + sub.nterms > CPCI_MAX_TERMS) {
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "%s:%d: '%s' is made of more than %d events", def->file, def->line,
			  def->name, CPCI_MAX_TERMS);
		return -1;
	}
	event->scale = sub.scale;
	strlcpy(event->unit, sub.unit, sizeof(event->unit));
	for (uint_t i = 0; i < sub.nterms; i++) {
		event->term[event->nterms] = sub.term[i];
		event->term[event->nterms++].minus = sub.term[i].minus != minus;
	}
	return 0;
}

/* "a - b + c": operators stand alone, since names contain them. */
static int evaluate(const struct cpci_def *def, uint_t flags, struct cpci_event *event,
		    struct cpci_diag *diag)
{
	bool minus = false, want_event = true;
	char part[200];
	size_t n;

	if (event->depth >= MAX_DEPTH) {
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "%s:%d: the definition of '%s' goes in circles", def->file, def->line,
			  def->name);
		return -1;
	}
	for (const char *p = def->expr; *p != '\0'; p += n + strspn(p + n, " \t")) {
		n = strcspn(p, " \t");
		if (n == 1 && (*p == '+' || *p == '-') && !want_event) {
			minus = *p == '-';
			want_event = true;
			continue;
		}
		if (!want_event || n >= sizeof(part))
			break;
		snprintf(part, sizeof(part), "%.*s", (int)n, p);
		if (add_part(def, part, minus, flags, event, diag) == -1)
			return -1;
		want_event = false;
		if (p[n] == '\0')
			return 1;
	}
	cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "%s:%d: '%s' is not event [+|- event]...",
		  def->file, def->line, def->expr);
	return -1;
}

static int lookup(enum cpci_source source, const char *name, uint_t flags, struct cpci_event *event,
		  struct cpci_diag *diag)
{
	const struct cpci_defs *defs = event->defs;
	bool elsewhere = false;

	for (size_t i = 0; defs != NULL && i < defs->n; i++) {
		const struct cpci_def *def = &defs->def[i];

		if (def->source != source || strcasecmp(def->name, name) != 0)
			continue;
		if (def->here)
			return evaluate(def, flags, event, diag);
		elsewhere = true;
	}
	if (!elsewhere)
		return 0;
	cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
		  "cannot count '%s': no event that is known for the CPU of this machine (%s) "
		  "counts the same",
		  name, defs->pmu != NULL ? defs->pmu : "not known to libpfm4");
	return -1;
}

int cpci_event_user(const char *name, uint_t flags, struct cpci_event *event,
		    struct cpci_diag *diag)
{
	return lookup(CPCI_DEF_USER, name, flags, event, diag);
}

int cpci_event_solaris(const char *name, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag)
{
	return lookup(CPCI_DEF_SOLARIS, name, flags, event, diag);
}

int cpci_event_generic(const char *name, uint_t flags, struct cpci_event *event,
		       struct cpci_diag *diag)
{
	return lookup(CPCI_DEF_GENERIC, name, flags, event, diag);
}
