/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * records.c - turn the records and slots of liblwps into events.
 */
#include "records.h"
#include "../../../libcpc/set/counter.h"

#include "../../base/say.h"
#include "../../base/util.h"
#include "../../program/cgroups.h"
#include "owners.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The end of a process, by the records of its LWPs: `own` of the tree's processes. */
struct ending {
	int status;		   /* the best one so far... */
	bool all_end;		   /* ...of an exit of all LWPs together... */
	bool leader_exited;	   /* ...or of the leader */
	char comm[COMM_SIZE];	   /* the leader's name as it exited */
	const struct owner *owner; /* of the LWP that exited last; NULL: unknown */
	const char *user;	   /* likewise */
};

static struct tree *tree_of(const struct records *records)
{
	return &records->engine->track->tree;
}

static struct track_event event_of(const struct records *records, struct lwp *lwp,
				   enum track_kind kind)
{
	return (struct track_event){
		.kind = kind,
		.time_ns = records->now_ns,
		.lwp = lwp,
		.tgid = lwp != NULL ? lwp->proc->pid : 0,
		.set = records_turn_set(records),
	};
}

static unsigned slot_of(const struct records *records, const struct lwp *lwp)
{
	const struct slot_user *user = lwp->own;

	return (unsigned)(user - records->slot);
}

/* A leader that exited before other LWPs no longer counts, but has rows up to the end. */
static bool is_exited(const struct lwp *lwp)
{
	const struct slot_user *user = lwp->own;

	return user->exited;
}

/* ---- owners ------------------------------------------------------------------------------ */

unsigned records_owners(const struct records *records)
{
	const struct owners *owners = records->engine->config.owners;

	if (owners == NULL)
		return 0;
	return LWPS_OWNER_USER | (owners_has_cgroups(owners) ? LWPS_OWNER_CGROUP : 0);
}

static const struct owner *find_owner(struct records *records, uint64_t id)
{
	struct owners *owners = records->engine->config.owners;
	const struct owner *owner = owners_by_id(owners, id);
	char text[CGROUPS_PATH];
	struct lwps_path path;

	if (owner != NULL)
		return owner;
	if (!lwps_path(records->lwps, id, &path))
		return owners_find(owners, "...");
	cgroups_write_path(&path, id, text, sizeof(text));
	owner = owners_find(owners, text);
	owners_add_id(owners, id, owner);
	return owner;
}

static void read_owners(struct records *records, struct track_event *event)
{
	struct owners *owners = records->engine->config.owners;
	const unsigned slot = slot_of(records, event->lwp);
	uint64_t id;

	/* The owners of a leader that exited before other LWPs may be old: see on_exit_lwp(). */
	if (owners == NULL || is_exited(event->lwp))
		return;
	if (lwps_owner(records->lwps, slot, LWPS_OWNER_CGROUP, &id))
		event->owner = find_owner(records, id);
	if (lwps_owner(records->lwps, slot, LWPS_OWNER_USER, &id))
		event->user = owners_user(owners, (uid_t)id);
}

/* Finds out the owners of all LWPs, for a sample. */
static void note_owners(struct records *records)
{
	if (records->engine->config.owners == NULL || lwps_note_owners(records->lwps) == 0)
		return;
	say("cannot read the cgroups and users of LWPs: %s", strerror(errno));
	records->engine->lost = true;
}

/* ---- counts ------------------------------------------------------------------------------ */

/* Counting has not begun, or was invalidated. */
static bool counts_are_unknown(const struct records *records)
{
	return records->invalid || records->now_ns < records->begun_ns;
}

static unsigned flaws_of(struct records *records, const struct lwp *lwp, unsigned flaws)
{
	if (flaws == 0)
		return records->invalid ? TRACK_PROC_FLAWED : 0;
	if (lwps_whole(flaws))
		return TRACK_PROC_FLAWED;
	if (!lwp->flawed) {
		records->engine->lost = true;
		records->nflawed++;
		records->ninit += lwp->proc->pid == 1;
		records->flaws |= flaws;
	}
	return TRACK_LWP_FLAWED | TRACK_PROC_FLAWED;
}

/* The turn at the time of the current event, if that is at most one turn ago. */
static uint64_t turn_now(const struct records *records)
{
	return records->turn > 0 && records->now_ns < records->turn_ns ? records->turn - 1
								       : records->turn;
}

