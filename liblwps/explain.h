/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * explain.h - why the kernel would not load or attach the programs.
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

/* Is this Linux major.minor or later? */
bool lwps_linux_is(unsigned major, unsigned minor);

/* A phrase for errno, after `what` failed; errno stays. */
void lwps_explain(char *why, size_t size, const char *what);

#endif /* EXPLAIN_H */
