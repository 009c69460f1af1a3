/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * io-uring - have the kernel make a thread in this process that runs none of its code.
 *
 * Known: says "ready" when io_uring's thread that polls the submissions is there, and
 * ends with status 0 at the end of the input; or "SKIP: " and the reason.
 */
#include "work.h"

#include <linux/io_uring.h>

int main(void)
{
	struct io_uring_params params = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 100000};
	int fd = (int)syscall(SYS_io_uring_setup, 4, &params);

	if (fd == -1) {
		printf("SKIP: io_uring: %s\n", strerror(errno));
		return 0;
	}
	say("ready\n");
	wait_eof();
	return 0;
}
