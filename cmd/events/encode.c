/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * encode.c - encodes the events of event files as events of PMUs in sysfs.
 *
 * The meaning of the fields is that of tools/perf/pmu-events/jevents.py of Linux, which reads the
 * same files.
 */
#include "encode.h"

#include "read.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Members that become fields of the PMU unchanged. */
static const struct {
	const char *key, *field;
} fields[] = {
	{"CounterMask", "cmask"},	{"Invert", "inv"},	  {"EdgeDetect", "edge"},
	{"AnyThread", "any"},		{"PortMask", "ch_mask"},  {"FCMask", "fc_mask"},
	{"NodeType", "type"},		{"RdWrMask", "rdwrmask"}, {"EnAllCores", "enallcores"},
	{"EnAllSlices", "enallslices"}, {"SliceId", "sliceid"},	  {"ThreadMask", "threadmask"},
};

/* Other members that encode() uses, and members that do not change what is counted. */
static const char *const known_members[] = {
	"EventCode", "ConfigCode", "EventidCode", "ExtSel", "UMask", "UMaskExt", "Filter", "Unit",
	"MSRIndex", "MSRValue", "EventName", "ArchStdEvent",
	/* Descriptions. */
	"BriefDescription", "PublicDescription", "Description", "Title", "Topic", "Errata",
	"Deprecated", "Experimental", "Internal", "EventStatus", "Compat", "Speculative",
	/* How to show it. */
	"ScaleUnit", "UnitOfMeasure", "PerPkg", "AggregationMode", "MetricName", "MetricExpr",
	"MetricGroup", "MetricConstraint", "MetricThreshold", "MetricgroupNoGroup",
	"DefaultMetricgroupName",
	/* Which counters can count it, and how to sample it. */
	"Counter", "CounterType", "CounterHTOff", "PEBScounters", "PEBS", "PDIR_COUNTER", "Precise",
	"CollectPEBSRecord", "SampleAfterValue", "TakenAlone", "Data_LA", "L1_Hit_Indication",
	"ELLC", "Offcore", "RetirementLatencyMin", "RetirementLatencyMax", "RetirementLatencyMean"};

/* Registers whose values are fields of the PMU of the core. */
static const struct {
	unsigned long index;
	const char *field;
} registers[] = {
	{0x1a6, "offcore_rsp"},
	{0x1a7, "offcore_rsp"},
	{0x3f6, "ldlat"},
	{0x3f7, "frontend"},
};

/* Units with PMUs of other names than uncore_UNIT. */
static const struct {
	const char *unit, *pmu;
} units[] = {
	{"cpu_core", "cpu_core"}, {"cpu_atom", "cpu_atom"}, {"CBO", "uncore_cbox"},
	{"QPI LL", "uncore_qpi"}, {"SBO", "uncore_sbox"},   {"iMPH-U", "uncore_arb"},
	{"NCU", "uncore_clock"},  {"UPI LL", "uncore_upi"}, {"DFPMC", "amd_df"},
	{"L3PMC", "amd_l3"},	  {"UMCPMC", "amd_umc"},    {"arm_cmn", "arm_cmn"},
	{"imx8_ddr", "imx8_ddr"}, {"imx9_ddr", "imx9_ddr"}, {"ali_drw", "ali_drw"},
};

/* The kernel has other codes for the events of fixed counters. */
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
 * Parses a hexadecimal number after 0x, or a decimal number.  As in perf(1), a leading 0 does
 * not make it octal.  `list`: more numbers may follow, for the registers of further counters.
 */
static bool parse_number(const char *text, bool list, uint64_t *val)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*val = strtoull(text, &end, hexadecimal ? 16 : 10);
	return errno == 0 && (*end == '\0' || (list && *end == ','));
}

/* Appends terms, separated by commas. */
static void add_terms(struct encoding *e, const char *terms)
{
	if (*e->terms != '\0')
		strlcat(e->terms, ",", sizeof(e->terms));
	if (strlcat(e->terms, terms, sizeof(e->terms)) >= sizeof(e->terms))
		e->invalid = true;
}

