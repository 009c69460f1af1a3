/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * filter.c - filters of tracepoints: what is wrong with them, and which the kernel takes but cannot
 * mean (Documentation/trace/events.rst, "Event filtering").
 *
 * The kernel writes its own reason only to the file `filter` of the tracepoint, and replaces a
 * filter that another program has set there.  So libcpc checks a filter that the kernel refuses.
 */
#include "event.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FIELD 64

/* A comparison of a field in a filter. */
struct predicate {
	char field[MAX_FIELD]; /* without its suffix */
	bool suffix;	       /* ".ustring" or another one */
	char op[3];
	bool quoted;
};

struct parser {
	const char *at;
	const char *why; /* NULL: no error so far */
};

static bool fail(struct parser *p, const char *at, const char *why)
{
	p->at = at;
	p->why = why;
	return false;
}

static void skip_blanks(struct parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
}

static bool parse_value(struct parser *p, struct predicate *predicate)
{
	const char quote = *p->at, *end;

	predicate->quoted = quote == '"' || quote == '\'';
	if (predicate->quoted) {
		end = strchr(p->at + 1, quote);
		if (end == NULL)
			return fail(p, p->at, "the matching quote is missing");
		p->at = end + 1;
		return true;
	}
	end = p->at + strcspn(p->at, " \t&|()");
	if (end == p->at)
		return fail(p, p->at, "a value is missing");
	p->at = end;
	return true;
}

/* Parses "field operator value". */
static bool parse_predicate(struct parser *p, struct predicate *predicate)
{
	static const char *const ops[] = {"==", "!=", "<=", ">=", "<", ">", "&", "~"};
	const char *start = p->at;
	size_t n = 0, i = 0;

	*predicate = (struct predicate){0};
	while (isalnum((unsigned char)start[n]) || start[n] == '_')
		n++;
	if (n == 0 || n >= sizeof(predicate->field))
		return fail(p, start, "a field is missing");
	memcpy(predicate->field, start, n);
	predicate->suffix = start[n] == '.';
	while (start[n] == '.' || isalnum((unsigned char)start[n]) || start[n] == '_')
		n++;
	p->at = start + n;
	skip_blanks(p);
	while (i < sizeof(ops) / sizeof(*ops) && strncmp(p->at, ops[i], strlen(ops[i])) != 0)
		i++;
	if (i == sizeof(ops) / sizeof(*ops))
		return fail(p, p->at, "an operator (== != < <= > >= & ~) is missing");
	strcpy(predicate->op, ops[i]);
	p->at += strlen(ops[i]);
	skip_blanks(p);
	return parse_value(p, predicate);
}

typedef const char *check_fn(void *arg, const struct predicate *predicate);

/* Parses "predicate && (predicate || ...)".  `check` returns an error, or NULL. */
static void parse_filter(struct parser *p, check_fn *check, void *arg)
{
	const char *open = NULL, *start;
	struct predicate predicate;
	unsigned depth = 0;

	for (;;) {
		for (skip_blanks(p); *p->at == '(' || *p->at == '!'; skip_blanks(p)) {
			if (*p->at == '(' && depth++ == 0)
				open = p->at;
			p->at++;
		}
		start = p->at;
		if (!parse_predicate(p, &predicate))
			return;
		p->why = check(arg, &predicate);
		if (p->why != NULL) {
			p->at = start;
			return;
		}
		for (skip_blanks(p); *p->at == ')'; skip_blanks(p)) {
			if (depth-- == 0) {
				fail(p, p->at, "there is no '(' before it");
				return;
			}
			p->at++;
		}
		if (*p->at == '\0' && depth > 0)
			fail(p, open, "the ')' is missing");
		if (*p->at == '\0' || p->why != NULL)
			return;
		if (strncmp(p->at, "&&", 2) != 0 && strncmp(p->at, "||", 2) != 0) {
			fail(p, p->at, "&& or || is missing before it");
			return;
		}
		p->at += 2;
	}
}

/* ---- fields ------------------------------------------------------------------------- */

void cpci_tracepoint_path(const char *name, const char *file, char *path, size_t size)
{
	const int system = (int)strcspn(name, ":");

	snprintf(path, size, "events/%.*s/%s/%s", system, name, name + system + 1, file);
}

