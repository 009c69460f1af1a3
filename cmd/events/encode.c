/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * encode.c - the fields of an event file as an event of a PMU in sysfs.
 *
 * What the fields mean, and which events the kernel wants by other codes, is what
 * tools/perf/pmu-events/jevents.py of Linux does with the same files.
 */
#include "encode.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct encode_field encode_fields[] = {
	{"EventCode", "event", true},	 {"UMask", "umask", false},
	{"CounterMask", "cmask", false}, {"Invert", "inv", false},
	{"EdgeDetect", "edge", false},	 {"AnyThread", "any", false},
	{"SampleFilter", "", false},	 {"PortMask", "ch_mask", false},
	{"FCMask", "fc_mask", false},	 {"UMaskExt", "umask_ext", false},
	{"ConfigCode", "config", false}, {NULL, NULL, false},
};

/* Registers whose values are fields of the core's PMU. */
static const struct {
	unsigned long index;
	const char *field;
} registers[] = {
	{0x1a6, "offcore_rsp"},
	{0x1a7, "offcore_rsp"},
	{0x3f6, "ldlat"},
	{0x3f7, "frontend"},
};

/* Units whose PMUs are not called uncore_UNIT. */
static const struct {
	const char *unit, *pmu;
} units[] = {
	{"cpu_core", "cpu_core"}, {"cpu_atom", "cpu_atom"}, {"CBO", "uncore_cbox"},
	{"QPI LL", "uncore_qpi"}, {"SBO", "uncore_sbox"},   {"iMPH-U", "uncore_arb"},
	{"NCU", "uncore_clock"},  {"UPI LL", "uncore_upi"}, {"DFPMC", "amd_df"},
	{"L3PMC", "amd_l3"},	  {"UMCPMC", "amd_umc"},
};

/* What a fixed counter counts has another code for the kernel. */
static const struct {
	const char *name, *terms;
} fixed[] = {
	{"INST_RETIRED.ANY", "event=0xc0"},
	{"INST_RETIRED.ANY_P", "event=0xc0"},
	{"CPU_CLK_UNHALTED.THREAD", "event=0x3c"},
	{"CPU_CLK_UNHALTED.CORE", "event=0x3c"},
	{"CPU_CLK_UNHALTED.THREAD_ANY", "event=0x3c,any=1"},
	{"CPU_CLK_UNHALTED.REF", "event=0x0,umask=0x3"},
	{"CPU_CLK_UNHALTED.REF_TSC", "event=0x0,umask=0x3"},
};

/* A number; of a list, for the registers of several counters, the first.  False: none. */
static bool parse_first(const char *text, uint64_t *val)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*val = strtoull(text, &end, 0);
	return errno == 0 && (*end == '\0' || *end == ',');
}

static void add(struct encoding *e, const char *field, uint64_t val)
{
	size_t n = strlen(e->terms);

	if ((size_t)snprintf(e->terms + n, sizeof(e->terms) - n, "%s%s=0x%llx", n > 0 ? "," : "",
			     field, (unsigned long long)val) >= sizeof(e->terms) - n)
		e->bad = true;
}

void encode_put(struct encoding *e, const struct encode_field *field, const char *value)
{
	uint64_t val;

	if (*value == '\0' || *field->field == '\0')
		return;
	if (!parse_first(value, &val))
		e->bad = true;
	else if (val != 0 || field->always)
		add(e, field->field, val);
}

void encode_unit(struct encoding *e, const char *unit)
{
	size_t n;

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcasecmp(units[i].unit, unit) == 0) {
			snprintf(e->pmu, sizeof(e->pmu), "%s", units[i].pmu);
			return;
		}
	}
	if (*unit == '\0' || strcasecmp(unit, "core") == 0)
		return;
	n = (size_t)snprintf(e->pmu, sizeof(e->pmu), "uncore_%s", unit);
	if (n >= sizeof(e->pmu))
		e->bad = true;
	for (char *c = e->pmu; *c != '\0'; c++) {
		*c = (char)tolower((unsigned char)*c);
		if (!isalnum((unsigned char)*c) && *c != '_')
			e->bad = true;
	}
}

void encode_msr(struct encoding *e, const char *index, const char *value)
{
	uint64_t reg, val;

	if (*index == '\0' || !parse_first(index, &reg) || reg == 0)
		return;
	if (!parse_first(value, &val)) {
		e->bad = true;
		return;
	}
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++) {
		if (registers[i].index == reg) {
			add(e, registers[i].field, val);
			return;
		}
	}
	e->bad = true;
}

bool encode_finish(struct encoding *e, const char *name)
{
	const char *terms = e->terms;

	for (size_t i = 0; e->pmu[0] == '\0' && i < sizeof(fixed) / sizeof(*fixed); i++) {
		if (strcasecmp(fixed[i].name, name) == 0)
			terms = fixed[i].terms;
	}
	snprintf(e->text, sizeof(e->text), "%s/%s/", *e->pmu != '\0' ? e->pmu : "cpu", terms);
	return !e->bad && *terms != '\0';
}