static void add_term(struct encoding *e, const char *field, uint64_t val)
{
	char term[64];

	snprintf(term, sizeof(term), "%s=0x%llx", field, (unsigned long long)val);
	add_terms(e, term);
}

/* A missing number is 0. */
static uint64_t number_of(struct encoding *e, struct json_object *object, const char *key)
{
	const char *value = read_member(object, key);
	uint64_t val = 0;

	if (*value != '\0' && !parse_number(value, false, &val))
		e->invalid = true;
	return val;
}

/* The code of the event is in one of three members. */
static void put_code(struct encoding *e, struct json_object *object)
{
	const char *code = read_member(object, "EventCode");
	uint64_t val = 0, high = number_of(e, object, "ExtSel");

	if (*read_member(object, "ConfigCode") != '\0') {
		add_term(e, "config", number_of(e, object, "ConfigCode"));
	} else if (*read_member(object, "EventidCode") != '\0') {
		add_term(e, "eventid", number_of(e, object, "EventidCode"));
	} else if (*code != '\0') {
		if (!parse_number(code, true, &val) || high > 0xff)
			e->invalid = true;
		add_term(e, "event", val | high << 8);
	}
}

/* The unit mask is wider for some units.  Some files have its upper part in both members. */
static void put_umask(struct encoding *e, struct json_object *object)
{
	uint64_t umask = number_of(e, object, "UMask") | number_of(e, object, "UMaskExt") << 8;

	if (umask != 0)
		add_term(e, "umask", umask);
}

/* The filter is a list of terms already: "config1=0x40e33". */
static void put_filter(struct encoding *e, const char *filter)
{
	if (*filter == '\0')
		return;
	for (const char *c = filter; *c != '\0'; c++)
		e->invalid |= !isalnum((unsigned char)*c) && strchr("_=,", *c) == NULL;
	e->invalid |= strchr(filter, '=') == NULL;
	add_terms(e, filter);
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
		e->invalid = true;
	for (char *c = e->pmu; *c != '\0'; c++) {
		*c = (char)tolower((unsigned char)*c);
		if (!isalnum((unsigned char)*c) && *c != '_')
			e->invalid = true;
	}
}

static void put_msr(struct encoding *e, const char *index, const char *value)
{
	uint64_t reg, val;

	if (*index == '\0' || !parse_number(index, true, &reg) || reg == 0)
		return;
	if (!parse_number(value, true, &val)) {
		e->invalid = true;
		return;
	}
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++) {
		if (registers[i].index == reg) {
			add_term(e, registers[i].field, val);
			return;
		}
	}
	e->invalid = true;
}

static bool is_empty(const char *value)
{
	uint64_t val;

	return *value == '\0' || strcasecmp(value, "null") == 0 || strcasecmp(value, "NA") == 0 ||
	       (parse_number(value, true, &val) && val == 0);
}

bool encode_is_unknown(const char *key, const char *value)
{
	if (is_empty(value))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (strcmp(fields[i].key, key) == 0)
			return false;
	}
	for (size_t i = 0; i < sizeof(known_members) / sizeof(*known_members); i++) {
		if (strcasecmp(known_members[i], key) == 0)
			return false;
	}
	return true;
}

bool encode(struct encoding *e, struct json_object *object)
{
	const char *name = read_member(object, "EventName"), *terms = e->terms;

	put_code(e, object);
	put_umask(e, object);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		uint64_t val = number_of(e, object, fields[i].key);

		if (val != 0)
			add_term(e, fields[i].field, val);
	}
	put_filter(e, read_member(object, "Filter"));
	put_unit(e, read_member(object, "Unit"));
	put_msr(e, read_member(object, "MSRIndex"), read_member(object, "MSRValue"));
	for (size_t i = 0; e->pmu[0] == '\0' && i < sizeof(fixed) / sizeof(*fixed); i++) {
		if (strcasecmp(fixed[i].name, name) == 0)
			terms = fixed[i].terms;
	}
	snprintf(e->text, sizeof(e->text), "%s/%s/", *e->pmu != '\0' ? e->pmu : "cpu", terms);
	return !e->invalid && *terms != '\0';
}
