/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * http_none.c - without libmicrohttpd.
 */
#include "http.h"

#include "../base/say.h"

struct listener *http_open(const char *address, const char *port)
{
	say("cannot listen on '%s' port %s: cpustat was built without libmicrohttpd; use -o FILE",
	    address, port);
	return NULL;
}
