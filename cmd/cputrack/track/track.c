/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * track.c - turn events into rows.
 */
#include "track.h"

#include "../../base/say.h"
#include "../../base/util.h"
#include "owners.h"

#include <bsd/string.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* No ticks so shortly before the end: the last sample would have almost no time. */
#define NO_TICK_NS 1000000

void track_init(struct track *track, const struct track_config *config, struct run *run,
		struct setgrp *grp, struct output *output, struct command *command)
{
	*track = (struct track){
		.config = *config,
		.run = run,
		.flusher = flusher_new(output),
		.sink = output_sink(output),
		.command = command,
		.grp = grp,
	};
	track->config.fini_rows |= config->verbose;
	tree_init(&track->tree, run);
}

void track_start(struct track *track)
{
	const struct track_config *config = &track->config;

	track->start_ns = now_ns();
	track->run->start_ns = wall_ns();
	track->begin_ns = track->start_ns + config->delay_ns;
	track->end_ns = config->for_ns != 0 ? track->begin_ns + config->for_ns : INT64_MAX;
}

/* ---- rows --------------------------------------------------------------- */

/* The time of a row: events of several CPUs, or that waited for a sample, may be out of order. */
static int64_t no_earlier(const struct track *track, int64_t time_ns)
{
	return time_ns > track->last_ns ? time_ns : track->last_ns;
}

static struct row row_at(struct track *track, int64_t time_ns, int64_t wall, enum row_kind kind)
{
	track->last_ns = time_ns;
	return (struct row){.kind = kind,
			    .time_ns = time_ns - track->start_ns,
			    .wall_ns = wall,
			    .scope = track->run->scope};
}

/* A sample of all LWPs begins. */
static void begin_sample(struct track *track, int64_t time_ns)
{
	track->sample_ns = no_earlier(track, time_ns);
	track->sample_wall_ns = wall_ns() - (now_ns() - track->sample_ns);
	track->sample++;
	track->tick = row_at(track, track->sample_ns, track->sample_wall_ns, ROW_TICK);
}

static struct row new_row(struct track *track, int64_t event_ns, enum row_kind kind)
{
	int64_t time_ns;

	if (track->ending)
		return row_at(track, track->sample_ns, track->sample_wall_ns, kind);
	track->sample_ns = 0;
	time_ns = no_earlier(track, event_ns);
	return row_at(track, time_ns, wall_ns() - (now_ns() - time_ns), kind);
}

static void name_owner(struct row *row, const struct proc *proc)
{
	row->key = proc->owner != NULL ? proc->owner->name : NULL;
	row->key_kind = proc->owner != NULL ? proc->owner->kind : KEY_NAME;
	row->container = proc->owner != NULL ? proc->owner->container : NULL;
	row->pod = proc->owner != NULL ? proc->owner->pod : NULL;
	row->outer = proc->owner != NULL ? proc->owner->outer : NULL;
	row->user = proc->user;
}

static void name_lwp(struct row *row, const struct lwp *lwp)
{
	name_owner(row, lwp->proc);
	row->pid = lwp->proc->pid;
	row->lwp = (int)lwp->id;
	row->tid = lwp->tid;
	row->comm = lwp->comm[0] != '\0' ? lwp->comm : NULL;
}

/* Names the LWP of an event, or by its ids an LWP that is not tracked. */
static void name_caller(struct row *row, const struct track_event *event)
{
	if (event->lwp != NULL) {
		name_lwp(row, event->lwp);
		return;
	}
	row->pid = row->tid = event->tgid;
	row->lwp = event->id != 0 ? (int)event->id : 1;
}

static void put_row(struct track *track, const struct row *row)
{
	sink_row(track->sink, row);
	track->flusher.unflushed = true;
}

static unsigned nevents(const struct track *track, size_t set)
{
	return track->run->set[set].nevents;
}

