#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cputrack -p: attaching to running processes, and detaching without a trace.

# shellcheck disable=SC2016 # for awk
# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need attach
}

# The first `g` touches the stacks; each later one is exactly PAGES * N faults.
warm_crowd() {
	start crowd "$WORK/thread-pool" "$@"
	eventually said crowd ready
	tell crowd g
	eventually said crowd "done" 1
}

# Attach to the crowd; done when all of its $1 LWPs have been sampled.
attach() {
	local lwps=$1
	shift
	start ct cputrack -o "$ROWS" -T 0.1 -c page-faults "$@" -p "${PIDS[crowd]}"
	eventually ticked "$lwps"
}

ticked() {
	[ "$(rows_of tick | awk '{ print $2 }' | sort -u | wc -l)" -eq "$1" ]
}

# The ticks so far add up to $1 or more.
ticks_reach() {
	[ "$(sum_of tick)" -ge "$1" ]
}

# The program is not traced and not stopped, does its $1-th round, and exits with status 0.
crowd_is_well() {
	[ "$(state "${PIDS[crowd]}")" = S ]
	untraced "${PIDS[crowd]}"
	tell crowd g
	eventually said crowd "done" "$1"
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
}

@test "50 threads: ticks for all LWPs, exact counts; after ^C the program runs on" {
	warm_crowd -p 10 50
	attach 51
	tell crowd g
	eventually said crowd "done" 2
	eventually ticks_reach 500
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	check_format
	[ "$(sum_of tick)" -eq 500 ]
	[ "$(sum_of tick 1)" -eq 0 ]
	for lwp in 2 17 51; do
		[ "$(sum_of tick "$lwp")" -eq 10 ]
	done
	[ "$(count_of detach)" -eq 1 ]
	[ "$(sum_of detach)" -eq 500 ]
	[ "$(table | tail -n1 | awk '{ print $3 }')" = detach ]
	crowd_is_well 3
}

@test "^C before the first tick: the last ticks still show the counts" {
	warm_crowd -p 10 5
	start ct cputrack -o "$ROWS" -v -T 0 -c page-faults -p "${PIDS[crowd]}"
	eventually has_rows init_lwp 6
	tell crowd g
	eventually said crowd "done" 2
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	for lwp in 1 2 3 4 5 6; do
		[ "$(count_of tick "$lwp")" -eq 1 ]
	done
	[ "$(sum_of tick)" -eq "$(sum_of detach)" ]
	[ "$(sum_of detach)" -eq 50 ]
	crowd_is_well 3
}

has_rows() {
	[ "$(count_of "$1")" -eq "$2" ]
}

@test "SIGTERM and SIGHUP end it as ^C does" {
	warm_crowd -p 10 5
	attach 6
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	[ "$(count_of detach)" -eq 1 ]
	untraced "${PIDS[crowd]}"
	# with -o it may open the file again
	start ct cputrack -T 0.1 -c page-faults -p "${PIDS[crowd]}"
	eventually grep -q tick "$T/ct.out"
	kill -HUP "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	[ "$(grep -c detach "$T/ct.out")" -eq 1 ]
	untraced "${PIDS[crowd]}"
	crowd_is_well 2
}

@test "the process ends: the exit row, and exit status 0 also if its own is another" {
	warm_crowd -p 10 5
	attach 6
	tell crowd g
	eventually said crowd "done" 2
	tell crowd x
	finish crowd
	[ "$status" -eq 5 ]
	finish ct
	[ "$status" -eq 0 ]
	check_format
	[ "$(count_of exit)" -eq 1 ]
	[ "$(count_of lwp_exit)" -eq 5 ]
	[ "$(sum_of lwp_exit)" -ge 50 ]
	[ "$(sum_of exit)" -ge 50 ]
	[ "$(sum_of exit)" -lt 150 ]
}

@test "the process is killed: its parent sees it, cputrack gives the exit row" {
	warm_crowd -p 10 5
	attach 6
	kill -KILL "${PIDS[crowd]}"
	finish crowd
	[ "$status" -eq 137 ]
	finish ct
	[ "$status" -eq 0 ]
	[ "$(count_of exit)" -eq 1 ]
	[ "$(count_of lwp_exit)" -eq 5 ]
}

@test "threads born later are followed; -f: children, too" {
	warm_crowd -p 300 5
	attach 6 -f
	tell crowd tftf
	eventually said crowd "done" 5
	eventually exited 2
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	check_format
	[ "$(count_of lwp_create)" -eq 2 ]
	every_row lwp_exit '$2 >= 7 && $4 >= 300 && $4 <= 400' 2
	[ "$(count_of fork)" -eq 2 ]
	every_row exit '$4 >= 300 && $4 <= 400' 2
	crowd_is_well 6
}

