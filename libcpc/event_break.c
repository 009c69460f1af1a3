/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * event_break.c - breakpoints as counters: "breakpoint/addr=0x401136,len=8,rw=x/".
 *
 * The debug registers of the CPU are few (four on x86), and count exactly, in virtual
 * machines too (perf_event_open(2), PERF_TYPE_BREAKPOINT).
 */
#include "cpc_impl.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "breakpoint/";

static int bad(const char *name, struct cpci_diag *diag, const char *why)
{
	cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "bad event '%s': %s", name, why);
	return -1;
}

/* "x", or "r", "w" and both.  0: something else. */
static uint32_t parse_access(const char *s)
{
	if (strcmp(s, "x") == 0)
		return HW_BREAKPOINT_X;
	if (strcmp(s, "r") == 0)
		return HW_BREAKPOINT_R;
	if (strcmp(s, "w") == 0)
		return HW_BREAKPOINT_W;
	if (strcmp(s, "rw") == 0 || strcmp(s, "wr") == 0)
		return HW_BREAKPOINT_RW;
	return 0;
}

struct fields {
	uint64_t addr, len;
	uint32_t access;
	bool has_addr;
};

/* One "field=value"; NULL, or what is wrong with it. */
static const char *parse_field(struct fields *f, const char *field, const char *value)
{
	if (value == NULL)
		return "a breakpoint is breakpoint/addr=ADDRESS[,len=BYTES][,rw=x|r|w|rw]/";
	if (strcmp(field, "addr") == 0) {
		f->has_addr = cpci_parse_number(value, &f->addr);
		return f->has_addr ? NULL : "addr is to be a number";
	}
	if (strcmp(field, "len") == 0) {
		if (cpci_parse_number(value, &f->len) &&
		    (f->len == 1 || f->len == 2 || f->len == 4 || f->len == 8))
			return NULL;
		return "len is 1, 2, 4 or 8";
	}
	if (strcmp(field, "rw") == 0) {
		f->access = parse_access(value);
		return f->access != 0 ? NULL : "rw is x, r, w or rw";
	}
	return "its fields are addr, len and rw";
}

int cpci_event_break(const char *name, uint_t flags, struct cpci_event *event,
		     struct cpci_diag *diag)
{
	struct fields f = {.access = HW_BREAKPOINT_X};
	char text[256], *next;
	size_t n = strlen(name);
	const char *why = NULL;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	if (n >= sizeof(text) || n < sizeof(prefix) + 1 || name[n - 1] != '/')
		return bad(name, diag, "it is to end with a slash");
	snprintf(text, sizeof(text), "%.*s", (int)(n - sizeof(prefix)), name + sizeof(prefix) - 1);
	for (char *field = text; why == NULL && field != NULL; field = next) {
		char *value;

		next = strchr(field, ',');
		if (next != NULL)
			*next++ = '\0';
		value = strchr(field, '=');
		if (value != NULL)
			*value++ = '\0';
		why = parse_field(&f, field, value);
	}
	if (why == NULL && !f.has_addr)
		why = "addr is missing";
	if (why != NULL)
		return bad(name, diag, why);
	/* The kernel wants the size of a long for instructions. */
	if (f.access == HW_BREAKPOINT_X)
		f.len = sizeof(long);
	else if (f.len == 0)
		f.len = 4;
	event->nterms = 1;
	event->term[0] = (struct cpci_term){
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = f.access,
		.config1 = f.addr,
		.config2 = f.len,
	};
	cpci_term_modes(&event->term[0], flags);
	return 1;
}
