/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * defs.c - files of event definitions: names that stand for other events.
 *
 *	name = event [+|- event]...	# description
 *	name = ratio			# description; events, numbers, + - * / and parentheses
 *	name, name... = ...		# one definition of several names
 *
 * A line "[pmu,pmu]" begins a section for machines whose core PMU has one of these libpfm4
 * names, or whose CPU has one of the vendor's names ("[GenuineIntel-6-CF]", or a MIDR
 * "[0x00000000410fd0c0]"); "[*]" begins one for all machines.  The first definition for this
 * machine wins.  In the shipped files, "[UltraSPARC]" begins names that no current CPU can
 * count:
 *
 *	name = event...			# description
 *
 * Here the events are the most similar ones of today, or "none".
 */
#include "event.h"

#include <bsd/string.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* The shipped definitions, which the build embeds from libcpc/event/defs/. */
extern const char cpci_events_solaris[], cpci_events_generic[], cpci_events_ratios[];

/* The state of reading a definition file. */
struct reader {
	struct cpci_defs *defs;
	enum cpci_source source;
	const char *file;
	int line;
	/* the PMUs that it is for; NULL: all; "": none, because the section is malformed */
	const char *section;
	bool past; /* it is for a CPU of the past */
	struct cpci_diag *diag;
};

static char *trim(char *s)
{
	char *end;

	while (isblank((unsigned char)*s) || *s == '\r')
		s++;
	end = s + strlen(s);
	while (end > s && (isblank((unsigned char)end[-1]) || end[-1] == '\r'))
		*--end = '\0';
	return s;
}

/* Appends an allocated string to a list.  -1: there is no string or no memory; it is freed. */
static int append(const struct reader *r, char ***list, size_t *n, char *text)
{
	char **longer = text != NULL ? reallocarray(*list, *n + 1, sizeof(*longer)) : NULL;

	if (longer == NULL) {
		free(text);
		return cpci_diag_nomem(r->diag);
	}
	*list = longer;
	longer[(*n)++] = text;
	return 0;
}

/* The caller of cpci_defs_new() prints it later. */
static int add_warning(const struct reader *r, char *text)
{
	return append(r, &r->defs->warning, &r->defs->nwarnings, text);
}

/* Keeps a text that contains the strings of definitions. */
static int keep_text(const struct reader *r, char *text)
{
	return append(r, &r->defs->text, &r->defs->ntexts, text);
}

/* A malformed line affects only the event that it defines.  -1: out of memory. */
static int warn(const struct reader *r, const char *what)
{
	char *text;

	return add_warning(r, asprintf(&text, "%s:%d: %s", r->file, r->line, what) != -1 ? text
											 : NULL);
}

/* Does a list such as "skl,GenuineIntel-6-CF" contain this machine's core PMU or its CPU? */
static bool list_has_machine(const char *pmus)
{
	const struct cpci_core_pmu *core = cpci_pfm_core();
	char cpu[64];
	size_t n;

	for (const char *p = pmus; *p != '\0'; p += n + (p[n] == ',')) {
		n = strcspn(p, ",");
		snprintf(cpu, sizeof(cpu), "%.*s", (int)n, p);
		if ((core->name != NULL && strcasecmp(cpu, core->name) == 0) ||
		    (core->alias != NULL && strcasecmp(cpu, core->alias) == 0))
			return true;
		if ((strchr(cpu, '-') != NULL || strncmp(cpu, "0x", 2) == 0) &&
		    cpci_cpuid_matches(cpu))
			return true;
	}
	return false;
}

static int read_section(struct reader *r, char *line)
{
	size_t n = strlen(line);

	r->past = false;
	if (n < 3 || line[n - 1] != ']') {
		/* The next definitions are for an unknown machine: ignore them. */
		r->section = "";
		return warn(r, "a section is [pmu,...] or [*]");
	}
	line[n - 1] = '\0';
	r->past = r->source == CPCI_DEF_SOLARIS && strcmp(line + 1, "UltraSPARC") == 0;
	r->section = strcmp(line + 1, "*") != 0 ? line + 1 : NULL;
	return 0;
}

bool cpci_def_is_here(const struct cpci_def *def)
{
	return def->section == NULL || list_has_machine(def->section);
}

/* Adds a definition.  -1: out of memory. */
static int add_definition(const struct reader *r, const struct cpci_def *def)
{
	struct cpci_defs *defs = r->defs;
	struct cpci_def *array;

	/* Definitions for other machines are only needed for the messages about users' files. */
	if (def->source == CPCI_DEF_VENDOR && !cpci_def_is_here(def))
		return 0;
	array = cpci_grow(defs->def, defs->n, &defs->room, sizeof(*array));
	if (array == NULL)
		return cpci_diag_nomem(r->diag);
	defs->def = array;
	array[defs->n++] = *def;
	return 0;
}

