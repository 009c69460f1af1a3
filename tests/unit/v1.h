/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * v1.h - events of the obsolete interface, and page faults to count with them.
 */
#ifndef UNIT_V1_H
#define UNIT_V1_H

#include "faults.h"

#include <libcpc_v1.h>
#include <string.h>

#define FAULTS "pic0=page-faults,pic1=minor-faults"

static char told_fn[64], told[1024];

__attribute__((format(printf, 2, 0))) static void hear_v1(const char *fn, const char *fmt,
							  va_list ap)
{
	snprintf(told_fn, sizeof(told_fn), "%s", fn);
	vsnprintf(told, sizeof(told), fmt, ap);
	end_message(told);
	errno = 0;
}

static inline int setup(void **state)
{
	(void)state;
	cpc_seterrfn(hear_v1);
	told[0] = '\0';
	touch(1); /* its own pages are there from now on */
	return cpc_getcpuver() > 0 ? 0 : -1;
}

static inline int teardown(void **state)
{
	(void)state;
	return cpc_rele();
}

static inline cpc_event_t event_of(const char *spec)
{
	cpc_event_t event;

	assert_int_equal(cpc_strtoevent(cpc_getcpuver(), spec, &event), 0);
	return event;
}

#endif /* UNIT_V1_H */
