/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * source.h - makes runs and rows from the sets and buffers of libcpc.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "../base/setgrp.h"
#include "row.h"

#include <libcpc.h>

/* Describes a run of `tool` that counts `grp` and starts now.  Free it with run_free(). */
struct run source_run(cpc_t *cpc, const struct setgrp *grp, const char *tool, char **argv);

/*
 * Sets the counts of a row from a buffer of its set; `buf` NULL: the counts are unknown.  `val` has
 * room for RUN_MAX_EVENTS.
 */
void source_counts(cpc_t *cpc, const struct run *run, struct row *row, cpc_buf_t *buf,
		   uint64_t *val);

#endif /* SOURCE_H */
