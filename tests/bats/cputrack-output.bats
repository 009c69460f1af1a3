#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Output of cputrack: its contents, its destinations, and failed writes.

# shellcheck disable=SC2016 # for awk
# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# The time-stamp counter's column.
case $(uname -m) in
x86_64 | i?86) CYCLES=tsc ;;
*) CYCLES=tick ;;
esac

header() {
	head -n1 "$ROWS"
}

@test "the header, byte by byte" {
	track -0 -T 0 -c page-faults true
	[ "$(header)" = "   time lwp      event      pic0 " ]
	track -0 -T 0 -c page-faults,minor-faults,task-clock true
	[ "$(header)" = "   time lwp      event      pic0      pic1      pic2 " ]
	track -0 -T 0 -f -c page-faults,minor-faults true
	[ "$(header)" = "   time    pid lwp      event      pic0      pic1 " ]
	track -0 -T 0 -t -c page-faults true
	[ "$(header)" = "$(printf '%7s %3s %10s %9s      pic0 ' time lwp event "$CYCLES")" ]
}

@test "the rows, byte by byte" {
	track -0 -T 0 -v -c page-faults,minor-faults "$WORK/threads" 3
	check_format
	grep -Eq '^ {,3}[0-9]+\.[0-9]{3}   1       exit +[0-9]+ +[0-9]+ $' "$ROWS"
	grep -Eq '^ {,3}[0-9]+\.[0-9]{3}   4   lwp_exit +[0-9]+ +[0-9]+ $' "$ROWS"
	grep -Eq '^ {,3}[0-9]+\.[0-9]{3}   4 lwp_create +[0-9]+ +[0-9]+ $' "$ROWS"
	grep -Eq '^ {,3}[0-9]+\.[0-9]{3}   1   init_lwp +[0-9]+ +[0-9]+ $' "$ROWS"
}

@test "a fork row: blank counters, then the new process id" {
	track -0 -T 0 -f -c page-faults,minor-faults "$WORK/forks" 1
	check_format
	row=$(grep ' fork ' "$ROWS")
	child=$(rows_of exit | awk 'NR == 1 { print $1 }')
	[[ $row =~ ^' '*[0-9]+\.[0-9]{3}' '+[0-9]+'   1       fork '' '{20}"# $child"$ ]]
}

@test "exec rows: totals, then blank counters and the command line in quotes" {
	track -0 -T 0 -e -c page-faults,minor-faults sh -c "exec sh -c 'exit  0' sh two"
	check_format
	[ "$(count_of exec)" -eq 2 ]
	grep -Eq '^ *[0-9.]+   1       exec +[0-9]+ +[0-9]+ $' "$ROWS"
	grep -Eq "^ *[0-9.]+   1       exec {21}# 'sh -c exit  0 sh two'\$" "$ROWS"
}

@test "a command line cannot break the table: unprintable characters are escaped" {
	# shellcheck disable=SC2016 # for the inner shell
	track -0 -T 0 -e -c page-faults sh -c 'exec /bin/true "$@"' sh \
		$'one\ntwo' $'\033[31m' $'tab\there' $'\x7f' $'\xff\xfe' ''
	[ "$(wc -l <"$ROWS")" -eq 4 ]
	if grep -n '[^ -~]' "$ROWS"; then
		false
	fi
	rows_of exec | grep -q "# '/bin/true one.*two"
}

@test "-n: no header" {
	track -0 -T 0 -n -c page-faults "$WORK/threads" 2
	[ "$(grep -c time "$ROWS")" -eq 0 ]
	[ "$(wc -l <"$ROWS")" -eq 5 ]
}

@test "-t: a column of cycles" {
	track -0 -T 0 -f -t -c page-faults "$WORK/forks" -p 100 2
	check_format
	grep -q "pid lwp      event  *$CYCLES      pic0 \$" "$ROWS"
	# three runs: the columns are cycles, page faults
	every_row exit '$4 > 0' 3
	every_row exit 'NR > 2 || $5 >= 100 && $5 <= 200'
}

