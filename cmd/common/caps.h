/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * caps.h - what -h and --version print.
 */
#ifndef CAPS_H
#define CAPS_H

#include <libcpc.h>
#include <stdbool.h>
#include <stdio.h>

struct about {
	const char *program;
	bool version;	     /* only that */
	const char *pattern; /* only events with this in their name or description; or NULL */
};

/*
 * Tells on stdout what was asked for instead of counting: the version, events like a
 * pattern, or the usage and all that this machine can count.  Returns the exit status.
 */
int caps_tell(cpc_t *cpc, const struct about *about, void (*print_usage)(FILE *f));

#endif /* CAPS_H */
