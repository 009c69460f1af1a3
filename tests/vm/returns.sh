#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# returns.sh [few] - cputrack in the kernel, while a CPU goes offline and returns; run as root.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for the inner shell and awk
. ./check.sh

last=$(($(nproc) - 1)) # the CPU that goes
go=/tmp/go

online() {
	echo "$1" >"/sys/devices/system/cpu/cpu$last/online"
}

# The page faults of each program that has run; "?" follows an incomplete number.
programs() {
	awk '$4 == "exec" && /touch-pages/ && $5 == "#" { mine[$2] }
		$4 == "exit" && $2 in mine && !seen[$2]++ {
			printf "%s%s%s", n++ ? " " : "", $5, /incomplete/ ? "?" : ""
		} END { print "" }' "$out"
}

# The N-th program runs on that CPU: run_there N
run_there() {
	echo >&3
	until [ "$(programs | wc -w)" -ge "$1" ]; do
		sleep 0.05
	done
}

# 5000 page faults, and some at the start of a program
is_whole() {
	case $1 in
	*[!0-9]* | '') return 1 ;;
	esac
	[ "$1" -ge 5000 ] && [ "$1" -lt 5500 ]
}

is_whole_or_incomplete() {
	case $1 in
	*'?') grep -q "not counted all the time: .* put online or offline" "$err" ;;
	*) is_whole "$1" ;;
	esac
}

# returns NAME OPTION...: the second program runs right after the return, and more run until one is
# counted whole.  No count is wrong before.
returns() {
	what=$1
	shift
	mkfifo $go
	cputrack --engine=kernel -fe "$@" \
		sh -c 'while read -r _; do taskset -c '$last' touch-pages 5000; done' <$go >"$out" 2>"$err" &
	exec 3>$go
	run_there 1
	online 0
	online 1
	n=1
	until [ $n = 50 ] || { [ $n -gt 1 ] && is_whole "$(programs | cut -d ' ' -f $n)"; }; do
		n=$((n + 1))
		run_there $n
		sleep 0.2
	done
	exec 3>&-
	wait $! || :
	rm $go
	# shellcheck disable=SC2046 # a word for each program
	set -- $(programs)
	check "$what: before" is_whole "$1"
	shift
	for count; do
		check "$what: after the return" is_whole_or_incomplete "$count"
	done
	check "$what: in the end" is_whole "$count"
}

returns "samples" -T 0.1 -c page-faults
[ $# != 0 ] || returns "no samples" -T 0 -c page-faults
[ $# != 0 ] || returns "turns" -T 600 -c page-faults -c task-clock,minor-faults
if cputrack -T 0 -c 0x08 true >/dev/null 2>&1; then
	[ $# != 0 ] || returns "core PMU" -T 0 -c page-faults,0x08
	[ $# != 0 ] || returns "core PMU in turns" -T 600 -c page-faults,0x08 -c 0x08,minor-faults
	all=0x08,0x08,0x08,0x08,0x08,0x08 # the counters of the CPU
	returns "all counters in turns" -T 600 -c page-faults,$all -c $all
fi

finish
