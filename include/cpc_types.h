/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* cpc_types.h - the types that the public headers share. */
#ifndef CPC_TYPES_H
#define CPC_TYPES_H

#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Under strict ISO C, sys/types.h of glibc leaves it out. */
#if defined(__GLIBC__) && !defined(__id_t_defined)
typedef __id_t id_t;
#define __id_t_defined
#endif

typedef unsigned int uint_t;
typedef long long hrtime_t; /* nanoseconds on CLOCK_MONOTONIC, gethrtime(3C) */
typedef int processorid_t;  /* a logical CPU, as the kernel numbers them */

/* Types of libcpc.h: the library's handle, a set of requests, a buffer for one sample of a set. */
typedef struct cpc cpc_t;
typedef struct cpc_set cpc_set_t;
typedef struct cpc_buf cpc_buf_t;

/*
 * The signal of an overflow, and its si_code: siginfo.h(3HEAD).  Linux has no SIGEMT on most
 * machines; there it is the number of SIGSTKFLT, which nothing sends.
 */
#ifndef SIGEMT
#define SIGEMT 16
#endif
#define EMT_CPCOVF 2

/*
 * The calling thread's id, as gettid(2).  On Solaris it counts from 1 in each process; here it is
 * unique in the whole system.  libpctx defines this function.
 */
__attribute__((visibility("default"))) id_t _lwp_self(void);

#ifdef __cplusplus
}
#endif

#endif /* CPC_TYPES_H */
