#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Following fork, vfork, clone and exec.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# Each of the rows with EVENT has at least LEAST page faults and at most MOST.
all_between() {
	rows_of "$1" | awk -v least="$2" -v most="$3" '
		$4 == "#" { next }
		$4 < least || $4 > most { print "not in " least ".." most ": " $0; failed = 1 }
		{ seen = 1 }
		END { exit failed || !seen }'
}

# Sum over exit rows and the exec rows with totals.
life_sum() {
	echo $(($(sum_of exit) + $(sum_of exec)))
}

# The median of the numbers in the arguments.
median() {
	printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

@test "-f: one after the other, every child has its fork and exit row and its own count" {
	track -0 -f -T 0 -c page-faults "$WORK/forks" -p 500 10
	check_format
	check_life
	[ "$(count_of fork)" -eq 10 ]
	[ "$(count_of exit)" -eq 11 ]
	root=$(table | awk 'NR == 1 { print $1 }')
	table | awk -v root="$root" '
		$3 == "exit" && $1 != root && ($4 < 500 || $4 > 600) { print; failed = 1 }
		$3 == "exit" && $1 == root && $4 >= 500 { print; failed = 1 }
		$3 == "fork" && ($1 != root || $2 != 1) { print; failed = 1 }
		END { exit failed }'
}

@test "-f: 50 children at once" {
	track -0 -f -T 0 -c page-faults "$WORK/forks" -j -p 20 50
	check_life
	[ "$(count_of fork)" -eq 50 ]
	[ "$(count_of exit)" -eq 51 ]
	[ "$(sum_of exit)" -ge 1000 ]
}

@test "-f: 200 processes that fork at the same time, and rows of processes that end as they fork" {
	track -0 -f -T 0 -c page-faults "$WORK/births" crowd
	check_life
	[ "$(count_of fork)" -eq 800 ]
	[ "$(count_of exit)" -eq 801 ]
	track -0 -f -T 0 -c page-faults "$WORK/births" chains
	check_life
	[ "$(count_of fork)" -eq 400 ]
	[ "$(count_of exit)" -eq 401 ]
}

@test "without -f children run untracked, and a message at the end counts them" {
	track -0 -T 0 -c page-faults "$WORK/forks" -p 2000 5
	check_format
	[ "$(count_of exit)" -eq 1 ]
	[ "$(sum_of exit)" -lt 2000 ]
	[ "$stderr" = "cputrack: not counted: 5 child processes; -f counts them" ]
	track -0 -T 0 -c page-faults "$WORK/vforks" 1
	[ "$stderr" = "cputrack: not counted: 1 child process; -f counts it" ]
	# at the time of the attach, too
	start pool "$WORK/thread-pool" 2
	eventually said pool ready
	start ct cputrack -v -T 0 -o "$ROWS" -c page-faults -p "${PIDS[pool]}"
	eventually grep -q init_lwp "$ROWS"
	tell pool ff
	eventually said pool "done" 2
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$(cat "$T/ct.err")" = "cputrack: not counted: 2 child processes; -f counts them" ]
	# threads are always counted
	track -0 -T 0 -c page-faults "$WORK/threads" 3
	[ -z "$stderr" ]
}

@test "without -f a child can be traced by its parent at once" {
	for _ in {1..20}; do
		go -0 cputrack -o "$ROWS" -T 0 -c page-faults "$WORK/ptrace-child" seize
		[ "$output" = PASS ]
	done
}

@test "a message names what was not followed: children, programs, both, and the options for it" {
	local pid
	track -0 -T 0 -c page-faults sh -c "'$WORK/touch-pages' 1; '$WORK/touch-pages' 1; exec '$WORK/touch-pages' 300"
	pid=$(sed -n "s/.*which process \([0-9]*\) executed.*/\1/p" <<<"$stderr")
	[ "$stderr" = "cputrack: not counted: 2 child processes, and '$WORK/touch-pages 300', which process $pid executed; -fe counts them" ] ||
		[[ $stderr == "cputrack: not counted: 2 child processes, and '"*"...', which process $pid executed; -fe counts them" ]]
	track -0 -e -T 0 -c page-faults sh -c "'$WORK/touch-pages' 1; exec sleep 0"
	[ "$stderr" = "cputrack: not counted: 1 child process; -f counts it" ]
	track -0 -T 0 -c page-faults env sleep 0
	[[ $stderr =~ ^"cputrack: not counted: 'sleep 0', which process "[0-9]+" executed; -e counts it"$ ]]
	track -0 -f -T 0 -c page-faults sh -c "sleep 0; sleep 0; sleep 0; exit 0"
	[[ $stderr =~ ^"cputrack: not counted: 'sleep 0', which process "[0-9]+" executed, and 2 more programs; -e counts them"$ ]]
	track -0 -fe -T 0 -c page-faults sh -c "sleep 0; exec sleep 0"
	[ -z "$stderr" ]
	# without -c children and programs are followed
	go -0 cputrack -T 0 -o "$ROWS" sh -c "sleep 0; exec sleep 0"
	[ -z "$stderr" ]
	[ "$(count_of exit)" -eq 2 ]
	[ "$(count_of fork)" -eq 1 ]
	[ "$(count_of exec)" -eq 4 ]
}

@test "-fe of a shell pipeline: every process has its rows, perf stat counts the same" {
	need_perf
	still
	events=page-faults
	if "$WORK/probe" kernel; then
		events=page-faults,context-switches
	fi
	# the same environment for both: its size may take another page of each stack
	command=(env -i PATH=/usr/bin:/bin sh -c 'ls | sort | wc -l')
	ours=() theirs=()
	for _ in 1 2 3; do
		track -0 -fe -c "$events" "${command[@]}"
		check_format
		check_life
		ours+=("$(life_sum)")
		"${STILL[@]}" perf stat -x, -e page-faults:u -o "$T/perf" "${command[@]}" >/dev/null
		theirs+=("$(perf_value "$T/perf")")
	done
	echo "cputrack ${ours[*]}, perf ${theirs[*]}"
	for program in ls sort 'wc -l'; do
		[ "$(rows_of exec | grep -c "# '$program'")" -eq 1 ]
	done
	within_1_percent "$(median "${ours[@]}")" "$(median "${theirs[@]}")"
}

@test "-fe of make -j2: every process has its rows, perf stat counts the same" {
	need_command make gcc
	need_perf
	mkdir "$T/project"
	cp "$BATS_TEST_DIRNAME"/../work/{touch-pages,threads,forks,execs}.c \
		"$BATS_TEST_DIRNAME/../work/work.h" "$T/project"
	printf '%b' 'all: touch-pages threads forks execs\n' \
		'%.o: %.c work.h\n\tgcc -O1 -c -o $@ $<\n' \
		'touch-pages threads forks execs: %: %.o\n\tgcc -pthread -o $@ $<\n' \
		>"$T/project/Makefile"
	still
	# On one CPU: two compilers lock pages of the same file, and each page that one finds
	# locked is another fault.  The same environment for both: as above.
	command=(taskset -c "$(cpus | head -n 1)" env -i PATH=/usr/bin:/bin
		make -s -C "$T/project" -j2)
	"${STILL[@]}" "${command[@]}"
	make_clean
	"${STILL[@]}" perf stat -x, -e page-faults:u -o "$T/perf" "${command[@]}"
	make_clean
	track -0 -fe -c page-faults "${command[@]}"
	[ -x "$T/project/execs" ]
	check_format
	check_life
	# gcc -c runs cc1 and as, from gcc 16 on by its path; a link runs collect2 and ld
	[ "$(rows_of exec | grep -c "# '[^ ]*/cc1 ")" -eq 4 ]
	[ "$(rows_of exec | grep -cE "# '([^ ]*[/-])?as ")" -eq 4 ]
	[ "$(rows_of exec | grep -c "# '[^ ]*ld ")" -eq 4 ]
	echo "cputrack $(life_sum), perf $(perf_value "$T/perf")"
	within_1_percent "$(life_sum)" "$(perf_value "$T/perf")"
}

make_clean() {
	rm -f "$T"/project/*.o "$T"/project/{touch-pages,threads,forks,execs}
}

@test "-f: vfork children work in their parent's memory, which waits" {
	track -0 -f -T 0 -c page-faults "$WORK/vforks" -p 300 8
	[ "$output" = PASS ]
	check_life
	[ "$(count_of fork)" -eq 8 ]
	[ "$(count_of exit)" -eq 9 ]
	root=$(table | awk 'NR == 1 { print $1 }')
	table | awk -v root="$root" '
		$3 == "exit" && $1 != root && ($4 < 300 || $4 > 400) { print; failed = 1 }
		$3 == "exit" && $1 == root && $4 >= 300 { print; failed = 1 }
		END { exit failed }'
}

@test "-fe: vfork children that execute: both images are counted" {
	track -0 -fe -T 0 -c page-faults "$WORK/vforks" -x -p 300 8
	[ "$output" = PASS ]
	check_life
	[ "$(count_of fork)" -eq 8 ]
	[ "$(count_of exec)" -eq 16 ]
	[ "$(count_of exit)" -eq 9 ]
	all_between exec 300 400
	root=$(table | awk 'NR == 1 { print $1 }')
	table | awk -v root="$root" '
		$3 == "exit" && $1 != root && ($4 < 300 || $4 > 450) { print; failed = 1 }
		END { exit failed }'
}

@test "vfork children that are not followed: their parent waits for them as without tracking" {
	track -0 -T 0 -c page-faults "$WORK/vforks" -x -p 300 8
	[ "$output" = PASS ]
	[ "$(count_of exit)" -eq 1 ]
}

@test "-f: processes made by clone in unusual ways" {
	track -0 -f -T 0 -c page-faults "$WORK/clones" -p 300
	[ "$output" = PASS ]
	check_life
	[ "$(count_of fork)" -eq 4 ]
	[ "$(count_of exit)" -eq 5 ]
	[ "$(sum_of exit)" -ge 1200 ]
	[ "$(sum_of exit)" -lt 1700 ]
}

@test "-e: every exec has the totals of the old image, and counts start from 0 again" {
	track -0 -e -T 0 -c page-faults "$WORK/execs" -p 300 6
	check_format
	[ "$(count_of exec)" -eq 12 ]
	[ "$(count_of exit)" -eq 1 ]
	all_between exec 300 400
	all_between exit 300 400
	[ "$(table | awk '{ print $3 }' | uniq -c | tr -s ' ' | tr '\n' ';')" = ' 12 exec; 1 exit;' ]
}

@test "-e: a failed exec changes nothing" {
	track -0 -e -T 0 -c page-faults "$WORK/execs" -f -p 300 2
	[ "$(count_of exec)" -eq 4 ]
	all_between exec 300 400
	track -0 -e -T 0 -c page-faults "$WORK/execs" -f -p 300 0
	[ "$(count_of exec)" -eq 0 ]
	all_between exit 300 400
}

@test "without -e tracking ends at the exec, the command's status counts" {
	track -7 -T 0 -c page-faults sh -c "exec sh -c 'exit 7'"
	check_format
	[ "$(count_of exec)" -eq 2 ]
	[ "$(count_of exit)" -eq 0 ]
	track -0 -T 0 -c page-faults "$WORK/execs" -p 300 3
	[ "$(count_of exec)" -eq 2 ]
	[ "$(table | wc -l)" -eq 2 ]
	all_between exec 300 400
}

@test "without -e: a program that is then traced by its parent runs to its end" {
	go -0 cputrack -o "$ROWS" -T 0 -c page-faults sh -c "exec '$WORK/ptrace-child' itself"
	[ "$output" = PASS ]
	go -0 cputrack -fe -o "$ROWS" -T 0.01 -N 2 -c page-faults \
		sh -c "sleep 0.2; exec '$WORK/ptrace-child' itself"
	[ "$output" = PASS ]
}

@test "-f without -e: a child is followed up to its exec, its parent goes on" {
	track -0 -f -T 0 -c page-faults sh -c "'$WORK/touch-pages' 3000; '$WORK/touch-pages' 3000; exit 0"
	check_format
	[ "$(count_of fork)" -eq 2 ]
	[ "$(count_of exec)" -eq 4 ]
	[ "$(count_of exit)" -eq 1 ]
	[ "$(sum_of exit)" -lt 3000 ]
	[ "$(sum_of exec)" -lt 3000 ]
}

@test "the exec that starts the command gives no row" {
	track -0 -e -T 0 -c page-faults "$WORK/touch-pages" 10
	[ "$(count_of exec)" -eq 0 ]
	[ "$(table | wc -l)" -eq 1 ]
}

@test "an older child of the process that executes cputrack is not taken for the command" {
	# shellcheck disable=SC2016 # for the inner shell
	go -0 bash -c '"$1" 100000 >/dev/null & echo $! >"$0"; shift; exec "$@"' "$T/child" \
		"$WORK/execs" cputrack -fe -T 0 -o "$ROWS" -c page-faults "$WORK/print-ids"
	STRAYS+=("$(<"$T/child")")
	kill -0 "$(<"$T/child")"
	[ -z "$stderr" ]
	[ "$(table | awk '{ print $3 }')" = exit ]
}

@test "a thread that is not the leader executes: its image's totals, then LWP 1" {
	track -0 -e -v -T 0 -c page-faults "$WORK/exec-thread" -p 300 4
	[ "$output" = PASS ]
	check_format
	check_sums
	[ "$(count_of exec)" -eq 2 ]
	[ "$(count_of exit)" -eq 1 ]
	[ "$(sum_of exec)" -ge 1500 ]
	[ "$(sum_of exec)" -lt 1900 ]
	all_between exit 300 400
	# the exec kills the sleeping threads
	for lwp in 2 3 4 5; do
		[ "$(count_of lwp_exit "$lwp")" -eq 1 ]
	done
	[ "$(count_of init_lwp 1)" -eq 2 ]
	[ "$(table | awk 'exec_seen == 2 { print $2 } $3 == "exec" { exec_seen++ }' | sort -u)" = 1 ]
}

@test "a thread executes, without -e and without others" {
	track -0 -T 0 -c page-faults "$WORK/exec-thread" -p 300 0
	[ "$output" = PASS ]
	[ "$(count_of exec)" -eq 2 ]
	[ "$(count_of exit)" -eq 0 ]
}

@test "-f: a daemon is followed to its end" {
	track -0 -f -T 0 -c page-faults "$WORK/daemon" -p 700 "$T/pid"
	check_life
	[ "$(count_of fork)" -eq 2 ]
	[ "$(count_of exit)" -eq 3 ]
	daemon=$(cat "$T/pid")
	table | awk -v pid="$daemon" '$1 == pid && $3 == "exit" { n = $4 } END { exit !(n >= 700 && n < 800) }'
}

@test "-f: a child forked by a program with many threads" {
	start ct cputrack -o "$ROWS" -f -T 0 -c page-faults "$WORK/thread-pool" -p 300 5
	eventually said ct ready
	tell ct fft
	eventually said ct "done" 3
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	check_life
	[ "$(count_of fork)" -eq 2 ]
	[ "$(count_of exit)" -eq 3 ]
	[ "$(count_of lwp_exit)" -eq 6 ]
	root=$(table | awk 'NR == 1 { print $1 }')
	table | awk -v root="$root" '
		$1 != root && $3 == "exit" && ($4 < 300 || $4 > 400) { print; failed = 1 }
		$1 != root && $2 != 1 { print; failed = 1 }
		END { exit failed }'
}

@test "-fev: in every process and image the LWPs add up to the totals, exactly" {
	track -0 -fev -T 0 -c page-faults,task-clock sh -c \
		"'$WORK/threads' -p 5 20; '$WORK/execs' -p 5 3; '$WORK/vforks' -x 3; '$WORK/forks' -j 5; '$WORK/exec-thread' 3"
	check_format
	check_sums
	check_life
}

@test "-fe: children of a process that was killed are followed to their ends" {
	for kind in forks threads execs; do
		for how in '' -g; do
			# shellcheck disable=SC2086 # none or one option
			track -0 -fev -T 0.01 -c page-faults "$WORK/killed-parents" -c 500 $how 40 "$kind" >"$T/log" ||
				{ tail -n 30 "$T/log" && false; }
			[ "$output" = PASS ]
			[ -z "$stderr" ]
			check_sums
			check_life
		done
	done
}

@test "a shell that runs many programs: 200 children in turn" {
	# shellcheck disable=SC2016 # for the inner shell
	track -0 -fe -T 0 -c page-faults sh -c \
		'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done'
	check_life
	[ "$(count_of fork)" -eq 200 ]
	[ "$(count_of exec)" -eq 400 ]
	[ "$(count_of exit)" -eq 201 ]
}