static uint64_t all_valid(const struct track *track, size_t set)
{
	const unsigned n = nevents(track, set);

	return n == RUN_MAX_EVENTS ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static void put_counts(struct track *track, struct row *row, size_t set, const uint64_t *val,
		       uint64_t valid, uint64_t cycles)
{
	row->set = set;
	row->val = val;
	row->valid = valid;
	row->cycles = cycles;
	put_row(track, row);
}

/* The time from `from_ns` to the row; 0 if the LWP was born after the sample began. */
static int64_t time_since(const struct track *track, const struct row *row, int64_t from_ns)
{
	int64_t now = track->start_ns + row->time_ns;

	return now > from_ns ? now - from_ns : 0;
}

/* A row of an LWP that has counted nothing yet. */
static void put_birth(struct track *track, const struct track_event *event, const struct lwp *lwp,
		      enum row_kind kind)
{
	static const uint64_t zero[RUN_MAX_EVENTS];
	struct row row = new_row(track, event->time_ns, kind);

	name_lwp(&row, lwp);
	put_counts(track, &row, event->set, zero, event->counted ? all_valid(track, event->set) : 0,
		   0);
}

/* Rows with the final counts of an LWP. */
static void put_lwp(struct track *track, struct lwp *lwp, int64_t time_ns, enum row_kind kind)
{
	struct row row = new_row(track, time_ns, kind);

	name_lwp(&row, lwp);
	row.span_ns = track->run->nsets == 1 ? time_since(track, &row, lwp->born_ns) : 0;
	for (size_t i = 0; i < track->run->nsets; i++) {
		const struct lwp_counts *c = tree_counts(&track->tree, lwp, i);
		bool known = c->known && !lwp->flawed;

		put_counts(track, &row, i, c->val, known ? all_valid(track, i) : 0,
			   known ? c->cycles : 0);
	}
}

/* `row` is of LWP 1, or of the LWP that called execve(2). */
static void put_totals(struct track *track, const struct proc *proc, struct row *row)
{
	name_owner(row, proc);
	row->span_ns = track->run->nsets == 1 ? time_since(track, row, proc->born_ns) : 0;
	for (size_t i = 0; i < track->run->nsets; i++) {
		sum_fill_row(&proc->total[i], row);
		row->set = i;
		row->incomplete |= proc->incomplete;
		put_row(track, row);
		track->grp->set[i].had_turn |= row->valid != 0;
		for (unsigned k = 0; k < nevents(track, i); k++)
			track->grp->set[i].counted |= (uint64_t)(row->val[k] != 0) << k;
		track->grp->set[i].cycles += row->cycles;
	}
}

/* ---- counts ------------------------------------------------------------- */

static void keep_counts(const struct track *track, struct lwp_counts *to, size_t set,
			const struct track_counts *counts)
{
	to->known = true;
	to->cycles = counts->cycles;
	for (unsigned i = 0; i < nevents(track, set); i++)
		to->val[i] = counts->val[i];
}

/* A row with the counts of an LWP since its last tick; a sample has each LWP once. */
static void put_tick(struct track *track, const struct track_event *event)
{
	struct lwp *lwp = event->lwp;
	struct lwp_counts *last = tree_counts(&track->tree, lwp, event->set);
	const struct track_counts *counts = NULL;
	struct row *row = &track->tick;
	uint64_t cycles = 0;

	if (track->sample_ns == 0 || lwp->sample == track->sample)
		begin_sample(track, event->time_ns);
	lwp->sample = track->sample;
	name_lwp(row, lwp);
	row->span_ns = time_since(track, row, lwp->since_ns);
	lwp->since_ns = track->start_ns + row->time_ns;
	if (event->counts != NULL && event->counts[event->set].known)
		counts = &event->counts[event->set];
	for (unsigned i = 0; i < nevents(track, event->set); i++)
		track->val[i] = counts != NULL ? counts->val[i] - last->val[i] : 0;
	if (counts != NULL) {
		cycles = counts->cycles - last->cycles;
		keep_counts(track, last, event->set, counts);
	}
	last->known |= event->unchanged;
	put_counts(track, row, event->set, track->val,
		   (counts != NULL || event->unchanged) && !lwp->flawed
			   ? all_valid(track, event->set)
			   : 0,
		   cycles);
	track->flusher.sample = true;
}

/* Adds the known counts of an LWP to its process: the final ones, else those of the last tick. */
static void finalize(struct track *track, const struct track_event *event)
{
	struct lwp *lwp = event->lwp;

	if (lwp->final)
		return;
	lwp->final = true;
	lwp->proc->nalive--;
	for (size_t i = 0; i < track->run->nsets; i++) {
		struct lwp_counts *last = tree_counts(&track->tree, lwp, i);
		bool known = event->counts != NULL && event->counts[i].known;
		struct row row = {.val = last->val, .valid = all_valid(track, i)};

		if (known)
			keep_counts(track, last, i, &event->counts[i]);
		row.cycles = last->cycles;
		if (last->known)
			sum_add(&lwp->proc->total[i], &track->run->set[i], &row);
		track->ever_on |= last->known && last->cycles != 0;
		last->known = known;
	}
}

/* ---- events ------------------------------------------------------------- */

static void note_owners(struct proc *proc, const struct track_event *event)
{
	if (event->owner != NULL)
		proc->owner = event->owner;
	if (event->user != NULL)
		proc->user = event->user;
}

static struct lwp *on_birth(struct track *track, const struct track_event *event)
{
	struct proc *proc = tree_get(&track->tree, event->tgid);
	struct lwp *lwp = tree_add_lwp(&track->tree, proc, event->id, event->tid);
	int64_t born_ns = no_earlier(track, event->time_ns);

	if (event->comm != NULL)
		strlcpy(lwp->comm, event->comm, sizeof(lwp->comm));
	note_owners(proc, event);
	proc->incomplete |= (event->flaws & TRACK_PROC_FLAWED) != 0;
	lwp->born_ns = lwp->since_ns = born_ns > track->begin_ns ? born_ns : track->begin_ns;
	if (proc->born_ns == 0)
		proc->born_ns = lwp->born_ns;
	if (track->config.verbose)
		put_birth(track, event, lwp, ROW_INIT_LWP);
	return lwp;
}

static void on_fork(struct track *track, const struct track_event *event)
{
	struct row row = new_row(track, event->time_ns, ROW_FORK);
	struct proc *child = tree_find(&track->tree, event->child);

	name_caller(&row, event);
	row.child = event->child;
	put_row(track, &row);
	if (child != NULL)
		child->incomplete = true; /* an older process with this id: its exit was lost */
}

static void on_lwp_exit(struct track *track, const struct track_event *event)
{
	if (track->config.fini_rows)
		put_lwp(track, event->lwp, event->time_ns, ROW_FINI_LWP);
	put_lwp(track, event->lwp, event->time_ns, ROW_LWP_EXIT);
	tree_remove_lwp(event->lwp);
}

static void put_fini_rows(struct track *track, struct proc *proc, int64_t time_ns)
{
	struct lwp *lwp;

	if (!track->config.fini_rows)
		return;
	TAILQ_FOREACH(lwp, &proc->lwps, link)
		put_lwp(track, lwp, time_ns, ROW_FINI_LWP);
}

/* If the process is the command: it is no longer tracked. */
static void leave_command(struct track *track, pid_t pid)
{
	if (track->command != NULL && pid == track->command->pid)
		track->command->left = true;
}

/* Notes a program that is not followed, for track_print_uncounted(). */
static void note_left(struct track *track, pid_t pid, const char *command)
{
	const size_t size = sizeof(track->left_command);

	if (track->nleft++ > 0)
		return;
	track->left_pid = pid;
	if (strlcpy(track->left_command, command, size) >= size)
		memcpy(&track->left_command[size - 4], "...", 4);
}

static void on_exec(struct track *track, const struct track_event *event)
{
	struct proc *proc = tree_get(&track->tree, event->tgid);
	const pid_t pid = proc->pid;
	struct row row;

	proc->incomplete |= (event->flaws & TRACK_PROC_FLAWED) != 0;
	put_fini_rows(track, proc, event->time_ns);
	row = new_row(track, event->time_ns, ROW_EXEC);
	name_caller(&row, event);
	put_totals(track, proc, &row);
	if (event->left)
		tree_remove(&track->tree, proc);
	else
		tree_clear(&track->tree, proc);
	row = new_row(track, event->time_ns, ROW_IMAGE);
	row.pid = row.tid = pid;
	row.lwp = 1;
	row.comm = event->comm != NULL && event->comm[0] != '\0' ? event->comm : NULL;
	row.command = event->command;
	put_row(track, &row);
}

static void on_exit_proc(struct track *track, const struct track_event *event)
{
	struct proc *proc = tree_get(&track->tree, event->tgid);
	struct row row;

	put_fini_rows(track, proc, event->time_ns);
	row = new_row(track, event->time_ns, ROW_EXIT);
	name_caller(&row, event);
	row.ended = true;
	row.status = event->status;
	put_totals(track, proc, &row);
	tree_remove(&track->tree, proc);
	if (track->command == NULL || event->tgid != track->command->pid)
		return;
	track->command->reaped = true;
	track->run->ended = true;
	track->run->status = event->status;
	/* The terminal was closed: ^C cannot stop the tracking of processes that live on. */
	if (WIFSIGNALED(event->status) && WTERMSIG(event->status) == SIGHUP)
		track->command->stop_at = true;
	leave_command(track, event->tgid);
}

static void on_detach(struct track *track, const struct track_event *event)
{
	if (!track->ending)
		begin_sample(track, event->time_ns);
	track->ending = true;
	if (track->last_sample)
		put_tick(track, event);
	finalize(track, event);
}

/* Updates the LWP and its process by the members that all kinds of events have. */
static void update(struct track *track, const struct track_event *event)
{
	struct lwp *lwp = event->lwp;
	struct proc *proc = lwp != NULL ? lwp->proc : tree_find(&track->tree, event->tgid);

	if (lwp != NULL && event->comm != NULL && event->kind != TRACK_EXEC)
		strlcpy(lwp->comm, event->comm, sizeof(lwp->comm));
	if (lwp != NULL)
		lwp->flawed |= (event->flaws & TRACK_LWP_FLAWED) != 0;
	if (proc != NULL) {
		note_owners(proc, event);
		proc->incomplete |= event->flaws != 0;
	}
}

struct lwp *track_event(struct track *track, const struct track_event *event)
{
	struct lwp *lwp = NULL;

	update(track, event);
	switch (event->kind) {
	case TRACK_BIRTH:
		lwp = on_birth(track, event);
		break;
	case TRACK_CREATE:
		put_birth(track, event, event->lwp, ROW_LWP_CREATE);
		break;
	case TRACK_FORK:
		on_fork(track, event);
		break;
	case TRACK_TICK:
		if (event->time_ns < track->end_ns - NO_TICK_NS)
			put_tick(track, event);
		break;
	case TRACK_FINAL:
		finalize(track, event);
		break;
	case TRACK_LWP_EXIT:
		on_lwp_exit(track, event);
		break;
	case TRACK_EXEC:
		on_exec(track, event);
		if (!track->config.follow_exec) {
			note_left(track, event->tgid, event->command);
			leave_command(track, event->tgid);
		}
		break;
	case TRACK_EXIT:
		on_exit_proc(track, event);
		break;
	case TRACK_DETACH:
		on_detach(track, event);
		break;
	case TRACK_LOST:
		break;
	}
	return lwp;
}

/* ---- the end ------------------------------------------------------------ */

/* Rows of a process that lives on. */
static void put_detach(struct track *track, struct proc *proc)
{
	const struct lwp *first = TAILQ_FIRST(&proc->lwps);
	struct row row;

	put_fini_rows(track, proc, 0);
	row = new_row(track, 0, ROW_DETACH);
	row.pid = row.tid = proc->pid;
	row.lwp = 1;
	if (first != NULL && first->id == 1)
		name_lwp(&row, first);
	put_totals(track, proc, &row);
}

void track_end(struct track *track, bool incomplete, bool cut)
{
	struct proc *proc;

	if (!track->ending)
		begin_sample(track, now_ns());
	track->ending = true;
	while ((proc = tree_first(&track->tree)) != NULL) {
		put_detach(track, proc);
		tree_remove(&track->tree, proc);
	}
	track->flusher.sample = false; /* the end of the run is also that of its last sample */
	track->run->incomplete = incomplete;
	track->run->cut = cut;
	sink_end(track->sink);
	flusher_flush(&track->flusher);
	track->flusher.has_reader = false; /* the table is complete: the reader may leave */
}

void track_print_uncounted(const struct track *track, uint64_t children)
{
	char forks[48] = "", execs[2 * LEFT_COMMAND] = "", others[48] = "";
	const size_t n = track->nleft;

	if (children == 0 && n == 0)
		return;
	if (children > 0)
		snprintf(forks, sizeof(forks), "%llu child process%s", (unsigned long long)children,
			 children == 1 ? "" : "es");
	if (n > 0)
		snprintf(execs, sizeof(execs), "'%s', which process %d executed",
			 track->left_command, (int)track->left_pid);
	if (n > 1)
		snprintf(others, sizeof(others), ", and %zu more program%s", n - 1,
			 n == 2 ? "" : "s");
	say("not counted: %s%s%s%s; -%s%s counts %s", forks, children > 0 && n > 0 ? ", and " : "",
	    execs, others, children > 0 ? "f" : "", n > 0 ? "e" : "",
	    children + n == 1 ? "it" : "them");
}
