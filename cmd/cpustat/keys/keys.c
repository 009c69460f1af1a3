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
#include "keys.h"
#include "../../../libcpc/set/counter.h"

#include "../../../liblwps/account.h"
#include "../../base/cgroups.h"
#include "../../base/say.h"
#include "../../base/util.h"
#include "../../program/percpu.h"
#include "../../rows/key_name.h"
#include "../../rows/source.h"
#include "columns.h"

#include <bsd/string.h>
#include <bsd/sys/tree.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_OF_CGROUPS 4096 /* for those that are made later */
#define SLOTS_OF_OTHERS 8192
#define SLOTS_MAX 65536

/* Flaws of a total, too.  With the other flaws, counts may be in the row of another key. */
#define LACKS (LWPS_NO_EVENT | LWPS_NOT_RUN | LWPS_NO_CPU)

/* Samples without counts after which a slot is forgotten, if slots are scarce. */
#define QUIET_SAMPLES 2

struct key {
	RB_ENTRY(key) link;
	char *name;
	char *container, *pod; /* ids, or NULL */
	unsigned nslots;       /* slots that have this key */
	bool counted;	       /* in the current sample */
	unsigned flaws;	       /* of the current sample */
	uint64_t count[LWPS_MAX_COLUMNS];
	cpc_buf_t *buf;
	size_t set; /* of buf */
};

RB_HEAD(keys, key);

/* A slot of liblwps. */
struct slot {
	struct key *key; /* NULL: not known yet */
	unsigned nquiet; /* samples without counts, since the last with some */
	bool forgotten;
};

struct divided {
	struct sampled sampled;
	cpc_t *cpc;
	const struct setgrp *grp;
	enum cpu_scope scope;
	unsigned depth;
	enum lwps_hierarchy hierarchy;
	struct percpu percpu;	 /* of the bound set */
	struct columns columns;	 /* likewise */
	struct account *account; /* likewise; NULL: no set is bound */
	size_t nslots;
	struct slot *slot; /* by number */
	uint64_t *before;  /* their counts in the last sample, d->columns.n of each */
	struct keys keys;
	bool *online, *was_online; /* by CPU number */
	bool was_bound;		   /* a set was: it is known how many CPUs there are */
	int64_t now_ns;		   /* of the current sample */
	struct account_losses losses;
};

static int by_name(const struct key *a, const struct key *b)
{
	return strcmp(a->name, b->name);
}

/* clang-format off */
RB_GENERATE_INTERNAL(keys, key, link, by_name, __attribute__((unused)) static)
/* clang-format on */

/* ---- keys ------------------------------------------------------------------------- */

static char *copy(const char *text)
{
	return *text != '\0' ? xstrdup(text) : NULL;
}

static struct key *find_key(struct divided *d, const struct cgroup_name *name)
{
	char text[sizeof(name->name)];
	struct key wanted = {.name = text}, *key;

	strlcpy(text, name->name, sizeof(text));
	key = RB_FIND(keys, &d->keys, &wanted);
	if (key != NULL)
		return key;
	key = xcalloc(1, sizeof(*key));
	key->name = xstrdup(name->name);
	key->container = copy(name->container);
	key->pod = copy(name->pod);
	RB_INSERT(keys, &d->keys, key);
	return key;
}

static void free_key(struct divided *d, struct key *key)
{
	RB_REMOVE(keys, &d->keys, key);
	if (key->buf != NULL)
		cpc_buf_destroy(d->cpc, key->buf);
	free(key->name);
	free(key->container);
	free(key->pod);
	free(key);
}

static struct key *key_of_slot(struct divided *d, unsigned slot)
{
	static const char *const fixed[] = {[ACCOUNT_OTHERS] = ROW_OTHERS,
					    [ACCOUNT_IDLE] = "(idle)",
					    [ACCOUNT_KERNEL] = "(kernel)"};
	const struct account_owner *owner;
	struct cgroup_name name = {0};
	char path[CGROUPS_PATH];

