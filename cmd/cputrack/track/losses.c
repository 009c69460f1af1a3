/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * losses.c - what was not counted, or not apart.
 */
#include "../../base/say.h"
#include "tree.h"

#include <unistd.h>

static const char *reason_of(unsigned flaws)
{
	if ((flaws & LWPS_NOT_RUN) != 0)
		return "another program used the counters part of the time";
	if ((flaws & LWPS_NO_EVENT) != 0)
		return "another program took the counters of a CPU, or it was put online or offline";
	if ((flaws & LWPS_NO_MEMORY) != 0)
		return "the kernel had no memory";
	if ((flaws & LWPS_NO_CPU) != 0)
		return "the machine has other CPUs than /sys lists";
	if ((flaws & LWPS_LATE_EXEC) != 0)
		return "the kernel reported an exec late";
	return "the kernel did not report all context switches";
}

bool tree_lacks(const struct tree *tree)
{
	const struct lwps_losses losses = lwps_losses(tree->lwps);

	return losses.errors + losses.outside + losses.ring_full + losses.shared + losses.skipped >
		       0 ||
	       tree->nimpossible > 0;
}

void tree_tell_losses(struct tree *tree)
{
	struct lwps_losses losses = lwps_losses(tree->lwps);
	uint64_t n = losses.errors + losses.outside + losses.ring_full;

	if (tree->nflawed > 0)
		say("%u LWP%s not counted all the time: %s", tree->nflawed,
		    tree->nflawed == 1 ? " was" : "s were", reason_of(tree->flaws));
	if (losses.shared > 0)
		say("%llu LWP%s too many to be counted apart; process %d stands for all of them",
		    (unsigned long long)losses.shared, losses.shared == 1 ? " was" : "s were",
		    (int)getpid());
	if (n > 0)
		say("%llu LWP%s not tracked: %s", (unsigned long long)n, n == 1 ? " was" : "s were",
		    losses.outside > 0 ? "they have no ids in this PID namespace"
				       : "the kernel had no memory");
	if (tree->nimpossible > 0)
		say("%u records of the kernel contradict others", tree->nimpossible);
	if (losses.skipped > 0)
		say("counts may be incomplete: the kernel skipped %llu runs of BPF programs",
		    (unsigned long long)losses.skipped);
	tree->engine->lost |= tree_lacks(tree);
}
