/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * engine_select.h - select the engine.
 */
#ifndef ENGINE_SELECT_H
#define ENGINE_SELECT_H

#include "engine.h"

enum engine_choice { ENGINE_AUTO, ENGINE_KERNEL, ENGINE_PTRACE };

/* The engines of this program, for --version. */
extern const char engine_names[];

/* Parses the argument of --engine.  False: unknown. */
bool engine_parse(const char *name, enum engine_choice *choice);

/* ENGINE_AUTO: the kernel engine if it can count this exactly, else ptrace.  NULL after a message.
 */
struct engine *engine_new(enum engine_choice choice, const struct engine_config *config, cpc_t *cpc,
			  const struct setgrp *grp, struct track *track);

#endif /* ENGINE_SELECT_H */
