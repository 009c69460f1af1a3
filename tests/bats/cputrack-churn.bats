#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cputrack -p: attaching and leaving while threads and children are born and die.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need attach
}

switches() {
	awk '/_ctxt_switches/ { s += $2 } END { print s }' "/proc/$1/status"
}

# Process $1 is not traced and makes progress.
gets_on() {
	local before
	eventually untraced "$1"
	eventually goes "$1"
	before=$(switches "$1")
	eventually switched_since "$1" "$before"
}

goes() {
	[[ $(state "$1") =~ [RSD] ]]
}

switched_since() {
	[ "$(switches "$1")" -gt $(($2 + 10)) ]
}

@test "attaching and leaving while threads are born and die" {
	start churn "$WORK/threads" -p 1 1000000000
	eventually is_program "${PIDS[churn]}" threads
	for _ in 1 2 3 4 5; do
		track -0 -v -T 0.01 -N 3 -c page-faults -p "${PIDS[churn]}" >"$T/log" ||
			{ cat "$T/log" && false; }
		check_format
		[ "$(count_of detach)" -eq 1 ]
		gets_on "${PIDS[churn]}"
	done
}

@test "attaching and leaving while children are born and die" {
	for program in forks vforks; do
		start churn "$WORK/$program" -p 1 1000000000
		eventually is_program "${PIDS[churn]}" "$program"
		for _ in 1 2 3 4 5; do
			track -0 -f -T 0.01 -N 3 -c page-faults -p "${PIDS[churn]}" >"$T/log" ||
				{ cat "$T/log" && false; }
			check_format
			gets_on "${PIDS[churn]}"
		done
		kill -KILL "${PIDS[churn]}"
		finish churn
	done
}

@test "a tracker that is killed while threads are born leaves the program running" {
	start churn "$WORK/threads" -p 1 1000000000
	eventually is_program "${PIDS[churn]}" threads
	for _ in 1 2 3 4 5; do
		start ct cputrack -o "$ROWS" -T 0.01 -c page-faults -p "${PIDS[churn]}"
		eventually grep -q ' lwp_exit ' "$ROWS"
		kill -KILL "${PIDS[ct]}"
		finish ct
		gets_on "${PIDS[churn]}"
		rm "$ROWS"
	done
}

@test "attaching while threads are born and die, many times" {
	start churn "$WORK/threads" 100000000
	eventually is_program "${PIDS[churn]}" threads
	for _ in {1..20}; do
		go -0 cputrack -n -T 0.002 -N 1 -c page-faults -p "${PIDS[churn]}"
		# LWP 1 is the first thread, which lives on
		[ "$(awk '$2 == 1 { print $3 }' <<<"$output" | tail -n 1)" = detach ]
		[ "$(grep -Ec ' 1 lwp_create | exit ' <<<"$output")" -eq 0 ]
	done
	[ "$(tracer "${PIDS[churn]}")" -eq 0 ]
	[[ $(state "${PIDS[churn]}") =~ [RSD] ]]
}

@test "attaching while threads end by exec: neither waits for the other" {
	RACES_LEFT=100000000 RACES_THREADS=300 start churn "$WORK/exec-races" many
	for _ in {1..20}; do
		go -0 cputrack -n -T 0.002 -N 1 -c page-faults -p "${PIDS[churn]}"
	done
	[ "$(tracer "${PIDS[churn]}")" -eq 0 ]
}
