/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * losses.c - what the kernel engine has not counted, and why.
 */
#include "losses.h"

#include "../../base/say.h"

#include <unistd.h>

static const char *reason_of(const struct records *records)
{
	const unsigned flaws = records->flaws;

	if ((flaws & LWPS_NOT_RUN) != 0)
		return "another program used the counters part of the time";
	if ((flaws & LWPS_NO_EVENT) != 0)
		return "another program took the counters of a CPU, or it was put online or offline";
	if ((flaws & LWPS_NO_MEMORY) != 0)
		return "the kernel had no memory";
	if ((flaws & LWPS_NO_CPU) != 0)
		return "the machine has other CPUs than /sys lists";
	if ((flaws & LWPS_TOO_DEEP) != 0)
		return "the kernel sees the returns of 64 nested calls at most";
	if ((flaws & LWPS_LATE_EXEC) != 0)
		return "the kernel reported an exec late";
	return records->ninit == records->nflawed
		       ? "this kernel does not report switches between LWPs of process 1 "
			 "(--cgroup and --user can leave it out)"
		       : "the kernel did not report all context switches";
}

bool losses_lack(const struct records *records)
{
	const struct lwps_losses losses = lwps_losses(records->lwps);

	return records->nimpossible + losses.errors + losses.outside + losses.ring_full +
		       losses.shared + lwps_skipped(records->lwps) >
	       0;
}

void losses_print(struct records *records)
{
	struct lwps_losses losses = lwps_losses(records->lwps);
	const uint64_t n = losses.errors + losses.outside + losses.ring_full;
	const uint64_t skipped = lwps_skipped(records->lwps);

	if (records->nflawed > 0)
		say("%u LWP%s not counted all the time: %s", records->nflawed,
		    records->nflawed == 1 ? " was" : "s were", reason_of(records));
	if (losses.shared > 0)
		say("%llu LWP%s too many to be counted apart; process %d stands for all of them "
		    "(--max-lwps counts more)",
		    (unsigned long long)losses.shared, losses.shared == 1 ? " was" : "s were",
		    (int)getpid());
	if (n > 0)
		say("%llu LWP%s not tracked: %s", (unsigned long long)n, n == 1 ? " was" : "s were",
		    losses.outside > 0 ? "they have no ids in this PID namespace"
				       : "the kernel had no memory");
	if (records->nimpossible > 0)
		say("%u records of the kernel contradict others", records->nimpossible);
	if (skipped > 0)
		say("counts may be incomplete: the kernel skipped %llu runs of BPF programs",
		    (unsigned long long)skipped);
	records->engine->lost |= losses_lack(records);
}
