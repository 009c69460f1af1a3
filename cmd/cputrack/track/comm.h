/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * comm.h - names of LWPs.
 */
#ifndef COMM_H
#define COMM_H

#include <sys/types.h>

#define COMM_SIZE 16 /* of the kernel's names, with a NUL */

/* Reads the name of a thread; leaves it as it is when the thread is gone. */
void comm_read(pid_t tid, char comm[COMM_SIZE]);

#endif /* COMM_H */
