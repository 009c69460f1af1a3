/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.c - counts for every LWP of a process tree, as rows.
 *
 * An LWP has a duplicate of each set of the group; one of them is bound at a time.
 * When the LWP goes, what it counted is added to its process.
 */
#include "track.h"

#include "../common/util.h"

#include <bsd/sys/tree.h>
#define LIBBSD_NETBSD_VIS /* of its two strnvis(3), of which none is used here */
#include <bsd/vis.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* How an LWP stands with one of the sets. */
struct counted {
	cpc_set_t *set;	   /* NULL: it never had its turn */
	cpc_buf_t *before; /* the sample at the last tick */
	cpc_buf_t *total;  /* of earlier turns */
};

enum lwp_state {
	COUNTING,  /* the current set is bound */
	NEVER_RAN, /* it died before its first instruction: all counts are 0 */
	REFUSED,   /* it could not be counted, or no longer */
	DONE,	   /* its counts are in its process's */
};

struct lwp {
	id_t id;
	enum lwp_state state;
	size_t turn; /* which set counts */
	RB_ENTRY(lwp) link;
	struct counted counted[]; /* one per set */
};
RB_HEAD(lwps, lwp);

struct proc {
	pid_t pid;
	bool incomplete; /* some LWP was refused */
	struct lwps lwps;
	RB_ENTRY(proc) link;
	cpc_buf_t *total[]; /* one per set, over LWPs that are gone; NULL: none counted */
};
RB_HEAD(procs, proc);

struct track {
	struct track_config config;
	cpc_t *cpc;
	const struct setgrp *grp;
	const struct out *out;
	struct procs procs;
	struct proc *last; /* the one looked up last */
	cpc_buf_t **now, **diff; /* for each set, a sample and a difference in the making */
	size_t nlwps, nticked;	 /* LWPs, and how many of them had this round's tick */
	int64_t start_ns;
	int output_error;
	volatile sig_atomic_t stopped;
};

