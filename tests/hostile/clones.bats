#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Children that choose their tracer themselves: nobody waits for them in vain, and what is
# tracked is counted in full.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load ../bats/helpers

@test "every mixture of clone flags and PTRACE_TRACEME: nobody is held up, no call is lost" {
	need breakpoint
	go -0 "$WORK/check-leftovers" 20 cputrack -fev -T 0 -o "$ROWS" \
		-c "breakpoint/addr=$("$WORK/clone-flags")/" "$WORK/clone-flags" all 7
	read -r children followed <<<"$output"
	[ "$children" -gt "$followed" ]
	[ -z "$stderr" ]
	check_sums
	[ "$(sum_of exit)" -eq $((followed * 7)) ]
}

@test "who made itself a tracee, and stays, does not hold up the end, and is not harmed" {
	by_ptrace
	for options in -fe -f -e; do
		go -0 timeout -s KILL 60 cputrack $options -T 0 -o "$ROWS" -c page-faults \
			"$WORK/clone-flags" stay "$T/stays"
		[ -z "$stderr" ]
		pid=$(<"$T/stays")
		STRAYS+=("$pid")
		untraced "$pid"
		kill -WINCH "$pid"
		eventually sleeping "$pid"
		kill -KILL "$pid"
		rm "$T/stays"
	done
}

@test "in the kernel such a one is followed, until ^C, and is not harmed either" {
	by_kernel
	start ct cputrack -fev -T 0 -o "$ROWS" -c page-faults "$WORK/clone-flags" stay "$T/stays"
	eventually test -s "$T/stays"
	pid=$(<"$T/stays")
	STRAYS+=("$pid")
	eventually sleeping "$pid"
	eventually grep -q " exit " "$ROWS" # of the command
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	[ ! -s "$T/ct.err" ]
	check_sums
	untraced "$pid"
	kill -WINCH "$pid"
	eventually sleeping "$pid"
}
