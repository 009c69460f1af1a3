/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * defcheck.c - checks event-definition files against the tables of libpfm4.
 *
 * usage: defcheck [-v] FILE...
 *
 * Every term of every line of every section must encode, for each PMU of the
 * section as pmu::EVENT, in [*] as an event of the generic "perf" PMU.  Checked
 * too: the form of each line, at most 6 terms, no mode in a name (:u, :k, :h),
 * no name twice (in whatever case) for one PMU, [*] once and last, the first two lines of the file.
 *
 * In [UltraSPARC], where nothing is defined, each event must be the name of a definition of
 * the files or of an event of the generic PMU, or look like a breakpoint.
 *
 * A libpfm4 has only its own machine's tables.  PMUs that it does not know are
 * counted as skipped, unless it knows none of an arch section's: x86 and Arm take
 * turns.  With -a every PMU must be known.
 *
 * -v prints the encoding of each term.  Exit 1 when something is wrong.
 */
#include <ctype.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_PMUS = 16, MAX_TERMS = 6, MAX_NAMES = 4096, MAX_SECTIONS = 64 };

struct seen {
	char pmu[40], name[64];
	unsigned line;
};

struct section {
	char head[160];
	char pmu[MAX_PMUS][40];
	unsigned npmus, line, names;
	bool general, past;
};

static struct seen seen[MAX_NAMES];
static size_t nseen;
static char **files; /* all of them */
static const char *file;
static unsigned line, errors, encoded, skipped;
static bool verbose, all;

__attribute__((format(printf, 1, 2))) static void bad(const char *fmt, ...)
{
	va_list ap;

	errors++;
	fprintf(stderr, "%s:%u: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static bool pmu_known(const char *name)
{
	pfm_pmu_info_t info;
	pfm_pmu_t pmu;

	pfm_for_all_pmus(pmu) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm_get_pmu_info(pmu, &info) == PFM_SUCCESS && strcmp(info.name, name) == 0)
			return info.type == PFM_PMU_TYPE_CORE;
	}
	return false;
}

/* Encodes one event; what libpfm4 made of it goes to *attr and *full (to free). */
static int encode(const char *event, struct perf_event_attr *attr, char **full)
{
	pfm_perf_encode_arg_t arg;

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	memset(&arg, 0, sizeof(arg));
	arg.size = sizeof(arg);
	arg.attr = attr;
	arg.fstr = full;
	*full = NULL;
	return pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
}

/* Has it an encoding that does not depend on the kernel? */
static bool has_code(const char *event)
{
	uint64_t code;
	pfm_pmu_encode_arg_t arg = {.codes = &code, .count = 1, .size = sizeof(arg)};

	return pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_NONE, &arg) == PFM_SUCCESS;
}

static void check_term(const struct section *sec, const char *term)
{
	struct perf_event_attr attr;
	char event[512], *full;
	const char *colon;
	int rc;

	if (strstr(term, "::") != NULL)
		bad("'%s' has a PMU prefix", term);
	for (colon = strchr(term, ':'); colon != NULL; colon = strchr(colon + 1, ':'))
		if (strchr("ukhUKH", colon[1]) != NULL &&
		    (colon[2] == ':' || colon[2] == '=' || colon[2] == '\0'))
			bad("'%s' has a mode", term);
	for (unsigned i = 0; i < (sec->general ? 1 : sec->npmus); i++) {
		if (!sec->general && !pmu_known(sec->pmu[i])) {
			skipped++;
			continue;
		}
		if (sec->general)
			snprintf(event, sizeof(event), "%s", term);
		else
			snprintf(event, sizeof(event), "%s::%s", sec->pmu[i], term);
		rc = encode(event, &attr, &full);
		/* Debian 13's libpfm4 does not find the PMU of an Arm machine that is emulated. */
		if (rc == PFM_ERR_NOTSUPP && has_code(event)) {
			encoded++;
		} else if (rc != PFM_SUCCESS) {
			bad("'%s': %s", event, pfm_strerror(rc));
		} else {
			encoded++;
			/* libpfm4 resolves short names to names that begin with "perf::". */
			if (sec->general && strncmp(full, "perf::", 6) != 0)
				bad("'%s' is '%s', not of the generic PMU", event, full);
			if (verbose)
				printf("%-60s type %u config %#llx config1 %#llx\n", event,
				       attr.type, (unsigned long long)attr.config,
				       (unsigned long long)attr.config1);
		}
		free(full);
	}
}

