/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * deltas.h - what the LWPs and programs of a run counted since the last question.
 *
 * A tick row has the counts of an interval; a fini_lwp row and the total of a program have all
 * counts up to then.  Here, and nowhere else, the counts of earlier rows are subtracted.
 */
#ifndef DELTAS_H
#define DELTAS_H

#include "ledger.h"
#include "sink.h"

struct deltas {
	const struct run *run;
	struct ledger programs, lwps; /* also those that ended since the last question */
	bool any, ticked;	      /* there were rows since then; tick rows */
	int64_t time_ns, wall_ns;     /* of the last tick row, or of the last row */
};

/* Both forget all rows. */
void deltas_begin(struct deltas *deltas, const struct run *run);
void deltas_clear(struct deltas *deltas);

void deltas_add(struct deltas *deltas, const struct row *row);

/*
 * Puts fini_lwp rows of LWPs, and an exec or detach row of each program, with the counts that were
 * added since the last call.  All these rows add up to the whole run.  If the source has no
 * fini_lwp rows, LWPs lack what they counted after their last tick row; programs do not.
 */
void deltas_take(struct deltas *deltas, struct sink *to);

#endif /* DELTAS_H */
