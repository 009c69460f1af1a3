/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * uprobe.c - calls of functions: "uprobe/func=malloc/", "uprobe/func=libm.so.6:sin,ret/",
 * "uprobe/func=/usr/bin/prog:main+0x10/", "uprobe/func=\"main.Map[int,string]\"/".
 *
 * The kernel sets uprobes in a file rather than in a process: every execution of that
 * instruction of the file is counted, however and whenever the file was mapped
 * (Documentation/trace/uprobetracer.rst, perf_event_open(2)).
 *
 * This file also has the probes that programs declare with sys/sdt.h: "sdt/provider:name/".
 * A probe can have several sites in a file, for instance in inlined functions, and a function
 * several versions and clones: the event is their sum.
 */
#include "event.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

struct fields {
	bool has_func, ret;
	uint64_t offset;
	struct cpci_term term; /* its symbol and file */
};

static const char *parse_file(struct fields *f, const char *file)
{
	if (*file == '\0' ||
	    strlcpy(f->term.file, file, sizeof(f->term.file)) >= sizeof(f->term.file))
		return "the file before the colon is missing, or longer than 255 characters";
	if (*file != '/' && strchr(file, '/') != NULL)
		return "the path of a file begins with a slash; a library may be named without "
		       "its path";
	return NULL;
}

/* Is it ":u", ":k" or another modifier of other events? */
static bool is_mode(const char *symbol)
{
	return *symbol != '\0' && symbol[strspn(symbol, "ukhpP:")] == '\0';
}

/* Parses "[file:]symbol[+offset]". */
static const char *parse_func(struct fields *f, char *value)
{
	char *quote = *value == '"' ? value : strstr(value, ":\""), *colon = strrchr(value, ':');
	const char *why;

	f->has_func = true;
	f->term.file[0] = '\0';
	if (quote != NULL)
		colon = quote > value ? quote : NULL;
	else if (colon != NULL && (colon[1] == '.' || (colon > value && colon[-1] == ':')))
		return "write a symbol with colons in quotes, func=[FILE:]\"SYMBOL\"; those of C++ "
		       "are mangled, as nm(1) lists them";
	if (colon != NULL) {
		*colon = '\0';
		why = parse_file(f, value);
		if (why != NULL)
			return why;
		if (*value != '/' && is_mode(colon + 1))
			return "functions are counted in user mode, so write no mode; to count a "
			       "function of that name, write the path of its file";
		value = colon + 1;
	} else if (*value == '/') {
		return "the function is missing after the path: func=/PATH:FUNCTION";
	}
	why = cpci_event_symbol(value, &f->term, &f->offset);
	if (why == NULL && isdigit((unsigned char)f->term.symbol[0]))
		return "a function is named by its symbol";
	return why;
}

static const char *parse_field(void *arg, char *field, char *value)
{
	static const char syntax[] =
		"a function event is uprobe/func=[FILE:]SYMBOL[+OFFSET][,ret]/";
	struct fields *f = arg;

	if (field == NULL && !f->has_func)
		return syntax;
	if (field == NULL)
		return f->ret && f->offset != 0 ? "a function returns from its beginning: ret "
						  "takes no offset"
						: NULL;
	if (strcmp(field, "func") == 0 && value != NULL)
		return parse_func(f, value);
	if (strcmp(field, "ret") == 0 && value == NULL) {
		f->ret = true;
		return NULL;
	}
	return syntax;
}

/* Adds the terms of a function or probe, one for each site that it may have. */
static int add_sites(struct fields *f, const char *name, uint_t flags, struct cpci_event *event,
		     struct cpci_diag *diag)
{
	struct cpci_term *term = &f->term;
	/* A sum does not report overflows. */
	bool single = term->exact || (!term->probe && (flags & CPC_OVF_NOTIFY_EMT) != 0);
	uint_t n = single ? 0 : cpci_term_most_sites(term);

	if (!cpci_uprobe_attr(&term->attr, f->ret))
		return cpci_diag(
			diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s': the kernel has no uprobes (CONFIG_UPROBE_EVENTS)",
			name);
	term->attr.probe_offset = f->offset;
	cpci_perf_set_modes(&term->attr, flags);
	for (term->site = single ? 0 : 1; term->site <= n; term->site++) {
		if (cpci_event_add(event, term, diag) == -1)
			return -1;
	}
	return 1;
}

int cpci_event_uprobe(const char *name, uint_t flags, struct cpci_event *event,
		      struct cpci_diag *diag)
{
	struct fields f = {0};
	int rc = cpci_event_fields(name, "uprobe", &f, parse_field, diag);

	return rc == 1 ? add_sites(&f, name, flags, event, diag) : rc;
}

/* Parses "[file:]provider:name". */
static const char *parse_probe(void *arg, char *field, char *value)
{
	static const char syntax[] = "a probe is sdt/[FILE:]PROVIDER:NAME/";
	struct fields *f = arg;
	char *name;

	if (field == NULL)
		return f->has_func ? NULL : syntax;
	name = strrchr(field, ':');
	if (value != NULL || f->has_func || name == NULL || name == field || name[1] == '\0')
		return syntax;
	f->has_func = true;
	while (name > field && name[-1] != ':')
		name--;
	if (*name == '/')
		return "the provider is missing after the path: sdt//PATH:PROVIDER:NAME/";
	if (strlcpy(f->term.symbol, name, sizeof(f->term.symbol)) >= sizeof(f->term.symbol))
		return "the probe is longer than 255 characters";
	if (name == field)
		return NULL;
	name[-1] = '\0';
	return parse_file(f, field);
}

int cpci_event_sdt(const char *name, uint_t flags, struct cpci_event *event, struct cpci_diag *diag)
{
	struct fields f = {.term.probe = true};
	int rc = cpci_event_fields(name, "sdt", &f, parse_probe, diag);

	return rc == 1 ? add_sites(&f, name, flags, event, diag) : rc;
}
