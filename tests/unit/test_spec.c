/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Parses valid and invalid event specs.
 */
#include "unit.h"

#include "../../cmd/base/spec.h"

#include <stdio.h>
#include <string.h>

/* Writes a parsed spec as "slot=event[!user][+sys][ attr=value]...; ..." */
static void show(const struct spec *spec, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < spec->nreqs; i++) {
		const struct spec_req *req = &spec->req[i];

		n += (size_t)snprintf(buf + n, size - n, "%s%u%s%s%s%s", i > 0 ? "; " : "",
				      req->slot, req->placed ? "=" : ":", req->event,
				      req->nouser ? "!user" : "", req->sys ? "+sys" : "");
		for (size_t j = 0; j < req->nattrs; j++)
			n += (size_t)snprintf(buf + n, size - n, " %s=%llu", req->attr[j].name,
					      (unsigned long long)req->attr[j].val);
	}
}

static bool is_attr(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "edge") == 0 || strcmp(name, "config1") == 0;
}

static const struct spec_names names = {.is_attr = is_attr};

static void good_specs(void **state)
{
	static const struct {
		const char *text, *meaning;
	} cases[] = {
		{"EC_ref", "0:EC_ref"},
		{"EC_ref,EC_hit", "0:EC_ref; 1:EC_hit"},
		{"pic0=EC_ref,pic1=EC_hit", "0=EC_ref; 1=EC_hit"},
		{"pic1=a,b", "1=a; 2:b"},
		{"pic3=a,pic1=b,c", "3=a; 1=b; 4:c"},
		{"pic0=a,pic0=b", "0=a; 0=b"},
		{"a,pic0x", "0:a; 1:pic0x"},
		{"pic", "0:pic"},
		{"a,sys", "0:a+sys"},
		{"a,nouser,sys", "0:a!user+sys"},
		{"a,sys=0", "0:a"},
		{"a,b,sys1", "0:a; 1:b+sys"},
		{"sys,a", "0:a+sys"},
		{"inst_retired,inst_retired,nouser1,sys1",
		 "0:inst_retired; 1:inst_retired!user+sys"},
		{"ITLB_reference,emask=1", "0:ITLB_reference emask=1"},
		{"pic12=branch_retired,emask12=0x4,pic14=branch_retired,emask14=0xf,sys",
		 "12=branch_retired+sys emask=4; 14=branch_retired+sys emask=15"},
		{"a,cmask=010", "0:a cmask=8"},
		{"a,x=18446744073709551615", "0:a x=18446744073709551615"},
		{"icl::INST_RETIRED:ANY_P:u", "0:icl::INST_RETIRED:ANY_P:u"},
		{"cycles:c=1,b", "0:cycles:c=1; 1:b"},
		{"pic2=cycles:c=1:u", "2=cycles:c=1:u"},
		{"cpu/event=0xc0,umask=0x0/,b", "0:cpu/event=0xc0,umask=0x0/; 1:b"},
		{"pic1=cpu/event=0xc0,umask=1/", "1=cpu/event=0xc0,umask=1/"},
		{"msr/tsc/", "0:msr/tsc/"},
		{"uprobe/func=/bin/sh:main,ret/,b", "0:uprobe/func=/bin/sh:main,ret/; 1:b"},
		{"uprobe/func=\"a/,b\"/,c", "0:uprobe/func=\"a/,b\"/; 1:c"},
		{"sched:sched_switch,sys", "0:sched:sched_switch+sys"},
		{"0x11", "0:0x11"},
		{"edge,a,b", "0:a edge=1; 1:b edge=1"},
		{"a,b,edge1", "0:a; 1:b edge=1"},
		{"a,edge1x", "0:a; 1:edge1x"},
		{"a,config1=7", "0:a config1=7"},
		{"a,config10=7", "0:a config1=7"},
		{"pic999998=a,b", "999998=a; 999999:b"},
		{"pic1:x=2", "0:pic1:x=2"},
		{"system,syscalls", "0:system; 1:syscalls"},
	};
	struct spec spec;
	char why[256], buf[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (spec_parse(cases[i].text, &names, &spec, why, sizeof(why)) == -1)
			fail_msg("'%s' is refused: %s", cases[i].text, why);
		show(&spec, buf, sizeof(buf));
		assert_string_equal(buf, cases[i].meaning);
		spec_free(&spec);
	}
}

static void bad_specs(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "missing event"},
		{",", "missing event"},
		{"a,", "missing event"},
		{"a,,b", "missing event"},
		{"sys", "missing event: the spec has only attributes"},
		{"cycles=1", "missing event: the spec has only attributes"},
		{"pic99999999999999999999=a", "invalid slot in 'pic99999999999999999999=a'"},
		{"pic1.5=a", "invalid slot in 'pic1.5=a': expected picN=event with a number N"},
		{"pic0x1=a", "invalid slot in 'pic0x1=a': expected picN=event with a number N"},
		{"pic0=", "missing event after 'pic0='"},
		{"pic0", "missing event after 'pic0'"},
		{"pic=a", "invalid slot in 'pic=a': expected picN=event with a number N"},
		{"PIC0=a", "invalid slot in 'PIC0=a': expected picN=event with a number N"},
		{"pic-1=a", "invalid slot in 'pic-1=a': expected picN=event with a number N"},
		{"a, b", "invalid blank in ' b'; a spec has no blanks"},
		{"a,sys=2", "invalid value of attribute 'sys': expected 0 or 1"},
		{"a,nouser0=0x10", "invalid value of attribute 'nouser': expected 0 or 1"},
		{"a,nouser",
		 "invalid attributes of 'a': with nouser but without sys it counts nothing"},
		{"a,sys1", "invalid attribute 'sys1': no event on pic1"},
		{"a,sys99999999999999999999",
		 "invalid attribute 'sys99999999999999999999': no event on pic99999999999999999999"},
		{"a,emask=", "invalid value in 'emask=': expected a number"},
		{"a,emask=x", "invalid value in 'emask=x': expected a number"},
		{"a,emask=-1", "invalid value in 'emask=-1': expected a number"},
		{"a,emask=18446744073709551616",
		 "invalid value in 'emask=18446744073709551616': expected a number"},
		{"a,12=3", "unknown attribute '12'"},
		{"a,=3", "unknown attribute ''"},
		{"a,picnum=1", "unsupported attribute 'picnum'; write picN=event"},
		{"a,count_sibling_sys", "unsupported attribute 'count_sibling_sys'"},
		{"a,count_sibling_usr=1", "unsupported attribute 'count_sibling_usr'"},
	};
	struct spec spec;
	char why[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		why[0] = '\0';
		if (spec_parse(cases[i].text, &names, &spec, why, sizeof(why)) == 0)
			fail_msg("'%s' is accepted", cases[i].text);
		assert_string_equal(why, cases[i].why);
		assert_int_equal(spec.nreqs, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_specs),
		cmocka_unit_test(bad_specs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
