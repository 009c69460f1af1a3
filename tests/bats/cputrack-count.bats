#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Counts of cputrack: one process, events with known numbers.

# shellcheck disable=SC2016 # for awk
# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# The total of page faults of a command under cputrack.
faults_of() {
	track -0 -c page-faults "$@" >&2
	sum_of exit
}

@test "5000 fresh pages are 5000 faults and the start-up of the program" {
	still
	touched=$(faults_of "$WORK/touch-pages" 5000)
	nothing=$(faults_of "$WORK/touch-pages" 0)
	echo "5000 pages: $touched, none: $nothing"
	[ "$touched" -ge 5000 ]
	[ "$nothing" -gt 0 ]
	[ "$nothing" -lt 500 ]
	[ $((touched - nothing)) -ge 4990 ]
	[ $((touched - nothing)) -le 5010 ]
}

@test "perf stat counts the same, within 1 %" {
	need_perf
	still
	ours=$(faults_of "$WORK/touch-pages" 5000)
	"${STILL[@]}" perf stat -x, -e page-faults:u -o "$T/perf" "$WORK/touch-pages" 5000
	theirs=$(perf_value "$T/perf")
	echo "cputrack $ours, perf $theirs"
	within_1_percent "$ours" "$theirs"
}

@test "two runs of the same command have the same count, within a few faults" {
	still
	first=$(faults_of "$WORK/touch-pages" 5000)
	second=$(faults_of "$WORK/touch-pages" 5000)
	echo "$first, $second"
	[ $((first - second)) -le 10 ]
	[ $((second - first)) -le 10 ]
}

@test "a set is one snapshot: minor and major faults add up to all faults" {
	track -0 -c page-faults,minor-faults,major-faults "$WORK/touch-pages" 1000
	every_row exit '$4 == $5 + $6 && $4 >= 1000' 1
}

@test "user mode, kernel mode and both: nouser and sys, by slot" {
	need kernel
	track -0 -c page-faults,page-faults,page-faults,nouser1,sys1,sys2 "$WORK/touch-pages" 1000
	every_row exit '$4 >= 1000 && $5 < 1000 && $6 == $4 + $5' 1
}

@test "attributes without a number go to every request" {
	need kernel
	track -0 -c page-faults,minor-faults,nouser,sys "$WORK/touch-pages" 1000
	every_row exit '$4 < 1000 && $5 <= $4' 1
}

@test "an attribute whose value is 0 is off" {
	track -0 -c page-faults,nouser=0,sys=0x0 "$WORK/touch-pages" 1000
	[ "$(sum_of exit)" -ge 1000 ]
}

@test "libpfm4's full names count as the short ones do" {
	track -0 -c page-faults,perf::PERF_COUNT_SW_PAGE_FAULTS "$WORK/touch-pages" 300
	every_row exit '$4 == $5 && $4 >= 300' 1
}

@test "task-clock is the CPU time that the program used" {
	track -0 -T 0 -c task-clock "$WORK/spin" 0.3
	used=$(sum_of exit)
	[ "$used" -ge 297000000 ]
	[ "$used" -lt 600000000 ]
}

@test "context switches happen in the kernel and are counted without sys" {
	need kernel
	track -0 -c context-switches "$WORK/forks" 20
	[ "$(sum_of exit)" -ge 20 ]
}

@test "a program pinned to one CPU does not migrate" {
	need kernel
	need_command taskset
	track -0 -e -c cpu-migrations,context-switches taskset -c "$(cpus | head -n1)" \
		"$WORK/threads" 10
	every_row exit '$4 == 0 && $5 > 0' 1
}

@test "ticks are parts of the total" {
	track -0 -T 0.02 -c task-clock "$WORK/spin" 0.5
	[ "$(count_of tick)" -ge 2 ]
	[ "$(sum_of tick)" -le "$(sum_of exit)" ]
	[ "$(sum_of exit)" -ge 495000000 ]
}

@test "-T 0: no ticks" {
	track -0 -T 0 -c task-clock "$WORK/spin" 1.2
	[ "$(count_of tick)" -eq 0 ]
	[ "$(count_of exit)" -eq 1 ]
}

@test "the default is a tick every second" {
	track -0 -c task-clock "$WORK/spin" 1.2
	[ "$(count_of tick)" -ge 1 ]
	[ "$(rows_of tick | head -n1 | awk '{ print $2 }')" -eq 1 ]
}

@test "-N: that number of ticks, a detach row, and the command runs on untracked" {
	start ct cputrack -o "$ROWS" -T 0.05 -N 3 -c page-faults "$WORK/thread-pool" -p 50 2
	eventually said ct ready
	eventually grep -q ' detach ' "$ROWS"
	for lwp in 1 2 3; do
		[ "$(count_of tick "$lwp")" -eq 3 ]
	done
	[ "$(count_of detach)" -eq 1 ]
	[ "$(sum_of tick)" -le "$(sum_of detach)" ]
	child_of "${PIDS[ct]}"
	eventually untraced "$CHILD"
	tell ct gg
	eventually said ct "done" 2
	tell ct x
	finish ct
	[ "$status" -eq 5 ]
	[ "$(count_of exit)" -eq 0 ]
	[ "$(sum_of detach)" -lt 1000 ]
}

@test "-N that is never reached, or 0, changes nothing" {
	track -0 -T 0.01 -N 0 -c page-faults sleep 0.1
	[ "$(count_of detach)" -eq 0 ]
	[ "$(count_of exit)" -eq 1 ]
	track -0 -T 60 -N 2 -c page-faults "$WORK/touch-pages" 100
	[ "$(count_of detach)" -eq 0 ]
	[ "$(sum_of exit)" -ge 100 ]
}

@test "a program that ends at once is counted" {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		track -0 -c page-faults "$WORK/touch-pages" 0 >/dev/null
		[ "$(count_of exit)" -eq 1 ]
		[ "$(sum_of exit)" -ge 20 ]
	done
}
