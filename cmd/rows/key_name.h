/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * key_name.h - the names of keys: of cgroups, services, containers and users.
 */
#ifndef KEY_NAME_H
#define KEY_NAME_H

#include "../base/cgroup_name.h"
#include "row.h"

/*
 * The key of a cgroup.  Its path begins with "..." if the begin is unknown.  `depth`, if not 0, is
 * how many components of it the name of a cgroup has.
 */
void key_name_cgroup(enum cpu_scope scope, unsigned depth, const char *path,
		     struct cgroup_name *name);

/* The key of a user: the name, or the number. */
void key_name_user(uid_t uid, struct cgroup_name *name);

#endif /* KEY_NAME_H */
