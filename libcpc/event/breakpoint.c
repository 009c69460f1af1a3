/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * breakpoint.c - breakpoints as counters: "breakpoint/addr=0x401136,len=8,rw=x/",
 * "breakpoint/addr=function+0x10/".
 *
 * The debug registers of the CPU are few (four on x86), and count exactly, in virtual
 * machines too (perf_event_open(2), PERF_TYPE_BREAKPOINT).
 */
#include "event.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
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
	char symbol[sizeof(((struct cpci_term *)0)->symbol)]; /* what addr is an offset to */
};

/* A number, or a symbol with or without an offset. */
static const char *parse_addr(struct fields *f, char *value)
{
	char *offset;

	f->has_addr = true;
	f->symbol[0] = '\0';
	f->addr = 0;
	if (isdigit((unsigned char)*value))
		return cpci_parse_number(value, &f->addr) ? NULL : "addr is no number";
	offset = strchr(value, '+');
	if (offset != NULL)
		*offset++ = '\0';
	if (*value == '\0')
		return "addr is a number, or a symbol with or without +offset";
	if (strlcpy(f->symbol, value, sizeof(f->symbol)) >= sizeof(f->symbol))
		return "the symbol is longer than 255 characters";
	if (offset != NULL && !cpci_parse_number(offset, &f->addr))
		return "the offset from the symbol is to be a number";
	return NULL;
}

/* One "field=value"; NULL, or what is wrong with it. */
static const char *parse_field(struct fields *f, const char *field, char *value)
{
	if (value == NULL)
		return "a breakpoint is breakpoint/addr=ADDRESS[,len=BYTES][,rw=x|r|w|rw]/";
	if (strcmp(field, "addr") == 0)
		return parse_addr(f, value);
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

int cpci_event_breakpoint(const char *name, uint_t flags, struct cpci_event *event,
			  struct cpci_diag *diag)
{
	struct fields f = {.access = HW_BREAKPOINT_X};
	char text[1024], *next;
	size_t n = strlen(name);
	const char *why = NULL;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	if (n >= sizeof(text))
		return bad(name, diag, "it is too long");
	if (name[n - 1] != '/')
		return bad(name, diag, "it is to end with a slash");
	if (n < sizeof(prefix) + 1)
		return bad(name, diag, "addr is missing");
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
	else if (f.len == 0 && f.symbol[0] == '\0')
		f.len = 4;
	cpci_event_single(event,
			  &(struct perf_event_attr){
				  .type = PERF_TYPE_BREAKPOINT,
				  .bp_type = f.access,
				  .bp_addr = f.addr,
				  .bp_len = f.len,
			  },
			  flags);
	strlcpy(event->term[0].symbol, f.symbol, sizeof(event->term[0].symbol));
	return 1;
}
