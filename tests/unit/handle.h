/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * handle.h - a handle for each test.
 */
#ifndef HANDLE_H
#define HANDLE_H

#include "unit.h"

static cpc_t *cpc;

static inline int open_handle(void **state)
{
	(void)state;
	memset(&last_error, 0, sizeof(last_error));
	cpc = cpc_open(CPC_VER_CURRENT);
	if (cpc == NULL)
		return -1;
	cpc_seterrhndlr(cpc, hear);
	return 0;
}

static inline int close_handle(void **state)
{
	(void)state;
	return cpc_close(cpc);
}

#endif /* HANDLE_H */