static int cmp_lwp(const struct lwp *a, const struct lwp *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

static int cmp_proc(const struct proc *a, const struct proc *b)
{
	return (a->pid > b->pid) - (a->pid < b->pid);
}

RB_GENERATE(lwps, lwp, link, cmp_lwp)
RB_GENERATE(procs, proc, link, cmp_proc)

struct track *track_new(const struct track_config *config, cpc_t *cpc, const struct setgrp *grp,
			const struct out *out)
{
	struct track *track = xcalloc(1, sizeof(*track));

	track->config = *config;
	track->cpc = cpc;
	track->grp = grp;
	track->out = out;
	RB_INIT(&track->procs);
	track->now = xcalloc(grp->n, sizeof(cpc_buf_t *));
	track->diff = xcalloc(grp->n, sizeof(cpc_buf_t *));
	for (size_t i = 0; i < grp->n; i++) {
		track->now[i] = cpc_buf_create(cpc, grp->set[i].set);
		track->diff[i] = cpc_buf_create(cpc, grp->set[i].set);
		if (track->now[i] == NULL || track->diff[i] == NULL)
			err(STATUS_FAILED, NULL);
	}
	track->start_ns = now_ns();
	return track;
}

/* ---- processes and LWPs ------------------------------------------------- */

static struct proc *find_proc(struct track *track, pid_t pid)
{
	struct proc key = {.pid = pid};

	if (track->last == NULL || track->last->pid != pid)
		track->last = RB_FIND(procs, &track->procs, &key);
	return track->last;
}

static struct proc *get_proc(struct track *track, pid_t pid)
{
	struct proc *proc = find_proc(track, pid);

	if (proc == NULL) {
		proc = xcalloc(1, sizeof(*proc) + track->grp->n * sizeof(cpc_buf_t *));
		proc->pid = pid;
		RB_INIT(&proc->lwps);
		RB_INSERT(procs, &track->procs, proc);
		track->last = proc;
	}
	return proc;
}

static struct lwp *find_lwp(struct proc *proc, id_t id)
{
	struct lwp key = {.id = id};

	return RB_FIND(lwps, &proc->lwps, &key);
}

static void free_lwp(struct track *track, struct proc *proc, struct lwp *lwp)
{
	for (size_t i = 0; i < track->grp->n; i++) {
		if (lwp->counted[i].set == NULL)
			continue;
		cpc_buf_destroy(track->cpc, lwp->counted[i].before);
		cpc_buf_destroy(track->cpc, lwp->counted[i].total);
		cpc_set_destroy(track->cpc, lwp->counted[i].set);
	}
	RB_REMOVE(lwps, &proc->lwps, lwp);
	track->nlwps--;
	free(lwp);
}

/* After an exec, too: the process starts anew. */
static void clear_proc(struct track *track, struct proc *proc)
{
	struct lwp *lwp;

	while ((lwp = RB_ROOT(&proc->lwps)) != NULL)
		free_lwp(track, proc, lwp);
	for (size_t i = 0; i < track->grp->n; i++) {
		if (proc->total[i] != NULL)
			cpc_buf_destroy(track->cpc, proc->total[i]);
		proc->total[i] = NULL;
	}
	proc->incomplete = false;
}

static void free_proc(struct track *track, struct proc *proc)
{
	clear_proc(track, proc);
	RB_REMOVE(procs, &track->procs, proc);
	track->last = NULL;
	free(proc);
}

/* ---- rows --------------------------------------------------------------- */

static struct row new_row(const struct track *track, const struct proc *proc, id_t lwp,
			  const char *event)
{
	return (struct row){
		.time_ns = now_ns() - track->start_ns,
		.pid = proc->pid,
		.id = (int)lwp,
		.event = event,
	};
}

/* Output that fails ends the tracking; the program runs on. */
static void flush(struct track *track, pctx_t *pctx)
{
	if (track->output_error != 0)
		return;
	track->output_error = out_flush(track->out);
	if (track->output_error != 0)
		pctx_terminate(pctx);
}

/* Without ticks, which flush, every row is written as it comes. */
static void put_row(struct track *track, pctx_t *pctx, const struct row *row)
{
	out_row(track->out, row);
	if (track->config.interval_ms == 0)
		flush(track, pctx);
}

/* ---- counting ----------------------------------------------------------- */

/* Makes what an LWP needs for its turn with set `i`; false: out of memory. */
static bool prepare(struct track *track, struct counted *c, size_t i)
{
	cpc_set_t *proto = track->grp->set[i].set;

	if (c->set != NULL) {
		cpc_buf_zero(track->cpc, c->before);
		return true;
	}
	c->before = cpc_buf_create(track->cpc, proto);
	c->total = cpc_buf_create(track->cpc, proto);
	if (c->before != NULL && c->total != NULL)
		c->set = cpc_set_dup(track->cpc, proto);
	if (c->set != NULL)
		return true;
	if (c->before != NULL)
		cpc_buf_destroy(track->cpc, c->before);
	if (c->total != NULL)
		cpc_buf_destroy(track->cpc, c->total);
	return false;
}

/* Binds the set whose turn it is.  On failure the LWP goes on uncounted. */
static void bind_turn(struct track *track, pctx_t *pctx, struct proc *proc, struct lwp *lwp,
		      const char *event)
{
	struct counted *c = &lwp->counted[lwp->turn];
	bool ready = prepare(track, c, lwp->turn);

	if (ready && cpc_bind_pctx(track->cpc, pctx, lwp->id, c->set, 0) == 0) {
		lwp->state = COUNTING;
	} else if (ready && errno == ESRCH) {
		/* Killed meanwhile.  Its death is the next thing to be heard of it. */
		lwp->state = NEVER_RAN;
	} else {
		lwp->state = REFUSED;
		proc->incomplete = true;
		warnx("%s: can't bind perf counters to lwp%d of process %d - %s", event,
		      (int)lwp->id, (int)proc->pid, ready ? cpcerr_text() : strerror(ENOMEM));
	}
}

/* Samples the set whose turn it is into now[turn].  False: there is no sample. */
static bool sample(struct track *track, struct proc *proc, struct lwp *lwp)
{
	cpc_buf_t *now = track->now[lwp->turn];

	if (lwp->state == NEVER_RAN) {
		cpc_buf_zero(track->cpc, now);
		return true;
	}
	if (lwp->state != COUNTING)
		return false;
	if (cpc_set_sample(track->cpc, lwp->counted[lwp->turn].set, now) == 0)
		return true;
	warnx("lwp%d of process %d: %s", (int)lwp->id, (int)proc->pid,
	      errno == EAGAIN ? "perf counter contents invalidated" : strerror(errno));
	lwp->state = REFUSED;
	proc->incomplete = true;
	return false;
}

/* Adds now[turn] to the totals of earlier turns. */
static void end_turn(struct track *track, struct lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->turn];

	if (c->set != NULL)
		cpc_buf_add(track->cpc, c->total, c->total, track->now[lwp->turn]);
}

