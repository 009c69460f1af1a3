#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# While the user waits and nothing is printed, a line on the terminal says why.  Files and pipes get no such line.

# shellcheck disable=SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need_terminal
}

# Run a command line on a terminal, with the lines of its output in $T/terminal, and its status.
on_terminal() {
	go script -q -e -c "$1" "$T/script"
	grep -v '^Script ' "$T/script" | tr -d '\r' >"$T/terminal"
	cat -v "$T/terminal"
}

# The texts at the right edge: each is written and erased, and keeps the cursor's place.
edge() {
	grep -oE $'\e7\e\\[[0-9]+G[^\e]*\e8' "$T/script" | sed -E $'s/\e(7|8|\\[[0-9]+G)//g' |
		grep -v '^ *$' || true
}

# Each text was erased, by as many blanks.
is_erased() {
	[ "$(grep -oE $'\e7\e\\[[0-9]+G +\e8' "$T/script" | wc -l)" = "$(edge | wc -l)" ]
}

@test "summaries without an end say that ^C ends them" {
	local pid engine
	start sleeper cat
	pid=${PIDS[sleeper]}
	for engine in auto ptrace; do
		on_terminal "timeout --foreground -s INT 0.5 cputrack --engine=$engine --by=lwp -c page-faults -p $pid"
		[ "$(head -n1 "$T/terminal")" = "cputrack: counting until ^C, or until the processes have ended" ]
		grep -q "total" "$T/terminal"
	done
	on_terminal "timeout --foreground -s INT 0.5 cputrack -T 0 -c page-faults -p $pid"
	grep -q "^cputrack: counting until" "$T/terminal"
	# these end, or print meanwhile, or ^C does not reach them
	on_terminal "cputrack --by=lwp --for 0.1 -c page-faults -p $pid
		cputrack --by=lwp -T 0.1 -N 1 -c page-faults -p $pid
		timeout --foreground -s INT 0.5 cputrack -c page-faults -p $pid
		timeout -s INT 0.5 cputrack --by=lwp -c page-faults -p $pid; true"
	[ "$(grep -c "counting until" "$T/terminal")" = 0 ]
	go timeout -s INT 0.5 cputrack --by=lwp -c page-faults -p "$pid"
	[ -z "$stderr" ]
}

@test "so do those of cpustat" {
	need cpu
	on_terminal "timeout --foreground -s INT 0.5 cpustat --by=cpu -c page-faults"
	[ "$(head -n1 "$T/terminal")" = "cpustat: counting until ^C" ]
	on_terminal "cpustat --by=cpu -c page-faults 0.1 1; cpustat --by=cpu --for 0.1 -c page-faults
		timeout --foreground -s INT 0.5 cpustat -c page-faults 0.1"
	[ "$(grep -c "counting until" "$T/terminal")" = 0 ]
}

# interrupted COMMAND...: ^C is typed when the command says that it counts until then.
interrupted() {
	rm -f "$T/keys" "$T/script"
	mkfifo "$T/keys"
	start typist sh -c "exec >'$T/keys'; until grep -qs 'counting until' '$T/script'; do sleep 0.1; done; printf '\003'"
	go script -q -e -f -c "exec $*" "$T/script" <"$T/keys"
	finish typist
	tr -d '\r' <"$T/script" >"$T/terminal"
	cat -v "$T/terminal"
}

@test "after ^C, a summary begins in a new line" {
	need cpu
	start sleeper cat
	interrupted cpustat --by=cpu --shared -c page-faults
	grep -qE '^ *cpu +page-faults' "$T/terminal"
	interrupted cputrack --by=lwp -c page-faults -p "${PIDS[sleeper]}"
	grep -qE '^ *pid +tid ' "$T/terminal"
}

