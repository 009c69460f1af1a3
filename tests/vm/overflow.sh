#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# overflow.sh - overflows of a real PMU: the examples of the manual, and counters that the kernel
# stops since they interrupt too often; run as root, on one CPU.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh

# ---- the examples of cpc_bind_curlwp(3CPC) --------------------------------------
# A loop of N rounds is 2 * N instructions; calls around it are the same each time.
export EVENT0=Instr_cnt EVENT1=Cycle_cnt
run example-count 0 1000
same "example 1: 20 lines that are the same" "$(cut -d: -f2 "$out" | sort | uniq -c | sed 's/^ *//; s/ .*//')" 20
# In the tick in which a second ends, the vDSO's clock carries it over by some more instructions.
# least ROUNDS: the smallest count of three runs.
least() {
	for _ in 1 2 3; do
		run example-count 0 "$1"
		awk '{ print $2; exit }' "$out"
	done | sort -n | head -n 1
}
same "example 1: 4000 instructions more" "$(least 3000)" $(($(least 1000) + 4000))
same "example 1: cycles are instructions here" "$(awk '$2 != $3' "$out")" ""

# The counter of cycles overflows exactly.  All 20 loops are so many, and what restarting
# takes comes on top.
export EVENT=0x11 EVENT1=Instr_cnt
run example-overflow 0 10000
same "example 2: exit status" "$status" 0
check "example 2: a signal each 1000 cycles" [ "$(grep -c '^lwp' "$out")" -ge 400 ]
same "example 2: at the overflow, exactly" "$(grep -v '^lwp' "$out" | sort -u)" 0x0
same "example 2: si_addr is the PC" "$(awk '/^lwp/ && $4 != $7' "$out")" ""
signals=$(grep -c '^lwp' "$out")

# ---- counters that interrupt too often --------------------------------------------
# The kernel stops them up to the next tick, at an overflow; the restart starts them again.
for rate in 1000 250; do
	echo $rate >/proc/sys/kernel/perf_event_max_sample_rate
	run test_pmu overflows
	same "at most $rate samples per second: exactly as many overflows" "$status" 0
	run test_pmu buffered_clock
	same "at most $rate samples per second: a message says that a clock was stopped" "$status" 0
	run example-overflow 0 10000
	same "example 2 at $rate samples per second" "$(grep -c '^lwp' "$out")" "$signals"
done

# ---- breakpoints, which count hits twice or no more where a signal meets them --------
run test_overflow
check "breakpoints tell no overflows: the test says so" grep -q "no breakpoints here: cannot report overflows of 'breakpoint/.*on this kind of CPU" "$out"
same "all other overflows" "$status" 0
run cputrack -T 0 -c breakpoint/addr=hit/ function-calls 1000
same "breakpoints of traced processes: refused" "$status" 1
check "breakpoints of traced processes: a message, and the way out" \
	grep -q "^cputrack: cannot count 'breakpoint/addr=hit/' of a traced process: .*uprobe/func=NAME/" "$err"
run cputrack -T 0 -c breakpoint/addr=hit/,uprobe/func=hit/ function-calls 1000
check "with a uprobe: refused" grep -q "kill the program" "$err"
run cputrack --check
check "--check says so" grep -q "breakpoints  *cannot count 'breakpoint/" "$out"
run cputrack -T 0 -c uprobe/func=hit/ function-calls 1000
same "a uprobe counts the calls" "$(counts exit)" 1000

# ---- everything else that happens to overflows --------------------------------------
for mode in storm blocked unbind close fork exec dlopen longjmp; do
	run overflows $mode
	same "overflows $mode" "$status" 0
done

for mode in several clock calls; do
	run overflow-kinds $mode
	same "overflow-kinds $mode" "$status" 0
done

finish
