/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * ptrace.h - the engine that traces processes.
 */
#ifndef PTRACE_H
#define PTRACE_H

#include "engine.h"

/* Follows processes by ptrace(2), and counts with a set per LWP. */
struct engine *engine_ptrace(const struct engine *common);

#endif /* PTRACE_H */