@test "a command that runs on after --for or -N" {
	local engine
	for engine in auto ptrace; do
		on_terminal "cputrack --engine=$engine --for 0.1 -c page-faults sleep 2"
		[ "$status" -eq 0 ]
		# the rows come first
		grep -q " detach " <(head -n 3 "$T/terminal")
		[[ $(sed -n 4p "$T/terminal") == "cputrack: counting has ended; waiting for 'sleep' (pid "*")" ]]
	done
	on_terminal "cputrack --by=process -T 0.1 -N 1 -c page-faults sleep 2"
	grep -q "^cputrack: counting has ended" "$T/terminal"
	# not for long, or not on a terminal
	on_terminal "cputrack --for 0.1 -c page-faults sleep 0.2; cputrack -c page-faults true
		cputrack --for 0.1 -c page-faults sleep 2 2>'$T/err'"
	[ "$(grep -c "has ended" "$T/terminal")" = 0 ]
	[ ! -s "$T/err" ]
}

@test "processes that a command has left behind" {
	local engine
	for engine in auto ptrace; do
		on_terminal "cputrack --engine=$engine --by=process -c page-faults sh -c 'sleep 2 &'"
		[ "$(head -n1 "$T/terminal")" = \
			"cputrack: the command has ended; counting the processes that it left behind, until they end or ^C" ]
		[ "$(grep -c "has ended" "$T/terminal")" = 1 ]
		grep -q total "$T/terminal"
	done
	# not for long, not if counting ends before, and not in a file
	on_terminal "cputrack -fe -T 0 -c page-faults sh -c 'sleep 0.1 &'
		cputrack -fe --for 1 -c page-faults sh -c 'sleep 2 &'
		cputrack -fe -c page-faults sh -c 'sleep 1.5 &' 2>'$T/err'"
	[ "$(grep -c "has ended" "$T/terminal")" = 0 ]
	[ ! -s "$T/err" ]
}

@test "-r: a line shows the run and the time, beside the output of the command" {
	local engine
	for engine in auto ptrace; do
		# shellcheck disable=SC2016 # for the inner shell
		on_terminal "cputrack --engine=$engine -r 4 -c page-faults sh -c 'printf \$\$; sleep 1.1; echo .'"
		# After 2 s, so in the second of four runs.
		[ "$(edge | sed 's/, .*//' | tr '\n' ' ')" = "run 2 of 4 run 3 of 4 run 4 of 4 " ]
		edge | grep -qE '^run 3 of 4, [0-9]+ s left$'
		is_erased
		# Nothing else is on the terminal than without it.
		sed -E $'s/\e7\e\\[[0-9]+G[^\e]*\e8//g' "$T/terminal" >"$T/plain"
		[ "$(grep -cE '^[0-9]+\.$' "$T/plain")" = 4 ]
		[ "$(awk '$1 == "page-faults" { print $2 }' "$T/plain")" = 4 ]
	done
	# Not before the time is known, in the first run.
	on_terminal "cputrack --compare -r 2 -c page-faults -- sleep 2.2 -- true"
	[ "$(edge | head -n1)" = "run 1 of 6" ]
	is_erased
	# Short series, terminals that only print, and files have no such line.
	on_terminal "cputrack -r 3 -c page-faults true
		TERM=dumb cputrack -r 2 -c page-faults sleep 2.1
		cputrack -r 2 -c page-faults sleep 2.1 2>'$T/err'"
	[ -z "$(edge)" ]
	[ ! -s "$T/err" ]
}

@test "events that take long to open" {
	need cpu
	need_command strace
	need_unsanitized "the sanitizer cannot be traced"
	[ "$(cpus | wc -l)" -gt 1 ] || skip "there is one CPU, and the line is shown between two"
	on_terminal "strace -o '$T/strace' -e trace=perf_event_open -e inject=perf_event_open:delay_enter=1100000 \
		cpustat -c page-faults 0.1 1"
	[ "$status" -eq 0 ]
	[ "$(edge)" = "opening 1 event on $(cpus | wc -l) CPUs" ]
	is_erased
	on_terminal "cpustat -c page-faults 0.1 1"
	[ -z "$(edge)" ]
}
