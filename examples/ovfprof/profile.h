/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * profile.h - the files that a profiled process leaves for ovfprof in the directory
 * OVFPROF_DIR.  They exist however the process ends.
 *
 *	PID.N.lwps	a struct lwp for each LWP, one after the other
 *	PID.N.maps	/proc/PID/maps each time that there was new code, each after a line
 *			"= TIME", where TIME counts from 1
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdint.h>

#define SLOTS 16384 /* a power of 2 */

/* The overflows at a place of the program. */
struct slot {
	uint64_t pc;	 /* 0: free */
	uint64_t caller; /* the return address by the frame pointer; 0: unknown */
	uint64_t top;	 /* the return address of a function without a frame; 0: unknown */
	uint64_t time;	 /* the entry of maps that applies */
	uint64_t count;	 /* how many events */
	uint64_t samples;
};

struct lwp {
	_Alignas(65536) uint64_t tid; /* each begins on a page, whatever the page size */
	uint64_t samples;
	uint64_t no_room;  /* samples for which no slot was free */
	uint64_t error;	   /* errno, if it got no counters or lost them */
	uint64_t others;   /* not 0: LWPs that are not in the file got no counters, or lost them */
	uint64_t given_up; /* not 0: the program began to handle our signals */
	struct slot slot[SLOTS];
};

#endif /* PROFILE_H */
