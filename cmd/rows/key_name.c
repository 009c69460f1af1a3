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

#define ID_LENGTH 64	/* of a container: hexadecimal digits */
#define SHORT_LENGTH 12 /* of the short id, which tools of containers print */

/* A component of a path. */
struct part {
	const char *text;
	size_t n;
};

/* Advances `*path` behind its first component.  False: it has none. */
static bool next_part(const char **path, struct part *part)
{
	while (**path == '/')
		++*path;
	part->text = *path;
	part->n = strcspn(*path, "/");
	*path += part->n;
	return part->n > 0;
}

static bool ends_with(const struct part *part, const char *end)
{
	size_t n = strlen(end);

	return part->n > n && memcmp(part->text + part->n - n, end, n) == 0;
}

static bool begins_with(const struct part *part, const char *begin)
{
	size_t n = strlen(begin);

	return part->n > n && memcmp(part->text, begin, n) == 0;
}

static bool is(const struct part *part, const char *text)
{
	return part->n == strlen(text) && memcmp(part->text, text, part->n) == 0;
}

/* The part without `end`, if it ends with that. */
static struct part without_end(const struct part *part, const char *end)
{
	return (struct part){part->text, part->n - (ends_with(part, end) ? strlen(end) : 0)};
}

/* The part up to its first character `c`, or all of it. */
static struct part before(const struct part *part, char c)
{
	const char *end = memchr(part->text, c, part->n);

	return (struct part){part->text, end != NULL ? (size_t)(end - part->text) : part->n};
}

/*
 * Parses docker-ID.scope, cri-containerd-ID.scope, libpod-payload-ID, SLICE:cri-containerd:ID, or
 * plain ID; not libpod-conmon-ID.scope.
 */
static bool parse_by_id(const struct part *part, struct cgroup_name *name)
{
	struct part rest = without_end(part, ".scope");
	const char *id = rest.text + rest.n - ID_LENGTH, *colon;

	if (rest.n < ID_LENGTH || strspn(id, "0123456789abcdef") < ID_LENGTH)
		return false;
	rest.n -= ID_LENGTH;
	if (rest.n > 0 && (strchr("-:", id[-1]) == NULL || ends_with(&rest, "conmon-")))
		return false;
	rest = without_end(&rest, "payload-");
	colon = rest.n > 0 && id[-1] == ':' ? memrchr(rest.text, ':', rest.n - 1) : NULL;
	if (colon != NULL)
		snprintf(name->name, sizeof(name->name), "%.*s-%.*s", (int)(id - colon - 2),
			 colon + 1, SHORT_LENGTH, id);
	else
		snprintf(name->name, sizeof(name->name), "%.*s%.*s", (int)rest.n, rest.text,
			 SHORT_LENGTH, id);
	snprintf(name->container, sizeof(name->container), "%.*s", ID_LENGTH, id);
	return true;
}

/*
 * Parses lxc/NAME and lxc.payload/NAME at the top, with `above`, and lxc.payload.NAME;
 * machine-NAME.scope and systemd-nspawn@NAME.service of systemd-nspawn.
 */
static bool parse_by_name(const struct part *part, const struct part *above,
			  struct cgroup_name *name)
{
	static const char lxc[] = "lxc.payload.", machine[] = "machine-",
			  unit[] = "systemd-nspawn@";
	const struct part scope = without_end(part, ".scope");
	const struct part service = without_end(part, ".service");

	if (begins_with(part, lxc))
		snprintf(name->name, sizeof(name->name), "lxc-%.*s", (int)(part->n - strlen(lxc)),
			 part->text + strlen(lxc));
	else if (is(above, "lxc") || is(above, "lxc.payload"))
		snprintf(name->name, sizeof(name->name), "lxc-%.*s", (int)part->n, part->text);
	else if (begins_with(part, machine) && scope.n < part->n)
		snprintf(name->name, sizeof(name->name), "%.*s", (int)scope.n, scope.text);
	else if (begins_with(part, unit) && service.n < part->n)
		snprintf(name->name, sizeof(name->name), "machine-%.*s",
			 (int)(service.n - strlen(unit)), service.text + strlen(unit));
	else
		return false;
	name->container[0] = '\0';
	return true;
}

/*
 * Parses podUID, or kubepods-QOS-podUID.slice with "_" for "-", also behind kubelet- and before
 * :cri-containerd:ID.  The uid of a static pod is a hash without "-".
 */
