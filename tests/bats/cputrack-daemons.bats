#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The command ends and leaves processes behind, which -f still tracks: how tracking ends.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# Exits with status 4, and leaves a process in a session of its own; writes its id to a file.
# shellcheck disable=SC2016 # for the inner shell
LEAVE='setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >"$0"; exit 4'

# Set $DAEMON to the process that was left behind; it is killed when the test ends.
find_daemon() {
	eventually test -s "$T/daemon"
	DAEMON=$(<"$T/daemon")
	STRAYS+=("$DAEMON")
	eventually grep -qx sleep "/proc/$DAEMON/comm"
}

# Tracking has ended, and the daemon runs on undisturbed.
check_daemon() {
	untraced "$DAEMON"
	sleeping "$DAEMON"
}

# The table has the totals of both.
check_rows() {
	[ "$(count_of exit)" -eq 1 ]
	[ "$(count_of detach)" -eq 1 ]
	[ "$(awk '$4 == "detach" { print $2 }' "$ROWS")" = "$DAEMON" ]
}

have_rows() {
	[ "$(count_of exit)" -eq 1 ] && grep -q "# 'sleep 1000'" "$ROWS"
}

@test "INT, TERM, HUP and QUIT end the tracking: last rows, the command's status" {
	for signal in INT TERM HUP QUIT; do
		for interval in 0 0.05; do
			rm -f "$ROWS" "$T/daemon"
			start ct cputrack -fe -T $interval -o "$ROWS" -c page-faults \
				sh -c "$LEAVE" "$T/daemon"
			find_daemon
			eventually have_rows
			kill "-$signal" "${PIDS[ct]}"
			finish ct
			[ "$status" -eq 4 ]
			[ ! -s "$T/ct.err" ]
			check_rows
			check_daemon
		done
	done
}

@test "signals that were ignored at the start stay so" {
	start ct env --ignore-signal=HUP cputrack -fe -T 0 -o "$ROWS" -c page-faults \
		sh -c "$LEAVE" "$T/daemon"
	find_daemon
	eventually have_rows
	kill -HUP "${PIDS[ct]}"
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 4 ]
	check_rows
	check_daemon
}

@test "without -e: the command is detached at its exec, and gets its own signals up to its end" {
	# shellcheck disable=SC2016 # for the inner shell
	start ct cputrack -f -T 0 -o "$ROWS" -c page-faults sh -c \
		'while :; do sleep 1; done & echo $! >"$0"; exec "$1" 10 15' "$T/daemon" "$WORK/catch-signals"
	eventually said ct ready
	DAEMON=$(<"$T/daemon")
	STRAYS+=("$DAEMON")
	child_of "${PIDS[ct]}"
	kill -TERM "${PIDS[ct]}"
	eventually said ct 'caught 15'
	eventually ended "$CHILD"
	[[ $(state "${PIDS[ct]}") =~ [RSD] ]]
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 3 ]
	[ "$(awk '$4 == "detach" { print $2 }' "$ROWS" | sort -u)" = "$DAEMON" ]
	untraced "$DAEMON"
}

@test "without pidfd_open(2), as before Linux 5.3" {
	by_ptrace
	need_command strace
	need_unsanitized "LeakSanitizer does not work in a traced process"
	start ct strace -o "$T/strace" -e trace=pidfd_open -e inject=pidfd_open:error=ENOSYS \
		cputrack -fe -T 0 -o "$ROWS" -c page-faults sh -c "$LEAVE" "$T/daemon"
	find_daemon
	eventually have_rows
	kill -TERM "$(tracer "$DAEMON")"
	finish ct
	[ "$status" -eq 4 ]
	grep -q 'ENOSYS.*INJECTED' "$T/strace"
	check_rows
	check_daemon
}

@test "^C on the terminal" {
	need_terminal
	start tty script -q -e -c \
		"exec cputrack -fe -T 0 -o '$ROWS' -c page-faults sh -c '$LEAVE' '$T/daemon'" /dev/null
	find_daemon
	eventually have_rows
	tell tty $'\003'
	finish tty
	[ "$status" -eq 4 ]
	check_rows
	check_daemon
}

@test "the terminal is closed" {
	need_terminal
	start tty script -q -e -c \
		"exec cputrack -fe -T 0 -o '$ROWS' -c page-faults sh -c '$LEAVE' '$T/daemon'" /dev/null
	find_daemon
	eventually have_rows
	child_of "${PIDS[tty]}"
	kill -KILL "${PIDS[tty]}"
	eventually ended "$CHILD"
	check_rows
	check_daemon
}

@test "a hangup that ends the command ends the tracking, too" {
	# shellcheck disable=SC2016 # for the inner shell
	start ct cputrack -fe -T 0 -o "$ROWS" -c page-faults sh -c \
		'setsid sleep 1000 >/dev/null 2>&1 & echo $! >"$0"; wait' "$T/daemon"
	find_daemon
	eventually grep -q "# 'sleep 1000'" "$ROWS"
	kill -HUP "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 129 ]
	check_rows
	check_daemon
}

@test "the reader of the table ends, with rows to write or without" {
	for interval in 0 0.05; do
		rm -f "$T/daemon" "$T/table"
		mkfifo "$T/table"
		start reader head -n 4 "$T/table"
		start ct cputrack -fe -T $interval -o "$T/table" -c page-faults \
			sh -c "$LEAVE" "$T/daemon"
		find_daemon
		finish reader
		finish ct
		[ "$status" -eq 141 ]
		[ ! -s "$T/ct.err" ]
		check_daemon
	done
}

@test "a reader that ends after the last row is not an error" {
	mkfifo "$T/table"
	start reader head -n 3 "$T/table"
	start ct cputrack -T 0 -o "$T/table" -c page-faults \
		sh -c 'sleep 0.1; exec "$@"' sh "$WORK/catch-signals" 15
	finish reader
	[ "$(wc -l <"$T/reader.out")" -eq 3 ]
	eventually said ct ready
	child_of "${PIDS[ct]}"
	# cputrack wakes up and checks its processes.
	kill -STOP "$CHILD"
	eventually stopped "$CHILD"
	kill -CONT "$CHILD"
	eventually sleeping "$CHILD"
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 3 ]
}

@test "the reader of the table of an attached process that is idle" {
	start idle sleep 1000
	DAEMON=${PIDS[idle]}
	eventually is_program "$DAEMON" sleep
	mkfifo "$T/table"
	start reader head -n 1 "$T/table"
	start ct cputrack -T 0 -o "$T/table" -c page-faults -p "$DAEMON"
	finish reader
	finish ct
	[ "$status" -eq 141 ]
	eventually untraced "$DAEMON"
	eventually sleeping "$DAEMON"
}