/* What was counted since the last tick. */
static void put_tick(struct track *track, pctx_t *pctx, struct proc *proc, struct lwp *lwp)
{
	struct counted *c = &lwp->counted[lwp->turn];
	struct row row;

	row = new_row(track, proc, lwp->id, "tick");
	row.set = lwp->turn;
	row.data = ROW_MISSING;
	if (sample(track, proc, lwp) && c->set != NULL) {
		row.buf = track->diff[lwp->turn];
		row.data = ROW_COUNTS;
		cpc_buf_sub(track->cpc, row.buf, track->now[lwp->turn], c->before);
		cpc_buf_copy(track->cpc, c->before, track->now[lwp->turn]);
	}
	put_row(track, pctx, &row);
}

/* The LWP counts no more: its totals are complete, and part of its process's. */
static void finish_lwp(struct track *track, struct proc *proc, struct lwp *lwp)
{
	if (sample(track, proc, lwp))
		end_turn(track, lwp);
	if (lwp->state == COUNTING)
		cpc_unbind(track->cpc, lwp->counted[lwp->turn].set);
	for (size_t i = 0; i < track->grp->n; i++) {
		const struct counted *c = &lwp->counted[i];

		if (c->set == NULL)
			continue;
		if (proc->total[i] == NULL)
			proc->total[i] = cpc_buf_create(track->cpc, c->set);
		if (proc->total[i] == NULL)
			err(STATUS_FAILED, NULL);
		cpc_buf_add(track->cpc, proc->total[i], proc->total[i], c->total);
	}
	if (lwp->state != REFUSED)
		lwp->state = DONE;
}

/* A row of totals for each set. */
static void put_lwp_totals(struct track *track, pctx_t *pctx, const struct proc *proc,
			   const struct lwp *lwp, const char *event)
{
	struct row row = new_row(track, proc, lwp->id, event);

	for (row.set = 0; row.set < track->grp->n; row.set++) {
		const struct counted *c = &lwp->counted[row.set];

		row.buf = c->total;
		row.data = c->set != NULL && lwp->state == DONE ? ROW_COUNTS : ROW_MISSING;
		put_row(track, pctx, &row);
	}
}

static void put_proc_totals(struct track *track, pctx_t *pctx, const struct proc *proc, id_t lwp,
			    const char *event)
{
	struct row row = new_row(track, proc, lwp, event);

	row.incomplete = proc->incomplete;
	for (row.set = 0; row.set < track->grp->n; row.set++) {
		row.buf = proc->total[row.set];
		row.data = row.buf != NULL ? ROW_COUNTS : ROW_MISSING;
		put_row(track, pctx, &row);
	}
}

/* ---- handlers ----------------------------------------------------------- */

/* One row of an LWP as it stands now. */
static void put_current(struct track *track, pctx_t *pctx, struct proc *proc, struct lwp *lwp,
			const char *event)
{
	struct row row = new_row(track, proc, lwp->id, event);

	row.set = lwp->turn;
	row.buf = track->now[lwp->turn];
	row.data = sample(track, proc, lwp) ? ROW_COUNTS : ROW_MISSING;
	put_row(track, pctx, &row);
}

static int on_init_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = get_proc(track, pid);
	struct lwp *lwp = xcalloc(1, sizeof(*lwp) + track->grp->n * sizeof(lwp->counted[0]));

	lwp->id = id;
	RB_INSERT(lwps, &proc->lwps, lwp);
	track->nlwps++;
	bind_turn(track, pctx, proc, lwp, "init_lwp");
	if (track->config.verbose)
		put_current(track, pctx, proc, lwp, "init_lwp");
	return 0;
}

static int on_lwp_create(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = get_proc(track, pid);

	put_current(track, pctx, proc, find_lwp(proc, id), "lwp_create");
	return 0;
}

static int on_fini_lwp(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = get_proc(track, pid);
	struct lwp *lwp = find_lwp(proc, id);

	finish_lwp(track, proc, lwp);
	if (track->config.verbose)
		put_lwp_totals(track, pctx, proc, lwp, "fini_lwp");
	return 0;
}

static int on_lwp_exit(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = get_proc(track, pid);
	struct lwp *lwp = find_lwp(proc, id);

	put_lwp_totals(track, pctx, proc, lwp, "lwp_exit");
	free_lwp(track, proc, lwp);
	return 0;
}

