/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * wrapper-v1 - counters for programs in Fortran, by the first interface: it includes libcpc.h
 * alone, as on Solaris 8, so it is compiled with -include libcpc_v1.h.  Prints the page faults of
 * a region, of the same region twice, and the message about a wrong spec.
 */
#include <libcpc.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGES 500

static cpc_event_t event, first, sum;

static void print(const char *fn, const char *fmt, va_list ap)
{
	printf("%s: ", fn);
	vprintf(fmt, ap);
}

static int init_(const char *spec)
{
	int cpuver = cpc_getcpuver();

	if (cpc_version(CPC_VER_CURRENT) != CPC_VER_CURRENT || cpuver == -1)
		return -1;
	return cpc_strtoevent(cpuver, spec, &event) == 0 && cpc_access() == 0 ? 0 : -1;
}

static void start_(void)
{
	if (cpc_bind_event(&event, 0) == -1 || cpc_take_sample(&first) == -1)
		exit(1);
}

static void stop_(void)
{
	cpc_event_t last, region = event;

	if (cpc_take_sample(&last) == -1)
		exit(1);
	cpc_event_diff(&region, &last, &first);
	cpc_event_accum(&sum, &region);
	cpc_rele();
}

static void region(void)
{
	static char memory[(2 * PAGES + 2) * 65536L], *at = memory;
	const long page = sysconf(_SC_PAGESIZE);

	start_();
	for (int i = 0; i < PAGES; i++)
		*(volatile char *)(at += page) = 1;
	stop_();
}

int main(void)
{
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == -1)
		return 1;
	cpc_seterrfn(print);
	if (init_("pic0=page-faults,pic1=minor-faults") == -1)
		return 1;
	sum = event;
	region();
	printf("%" PRIu64 " %" PRIu64 "\n", sum.ce_pic[0], sum.ce_pic[1]);
	region();
	printf("%" PRIu64 " %" PRIu64 "\n", sum.ce_pic[0], sum.ce_pic[1]);
	return init_("pic0=no_such_event") == -1 ? 0 : 1;
}
