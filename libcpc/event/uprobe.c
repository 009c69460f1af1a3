/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * uprobe.c - calls of functions: "uprobe/func=malloc/", "uprobe/func=libm.so.6:sin,ret/",
 * "uprobe/func=/usr/bin/prog:main+0x10/".
 *
 * The kernel's uprobes are set in a file rather than in a process: who executes that
 * instruction of that file is counted, however and whenever it was mapped
 * (Documentation/trace/uprobetracer.rst, perf_event_open(2)).
 */
#include "event.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

struct fields {
	bool has_func, ret;
	uint64_t offset;
	char symbol[CPCI_MAX_SYMBOL], file[CPCI_MAX_SYMBOL];
};

/* "[file:]symbol[+offset]" */
static const char *parse_func(struct fields *f, char *value)
{
	char *colon = strrchr(value, ':');
	const char *why;

	f->has_func = true;
	f->file[0] = '\0';
	if (colon != NULL) {
		*colon = '\0';
		if (*value == '\0' || strlcpy(f->file, value, sizeof(f->file)) >= sizeof(f->file))
			return "the file before the colon is missing, or longer than 255 "
			       "characters";
		if (*value != '/' && strchr(value, '/') != NULL)
			return "the path of a file begins with a slash; a library may be named "
			       "without its path";
		value = colon + 1;
	}
	why = cpci_event_symbol(value, f->symbol, &f->offset);
	if (why == NULL && isdigit((unsigned char)f->symbol[0]))
		return "a function is named by its symbol";
	return why;
}

static const char *parse_field(void *arg, const char *field, char *value)
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

int cpci_event_uprobe(const char *name, uint_t flags, struct cpci_event *event,
		      struct cpci_diag *diag)
{
	struct fields f = {0};
	struct perf_event_attr attr;
	int rc = cpci_event_fields(name, "uprobe", &f, parse_field, diag);

	if (rc != 1)
		return rc;
	if (!cpci_uprobe_attr(&attr, f.ret, 0)) {
		cpci_diag(diag, EINVAL, CPC_RESOURCE_UNAVAIL,
			  "cannot count '%s': the kernel has no uprobes (CONFIG_UPROBE_EVENTS)",
			  name);
		return -1;
	}
	attr.probe_offset = f.offset;
	if (cpci_event_single(event, &attr, flags, diag) == -1)
		return -1;
	strlcpy(event->term[0].symbol, f.symbol, sizeof(event->term[0].symbol));
	strlcpy(event->term[0].file, f.file, sizeof(event->term[0].file));
	return 1;
}