@test "-t: cycles of the LWPs add up to the totals as counts do" {
	track -0 -T 0 -f -e -v -t -c page-faults sh -c "'$WORK/threads' 50; '$WORK/execs' 3; exit 0"
	check_format
	check_sums
}

@test "a record has the cycles, though the table shows none" {
	go -0 cputrack -O "$T/record" -c page-faults "$WORK/spin" 0.2
	[ "$(jq 'select(.kind == "exit").cycles' "$T/record")" -gt 50000000 ]
}

@test "-t: cycles are those in which the LWP ran" {
	track -0 -T 0 -t -c task-clock "$WORK/spin" 0.2
	# between 1 MHz, as a timer of Arm may have, and 20 GHz
	every_row exit '$4 > $5 / 1000 && $4 < $5 * 20' 1
}

@test "the table goes to standard output unless -o says where" {
	go -0 cputrack -T 0 -c page-faults "$WORK/touch-pages" 100
	[ "${lines[0]}" = "   time lwp      event      pic0 " ]
	[ "${#lines[@]}" -eq 2 ]
	go -0 cputrack -T 0 -o "$ROWS" -c page-faults echo hello
	[ "$output" = hello ]
	[ -z "$stderr" ]
	[ "$(wc -l <"$ROWS")" -eq 2 ]
}

@test "-o: an old file is replaced" {
	seq 10000 >"$ROWS"
	track -0 -T 0 -c page-faults true
	[ "$(wc -l <"$ROWS")" -eq 2 ]
	check_format
}

@test "-o: a file that cannot be written is an error, and the command is not started" {
	for file in /nonexistent/directory/rows "$T"; do
		go -1 cputrack -o "$file" -c page-faults touch "$T/proof"
		[ ! -e "$T/proof" ]
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == cputrack:*"$file"* ]]
	done
}

@test "-o: an old file is kept when there is nothing to track" {
	echo old >"$ROWS"
	go -127 cputrack -o "$ROWS" -c page-faults /nonexistent/program
	go -1 cputrack -o "$ROWS" -c page-faults -p 2147483647
	[ "$(cat "$ROWS")" = old ]
}

@test "-o: /dev/stderr and /dev/fd/N are shared with other writers" {
	for name in stderr fd/2; do
		echo old >"$T/log"
		sh -c "cputrack -o /dev/$name -T 0 -c page-faults sh -c 'echo said >&2'; echo after >&2" \
			2>>"$T/log"
		awk 'NR == 1 { ok = $1 == "old" } { n[$1]++ } $3 == "exit" { n["row"]++ }
			END { exit !(ok && NR == 5 && n["said"] && n["time"] && n["row"] && $1 == "after") }' \
			"$T/log"
	done
}

@test "a full disk is reported at once, not when the command has ended" {
	# shellcheck disable=SC2016 # for the inner shell
	start ct bash -o pipefail -c '(ulimit -f 0; exec cputrack -o "$0" -T 0.05 -c page-faults "$1" 3) 2>&1 | cat' \
		"$ROWS" "$WORK/thread-pool"
	eventually said ct "cputrack: cannot write '$ROWS': File too large"
	eventually said ct ready
	tell ct gx
	finish ct
	[ "$status" -eq 1 ]
	[ "$(grep -c cputrack: "$T/ct.out")" -eq 1 ]
}

@test "a limit of the size of files ends the table, not the command" {
	# shellcheck disable=SC2016 # for the inner shell
	go -1 bash -c 'ulimit -f 1; exec cputrack -fe -T 0 -o "$0" -c page-faults \
		sh -c "\$0 100; echo ended" "$1"' "$ROWS" "$WORK/threads"
	[ "$stderr" = "cputrack: cannot write '$ROWS': File too large" ]
	[ "$output" = ended ]
}

