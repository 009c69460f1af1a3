/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * print-ids [-p PAGES] [-s CALLS] - print the real and the effective user id, then do the chore.
 *
 * Known: "uid U euid E"; E differs from U when a copy of it that is set-uid runs with
 * its privileges, and is U when the kernel took them.
 */
#include "work.h"

int main(int argc, char *argv[])
{
	struct chore chore = {0};
	int opt;

	while ((opt = getopt(argc, argv, "p:s:")) != -1) {
		if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	printf("uid %u euid %u\n", (unsigned int)getuid(), (unsigned int)geteuid());
	do_chore(&chore);
	return 0;
}
