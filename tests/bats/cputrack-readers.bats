#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Readers of the output that pause: tracked programs run on, and no row is lost.  A signal ends the
# wait, with a message that counts the missing lines.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines
# shellcheck disable=SC2016 # for the inner shell

load helpers

# Both engines; where the machine cannot count in the kernel, --engine=auto is ptrace, too.
ENGINES=(auto ptrace)

# Makes the pipe $T/pipe, which is full and whose reader, descriptor 9, pauses.
full_pipe() {
	rm -f "$T/pipe" "$T/record"
	mkfifo "$T/pipe"
	exec 9<>"$T/pipe"
	dd if=/dev/zero of="$T/pipe" bs=4096 count=1024 oflag=nonblock 2>"$T/dd.err" && return 1
	grep -q "temporarily unavailable" "$T/dd.err"
}

# Runs a command that writes to the pipe.
into_pipe() {
	local name=$1
	shift
	start "$name" sh -c 'exec "$@" >"$0" 9>&-' "$T/pipe" "$@"
}

# Reads all that is written until the writers have ended.
read_pipe() {
	exec 8<"$T/pipe" 9>&-
	tr -d '\0' <&8 >"$T/rows"
	exec 8<&-
}

# COMMAND has ended after a signal, and has said that all rows of its record are missing in NAME's
# table, which has no header.
misses_all() {
	local command=$1 name=$2 rows
	rows=$("$command" -n -I "$T/record" | wc -l)
	[ "$rows" -ge 1 ]
	grep -qE "^$command: cannot write the last $rows lines \([0-9]+ bytes\) of the output: a signal ended the wait for its reader, which has paused$" \
		"$T/$name.err"
	# --all reports losses of other programs
	[ "$(grep -vc "not counted all the time" "$T/$name.err")" -eq 1 ]
}

sampled() {
	grep -q '"kind":"tick"' "$T/record"
}

@test "attached: the first signal ends it, and the process runs on" {
	local engine signal
	need attach
	for engine in "${ENGINES[@]}"; do
		for signal in TERM INT HUP QUIT; do
			full_pipe
			start sleeper cat
			eventually executes sleeper cat
			into_pipe ct cputrack --engine="$engine" -n -T 0.02 -O "$T/record" -c page-faults -p "${PIDS[sleeper]}"
			eventually sampled
			kill -$signal "${PIDS[ct]}"
			finish ct
			[ "$status" -eq $((128 + $(kill -l $signal))) ]
			misses_all cputrack ct
			untraced "${PIDS[sleeper]}"
			hang_up sleeper
			finish sleeper
			[ "$status" -eq 0 ]
			exec 9>&-
		done
	done
}

@test "--all and cpustat: the first signal ends them" {
	need_root
	need cpu
	run cputrack --engine=kernel -T 0 -c page-faults true
	[ "$status" -eq 0 ] || skip_kernel "$output" "nothing is counted in the kernel here"
	for tool in cputrack cpustat; do
		full_pipe
		if [ "$tool" = cputrack ]; then
			into_pipe tool cputrack --all -n -T 0.1 -O "$T/record" -c page-faults
		else
			into_pipe tool cpustat --shared -n -O "$T/record" -c page-faults 0.02
		fi
		eventually sampled
		kill "${PIDS[tool]}"
		finish tool
		[ "$status" -eq 143 ]
		misses_all "$tool" tool
		exec 9>&-
	done
}

@test "a pause does not stop the program, and no row is lost" {
	local engine
	for engine in "${ENGINES[@]}"; do
		full_pipe
		rm -f "$T/proof"
		into_pipe ct cputrack --engine="$engine" -fe -n -T 0 -c page-faults \
			sh -c '"$1" 1000; : >"$2"' sh "$WORK/forks" "$T/proof"
		eventually test -e "$T/proof"
		read_pipe
		finish ct
		[ "$status" -eq 0 ]
		[ "$(grep -c ' fork ' "$T/rows")" -eq 1001 ]
		[ "$(grep -c ' exit ' "$T/rows")" -eq 1002 ]
		[ ! -s "$T/ct.err" ]
	done
}

@test "the end of the command: it waits for the reader until a signal" {
	local engine signal
	for engine in "${ENGINES[@]}"; do
		for signal in TERM INT; do
			full_pipe
			into_pipe ct cputrack --engine="$engine" -n -T 0 -O "$T/record" -c page-faults "$WORK/threads" 100
			eventually grep -q '"kind":"end"' "$T/record"
			kill -$signal "${PIDS[ct]}"
			finish ct
			[ "$status" -eq $((128 + $(kill -l $signal))) ]
			misses_all cputrack ct
			exec 9>&-
		done
	done
}

@test "a signal that is passed on and ends the command ends cputrack, too" {
	local engine
	for engine in "${ENGINES[@]}"; do
		full_pipe
		into_pipe ct cputrack --engine="$engine" -n -T 0.02 -O "$T/record" -c page-faults sleep 1000
		eventually sampled
		kill "${PIDS[ct]}"
		finish ct
		[ "$status" -eq 143 ]
		misses_all cputrack ct
		exec 9>&-
	done
}

@test "full pipes for both, rows and messages" {
	need attach
	start sleeper cat
	eventually executes sleeper cat
	full_pipe
	for engine in "${ENGINES[@]}"; do
		: >"$T/record"
		# shellcheck disable=SC2094 # it is a pipe
		start ct sh -c 'exec "$@" >"$0" 2>"$0"' "$T/pipe" cputrack -D --engine="$engine" -T 0.02 -O "$T/record" \
			-c page-faults -p "${PIDS[sleeper]}"
		eventually sampled
		kill "${PIDS[ct]}"
		finish ct
		[ "$status" -eq 143 ]
		untraced "${PIDS[sleeper]}"
	done
	exec 9>&-
}

@test "a terminal whose output is stopped" {
	local engine
	need attach
	start sleeper cat
	eventually executes sleeper cat
	export TERMINFO=/nonexistent
	for engine in "${ENGINES[@]}"; do
		: >"$T/record"
		go -0 python3 "$BATS_TEST_DIRNAME/terminal.py" 24 80 'type:\x13' "until:$T/record" kill:TERM -- \
			sh -c 'exec "$@" 2>"$0"' "$T/tty.err" \
			cputrack --engine="$engine" -n -T 0.02 -O "$T/record" -c page-faults -p "${PIDS[sleeper]}"
		[ "$output" = "status 143" ]
		misses_all cputrack tty
		untraced "${PIDS[sleeper]}"
		# the command writes to the terminal itself: it is cputrack that must not wait
		: >"$T/record"
		go -0 python3 "$BATS_TEST_DIRNAME/terminal.py" 24 80 'type:\x13' "until:$T/record" kill:TERM -- \
			sh -c 'exec "$@" 2>"$0"' "$T/tty.err" \
			cputrack --engine="$engine" -n -T 0.02 -O "$T/record" -c page-faults sleep 1000
		[ "$output" = "status 143" ]
		misses_all cputrack tty
	done
	rm "$T/record"
	go -0 python3 "$BATS_TEST_DIRNAME/terminal.py" 24 80 'type:\x13' "until:$T/record" kill:TERM -- \
		sh -c 'exec "$@" 2>"$0"' "$T/tty.err" cpustat --shared -n -O "$T/record" -c page-faults 0.02
	[ "$output" = "signal 15" ]
	misses_all cpustat tty
}
