#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The tracked program behaves as if untracked: signals, job control, its children.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

@test "signals, their senders and values, and wait statuses are as without tracking" {
	for options in '' -f -fv; do
		# shellcheck disable=SC2086 # none or one option
		track -0 $options -T 0.01 -c page-faults "$WORK/signal-rounds"
		[ "$output" = PASS ]
	done
	[ "$(count_of fork)" -eq 50 ]
	check_life
}

@test "a parent sees stops and continues of its child as without tracking" {
	for options in '' -f; do
		# shellcheck disable=SC2086 # none or one option
		track -0 $options -T 0.01 -c page-faults "$WORK/stop-continue"
		[ "$output" = PASS ]
	done
	[ "$(count_of exit)" -eq 2 ]
}

@test "a program inherits signals, descriptors and process group as without tracking" {
	# shellcheck disable=SC2016 # for the inner shell
	show='grep -E "^(Sig(Blk|Ign|Cgt)|Seccomp|NoNewPrivs|Umask)" /proc/self/status
		echo /proc/self/fd/*; ulimit -a; cut -d" " -f5,6,18,19,41 /proc/self/stat; env; pwd'
	go -0 sh -c "$show" </dev/null
	bare=$output
	track -0 -T 0 -c page-faults sh -c "$show" </dev/null
	diff <(grep -v '^_=' <<<"$bare") <(grep -v '^_=' <<<"$output")
}

@test "ignored signals stay ignored in the command, and do not disturb cputrack" {
	need_command env
	env --ignore-signal=CHLD true 2>/dev/null || skip "env does not know --ignore-signal"
	track -7 -T 0 -c page-faults sh -c 'exit 7'
	# The shell of use_engine() would change the action of SIGCHLD.
	itself=("$CPC_BUILD/cputrack" --engine="${ENGINE:-auto}")
	for signals in CHLD USR1,TERM,PIPE,CHLD; do
		go -0 env --ignore-signal="$signals" grep SigIgn /proc/self/status
		bare=$output
		rm -f "$ROWS"
		go -0 env --ignore-signal="$signals" "${itself[@]}" -o "$ROWS" -f -T 0.01 -c page-faults \
			grep SigIgn /proc/self/status
		[ "$output" = "$bare" ]
		[ "$(count_of exit)" -eq 1 ]
		go -7 env --ignore-signal="$signals" "${itself[@]}" -o "$ROWS" -c page-faults \
			sh -c '(exit 3); exit 7'
	done
}

@test "blocked signals stay blocked in the command, and do not disturb cputrack" {
	env --block-signal=USR2 true 2>/dev/null || skip "env does not know --block-signal"
	itself=("$CPC_BUILD/cputrack" --engine="${ENGINE:-auto}") # no shell, as above
	for signals in USR2 CHLD,TERM,INT; do
		go -0 env --block-signal="$signals" grep SigBlk /proc/self/status
		bare=$output
		go -0 env --block-signal="$signals" "${itself[@]}" -o "$ROWS" -T 0.01 -c page-faults \
			grep SigBlk /proc/self/status
		[ "$output" = "$bare" ]
		[ "$(count_of exit)" -eq 1 ]
	done
}

@test "the command reads cputrack's standard input" {
	go -0 sh -c "echo through | cputrack -o '$ROWS' -T 0 -c page-faults cat"
	[ "$output" = through ]
}

@test "a signal sent to cputrack alone is passed on to the command" {
	for signal in 15 1 2; do
		start ct cputrack -o "$ROWS" -T 0.05 -c page-faults "$WORK/catch-signals" 1 2 15 "$signal"
		eventually said ct ready
		kill "-$signal" "${PIDS[ct]}"
		finish ct
		[ "$status" -eq 3 ]
		[ "$(grep caught "$T/ct.out")" = "caught $signal" ]
		[ "$(count_of exit)" -eq 1 ]
	done
}

@test "a signal passed on that kills the command: status 128 + n, totals printed" {
	start ct cputrack -o "$ROWS" -T 0 -c page-faults "$WORK/thread-pool" 3
	eventually said ct ready
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 143 ]
	[ "$(count_of exit)" -eq 1 ]
	[ "$(count_of lwp_exit)" -eq 3 ]
}

@test "^C on a terminal: the command gets it once, cputrack stays until it has ended" {
	need_terminal
	# catch: SIGINT any number of times, SIGTERM ends it; passed on after any SIGINT would be
	start tty script -q -e -c \
		"exec cputrack -o '$ROWS' -T 0.05 -c page-faults '$WORK/catch-signals' 2 15" /dev/null
	eventually grep -q '^ready' "$T/tty.out"
	tell tty $'\003'
	eventually grep -q 'caught 2' "$T/tty.out"
	kill -TERM "$(pid_of_tracker)"
	finish tty
	[ "$status" -eq 3 ]
	[ "$(grep -c 'caught 2' "$T/tty.out")" -eq 1 ]
	[ "$(grep -c 'caught 15' "$T/tty.out")" -eq 1 ]
	[ "$(count_of exit)" -eq 1 ]
}

# The cputrack that writes our table.
pid_of_tracker() {
	find /proc/[0-9]*/fd -lname "$(realpath "$ROWS")" 2>/dev/null | head -n1 | cut -d/ -f3
}