/* Is it defined in a file, for all machines or for some? */
static bool is_defined(const char *path, const char *name)
{
	char *buf = NULL;
	size_t cap = 0;
	FILE *f = fopen(path, "r");
	bool found = false;

	while (f != NULL && !found && getline(&buf, &cap, f) != -1) {
		char *equal = strstr(buf, " = "), *save = NULL, *word;

		if (equal != NULL)
			*equal = '\0';
		for (word = equal != NULL ? strtok_r(buf, ", ", &save) : NULL;
		     word != NULL && !found; word = strtok_r(NULL, ", ", &save))
			found = strcmp(word, name) == 0;
	}
	free(buf);
	if (f != NULL)
		fclose(f);
	return found;
}

/* Checks that the suggested events exist. */
static void check_nearest(char *expr)
{
	struct perf_event_attr attr;
	char *save, *full;

	if (strcmp(expr, "none") == 0)
		return;
	for (char *name = strtok_r(expr, " \t", &save); name != NULL;
	     name = strtok_r(NULL, " \t", &save)) {
		bool known = strncmp(name, "breakpoint/addr=", 16) == 0;

		for (size_t i = 0; !known && files[i] != NULL; i++)
			known = is_defined(files[i], name);
		if (!known) {
			known = encode(name, &attr, &full) == PFM_SUCCESS;
			free(full);
		}
		if (!known)
			bad("'%s' is not an event", name);
	}
}

static void check_expression(const struct section *sec, char *expr)
{
	unsigned nterms = 0;
	bool want_term = true;
	char *save, *word;

	if (sec->past) {
		check_nearest(expr);
		return;
	}
	for (word = strtok_r(expr, " \t", &save); word != NULL;
	     word = strtok_r(NULL, " \t", &save)) {
		bool op = strcmp(word, "+") == 0 || strcmp(word, "-") == 0;

		if (op == want_term) {
			bad("%s where %s is due: '%s'", op ? "operator" : "event",
			    op ? "an event" : "an operator", word);
			return;
		}
		want_term = !want_term;
		if (!op) {
			nterms++;
			check_term(sec, word);
		}
	}
	if (want_term)
		bad("expression lacks its %s event", nterms == 0 ? "first" : "last");
	if (nterms > MAX_TERMS)
		bad("%u terms, more than %d", nterms, MAX_TERMS);
}

static void check_name(const struct section *sec, const char *name)
{
	if (strlen(name) >= sizeof(seen->name))
		bad("name too long");
	for (const char *c = name; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) && strchr("_-.", *c) == NULL)
			bad("'%c' in the name '%s'", *c, name);
	for (unsigned i = 0; i < sec->npmus; i++) {
		for (size_t j = 0; j < nseen; j++)
			if (strcmp(seen[j].pmu, sec->pmu[i]) == 0 &&
			    strcasecmp(seen[j].name, name) == 0)
				bad("'%s' is defined for %s on line %u, too", name, sec->pmu[i],
				    seen[j].line);
		if (nseen == MAX_NAMES) {
			bad("too many names");
			return;
		}
		snprintf(seen[nseen].pmu, sizeof(seen->pmu), "%s", sec->pmu[i]);
		snprintf(seen[nseen].name, sizeof(seen->name), "%s", name);
		seen[nseen++].line = line;
	}
}

