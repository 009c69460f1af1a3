/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * kernel.h - the engine that stops nobody.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "engine.h"

/* Where scripts/kernels found all counts right: see docs/kernels.md. */
#define ENGINE_KERNEL_TESTED "6.1 to 7.3"

/*
 * Counts in the kernel, and stops nobody; in builds with CPC_KERNEL_ENGINE.  NULL: `why` it
 * cannot, here or this, or not as truly as the other engine.
 */
struct engine *engine_kernel(const struct engine_config *config, cpc_t *cpc,
			     const struct setgrp *grp, struct track *track, char *why, size_t size);

#endif /* KERNEL_H */
