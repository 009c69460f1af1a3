/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * keys.c - divides the counts of all CPUs among the cgroups, services, containers, users or
 * commands that run there.
 *
 * liblwps has a slot of counts for each cgroup, user or command.  Slots of one name, such as those
 * of the cgroups of a service, are added up in a key.  A key has a row in each sample in which it
 * counted something.
 */
#include "bound.h"

#include "../../../libcpc/set/counter.h"
#include "../../base/say.h"
#include "../../base/util.h"
#include "../../program/cgroups.h"
#include "../../rows/key_name.h"
#include "../../rows/ledger.h"
#include "../../rows/source.h"

#include <bsd/string.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_OF_CGROUPS 4096 /* for cgroups that are created later */
#define SLOTS_OF_OTHERS 8192  /* for users or commands */
#define SLOTS_MAX 65536

/* With these flaws, the total lacks counts.  With others, the row of another key may have them. */
#define LOST_COUNTS (LWPS_NO_EVENT | LWPS_NOT_RUN | LWPS_NO_CPU)

/* Samples without counts after which a slot is forgotten, if slots are scarce. */
#define QUIET_SAMPLES 2
/* How often to look whether the cgroup of such a slot exists, in samples. */
#define LOOK_SAMPLES 8

struct key {
	struct entry entry;
	unsigned nslots; /* slots that have this key */
	unsigned group;	 /* of account_group(); 0: none yet */
	bool counted;	 /* in the current sample */
	bool gone;	 /* one of its cgroups has been removed, and none has counted since */
	unsigned flaws;	 /* of the current sample */
	uint64_t late;	 /* likewise: changes of keys that were noticed late */
	uint64_t count[LWPS_MAX_COLUMNS];
};

/* A slot of liblwps. */
struct slot {
	struct key *key; /* NULL: not known yet */
	unsigned nquiet; /* samples without counts, since the last with some */
	bool forgotten;
};

struct divided {
	struct meter meter;
	cpc_t *cpc;
	const struct setgrp *grp;
	enum scope scope;
	unsigned depth;
	enum lwps_hierarchy hierarchy;
	/* Of the bound set.  Each counter has a column; the last column is the time on a CPU. */
	struct bound bound;
	unsigned ncounters, ncolumns;
	unsigned clock; /* the first column that is a clock; ncolumns: none */
	enum lwps_kind kind[LWPS_MAX_COLUMNS];
	struct account *account; /* NULL: no set is bound */
	cpc_buf_t *buf;		 /* the counts of one key */
	size_t nslots;
	struct slot *slot;  /* by number */
	uint64_t *before;   /* their counts in the last sample, d->ncolumns of each */
	struct ledger keys; /* without sums */
	unsigned ngroups;
	bool *online;	   /* by CPU number */
	bool *is_omitted;  /* likewise */
	int64_t at_ns;	   /* when the CPUs were read last, or the set was bound */
	uint64_t clock_ns; /* the time of all CPUs in the current sample */
	struct account_losses losses;
	uint64_t renames;  /* of cgroups, of the bound set */
	bool said_crowded; /* the message about (others) was written */
};

/* ---- keys ------------------------------------------------------------------------- */

static struct key *find_key(struct divided *d, const struct cgroup_name *name)
{
	const struct row id = {
		.key = name->name,
		.key_kind = name->kind,
		.container = *name->container != '\0' ? name->container : NULL,
		.pod = *name->pod != '\0' ? name->pod : NULL,
		.outer = *name->outer != '\0' ? name->outer : NULL,
	};

	return ledger_get(&d->keys, &id);
}

static struct key *key_of_slot(struct divided *d, unsigned slot)
{
	static const enum key_kind fixed[] = {[ACCOUNT_OTHERS] = KEY_OTHERS,
					      [ACCOUNT_IDLE] = KEY_IDLE,
					      [ACCOUNT_KERNEL] = KEY_KERNEL};
	const struct account_owner *owner;
	struct cgroup_name name = {0};
	char path[CGROUPS_PATH];