exited() {
	[ "$(count_of exit)" -eq "$1" ]
}

@test "short-lived threads are threads, not processes" {
	warm_crowd 5
	attach 6 -f
	tell crowd "$(printf 't%.0s' {1..100})"
	eventually said crowd "done" 101
	hang_up crowd
	finish crowd
	finish ct
	[ "$status" -eq 0 ]
	check_format
	[ "$(count_of fork)" -eq 0 ]
	[ "$(count_of lwp_create)" -eq 100 ]
	[ "$(count_of lwp_exit)" -eq 105 ]
	[ "$(count_of exit)" -eq 1 ]
}

@test "-N: after that number of samples cputrack ends, the program runs on" {
	warm_crowd -p 10 5
	track -0 -T 0.05 -N 3 -c page-faults -p "${PIDS[crowd]}"
	check_format
	[ "$(count_of tick)" -eq 18 ]
	[ "$(count_of detach)" -eq 1 ]
	[ "$(sum_of detach)" -eq 0 ]
	crowd_is_well 2
}

@test "several -p: one table with the pids, each process has its rows and its end" {
	start one "$WORK/thread-pool" -p 10 3
	start two "$WORK/thread-pool" -p 10 5
	eventually said one ready
	eventually said two ready
	tell one g
	tell two g
	eventually said one "done"
	eventually said two "done"
	start ct cputrack -o "$ROWS" -T 0.1 -c page-faults -p "${PIDS[one]}" -p "${PIDS[two]}" \
		-p "${PIDS[one]}"
	eventually both_ticked
	tell one gg
	tell two g
	eventually said one "done" 3
	eventually said two "done" 2
	eventually ticks_reach 110
	hang_up one
	finish one
	[ "$status" -eq 0 ]
	[ "$(state "${PIDS[two]}")" = S ]
	kill -INT "${PIDS[ct]}"
	pid=${PIDS[two]}
	finish ct
	[ "$status" -eq 0 ]
	check_format
	[ "$(sum_of tick)" -ge 110 ]
	[ "$(rows_of detach)" = "$pid 1 detach 50" ]
	[ "$(count_of exit)" -eq 1 ]
	[ "$(count_of lwp_exit)" -eq 3 ]
	untraced "$pid"
	tell two g
	eventually said two "done" 3
	hang_up two
	finish two
	[ "$status" -eq 0 ]
}

both_ticked() {
	[ "$(rows_of tick | awk '{ print $1, $2 }' | sort -u | wc -l)" -eq 10 ]
}

@test "several -p, one of which cannot be tracked: it is reported, the rest are tracked, status 1" {
	warm_crowd -p 10 5
	track -1 -T 0.02 -N 2 -c page-faults -p 2147483646 -p "${PIDS[crowd]}"
	[ "$stderr" = "cputrack: cannot track process 2147483646: no such process" ]
	[ "$(count_of tick)" -eq 12 ]
	crowd_is_well 2
}

@test "processes that -p found by name may have ended, unless all have" {
	local name=gone-$BASHPID pid
	cp "$(command -v sleep)" "$T/$name"
	start parent python3 -c 'if True:
		import subprocess, sys, time
		child = subprocess.Popen([sys.argv[1], "0"])
		print(child.pid, flush=True)
		time.sleep(1000)' "$T/$name" # never waits for it
	eventually test -s "$T/parent.out"
	pid=$(<"$T/parent.out")
	eventually ended "$pid"
	track -1 -c page-faults -p "$name"
	[ "${stderr_lines[0]}" = "cputrack: -p '$name': process $pid" ]
	[ "${stderr_lines[1]}" = "cputrack: cannot track the processes of -p: they have ended" ]
	start alive "$T/$name" 1000
	eventually is_program "${PIDS[alive]}" "$name"
	track -0 -T 0.02 -N 1 -c page-faults -p "$name"
	[ "$(count_of tick)" -eq 1 ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ] # the list
	track -1 -T 0.02 -N 1 -c page-faults -p "$name,$pid"
	[ "${stderr_lines[1]}" = "cputrack: cannot track process $pid: it has ended" ]
	[ "$(count_of tick)" -eq 1 ]
}

