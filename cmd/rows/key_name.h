/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * key_name.h - the names of keys: of cgroups, services, containers and users.
 *
 * The paths of cgroups are those that systemd, Docker, Podman, containerd, CRI-O, LXC,
 * systemd-nspawn and Kubernetes choose, with either of the two cgroup drivers of Kubernetes.
 */
#ifndef KEY_NAME_H
#define KEY_NAME_H

#include "row.h"

struct cgroup_name {
	char name[800]; /* as long as the paths of liblwps */
	enum key_kind kind;
	char container[65]; /* the full id of the container, or "" */
	char pod[37];	    /* the uid of its pod, or "" */
	char outer[256];    /* the name of the container in which the container runs, or "" */
};

/*
 * The key of a cgroup.  `path` begins with "..." if its beginning is unknown.  Only the first
 * `nroot` bytes of it name services and containers of the machine: a user can have chosen the names
 * below, see cgroups_of_root().  `depth`: the number of components of the path in a key of
 * SCOPE_CGROUP; 0: all.
 */
void key_name_cgroup(enum scope scope, unsigned depth, const char *path, size_t nroot,
		     struct cgroup_name *name);

/* The key of a user: the name, or the number. */
void key_name_user(uid_t uid, struct cgroup_name *name);

#endif /* KEY_NAME_H */