	if (slot < ACCOUNT_FIRST) {
		name.kind = fixed[slot];
		strlcpy(name.name, key_fixed_text(name.kind), sizeof(name.name));
		return find_key(d, &name);
	}
	owner = account_owner(d->account, slot);
	if (d->scope == SCOPE_USER) {
		key_name_user((uid_t)owner->key.word[0], &name);
	} else if (d->scope == SCOPE_COMMAND) {
		snprintf(name.name, sizeof(name.name), "%.16s", (const char *)owner->key.word);
	} else {
		cgroups_write_path(&owner->path, owner->key.word[0], path, sizeof(path));
		key_name_cgroup(d->scope, d->depth, path, cgroups_of_root(d->hierarchy, path),
				&name);
	}
	return find_key(d, &name);
}

/* The key of a slot that has counted. */
static struct key *name_slot(struct divided *d, unsigned number)
{
	struct slot *slot = &d->slot[number];
	struct key *key = slot->key;

	if (key != NULL)
		return key;
	key = slot->key = key_of_slot(d, number);
	key->nslots++;
	if (key->group == 0)
		key->group = ++d->ngroups;
	if (number >= ACCOUNT_FIRST)
		account_group(d->account, number, key->group);
	return key;
}

/* ---- samples ---------------------------------------------------------------------- */

/* The key counts in this sample. */
static void begin_key(const struct divided *d, struct key *key)
{
	if (!key->counted)
		memset(key->count, 0, d->ncolumns * sizeof(*key->count));
	key->counted = true;
	key->gone = false;
}

/* Adds the preemptions between slots that had no group. */
static void sample_pairs(struct divided *d)
{
	const struct account_pair *pair;
	struct key *from;

	while ((pair = account_pair(d->account)) != NULL) {
		from = name_slot(d, pair->from);
		if (from == name_slot(d, pair->to))
			continue;
		begin_key(d, from);
		for (unsigned i = 0; i < d->ncolumns; i++)
			from->count[i] += d->kind[i] == LWPS_OTHER;
	}
}

/* Adds the counts of the slot since the last sample to its key. */
static void sample_slot(struct divided *d, unsigned number)
{
	struct slot *slot = &d->slot[number];
	uint64_t *before = &d->before[(size_t)number * d->ncolumns];
	uint64_t now[LWPS_MAX_COLUMNS], late, any = 0;
	unsigned flaws = account_read(d->account, number, now, &late);

	for (unsigned i = 0; i < d->ncolumns; i++)
		any |= now[i] - before[i];
	if (d->clock < d->ncolumns)
		d->clock_ns += now[d->clock] - before[d->clock];
	slot->nquiet = any != 0 ? 0 : slot->nquiet + 1;
	if (any == 0 && flaws == 0 && late == 0)
		return;
	begin_key(d, name_slot(d, number));
	for (unsigned i = 0; i < d->ncolumns; i++) {
		slot->key->count[i] += now[i] - before[i];
		before[i] = now[i];
	}
	slot->key->flaws |= flaws;
	slot->key->late += late;
}

/*
 * Frees a slot that has not counted for some time: forgets it, and releases it a sample later.
 * `stale`: free each slot, since its path may be obsolete.
 */
static void recycle_slot(struct divided *d, unsigned number, bool stale)
{
	struct slot *slot = &d->slot[number];

	/* A slot without a key is free: in all others some slice has counted. */
	if (slot->forgotten) {
		/* No CPU has used it since the last sample. */
		if (slot->key != NULL)
			slot->key->nslots--;
		*slot = (struct slot){0};
		memset(&d->before[(size_t)number * d->ncolumns], 0,
		       d->ncolumns * sizeof(*d->before));
		account_release(d->account, number);
	} else if ((stale || slot->nquiet >= QUIET_SAMPLES) && slot->key != NULL) {
		account_forget(d->account, number);
		slot->forgotten = true;
	}
}

/* Has the cgroup of a quiet slot been removed?  This is looked up now and then, and noted. */
static bool has_gone(struct divided *d, unsigned number)
{
	const struct account_owner *owner;
	char path[CGROUPS_PATH];
	bool gone;

	if (d->scope == SCOPE_USER || d->scope == SCOPE_COMMAND || d->slot[number].key == NULL ||
	    d->slot[number].nquiet % LOOK_SAMPLES != QUIET_SAMPLES)
		return false;
	owner = account_owner(d->account, number);
	cgroups_write_path(&owner->path, owner->key.word[0], path, sizeof(path));
	gone = !cgroups_exists(d->hierarchy, path);
	d->slot[number].key->gone |= gone;
	return gone;
}

