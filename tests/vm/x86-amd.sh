#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# x86-amd.sh [ENGINE]... - the PMU cpu of an AMD CPU, with 6 counters for any event:
# vm -a x86_64 -c EPYC-Milan -n 4 -P "amd=1 general=6".
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2034,SC2086 # for x86.sh; words
. ./x86.sh
cycles=0x76
[ $# -gt 0 ] || set -- ptrace kernel

one="drive 0xc0:1000 0x76:2000 0xc2:40 0xc3:5 0xff60:60 0x964:7 0xc0:9:k"
all=instructions,cycles,branches,branch-misses,cache-references,cache-misses
for e; do
	exact $e
	run cputrack --engine=$e -c $all $one
	same "$e: all counters" "$status $(counts exit)" "0 1000 2000 40 5 60 7"
	run cputrack --engine=$e -c $all,instructions $one
	reports "$e: one more" 1 "'instructions' together with the other events: the PMU has too few counters"
	run cputrack --engine=$e -c Instr_cnt,Cycle_cnt,cpu/event=0xc2/,RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED $one
	same "$e: other names" "$status $(counts exit)" "0 1000 2000 40 5"
done
divided
run cputrack -h
check "its counters" grep -q 'PMU cpu, 6 counters)$' "$out"
run drive-cpus instructions $(seq 0 $((cpus - 1)))
same "sets of CPUs" "$(grep -c 'counts on it 1; 1000' "$out")" $((2 * cpus))
none_in_use
finish
