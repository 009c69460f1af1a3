#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Exit statuses, and refusals of bad usage.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# cputrack with these arguments and a command fails with status $1 before it runs it.
refuses() {
	local want=$1
	shift
	rm -f "$T/proof"
	go "-$want" cputrack "$@" touch "$T/proof"
	[ -z "$output" ]
	[[ ${stderr_lines[0]} == cputrack:* ]]
	[ ! -e "$T/proof" ]
}

@test "the command's own status" {
	track -0 -c page-faults true
	track -7 -c page-faults sh -c 'exit 7'
	track -255 -c page-faults sh -c 'exit 255'
}

@test "128 + n when it died of signal n" {
	for signal in 1 2 3 6 9 11 13 14 15; do
		track "-$((128 + signal))" -c page-faults "$WORK/die-by-signal" "$signal"
		[ "$(count_of exit)" -eq 1 ]
	done
	# shellcheck disable=SC2016 # for the inner shell
	track -137 -c page-faults sh -c 'kill -KILL $$'
}

@test "the status is the command's, not that of a child which ends later" {
	track -0 -f -c page-faults "$WORK/daemon" "$T/pid"
	[ -s "$T/pid" ]
	track -3 -f -c page-faults sh -c '(exit 5); exit 3'
}

@test "without -e the status is that of the last image" {
	track -7 -c page-faults sh -c "exec sh -c 'exit 7'"
	# shellcheck disable=SC2016 # for the inner shell
	track -143 -c page-faults sh -c 'exec sh -c '\''kill -TERM $$'\'
}