/* Puts the rows of all keys that counted. */
static bool keys_put(struct meter *meter, size_t k, struct sampler *sampler)
{
	struct divided *d = (struct divided *)meter;
	struct entry *entry, *next;
	unsigned width = 0;
	bool whole = true;

	TAILQ_FOREACH(entry, &d->keys.list, next) {
		if (((struct key *)entry)->counted && strlen(entry->id.key) > width)
			width = (unsigned)strlen(entry->id.key);
	}
	for (entry = ledger_next(&d->keys, NULL); entry != NULL; entry = next) {
		struct key *key = (struct key *)entry;
		struct row row = entry->id;

		next = ledger_next(&d->keys, entry);
		row.ncpus = (unsigned)d->meter.nleft;
		row.key_width = width;
		row.late = key->late;
		row.incomplete = key->flaws != 0 || row.key_kind == KEY_OTHERS;
		if (key->counted) {
			bool filled =
				cpc_buf_fill(d->cpc, d->buf, d->grp->set[k].set, key->count,
					     d->ncounters, key->count[d->ncounters], d->at_ns) == 0;

			sampler_put(sampler, &row, k, filled ? d->buf : NULL);
		}
		whole &= (key->flaws & LOST_COUNTS) == 0;
		key->counted = false;
		key->flaws = 0;
		key->late = 0;
		if (key->nslots == 0) {
			if (key->gone)
				sampler_end_key(sampler, k, entry->id.key);
			ledger_remove(&d->keys, entry);
		}
	}
	return whole && meter->nleft == meter->n;
}

static void report_crowd(struct divided *d)
{
	if (d->said_crowded || account_crowded(d->account) == 0)
		return;
	d->said_crowded = true;
	say("there are too many keys at a time: some are in (others)");
}

/*
 * The slots are read one after the other, and go on counting meanwhile.  If they have a clock, it
 * tells how long the CPUs were counted: since they were read last, by as much for each CPU.
 */
static void find_time(struct divided *d, int64_t begin_ns)
{
	int64_t end_ns = now_ns(), at_ns = end_ns;

	if (d->clock < d->ncolumns && d->meter.nleft > 0)
		at_ns = d->at_ns + (int64_t)(d->clock_ns / d->meter.nleft);
	/* CPUs may have come or gone. */
	d->at_ns = at_ns < begin_ns ? begin_ns : at_ns < end_ns ? at_ns : end_ns;
	read_time_add(&d->meter.at, d->at_ns);
}

static int keys_sample(struct meter *meter, size_t k)
{
	struct divided *d = (struct divided *)meter;
	int64_t begin_ns = now_ns();
	uint64_t renames;
	unsigned n;
	bool crowded, stale;

	(void)k;
	d->clock_ns = 0;
	if (account_flush(d->account, d->online) == -1) {
		say("cannot read the counts of the CPUs: %s", strerror(errno));
		return -1;
	}
	bound_watch(&d->bound, d->account, d->online, d->buf);
	report_crowd(d);
	n = account_nslots(d->account);
	crowded = n > d->nslots / 2;
	sample_pairs(d);
	/* Once per sample: a user who renames cgroups all the time must not use up the slots. */
	renames = account_renames(d->account);
	stale = renames != d->renames;
	d->renames = renames;
	for (unsigned slot = 0; slot < n; slot++) {
		if (slot == ACCOUNT_BEFORE)
			continue;
		sample_slot(d, slot);
		if (slot >= ACCOUNT_FIRST &&
		    (crowded || stale || d->slot[slot].forgotten || has_gone(d, slot)))
			recycle_slot(d, slot, stale);
	}
	find_time(d, begin_ns);
	return 0;
}

static void keys_retry(struct meter *meter, size_t k)
{
	struct divided *d = (struct divided *)meter;

	bound_retry(&d->bound, d->account, d->grp->set[k].set, d->ncounters);
}

/* ---- columns ---------------------------------------------------------------------- */

/*
 * The kernel counts a context switch after the program at the switch has read the counters.  So
 * that program counts switches itself, and charges each to the task that leaves.
 */
