/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cgroup_name.c - which service or container a cgroup belongs to, by its path.
 */
#include "cgroup_name.h"

#include <bsd/string.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ID_LENGTH 64	/* of a container: hexadecimal digits */
#define SHORT_LENGTH 12 /* digits of it that users know */

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

/* The same without what it ends with, if it does. */
static struct part without_end(const struct part *part, const char *end)
{
	return (struct part){part->text, part->n - (ends_with(part, end) ? strlen(end) : 0)};
}

/* As docker-ID.scope, cri-containerd-ID.scope, or plain ID; not libpod-conmon-ID.scope. */
static bool is_by_id(const struct part *part, struct cgroup_name *name)
{
	struct part rest = without_end(part, ".scope");
	const char *id = rest.text + rest.n - ID_LENGTH;

	if (rest.n < ID_LENGTH || strspn(id, "0123456789abcdef") < ID_LENGTH)
		return false;
	rest.n -= ID_LENGTH;
	if (rest.n > 0 && (id[-1] != '-' || ends_with(&rest, "conmon-")))
		return false;
	snprintf(name->name, sizeof(name->name), "%.*s%.*s", (int)rest.n, rest.text, SHORT_LENGTH,
		 id);
	snprintf(name->container, sizeof(name->container), "%.*s", ID_LENGTH, id);
	return true;
}

/* As lxc.payload.NAME, or machine-NAME.scope of systemd-nspawn. */
static bool is_by_name(const struct part *part, struct cgroup_name *name)
{
	static const char lxc[] = "lxc.payload.", machine[] = "machine-";
	struct part rest = without_end(part, ".scope");

	if (begins_with(part, lxc))
		snprintf(name->name, sizeof(name->name), "lxc-%.*s", (int)(part->n - strlen(lxc)),
			 part->text + strlen(lxc));
	else if (begins_with(part, machine) && rest.n < part->n)
		snprintf(name->name, sizeof(name->name), "%.*s", (int)rest.n, rest.text);
	else
		return false;
	return true;
}

/*
 * As podUID, or kubepods-QOS-podUID.slice with "_" for "-".  The id of a static pod is a hash
 * without any.
 */
static bool is_pod(const struct part *part, struct cgroup_name *name)
{
	struct part rest = without_end(part, ".slice");
	const char *uid = rest.text, *end = rest.text + rest.n;

	if (begins_with(&rest, "kubepods-"))
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

bool cgroup_container(const char *path, struct cgroup_name *name)
{
	struct part part;

	*name = (struct cgroup_name){0};
	while (next_part(&path, &part)) {
		if (is_by_id(&part, name) || is_by_name(&part, name))
			return true;
		is_pod(&part, name);
	}
	return false;
}

void cgroup_service(const char *path, struct cgroup_name *name)
{
	struct part part, first = {"", 0};

	if (cgroup_container(path, name)) {
		if (*name->pod == '\0')
			return;
		name->container[0] = '\0'; /* a pod has several */
	}
	if (*name->pod != '\0') {
		snprintf(name->name, sizeof(name->name), "pod-%s", name->pod);
		return;
	}
	while (next_part(&path, &part) && is_slice(&part))
		first = part;
	if (part.n > 0)
		first = part;
	snprintf(name->name, sizeof(name->name), "%s%.*s",
		 is_unit(&first) || is_slice(&first) ? "" : "/", (int)first.n, first.text);
}

void cgroup_cut(char *path, unsigned depth)
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
