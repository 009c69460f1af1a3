/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * test_cgroup_name - services, containers and pods by the paths of their cgroups.
 */
#include "../../cmd/program/cgroups.h"
#include "../../cmd/rows/key_name.h"
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define SHORT "0123456789ab"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "12345678-9abc-def0-1234-56789abcdef0"
#define UID_ "12345678_9abc_def0_1234_56789abcdef0"
#define MANAGER "/user.slice/user-1000.slice/user@1000.service"
#define HASH "0123456789abcdef0123456789abcdef" /* of a static pod */

static const struct {
	const char *path, *service, *container, *id, *pod;
} paths[] = {
	{"/", "/", "(none)", "", ""},
	{"/init.scope", "init.scope", "(none)", "", ""},
	{"/system.slice", "system.slice", "(none)", "", ""},
	{"/system.slice/nginx.service", "nginx.service", "(none)", "", ""},
	{"/system.slice/nginx.service/worker", "nginx.service", "(none)", "", ""},
	{"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "(none)", "",
	 ""},
	{"/system.slice/boot.mount", "boot.mount", "(none)", "", ""},
	{"/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "(none)", "", ""},
	{"/user.slice/user-1000.slice/user@1000.service/app.slice/vim.scope", "user@1000.service",
	 "(none)", "", ""},
	{"/jobs/17", "/jobs", "(none)", "", ""},
	{"/system.slice/docker-" ID ".scope", "docker-" SHORT, "docker-" SHORT, ID, ""},
	{"/docker/" ID, SHORT, SHORT, ID, ""},
	{"/docker/" ID "/init", SHORT, SHORT, ID, ""},
	{"/machine.slice/libpod-" ID ".scope/container", "libpod-" SHORT, "libpod-" SHORT, ID, ""},
	{"/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "(none)", "",
	 ""},
	/* A user's own units and containers are the user's. */
	{MANAGER, "user@1000.service", "(none)", "", ""},
	{MANAGER "/user.slice/libpod-" ID ".scope", "user@1000.service",
	 "user@1000.service/libpod-" SHORT, "", ""},
	{MANAGER "/docker-" ID ".scope", "user@1000.service", "user@1000.service/docker-" SHORT, "",
	 ""},
	{MANAGER "/system.slice/docker-" ID ".scope/x", "user@1000.service",
	 "user@1000.service/docker-" SHORT, "", ""},
	{MANAGER "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope",
	 "user@1000.service", "user@1000.service/crio-" SHORT, "", ""},
	{MANAGER "/system.slice/nginx.service", "user@1000.service", "(none)", "", ""},
	{MANAGER "/machine.slice/machine-web.scope", "user@1000.service",
	 "user@1000.service/machine-web", "", ""},
	{MANAGER "/user@0.service/lxc.payload.web", "user@1000.service",
	 "user@1000.service/lxc-web", "", ""},
	{"/lxc.payload.web" MANAGER "/docker-" ID ".scope", "lxc-web", "lxc-web", "", ""},
	{"/user@1000.service/x", "user@1000.service", "(none)", "", ""},
	{"/system.slice/user@.service/docker-" ID ".scope", "user@.service", "docker-" SHORT, ID,
	 ""},
	{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	 ".slice/cri-containerd-" ID ".scope",
	 "pod-" UID, "cri-containerd-" SHORT, ID, UID},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", "pod-" UID, "crio-" SHORT,
	 ID, UID},
	{"/kubepods.slice/kubepods-pod" UID_ ".slice", "pod-" UID, "(none)", "", UID},
	{"/kubepods/besteffort/pod" UID "/" ID, "pod-" UID, SHORT, ID, UID},
	{"/kubepods/burstable/pod" HASH "/" ID, "pod-" HASH, SHORT, ID, HASH},
	{"/kubepods.slice/kubepods-besteffort.slice", "kubepods-besteffort.slice", "(none)", "",
	 ""},
	{"/lxc.payload.web/system.slice/cron.service", "lxc-web", "lxc-web", "", ""},
	/* Proxmox, and older LXC and LXD. */
	{"/lxc/101", "lxc-101", "lxc-101", "", ""},
	{"/lxc/101/ns/system.slice/cron.service", "lxc-101", "lxc-101", "", ""},
	{"/lxc/x1/system.slice/snapd.service", "lxc-x1", "lxc-x1", "", ""},
	{"/lxc.payload/web/init.scope", "lxc-web", "lxc-web", "", ""},
	{"/lxc", "/lxc", "(none)", "", ""},
	{"/lxc.monitor.web", "/lxc.monitor.web", "(none)", "", ""},
	/* systemd-nspawn as a service, Quadlet, snaps, template units. */
	{"/machine.slice/systemd-nspawn@web.service/payload/system.slice/cron.service",
	 "systemd-nspawn@web.service", "machine-web", "", ""},
	{"/system.slice/quad.service/libpod-payload-" ID, "quad.service", "libpod-" SHORT, ID, ""},
	{"/system.slice/snap.lxd.daemon.service", "snap.lxd.daemon.service", "(none)", "", ""},
	{"/system.slice/system-postgresql.slice/postgresql@15-main.service",
	 "postgresql@15-main.service", "(none)", "", ""},
	{"/libpod_parent/libpod-" ID, "libpod-" SHORT, "libpod-" SHORT, ID, ""},
	{"/ecs/" HASH "/" ID, SHORT, SHORT, ID, ""},
	{"/nomad.slice/share.slice/1e2b.web.scope", "1e2b.web.scope", "(none)", "", ""},
	/* Kubernetes: containerd with the cgroupfs driver and names of systemd; kind. */
	{"/system.slice/containerd.service/kubepods-burstable-pod" UID_ ".slice:cri-containerd:" ID,
	 "pod-" UID, "cri-containerd-" SHORT, ID, UID},
	{"/kubepods-besteffort-pod" UID_ ".slice:cri-containerd:" ID, "pod-" UID,
	 "cri-containerd-" SHORT, ID, UID},
	{"/system.slice:docker:" ID, "docker-" SHORT, "docker-" SHORT, ID, ""},
	{"/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	 "kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	 "pod-" UID, "cri-containerd-" SHORT, ID, UID},
	{"/system.slice/docker-" ID2 ".scope/kubelet.slice/kubelet-kubepods.slice/"
	 "kubelet-kubepods-pod" UID_ ".slice",
	 "pod-" UID, "docker-fedcba987654", ID2, UID},
	/* Docker in Docker. */
	{"/docker/" ID2 "/docker/" ID, SHORT, SHORT, ID, ""},
	{"/docker/" ID2 "/system.slice/cron.service", "fedcba987654", "fedcba987654", ID2, ""},
	{"/system.slice/docker-" ID2 ".scope/system.slice/web.service/libpod-payload-" ID,
	 "libpod-" SHORT, "libpod-" SHORT, ID, ""},
	{"/machine.slice/machine-web.scope/payload", "machine-web", "machine-web", "", ""},
	/* These only look similar. */
	{"/system.slice/docker-" SHORT ".scope", "docker-" SHORT ".scope", "(none)", "", ""},
	{"/system.slice/x" ID, "/x" ID, "(none)", "", ""},
	{"/system.slice/podman.service", "podman.service", "(none)", "", ""},
	{"/system.slice/pod" UID "x", "/pod" UID "x", "(none)", "", ""},
	{"/system.slice/.service", "/.service", "(none)", "", ""},
};

