/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * targets.h - attach to the processes of -p, in the kernel.
 */
#ifndef TARGETS_H
#define TARGETS_H

#include "../../../liblwps/lwps.h"
#include "engine.h"

/* Attaches to the existing processes of -p.  Returns their number. */
size_t targets_attach(struct engine *engine, struct lwps *lwps);

#endif /* TARGETS_H */
