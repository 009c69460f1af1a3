/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroup_name.h - which service or container a cgroup belongs to, by its path.
 *
 * The paths are those that systemd, Docker, Podman, containerd, CRI-O, LXC, systemd-nspawn and
 * Kubernetes give to their cgroups, with either of their two cgroup drivers.
 */
#ifndef CGROUP_NAME_H
#define CGROUP_NAME_H

#include <stdbool.h>

struct cgroup_name {
	char name[544];
	char container[65]; /* the full id of the container, or "" */
	char pod[37];	    /* the uid of its pod, or "" */
};

/*
 * The unit of the system's systemd, the container or the pod that the cgroup belongs to.  A cgroup
 * of none of these is known by its first component, such as "/jobs".
 */
void cgroup_service(const char *path, struct cgroup_name *name);

/* The container that the cgroup belongs to.  False: none; the name is empty. */
bool cgroup_container(const char *path, struct cgroup_name *name);

/* Cuts a path after `depth` components. */
void cgroup_cut(char *path, unsigned depth);

#endif /* CGROUP_NAME_H */