@test "a full disk: one message, the command runs to its end, status 1" {
	[ -c /dev/full ] || skip "there is no /dev/full"
	# shellcheck disable=SC2016 # for the inner shell
	go -1 sh -c 'exec "$@" >/dev/full' sh cputrack -fe -T 0 -c page-faults \
		sh -c "'$WORK/threads' 100; touch '$T/proof'"
	[ -e "$T/proof" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == cputrack:*"No space left on device"* ]]
}

@test "a full disk while attached: cputrack ends with status 1, the program runs on" {
	need attach
	[ -c /dev/full ] || skip "there is no /dev/full"
	start crowd "$WORK/thread-pool" 3
	eventually said crowd ready
	# shellcheck disable=SC2016 # for the inner shell
	go -1 sh -c 'exec "$@" >/dev/full' sh cputrack -T 0.05 -c page-faults -p "${PIDS[crowd]}"
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == cputrack:*"No space left on device"* ]]
	untraced "${PIDS[crowd]}"
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
}

# Run with a pipe without a reader as standard output.
with_closed_pipe() {
	local both write
	mkfifo "$T/pipe"
	exec {both}<>"$T/pipe"
	exec {write}>"$T/pipe"
	exec {both}>&-
	run --separate-stderr "${LIMIT[@]}" "$WORK/record-exit" "$T/ending" bash -c "exec \"\$@\" >&$write" bash "$@"
	exec {write}>&-
	cat "$T/ending"
	echo "stderr: $stderr"
}

@test "a closed pipe: the command runs to its end, then cputrack dies of SIGPIPE, quietly" {
	with_closed_pipe cputrack -fe -T 0 -c page-faults \
		sh -c "'$WORK/threads' 100; touch '$T/proof'"
	[ "$(tail -n1 "$T/ending")" = "signal 13" ]
	[ -z "$stderr" ]
	[ -e "$T/proof" ]
}

@test "a closed pipe while attached: the program runs on" {
	need attach
	start crowd "$WORK/thread-pool" 3
	eventually said crowd ready
	with_closed_pipe cputrack -T 0.05 -c page-faults -p "${PIDS[crowd]}"
	[ "$(tail -n1 "$T/ending")" = "signal 13" ]
	[ -z "$stderr" ]
	untraced "${PIDS[crowd]}"
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
}

@test "a closed standard output is an error, not silence" {
	# shellcheck disable=SC2016 # for the inner shell
	go -1 sh -c 'exec "$@" >&-' sh cputrack -T 0 -c page-faults true
	[[ $stderr == cputrack:* ]]
}

@test "rows are written at once, not only at the end" {
	start ct cputrack -T 0.05 -c page-faults -o "$ROWS" "$WORK/thread-pool" 2
	eventually said ct ready
	eventually grep -q ' lwp_create ' "$ROWS"
	eventually grep -q ' tick ' "$ROWS"
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
}

@test "rows are written at once, also within a long interval" {
	need attach
	for interval in 0 600; do
		start ct cputrack -T "$interval" -c page-faults "$WORK/thread-pool" 2
		eventually grep -q ' lwp_create ' "$T/ct.out"
		eventually said ct ready
		hang_up ct
		finish ct
		[ "$status" -eq 0 ]
		[ "$(grep -c ' tick ' "$T/ct.out")" -eq 0 ]
	done
	start crowd "$WORK/thread-pool" 1
	eventually said crowd ready
	start ct cputrack -T 600 -c page-faults -p "${PIDS[crowd]}"
	eventually grep -q '^ *time' "$T/ct.out"
	if "$WORK/probe" cpu; then
		start cs cpustat -c page-faults 600
		eventually grep -q '^ *time' "$T/cs.out"
	fi
}

