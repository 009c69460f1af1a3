#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# units.sh - rows of cores, sockets, nodes and of all; as root, on two sockets of two cores
# of two threads each.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for awk
. ./check.sh

# The cpu column of the tick rows.
names() {
	awk '$3 == "tick" { printf "%s ", $2 }' "$out"
}

# Each core has a number of its own, although core_id repeats in each socket.
for words in "core:0 2 4 6 " "socket:0 1 " "node:0 " "all:all "; do
	unit=${words%%:*}
	run cpustat -A "$unit" -c Instr_cnt,sys,page-faults 0.2 2
	same "-A $unit: status" "$status" 0
	same "-A $unit: rows" "$(names)" "${words#*:}${words#*:}"
	check "-A $unit: they add up to the total of 8 CPUs" check_totals "$out" 8
done

# A core of two threads, one of which goes and comes back.
online() {
	echo "$1" >/sys/devices/system/cpu/cpu7/online
}

cpustat -A core -m -c task-clock 0.1 20 >"$out" 2>"$err" &
pid=$!
until grep -q ' 6  tick' "$out"; do
	sleep 0.05
done
online 0
until grep -q ' 6  tick.*# incomplete$' "$out"; do
	sleep 0.05
done
online 1
status=0
wait $pid || status=$?
same "half a core: status" "$status" 1
same "half a core: messages" "$(cat "$err")" "cpustat: cpu7 - the CPU went offline
cpustat: cpu7 - counted again"
same "half a core: all units have all their rows" "$(awk '$3 == "tick" { n[$2]++ }
	END { print n[0], n[2], n[4], n[6] }' "$out")" "20 20 20 20"
check "half a core: the others are complete" awk '/incomplete/ && $3 == "tick" && $2 != 6 {
	bad = 1 } END { exit bad }' "$out"
# task-clock counts the time that passes, so that the mean of a CPU is the interval.
check "half a core: means are of the CPUs that are there" awk '
	$3 == "tick" && $2 == 6 { n += $4 > 0.09e9 && $4 < 0.11e9; half += /incomplete/ }
	END { exit !(n >= 18 && half) }' "$out"

finish
