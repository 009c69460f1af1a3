/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * guard.h - a process that ends what this one has started, should this one be killed.
 *
 * ptrace(2) does that by itself (PTRACE_O_EXITKILL).
 */
#ifndef GUARD_H
#define GUARD_H

#include "lwps.h"

struct guard {
	pid_t pid; /* 0: there is none */
	int alive; /* as long as this is open, so are we; -1: it was dismissed */
};

/* To be called before lwps_expect().  -1: errno. */
int guard_start(struct guard *guard, struct lwps *lwps);

/* From now on all may live on: it ends by itself. */
void guard_dismiss(struct guard *guard);

/* The same, and waits for its end. */
void guard_end(struct guard *guard);

#endif /* GUARD_H */
