#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Start and end of counting: --delay, --for, and SIGINT.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
}

# Word $1 of the rows in $ROWS that have kind $2 before it.
counts_of() {
	awk -v at="$1" -v kind="$2" '$(at - 1) == kind { print $at }' "$ROWS"
}

some_counted() {
	counts_of 5 tick | grep -q '^[0-9]'
}

# delayed ENGINE: three threads have 50 page faults each in a round; LWPs that ended before the
# delay have no counts.
delayed() {
	go -0 cputrack --engine="$1" --delay 1000 -fe -v -T 0 -o "$ROWS" -c page-faults \
		sh -c "'$WORK/forks' -p 5 2; :"
	[ "$(grep -c ' exit ' "$ROWS")" -eq 4 ]
	[ -z "$(awk 'NR > 1 && $5 != "-" && $5 != "#"' "$ROWS")" ]
	start pool "$WORK/thread-pool" -p 50 3
	eventually said pool ready
	tell pool g
	eventually said pool "done"
	start ct cputrack --engine="$1" --delay 0.3 -T 0.05 -o "$ROWS" -c page-faults \
		-p "${PIDS[pool]}" -fv
	eventually some_counted
	grep -q ' tick  *-' "$ROWS"
	tell pool gg
	finish_after ct pool
	[ "$(counts_of 5 lwp_exit | grep -cx 100)" -eq 3 ]
	[ "$(counts_of 5 exit)" -ge 300 ]
	check_sums "$ROWS"
}

@test "--delay: events before it are not counted, all later ones are" {
	delayed ptrace
}

@test "--delay, in the kernel: the same" {
	by_kernel
	delayed kernel
}

# The program $2 ends, and then the tracking $1.
finish_after() {
	tell "$2" x
	hang_up "$2"
	finish "$2"
	finish "$1"
	[ "$status" -eq 0 ]
}

# The CPU time of process $1 in clock ticks.
cpu_ticks() {
	awk '{ sub(/.*[)] /, ""); print $12 + $13 }' "/proc/$1/stat"
}

# Once tracking is over, NAME and its child run on without a CPU.
sleeps_on() {
	local ticks
	child_of "${PIDS[$1]}"
	eventually is_program "$CHILD" sh
	eventually untraced "$CHILD"
	eventually sleeping "${PIDS[$1]}"
	ticks=$(cpu_ticks "${PIDS[$1]}")
	sleep 1
	[ "$(($(cpu_ticks "${PIDS[$1]}") - ticks))" -le 2 ]
	tell "$1" $'\n'
	finish "$1"
	[ "$status" -eq "$2" ]
}

# over_early ENGINE: tracking ends by --for, without a reader, on a full disk; the command runs on.
over_early() {
	local args=(--engine="$1" -T 0.05 -c page-faults)
	local lives=(sh -c 'read -r line; exit 7')
	start for cputrack --for 0.1 "${args[@]}" "${lives[@]}"
	sleeps_on for 7
	# shellcheck disable=SC2016 # for the inner shell
	start full sh -c 'exec "$0" "$@" >/dev/full' cputrack "${args[@]}" "${lives[@]}"
	sleeps_on full 1
	mkfifo "$T/table"
	head -n 1 "$T/table" >/dev/null &
	start unread cputrack -o "$T/table" "${args[@]}" "${lives[@]}"
	sleeps_on unread 141
}

@test "tracking ends before the command: cputrack sleeps until then" {
	over_early ptrace
}

@test "tracking ends before the command, in the kernel: the same" {
	by_kernel
	over_early kernel
}

@test "--delay: tracking ends before it, and the command runs on" {
	local engine
	for engine in ptrace auto; do
		go -0 cputrack --engine=$engine --delay 0.5 -c page-faults sh -c 'sleep 0.1; exec sleep 0.8'
		go -0 cputrack --engine=$engine --delay 0.5 -T 0.1 -N 2 -c page-faults sleep 0.8
	done
}

# Does the process catch SIGINT?
catches_int() {
	(($((0x$(awk '/^SigCgt:/ { print $2 }' "/proc/$1/status"))) & 2))
}

@test "--delay: a message says that nothing was counted before it was over" {
	local engine never="counting ended before the --delay of 100 s was over: nothing was counted"
	for engine in ptrace auto; do
		go -0 cputrack --engine=$engine --delay 100 -c page-faults true
		[ "$stderr" = "cputrack: $never" ]
		go -0 cputrack --engine=$engine --delay 100 -r 2 -c page-faults true
		[ "$stderr" = "cputrack: $never" ]
		go -0 cputrack --engine=$engine --delay 0.01 -c page-faults sleep 1
		[ -z "$stderr" ]
	done
	need cpu
	start cs cpustat --shared --delay 100 -c page-faults 1
	eventually catches_int "${PIDS[cs]}"
	kill -INT "${PIDS[cs]}"
	finish cs
	[ "$(cat "$T/cs.err")" = "cpustat: $never" ]
	[ ! -s "$T/cs.out" ]
}

@test "--delay: the first of several sets counts from then on" {
	local engine
	for engine in ptrace auto; do
		track -0 --engine=$engine --delay 0.3 -T 0.25 -c task-clock -c dummy,task-clock "$WORK/spin" 1
		[ -z "$(awk '$3 == "tick" && $1 < 0.3 && $4 != "-"' "$ROWS")" ]
		[ "$(counts_of 4 tick | grep -m 1 '^[0-9]')" -gt 0 ]
	done
}

@test "a row has the time after its counters were read" {
	need_unsanitized "the sanitizer's runtime has a read(2) of its own"
	env LD_PRELOAD="$CPC_BUILD/tests/slow-read.so" "$CPC_BUILD/cputrack" --engine=ptrace \
		--for 0.4 -T 0 -o "$ROWS" --format=csv -c task-clock "$WORK/spin" 1
	# An LWP runs no longer than the time that its row has.
	csv_awk '$kind == "tick" || $kind == "detach" { n++; bad += $count > 1e9 * $seconds }
		END { exit n != 2 || bad }' <"$ROWS"
}

@test "--for: tracking ends, and the processes run on" {
	start pool "$WORK/thread-pool" -p 50 3
	eventually said pool ready
	go -0 cputrack --for 0.2 -T 0 -c page-faults -p "${PIDS[pool]}"
	[ "$(grep -c detach <<<"$output")" -eq 1 ]
	eventually untraced "${PIDS[pool]}"
	# a sample at the end is the last one; there is no second one at that time
	for _ in {1..5}; do
		go -0 cputrack --for 0.1 -T 0.05 -c page-faults -p "${PIDS[pool]}"
		[ "$(awk '$3 == "tick" { print $1 }' <<<"$output" | uniq | wc -l)" -le 2 ]
		[ "$(grep -c detach <<<"$output")" -eq 1 ]
	done
	# it ends after the tracking
	start ct cputrack --for 0.1 -T 0.02 -o "$ROWS" -c page-faults sh -c 'read -r line; exit 7'
	eventually grep -q detach "$ROWS"
	tell ct $'go\n'
	finish ct
	[ "$status" -eq 7 ]
	need cpu
	go -0 cpustat --delay 0.1 --for 0.12 -c page-faults 0.05
	check_totals - "$(cpus | wc -l)" <<<"$output"
	awk '$3 == "tick" && $1 < 0.12 { next } $3 == "tick" { found = 1 } END { exit !found }' <<<"$output"
	# the interval is longer
	go -0 cpustat --for 0.1 -c page-faults
	[ "$(grep -c tick <<<"$output")" = "$(cpus | wc -l)" ]
}
