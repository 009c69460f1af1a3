/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbols.h - report which tracked programs have the symbols that events name.
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
 * The program of process `pid`; all processes with the same program file share it.  NULL: no event
 * names a symbol.
 */
struct image *symbols_image(struct symbols *symbols, pid_t pid);

/*
 * Reports the symbols that process `pid` lacks, once for each program.  Call it when all libraries
 * are mapped.  `set`: the duplicate of set `i` of the group that is bound in the process.
 */
void symbols_settled(struct symbols *symbols, struct image *image, pid_t pid, size_t i,
		     const cpc_set_t *set);

/*
 * Reports the symbols that no program had; returns whether there are any.  Omits symbols for which
 * some program was not searched: it ended before its libraries were mapped, or before the set had
 * its turn.
 */
bool symbols_missing(const struct symbols *symbols, const char *hint);

#endif /* SYMBOLS_H */