/* Returns why the name that a line defines is invalid; NULL: it is valid. */
static const char *check_name(const struct reader *r, const char *name)
{
	if (*name == '\0' || strpbrk(name, " \t,:/") != NULL)
		return "the name of an event cannot contain blanks, commas, colons or slashes";
	/* The thousands of names in vendors' files are not compared with attributes. */
	if ((r->source == CPCI_DEF_USER && cpci_attr_is(name)) ||
	    ((r->source == CPCI_DEF_USER || r->source == CPCI_DEF_VENDOR) &&
	     isdigit((unsigned char)*name)))
		return "the name of an event cannot be an attribute or a number";
	return NULL;
}

/* Checks "a - b + c".  Operators need blanks around: names can contain them.  NULL: well-formed. */
static const char *check_sum(const char *expr)
{
	bool want_event = true;
	size_t n;

	if (strchr(expr, ',') != NULL && strchr(expr, '/') == NULL)
		return "a definition has no attributes: \":k\" after a name of libpfm4 is for "
		       "kernel mode";
	for (const char *p = expr; *p != '\0'; p += n + strspn(p + n, " \t")) {
		bool is_operator;

		n = strcspn(p, " \t");
		is_operator = n == 1 && (*p == '+' || *p == '-');
		if (is_operator == want_event || n >= CPCI_MAX_PART)
			return "an expression is event [+|- event]...";
		want_event = is_operator;
	}
	return want_event ? "an expression is event [+|- event]..." : NULL;
}

/* Returns why an expression is malformed; NULL: it is well-formed. */
static const char *check_expr(const char *expr, bool is_ratio)
{
	const char *wrong;

	if (*expr == '\0')
		return "an event is missing after '='";
	if (!is_ratio)
		return check_sum(expr);
	cpci_ratio_free(cpci_ratio_parse(expr, &wrong));
	return wrong;
}

/* Reads "name, name... = expression".  -1: out of memory. */
static int read_definition(const struct reader *r, char *line, const char *desc)
{
	struct cpci_def def = {.source = r->source,
			       .file = r->file,
			       .line = r->line,
			       .section = r->section,
			       .past = r->past,
			       .desc = desc};
	char *equal = strchr(line, '='), *next;
	const char *wrong;

	if (equal == NULL)
		return warn(r, "a definition is: name = event [+|- event]...  # description");
	*equal = '\0';
	def.expr = trim(equal + 1);
	def.ratio = !r->past && cpci_expr_is_ratio(def.expr);
	def.error = r->past ? NULL : check_expr(def.expr, def.ratio);
	if (def.error != NULL && warn(r, def.error) == -1)
		return -1;
	for (char *name = line; name != NULL; name = next) {
		next = strchr(name, ',');
		if (next != NULL)
			*next++ = '\0';
		def.name = trim(name);
		wrong = check_name(r, def.name);
		if ((wrong != NULL ? warn(r, wrong) : add_definition(r, &def)) == -1)
			return -1;
	}
	return 0;
}

static int read_line(struct reader *r, char *line)
{
	char *hash = strchrnul(line, '#'), *desc = hash + (*hash == '#');

	*hash = '\0';
	line = trim(line);
	if (*line == '\0')
		return 0;
	return *line == '[' ? read_section(r, line) : read_definition(r, line, trim(desc));
}

/* Reads the definitions of a text, which it cuts into strings. */
static int read_text(struct reader *r, char *text)
{
	char *next;

	if (keep_text(r, text) == -1)
		return -1;
	r->section = NULL;
	r->past = false;
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
	r->file = file;
	r->source = source;
	return read_text(r, strdup(text));
}

static int unreadable(const struct reader *r, const char *path)
{
	int err = errno;

	return cpci_diag(r->diag, err, 0, "cannot read event definitions '%s': %s", path,
			 err == EINVAL ? "not a regular file" : strerror(err));
}

/*
 * Opens a regular file that only we and root can write.  1: `f` is open; 0: it is not
 * trusted, and `diag` says why; -1: it cannot be read.  Devices are not opened, because that
 * can have side effects.
 */
