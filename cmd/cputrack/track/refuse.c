/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * refuse.c - LWPs that run on uncounted.
 */
#include "refuse.h"

#include "../../base/say.h"
#include "../../base/util.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* Files per LWP.  The limit was just reached: all LWPs but one have theirs open. */
static size_t files_each(const struct tally *tally)
{
	struct rlimit lim;

	if (tally->alive < 2 || getrlimit(RLIMIT_NOFILE, &lim) == -1)
		return 0;
	return ((size_t)lim.rlim_cur + tally->alive - 2) / (tally->alive - 1);
}

void refuse_lwp(struct tally *tally, struct tally_lwp *lwp, const char *event, int error)
{
	refuse_lwp_silently(tally, lwp);
	/* Each errno is reported once, not for each of a thousand LWPs. */
	if (tally->reported[(unsigned)error % MAX_ERRNO])
		return;
	tally->reported[(unsigned)error % MAX_ERRNO] = true;
	if (error == EMFILE && tally->files_each == 0)
		tally->files_each = files_each(tally);
	say("%s: can't bind perf counters to lwp%d - %s (process %d)", event, (int)lwp->id,
	    error != ENOMEM ? cpcerr_text() : strerror(ENOMEM), (int)lwp->proc->pid);
}

void refuse_lwp_silently(struct tally *tally, struct tally_lwp *lwp)
{
	lwp->state = REFUSED;
	tally->nrefused++;
	tally->engine->lost = true;
}
