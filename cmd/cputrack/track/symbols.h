/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbols.h - which of the symbols that events name the tracked programs have.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "../../base/setgrp.h"

#include <libcpc.h>
#include <stdbool.h>

struct symbols;

/* With `debug`, the addresses of symbols are reported.  Never NULL. */
struct symbols *symbols_new(cpc_t *cpc, const struct setgrp *grp, bool debug);
void symbols_free(struct symbols *symbols);

/*
 * The program that process `pid` runs; processes of one file have the same.  NULL: no
 * symbols are looked for.
 */
struct image *symbols_image(struct symbols *symbols, pid_t pid);

/*
 * `set`, a duplicate of set `i` of the group, is bound in process `pid`, whose libraries
 * are all mapped: reports the symbols that are missing, once for each program.
 */
void symbols_settled(struct symbols *symbols, struct image *image, pid_t pid, size_t i,
		     const cpc_set_t *set);

/*
 * Reports the symbols that no program had.  True: there are some.  Where one was never looked
 * at, because it ended before its libraries were mapped or the set had its turn, nobody
 * knows.
 */
bool symbols_missing(const struct symbols *symbols, const char *hint);

#endif /* SYMBOLS_H */
