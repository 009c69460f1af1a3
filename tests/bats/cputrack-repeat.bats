#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Several runs of a command (-r): their end, and their means and deviations.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
}

# The number of runs of event $1 in the table.
runs_of_event() {
	awk -v event="$1" '$1 == event { print $2 }' "$ROWS"
}

# A command that ends at once in its first two runs; in the third it does $1, prints a line and
# stays.
# shellcheck disable=SC2016 # for the inner shell
third_stays() {
	THIRD=(sh -c 'echo >>"$0/begun"
		[ "$(wc -l <"$0/begun")" -eq 3 ] || exit 0
		'"$1"'
		echo ready
		while :; do sleep 0.02; done' "$T")
}

# Status of a command by name, so that death by a signal is not taken for an exit.
how() {
	python3 -c 'import subprocess, sys; print(subprocess.run(sys.argv[1:]).returncode)' "$@"
}

@test "-r: a signal to cputrack ends the runs, and no mean has the run that it cut" {
	local signal n
	for signal in INT QUIT TERM HUP; do
		n=$(kill -l "$signal")
		third_stays "ulimit -c 0"
		rm -f "$T/begun"
		start ct cputrack -r 10 -O "$R" -o "$ROWS" -c page-faults "${THIRD[@]}"
		eventually said ct ready
		kill "-$signal" "${PIDS[ct]}"
		finish ct
		[ "$status" -eq $((128 + n)) ]
		[ "$(cat "$T/ct.err")" = \
			"cputrack: SIG$signal ended the runs: 2 of 10 are complete, and one that it cut is left out" ]
		[ "$(wc -l <"$T/begun")" -eq 3 ]
		[ "$(runs_of_event page-faults) $(runs_of_event seconds)" = "2 2" ]
		# the record has that run, marked as cut
		[ "$(grep -c '"kind":"run"' "$R")" -eq 3 ]
		[ "$(grep -c '"kind":"end".*"cut":true' "$R")" -eq 1 ]
		go -0 "$CPC_BUILD/cputrack" -I "$R" --compare "$R"
		[ "$(awk '$1 == "page-faults" { print $2 }' <<<"$output")" = 2 ]
		"$CPC_BUILD/cputrack" -I "$R" --format=json | cmp - "$R"
	done
}

@test "-r: so does a signal that the command survives" {
	third_stays 'trap "exit 0" TERM'
	start ct cputrack -r 10 -o "$ROWS" -c page-faults "${THIRD[@]}"
	eventually said ct ready
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 143 ]
	[ "$(wc -l <"$T/begun")" -eq 3 ]
	[ "$(runs_of_event page-faults)" = 2 ]
}

@test "-r: a signal that ends the tracking of processes left behind ends the runs, too" {
	# shellcheck disable=SC2016 # for the inner shell
	start ct cputrack -r 2 -o "$ROWS" -c page-faults sh -c '
		sleep 1000 </dev/null >/dev/null 2>&1 &
		echo "$! $$" >>"$0"' "$T/left"
	eventually test -s "$T/left"
	read -r left command <"$T/left"
	STRAYS+=("$left")
	# cputrack may not have seen its end yet: then its run is cut.
	eventually ended "$command"
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 143 ]
	[ "$(wc -l <"$T/left")" -eq 1 ]
	[[ $(cat "$T/ct.err") == "cputrack: SIGTERM ended the runs: "[01]" of 2 are complete"* ]]
}

@test "-r: a signal that only the command gets does not end the runs, SIGINT excepted" {
	# shellcheck disable=SC2016 # for the inner shell
	go -143 cputrack -r 3 -o "$ROWS" -c page-faults sh -c 'kill -TERM $$'
	[ "$stderr" = "cputrack: the command 'sh' failed in 3 of 3 runs: signal 15, Terminated" ]
	[ "$(runs_of_event page-faults)" = 3 ]
	# shellcheck disable=SC2016 # for the inner shell
	[ "$(how cputrack -r 3 -o "$ROWS" -c page-faults sh -c 'kill -INT $$')" = -2 ]
	[ "$(runs_of_event page-faults)" = 1 ]
}