@test "--tid: the kernel's thread ids in place of LWP numbers" {
	warm_crowd -p 10 3
	track -0 --tid -v -T 0.02 -N 1 -c page-faults -p "${PIDS[crowd]}"
	# shellcheck disable=SC2012 # numbers
	[ "$(rows_of tick | awk '{ print $2 }' | sort -n)" = \
		"$(ls "/proc/${PIDS[crowd]}/task" | sort -n)" ]
	every_row detach "\$2 == ${PIDS[crowd]}" 1
	crowd_is_well 2
	track -0 --tid -fe -T 0 -c page-faults sh -c "'$WORK/threads' 2; '$WORK/exec-thread' 0"
	# the first LWP of a process has the process id
	every_row exit '$1 == $2' 3
	every_row fork '$1 == $2' 2
	every_row lwp_exit '$1 != $2'
	# the thread that executed keeps its id up to the exec
	[ "$(rows_of exec | awk '$1 != $2' | wc -l)" -eq 1 ]
}

@test "io_uring: a thread that the kernel made for itself counts nothing" {
	start ring "$WORK/io-uring"
	eventually grep -q . "$T/ring.out"
	if grep -q '^SKIP' "$T/ring.out"; then
		skip "$(cat "$T/ring.out")"
	fi
	track -0 -T 0.02 -N 1 -c page-faults -p "${PIDS[ring]}"
	[ "$(count_of tick)" -ge 1 ]
	[ "$(sum_of detach)" -eq 0 ]
	eventually untraced "${PIDS[ring]}"
	hang_up ring
	finish ring
	[ "$status" -eq 0 ]
}

@test "several trackers may attach one after the other" {
	warm_crowd -p 10 20
	for _ in 1 2 3 4 5; do
		track -0 -T 0.01 -N 1 -c page-faults -p "${PIDS[crowd]}" >/dev/null
		[ "$(count_of tick)" -eq 21 ]
		untraced "${PIDS[crowd]}"
	done
	crowd_is_well 2
}

@test "a stopped process stays stopped, during and after" {
	warm_crowd -p 10 5
	kill -STOP "${PIDS[crowd]}"
	eventually stopped "${PIDS[crowd]}"
	attach 6
	stopped "${PIDS[crowd]}"
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	untraced "${PIDS[crowd]}"
	[ "$(state "${PIDS[crowd]}")" = T ]
	kill -CONT "${PIDS[crowd]}"
	eventually sleeping "${PIDS[crowd]}"
	crowd_is_well 2
}

@test "a process stopped and continued while it is tracked" {
	warm_crowd -p 10 5
	attach 6
	kill -STOP "${PIDS[crowd]}"
	eventually stopped "${PIDS[crowd]}"
	tell crowd g
	kill -CONT "${PIDS[crowd]}"
	eventually said crowd "done" 2
	eventually ticks_reach 50
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	crowd_is_well 3
}

@test "a process whose leader has ended" {
	start crowd "$WORK/leader-first" -w -p 200 3
	eventually said crowd ready
	start ct cputrack -o "$ROWS" -T 0.05 -c page-faults -p "${PIDS[crowd]}"
	eventually ticked_at_least 3
	hang_up crowd
	finish ct
	[ "$status" -eq 0 ]
	finish crowd
	[ "$status" -eq 0 ]
	[ "$(count_of exit)" -eq 1 ]
	[ "$(sum_of exit)" -ge 600 ]
	[ "$(sum_of exit)" -lt 900 ]
}

ticked_at_least() {
	[ "$(rows_of tick | awk '{ print $2 }' | sort -u | wc -l)" -ge "$1" ]
}

@test "exec in an attached process: with -e its rows go on" {
	start crowd sh -c "echo ready; read -r line; exec '$WORK/touch-pages' 700"
	eventually said crowd ready
	start ct cputrack -o "$ROWS" -e -T 0.05 -c page-faults -p "${PIDS[crowd]}"
	eventually ticked 1
	tell crowd $'go\n'
	finish ct
	[ "$status" -eq 0 ]
	finish crowd
	[ "$status" -eq 0 ]
	check_format
	[ "$(count_of exec)" -eq 2 ]
	[ "$(sum_of exit)" -ge 700 ]
}

# From then on it has the leader's id, which an attach that scans by id may have passed.
@test "a thread that executes while its process is attached to is not missed" {
	start images env RACES_LEFT=1000000 "$WORK/exec-races" handed
	for _ in $(rounds 25); do
		go -0 cputrack -e -T 0.02 -N 1 -c page-faults -p "${PIDS[images]}"
		[ -z "$stderr" ]
		[[ $output == *' detach '* && $output != *' exit '* ]]
	done
	kill -KILL "${PIDS[images]}"
}

@test "a tracker that is killed leaves the program running" {
	warm_crowd -p 10 20
	attach 21
	kill -KILL "${PIDS[ct]}"
	finish ct
	eventually untraced "${PIDS[crowd]}"
	tell crowd tf
	eventually said crowd "done" 3
	crowd_is_well 4
}
