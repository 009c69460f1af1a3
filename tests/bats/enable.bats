#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpc_enable() and cpc_disable() in the tracked program: exactly the events between them are
# counted.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # run sets status, output, stderr

load helpers

# Sets $EVENTS: page faults, and calls of hit() where there are breakpoints.
set_events() {
	EVENTS=page-faults
	PICS=(0)
	if "$WORK/probe" breakpoint; then
		EVENTS+=,breakpoint/addr=$("$WORK/enable-disable")/
		PICS+=(1)
	else
		echo "# skipped: calls of hit(): no breakpoints here" >&3
	fi
}

@test "4 threads: the brackets of each, exactly" {
	set_events
	track -0 -T 0 --start-disabled -c "$EVENTS" "$WORK/enable-disable" -n 10 -t 4 50
	check_format
	for pic in "${PICS[@]}"; do
		for lwp in 2 3 4 5; do
			[ "$(sum_of lwp_exit "$lwp" "$pic")" -eq $((500 * (lwp - 1))) ]
		done
		[ "$(sum_of exit 1 "$pic")" -eq 5000 ]
	done
}

@test "counters that start enabled count until a thread disables them" {
	set_events
	need breakpoint
	track -0 -T 0 -c "$EVENTS" "$WORK/enable-disable" -n 10 -t 4 50
	for lwp in 2 3 4 5; do
		[ "$(sum_of lwp_exit "$lwp" 1)" -eq $((600 * (lwp - 1))) ]
	done
	[ "$(sum_of exit 1 1)" -eq 6000 ]
}

@test "10000 brackets" {
	set_events
	track -0 -T 0.1 --start-disabled -c "$EVENTS" "$WORK/enable-disable" -n 10000 3
	for pic in "${PICS[@]}"; do
		[ "$(sum_of exit 1 "$pic")" -eq 30000 ]
	done
	[ "$(sum_of tick)" -le 30000 ]
}

@test "children and new programs start off, too" {
	set_events
	track -0 -fe -T 0 --start-disabled -c "$EVENTS" \
		sh -c "'$WORK/touch-pages' 500; '$WORK/enable-disable' 20; exec '$WORK/enable-disable' 30"
	check_life
	for pic in "${PICS[@]}"; do
		[ "$(sum_of exec '' "$pic")" -eq 0 ]
		[ "$(sum_of exit '' "$pic")" -eq 50 ]
	done
}

@test "attached with -p, off and on" {
	need attach
	set_events
	for off in "" --start-disabled; do
		rm -f "$ROWS"
		start work "$WORK/enable-disable" -w -n 2 100
		eventually said work ready
		start ct cputrack ${off:+"$off"} -T 0.05 -c "$EVENTS" -o "$ROWS" -p "${PIDS[work]}"
		eventually test -s "$ROWS"
		tell work 1234
		finish work
		[ "$status" -eq 0 ]
		finish ct
		[ "$status" -eq 0 ]
		check_format
		if [ ${#PICS[@]} -eq 2 ]; then
			[ "$(sum_of exit 1 1)" -eq $((off ? 200 : 400)) ]
		fi
		if [ -n "$off" ]; then
			[ "$(sum_of exit)" -eq 200 ]
		fi
	done
}

turned() {
	[ "$(count_of tick)" -ge "$1" ]
}

@test "sets that take turns: off stays off, and on stays on" {
	start ct cputrack --start-disabled -T 0.02 -o "$ROWS" -c page-faults -c minor-faults \
		"$WORK/enable-disable" -w 300
	eventually said ct ready
	eventually turned 4
	tell ct 1 # 900 pages, not counted
	eventually said ct ready 2
	eventually turned $(($(count_of tick) + 4))
	tell ct 2 # 300
	eventually said ct ready 3
	eventually turned $(($(count_of tick) + 4))
	tell ct 3
	finish ct
	[ "$status" -eq 0 ]
	check_format
	# Events between two turns are not counted.
	sum=$(sum_of tick)
	[ "$sum" -gt 0 ]
	[ "$sum" -le 300 ]
	[ "$(sum_of exit)" -eq "$sum" ]
}

@test "without cputrack there are no counters to switch" {
	go -1 "$WORK/enable-disable" 10
	[ "$output" = "cpc_disable: Invalid argument" ]
	track -0 -fe -T 0 -c page-faults sh -c "'$WORK/enable-disable' 10; true"
	[ "$output" = "" ]
	# A child that is not followed has no counters, either.
	track -0 -T 0 -c page-faults sh -c "'$WORK/enable-disable' 10; true"
	[ "$output" = "cpc_disable: Invalid argument" ]
}

# signals_meet_brackets MODE RESULT PREFIX...: each signal is delivered as often as it was sent,
# and the program prints RESULT for the brackets.
signals_meet_brackets() {
	local mode=$1 want=$2 urg=500 winch=500
	shift 2
	case $mode in
	threads) winch=0 ;;
	blocked | waited | own) urg=1 winch=1 ;;
	esac
	go -0 "$@" "$WORK/enable-signals" "$mode" 500
	[ "$output" = "URG $urg, WINCH $winch, $want" ]
}

@test "the program's own signals are delivered once each, with any handler" {
	for mode in threads process blocked waited own handler; do
		signals_meet_brackets "$mode" "all well" cputrack -T 0 -o "$ROWS" -c page-faults
		signals_meet_brackets "$mode" "Invalid argument"
	done
}

@test "under strace the calls fail, and the program goes on undisturbed" {
	need_command strace
	for mode in threads handler; do
		signals_meet_brackets "$mode" "Invalid argument" strace -f -o "$T/strace"
	done
}

@test "counters that were never switched on: 0, and a message says so" {
	track -0 --start-disabled -T 0 -c page-faults true
	[ "$(sum_of exit)" -eq 0 ]
	[[ $stderr == *"never on: no tracked LWP called cpc_enable(3)" ]]
}