@test "-r: ^C between two runs, and as one begins" {
	local engine at
	need_unsanitized "the sanitizer's runtime has a fork(2) of its own"
	for engine in ptrace auto; do
		[ "$(how env LD_PRELOAD="$CPC_BUILD/tests/raise-at.so" RAISE_AT=between \
			"$CPC_BUILD/cputrack" --engine="$engine" -r 5 -o "$ROWS" -c page-faults true 2>"$T/err")" = -2 ]
		[ "$(cat "$T/err")" = "cputrack: SIGINT ended the runs: 1 of 5 are complete" ]
		[ "$(runs_of_event page-faults)" = 1 ]
	done
	for at in fork killed; do
		[ "$(how env LD_PRELOAD="$CPC_BUILD/tests/raise-at.so" RAISE_AT=$at \
			"$CPC_BUILD/cputrack" --engine=ptrace -r 5 -o "$ROWS" -c page-faults true 2>"$T/err")" = -2 ]
		[[ $(tail -n 1 "$T/err") == "cputrack: SIGINT ended the runs: 0 of 5 are complete"* ]]
		[ "$(how env LD_PRELOAD="$CPC_BUILD/tests/raise-at.so" RAISE_AT=$at \
			"$CPC_BUILD/cputrack" --engine=ptrace -o "$ROWS" -c page-faults true)" = -2 ]
	done
}

# $T/failing: exits with status 7 in each run but the third.
failing() {
	rm -f "$T/n"
	printf '%s\n' '#!/bin/sh' "echo >>'$T/n'" "[ \$(wc -l <'$T/n') -eq 3 ] || exit 7" >"$T/failing"
	chmod +x "$T/failing"
}

# The statuses of the runs in the record.
statuses() {
	sed -n 's/^{"kind":"end".*"status":\([0-9]*\).*/\1/p' "$R" | paste -sd ' '
}

@test "-r: runs that fail are reported, and give the command's status" {
	local engine failed="cputrack: the command '$T/failing' failed in 4 of 5 runs: exit status 7"
	for engine in ptrace auto; do
		failing
		go -7 cputrack --engine="$engine" -r 5 -O "$R" -c page-faults "$T/failing"
		[ "$stderr" = "$failed" ]
		[[ $(line_of page-faults) == "5 "* ]]
		[ "$(statuses)" = "7 7 0 7 7" ]
	done
	go -1 cputrack -r 5 -o "$ROWS" -c page-faults false
	[ "$stderr" = "cputrack: the command 'false' failed in 5 of 5 runs: exit status 1" ]
	# other failures than the first one
	# shellcheck disable=SC2016 # for the inner shell
	go -3 cputrack -r 3 -o "$ROWS" -c page-faults sh -c 'echo >>"$0"; exit $(($(wc -l <"$0") + 2))' "$T/count"
	[ "$stderr" = "cputrack: the command 'sh' failed in 3 of 3 runs: first with exit status 3" ]
	# a status that a shell also has for programs that are not found, and an exec that ends the tracking
	go -127 cputrack -r 2 -o "$ROWS" -c page-faults sh -c 'exit 127'
	[ "$(runs_of_event page-faults)" = 2 ]
}

