#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# x86-uniform.sh [ENGINE]... - the PMU cpu of an Intel CPU, with 4 general and 3 fixed counters, and two boxes outside
# the cores: vm -a x86_64 -n 4 -P boxes=2.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2086 # words
. ./x86.sh
[ $# -gt 0 ] || set -- ptrace kernel

one="drive 0xc0:1000 0x3c:2000 0x300:3000 0xc4:40 0xc5:5 0x4f2e:60 0x412e:7 0x148:11 0x10000c4:3 0xc0:9:k"
all=instructions,cycles,ref-cycles,branches,branch-misses,cache-references,cache-misses
for e; do
	exact $e
	run cputrack --engine=$e -c Instr_cnt,Cycle_cnt,EC_ref,EC_hit $one
	same "$e: names of Solaris" "$(counts exit)" "1000 2000 60 53"
	run cputrack --engine=$e -c $all $one
	same "$e: all counters" "$(counts exit)" "1000 2000 3000 40 5 60 7"
	run cputrack --engine=$e -c $all,bus-cycles $one
	reports "$e: one more" 1 "'bus-cycles' together with the other events: the PMU has too few counters"
	run cputrack --engine=$e -c 0x148,0x248 $one
	reports "$e: both on counter 0" 1 "'0x248' together with '0x148': they need the same counter"
	run cputrack --engine=$e -c ref-cycles,ref-cycles $one
	reports "$e: both on a fixed counter" 1 "they need the same counter"
	run cputrack --engine=$e -c cpu/event=0xc0,umask=0x0/,0xc0,cpu/event=0xc4,cmask=1/,ipc $one
	same "$e: codes, and a ratio" "$(counts exit)" "1000 1000 3 1000 2000 0.5"
done
run cputrack --engine=ptrace -c 0xc0,sys,nouser $one
same "kernel mode alone" "$(counts exit)" 9
divided

start cpustat -A kind -c instructions,cycles 0.5
drive -m $list -r 100 0xc0:1000 0x3c:2000
end
same "cpustat -A kind: one kind" "$(ticks_of cpu) $(awk '$3 == "tick" { print $2 }' "$out" | sort -u)" "100000 200000 0 cpu"

# Boxes outside the cores
drive -w 2 uncore:0:0x1:16384 uncore:1:0x1:32768 &
run cpustat -c uncore_fake/data_reads/ 3 1
same "a sum of boxes, in MiB" "$(awk '/total/ { print $NF }' "$out")" 3.00
wait
run cputrack -c uncore_fake_0/clockticks/ true
reports "a box for an LWP" 1 "its PMU counts whole CPUs only"

# Overflows
run drive-overflows 1000 100000 100 8 instructions cycles
same "overflows" "$(grep -c '^100 signals, 0 bad, rest 0, beside 200000$' "$out")" 8
run drive-inherited instructions 20 100
same "an inherited set" "$(cat "$out")" 2100000
run drive-cpus instructions $(seq 0 $((cpus - 1)))
same "sets of CPUs" "$(grep -c 'counts on it 1; 1000' "$out")" $((2 * cpus))
none_in_use
finish