@test "127: not found" {
	track -127 -c page-faults /nonexistent/command
	grep -q "^cputrack: .*/nonexistent/command" <<<"$stderr"
	# our own PATH: with a directory that may not be searched execvp(3) fails with EACCES, 126
	PATH=$CPC_BUILD:/usr/bin:/bin track -127 -c page-faults no-such-command-in-the-path
	grep -q "^cputrack: .*no-such-command-in-the-path" <<<"$stderr"
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "126: found, but not executable" {
	echo 'exit 0' >"$T/script"
	chmod 644 "$T/script"
	track -126 -c page-faults "$T/script"
	grep -q "^cputrack: .*$T/script" <<<"$stderr"
	track -126 -c page-faults "$T"
	[ "${#stderr_lines[@]}" -eq 1 ]
	# It is not given to a shell.
	echo 'exit 3' >"$T/garbage"
	chmod +x "$T/garbage"
	PATH=$T:$PATH track -126 -c page-faults garbage
	grep -q "^cputrack: .*'garbage': Exec format error" <<<"$stderr"
}

@test "a script is executed by its interpreter" {
	printf '#!/bin/sh\nexit 9\n' >"$T/script"
	chmod 755 "$T/script"
	track -9 -c page-faults "$T/script"
	[ "$(count_of exit)" -eq 1 ]
}

@test "127: a script whose interpreter is missing" {
	printf '#!/nonexistent/sh\n' >"$T/script"
	chmod 755 "$T/script"
	track -127 -c page-faults "$T/script"
	[ "$stderr" = "cputrack: cannot find the interpreter of program '$T/script'" ]
}

@test "a command that dies of SIGINT: so does cputrack, and a shell's loop ends" {
	need_command python3
	# A shell sees 130 both for an exit and for SIGINT, but ends a loop for SIGINT only.
	go -0 python3 -c 'import subprocess, sys
for command in "kill -INT $$", "kill -TERM $$", "exit 130":
    print(subprocess.run(["cputrack", "-T", "0", "-o", sys.argv[1], "-c", "page-faults",
                          "sh", "-c", command]).returncode)' "$ROWS"
	[ "$output" = $'-2\n143\n130' ]
}

@test "2: bad usage" {
	refuses 2 -c
	refuses 2 -Z
	refuses 2 --no-such-option
	refuses 2 -c page-faults -T
	go -2 cputrack
	go -2 cputrack -c page-faults
}

@test "2: invalid numbers" {
	for bad in abc '' -1 1x 0.0001 nan inf; do
		refuses 2 -c page-faults -T "$bad"
	done
	for bad in abc '' -1 1x 1.5 99999999999999999999; do
		refuses 2 -c page-faults -N "$bad"
	done
	for bad in abc '' -1 0 1x 99999999999999999999; do
		go -2 cputrack -c page-faults -p "$bad"
		[[ ${stderr_lines[0]} == cputrack:* ]]
	done
}

@test "2: -p and a command exclude each other" {
	refuses 2 -c page-faults -p $$
}

@test "2: an unknown event" {
	refuses 2 -c no_such_event
	[[ $stderr == "cputrack: unknown event 'no_such_event'; calls of a function: "* ]] ||
		[[ $stderr == "cputrack: unknown event 'no_such_event' (did you mean "*"?)" ]]
	refuses 2 -c page-faults,no_such_event
	refuses 2 -c page-faults -c no_such_event
	refuses 2 -c ''
	refuses 2 -c ,
	refuses 2 -c page-faults,
	refuses 2 -c 0
}

@test "2: unknown attributes, and those that users may not give" {
	refuses 2 -c page-faults,frobnicate=1
	[ "${#stderr_lines[@]}" -eq 1 ]
	grep -q frobnicate <<<"$stderr"
	refuses 2 -c page-faults,picnum=1
	refuses 2 -c page-faults,sys7
	refuses 2 -c page-faults,sys=x
}

@test "nouser without sys counts nothing, which is an error" {
	refuses 2 -c page-faults,nouser
	[[ $stderr == *"with nouser but without sys it counts nothing" ]]
}

@test "a slot cannot be taken twice" {
	refuses 2 -c pic1=page-faults,pic1=minor-faults
	[ "$stderr" = "cputrack: pic1 is asked for twice, by 'page-faults' and 'minor-faults'" ]
	refuses 2 -c pic99=page-faults
	[[ $stderr == "cputrack: no pic99 for event 'page-faults'"* ]]
}

@test "1: a hardware event where there is no hardware counter" {
	if "$WORK/probe" pmu; then
		skip "this machine has hardware counters"
	fi
	go -1 cputrack -c cycles true
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "cputrack: cannot count 'cycles': "* ]]
	go -1 cputrack -c 0xc0 true
	[[ ${stderr_lines[0]} == "cputrack: cannot count '0xc0': "* ]]
}

@test "-h and --help: the usage on standard output, status 0" {
	go -0 cputrack -h
	[[ ${output,,} == *cputrack*-c*command* ]]
	[ -z "$stderr" ]
	usage=$output
	go -0 cputrack --help
	[ "$output" = "$usage" ]
}

@test "2: arguments that an option does not take" {
	local tool
	for tool in cputrack cpustat; do
		go -2 "$tool" --check true
		[ -z "$output" ]
		[ "$stderr" = "$tool: too many arguments: --check has none; see $tool -h" ]
		go -2 "$tool" -h page-faults task-clock
		[ -z "$output" ]
		[ "$stderr" = "$tool: too many arguments: -h has one pattern; see $tool -h" ]
		go -0 "$tool" -h page-faults
		go -0 "$tool" --version true
	done
}

@test "--version" {
	go -0 cputrack --version
	[[ $output =~ ^cputrack\ [0-9.]+\ \(engines?:\ (kernel,\ )?ptrace\)$ ]]
	[ -z "$stderr" ]
}

@test "-- ends the options, and options of the command are its own" {
	track -7 -c page-faults -- sh -c 'exit 7'
	track -0 -c page-faults sh -c 'exit 0' -T -N
	track -0 -T 0 -c page-faults seq -s , 1 3
	[ "$output" = 1,2,3 ]
}
