/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * lwp_self.c - the calling thread's id.
 */
#include <cpc_types.h>
#include <sys/syscall.h>
#include <unistd.h>

id_t _lwp_self(void)
{
	return (id_t)syscall(SYS_gettid);
}