/* Has set `i` had a turn in the life of the LWP? */
static bool had_turn(const struct records *records, const struct lwp *lwp, size_t i)
{
	const struct slot_user *user = lwp->own;
	const size_t n = records->engine->grp->n;

	return user->first + (i + n - user->first % n) % n <= turn_now(records);
}

static void read_set(struct records *records, const uint64_t *column, size_t i)
{
	const struct engine *engine = records->engine;
	const struct records_set *set = &records->set[i];
	const struct fit *fit = &set->fit;
	uint64_t *count = xcalloc(fit->ncounters, sizeof(*count));

	column += set->first;
	fit_counts(fit, column, count);
	cpc_buf_fill(engine->cpc, set->buf, engine->grp->set[i].set, count, fit->ncounters,
		     column[fit->ncolumns - 1], records->now_ns);
	free(count);
	engine_counts(engine, i, set->buf, &records->counts[i]);
}

/* Reads the counts of an LWP for an event. */
static void read_counts(struct records *records, struct track_event *event)
{
	const size_t n = records->engine->grp->n;
	uint64_t column[LWPS_MAX_COLUMNS];
	unsigned flaws = 0;

	read_owners(records, event);
	if (!records->invalid)
		flaws = lwps_read(records->lwps, slot_of(records, event->lwp), column);
	event->flaws |= flaws_of(records, event->lwp, flaws);
	if (counts_are_unknown(records))
		return;
	for (size_t i = 0; i < n; i++) {
		records->counts[i].known = false;
		if (event->kind == TRACK_TICK ? i == event->set : had_turn(records, event->lwp, i))
			read_set(records, column, i);
	}
	event->counts = records->counts;
}

/* ---- births ------------------------------------------------------------------------------ */

/* Are calls of functions counted in a new program, or in a process that we attach to? */
static unsigned check_files(struct records *records, const struct lwps_record *record)
{
	bool good;

	if (records->probed->n == 0)
		return 0;
	good = probed_check(records->probed, record);
	for (size_t i = 0; record->event == LWPS_ATTACH && i < records->engine->grp->n; i++)
		good &= probed_is_set(records->engine->cpc, records->set[i].cpus->bound,
				      record->tgid);
	if (good)
		return 0;
	records->engine->lost = true;
	return TRACK_PROC_FLAWED;
}

static void report_birth(struct records *records, const struct lwps_record *record, unsigned slot,
			 const char *comm, unsigned flaws)
{
	const bool thread = record->event == LWPS_THREAD;
	struct engine *engine = records->engine;
	struct slot_user *user = &records->slot[slot];
	struct track_event event = event_of(records, NULL, TRACK_BIRTH);
	char name[COMM_SIZE];

	event.tgid = record->tgid;
	event.tid = record->tid;
	event.comm = comm;
	if (event.comm == NULL)
		event.comm = engine_comm(engine, record->tid, name);
	/* The process of its creator is known, unless that had no slot or its exit was lost. */
	if (records->invalid || (thread && record->time_ns > records->attached_ns &&
				 tree_find(tree_of(records), record->tgid) == NULL))
		flaws = TRACK_PROC_FLAWED;
	event.flaws = flaws;
	event.counted = !counts_are_unknown(records);
	*user = (struct slot_user){.first = turn_now(records)};
	user->lwp = track_event(engine->track, &event);
	event.lwp = user->lwp;
	user->lwp->own = user;
	if (user->lwp->proc->own == NULL)
		user->lwp->proc->own = xcalloc(1, sizeof(struct ending));
	if (thread) {
		event.kind = TRACK_CREATE;
		track_event(engine->track, &event);
	}
}

static void forget_ending(struct proc *proc)
{
	free(proc->own);
	proc->own = NULL;
}

static struct lwp *lwp_of_slot(const struct records *records, unsigned slot)
{
	return slot < records->nslots && slot != LWPS_SHARED ? records->slot[slot].lwp : NULL;
}

static void on_fork(struct records *records, const struct lwps_record *record)
{
	struct lwp *creator = lwp_of_slot(records, record->creator);
	struct proc *stale = tree_find(tree_of(records), record->tgid);
	struct track_event event = event_of(records, creator, TRACK_FORK);
	const char *comm = creator != NULL && creator->comm[0] != '\0' ? creator->comm : NULL;

	event.tgid = record->creator_tgid;
	event.child = record->tgid;
	track_event(records->engine->track, &event);
	if (stale != NULL) /* the record of its exit was lost */
		forget_ending(stale);
	report_birth(records, record, record->slot, comm, 0);
}

/* ---- ends -------------------------------------------------------------------------------- */

