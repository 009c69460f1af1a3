#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# x86-losses.sh [ENGINE]... - counters that another program takes, and a CPU that goes offline and returns:
# vm -a x86_64 -n 4 -P "" or -P atom=2-3.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2086,SC2016 # words; for awk and another shell
. ./x86.sh
[ $# -gt 0 ] || set -- ptrace kernel

online() {
	echo "$1" >/sys/devices/system/cpu/cpu3/online
}

gone="cpustat: cpu3 - the CPU went offline"
back="cpustat: cpu3 - counted again"

# away OPTION...: cpustat while CPU 3 goes and returns, and drive runs on it then.
away() {
	start cpustat "$@" 0.5
	online 0
	await 20 "$gone"
	online 1
	await 20 "$back"
	drive -m 3 -r 100 0xc0:1000 0x3c:2000
	end
	same "cpustat $*: a CPU went: messages" "$(messages)" "$gone
$back"
	# It may have returned before the turn of the other set began.
	check "cpustat $*: a CPU went: an incomplete total" grep -q 'total.*# incomplete' "$out"
}

away -c instructions,cycles
same "cpustat: its counts after the return" "$(ticks_of 3)" "100000 200000 0"
away -A command -c instructions,cycles
same "cpustat -A: its counts after the return" "$(ticks_of drive)" "100000 200000 0"
away -A command -c instructions -c cycles # in turns

# Another program that has opened counters, and takes them now: hold, take, release
mkfifo go
hold() {
	rm -f opened free
	hold-counters -e sh -c ': >opened; until [ -e free ]; do sleep 0.1; done' <go &
	holder=$!
	exec 3>go
	until [ -e opened ]; do sleep 0.1; done
}

take() {
	exec 3>&-
}

release() {
	: >free
	wait $holder
}

# The last CPU goes with the counters of all.
for keys in "" "-A command"; do
	hold
	start cpustat $keys -c instructions,cycles 0.5
	take
	status=0
	wait $pid || status=$?
	same "cpustat $keys: counters were taken: status" "$status" 1
	same "cpustat $keys: counters were taken: a message for each CPU" "$(grep -c "^cpustat: cpu[0-3] - \
perf counter contents invalidated: .*process [0-9]* (hold-counters) has counters open" "$err")" "$cpus"
	release
done

for e; do
	run hold-counters cputrack --engine=$e -c instructions,cycles drive 0xc0:1
	reports "$e: all are held" 1 "process [0-9]* .hold-counters. has counters open"
	for specs in "-c instructions,cycles" "-c instructions -c branches"; do
		hold
		start cputrack --engine=$e -T 0.2 $specs drive -m 0,1,2,3 -r 100 -s 20000 0xc0:1000 0x3c:2000
		take
		wait $pid
		check "$e $specs: its exit is incomplete" grep -q 'exit.*# incomplete' "$out"
		same "$e $specs: taken meanwhile: a message" "$(grep -c . "$err")" 1
		release
	done
done

# Once the counters are free, new LWPs are counted by each set in its turns.
hold
start cputrack --engine=kernel -fe -T 0.2 -c instructions -c cycles \
	sh -c 'for i in 1 2; do drive -m 0,1,2,3 -r 100 -s 20000 0xc0:1000 0x3c:2000; until [ -e free ]; do sleep 0.1; done; sleep 2; done'
take
sleep 1
release
wait $pid
same "turns: the first drive is incomplete, the second is not" \
	"$(awk '$4 == "exec" && /drive/ { drive[$2] }
		$4 == "exit" && $2 in drive && $5 > 0 { printf "%s ", /incomplete/ ? "incomplete" : "whole" }' "$out")" \
	"incomplete incomplete whole whole "
none_in_use
finish