	if (slot < ACCOUNT_FIRST) {
		strlcpy(name.name, fixed[slot], sizeof(name.name));
		return find_key(d, &name);
	}
	owner = account_owner(d->account, slot);
	if (d->scope == SCOPE_USER) {
		key_name_user((uid_t)owner->key.word[0], &name);
	} else if (d->scope == SCOPE_COMMAND) {
		snprintf(name.name, sizeof(name.name), "%.16s", (const char *)owner->key.word);
	} else {
		cgroups_write_path(&owner->path, owner->key.word[0], path, sizeof(path));
		key_name_cgroup(d->scope, d->depth, path, &name);
	}
	return find_key(d, &name);
}

/* ---- samples ---------------------------------------------------------------------- */

/* Adds what the slot has counted since the last sample to its key. */
static void sample_slot(struct divided *d, unsigned number)
{
	struct slot *slot = &d->slot[number];
	uint64_t *before = &d->before[(size_t)number * d->columns.n];
	uint64_t now[LWPS_MAX_COLUMNS], more, any = 0;
	unsigned flaws = account_read(d->account, number, now);

	for (unsigned i = 0; i < d->columns.n; i++)
		any |= now[i] - before[i];
	slot->nquiet = any != 0 ? 0 : slot->nquiet + 1;
	if (any == 0 && flaws == 0)
		return;
	if (slot->key == NULL) {
		slot->key = key_of_slot(d, number);
		slot->key->nslots++;
	}
	for (unsigned i = 0; i < d->columns.n; i++) {
		more = now[i] - before[i];
		slot->key->count[i] = (slot->key->counted ? slot->key->count[i] : 0) + more;
		before[i] = now[i];
	}
	slot->key->flaws = (slot->key->counted ? slot->key->flaws : 0) | flaws;
	slot->key->counted = true;
}

/* Slots that have not counted for some time make room for others. */
static void recycle_slot(struct divided *d, unsigned number)
{
	struct slot *slot = &d->slot[number];

	/* A free slot has no key.  All others have one, since each slice lasts some nanoseconds. */
	if (slot->forgotten) {
		/* No CPU has used it since the last sample. */
		if (slot->key != NULL)
			slot->key->nslots--;
		*slot = (struct slot){0};
		memset(&d->before[(size_t)number * d->columns.n], 0,
		       d->columns.n * sizeof(*d->before));
		account_release(d->account, number);
	} else if (slot->nquiet >= QUIET_SAMPLES && slot->key != NULL) {
		account_forget(d->account, number);
		slot->forgotten = true;
	}
}

static void watch_cpus(struct divided *d)
{
	size_t nleft = 0;

	for (unsigned cpu = 0; cpu < d->percpu.n; cpu++) {
		nleft += d->online[cpu];
		if (d->was_online[cpu] && !d->online[cpu]) {
			say("cpu%u - the CPU went offline", cpu);
			d->sampled.failed = true;
		}
		d->was_online[cpu] = d->online[cpu];
	}
	d->sampled.nleft = nleft;
}

/* Fills the buffers of all keys that counted, and adds them to the total. */
static bool fill_keys(struct divided *d, size_t k, cpc_buf_t *total)
{
	const struct columns *columns = &d->columns;
	bool whole = true;
	struct key *key;

	RB_FOREACH(key, keys, &d->keys) {
		if (!key->counted)
			continue;
		if (key->buf != NULL && key->set != k) {
			cpc_buf_destroy(d->cpc, key->buf);
			key->buf = NULL;
		}
		if (key->buf == NULL)
			key->buf = cpc_buf_create(d->cpc, d->grp->set[k].set);
		if (key->buf == NULL ||
		    cpc_buf_fill(d->cpc, key->buf, d->grp->set[k].set, key->count,
				 columns->ncounters, key->count[columns->clock], d->now_ns) == -1)
			die("%s", strerror(errno));
		key->set = k;
		cpc_buf_add(d->cpc, total, total, key->buf);
		whole &= (key->flaws & LACKS) == 0;
	}
	return whole;
}

