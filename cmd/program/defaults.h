/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * defaults.h - what is counted without -c.
 */
#ifndef DEFAULTS_H
#define DEFAULTS_H

#include <libcpc.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the spec of the events that this machine and user can count together, of LWPs or
 * of CPUs.  The first of them is there in any case: who cannot count it is told why later.
 */
void defaults_find(cpc_t *cpc, bool of_cpus, char *spec, size_t size);

#define DEFAULTS_SIZE 128

#endif /* DEFAULTS_H */