@test "^C on a terminal that kills the command: its totals are printed" {
	need_terminal
	start tty script -q -e -c \
		"exec cputrack -o '$ROWS' -T 0.05 -c page-faults '$WORK/thread-pool' 3" /dev/null
	eventually grep -q '^ready' "$T/tty.out"
	tell tty $'\003'
	finish tty
	[ "$status" -eq 130 ]
	[ "$(count_of exit)" -eq 1 ]
	[ "$(count_of lwp_exit)" -eq 3 ]
}

@test "SIGSTOP and SIGCONT of the command: it stops, ticks go on, it continues" {
	start ct cputrack -o "$ROWS" -T 0.05 -c page-faults "$WORK/thread-pool" 3
	eventually said ct ready
	child_of "${PIDS[ct]}"
	kill -STOP "$CHILD"
	eventually stopped "$CHILD"
	before=$(count_of tick 1)
	eventually more_ticks $((before + 2))
	stopped "$CHILD"
	tell ct g
	kill -CONT "$CHILD"
	eventually said ct "done"
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	[ "$(count_of exit)" -eq 1 ]
}

more_ticks() {
	[ "$(count_of tick 1)" -ge "$1" ]
}

@test "^Z and fg: a program that has its own handler for it" {
	start ct cputrack -o "$ROWS" -T 0.05 -c page-faults "$WORK/tstp-handler"
	eventually said ct ready
	child_of "${PIDS[ct]}"
	for round in 1 2 3; do
		kill -TSTP -- "-${PIDS[ct]}"
		eventually stopped "${PIDS[ct]}"
		said ct saved "$round" # before we stopped
		stopped "$CHILD"
		kill -CONT -- "-${PIDS[ct]}"
		eventually said ct redrawn "$round"
	done
	hang_up ct
	finish ct
	[ "$status" -eq 5 ]
	[ "$(count_of exit)" -eq 1 ]
}

@test "^Z does not stop a cputrack that is attached: its process would hang" {
	need attach
	start crowd "$WORK/thread-pool" 3
	eventually said crowd ready
	start ct cputrack -o "$ROWS" -T 0.05 -c page-faults -p "${PIDS[crowd]}"
	eventually more_ticks 1
	kill -TSTP "${PIDS[ct]}"
	eventually more_ticks $(($(count_of tick 1) + 2))
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
}