static bool parse_pod(const struct part *part, struct cgroup_name *name)
{
	const struct part slice = before(part, ':');
	struct part rest = without_end(&slice, ".slice");
	const char *uid = rest.text, *end = rest.text + rest.n;

	if (begins_with(&rest, "kubepods-") || begins_with(&rest, "kubelet-kubepods-"))
		for (uid = end; uid > rest.text && uid[-1] != '-';)
			uid--;
	if (end - uid < 3 + 32 || end - uid > 3 + 36 || memcmp(uid, "pod", 3) != 0)
		return false;
	uid += 3;
	if (strspn(uid, "0123456789abcdef-_") < (size_t)(end - uid))
		return false;
	snprintf(name->pod, sizeof(name->pod), "%.*s", (int)(end - uid), uid);
	for (char *c = name->pod; *c != '\0'; c++)
		*c = *c == '_' ? '-' : *c;
	return true;
}

static bool is_slice(const struct part *part)
{
	return ends_with(part, ".slice");
}

/* Units with processes of their own: see systemd.unit(5). */
static bool is_unit(const struct part *part)
{
	return ends_with(part, ".service") || ends_with(part, ".scope") ||
	       ends_with(part, ".socket") || ends_with(part, ".mount") || ends_with(part, ".swap");
}

/* The innermost container that the cgroup belongs to.  False: it belongs to no container. */
static bool container_of(const char *path, struct cgroup_name *name)
{
	struct part part, above = {"", 0};
	struct cgroup_name inner = {0};
	bool found = false;

	*name = (struct cgroup_name){0};
	for (bool top = true; next_part(&path, &part); top = false) {
		if (parse_by_id(&part, &inner) || parse_by_name(&part, &above, &inner)) {
			/* Some runtimes have two cgroups for one container. */
			if (found && strcmp(inner.name, name->name) != 0)
				strlcpy(name->outer, name->name, sizeof(name->outer));
			strlcpy(name->name, inner.name, sizeof(name->name));
			strlcpy(name->container, inner.container, sizeof(name->container));
			found = true;
		}
		parse_pod(&part, name);
		above = top ? part : (struct part){"", 0};
	}
	return found;
}

/* The service of the machine, not of a container, that the cgroup belongs to. */
static bool service_of(const char *path, struct part *service)
{
	struct part above = {"", 0};
	struct cgroup_name name;

	for (bool top = true; next_part(&path, service); top = false) {
		if (ends_with(service, ".service"))
			return true;
		if (parse_by_id(service, &name) || parse_by_name(service, &above, &name))
			return false;
		above = top ? *service : (struct part){"", 0};
	}
	return false;
}

/*
 * The unit of the system's systemd, the container or the pod that the cgroup belongs to.  Other
 * cgroups are named after their first component that is no slice, such as "/jobs".
 */
static void name_service(const char *path, struct cgroup_name *name)
{
	struct part part, first = {"", 0};
	const bool contained = container_of(path, name);

	if (*name->pod != '\0') {
		name->container[0] = '\0'; /* a pod has several */
		snprintf(name->name, sizeof(name->name), "pod-%s", name->pod);
		return;
	}
	if (contained && !service_of(path, &first))
		return;
	while (!contained && next_part(&path, &part) && is_slice(&part))
		first = part;
	if (!contained && part.n > 0)
		first = part;
	snprintf(name->name, sizeof(name->name), "%s%.*s",
		 is_unit(&first) || is_slice(&first) ? "" : "/", (int)first.n, first.text);
}

/* Cuts a path after `depth` components. */
static void cut_path(char *path, unsigned depth)
{
	const char *rest = path;
	struct part part;

	for (unsigned i = 0; i < depth; i++) {
		if (!next_part(&rest, &part))
			return;
	}
	if (rest > path)
		path[rest - path] = '\0';
}

/* A container that a user has created is named after the service of that user. */
static void name_container(const char *path, const char *below, struct cgroup_name *name)
{
	struct cgroup_name own, user;

	if (container_of(path, name))
		return;
	if (container_of(below, &own)) {
		name_service(path, &user);
		strlcpy(name->name, user.name, sizeof(name->name));
		strlcat(name->name, "/", sizeof(name->name));
		strlcat(name->name, own.name, sizeof(name->name));
	} else {
		name->kind = KEY_NONE;
		strlcpy(name->name, key_fixed_text(KEY_NONE), sizeof(name->name));
	}
}

void key_name_cgroup(enum scope scope, unsigned depth, const char *path, size_t nroot,
		     struct cgroup_name *name)
{
	char of_root[sizeof(name->name)];
	const bool cut = *path != '/';

	*name = (struct cgroup_name){0};
	if (cut && (scope != SCOPE_CGROUP || depth > 0)) {
		/* The name depends on the beginning, which is unknown. */
		strlcpy(name->name, "...", sizeof(name->name));
		return;
	}
	snprintf(of_root, sizeof(of_root), "%.*s", (int)nroot, path);
	switch (scope) {
	case SCOPE_SERVICE:
		name_service(of_root, name);
		break;
	case SCOPE_CONTAINER:
		name_container(of_root, path + strlen(of_root), name);
		break;
	default:
		strlcpy(name->name, path, sizeof(name->name));
		if (depth > 0)
			cut_path(name->name, depth);
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