static bool keys_sample(struct sampled *sampled, size_t k, cpc_buf_t *total)
{
	struct divided *d = (struct divided *)sampled;
	unsigned n;
	bool crowded;

	d->now_ns = now_ns();
	if (account_flush(d->account, d->online) == -1)
		die("cannot read the counts of the CPUs: %s", strerror(errno));
	watch_cpus(d);
	n = account_nslots(d->account);
	crowded = n > d->nslots / 2;
	for (unsigned slot = 0; slot < n; slot++) {
		if (slot == ACCOUNT_BEFORE)
			continue;
		sample_slot(d, slot);
		if (slot >= ACCOUNT_FIRST && (crowded || d->slot[slot].forgotten))
			recycle_slot(d, slot);
	}
	return fill_keys(d, k, total) && sampled->nleft == sampled->n;
}

static void keys_put(struct sampled *sampled, size_t k, struct sampler *sampler)
{
	struct divided *d = (struct divided *)sampled;
	struct key *key, *next;
	unsigned width = 0;

	RB_FOREACH(key, keys, &d->keys) {
		if (key->counted && strlen(key->name) > width)
			width = (unsigned)strlen(key->name);
	}
	RB_FOREACH_SAFE(key, keys, &d->keys, next)
	{
		struct row row = {.ncpus = (unsigned)sampled->nleft,
				  .key = key->name,
				  .key_width = width,
				  .container = key->container,
				  .pod = key->pod,
				  .incomplete =
					  key->flaws != 0 || strcmp(key->name, ROW_OTHERS) == 0};

		if (key->counted)
			sampler_put(sampler, &row, k, key->buf);
		key->counted = false;
		key->flaws = 0;
	}
	RB_FOREACH_SAFE(key, keys, &d->keys, next)
	{
		if (key->nslots == 0)
			free_key(d, key);
	}
}

/* ---- sets ------------------------------------------------------------------------- */

static bool open_account(struct divided *d, char *why, size_t size)
{
	const struct percpu *percpu = &d->percpu;
	struct account_config config = {
		.by = d->scope == SCOPE_USER	  ? ACCOUNT_BY_USER
		      : d->scope == SCOPE_COMMAND ? ACCOUNT_BY_COMMAND
						  : ACCOUNT_BY_CGROUP,
		.hierarchy = d->hierarchy,
		.ncolumns = d->columns.n,
		.ncpus = percpu->n,
		.nslots = (unsigned)d->nslots,
	};
	struct cpc_counter counter[LWPS_MAX_COLUMNS];
	int *fd = xcalloc((size_t)percpu->n * d->columns.n, sizeof(*fd));

	for (unsigned cpu = 0; cpu < percpu->n; cpu++) {
		if (percpu->set[cpu] != NULL)
			cpc_set_counters(d->cpc, percpu->set[cpu], counter, d->columns.ncounters);
		for (unsigned i = 0; i < d->columns.ncounters; i++)
			fd[i * percpu->n + cpu] = percpu->set[cpu] != NULL ? counter[i].fd : -1;
	}
	for (unsigned i = 0; i < d->columns.n; i++) {
		config.column[i].kind = d->columns.kind[i];
		config.column[i].fd = &fd[i * percpu->n];
	}
	d->account = account_open(&config, why, size);
	free(fd);
	return d->account != NULL;
}

/* More slots than there are cgroups now. */
static size_t choose_nslots(const struct divided *d)
{
	size_t n = SLOTS_OF_OTHERS;

	if (d->scope != SCOPE_USER && d->scope != SCOPE_COMMAND)
		n = 2 * cgroups_count(d->hierarchy) + SLOTS_OF_CGROUPS;
	return n < SLOTS_MAX ? n : SLOTS_MAX;
}

static void forget_slots(struct divided *d)
{
	struct key *key;

	free(d->slot);
	free(d->before);
	d->slot = NULL;
	d->before = NULL;
	RB_FOREACH(key, keys, &d->keys)
		key->nslots = 0;
}

