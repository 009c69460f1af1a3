/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * kernel.h - the engine that counts in the kernel and stops no process.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include "engine.h"

/* The kernels that scripts/kernels tested: see docs/kernels.md. */
#define ENGINE_KERNEL_TESTED "6.1 to 7.3"

/*
 * NULL: it cannot count these sets exactly, or not on this machine; `why` is the reason, also in
 * builds without CPC_KERNEL_ENGINE.
 */
struct engine *engine_kernel(const struct engine *common, char *why, size_t size);

#endif /* KERNEL_H */
