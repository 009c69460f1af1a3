/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * caps.h - the capability listing of -h.
 */
#ifndef CAPS_H
#define CAPS_H

#include <libcpc.h>
#include <stdio.h>

/* What this machine can count, and how to write it. */
void caps_print(FILE *f, cpc_t *cpc);

#endif /* CAPS_H */