static int open_trusted(const struct reader *r, const char *path, FILE **f)
{
	int place = open(path, O_PATH | O_CLOEXEC), rc = 0;
	char link[32];
	struct stat st;

	if (place == -1)
		return -1;
	if (fstat(place, &st) == -1) {
		rc = -1;
	} else if (st.st_uid != 0 && st.st_uid != geteuid()) {
		cpci_diag(
			r->diag, EPERM, 0,
			"event definitions '%s' are not read: the file is another user's (uid %u)",
			path, st.st_uid);
	} else if (S_ISREG(st.st_mode) && (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		cpci_diag(r->diag, EPERM, 0,
			  "event definitions '%s' are not read: others may write the file (mode "
			  "%04o)",
			  path, st.st_mode & 07777);
	} else if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		rc = -1;
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
		*f = fopen(link, "re");
		rc = *f != NULL ? 1 : -1;
	}
	cpci_close(place);
	return rc;
}

static int read_stream(struct reader *r, FILE *f)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t n = getdelim(&text, &size, '\0', f);
	int rc = 0;

	if ((n == -1 && !feof(f)) || ferror(f)) {
		rc = unreadable(r, r->file);
	} else if (n > 0 && text[n - 1] == '\0') {
		cpci_diag(r->diag, EINVAL, 0,
			  "event definitions '%s' are not text: they contain a NUL byte", r->file);
		rc = -1;
	} else if (n > 0) {
		return read_text(r, text);
	}
	free(text);
	return rc;
}

/* Reads a file of the user.  A missing file is an error only if it `must` exist. */
static int read_file(struct reader *r, const char *path, bool must)
{
	FILE *f;
	int rc = open_trusted(r, path, &f);
	char *copy;

	r->file = path;
	r->line = 0;
	if (rc == 0)
		return must ? -1 : add_warning(r, strdup(r->diag->text));
	if (rc == -1) {
		/* HOME may be another user's, for instance after setpriv(1). */
		if (!must && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
			return 0;
		return unreadable(r, path);
	}
	r->file = copy = strdup(path);
	rc = keep_text(r, copy);
	if (rc == 0)
		rc = read_stream(r, f);
	fclose(f);
	return rc;
}

/*
 * Reads the file in CPC_EVENTS, and the configuration of the user and of the system; only
 * that of the system if the program has more privileges than its user.
 */
static int read_files(struct reader *r)
{
	const char *env = secure_getenv("CPC_EVENTS"), *dir = secure_getenv("XDG_CONFIG_HOME");
	const char *home = secure_getenv("HOME");
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

static struct cpci_defs *new_defs(struct cpci_diag *diag)
{
	struct cpci_defs *defs = calloc(1, sizeof(*defs));

	if (defs == NULL)
		cpci_diag_nomem(diag);
	return defs;
}

struct cpci_defs *cpci_defs_new(struct cpci_diag *diag)
{
	struct cpci_defs *defs = new_defs(diag);
	struct reader r = {.defs = defs, .file = "", .source = CPCI_DEF_USER, .diag = diag};

	if (defs == NULL)
		return NULL;
	if (read_files(&r) == 0 &&
	    read_builtin(&r, "solaris.def", CPCI_DEF_SOLARIS, cpci_events_solaris) == 0 &&
	    read_builtin(&r, "generic.def", CPCI_DEF_GENERIC, cpci_events_generic) == 0 &&
	    read_builtin(&r, "ratios.def", CPCI_DEF_GENERIC, cpci_events_ratios) == 0)
		return defs;
	cpci_defs_free(defs);
	return NULL;
}

static int is_def_file(const struct dirent *de)
{
	size_t n = strlen(de->d_name);

	return de->d_name[0] != '.' && n > 4 && strcmp(de->d_name + n - 4, ".def") == 0;
}

static int read_dir(struct reader *r, const char *dir)
{
	struct dirent **names;
	int n = scandir(dir, &names, is_def_file, alphasort), rc = 0;
	char path[4096];

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
		if (rc == 0)
			rc = read_file(r, path, false);
		free(names[i]);
	}
	if (n != -1)
		free(names);
	return rc;
}

struct cpci_defs *cpci_defs_read_dir(const char *const *dirs, size_t n, struct cpci_diag *diag)
{
	struct reader r = {.defs = new_defs(diag), .source = CPCI_DEF_VENDOR, .diag = diag};

	for (size_t i = 0; r.defs != NULL && i < n; i++) {
		if (read_dir(&r, dirs[i]) == -1) {
			cpci_defs_free(r.defs);
			return NULL;
		}
	}
	return r.defs;
}

void cpci_defs_free(struct cpci_defs *defs)
{
	if (defs == NULL)
		return;
	for (size_t i = 0; i < defs->ntexts; i++)
		free(defs->text[i]);
	free(defs->text);
	for (size_t i = 0; i < defs->nwarnings; i++)
		free(defs->warning[i]);
	free(defs->warning);
	free(defs->def);
	free(defs);
}
