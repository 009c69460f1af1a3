/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * breakpoint.c - breakpoints as counters: "breakpoint/addr=0x401136,len=8,rw=x/",
 * "breakpoint/addr=function+0x10/".
 *
 * CPUs have few debug registers (four on x86).  They count exactly, also in virtual machines
 * (perf_event_open(2), PERF_TYPE_BREAKPOINT).
 */
#include "event.h"

#include <bsd/string.h>
#include <ctype.h>
#include <linux/hw_breakpoint.h>
#include <string.h>

/* Parses "x", "r", "w", "rw" or "wr".  0: something else. */
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
	struct cpci_term term; /* the symbol that addr is an offset from */
};

/* Parses a number, or a symbol with or without an offset. */
static const char *parse_addr(struct fields *f, char *value)
{
	f->has_addr = true;
	f->term.symbol[0] = '\0';
	f->addr = 0;
	if (isdigit((unsigned char)*value))
		return cpci_parse_number(value, &f->addr) ? NULL : "addr is not a number";
	if (*value == '\0' || *value == '+')
		return "addr is a number, or a symbol with or without +offset";
	if (*value == '/')
		return "a breakpoint takes a symbol without its file; calls of a function of a "
		       "file: uprobe/func=/PATH:FUNCTION/";
	return cpci_event_symbol(value, &f->term, &f->addr);
}

/* Parses one "field=value", or the end (NULL).  Returns NULL, or the error. */
static const char *parse_field(void *arg, char *field, char *value)
{
	struct fields *f = arg;

	if (field == NULL)
		return f->has_addr ? NULL : "addr is missing";
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
	int rc = cpci_event_fields(name, "breakpoint", &f, parse_field, diag);

	if (rc != 1)
		return rc;
	/* The kernel requires the size of a long for instructions. */
	if (f.access == HW_BREAKPOINT_X)
		f.len = sizeof(long);
	else if (f.len == 0 && f.term.symbol[0] == '\0')
		f.len = 4;
	rc = cpci_event_single(event,
			       &(struct perf_event_attr){
				       .type = PERF_TYPE_BREAKPOINT,
				       .bp_type = f.access,
				       .bp_addr = f.addr,
				       .bp_len = f.len,
			       },
			       flags, diag);
	if (rc == 1) {
		strlcpy(event->term[0].symbol, f.term.symbol, sizeof(event->term[0].symbol));
		event->term[0].exact = f.term.exact;
	}
	return rc;
}
