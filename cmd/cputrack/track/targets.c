/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * targets.c - attach to the processes of -p, in the kernel.
 */
#include "targets.h"

#include "../../../libpctx/untraced.h"
#include "../../base/say.h"
#include "../../base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void no_error(const char *fn, const char *fmt, va_list ap)
{
	(void)fn, (void)fmt, (void)ap;
}

/* Reports why a process cannot be tracked, unless it was found by its name and has ended. */
static bool exists(struct engine *engine, const struct target *target)
{
	if (target->by_name) {
		if (pctx_exists(target->pid, no_error) == 0)
			return true;
		if (errno == ESRCH)
			return false;
	}
	if (pctx_exists(target->pid, engine_errors(&engine->config)) == 0)
		return true;
	engine->lost = true;
	return false;
}

size_t targets_attach(struct engine *engine, struct lwps *lwps)
{
	const struct pids *pids = engine->config.pids;
	pid_t *id = xcalloc(pids->n, sizeof(*id));
	const struct target **target = xcalloc(pids->n, sizeof(*target));
	bool *found = xcalloc(pids->n, sizeof(*found));
	size_t n = 0, attached = 0;
	int error = 0;

	for (size_t i = 0; i < pids->n; i++) {
		if (exists(engine, &pids->target[i])) {
			target[n] = &pids->target[i];
			id[n++] = pids->target[i].pid;
		}
	}
	if (lwps_attach(lwps, id, n, found) == -1)
		error = errno;
	for (size_t i = 0; i < n; i++) {
		if (error == 0 && found[i]) {
			attached++;
		} else if (error != 0 || exists(engine, target[i])) { /* it has not just ended */
			say("cannot track process %d: %s", (int)id[i],
			    error != 0 ? strerror(error)
				       : "this kernel hides it from BPF programs");
			engine->lost = true;
		}
	}
	free(found);
	free(target);
	free(id);
	return attached;
}
