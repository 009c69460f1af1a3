/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * profile.h - what a profiled process leaves for ovfprof: files in the directory that
 * OVFPROF_DIR names, which outlive it however it ends.
 *
 *   PID.N.lwps   a struct lwp for each LWP, one after the other
 *   PID.N.maps   /proc/PID/maps each time that there was new code, each after a line "= TIME",
 *                where TIME counts from 1
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdint.h>

#define SLOTS 16384 /* a power of 2 */

/* What overflowed at a place of the program. */
struct slot {
	uint64_t pc;	 /* 0: free */
	uint64_t caller; /* the return address by the frame pointer; 0: unknown */
	uint64_t top;	 /* that of a function without a frame; 0: unknown */
	uint64_t time;	 /* which maps hold */
	uint64_t count;	 /* of events */
	uint64_t samples;
};

struct lwp {
	_Alignas(65536) uint64_t tid; /* each begins on a page, however large these are */
	uint64_t samples;
	uint64_t no_room; /* samples for which there was no slot */
	uint64_t error;	  /* errno; its counters could not be had, or were lost */
	uint64_t others;  /* those of LWPs that are not in the file were: it is not 0 */
	struct slot slot[SLOTS];
};

#endif /* PROFILE_H */
