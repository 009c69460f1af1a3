/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * setid.h - set-id programs, which lose their privileges when they are tracked.
 */
#ifndef SETID_H
#define SETID_H

#include <sys/types.h>

/*
 * Reports it when process `pid`, which has just executed a program, did not get the
 * program's privileges because we track it; see execve(2).
 */
void setid_report(pid_t pid);

#endif /* SETID_H */
