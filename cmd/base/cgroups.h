/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroups.h - the hierarchy of cgroups of this machine: see cgroups(7).
 */
#ifndef CGROUPS_H
#define CGROUPS_H

#include "../../liblwps/lwps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * That of version 2 if it is mounted at /sys/fs/cgroup; else that of a controller of version 1 that
 * is mounted below, where all services and containers have cgroups.  Ends the program after a
 * message if the kernel does not report what is mounted.
 */
enum lwps_hierarchy cgroups_hierarchy(void);

/* The controller of version 1 whose hierarchy it is; NULL: version 2. */
const char *cgroups_controller(enum lwps_hierarchy hierarchy);

/* The number of cgroups in it; 0: unknown. */
size_t cgroups_count(enum lwps_hierarchy hierarchy);

/*
 * Find a cgroup by its path in the hierarchy, with or without the directory where that is mounted,
 * or by a name that only one cgroup has.  Returns its id, that of the hierarchy's root, and how
 * many levels it is below the root.  False after a message.
 */
bool cgroups_find(const char *text, uint64_t *id, uint64_t *root_id, unsigned *depth);

#define CGROUPS_PATH (LWPS_PATH + 24)

/* Writes the path of a cgroup; it begins with "..." if the begin is unknown. */
void cgroups_write_path(const struct lwps_path *path, uint64_t id, char *text, size_t size);

/* The path of a process's cgroup.  False: it is unknown. */
bool cgroups_of(enum lwps_hierarchy hierarchy, pid_t pid, char *path, size_t size);

#endif /* CGROUPS_H */
