/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * check.h - what can be counted on this machine, and how to enable the rest (--check).
 */
#ifndef CHECK_H
#define CHECK_H

#include <libcpc.h>

/* Prints a screen to stdout.  Returns STATUS_OK if hardware counters count. */
int check_print(cpc_t *cpc);

#endif /* CHECK_H */
