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
 * The hierarchy in which all services and containers have cgroups: of version 2 if it is mounted at
 * /sys/fs/cgroup, else of a controller of version 1.  Ends the program after a message if there is
 * none.
 */
enum lwps_hierarchy cgroups_hierarchy(void);

/* The name of the hierarchy's controller; NULL: version 2. */
const char *cgroups_controller(enum lwps_hierarchy hierarchy);

/* The number of cgroups in the hierarchy; 0: unknown. */
size_t cgroups_count(enum lwps_hierarchy hierarchy);

/*
 * Find a cgroup by its path in the hierarchy, with or without the mount point, or by a name that
 * only one cgroup of root has (see cgroups_of_root()): the last part of its path, or the name of
 * the service, container or pod in rows.  Returns its id, the id of the hierarchy's
 * root, and the number of levels from the root to the cgroup.  False after a message.
 */
bool cgroups_find(const char *text, uint64_t *id, uint64_t *root_id, unsigned *depth);

#define CGROUPS_PATH (LWPS_PATH + 24)

/*
 * The length of the beginning of a path whose cgroups only root can have created and named: up to
 * the first user@UID.service, or the first cgroup that root does not own.  A cgroup that no longer
 * exists has no owner; then the path decides.
 */
size_t cgroups_of_root(enum lwps_hierarchy hierarchy, const char *path);

/* False: there is no cgroup with this path, or it cannot be seen. */
bool cgroups_exists(enum lwps_hierarchy hierarchy, const char *path);

/* Writes the path of a cgroup.  "..." stands for an unknown beginning. */
void cgroups_write_path(const struct lwps_path *path, uint64_t id, char *text, size_t size);

/* The path of a process's cgroup.  False: it is unknown. */
bool cgroups_of(enum lwps_hierarchy hierarchy, pid_t pid, char *path, size_t size);

#endif /* CGROUPS_H */
