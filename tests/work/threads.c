/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * threads [-i] [-p PAGES] [-s CALLS] N - start and join N threads, one after the other.
 *
 * Known: N + 1 LWPs; thread k is LWP k + 1; every thread does the chore once, with
 * -i thread k does k times as much, and the leader does none.  So the LWPs that
 * are not the first have N * PAGES faults and N * CALLS calls together, with -i
 * N * (N + 1) / 2 times as many.
 */
#include "work.h"

int main(int argc, char *argv[])
{
	struct chore chore = {0}, mine;
	bool increasing = false;
	long n;
	int opt;

	while ((opt = getopt(argc, argv, "ip:s:")) != -1) {
		if (opt == 'i')
			increasing = true;
		else if (!chore_option(&chore, opt, optarg))
			return WORK_BROKEN;
	}
	n = operand(argc, argv, optind);
	for (long k = 1; k <= n; k++) {
		mine = chore;
		if (increasing) {
			mine.pages *= k;
			mine.calls *= k;
		}
		pthread_join(start_thread(chore_thread, &mine), NULL);
	}
	return 0;
}