static void keys_unbind(struct sampled *sampled, size_t k)
{
	struct divided *d = (struct divided *)sampled;
	struct account_losses losses;

	(void)k;
	if (d->account != NULL) {
		losses = account_losses(d->account);
		d->losses.others += losses.others;
		d->losses.missed += losses.missed;
		d->losses.late += losses.late;
		d->losses.skipped += losses.skipped;
	}
	account_close(d->account);
	d->account = NULL;
	percpu_unbind(&d->percpu, d->cpc);
	d->percpu = (struct percpu){0};
	forget_slots(d);
}

/* All CPUs count, wherever this program may run.  Later sets should have as many. */
static void count_cpus(struct divided *d)
{
	size_t n = 0;

	for (unsigned cpu = 0; cpu < d->percpu.n; cpu++) {
		d->was_online[cpu] = d->percpu.set[cpu] != NULL;
		n += d->was_online[cpu];
	}
	if (!d->was_bound)
		d->sampled.n = d->sampled.nleft = n;
	d->was_bound = true;
}

static int keys_bind(struct sampled *sampled, size_t k)
{
	struct divided *d = (struct divided *)sampled;
	char why[1024] = "";

	d->nslots = choose_nslots(d);
	d->slot = xcalloc(d->nslots, sizeof(*d->slot));
	if (columns_find(&d->columns, d->cpc, &d->grp->set[k], why, sizeof(why)) &&
	    percpu_bind(&d->percpu, d->cpc, d->grp->set[k].set, 0, 0, why, sizeof(why)) &&
	    open_account(d, why, sizeof(why))) {
		d->before = xcalloc(d->nslots * d->columns.n, sizeof(*d->before));
		d->online = xrealloc(d->online, d->percpu.n * sizeof(*d->online));
		d->was_online = xrealloc(d->was_online, d->percpu.n * sizeof(*d->was_online));
		count_cpus(d);
		return 0;
	}
	say("cannot divide the counts by %s: %s", cpu_scope_name(d->scope), why);
	d->sampled.failed = true;
	keys_unbind(sampled, k);
	return -1;
}

static void print_losses(const struct divided *d)
{
	const struct account_losses *losses = &d->losses;

	if (losses->others > 0)
		say("there were too many keys at a time: some are in (others)");
	if (losses->missed > 0)
		say("incomplete: the kernel did not report %llu context switches",
		    (unsigned long long)losses->missed);
	if (losses->skipped > 0)
		say("incomplete: the kernel skipped %llu calls of a BPF program",
		    (unsigned long long)losses->skipped);
	if (losses->late > 0)
		say("incomplete: %llu time%s a running LWP changed its %s unnoticed; its counts up "
		    "to the next switch are in that it left",
		    (unsigned long long)losses->late, losses->late == 1 ? "" : "s",
		    cpu_scope_name(d->scope));
}

static void keys_free(struct sampled *sampled)
{
	struct divided *d = (struct divided *)sampled;
	struct key *key, *next;

	keys_unbind(sampled, 0);
	print_losses(d);
	RB_FOREACH_SAFE(key, keys, &d->keys, next)
	free_key(d, key);
	free(d->online);
	free(d->was_online);
	free(d);
}

struct sampled *keys_make(cpc_t *cpc, const struct setgrp *grp, const struct cpus *cpus,
			  enum cpu_scope scope, unsigned depth, bool debug)
{
	static const struct sampled_ops ops = {.bind = keys_bind,
					       .unbind = keys_unbind,
					       .sample = keys_sample,
					       .put = keys_put,
					       .free = keys_free};
	struct divided *d = xcalloc(1, sizeof(*d));

	*d = (struct divided){.sampled = {.ops = &ops, .n = cpus->n, .nleft = cpus->n},
			      .cpc = cpc,
			      .grp = grp,
			      .scope = scope,
			      .depth = depth,
			      .hierarchy = cgroups_hierarchy()};
	RB_INIT(&d->keys);
	if (debug && scope != SCOPE_USER && scope != SCOPE_COMMAND)
		say("the cgroups are those of %s", cgroups_controller(d->hierarchy) != NULL
							   ? cgroups_controller(d->hierarchy)
							   : "version 2");
	return &d->sampled;
}