/* Reports the final counts of an LWP.  `releases`: its slot, which no further record names. */
static void report_final(struct records *records, struct lwp *lwp, const char *comm, bool releases)
{
	struct track_event event = event_of(records, lwp, TRACK_FINAL);
	const unsigned slot = slot_of(records, lwp);

	event.comm = comm != NULL && comm[0] != '\0' ? comm : NULL;
	read_counts(records, &event);
	track_event(records->engine->track, &event);
	records->slot[slot].lwp = NULL;
	if (releases)
		lwps_release(records->lwps, slot);
}

static bool has_living_lwps(const struct proc *proc)
{
	const struct lwp *first = TAILQ_FIRST(&proc->lwps);

	return proc->nalive > (first != NULL && !first->final && is_exited(first) ? 1 : 0);
}

static void report_exit(struct records *records, struct proc *proc)
{
	struct lwp *first = TAILQ_FIRST(&proc->lwps); /* NULL: it had exited before the attach */
	struct track_event event = event_of(records, first, TRACK_EXIT);
	const struct ending *ending = proc->own;

	if (first != NULL && !first->final)
		report_final(records, first, ending->comm, true);
	event.tgid = proc->pid;
	event.status = ending->status;
	event.owner = ending->owner;
	event.user = ending->user;
	forget_ending(proc);
	track_event(records->engine->track, &event);
}

/* The words of a command, with spaces between; without them its name, as in ps(1). */
static void join_args(char *text, size_t size, const struct lwps_record *record)
{
	size_t n = record->args_size < size ? record->args_size : size - 1;

	for (size_t i = 0; i < n; i++)
		text[i] = record->args[i] != '\0' ? record->args[i] : ' ';
	text[n > 0 && record->args[n - 1] == '\0' ? n - 1 : n] = '\0';
	if (n == 0)
		snprintf(text, size, "[%.*s]", LWPS_COMM, record->comm);
}

static void report_exec(struct records *records, const struct lwps_record *record)
{
	struct lwp *lwp = lwp_of_slot(records, record->slot), *other;
	struct proc *proc = lwp != NULL ? lwp->proc : tree_find(tree_of(records), record->tgid);
	struct track_event event = event_of(records, lwp, TRACK_EXEC);
	char command[LWPS_ARGS];

	join_args(command, sizeof(command), record);
	event.tgid = proc != NULL ? proc->pid : record->tgid;
	event.comm = record->comm;
	event.command = command;
	event.left = record->next == LWPS_NONE || record->next == LWPS_SHARED;
	event.flaws = lwp == NULL ? TRACK_PROC_FLAWED : 0;
	if (lwp != NULL) {
		read_owners(records, &event);
		report_final(records, lwp, record->old_comm, true);
	}
	/* All other LWPs have exited, but for some the records are still to come. */
	if (proc != NULL) {
		const struct ending *ending = proc->own;

		TAILQ_FOREACH(other, &proc->lwps, link) {
			if (!other->final)
				report_final(records, other, is_exited(other) ? ending->comm : NULL,
					     is_exited(other));
		}
		forget_ending(proc);
	}
	track_event(records->engine->track, &event);
}

static void on_exec(struct records *records, const struct lwps_record *record)
{
	struct proc *proc = tree_find(tree_of(records), record->tgid);
	unsigned flaws;

	/* Without a slot, tracking begins here, unless another LWP of the process was tracked. */
	if (record->slot != LWPS_NONE || proc != NULL)
		report_exec(records, record);
	if (record->next == LWPS_NONE)
		return;
	flaws = check_files(records, record);
	if (record->next != LWPS_SHARED)
		report_birth(records, record, record->next, record->comm, flaws);
}

/* The records of the attach are all read: processes without a living LWP have exited. */
static void end_attached(struct records *records)
{
	struct proc *proc, *next;

	records->attached_ns = 0;
	TAILQ_FOREACH_SAFE(proc, &tree_of(records)->procs, link, next)
	{
		if (!has_living_lwps(proc))
			report_exit(records, proc);
	}
}

/* The LWP whose record comes last need not be the one that exited last. */
static void keep_status(struct ending *ending, bool leader, const struct lwps_record *record)
{
	if (record->all_end || (!ending->all_end && (leader || !ending->leader_exited)))
		ending->status = record->status;
	ending->all_end |= record->all_end;
	ending->leader_exited |= leader;
}

