/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * owners.c - the names of the cgroups and users that LWPs belong to.
 */
#include "owners.h"

#include "../../base/util.h"
#include "../../program/cgroups.h"
#include "../../rows/key_name.h"
#include "../pids.h"

#include <bsd/sys/tree.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The owner of all cgroups of a name. */
struct named {
	RB_ENTRY(named) link;
	struct owner owner;
};

/* The owner of the cgroup with this id. */
struct known {
	RB_ENTRY(known) link;
	uint64_t id;
	const struct owner *owner;
};

struct user {
	RB_ENTRY(user) link;
	uid_t uid;
	char *name;
};

#define MAX_KNOWN 8192

RB_HEAD(nameds, named);
RB_HEAD(knowns, known);
RB_HEAD(users, user);

struct owners {
	enum scope scope;
	enum lwps_hierarchy hierarchy;
	struct nameds named;
	struct knowns known;
	size_t nknown;
	struct users users;
};

static int by_name(const struct named *a, const struct named *b)
{
	return strcmp(a->owner.name, b->owner.name);
}

static int by_id(const struct known *a, const struct known *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

static int by_uid(const struct user *a, const struct user *b)
{
	return (a->uid > b->uid) - (a->uid < b->uid);
}

/* clang-format off */
RB_GENERATE_INTERNAL(nameds, named, link, by_name, __attribute__((unused)) static)
RB_GENERATE_INTERNAL(knowns, known, link, by_id, __attribute__((unused)) static)
RB_GENERATE_INTERNAL(users, user, link, by_uid, __attribute__((unused)) static)
/* clang-format on */

bool owners_has_cgroups(const struct owners *owners)
{
	return owners->scope != SCOPE_USER;
}

/* ---- names ---------------------------------------------------------------------------- */

static char *text_or_null(const char *text)
{
	return *text != '\0' ? xstrdup(text) : NULL;
}

const struct owner *owners_find(struct owners *owners, const char *path)
{
	struct cgroup_name name;
	struct named wanted = {0}, *named;

	key_name_cgroup(owners->scope, 0, path, cgroups_of_root(owners->hierarchy, path), &name);
	wanted.owner.name = name.name;
	named = RB_FIND(nameds, &owners->named, &wanted);
	if (named != NULL)
		return &named->owner;
	named = xcalloc(1, sizeof(*named));
	named->owner.name = xstrdup(name.name);
	named->owner.kind = name.kind;
	named->owner.container = text_or_null(name.container);
	named->owner.pod = text_or_null(name.pod);
	named->owner.outer = text_or_null(name.outer);
	RB_INSERT(nameds, &owners->named, named);
	return &named->owner;
}

const char *owners_user(struct owners *owners, uid_t uid)
{
	struct user wanted = {.uid = uid}, *user = RB_FIND(users, &owners->users, &wanted);
	struct cgroup_name name;

	if (user != NULL)
		return user->name;
	key_name_user(uid, &name);
	user = xcalloc(1, sizeof(*user));
	user->uid = uid;
	user->name = xstrdup(name.name);
	RB_INSERT(users, &owners->users, user);
	return user->name;
}

/* ---- processes ------------------------------------------------------------------------ */

bool owners_of_lwp(struct owners *owners, pid_t tid, const struct owner **owner, const char **user)
{
	char path[CGROUPS_PATH], uids[128];
	struct pid_stat stat;
	bool known, alive;
	unsigned effective;

	known = owners_has_cgroups(owners) &&
		cgroups_of(owners->hierarchy, tid, path, sizeof(path));
	alive = pid_read_stat(tid, &stat) && !stat.exiting;
	/* For an LWP that exits, /proc shows the root cgroup in hierarchies of version 1. */
	if (known && (alive || owners->hierarchy == LWPS_UNIFIED))
		*owner = owners_find(owners, path);
	if (pid_read_status(tid, "Uid:", uids, sizeof(uids)) &&
	    sscanf(uids, "%*u %u", &effective) == 1)
		*user = owners_user(owners, (uid_t)effective);
	return alive;
}

/* ---- ids ---------------------------------------------------------------------------------- */

const struct owner *owners_by_id(struct owners *owners, uint64_t id)
{
	struct known wanted = {.id = id}, *known = RB_FIND(knowns, &owners->known, &wanted);

	return known != NULL ? known->owner : NULL;
}

static void clear_ids(struct owners *owners)
{
	struct known *known, *next;

	RB_FOREACH_SAFE(known, knowns, &owners->known, next)
	{
		RB_REMOVE(knowns, &owners->known, known);
		free(known);
	}
	owners->nknown = 0;
}

void owners_add_id(struct owners *owners, uint64_t id, const struct owner *owner)
{
	struct known *known = xcalloc(1, sizeof(*known));

	if (owners->nknown == MAX_KNOWN)
		clear_ids(owners);
	known->id = id;
	known->owner = owner;
	RB_INSERT(knowns, &owners->known, known);
	owners->nknown++;
}

/* ---- begin and end -------------------------------------------------------------------------- */

struct owners *owners_new(enum scope scope)
{
	struct owners *owners = xcalloc(1, sizeof(*owners));

	owners->scope = scope;
	if (owners_has_cgroups(owners))
		owners->hierarchy = cgroups_hierarchy();
	RB_INIT(&owners->named);
	RB_INIT(&owners->known);
	RB_INIT(&owners->users);
	return owners;
}

void owners_free(struct owners *owners)
{
	struct named *named, *next_named;
	struct user *user, *next_user;

	if (owners == NULL)
		return;
	RB_FOREACH_SAFE(named, nameds, &owners->named, next_named)
	{
		RB_REMOVE(nameds, &owners->named, named);
		free((char *)named->owner.name);
		free((char *)named->owner.container);
		free((char *)named->owner.pod);
		free((char *)named->owner.outer);
		free(named);
	}
	RB_FOREACH_SAFE(user, users, &owners->users, next_user)
	{
		RB_REMOVE(users, &owners->users, user);
		free(user->name);
		free(user);
	}
	clear_ids(owners);
	free(owners);
}
