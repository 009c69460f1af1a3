#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cputrack --engine=kernel: nothing is lost while cputrack is stopped, or beside other programs
# that count; LWPs without a slot of their own are reported.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

SPEC=page-faults,syscalls:sys_enter_getpriority

setup() {
	common_setup
	need_tracepoints syscalls/sys_enter_getpriority
	set_tracefs
}

# gated COMMAND...: executes it when the gate opens.
gated() {
	# shellcheck disable=SC2016 # for the inner shell
	start gate sh -c 'read x && exec "$@"' sh "$@"
	eventually sleeping "${PIDS[gate]}"
}

# tracked NAME ENGINE OPTION...: attach a cputrack to the gated command; its rows go to the file
# NAME.
tracked() {
	local name=$1 engine=$2
	shift 2
	start "$name" "${TRACEFS[@]}" "$CPC_BUILD/cputrack" --engine="$engine" -fe -T 0 -c "$SPEC" \
		-o "$T/$name" "$@" -p "${PIDS[gate]}"
	eventually test -s "$T/$name"
}

# pass NAME...: open the gate, and wait for the end of these trackers.
pass() {
	local name
	tell gate $'\n'
	finish gate
	[ "$status" -eq 0 ]
	for name; do
		finish "$name"
		[ "$status" -eq 0 ]
	done
}

# still_passes NAME: the same, but the tracker is stopped from before the first birth to the last
# exit.
still_passes() {
	kill -STOP "${PIDS[$1]}"
	eventually stopped "${PIDS[$1]}"
	tell gate $'\n'
	eventually ended "${PIDS[gate]}"
	kill -CONT "${PIDS[$1]}"
	finish gate
	[ "$status" -eq 0 ]
	finish "$1"
}

# The counts of each process: PID EVENT COUNT...
totals() {
	table "$1" | awk '($3 == "exec" || $3 == "exit") && $4 != "#"' | sort
}