static void on_exit_lwp(struct records *records, const struct lwps_record *record)
{
	struct lwp *lwp = lwp_of_slot(records, record->slot);
	struct ending *ending;
	struct track_event event;
	struct proc *proc;

	if (lwp == NULL) { /* it had the shared slot, or an exec has ended it */
		lwps_release(records->lwps, record->slot);
		return;
	}
	proc = lwp->proc;
	ending = proc->own;
	keep_status(ending, lwp->tid == proc->pid, record);
	event = event_of(records, lwp, TRACK_LWP_EXIT);
	read_owners(records, &event);
	ending->owner = event.owner;
	ending->user = event.user;
	if (lwp->id == 1) {
		records->slot[record->slot].exited = true;
		memcpy(ending->comm, record->comm, sizeof(ending->comm));
	} else {
		report_final(records, lwp, record->comm, true);
		track_event(records->engine->track, &event);
	}
	if (!has_living_lwps(proc) && record->time_ns > records->attached_ns)
		report_exit(records, proc);
}

/* ---- records ----------------------------------------------------------------------------- */

/* Does the record fit those before it?  All do, unless records were lost. */
static bool is_possible(const struct records *records, const struct lwps_record *record)
{
	const bool exec = record->event == LWPS_EXEC;
	unsigned begun = exec ? record->next : record->slot;

	if (record->event == LWPS_EXIT)
		return true;
	if (exec && record->slot == LWPS_NONE &&
	    (begun == LWPS_NONE || (records->engine->config.choice.kind == CHOICE_NONE &&
				    tree_find(tree_of(records), record->tgid) != NULL)))
		return false;
	if (exec && (begun == LWPS_NONE || begun == LWPS_SHARED))
		return true;
	return begun != LWPS_SHARED && begun < records->nslots && records->slot[begun].lwp == NULL;
}

static void handle_record(struct records *records, const struct lwps_record *record)
{
	if (!is_possible(records, record)) {
		records->nimpossible++;
		return;
	}
	records->now_ns = record->time_ns;
	switch (record->event) {
	case LWPS_ATTACH:
	case LWPS_THREAD:
		report_birth(records, record, record->slot, NULL,
			     tree_find(tree_of(records), record->tgid) == NULL
				     ? check_files(records, record)
				     : 0);
		break;
	case LWPS_FORK:
		on_fork(records, record);
		break;
	case LWPS_EXEC:
		on_exec(records, record);
		break;
	case LWPS_EXIT:
		on_exit_lwp(records, record);
		break;
	}
}

/* LWPs in the shared slot are shown as one LWP of cputrack's own process: no count is missing. */
static void show_others(struct records *records)
{
	struct slot_user *others = &records->slot[LWPS_SHARED];
	struct track_event event;

	if (others->lwp != NULL || lwps_losses(records->lwps).shared == 0)
		return;
	records->now_ns = now_ns();
	event = event_of(records, NULL, TRACK_BIRTH);
	event.tgid = event.tid = getpid();
	event.comm = "(others)";
	event.flaws = TRACK_PROC_FLAWED;
	event.counted = true;
	others->first = turn_now(records);
	others->lwp = track_event(records->engine->track, &event);
	others->lwp->own = others;
}

/* If a cpustat(1) has claimed CPUs, counts are invalid from now on. */
static void check_claims(struct records *records)
{
	bool holds = true;

	for (size_t i = 0; i < records->engine->grp->n; i++)
		holds = holds && percpu_holds(records->set[i].cpus, records->engine->cpc, now_ns());
	if (records->invalid || holds)
		return;
	records->invalid = records->engine->lost = true;
	say("perf counter contents invalidated");
}

void records_read(struct records *records)
{
	struct lwps_record record;

	check_claims(records);
	while (lwps_next(records->lwps, &record))
		handle_record(records, &record);
	if (records->attached_ns != 0)
		end_attached(records);
	show_others(records);
}

/* ---- samples ----------------------------------------------------------------------------- */

static void report_sample(struct records *records, struct lwp *lwp, enum track_kind kind)
{
	struct track_event event = event_of(records, lwp, kind);
	const unsigned slot = slot_of(records, lwp);
	struct slot_user *user = lwp->own;
	char comm[COMM_SIZE];

	if (slot != LWPS_SHARED && !user->exited)
		event.comm = engine_comm(records->engine, lwp->tid, comm);
	if (kind == TRACK_TICK && !lwps_changed(records->lwps, slot, &user->state)) {
		read_owners(records, &event);
		event.unchanged = !counts_are_unknown(records);
		event.flaws = records->invalid ? TRACK_PROC_FLAWED : 0;
	} else {
		read_counts(records, &event);
	}
	/* The kernels of some virtual machines hide process 1 from BPF programs. */
	if (records->engine->config.owners != NULL && event.user == NULL &&
	    lwp->proc->user == NULL && slot != LWPS_SHARED)
		owners_of_lwp(records->engine->config.owners, lwp->tid, &event.owner, &event.user);
	track_event(records->engine->track, &event);
}