@test "-r --compare: runs that fail, new or in a record, are reported, status 4" {
	local new="cputrack: the command '$T/failing' failed in 4 of 5 runs: exit status 7" engine
	for engine in ptrace auto; do
		go -0 cputrack --engine="$engine" -r 5 -O "$T/good" -o "$ROWS" -c page-faults true
		failing
		go -4 cputrack --engine="$engine" -r 5 --compare="$T/good" --fail-above=100000 -O "$R" -c page-faults \
			"$T/failing"
		[ "$stderr" = "$new" ]
		[[ $(line_of page-faults) == "5 "* ]]
	done
	# one new run
	go -4 cputrack --engine="$engine" --compare="$T/good" -c page-faults sh -c 'exit 3'
	[ "$stderr" = "cputrack: the command 'sh' failed in 1 of 1 run: exit status 3" ]
	go -4 cputrack --engine="$engine" --compare="$T/good" -N 1 -T 0.02 -c page-faults sh -c 'sleep 0.1; exit 3'
	# the record of it, as the new runs, as the old ones, and as both
	go -4 "$CPC_BUILD/cputrack" -I "$R" --compare="$T/good"
	[ "$stderr" = "cputrack: the command of '$R' failed in 4 of 5 runs: exit status 7" ]
	go -4 "$CPC_BUILD/cputrack" -I "$T/good" --compare="$R" --fail-above=3%
	[ "$stderr" = "cputrack: the command of '$R' failed in 4 of 5 runs: exit status 7" ]
	go -4 cputrack --engine="$engine" -r 2 --compare="$R" --fail-above=3% -c page-faults true
	[ "$stderr" = "cputrack: the command of '$R' failed in 4 of 5 runs: exit status 7" ]
	cp "$R" "$T/killed"
	sed -i 's/^\({"kind":"end".*\)"status":7/\1"signal":9/' "$T/killed"
	go -4 "$CPC_BUILD/cputrack" -I "$R" --compare="$T/killed"
	[ "${stderr_lines[0]}" = "cputrack: the command of '$T/killed' failed in 4 of 5 runs: signal 9, Killed" ]
	[ "${stderr_lines[1]}" = "cputrack: the command of '$R' failed in 4 of 5 runs: exit status 7" ]
	# one run without -r; and a signal
	# shellcheck disable=SC2016 # for the inner shell
	go -137 cputrack --engine="$engine" -O "$T/one" -o "$ROWS" -c page-faults sh -c 'kill -KILL $$'
	go -4 "$CPC_BUILD/cputrack" -I "$T/good" --compare="$T/one"
	[ "$stderr" = "cputrack: the command of '$T/one' failed in 1 of 1 run: signal 9, Killed" ]
	# old records do not have the status; rows keep it
	sed -i 's/^\({"kind":"end".*\),"status":[0-9]*/\1/' "$R"
	go -0 "$CPC_BUILD/cputrack" -I "$R" --compare="$T/good"
	[ -z "$stderr" ]
	sed -i 's/^\({"kind":"end".*\)}/\1,"status":256}/' "$R"
	mistake 1 "$R:$(sed -n '/"kind":"end"/{=;q;}' "$R"): invalid 'status'" "$CPC_BUILD/cputrack" -I "$R"
}

@test "-r: the status of a command that is not tracked to its end" {
	# Without -e, an exec ends the tracking; -N ends it, too.
	go -5 cputrack -r 2 -N 1 -T 0.02 -O "$R" -o "$ROWS" -c page-faults sh -c 'sleep 0.1; exit 5'
	[ "$stderr" = "cputrack: the command 'sh' failed in 2 of 2 runs: exit status 5" ]
	[ "$(statuses)" = "5 5" ]
}

# The words of the line of event $1 in $output, from the second on.
line_of() {
	awk -v event="$1" '$1 == event { $1 = ""; print substr($0, 2) }' <<<"$output"
}

@test "-r: an event that never counted has a line, without a mean" {
	go -0 cputrack -r 2 -T 600 -c page-faults -c task-clock true
	[[ $(line_of page-faults) =~ ^2\ [0-9] ]]
	[[ $output != *"in turns"* ]]
	[ "$(line_of task-clock)" = "0 - - - - - -" ]
	go -0 cputrack -r 2 --delay 600 -O "$R" -c page-faults,task-clock true
	[ "$(line_of page-faults)$(line_of task-clock)" = "0 - - - - - -0 - - - - - -" ]
	[[ $(line_of seconds) =~ ^2\ [0-9] ]]
	# compared with one that counted, and the other way round
	go -0 cputrack -r 2 -O "$T/counted" -o "$ROWS" -c page-faults true
	go -0 "$CPC_BUILD/cputrack" -I "$R" --compare "$T/counted"
	[[ $(line_of page-faults) =~ ^"2/0 "[0-9.]+" "[0-9.]+"% - - - - cannot tell: not counted in new"$ ]]
	go -0 "$CPC_BUILD/cputrack" -I "$T/counted" --compare "$R"
	[[ $(line_of page-faults) =~ ^"0/2 - - "[0-9.]+" "[0-9.]+"% - - cannot tell: not counted in old"$ ]]
}

