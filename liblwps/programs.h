/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * programs.h - the programs of count.bpf.c, in the kernel.
 */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "lwps.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

/* bpftool generates it with these warnings. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "bpf/count.skel.h"
#include <bpf/skel_internal.h>
#pragma GCC diagnostic pop

/* Load them, with the maps that they share.  NULL: errno. */
struct count *programs_load(const struct lwps_config *config);

/* Attach those that are needed to their tracepoints.  -1: errno. */
int programs_attach(struct count *skel);

/* How often the kernel has skipped a program without a repair by another one. */
uint64_t programs_skipped(const struct count *skel);

void programs_unload(struct count *skel);

#endif /* PROGRAMS_H */