static void begin_section(struct section *sec, char *head)
{
	char *end = strchr(head, ']'), *save, *word;

	memset(sec, 0, sizeof(*sec));
	sec->line = line;
	if (end == NULL || end[1] != '\0') {
		bad("bad section '%s'", head);
		return;
	}
	snprintf(sec->head, sizeof(sec->head), "%s", head);
	*end = '\0';
	for (word = strtok_r(head + 1, ", ", &save); word != NULL;
	     word = strtok_r(NULL, ", ", &save)) {
		if (sec->npmus == MAX_PMUS) {
			bad("too many PMUs");
			return;
		}
		snprintf(sec->pmu[sec->npmus++], sizeof(sec->pmu[0]), "%s", word);
		if (strcmp(word, "*") == 0)
			sec->general = true;
		else if (strcmp(word, "UltraSPARC") == 0)
			sec->past = true;
		else if (all && !pmu_known(word))
			bad("libpfm4 has no core PMU '%s'", word);
	}
	if (sec->npmus == 0)
		bad("section without a PMU");
	if (sec->general && sec->npmus > 1)
		bad("'*' beside others");
	/* Either the tables have all of a section's PMUs, or none. */
	for (unsigned i = 1; !sec->general && i < sec->npmus; i++)
		if (pmu_known(sec->pmu[i]) != pmu_known(sec->pmu[0]))
			bad("libpfm4 knows only one of '%s' and '%s'", sec->pmu[i], sec->pmu[0]);
}

static char *trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

static void check_line(struct section *sec, char *s)
{
	char *hash = strchr(s, '#'), *equal, *name;

	if (hash == NULL || *trim(hash + 1) == '\0')
		bad("no description");
	else
		*hash = '\0';
	equal = strstr(s, " = ");
	if (equal == NULL) {
		bad("no ' = '");
		return;
	}
	*equal = '\0';
	if (sec->npmus == 0) {
		bad("definition before the first section");
		return;
	}
	while ((name = strsep(&s, ",")) != NULL) {
		sec->names++;
		check_name(sec, trim(name));
	}
	check_expression(sec, trim(equal + 3));
}

static void check_file(const char *path)
{
	static struct section sec[MAX_SECTIONS];
	unsigned nsec = 0, total = 0;
	char *buf = NULL;
	size_t cap = 0;
	FILE *f = fopen(path, "r");

	file = path;
	line = 0;
	nseen = 0;
	if (f == NULL) {
		bad("cannot open");
		return;
	}
	memset(sec, 0, sizeof(sec));
	while (getline(&buf, &cap, f) != -1) {
		char *s = buf;

		line++;
		s[strcspn(s, "\n")] = '\0';
		if ((line == 1 && strcmp(s, "# SPDX-License-Identifier: BSD-2-Clause") != 0) ||
		    (line == 2 && strcmp(s, "# Copyright (c) 2026 The cpc authors") != 0))
			bad("not the head of a file");
		if (strcmp(trim(s), s) != 0 ||
		    (*s != '\0' && isspace((unsigned char)s[strlen(s) - 1])))
			bad("blanks around");
		s = trim(s);
		if (*s == '\0' || *s == '#')
			continue;
		if (*s == '[') {
			if (nsec > 0 && sec[nsec - 1].general)
				bad("a section after [*]");
			if (nsec == MAX_SECTIONS) {
				bad("too many sections");
				break;
			}
			begin_section(&sec[nsec++], s);
		} else {
			check_line(&sec[nsec == 0 ? 0 : nsec - 1], s);
		}
	}
	if (nsec == 0 || !sec[nsec - 1].general)
		bad("no [*] at the end");
	for (unsigned i = 0; i < nsec; i++) {
		printf("%s: %4u %s\n", path, sec[i].names, sec[i].head);
		total += sec[i].names;
	}
	printf("%s: %4u lines in %u sections\n", path, total, nsec);
	free(buf);
	fclose(f);
}

int main(int argc, char **argv)
{
	int i;

	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	if (pfm_initialize() != PFM_SUCCESS) {
		fprintf(stderr, "defcheck: libpfm4 does not start\n");
		return 1;
	}
	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		verbose |= strchr(argv[i], 'v') != NULL;
		all |= strchr(argv[i], 'a') != NULL;
	}
	files = argv + i; /* up to argv[argc], NULL */
	for (; i < argc; i++)
		check_file(argv[i]);
	printf("%u terms encode, %u skipped (PMU not in this libpfm4), %u errors\n", encoded,
	       skipped, errors);
	return errors != 0;
}
