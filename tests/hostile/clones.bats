#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Children that choose their tracer themselves: no wait for them hangs, and tracked processes
# are counted in full.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load ../bats/helpers

@test "every mixture of clone flags and PTRACE_TRACEME: no process hangs, no call is lost" {
	need breakpoint
	go -0 "$WORK/check-leftovers" 20 cputrack -fev -T 0 -o "$ROWS" -O "$T/record" \
		-c "breakpoint/addr=$("$WORK/clone-flags")/" "$WORK/clone-flags" all 7
	read -r children followed <<<"$output"
	[ "$children" -gt "$followed" ]
	[ -z "$stderr" ]
	check_sums
	# Those that lost calls, beside the first process, and how they ended.
	cputrack -I "$T/record" --comm | grep -E ' exit .* # ' | grep -vE ' exit +7 # status 0$'
	if grep -q '"signal":5[,}]' "$T/record"; then
		echo "a process was killed by a SIGTRAP that none sent: this machine loses breakpoints"
		false
	fi
	[ "$(sum_of exit)" -eq $((followed * 7)) ]
}

@test "a process that made itself a tracee, and stays, does not delay the end, and is not harmed" {
	by_ptrace
	for options in -fe -f -e; do
		go -0 cputrack $options -T 0 -o "$ROWS" -c page-faults \
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

@test "in the kernel such a process is followed, until ^C, and is not harmed either" {
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

@test "a thread that was created with CLONE_UNTRACED: counted in the kernel, reported by ptrace" {
	local tid
	start pages cputrack --engine=ptrace -T 0.05 -o "$ROWS" -c page-faults "$WORK/clone-flags" thread 300
	eventually grep -q . "$T/pages.err"
	tid=$(sed -n 's/cputrack: cannot follow LWP \([0-9]*\) .*/\1/p' "$T/pages.err")
	child_of "${PIDS[pages]}"
	hang_up pages
	finish pages
	[ "$status" -eq 1 ]
	[ "$(cat "$T/pages.err")" = "cputrack: cannot follow LWP $tid of process $CHILD: it was created with CLONE_UNTRACED" ]
	[ "$(rows_of exit | awk '{ print $NF }')" = incomplete ]
	[ "$(sum_of exit)" -lt 300 ]
	by_kernel
	track -0 -T 0 -c page-faults "$WORK/clone-flags" thread 300
	[ -z "$stderr" ]
	[ "$(count_of lwp_exit)" -eq 1 ]
	[ "$(sum_of lwp_exit)" -ge 300 ]
	[ "$(sum_of exit)" -ge 300 ]
}
