/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * owners.h - the names of the cgroups and users that LWPs belong to.
 */
#ifndef OWNERS_H
#define OWNERS_H

#include "../../rows/row.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The cgroup, service or container of an LWP; it lives as long as its struct owners. */
struct owner {
	const char *name;
	enum key_kind kind;
	const char *container, *pod; /* ids; NULL: it has none */
	const char *outer;	     /* the container in which it runs; NULL: none */
};

struct owners;

/* Names cgroups by `scope`, which is one of cgroups, services and containers, or SCOPE_USER. */
struct owners *owners_new(enum scope scope);
void owners_free(struct owners *owners);

/* Are cgroups needed, not only users? */
bool owners_has_cgroups(const struct owners *owners);

/* The owner of the cgroup with this path. */
const struct owner *owners_find(struct owners *owners, const char *path);
const char *owners_user(struct owners *owners, uid_t uid);

/*
 * Reads the owners of an LWP from /proc; leaves unknown ones unchanged.  Cgroups of version 1 are
 * unknown once the LWP exits.  Returns false if the LWP is exiting or has exited.
 */
bool owners_of_lwp(struct owners *owners, pid_t tid, const struct owner **owner, const char **user);

/* Remembers owners by the ids of cgroups; NULL: this id is not remembered. */
const struct owner *owners_by_id(struct owners *owners, uint64_t id);
void owners_add_id(struct owners *owners, uint64_t id, const struct owner *owner);

#endif /* OWNERS_H */
