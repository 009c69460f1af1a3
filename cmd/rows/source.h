/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * source.h - describes runs of the sets of libcpc.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include "../base/setgrp.h"
#include "row.h"

#include <libcpc.h>

/* Describes a run of `tool` that counts `grp` and starts now.  Free it with run_free(). */
struct run source_run(cpc_t *cpc, const struct setgrp *grp, const char *tool, char **argv);

#endif /* SOURCE_H */