static enum lwps_kind kind_of(const struct perf_event_attr *attr)
{
	if (attr->type == PERF_TYPE_TRACEPOINT)
		return LWPS_SOFTWARE;
	if (attr->type != PERF_TYPE_SOFTWARE)
		return LWPS_CPU;
	switch (attr->config) {
	case PERF_COUNT_SW_TASK_CLOCK:
	case PERF_COUNT_SW_CPU_CLOCK:
		return LWPS_CLOCK;
	case PERF_COUNT_SW_CONTEXT_SWITCHES:
		return LWPS_SWITCH;
	case CPC_SCHED_RUN_DELAY:
		return LWPS_DELAY;
	case CPC_SCHED_PREEMPTIONS:
		return LWPS_PREEMPT;
	case CPC_SCHED_THROTTLED_TIME:
		return LWPS_THROTTLE;
	case CPC_SCHED_PREEMPTIONS_BY_OTHERS:
		return LWPS_OTHER;
	default:
		return LWPS_SOFTWARE;
	}
}

#ifndef PERF_COUNT_SW_CGROUP_SWITCHES
#define PERF_COUNT_SW_CGROUP_SWITCHES 11 /* Linux 5.13 */
#endif

/* Why an event cannot be divided; NULL: it can. */
static const char *cannot_divide(const struct cpc_counter *counter)
{
	const struct perf_event_attr *attr = counter->attr;

	if (attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_CGROUP_SWITCHES)
		return "counts for the cgroup that is entered, not for the one that is left";
	if (attr->type <= PERF_TYPE_BREAKPOINT || counter->core)
		return NULL;
	return "cannot be divided, unlike software events, tracepoints, breakpoints and events of "
	       "the core PMU";
}

/* Finds the columns of a set.  False: see `why`. */
static bool find_columns(struct divided *d, const struct setgrp_set *set, char *why, size_t size)
{
	struct cpc_counter counter[LWPS_MAX_COLUMNS];
	int n = cpc_set_counters(d->cpc, set->set, counter, LWPS_MAX_COLUMNS);

	for (int i = 0; i < n && i < LWPS_MAX_COLUMNS; i++) {
		const char *reason = cannot_divide(&counter[i]);

		if (reason != NULL) {
			snprintf(why, size, "'%s' %s", set->spec.req[counter[i].index].event,
				 reason);
			return false;
		}
		d->kind[i] = kind_of(counter[i].attr);
	}
	if (n < 0 || n >= LWPS_MAX_COLUMNS) {
		snprintf(why, size, "a spec can have %d events at most", LWPS_MAX_COLUMNS - 1);
		return false;
	}
	d->kind[n] = d->grp->times ? LWPS_CLOCK : LWPS_SLICE; /* not 0 if the key has run */
	d->ncounters = (unsigned)n;
	d->ncolumns = d->ncounters + 1;
	for (d->clock = 0; d->clock < d->ncolumns && d->kind[d->clock] != LWPS_CLOCK;)
		d->clock++;
	return true;
}

/* ---- sets ------------------------------------------------------------------------- */

static bool open_account(struct divided *d, char *why, size_t size)
{
	const unsigned ncpus = d->bound.percpu.n;
	struct account_config config = {
		.by = d->scope == SCOPE_USER	  ? ACCOUNT_BY_USER
		      : d->scope == SCOPE_COMMAND ? ACCOUNT_BY_COMMAND
						  : ACCOUNT_BY_CGROUP,
		.hierarchy = d->hierarchy,
		.groups = d->scope != SCOPE_USER && d->scope != SCOPE_COMMAND,
		.ncolumns = d->ncolumns,
		.ncpus = ncpus,
		.is_counted = d->bound.percpu.possible,
		.nslots = (unsigned)d->nslots,
	};
	int *fd = xcalloc((size_t)ncpus * d->ncolumns, sizeof(*fd));

	for (unsigned cpu = 0; cpu < ncpus; cpu++)
		bound_fds(&d->bound, cpu, d->ncounters, &fd[cpu], ncpus);
	for (unsigned i = 0; i < d->ncolumns; i++) {
		config.column[i].kind = d->kind[i];
		config.column[i].fd = &fd[i * ncpus];
	}
	d->account = account_open(&config, why, size);
	free(fd);
	return d->account != NULL;
}

/* Reserves slots for more cgroups than exist now. */
static size_t choose_nslots(const struct divided *d)
{
	size_t n = SLOTS_OF_OTHERS;

	if (d->scope != SCOPE_USER && d->scope != SCOPE_COMMAND)
		n = 2 * cgroups_count(d->hierarchy) + SLOTS_OF_CGROUPS;
	return n < SLOTS_MAX ? n : SLOTS_MAX;
}

