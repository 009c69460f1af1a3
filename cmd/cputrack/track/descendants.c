/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * descendants.c - find the descendants of processes in /proc, and attach to them.
 *
 * A pass lists /proc once, in the order of ids, in which parents come before their children unless
 * the ids have wrapped around.  A descendant is attached to as soon as it is seen, since it may
 * live for a moment only.  Its children that were created before are found later in the same
 * pass, and those that it creates later are followed.  A process whose parent ends becomes a child
 * of a process that was among its ancestors before, so that no other process becomes a descendant.
 */
#include "descendants.h"

#include "../../base/say.h"
#include "../../base/util.h"

#include <bsd/sys/tree.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_PASSES 10000 /* give up if so many passes find a descendant */
#define IDLE_PASSES 10	 /* retries if processes ended before their parents were read */

/* A process that was seen. */
struct seen {
	pid_t pid;
	unsigned long long start; /* of `pids`: 0, until it was seen */
	bool in_tree;
	RB_ENTRY(seen) by_pid;
};
RB_HEAD(seen_pids, seen);

struct search {
	struct seen_pids seen;
	enum found (*attach)(void *arg, pid_t pid);
	void *arg;
	bool only_new; /* this pass does not look at ids that were seen */
	bool some;     /* it found a descendant... */
	bool gone;     /* ...or a process that ended before its parent was read */
	bool stop;
};

static int cmp_seen(const struct seen *a, const struct seen *b)
{
	return (a->pid > b->pid) - (a->pid < b->pid);
}

RB_GENERATE_INTERNAL(seen_pids, seen, by_pid, cmp_seen, __attribute__((unused)) static)

static struct seen *find_seen(struct search *search, pid_t pid)
{
	struct seen key = {.pid = pid};

	return RB_FIND(seen_pids, &search->seen, &key);
}

static void add_seen(struct search *search, pid_t pid, unsigned long long start, bool in_tree)
{
	struct seen *seen = find_seen(search, pid);

	if (seen == NULL) {
		seen = xcalloc(1, sizeof(*seen));
		seen->pid = pid;
		RB_INSERT(seen_pids, &search->seen, seen);
	}
	seen->start = start;
	seen->in_tree = in_tree;
}

static bool in_tree(struct search *search, pid_t pid)
{
	const struct seen *seen = find_seen(search, pid);

	return seen != NULL && seen->in_tree;
}

/* Climbs from parent to parent.  Those with smaller ids were seen before. */
static bool is_descendant(struct search *search, pid_t pid, pid_t parent)
{
	struct pid_stat stat;

	while (!in_tree(search, parent)) {
		if (parent < pid)
			return false;
		if (!pid_read_stat(parent, &stat)) {
			search->some = true; /* then its child has another parent by now */
			return false;
		}
		parent = stat.parent;
	}
	return true;
}

/* Do we trace it?  Then its parent was attached to before it was created. */
static bool is_ours(pid_t pid)
{
	char tracer[32];

	return pid_read_status(pid, "TracerPid:", tracer, sizeof(tracer)) &&
	       atoi(tracer) == getpid();
}

/* A zombie is gone for good, unless it is the first LWP of a process that has others. */
static void try_attach(struct search *search, pid_t pid, const struct pid_stat *stat)
{
	bool zombie = stat->state == 'Z' || stat->state == 'X';
	enum found found = search->attach(search->arg, pid);

	search->some |= found == FOUND_ATTACHED || (found == FOUND_GONE && !zombie);
	if (found != FOUND_GONE || zombie)
		add_seen(search, pid, stat->start, true);
	search->stop = found == FOUND_STOP;
}

static bool visit(void *arg, pid_t pid)
{
	struct search *search = arg;
	struct seen *seen = find_seen(search, pid);
	struct pid_stat stat;

	if (seen != NULL && search->only_new)
		return true;
	if (!pid_read_stat(pid, &stat)) {
		search->gone = true;
		return true;
	}
	if (seen != NULL && seen->start == 0)
		seen->start = stat.start;
	if (seen != NULL && seen->start == stat.start)
		return true;
	if (!is_descendant(search, pid, stat.parent))
		add_seen(search, pid, stat.start, false);
	else if (is_ours(pid))
		add_seen(search, pid, stat.start, true);
	else
		try_attach(search, pid, &stat);
	return !search->stop;
}

/* Returns whether it found a descendant. */
static bool scan_processes(struct search *search, bool only_new)
{
	search->only_new = only_new;
	search->some = search->gone = false;
	pids_each(visit, search);
	return search->some;
}

/*
 * Passes over all processes, and between them over the new ones, which take less time, until
 * neither finds a descendant.  False: MAX_PASSES were not enough.
 */
static bool search_all(struct search *search)
{
	unsigned passes = 0, idle;
	bool some = true;

	while (some && !search->stop && passes < MAX_PASSES) {
		some = scan_processes(search, false);
		for (idle = 0; idle < IDLE_PASSES && !search->stop && ++passes < MAX_PASSES;
		     idle++) {
			if (scan_processes(search, true)) {
				some = true;
				idle = 0;
			} else if (!search->gone) {
				break;
			}
		}
	}
	return passes < MAX_PASSES;
}

bool descendants_attach(const struct pids *pids, enum found (*attach)(void *arg, pid_t pid),
			void *arg)
{
	struct search search = {.attach = attach, .arg = arg};
	struct seen *seen;
	bool all;

	RB_INIT(&search.seen);
	for (size_t i = 0; i < pids->n; i++)
		add_seen(&search, pids->target[i].pid, 0, true);
	all = search_all(&search);
	if (!all)
		say("--tree: new descendants came in each of %d looks; some are not tracked",
		    MAX_PASSES);
	while ((seen = RB_ROOT(&search.seen)) != NULL) {
		RB_REMOVE(seen_pids, &search.seen, seen);
		free(seen);
	}
	return all;
}
