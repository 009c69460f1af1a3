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

/* Made by bpftool, and not for these warnings.  Its loader is run here: see loader.h. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#include <bpf/skel_internal.h>
#define bpf_load_and_run programs_run_loader
int programs_run_loader(const struct bpf_load_and_run_opts *opts);
#include "count.skel.h"
#undef bpf_load_and_run
#pragma GCC diagnostic pop

/* Load them, with the maps that they share.  NULL: errno. */
struct count *programs_load(const struct lwps_config *config);

void programs_unload(struct count *skel);

#endif /* PROGRAMS_H */
