/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* region.h - regions of cpc_region(3): their events, and what each LWP counted in them. */
#ifndef CPCI_REGION_H
#define CPCI_REGION_H

#include "../sys/sys.h"

#include <cpc_region.h>
#include <libcpc.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
	CPCI_REGION_EVENTS = 16,    /* of one region */
	CPCI_REGION_ALL_EVENTS = 64 /* of all regions: the most that a set takes */
};

/* A region: all places in the program with the same name and the same events. */
struct cpci_region {
	const char *name, *events;
	_Atomic(struct cpci_region *) next;
	unsigned id; /* from 0, in the order of first entry */
	unsigned nevents;
	const char *event[CPCI_REGION_EVENTS];
	unsigned event_id[CPCI_REGION_EVENTS]; /* index into the list of all events */
	char *error;			       /* why no LWP can count it; NULL: it can */
};

/* What an LWP counted in a region.  The LWP writes it; the report reads it at exit. */
struct cpci_region_total {
	const struct cpci_region *region;
	_Atomic(struct cpci_region_total *) next;
	_Atomic uint64_t entries, counted;
	_Atomic uint64_t open; /* entries that the LWP has not left yet */
	uint64_t nested;       /* entries already left inside of the outermost one */
	_Atomic(char *) error; /* why some entries were not counted; NULL: all were */
	_Atomic uint64_t count[CPCI_REGION_EVENTS];
};

struct cpci_region_lwp {
	_Atomic(struct cpci_region_lwp *) next;
	_Atomic(struct cpci_region_total *) totals;
	pid_t tid;
	bool busy; /* inside of this library: a signal handler's regions are not entered */
	struct cpci_region_total **by_id;
	unsigned nby_id;
	struct cpci_region_frame *frame; /* the regions that the LWP is in, outermost first */
	unsigned depth, nframes;
	cpc_set_t *set; /* the set that this LWP has bound, or NULL */
	cpc_buf_t *buf;
	int request[CPCI_REGION_ALL_EVENTS]; /* the set's request for each event, or -1 */
};

/*
 * Appends the totals of all regions and LWPs to `file`, or to stderr (NULL), as a table or
 * as JSON lines, in one write(2).
 */
void cpci_region_report(const struct cpci_region *regions, const struct cpci_region_lwp *lwps,
			const char *file, bool json);

#endif /* CPCI_REGION_H */
