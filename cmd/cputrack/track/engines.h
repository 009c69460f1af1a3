/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engines.h - the engines that there are, and which of them it is to be.
 */
#ifndef ENGINES_H
#define ENGINES_H

#include "engine.h"

enum engine_choice { ENGINE_AUTO, ENGINE_KERNEL, ENGINE_PTRACE };

/* Those that this program has. */
extern const char engine_names[];

/* Parses the name of a choice.  False: it is none. */
bool engine_parse(const char *name, enum engine_choice *choice);

/* ENGINE_AUTO: in the kernel, if it can be counted there as truly.  NULL after a message. */
struct engine *engine_new(enum engine_choice choice, const struct engine_config *config, cpc_t *cpc,
			  const struct setgrp *grp, struct track *track);

#endif /* ENGINES_H */
