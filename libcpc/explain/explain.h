/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * explain.h - why a request cannot be counted: turns the errno of perf_event_open(2) into
 * errno, subcode and text of libcpc.
 */
#ifndef CPCI_EXPLAIN_H
#define CPCI_EXPLAIN_H

#include "../group/group.h"

/* These return -1. */

/* Explains that opening the term for the request `name` failed with `err`. */
int cpci_explain(struct cpci_diag *diag, int err, const char *name, const struct cpci_term *term,
		 struct cpci_target target);
/* The same for a term of a plan, which may conflict with the others. */
int cpci_explain_plan(struct cpci_diag *diag, int err, const struct cpci_plan *plan,
		      struct cpci_term_ref bad, struct cpci_target target);
/* Explains that a step of allocating a ring buffer for overflows failed with `err`. */
enum cpci_pcbuf_step { CPCI_PCBUF_OPEN, CPCI_PCBUF_MAP, CPCI_PCBUF_SHARE, CPCI_PCBUF_POLLER };
int cpci_explain_pcbuf(struct cpci_diag *diag, int err, enum cpci_pcbuf_step step);
/* Explains that other programs have the counters that request `name` needs. */
int cpci_explain_held(struct cpci_diag *diag, const char *name);

#endif /* CPCI_EXPLAIN_H */