/* Opens the file `format` of the tracepoint "system:event".  NULL: it is missing. */
static FILE *open_format(const char *name)
{
	char path[512];
	FILE *f;
	int fd;

	cpci_tracepoint_path(name, "format", path, sizeof(path));
	fd = openat(cpci_tracefs(), path, O_RDONLY | O_CLOEXEC);
	f = fd != -1 ? fdopen(fd, "r") : NULL;
	if (f == NULL && fd != -1)
		close(fd);
	return f;
}

void cpci_tracepoint_fields(const char *name, char *fields, size_t size)
{
	FILE *f = open_format(name);
	size_t room = 0, used = 0;
	char *line = NULL;

	*fields = '\0';
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

enum kind { UNKNOWN, NUMBER, STRING, POINTER };

/* The kind of a declaration, "const char * filename" or "char comm[16]". */
static enum kind kind_of(const char *declaration)
{
	if (strncmp(declaration, "const ", 6) == 0)
		declaration += 6;
	if (strncmp(declaration, "char *", 6) == 0 && strchr(declaration + 6, '*') == NULL)
		return POINTER;
	if (strncmp(declaration, "__data_loc", 10) == 0 ||
	    strncmp(declaration, "__rel_loc", 9) == 0)
		return strstr(declaration, "char[]") != NULL ? STRING : NUMBER;
	return strncmp(declaration, "char ", 5) == 0 && strchr(declaration, '[') != NULL ? STRING
											 : NUMBER;
}

/* The kind of a field of the tracepoint "system:event". */
static enum kind find_field(const char *tracepoint, const char *field)
{
	const size_t n = strlen(field);
	enum kind kind = UNKNOWN;
	char *line = NULL;
	size_t room = 0;
	FILE *f = open_format(tracepoint);

	while (kind == UNKNOWN && f != NULL && getline(&line, &room, f) > 0) {
		char *declaration = strstr(line, "field:"), *end, *name;

		if (declaration == NULL || (end = strchr(declaration, ';')) == NULL)
			continue;
		*end = '\0';
		declaration += strlen("field:");
		end = declaration + strlen(declaration);
		name = strrchr(declaration, ' ');
		if (name != NULL && strncmp(++name, field, n) == 0 &&
		    (name + n == end || name[n] == '['))
			kind = kind_of(declaration);
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return kind;
}

static bool is_everywhere(const char *field)
{
	static const char *const names[] = {
		"comm",	       "COMM",	     "cpu",	   "CPU",
		"common_comm", "common_cpu", "stacktrace", "common_stacktrace"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(field, names[i]) == 0)
			return true;
	}
	return false;
}

static const char *check_field(void *arg, const struct predicate *predicate)
{
	enum kind kind;

	if (is_everywhere(predicate->field))
		return NULL;
	kind = find_field(arg, predicate->field);
	if (kind == UNKNOWN)
		return "unknown field";
	if (kind == NUMBER && predicate->quoted)
		return "the field is a number, without quotes";
	if (kind != NUMBER && !predicate->quoted)
		return "the field is a string, so its value must be in quotes";
	if (kind != NUMBER && strcspn(predicate->op, "<>&") == 0)
		return "the field is a string, for == != and ~";
	return NULL;
}

/* Strings of the program are compared only with a suffix; else the kernel reads its own memory. */
static const char *check_string(void *arg, const struct predicate *predicate)
{
	return predicate->quoted && !predicate->suffix &&
			       find_field(arg, predicate->field) == POINTER
		       ? "the string is in the memory of the program, where the kernel looks only "
			 "with FIELD.ustring"
		       : NULL;
}

const char *cpci_filter_wrong(const char *tracepoint, const char *filter, size_t *at)
{
	struct parser p = {.at = filter};
	char name[256];

	snprintf(name, sizeof(name), "%s", tracepoint);
	parse_filter(&p, check_field, name);
	*at = (size_t)(p.at - filter);
	return p.why;
}

const char *cpci_filter_misleads(const char *tracepoint, const char *filter, size_t *at)
{
	struct parser p = {.at = filter};
	char name[256];

	/* Other pointers are to strings of the kernel. */
	if (strncmp(tracepoint, "syscalls:", strlen("syscalls:")) != 0)
		return NULL;
	snprintf(name, sizeof(name), "%s", tracepoint);
	parse_filter(&p, check_string, name);
	*at = (size_t)(p.at - filter);
	return p.why != NULL && strstr(p.why, ".ustring") != NULL ? p.why : NULL;
}