@test "-r: one run has no deviation, and no comparison" {
	local why="cannot tell: one run is too few"
	go -0 cputrack -r 1 -O "$R" -c page-faults true
	[[ $(line_of page-faults) =~ ^"1 "([0-9.]+)" "([0-9.]+)" - - "([0-9.]+)" "[0-9.]+$ ]]
	[ "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}" = "${BASH_REMATCH[2]} ${BASH_REMATCH[3]}" ]
	[[ $(line_of seconds) =~ ^"1 "[0-9.]+"s "[0-9.]+"s - - " ]]
	# of one run before, of several, and without -r
	go -0 "$CPC_BUILD/cputrack" -I "$R" --compare "$R"
	[[ $(line_of page-faults) == "1 "*" - "*" - +0.00% +0.00% $why" ]]
	go -0 cputrack -r 2 -O "$T/two" -o "$ROWS" -c page-faults true
	go -0 "$CPC_BUILD/cputrack" -I "$R" --compare "$T/two"
	[[ $(line_of page-faults) == "2/1 "*" - "*"% $why" ]]
	go -0 "$CPC_BUILD/cputrack" -I "$T/two" --compare "$R"
	[[ $(line_of page-faults) == "1/2 "*" - "*"% $why" ]]
	go -0 cputrack --compare "$T/two" -c page-faults true
	[[ $(line_of page-faults) == "2/1 "*" - "*"% $why" ]]
}

@test "-r: counts of specs that took turns are marked" {
	# The command runs until each spec has had its turn.
	start ct cputrack -r 1 -T 0.02 -O "$R" -o "$ROWS" -c page-faults -c task-clock cat
	eventually turns 4
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	output=$(cat "$ROWS")
	[[ $(line_of page-faults) =~ ^1\ .*\ "# in turns"$ ]]
	[[ $(line_of task-clock) =~ ^1\ .*\ "# in turns"$ ]]
	[[ $(line_of seconds) != *turns* ]]
}

@test "-r: options for other tables are refused, and not just ignored" {
	local option own="-r and --compare print means"
	go -0 cputrack -r 2 -O "$R" -o "$ROWS" -v -c page-faults true
	grep -q '"kind":"init_lwp"' "$R"
	for option in --names --rate -t --comm --tid --total --changed; do
		mistake 2 "$own, without $option;" cputrack -r 2 $option -c page-faults true
		mistake 2 "$own, without $option;" cputrack --compare "$R" $option -c page-faults true
		mistake 2 "$own, without $option;" "$CPC_BUILD/cputrack" -I "$R" --compare "$R" $option
	done
	mistake 2 "$own, without -v if there is no -O;" cputrack -r 2 -v -c page-faults true
	mistake 2 "$own, without --rate" cputrack -r 2 --rate --format=table -c page-faults true
	for option in openmetrics trace; do
		mistake 2 "this --format; expected table, csv or json" cputrack -r 2 --format=$option -c page-faults true
	done
	go -0 cputrack -r 2 -n -c page-faults true
	[ "${#lines[@]}" -eq 2 ]
}

# The record has $1 samples.
turns() {
	[ "$(grep -c '"kind":"tick"' "$R")" -ge "$1" ]
}

@test "-r: the programs are loaded once, and each run has its own counts" {
	local event=syscalls:sys_enter_getpriority
	by_kernel
	need_tracepoints "${event/://}"
	set_tracefs
	go -0 "${TRACEFS[@]}" cputrack -D -r 20 -f -O "$T/runs" -o /dev/null -c "$event" "$WORK/forks" -s 7 3
	[ "$(grep -c ': counts in the kernel' <<<"$stderr")" = 1 ]
	# Three children with 7 calls in each run, and the first process with none.
	[ "$(jq -c 'select(.kind == "exit") | [.counts[]]' "$T/runs" | sort | uniq -c | xargs)" = "20 [0] 60 [7]" ]
	# Runs that are killed, or whose children live on, are no hindrance.
	go -137 "${TRACEFS[@]}" cputrack -D -r 5 -o /dev/null -c "$event" sh -c 'sleep 0.3 & kill -9 $$'
	[ "$(grep -c ': counts in the kernel' <<<"$stderr")" = 1 ]
}
