/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * uncounted.c - what a run did not count, since it was not followed.
 */
#include "uncounted.h"

#include "../../base/say.h"

#include <bsd/string.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void uncounted_add(struct uncounted *uncounted, pid_t pid, const char *command)
{
	if (uncounted->nprograms++ > 0)
		return;
	uncounted->pid = pid;
	if (strlcpy(uncounted->command, command, sizeof(uncounted->command)) >=
	    sizeof(uncounted->command))
		memcpy(&uncounted->command[UNCOUNTED_COMMAND - 4], "...", 4);
}

void uncounted_print(const struct uncounted *uncounted, uint64_t children)
{
	const size_t more = uncounted->nprograms - 1;
	char forks[48] = "", execs[2 * UNCOUNTED_COMMAND] = "", others[48] = "";
	bool some = uncounted->nprograms > 0;

	if (children == 0 && !some)
		return;
	if (children > 0)
		snprintf(forks, sizeof(forks), "%llu child process%s", (unsigned long long)children,
			 children == 1 ? "" : "es");
	if (some)
		snprintf(execs, sizeof(execs), "'%s', which process %d executed",
			 uncounted->command, (int)uncounted->pid);
	if (some && more > 0)
		snprintf(others, sizeof(others), ", and %zu more program%s", more,
			 more == 1 ? "" : "s");
	say("not counted: %s%s%s%s; -%s%s counts %s", forks, children > 0 && some ? ", and " : "",
	    execs, others, children > 0 ? "f" : "", some ? "e" : "",
	    children + uncounted->nprograms == 1 ? "it" : "them");
}