@test "command lines that found no room: the names of the programs instead" {
	# shellcheck disable=SC2016 # for the inner shell
	gated sh -c 'i=0; while [ $i -lt 1000 ]; do /bin/true "$0"; i=$((i + 1)); done' \
		"$(printf %03500d 0)"
	tracked ct kernel
	ROWS=$T/ct
	still_passes ct
	[ "$status" -eq 0 ]
	[ "$(count_of exit)" -eq 1001 ]
	[ "$(grep -cE " # '(/bin/true 0{3500}|\[true\])'\$" "$ROWS")" -eq 1000 ]
	grep -q " # '\[true\]'\$" "$ROWS"
	grep -qE " # '/bin/true 0{3500}'\$" "$ROWS"
}

# bats test_tags=all
@test "3000 processes come and go while cputrack is stopped" {
	gated "$WORK/forks" -s 3 -p 5 3000
	tracked ct kernel
	ROWS=$T/ct
	still_passes ct
	[ "$status" -eq 0 ]
	check_format
	check_life
	[ "$(count_of fork)" -eq 3000 ]
	[ "$(count_of exit)" -eq 3001 ]
	[ "$(rows_of exit | awk '$5 == 3' | wc -l)" -eq 3000 ]
	[ "$(sum_of exit '' 1)" -eq 9000 ]
	run ! grep -q -e incomplete -e ' - ' "$ROWS"
}

@test "2000 threads come and go while cputrack is stopped" {
	gated "$WORK/threads" -s 3 -p 5 2000
	tracked ct kernel -v
	ROWS=$T/ct
	still_passes ct
	[ "$status" -eq 0 ]
	check_format
	check_life
	check_sums
	[ "$(count_of lwp_exit)" -eq 2000 ]
	[ "$(rows_of lwp_exit | awk '$4 >= 5 && $5 == 3' | wc -l)" -eq 2000 ]
	[ "$(sum_of exit '' 1)" -eq 6000 ]
}

# There are not quite 31000 slots (TREE_SLOTS).
# bats test_tags=all
@test "too many LWPs for a slot each share rows, and none of their counts is lost" {
	local n=33200 apart
	gated "$WORK/threads" -s 3 $n
	tracked ct kernel -v
	ROWS=$T/ct
	still_passes ct
	[ "$status" -eq 1 ]
	check_format
	check_sums
	apart=$(count_of lwp_exit)
	[ "$apart" -ge 30900 ]
	[ "$apart" -lt $n ]
	[ "$(cat "$T/ct.err")" = "cputrack: $((n - apart)) LWPs were too many to be counted apart; process $(rows_of detach | cut -d' ' -f1) stands for all of them (--max-lwps counts more)" ]
	[ "$(rows_of exit | grep -c '# incomplete$')" -eq 1 ]
	[ "$(rows_of detach | grep -c '# incomplete$')" -eq 1 ]
	[ "$(sum_of exit '' 1)" -eq $((apart * 3)) ]
	[ "$(sum_of detach '' 1)" -eq $(((n - apart) * 3)) ]
}

@test "two trackers of the same tree, with any engines, have the same rows" {
	for engines in "kernel kernel" "ptrace kernel" "kernel ptrace"; do
		# shellcheck disable=SC2016 # for the inner shell
		gated sh -c '"$1" -s 3 100 & "$2" -s 3 100; wait' sh "$WORK/forks" "$WORK/threads"
		tracked one "${engines% *}"
		tracked two "${engines#* }"
		pass one two
		totals "$T/one" >"$T/totals.one"
		totals "$T/two" >"$T/totals.two"
		cmp "$T/totals.one" "$T/totals.two"
		[ "$(ROWS=$T/one sum_of exit '' 1)" -eq 600 ]
		[ "$(wc -l <"$T/totals.one")" -eq 106 ]
		rm "$T/one" "$T/two"
	done
}

@test "a tracker inside a tracked tree counts its own tree, the outer tracker counts all" {
	local inner
	for inner in kernel ptrace; do
		go -0 "${TRACEFS[@]}" "$CPC_BUILD/cputrack" --engine=kernel -fe -T 0 -c "$SPEC" -o "$ROWS" \
			"$CPC_BUILD/cputrack" --engine=$inner -f -T 0 -c "$SPEC" -o "$T/inner" \
			"$WORK/forks" -s 3 -p 5 100
		check_life
		totals "$T/inner" >"$T/totals.inner"
		totals "$ROWS" >"$T/totals.all"
		[ "$(wc -l <"$T/totals.inner")" -eq 101 ]
		[ "$(ROWS=$T/inner sum_of exit '' 1)" -eq 300 ]
		[ "$(sum_of exit '' 1)" -eq 300 ]
		# Each row of the inner one is one of the outer.
		[ "$(comm -23 "$T/totals.inner" "$T/totals.all" | wc -l)" -eq 0 ]
	done
}

@test "context switches of a fork storm: as many as perf stat counts" {
	local mine theirs
	need_perf
	go -0 "$CPC_BUILD/cputrack" --engine=kernel -fe -T 0 -c context-switches:u:k -o "$ROWS" \
		perf stat -x, -e context-switches -o "$T/perf" "$WORK/forks" 1000
	theirs=$(perf_value "$T/perf")
	# All but perf itself, which is the last to end.
	mine=$(rows_of exit | head -n -1 | awk '{ n += $4 } END { print n }')
	echo "cputrack $mine, perf $theirs"
	[ "$mine" -ge 1000 ]
	within_1_percent "$mine" "$theirs"
}

# A signal interrupts the loading of BPF programs.
@test "stopped and continued while it starts, cputrack still counts in the kernel" {
	local pid
	for _ in 1 2 3 4 5; do
		"$CPC_BUILD/cputrack" --engine=kernel -T 0 -c page-faults true >"$T/out" 2>"$T/err" &
		pid=$!
		STRAYS+=("$pid")
		for ms in 1 2 3 4 5 6; do
			sleep 0.00$ms
			kill -STOP "$pid" 2>"$T/kill" || break
			# it may have ended before the first signal came
			kill -CONT "$pid" 2>"$T/kill" || break
		done
		wait "$pid" || { cat "$T/err" && false; }
		grep -q ' exit ' "$T/out"
	done
}
