/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroups.h - the hierarchy of cgroups of this machine: see cgroups(7).
 */
#ifndef CGROUPS_H
#define CGROUPS_H

#include "../../../liblwps/account.h"

#include <stddef.h>

/*
 * That of version 2 if it is mounted at /sys/fs/cgroup; else that of a controller of version 1,
 * where all services and containers have cgroups.
 */
enum account_hierarchy cgroups_hierarchy(void);

/* The controller of version 1 whose hierarchy it is; NULL: version 2. */
const char *cgroups_controller(enum account_hierarchy hierarchy);

/* The number of cgroups in it; 0: unknown. */
size_t cgroups_count(enum account_hierarchy hierarchy);

#endif /* CGROUPS_H */
