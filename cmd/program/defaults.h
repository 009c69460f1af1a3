/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * defaults.h - the events that are counted without -c.
 */
#ifndef DEFAULTS_H
#define DEFAULTS_H

#include <libcpc.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Writes a spec of events that this user can count together on this machine, for LWPs or CPUs.  The
 * first event is always in it; counting it can fail later.
 */
void defaults_find(cpc_t *cpc, bool of_cpus, char *spec, size_t size);

#define DEFAULTS_SIZE 128

#endif /* DEFAULTS_H */
