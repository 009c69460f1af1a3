/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * caps.h - the capability listing of -h.
 */
#ifndef CAPS_H
#define CAPS_H

#include <libcpc.h>
#include <stdio.h>

/* What this machine can count, and how to write it.  -1: libcpc has told why not. */
int caps_print(FILE *f, cpc_t *cpc);

/*
 * The events that have `pattern` in their name or description, a line each.  How many
 * there were, or -1: libcpc has told why.
 */
int caps_search(FILE *f, cpc_t *cpc, const char *pattern);

#endif /* CAPS_H */
