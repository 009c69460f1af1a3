/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * setid.h - programs whose privileges get lost because they are tracked.
 */
#ifndef SETID_H
#define SETID_H

#include <sys/types.h>

/*
 * Says so when process `pid`, which has just executed its program, would have got
 * privileges from it if it were not tracked by us (execve(2)).
 */
void setid_tell(pid_t pid);

#endif /* SETID_H */
