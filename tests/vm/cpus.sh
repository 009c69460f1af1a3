#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpus.sh - two CPUs, one of which goes and comes back; as root.
# shellcheck disable=SC1091,SC2154 # a file of its own, and its variables
# shellcheck disable=SC2016 # for awk
. ./check.sh

online() {
	echo "$1" >/sys/devices/system/cpu/cpu1/online
}

# rows CPUS: the tick rows add up to the total row, which is of that many CPUs, and all counted.
rows() {
	check_totals "$out" "$1" && awk '$3 == "total" {
		for (i = 4; i <= NF && $i != "#"; i++) bad += $i == 0
	} END { exit bad }' "$out"
}

run cpustat -c Instr_cnt,sys,Cycle_cnt,sys 0.2 3
same "two CPUs: exit status" "$status" 0
check "two CPUs: they add up" rows 2

for spec in Instr_cnt,sys Instr_cnt,sys,Cycle_cnt,sys; do
	online 1
	(
		sleep 1
		online 0
	) &
	run cpustat -c $spec 0.4 5
	wait
	reports "$spec, a CPU goes offline" 1 "^cpustat: cpu1 - the CPU went offline"
	same "$spec, a CPU goes offline: rows of the other" "$(grep -c ' 0 *tick' "$out")" 5
	same "$spec, a CPU goes offline: no row of it after that" "$(grep -c ' 1 *tick' "$out")" 2
	check "$spec, a CPU goes offline: what there is adds up" rows 1
done
run cpustat -c Instr_cnt,sys 0.2 2
same "without it: exit status" "$status" 0
check "without it: the other adds up" rows 1
online 1
run cpustat -c Instr_cnt,sys 0.2 2
same "it is back: exit status" "$status" 0
check "it is back: they add up" rows 2

run hold-counters cpustat -c Instr_cnt 0.1 2
same "counters held on both: exit status" "$status" 1
same "counters held on both: one line each" "$(grep -c '^cpustat: cpu[01] - ' "$err")" 2

finish
