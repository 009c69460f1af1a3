/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * records.h - turn the records and slots of liblwps into events.
 */
#ifndef RECORDS_H
#define RECORDS_H

#include "../../../liblwps/lwps.h"
#include "../../program/percpu.h"
#include "engine.h"
#include "fit.h"
#include "probed.h"

/* The user of a slot: `own` of the tree's LWPs. */
struct slot_user {
	struct lwp *lwp; /* NULL: the slot is free, or its exit record is still to come */
	uint64_t state;	 /* of lwps_changed() at the last tick */
	uint64_t first;	 /* turn that it lived in: a number since the start */
	bool exited;	 /* a leader that exited before other LWPs of its process */
};

/* A set, and its columns of a slot. */
struct records_set {
	unsigned first; /* of the columns */
	struct fit fit;
	const struct percpu *cpus; /* bound to these */
	cpc_buf_t *buf;		   /* scratch buffer */
};

struct records {
	struct engine *engine;
	struct records_set *set;     /* by number in engine->grp */
	struct track_counts *counts; /* of an event, by set */
	struct probed *probed;	     /* the files of functions */
	struct lwps *lwps;	     /* NULL: not loaded yet */
	uint64_t turn;		     /* the number of the current turn, of set turn % n */
	int64_t turn_ns;	     /* when it began */
	unsigned nslots;
	struct slot_user *slot;	 /* by number; [LWPS_SHARED] stands for all LWPs of that slot */
	int64_t now_ns;		 /* when the current event happened, or counts were read */
	int64_t begun_ns;	 /* when counting began; 0: always, INT64_MAX: not yet */
	int64_t attached_ns;	 /* records with earlier times are from the attach */
	bool invalid;		 /* a CPU was claimed: no counts are known from then on */
	unsigned nflawed, flaws; /* LWPs that were not counted all the time, and why */
	unsigned ninit;		 /* those of process 1 */
	unsigned nimpossible;	 /* records that were left out, since they contradict others */
};

/* `fit`: by set. */
void records_init(struct records *records, struct engine *engine, const struct fit *fit,
		  struct probed *probed);
void records_free(struct records *records);
/* As new, for another run with the same sets and programs. */
void records_renew(struct records *records);

/* Reports all that happened up to now. */
void records_read(struct records *records);
/* Reports a tick of each LWP, after lwps_flush(). */
void records_tick(struct records *records);
/* The turn of the next set begins. */
void records_turn(struct records *records);
/* The set whose turn it is. */
size_t records_turn_set(const struct records *records);
/* Reports the last counts of all LWPs, after lwps_flush() and records_read(). */
void records_detach(struct records *records);

/* The kinds of owners that events carry: bits of enum lwps_owners. */
unsigned records_owners(const struct records *records);

/* Does any LWP that is alive by the records still exist? */
bool records_any_exists(const struct records *records);

#endif /* RECORDS_H */
