/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * source.h - from the sets and buffers of libcpc to the row model; the only place that
 * knows both.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "../base/setgrp.h"
#include "row.h"

#include <libcpc.h>

/* Describes a run of `tool` that counts `grp` and starts now; run_free() frees it. */
struct run source_run(cpc_t *cpc, const struct setgrp *grp, const char *tool, char **argv);

/*
 * Gives a row what a buffer of its set has, in `val`, which has room for RUN_MAX_EVENTS; NULL:
 * it is not known.
 */
void source_counts(cpc_t *cpc, const struct run *run, struct row *row, cpc_buf_t *buf,
		   uint64_t *val);

#endif /* SOURCE_H */
