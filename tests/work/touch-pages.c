/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * touch-pages [-s CALLS] PAGES - touch that many fresh pages.
 *
 * Known: page-faults in user mode are PAGES more than those of `fault 0`; one
 * LWP, one process, exit status 0.  syscalls:sys_enter_getpriority is CALLS.
 */
#include "work.h"

int main(int argc, char *argv[])
{
	struct chore chore = {0};
	int opt;

	while ((opt = getopt(argc, argv, "s:")) != -1) {
		if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	chore.pages = operand(argc, argv, optind);
	do_chore(&chore);
	return 0;
}
