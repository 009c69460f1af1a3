/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbols.h - which of the symbols that events name the tracked programs have.
 */
#ifndef SYMBOLS_H
#define SYMBOLS_H

#include "../common/setgrp.h"

#include <libcpc.h>
#include <stdbool.h>

struct symbols;

/* With `debug`, tells the addresses of symbols.  Never NULL. */
struct symbols *symbols_new(cpc_t *cpc, const struct setgrp *grp, bool debug);
void symbols_free(struct symbols *symbols);

/*
 * `set`, a duplicate of set `i` of the group, is bound in process `pid`, and has all
 * symbols that it will ever have; says what is missing, once for each program.
 */
void symbols_settled(struct symbols *symbols, pid_t pid, size_t i, const cpc_set_t *set);
/* The same, but could not be bound, for a reason that was told. */
void symbols_refused(struct symbols *symbols, size_t i);

/* Tracking ends while a program gets its libraries: it may have had any symbol. */
void symbols_unknown(struct symbols *symbols);

/* Says which symbols were never counted since no program had them; true: there are some. */
bool symbols_missing(const struct symbols *symbols, const char *hint);

#endif /* SYMBOLS_H */
