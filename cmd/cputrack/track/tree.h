/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * tree.h - processes and LWPs, as the records of the kernel tell of them, with their counts.
 */
#ifndef TREE_H
#define TREE_H

#include "counts.h"

/* LWPs that live, or have ended and were not told yet; with their ring of 2 MB, not twice that. */
#define TREE_SLOTS 31000

void tree_init(struct tree *tree, struct engine *engine, const struct fit *fit);
void tree_free(struct tree *tree);

/* Tells the watcher all that has happened up to now. */
void tree_tell(struct tree *tree);
/* Tells it a tick of each LWP, after lwps_flush(). */
void tree_tick(struct tree *tree);

/* Does any LWP exist that is alive by the records? */
bool tree_any_exists(struct tree *tree);

/* As in struct engine_ops. */
void tree_leave(struct tree *tree, struct proc *proc);

/* losses.c: is something missing?  At the end: tell the user what. */
bool tree_lacks(const struct tree *tree);
void tree_tell_losses(struct tree *tree);

#endif /* TREE_H */
