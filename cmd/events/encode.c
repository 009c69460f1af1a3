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

/* Members that are fields of the PMU as they are. */
static const struct {
	const char *key, *field;
} fields[] = {
	{"CounterMask", "cmask"},	{"Invert", "inv"},	  {"EdgeDetect", "edge"},
	{"AnyThread", "any"},		{"PortMask", "ch_mask"},  {"FCMask", "fc_mask"},
	{"NodeType", "type"},		{"RdWrMask", "rdwrmask"}, {"EnAllCores", "enallcores"},
	{"EnAllSlices", "enallslices"}, {"SliceId", "sliceid"},	  {"ThreadMask", "threadmask"},
};

/* Other members that encode() takes, and those that do not change what is counted. */
static const char *const others[] = {
	"EventCode",
	"ConfigCode",
	"EventidCode",
	"ExtSel",
	"UMask",
	"UMaskExt",
	"Filter",
	"Unit",
	"MSRIndex",
	"MSRValue",
	"EventName",
	"ArchStdEvent",
	/* Words. */
	"BriefDescription",
	"PublicDescription",
	"Description",
	"Title",
	"Topic",
	"Errata",
	"Deprecated",
	"Experimental",
	"Internal",
	"EventStatus",
	"Compat",
	"Speculative",
	/* How it is shown. */
	"ScaleUnit",
	"UnitOfMeasure",
	"PerPkg",
	"AggregationMode",
	"MetricName",
	"MetricExpr",
	"MetricGroup",
	"MetricConstraint",
	"MetricThreshold",
	"MetricgroupNoGroup",
	"DefaultMetricgroupName",
	/* Which counters can count it, and how it can be sampled. */
	"Counter",
	"CounterType",
	"CounterHTOff",
	"PEBScounters",
	"PEBS",
	"PDIR_COUNTER",
	"Precise",
	"CollectPEBSRecord",
	"SampleAfterValue",
	"TakenAlone",
	"Data_LA",
	"L1_Hit_Indication",
	"ELLC",
	"Offcore",
	"RetirementLatencyMin",
	"RetirementLatencyMax",
	"RetirementLatencyMean",
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
	{"L3PMC", "amd_l3"},	  {"UMCPMC", "amd_umc"},    {"arm_cmn", "arm_cmn"},
	{"imx8_ddr", "imx8_ddr"}, {"imx9_ddr", "imx9_ddr"}, {"ali_drw", "ali_drw"},
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

/*
 * A number in hexadecimal digits after 0x, else in decimal ones, as in what perf(1) makes of these
 * files; then comes `*end`.  False: none.
 */
static bool parse(const char *text, uint64_t *val, char *end)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *rest;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*val = strtoull(text, &rest, hexadecimal ? 16 : 10);
	*end = *rest;
	return errno == 0;
}

static bool parse_number(const char *text, uint64_t *val)
{
	char end;

	return parse(text, val, &end) && end == '\0';
}

/* Of a list, for the registers of several counters, the first. */
static bool parse_first(const char *text, uint64_t *val)
{
	char end;

	return parse(text, val, &end) && (end == '\0' || end == ',');
}

static void add(struct encoding *e, const char *field, uint64_t val)
{
	size_t n = strlen(e->terms);

	if ((size_t)snprintf(e->terms + n, sizeof(e->terms) - n, "%s%s=0x%llx", n > 0 ? "," : "",
			     field, (unsigned long long)val) >= sizeof(e->terms) - n)
		e->bad = true;
}

/* How to read the members of an event: as numbers, 0 for a missing one. */
struct source {
	encode_value_fn *value_of;
	void *object;
};

static const char *text_of(const struct source *from, const char *key)
{
	return from->value_of(from->object, key);
}

static uint64_t number_of(struct encoding *e, const struct source *from, const char *key)
{
	const char *value = text_of(from, key);
	uint64_t val = 0;

	if (*value != '\0' && !parse_number(value, &val))
		e->bad = true;
	return val;
}

/* What the event is, by one of three members. */
static void put_code(struct encoding *e, const struct source *from)
{
	const char *code = text_of(from, "EventCode");
	uint64_t val = 0, high = number_of(e, from, "ExtSel");

	if (*text_of(from, "ConfigCode") != '\0') {
		add(e, "config", number_of(e, from, "ConfigCode"));
	} else if (*text_of(from, "EventidCode") != '\0') {
		add(e, "eventid", number_of(e, from, "EventidCode"));
	} else if (*code != '\0') {
		if (!parse_first(code, &val) || high > 0xff)
			e->bad = true;
		add(e, "event", val | high << 8);
	}
}

/* The unit mask, which for some units is wider; some files have its upper part in both. */
static void put_umask(struct encoding *e, const struct source *from)
{
	uint64_t umask = number_of(e, from, "UMask") | number_of(e, from, "UMaskExt") << 8;

	if (umask != 0)
		add(e, "umask", umask);
}

/* Terms of the kernel's own already: "config1=0x40e33". */
static void put_filter(struct encoding *e, const char *filter)
{
	size_t n = strlen(e->terms);

	if (*filter == '\0')
		return;
	for (const char *c = filter; *c != '\0'; c++) {
		if (!isalnum((unsigned char)*c) && strchr("_=,", *c) == NULL)
			e->bad = true;
	}
	if (strchr(filter, '=') == NULL || (size_t)snprintf(e->terms + n, sizeof(e->terms) - n,
							    ",%s", filter) >= sizeof(e->terms) - n)
		e->bad = true;
}

static void put_unit(struct encoding *e, const char *unit)
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

static void put_msr(struct encoding *e, const char *index, const char *value)
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

static bool is_nothing(const char *value)
{
	uint64_t val;

	return *value == '\0' || strcasecmp(value, "null") == 0 || strcasecmp(value, "NA") == 0 ||
	       (parse_first(value, &val) && val == 0);
}

bool encode_is_unknown(const char *key, const char *value)
{
	if (is_nothing(value))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (strcmp(fields[i].key, key) == 0)
			return false;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (strcasecmp(others[i], key) == 0)
			return false;
	}
	return true;
}

bool encode(struct encoding *e, encode_value_fn *value_of, void *object)
{
	const struct source from = {.value_of = value_of, .object = object};
	const char *name = value_of(object, "EventName"), *terms = e->terms;

	put_code(e, &from);
	put_umask(e, &from);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint64_t val = number_of(e, &from, fields[i].key);

		if (val != 0)
			add(e, fields[i].field, val);
	}
	put_filter(e, value_of(object, "Filter"));
	put_unit(e, value_of(object, "Unit"));
	put_msr(e, value_of(object, "MSRIndex"), value_of(object, "MSRValue"));
	for (size_t i = 0; e->pmu[0] == '\0' && i < sizeof(fixed) / sizeof(*fixed); i++) {
		if (strcasecmp(fixed[i].name, name) == 0)
			terms = fixed[i].terms;
	}
	snprintf(e->text, sizeof(e->text), "%s/%s/", *e->pmu != '\0' ? e->pmu : "cpu", terms);
	return !e->bad && *terms != '\0';
}
