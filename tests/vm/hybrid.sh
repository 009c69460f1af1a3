#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# hybrid.sh - two kinds of cores: vm -d cortex-a53,cortex-a57.
#
# The CPUs share a clock, of which the emulator makes the counts.  So what the other CPU does meanwhile, such
# as its ticks, is counted, too: some percent.  Nothing is counted less, or twice.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for awk and another shell
. ./check.sh

generic=Instr_cnt # counts on both
kinds=armv8_cortex_a53/inst_retired/,armv8_cortex_a57/inst_retired/
twice='bare; bare; exit 3'

# The counts of each process that ran bare, 1000000 instructions: "1+0" in two columns.
bares() {
	awk '$4 == "exec" && /bare/ { bare[$2] }
		$4 == "exit" && $2 in bare {
			text = ""
			for (i = 5; i <= NF; i++)
				text = text (i > 5 ? "+" : "") ($i >= 1000000 && $i < 1300000 ? 1 : $i)
			printf "%s ", text
		}' "$out"
}

run cputrack -h
check "the counters of each kind" grep -q 'slots: pic0 to pic6$' "$out"
for e in ptrace kernel; do
	run taskset -c 0 cputrack --engine=$e -fe -T 0 -c $kinds,arm_ac57::INST_RETIRED sh -c "$twice"
	same "$e: both kinds on CPU 0" "$status $(bares)" "3 1+0+0 1+0+0 "
	run taskset -c 1 cputrack --engine=$e -fe -T 0 -c $kinds sh -c "$twice"
	same "$e: both kinds on CPU 1" "$status $(bares)" "3 0+1 0+1 "
	run taskset -c 1 cputrack --engine=$e -fe -T 0 -c arm_ac57::INST_RETIRED sh -c "$twice"
	same "$e: its own kind on CPU 1" "$status $(bares)" "3 1 1 "
	run taskset -c 1 cputrack --engine=$e -fe -T 0 -c armv8_cortex_a53/inst_retired/,armv8_cortex_a57/instructions/ \
		sh -c "$twice"
	same "$e: the other kind on CPU 1, and a generic event" "$status $(bares)" "3 0+1 0+1 "
	run cputrack --engine=$e -fe -T 0 -c "$generic" sh -c 'for i in 1 2 3 4 5; do
		taskset -c 0 bare; taskset -c 1 bare; done'
	same "$e: $generic on both" "$status $(bares)" "0 1 1 1 1 1 1 1 1 1 1 "
	# Moved in the middle: 79534 instructions to its start on CPU 0, then a loop of 2000000 on CPU 1.
	mkfifo in
	exec 3<>in
	taskset -c 0 cputrack --engine=$e -T 0 -c "$generic,$kinds" loop -w 1000000 <in >"$out" 2>"$err" 3>&- &
	tracker=$!
	until { pid=$(pidof loop) && grep -q '^State:.S' "/proc/$pid/status"; } || ! kill -0 $tracker; do
		sleep 0.05
	done
	taskset -p 2 "$pid" >/dev/null
	exec 3>&-
	status=0
	wait $tracker || status=$?
	rm in
	same "$e: an LWP that moves: status" "$status" 0
	check "$e: an LWP that moves: the sum is that of both kinds" awk '$3 == "exit" && !/incomplete/ {
		good = $4 == $5 + $6 && $5 > 10000 && $5 < 200000 && $6 >= 2000000 && $6 < 2600000
	} END { exit !good }' "$out"
done
{
	sleep 1
	taskset -c 0 bare
	taskset -c 1 bare
} &
run cpustat -c $kinds 2 1
wait
same "cpustat: each kind on its CPU" "$status $(awk '/tick/ {
	printf "%s %s ", ($4 >= 1000000 && $4 < 1300000 ? "a53" : $4), ($5 >= 1000000 && $5 < 1300000 ? "a57" : $5)
}' "$out")" "0 a53 0 0 a57 "
{
	sleep 1
	taskset -c 0 bare
	taskset -c 0 bare
	taskset -c 1 bare
} &
run cpustat -A kind -c $generic,armv8_cortex_a57/inst_retired/ 2 1
wait
same "cpustat -A kind" "$status $(awk '$3 == "tick" && !/incomplete/ {
	printf "%s %s %s\n", $2, ($4 >= 2000000 && $4 < 2600000 ? 2 : $4 >= 1000000 && $4 < 1300000 ? 1 : $4), \
		($5 == $4 ? "same" : $5) }' "$out" | sort | xargs)" "0 armv8_cortex_a53 2 0 armv8_cortex_a57 1 same"
for keys in "cpustat -A command -c $generic 2 1" "cputrack --all --by=command -c $generic --for 2"; do
	{
		sleep 1
		taskset -c 0 bare
		taskset -c 1 bare
	} &
	# shellcheck disable=SC2086 # words
	run $keys
	wait
	same "$keys" "$status $(awk '$2 == "bare" && !/incomplete/ {
		for (i = 3; $i !~ /^[0-9]*$/; i++) ;
		print ($i >= 2000000 && $i < 2600000 ? "both" : $i) }' "$out")" "0 both"
done
finish