@test "several -c: one spec per interval, and a total for each" {
	track -0 -T 0.02 -c page-faults -c task-clock "$WORK/spin" 0.5
	[ "$(header)" = "   time lwp      event      pic0 " ]
	check_format
	grep -Eq '^ *[0-9.]+   1       exit +[0-9]+ # page-faults$' "$ROWS"
	grep -Eq '^ *[0-9.]+   1       exit +[0-9]+ # task-clock$' "$ROWS"
	[ "$(count_of exit)" -eq 2 ]
	# in turn
	[ "$(rows_of tick | awk '{ print $NF }' | uniq -d | wc -l)" -eq 0 ]
	[ "$(rows_of tick | awk '{ print $NF }' | sort -u | wc -l)" -eq 2 ]
	# each counted a part of the time, never more than all of it
	used=$(rows_of exit | awk '$NF == "task-clock" { print $4 }')
	[ "$used" -gt 0 ]
	[ "$used" -lt 600000000 ]
}

@test "several -c: totals of threads and images, too, one row for each spec" {
	track -0 -e -v -T 0 -c page-faults -c minor-faults sh -c "exec '$WORK/threads' 3"
	check_format
	for spec in page-faults minor-faults; do
		[ "$(rows_of lwp_exit | grep -c "# $spec\$")" -eq 3 ]
		[ "$(rows_of exit | grep -c "# $spec\$")" -eq 1 ]
		[ "$(rows_of exec | grep -c "# $spec\$")" -eq 1 ]
	done
	[ "$(rows_of exec | grep -c "# '")" -eq 1 ]
}

@test "picN= puts an event on its slot; columns are the slots in use" {
	track -0 -T 0 -c pic1=page-faults,minor-faults "$WORK/touch-pages" 100
	[ "$(header)" = "   time lwp      event      pic1      pic2 " ]
	check_format
	track -0 -T 0 -c pic2=page-faults,pic0=minor-faults "$WORK/touch-pages" 100
	[ "$(header)" = "   time lwp      event      pic0      pic2 " ]
}

@test "picN=: columns are in the order of slots, in any order of the spec" {
	track -0 -T 0 -c pic1=task-clock,pic0=page-faults "$WORK/touch-pages" 100
	[ "$(header)" = "   time lwp      event      pic0      pic1 " ]
	every_row exit '$4 >= 100 && $4 < 1000 && $5 > 1000' 1
}

@test "columns that a spec does not have are blank" {
	track -0 -T 0.02 -c pic0=page-faults -c pic1=minor-faults "$WORK/spin" 0.3
	[ "$(header)" = "   time lwp      event      pic0      pic1 " ]
	grep -Eq '^ *[0-9.]+   1       exit +[0-9]+ {11}# pic0=page-faults$' "$ROWS"
	grep -Eq '^ *[0-9.]+   1       exit {11} *[0-9]+ # pic1=minor-faults$' "$ROWS"
	# all of the same width up to the comment
	[ "$(grep '#' "$ROWS" | sed 's/#.*//' | awk '{ print length($0) }' | sort -u | wc -l)" -eq 1 ]
}

@test "every short option has its long one" {
	shape() {
		awk '{ print $1 ~ /time/ ? "header" : "", NF, $4 }' "$1"
	}
	go -0 cputrack -c page-faults -e -f -v -t -T 0 -N 5 -o "$T/short" "$WORK/forks" 3
	go -0 cputrack --events page-faults --follow-exec --follow-fork --verbose --cycles \
		--interval 0 --count 5 --output "$T/long" "$WORK/forks" 3
	[ "$(shape "$T/short")" = "$(shape "$T/long")" ]
	go -0 cputrack --events=page-faults --no-header --interval=0 --output="$T/long" true
	[ "$(wc -l <"$T/long")" -eq 1 ]
	start crowd "$WORK/thread-pool" 1
	eventually said crowd ready
	go -0 cputrack --events=page-faults --interval=0.05 --count=1 --pid="${PIDS[crowd]}"
	[ "$(grep -c ' tick ' <<<"$output")" -eq 2 ]
}

@test "-D says how an event was found; --debug, too" {
	for option in -D --debug; do
		track -0 "$option" -T 0 -c page-faults true
		grep -q 'page-faults' <<<"$stderr"
		[ "$(count_of exit)" -eq 1 ]
	done
}
