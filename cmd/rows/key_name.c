/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * key_name.c - the names of keys: of cgroups, services, containers and users.
 */
#include "key_name.h"

#include <bsd/string.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

void key_name_cgroup(enum cpu_scope scope, unsigned depth, const char *path,
		     struct cgroup_name *name)
{
	const bool cut = *path != '/';

	*name = (struct cgroup_name){0};
	if (cut && (scope != SCOPE_CGROUP || depth > 0)) {
		/* The begin of the path decides. */
		strlcpy(name->name, "...", sizeof(name->name));
		return;
	}
	switch (scope) {
	case SCOPE_SERVICE:
		cgroup_service(path, name);
		break;
	case SCOPE_CONTAINER:
		if (!cgroup_container(path, name))
			strlcpy(name->name, "(none)", sizeof(name->name));
		break;
	default:
		strlcpy(name->name, path, sizeof(name->name));
		if (depth > 0)
			cgroup_cut(name->name, depth);
	}
}

void key_name_user(uid_t uid, struct cgroup_name *name)
{
	const struct passwd *user = getpwuid(uid);

	*name = (struct cgroup_name){0};
	if (user != NULL)
		strlcpy(name->name, user->pw_name, sizeof(name->name));
	else
		snprintf(name->name, sizeof(name->name), "%u", (unsigned)uid);
}
