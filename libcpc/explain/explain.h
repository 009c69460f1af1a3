/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * explain.h - why a request cannot be counted: from the errno of perf_event_open(2) to
 * errno, subcode and text of libcpc.
 */
#ifndef CPCI_EXPLAIN_H
#define CPCI_EXPLAIN_H

#include "../group/group.h"

/* Opening that term for the request `name` gave `err`. */
void cpci_explain(struct cpci_diag *diag, int err, const char *name, const struct cpci_term *term,
		  struct cpci_target target);
/* The same of a term of a plan, which may not fit beside the others. */
void cpci_explain_plan(struct cpci_diag *diag, int err, const struct cpci_plan *plan,
		       struct cpci_term_ref bad, struct cpci_target target);
/* The step of making room for buffered overflows that gave `err`. */
enum cpci_pcbuf_step { CPCI_PCBUF_OPEN, CPCI_PCBUF_MAP, CPCI_PCBUF_SHARE, CPCI_PCBUF_POLLER };
void cpci_explain_pcbuf(struct cpci_diag *diag, int err, enum cpci_pcbuf_step step);
/* Others have the counters that request `name` needs: who are they? */
void cpci_explain_held(struct cpci_diag *diag, const char *name);

#endif /* CPCI_EXPLAIN_H */