static int on_tick(pctx_t *pctx, pid_t pid, id_t id, void *arg)
{
	struct track *track = arg;
	struct proc *proc = get_proc(track, pid);
	struct lwp *lwp = find_lwp(proc, id);

	put_tick(track, pctx, proc, lwp);
	if (track->grp->n > 1 && lwp->state == COUNTING) {
		end_turn(track, lwp);
		cpc_unbind(track->cpc, lwp->counted[lwp->turn].set);
		lwp->turn = (lwp->turn + 1) % track->grp->n;
		bind_turn(track, pctx, proc, lwp, "tick");
	}
	/* One write for the rows of a round. */
	if (++track->nticked >= track->nlwps) {
		track->nticked = 0;
		flush(track, pctx);
	}
	return 0;
}

static void on_fork(pctx_t *pctx, pid_t pid, id_t id, pid_t child, void *arg)
{
	struct track *track = arg;
	struct row row = new_row(track, get_proc(track, pid), id, "fork");
	char note[16];

	snprintf(note, sizeof(note), "%d", (int)child);
	row.note = note;
	put_row(track, pctx, &row);
	pctx_run(pctx, track->config.interval_ms, track->config.count, on_tick);
}

static int on_exec(pctx_t *pctx, pid_t pid, id_t id, char *cmd, void *arg)
{
	struct track *track = arg;
	struct proc *proc = get_proc(track, pid);
	size_t size = 4 * strlen(cmd) + 1;
	char *text = xcalloc(1, size + 2);
	struct row row;

	put_proc_totals(track, pctx, proc, id, "exec");
	clear_proc(track, proc);
	row = new_row(track, proc, 1, "exec");
	text[0] = '\'';
	strvis(text + 1, cmd, VIS_CSTYLE | VIS_NL | VIS_TAB);
	strcat(text, "'");
	row.note = text;
	put_row(track, pctx, &row);
	free(text);
	if (track->config.follow_exec)
		return 0;
	free_proc(track, proc);
	return 1;
}

static void on_exit_proc(pctx_t *pctx, pid_t pid, id_t id, int status, void *arg)
{
	struct track *track = arg;
	struct proc *proc = get_proc(track, pid);

	(void)status;
	put_proc_totals(track, pctx, proc, id, "exit");
	free_proc(track, proc);
}

/* ---- the run ------------------------------------------------------------ */

int track_watch(pctx_t *pctx, bool follow_fork)
{
	return pctx_set_events(pctx, PCTX_INIT_LWP_EVENT, on_init_lwp, PCTX_FINI_LWP_EVENT,
			       on_fini_lwp, PCTX_SYSC_LWP_CREATE_EVENT, on_lwp_create,
			       PCTX_SYSC_LWP_EXIT_EVENT, on_lwp_exit, PCTX_SYSC_EXEC_EVENT,
			       on_exec, PCTX_SYSC_FORK_EVENT, follow_fork ? on_fork : NULL,
			       PCTX_SYSC_EXIT_EVENT, on_exit_proc, PCTX_NULL_EVENT);
}

/* Tracking ends before these processes do. */
static void put_last_rows(struct track *track, pctx_t *pctx)
{
	struct proc *proc;
	struct lwp *lwp;

	while ((proc = RB_MIN(procs, &track->procs)) != NULL) {
		RB_FOREACH(lwp, lwps, &proc->lwps) {
			if (track->stopped)
				put_tick(track, pctx, proc, lwp);
			finish_lwp(track, proc, lwp);
			if (track->config.verbose)
				put_lwp_totals(track, pctx, proc, lwp, "fini_lwp");
		}
		put_proc_totals(track, pctx, proc, 1, "detach");
		free_proc(track, proc);
	}
}

int track_run(struct track *track, pctx_t *pctx)
{
	int rc = pctx_run(pctx, track->config.interval_ms, track->config.count, on_tick);

	put_last_rows(track, pctx);
	flush(track, pctx);
	return rc;
}

void track_stop(struct track *track, pctx_t *pctx)
{
	track->stopped = 1;
	pctx_terminate(pctx);
}

int track_output_error(const struct track *track)
{
	return track->output_error;
}

void track_free(struct track *track)
{
	struct proc *proc;

	while ((proc = RB_ROOT(&track->procs)) != NULL)
		free_proc(track, proc);
	for (size_t i = 0; i < track->grp->n; i++) {
		cpc_buf_destroy(track->cpc, track->now[i]);
		cpc_buf_destroy(track->cpc, track->diff[i]);
	}
	free(track->now);
	free(track->diff);
	free(track);
}