static void sample_all(struct records *records, enum track_kind kind)
{
	struct proc *proc;
	struct lwp *lwp;

	note_owners(records);
	records->now_ns = now_ns();
	TAILQ_FOREACH(proc, &tree_of(records)->procs, link) {
		TAILQ_FOREACH(lwp, &proc->lwps, link) {
			if (!lwp->final)
				report_sample(records, lwp, kind);
		}
	}
}

void records_tick(struct records *records)
{
	sample_all(records, TRACK_TICK);
}

void records_turn(struct records *records)
{
	records->turn++;
	records->turn_ns = now_ns();
}

size_t records_turn_set(const struct records *records)
{
	return records->turn % records->engine->grp->n;
}

void records_detach(struct records *records)
{
	struct proc *proc;

	sample_all(records, TRACK_DETACH);
	TAILQ_FOREACH(proc, &tree_of(records)->procs, link)
		forget_ending(proc);
}

/* tgkill(2) also checks the process: the id of an LWP that exited may belong to another process. */
bool records_any_exists(const struct records *records)
{
	struct proc *proc;
	struct lwp *lwp;

	TAILQ_FOREACH(proc, &tree_of(records)->procs, link) {
		TAILQ_FOREACH(lwp, &proc->lwps, link) {
			if (!lwp->final && !is_exited(lwp) &&
			    slot_of(records, lwp) != LWPS_SHARED &&
			    (syscall(SYS_tgkill, proc->pid, lwp->tid, 0) == 0 || errno != ESRCH))
				return true;
		}
	}
	return false;
}

/* ---- begin and end ----------------------------------------------------------------------- */

#define FEW_LWPS 30000	 /* more would need a ring of over 2 MiB */
#define SPARE_SLOTS 1000 /* for LWPs whose exits were not read yet */

/* The number of threads of the machine, also in other containers.  0: unknown. */
static unsigned count_threads(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	unsigned n = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%*f %*f %*f %*u/%u", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

/* An attach needs a slot for each existing LWP; reserve as many for new ones. */
static unsigned choose_nslots(const struct engine_config *config)
{
	const unsigned most = LWPS_MAX_SLOTS - SPARE_SLOTS;
	unsigned n = FEW_LWPS;

	if (config->max_lwps > 0)
		n = config->max_lwps;
	else if (config->pids != NULL && count_threads() > n / 2)
		n = 2 * count_threads();
	return (n < most ? n : most) + SPARE_SLOTS;
}

void records_init(struct records *records, struct engine *engine, const struct fit *fit,
		  struct probed *probed)
{
	const struct setgrp *grp = engine->grp;

	*records = (struct records){
		.engine = engine,
		.probed = probed,
		.set = xcalloc(grp->n, sizeof(*records->set)),
		.counts = xcalloc(grp->n, sizeof(*records->counts)),
		.begun_ns = engine->waiting ? INT64_MAX : 0,
	};
	records->nslots = choose_nslots(&engine->config);
	records->slot = xcalloc(records->nslots, sizeof(*records->slot));
	for (size_t i = 0; i < grp->n; i++) {
		records->set[i].fit = fit[i];
		records->set[i].buf = xmade(cpc_buf_create(engine->cpc, grp->set[i].set));
	}
}

void records_free(struct records *records)
{
	if (records->lwps != NULL)
		lwps_close(records->lwps);
	for (size_t i = 0; i < records->engine->grp->n; i++)
		cpc_buf_destroy(records->engine->cpc, records->set[i].buf);
	free(records->set);
	free(records->counts);
	free(records->slot);
}

void records_renew(struct records *records)
{
	memset(records->slot, 0, records->nslots * sizeof(*records->slot));
	*records = (struct records){
		.engine = records->engine,
		.probed = records->probed,
		.set = records->set,
		.counts = records->counts,
		.lwps = records->lwps,
		.nslots = records->nslots,
		.slot = records->slot,
		.begun_ns = records->engine->waiting ? INT64_MAX : 0,
	};
}