static void names(void **state)
{
	struct cgroup_name name;
	size_t nroot;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		nroot = cgroups_of_root(LWPS_UNIFIED, paths[i].path);
		key_name_cgroup(SCOPE_SERVICE, 0, paths[i].path, nroot, &name);
		assert_string_equal(name.name, paths[i].service);
		assert_string_equal(name.pod, paths[i].pod);
		key_name_cgroup(SCOPE_CONTAINER, 0, paths[i].path, nroot, &name);
		assert_string_equal(name.name, paths[i].container);
		assert_string_equal(name.container, paths[i].id);
		assert_string_equal(name.pod, paths[i].pod);
	}
}

/* Containers in containers. */
static void outer(void **state)
{
	static const struct {
		const char *path, *container, *outer;
	} nested[] = {
		{"/docker/" ID2 "/docker/" ID, SHORT, "fedcba987654"},
		{"/system.slice/docker-" ID2 ".scope/docker/" ID, SHORT, "docker-fedcba987654"},
		{"/system.slice/docker-" ID2 ".scope/kubelet-kubepods.slice/"
		 "kubelet-kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope",
		 "cri-containerd-" SHORT, "docker-fedcba987654"},
		{"/lxc.payload.web/docker/" ID, SHORT, "lxc-web"},
		{"/system.slice/docker-" ID ".scope", "docker-" SHORT, ""},
		{"/machine.slice/libpod-" ID ".scope/container", "libpod-" SHORT, ""},
		{"/machine.slice/libpod-" ID ".scope/libpod-payload-" ID, "libpod-" SHORT, ""},
		{"/system.slice/nginx.service", "(none)", ""},
	};
	struct cgroup_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(nested) / sizeof(*nested); i++) {
		key_name_cgroup(SCOPE_CONTAINER, 0, nested[i].path, strlen(nested[i].path), &name);
		assert_string_equal(name.name, nested[i].container);
		assert_string_equal(name.outer, nested[i].outer);
		key_name_cgroup(SCOPE_SERVICE, 0, nested[i].path, strlen(nested[i].path), &name);
		assert_string_equal(name.outer, nested[i].outer);
	}
}

static void cut(void **state)
{
	static const struct {
		const char *path;
		unsigned depth;
		const char *rest;
	} cuts[] = {
		{"/", 1, "/"},	     {"/a", 1, "/a"},	    {"/a/b", 1, "/a"},
		{"/a/b", 2, "/a/b"}, {"/a/b/c", 2, "/a/b"}, {"/a/b/c", 9, "/a/b/c"},
	};
	struct cgroup_name name;

	(void)state;
	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		key_name_cgroup(SCOPE_CGROUP, cuts[i].depth, cuts[i].path, strlen(cuts[i].path),
				&name);
		assert_string_equal(name.name, cuts[i].rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(outer),
		cmocka_unit_test(cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