@test "^Z and fg: the whole job stops and goes on" {
	start ct cputrack -o "$ROWS" -T 0.05 -c page-faults "$WORK/thread-pool" 3
	eventually said ct ready
	child_of "${PIDS[ct]}"
	for _ in 1 2 3; do
		kill -TSTP -- "-${PIDS[ct]}"
		eventually stopped "${PIDS[ct]}"
		eventually stopped "$CHILD"
		kill -CONT -- "-${PIDS[ct]}"
		eventually sleeping "${PIDS[ct]}"
		eventually sleeping "$CHILD"
	done
	tell ct g
	eventually said ct "done"
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	[ "$(count_of exit)" -eq 1 ]
}

@test "^Z and fg: also when the tracking has ended before" {
	start ct cputrack -o "$ROWS" -T 0.01 -N 1 -c page-faults "$WORK/thread-pool" 3
	eventually said ct ready
	child_of "${PIDS[ct]}"
	eventually grep -q ' detach ' "$ROWS"
	eventually untraced "$CHILD"
	for _ in 1 2 3; do
		kill -TSTP -- "-${PIDS[ct]}"
		eventually stopped "${PIDS[ct]}"
		stopped "$CHILD"
		kill -CONT -- "-${PIDS[ct]}"
		eventually sleeping "${PIDS[ct]}"
		eventually sleeping "$CHILD"
	done
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
}

@test "a command that is killed while stopped ends" {
	start ct cputrack -o "$ROWS" -T 0 -c page-faults "$WORK/thread-pool" 3
	eventually said ct ready
	child_of "${PIDS[ct]}"
	kill -STOP "$CHILD"
	eventually stopped "$CHILD"
	kill -KILL "$CHILD"
	finish ct
	[ "$status" -eq 137 ]
	[ "$(count_of exit)" -eq 1 ]
}

@test "cputrack killed: the command that it started runs on" {
	start ct cputrack -o "$ROWS" -T 0.05 -c page-faults "$WORK/thread-pool" 3
	eventually said ct ready
	child_of "${PIDS[ct]}"
	STRAYS+=("$CHILD")
	kill -KILL "${PIDS[ct]}"
	eventually ended "${PIDS[ct]}"
	eventually untraced "$CHILD"
	tell ct gtf
	eventually said ct "done" 3
	hang_up ct
	eventually ended "$CHILD"
	finish ct
	[ "$status" -eq 137 ]
}

@test "attached: ignored signals stay ignored, but SIGINT, also of a script's command with &, ends it" {
	local sig
	need attach
	env --ignore-signal=HUP true 2>/dev/null || skip "env does not know --ignore-signal"
	start crowd "$WORK/thread-pool" 3
	eventually said crowd ready
	start ct env --ignore-signal=INT,QUIT,TERM,HUP cputrack -o "$ROWS" -T 0.05 -c page-faults -p "${PIDS[crowd]}"
	for sig in HUP TERM QUIT; do
		eventually more_ticks $(($(count_of tick 1) + 2))
		kill "-$sig" "${PIDS[ct]}"
	done
	eventually more_ticks $(($(count_of tick 1) + 2))
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	[ ! -s "$T/ct.err" ]
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
}

@test "cputrack killed while an attached program is being stopped: it can be continued" {
	need attach
	start crowd "$WORK/thread-pool" 10
	eventually said crowd ready
	start ct cputrack -o "$ROWS" -T 0.05 -c page-faults -p "${PIDS[crowd]}"
	eventually more_ticks 2
	kill -STOP "${PIDS[crowd]}"
	kill -KILL "${PIDS[ct]}"
	finish ct
	eventually stopped "${PIDS[crowd]}"
	kill -CONT "${PIDS[crowd]}"
	tell crowd g
	eventually said crowd "done"
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
}

@test "after -N the command is untracked and its signals are its own" {
	start ct cputrack -o "$ROWS" -T 0.05 -N 1 -c page-faults "$WORK/catch-signals" 10 15
	eventually said ct ready
	eventually grep -q ' detach ' "$ROWS"
	child_of "${PIDS[ct]}"
	eventually untraced "$CHILD"
	kill -USR1 "$CHILD"
	eventually said ct 'caught 10'
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 3 ]
}
