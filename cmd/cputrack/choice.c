/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * choice.c - the processes of --all, --cgroup and --user.
 */
#include "choice.h"

#include "../base/say.h"

#include <bsd/stdlib.h>
#include <limits.h>
#include <pwd.h>
#include <stddef.h>

#ifdef CPC_KERNEL_ENGINE
#include "../base/cgroups.h"

static bool parse_cgroup(struct choice *choice, const char *text)
{
	return cgroups_find(text, &choice->id, &choice->root_id, &choice->depth);
}
#else
static bool parse_cgroup(struct choice *choice, const char *text)
{
	(void)choice, (void)text;
	return true; /* the engine is refused later, with the reason */
}
#endif

static bool parse_user(struct choice *choice, const char *text)
{
	const struct passwd *user = getpwnam(text);
	const char *bad = NULL;

	choice->id = user != NULL ? user->pw_uid : (uint64_t)strtonum(text, 0, UINT_MAX - 1, &bad);
	if (bad != NULL)
		say("--user '%s': there is no such user", text);
	return bad == NULL;
}

bool choice_parse(struct choice *choice, enum choice_kind kind, const char *text)
{
	static const char *const names[] = {
		[CHOICE_ALL] = "--all", [CHOICE_CGROUP] = "--cgroup", [CHOICE_USER] = "--user"};

	choice->kind = kind;
	choice->name = names[kind];
	choice->nchoices++;
	if (kind == CHOICE_CGROUP)
		return parse_cgroup(choice, text);
	return kind != CHOICE_USER || parse_user(choice, text);
}
