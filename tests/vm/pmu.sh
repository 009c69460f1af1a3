#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# pmu.sh - exact counts of a real PMU; run as root, on one CPU.
# shellcheck disable=SC1091 # a file of its own
. ./check.sh

# ---- instructions of a program that is known to the last one -------------------
for i in 1 2; do
	run cputrack -c Instr_cnt,Cycle_cnt bare
	same "bare, time $i: instructions and cycles" "$(counts exit)" "1000000 1000000"
done

# The start of a program with libc differs by a few instructions from run to run;
# threads do not.
run cputrack -c Instr_cnt loop -t 2 1000
first=$(counts lwp_exit 2) second=$(counts lwp_exit 3)
for i in 1 2; do
	run cputrack -c Instr_cnt loop -t 2 3000
	same "loop, time $i: 2 * 2000 more in thread 1" "$(counts lwp_exit 2)" $((first + 4000))
	same "loop, time $i: 2 * 2000 more in thread 2" "$(counts lwp_exit 3)" $((second + 4000))
done

finish
