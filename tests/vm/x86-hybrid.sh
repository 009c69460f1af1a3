#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# x86-hybrid.sh [ENGINE]... - the PMUs cpu_core and cpu_atom, on a CPU that libpfm4 does not know:
# vm -a x86_64 -n 4 -c Skylake-Client,model=254 -P "atom=2-3 general=8".
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2086 # words
. ./x86.sh
[ $# -gt 0 ] || set -- ptrace kernel

walk="drive -m 0,1,2,3 -r 100 0xc0:1000 0x3c:2000 0xc4:40 0x81d0:3 0x151:5"
lacks="warning: 'L1-dcache-load-misses' is counted on cpu_core only: cpu_atom does not have it"
for e; do
	exact $e
	run cputrack --engine=$e -c cpu_core/instructions/,cpu_atom/instructions/,instructions,0xc4 $walk
	same "$e: each kind, and both" "$status $(counts exit)" "0 50000 50000 100000 4000"
	run cputrack --engine=$e -c cpu_atom/instructions/ $walk
	same "$e: one kind" "$status $(counts exit)" "0 50000"
	run cputrack --engine=$e -c L1-dcache-loads $walk
	same "$e: a cache event" "$status $(counts exit)" "0 300"
	run cputrack --engine=$e -c cpu_core/L1-dcache-load-misses/,cpu_atom/cycles/,cpu_core/cycles/,cpu_core/branches/ $walk
	same "$e: generic events of one kind" "$status $(counts exit)" "0 250 100000 100000 2000"
	run cputrack --engine=$e -c L1-dcache-load-misses,instructions,L1-dcache-load-misses $walk
	same "$e: an event that one kind lacks" "$status $(counts exit) $(cat "$err")" "0 250 100000 250 cputrack: $lacks"
	# Each kind has a counter 0, which is the only one for code 0x48.
	run cputrack --engine=$e -c cpu_core/event=0x48,umask=0x1/,cpu_atom/event=0x48,umask=0x1/ \
		drive -m 0,1,2,3 -r 100 0x148:11
	same "$e: the same counter of each kind" "$status $(counts exit)" "0 550 550"
	run cputrack --engine=$e -c cpu_core/event=0x48,umask=0x1/,cpu_atom/instructions/,cpu_core/event=0x48,umask=0x2/ true
	reports "$e: the same counter of one kind" 1 "'cpu_core/event=0x48,umask=0x2/' together with 'cpu_core/event=0x48,umask=0x1/': they need"
	# More events than cpu_atom has counters.
	many=branches,branch-misses,cache-references,cache-misses,bus-cycles,0x4c4,0x8c4
	run cputrack --engine=$e -c $many true
	reports "$e: too many for one kind" 1 "'0x8c4' together with the other events: the PMU has too few counters"
	run cputrack --engine=$e --split -T 0.1 -c $many \
		drive -m 0,1,2,3 -r 100 -s 2000 0xc4:40
	same "$e: turns" "$status" 0
	same "$e: turns: no count is incomplete" "$(grep -c incomplete "$out" "$err")" "$out:0
$err:0"
done
divided
# An event of one kind is 0 on the other's CPUs, if the spec has an event for these.
kinds=cpu_core/instructions/,cpu_atom/instructions/,L1-dcache-load-misses
walk="drive -m 0,1,2,3 -r 100 0xc0:1000 0x151:5"
start cpustat -c $kinds 0.5
$walk
end
same "cpustat: each kind" "$(cat "$err") $(awk '/total/ { print $(NF - 2), $(NF - 1), $NF }' "$out")" \
	"cpustat: $lacks 50000 50000 250"
same "cpustat: each kind: CPUs" "$(ticks_of 1) $(ticks_of 3)" "25000 0 0 0 25000 0"
start cpustat -A kind -c instructions,cycles,cpu_atom/instructions/ 0.5
drive -m 0,2,3 -r 100 0xc0:1000 0x3c:2000
end
# Of three CPUs, one is of the first kind, which counts nothing of the other.
for kind in cpu_core:"34000 68000 0" cpu_atom:"66000 132000 66000"; do
	same "cpustat -A ${kind%%:*}" "$(awk -v kind="${kind%%:*}" '$2 == kind && $3 == "tick" && !/incomplete/ {
		a += $4; b += $5; c += $6 } END { print a, b, c }' "$out")" "${kind#*:}"
done
start cpustat -A command -c $kinds 0.5
$walk
end
same "cpustat -A: each kind" "$(ticks_of drive)" "50000 50000 0"
run cputrack -c cpu_atom/L1-dcache-load-misses/ true
reports "a generic event that this kind lacks" 1 "the kernel does not support it"
run cputrack -c L1D:REPLACEMENT true
reports "an event of libpfm4 for other CPUs" 1 "libpfm4 does not know this CPU; use the names of the kernel"
run cpustat -c cpu_core/instructions/ -c cpu_atom/instructions/ 1 1
reports "specs of different kinds" 1 "no CPU has the PMUs of all"
run taskset 1 cpustat -c cpu_atom/instructions/ 1 1
reports "no CPU of a kind" 1 "none of the CPUs of its PMU is online and allowed here"
run cputrack -h
check "as many counters as the smaller kind has" grep -q 'slots: pic0 to pic8$' "$out"
run drive-cpus instructions 0 1 2 3
same "sets of CPUs" "$(grep -c 'counts on it 1; 1000' "$out")" 8
# Overflows of one kind, by which the LWP passes, and beside them the cycles of both.
# Up to the last overflow: on cpu_atom, a step before the end.
for event in cpu_core/event=0xc0/:200000 cpu_core/instructions/:200000 cpu_atom/instructions/:199800; do
	run drive-overflows 1000 100000 100 3 ${event%:*} cycles 1 3 2 0
	same "overflows of ${event%:*}" "$status $(sort -u "$out")" "0 50 signals, 0 bad, rest 0, beside ${event#*:}"
done
run drive-overflows 1000 100000 100 1 cpu_core/instructions/ cycles 1 2 3
same "overflows of one kind: the rest of a period" "$(cat "$out")" "33 signals, 0 bad, rest 400, beside 197600"
for event in instructions 0xc0; do
	run drive-overflows 1000 1000 100 1 $event
	check "overflows of $event: refused" grep -qF "cannot report overflows of '$event': each of the 2 kinds of cores counts a part of it; name one kind, as in 'cpu_core/instructions/'" "$err"
	same "overflows of $event: no such capability" "$(cat "$out")" "capabilities 0"
done
run drive-inherited instructions 20 100
same "an inherited set" "$(cat "$out")" 2100000

# A CPU that is offline is in no list of a PMU.  It returns while it is counted.
cpu=/sys/devices/system/cpu/cpu3/online
echo 0 >$cpu
for e; do
	run cputrack --engine=$e -c instructions drive -m 0,1,2 -r 99 0xc0:1000
	same "$e: a CPU is offline" "$status $(counts exit)" "0 99000"
done
run cpustat -A command -c instructions 0.2 1
same "cpustat -A: a CPU is offline" "$status" 0
start cpustat -A command -c instructions,cycles 0.5
echo 1 >$cpu
await 20 "counted from now on"
drive -m 3,2 -r 100 0xc0:1000 0x3c:2000
end
same "cpustat -A: a CPU comes online: messages" "$(messages)" \
	"cpustat: cpu3 - came online, and is counted from now on"
same "cpustat -A: a CPU comes online: its counts" "$(ticks_of drive)" "100000 200000 0"
none_in_use
finish
