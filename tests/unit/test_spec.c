/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Event specs: what they mean, and what is wrong with bad ones.
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
		{"", "an event is missing"},
		{",", "an event is missing"},
		{"a,", "an event is missing"},
		{"a,,b", "an event is missing"},
		{"sys", "an event is missing: there are attributes only"},
		{"cycles=1", "an event is missing: there are attributes only"},
		{"pic99999999999999999999=a",
		 "'pic99999999999999999999=a': there is no slot of that number"},
		{"pic1.5=a", "'pic1.5=a': a slot is written picN=event, N being its number"},
		{"pic0x1=a", "'pic0x1=a': a slot is written picN=event, N being its number"},
		{"pic0=", "no event after 'pic0='"},
		{"pic0", "no event after 'pic0'"},
		{"pic=a", "'pic=a': a slot is written picN=event, N being its number"},
		{"PIC0=a", "'PIC0=a': a slot is written picN=event, N being its number"},
		{"pic-1=a", "'pic-1=a': a slot is written picN=event, N being its number"},
		{"a, b", "there is a blank in ' b'"},
		{"a,sys=2", "attribute 'sys' is 0 or 1"},
		{"a,nouser0=0x10", "attribute 'nouser' is 0 or 1"},
		{"a,nouser", "'a' would count nothing: nouser stops counting in user mode; add "
			     "sys to count in kernel mode"},
		{"a,sys1", "attribute 'sys1': no event on pic1"},
		{"a,sys99999999999999999999",
		 "attribute 'sys99999999999999999999': no event on pic99999999999999999999"},
		{"a,emask=", "'emask=': the value of an attribute is a number"},
		{"a,emask=x", "'emask=x': the value of an attribute is a number"},
		{"a,emask=-1", "'emask=-1': the value of an attribute is a number"},
		{"a,emask=18446744073709551616",
		 "'emask=18446744073709551616': the value of an attribute is a number"},
		{"a,12=3", "'12' is not the name of an attribute"},
		{"a,=3", "'' is not the name of an attribute"},
		{"a,picnum=1", "attribute 'picnum' cannot be given; write picN=event"},
		{"a,count_sibling_sys", "attribute 'count_sibling_sys' cannot be given"},
		{"a,count_sibling_usr=1", "attribute 'count_sibling_usr' cannot be given"},
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