static void forget_slots(struct divided *d)
{
	struct entry *key;

	free(d->slot);
	free(d->before);
	d->slot = NULL;
	d->before = NULL;
	TAILQ_FOREACH(key, &d->keys.list, next)
		((struct key *)key)->nslots = 0;
}

static void keys_unbind(struct meter *meter, size_t k)
{
	struct divided *d = (struct divided *)meter;
	struct account_losses losses;

	(void)k;
	if (d->account != NULL) {
		losses = account_losses(d->account);
		d->losses.missed += losses.missed;
		d->losses.late += losses.late;
		d->losses.skipped += losses.skipped;
	}
	if (d->buf != NULL)
		cpc_buf_destroy(d->cpc, d->buf);
	account_close(d->account);
	d->account = NULL;
	d->buf = NULL;
	bound_unbind(&d->bound);
	d->renames = 0;
	forget_slots(d);
}

static int keys_bind(struct meter *meter, size_t k)
{
	struct divided *d = (struct divided *)meter;
	char why[1024] = "";

	d->nslots = choose_nslots(d);
	d->slot = xcalloc(d->nslots, sizeof(*d->slot));
	if (find_columns(d, &d->grp->set[k], why, sizeof(why)) &&
	    bound_bind(&d->bound, d->grp->set[k].set, why, sizeof(why)) &&
	    open_account(d, why, sizeof(why))) {
		d->before = xcalloc(d->nslots * d->ncolumns, sizeof(*d->before));
		d->buf = xmade(cpc_buf_create(d->cpc, d->grp->set[k].set));
		d->online = xrealloc(d->online, d->bound.percpu.n * sizeof(*d->online));
		d->at_ns = account_started(d->account);
		read_time_add(&meter->at, d->at_ns);
		return 0;
	}
	if (why[0] != '\0')
		say("cannot divide the counts by %s: %s", scope_name(d->scope), why);
	d->meter.status = STATUS_FAILED;
	keys_unbind(meter, k);
	return -1;
}

static void print_losses(const struct divided *d)
{
	const struct account_losses *losses = &d->losses;

	if (losses->missed > 0)
		say("incomplete: the kernel did not report %llu context switches",
		    (unsigned long long)losses->missed);
	if (losses->skipped > 0)
		say("incomplete: the kernel skipped %llu calls of a BPF program",
		    (unsigned long long)losses->skipped);
	if (losses->late > 0)
		say("%llu time%s a running LWP changed its %s unnoticed; its counts up to the next "
		    "switch are in the old one (rows with '# late')",
		    (unsigned long long)losses->late, losses->late == 1 ? "" : "s",
		    scope_name(d->scope));
}

static void keys_free(struct meter *meter)
{
	struct divided *d = (struct divided *)meter;

	keys_unbind(meter, 0);
	print_losses(d);
	ledger_clear(&d->keys);
	free(d->online);
	free(d->is_omitted);
	bound_free(&d->bound);
	free(d);
}

const char *keys_no_delay(void)
{
	return account_no_delay();
}

struct meter *keys_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			enum scope scope, unsigned depth, bool debug)
{
	static const struct meter_ops ops = {.bind = keys_bind,
					     .unbind = keys_unbind,
					     .sample = keys_sample,
					     .put = keys_put,
					     .retry = keys_retry,
					     .free = keys_free};
	struct divided *d = xcalloc(1, sizeof(*d));
	const bool of_cgroups = scope != SCOPE_USER && scope != SCOPE_COMMAND;

	*d = (struct divided){.meter = {.ops = &ops, .n = cpus->n, .nleft = cpus->n},
			      .cpc = cpc,
			      .grp = grp,
			      .scope = scope,
			      .depth = depth,
			      .hierarchy = of_cgroups ? cgroups_hierarchy() : LWPS_UNIFIED};
	d->bound.meter = &d->meter;
	d->bound.cpc = cpc;
	d->is_omitted = xcalloc(CPUS_MAX, sizeof(*d->is_omitted));
	memcpy(d->is_omitted, cpus->is_omitted, CPUS_MAX * sizeof(*d->is_omitted));
	d->bound.is_omitted = d->is_omitted;
	ledger_init(&d->keys, sizeof(struct key), 0);
	if (debug && of_cgroups)
		say("the cgroups are those of %s", cgroups_controller(d->hierarchy) != NULL
							   ? cgroups_controller(d->hierarchy)
							   : "version 2");
	return &d->meter;
}
