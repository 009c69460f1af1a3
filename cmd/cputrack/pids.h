/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * pids.h - which processes -p means.
 */
#ifndef PIDS_H
#define PIDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pids {
	size_t n;
	pid_t *id; /* each once, in the order in which they were found */
};

/*
 * Adds those that the argument of a -p means: ids and names, with commas between.  False
 * after a message.
 */
bool pids_parse(struct pids *pids, const char *text);

/*
 * Adds the children of those from `first` up to, and without, `end` that are not there and that
 * we do not trace already.
 */
void pids_add_children(struct pids *pids, size_t first, size_t end);

#endif /* PIDS_H */
