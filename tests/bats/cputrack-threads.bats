#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# LWPs: their numbers, their rows, and how they add up.

# shellcheck disable=SC2016 # for awk
# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# LWPs 2..$1 have exactly one lwp_create row and after it one lwp_exit row; the first
# LWP has neither; no other LWPs appear.
check_lwps() {
	table | awk -v last="$1" '
		function bad(why) { print why ": " $0; failed = 1 }
		$2 > last { bad("an LWP too many") }
		$3 == "lwp_create" { if ($2 == 1 || created[$2]++) bad("created again") }
		$3 == "lwp_exit" {
			if ($2 == 1 || !created[$2] || gone[$2]++) bad("not alive")
		}
		$3 == "lwp_create" || $3 == "tick" { if (gone[$2]) bad("a row after lwp_exit") }
		END {
			for (i = 2; i <= last; i++) if (!gone[i]) {
				print "no lwp_exit of LWP " i; failed = 1
			}
			exit failed
		}'
}

# The exit row is exactly the lwp_exit rows and the main LWP's fini_lwp row; for -v.
check_exit() {
	[ "$(count_of exit)" -eq 1 ]
	[ "$(count_of fini_lwp 1)" -eq 1 ]
	echo "exit $(sum_of exit), main $(sum_of fini_lwp 1), the rest $(sum_of lwp_exit)"
	[ "$(sum_of exit)" -eq $(($(sum_of lwp_exit) + $(sum_of fini_lwp 1))) ]
}

@test "1000 threads: 1000 lwp_create and lwp_exit rows, and the sum is exact" {
	track -0 -v -T 0 -c page-faults "$WORK/threads" -p 3 1000
	check_format >"$T/format" || { head -n5 "$T/format" && false; }
	[ "$(count_of lwp_create)" -eq 1000 ]
	[ "$(count_of lwp_exit)" -eq 1000 ]
	[ "$(count_of init_lwp)" -eq 1001 ]
	[ "$(count_of fini_lwp)" -eq 1001 ]
	check_lwps 1001
	check_exit
	check_sums
	[ "$(sum_of lwp_exit)" -ge 3000 ]
}

@test "without -v there are neither init_lwp nor fini_lwp rows" {
	track -0 -T 0 -c page-faults "$WORK/threads" 20
	check_format
	check_lwps 21
	[ "$(table | awk '{ print $3 }' | sort -u | tr '\n' ' ')" = "exit lwp_create lwp_exit " ]
}

@test "LWP numbers are the order of creation, counts those of the LWP" {
	track -0 -T 0 -c page-faults "$WORK/threads" -i -p 100 20
	check_lwps 21
	every_row lwp_exit '$4 >= ($2 - 1) * 100 && $4 <= ($2 - 1) * 100 + 50' 20
	[ "$(sum_of exit)" -ge 21000 ]
	[ "$(sum_of exit)" -lt 21500 ]
}

@test "perf stat counts the same over all threads, within 1 %" {
	need_perf
	still
	track -0 -T 0 -c page-faults "$WORK/threads" -p 50 100
	"${STILL[@]}" perf stat -x, -e page-faults:u -o "$T/perf" "$WORK/threads" -p 50 100
	echo "cputrack $(sum_of exit), perf $(perf_value "$T/perf")"
	within_1_percent "$(sum_of exit)" "$(perf_value "$T/perf")"
}

@test "exit_group by the leader while 20 threads live: each has its lwp_exit row" {
	track -4 -v -T 0 -c page-faults "$WORK/exit-group" -x 4 -p 50 20
	check_format
	check_lwps 21
	check_exit
	check_sums
	[ "$(sum_of lwp_exit)" -ge 1000 ]
}

@test "exit_group by a thread while 20 others live" {
	track -4 -v -T 0 -c page-faults "$WORK/exit-group" -t -x 4 -p 50 20
	check_format
	check_lwps 22
	check_exit
	check_sums
	[ "$(sum_of lwp_exit)" -ge 1000 ]
}

@test "the leader ends before its threads: their counts are complete" {
	track -0 -v -T 0 -c page-faults "$WORK/leader-first" -p 200 5
	check_format
	check_lwps 6
	check_exit
	check_sums
	[ "$(sum_of exit)" -ge 1000 ]
	every_row lwp_exit '$4 >= 200 && $4 <= 300' 5
}

@test "the leader ends before its threads, the last of which gives the status" {
	track -6 -v -T 0 -c page-faults "$WORK/leader-first" -x 6 -p 200 5
	check_lwps 6
	check_exit
}

@test "the leader ends before its threads: ticks go on" {
	start ct cputrack -v -o "$ROWS" -T 0.05 -c page-faults "$WORK/leader-first" -w -p 200 3
	eventually said ct ready
	before=$(count_of tick 2)
	eventually more_ticks_of 2 $((before + 3))
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	check_lwps 4
	[ "$(sum_of exit)" -ge 600 ]
	# the ticks have all that the leader counted
	awk '$2 == 1 && $3 == "tick" { sum += $4 } $2 == 1 && $3 == "fini_lwp" { all = $4 }
		END { exit !(all > 0 && sum == all) }' "$ROWS"
}

more_ticks_of() {
	[ "$(count_of tick "$1")" -ge "$2" ]
}

@test "a process killed by a thread's signal: all LWPs have their totals" {
	track -137 -v -T 0 -c page-faults "$WORK/die-by-signal" -t 9
	check_lwps 2
	check_exit
	check_sums
}

@test "a crowd of 200 threads: ticks for every LWP, and the sum is exact" {
	start ct cputrack -o "$ROWS" -v -T 0.2 -c page-faults "$WORK/thread-pool" -p 10 200
	eventually said ct ready
	tell ct gg
	eventually said ct "done" 2
	eventually all_ticked 201
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	check_format >"$T/format" || { head -n5 "$T/format" && false; }
	check_lwps 201
	check_exit
	check_sums
	[ "$(sum_of lwp_exit)" -ge 4000 ]
	# the ticks of an LWP are part of its total
	table | awk '
		$3 == "tick" { t[$2] += $4 }
		$3 == "fini_lwp" && t[$2] > $4 { print t[$2] " in ticks: " $0; failed = 1 }
		END { exit failed }'
}

# At least $1 LWPs have tick rows.
all_ticked() {
	[ "$(rows_of tick | awk '{ print $2 }' | sort -u | wc -l)" -ge "$1" ]
}

@test "LWPs count from 1 in every process" {
	track -0 -fe -T 0 -c page-faults sh -c "'$WORK/threads' 5; '$WORK/threads' 5; exit 0"
	[ "$(count_of lwp_create)" -eq 10 ]
	for lwp in 2 3 4 5 6; do
		[ "$(count_of lwp_create "$lwp")" -eq 2 ]
		[ "$(count_of lwp_exit "$lwp")" -eq 2 ]
	done
}

@test "threads and processes are born and die on all sides" {
	start ct cputrack -o "$ROWS" -fv -T 0.05 -c page-faults,task-clock "$WORK/thread-pool" -p 5 20
	eventually said ct ready
	tell ct gtftftftftgtftftftftfgfff
	eventually said ct "done" 25
	tell ct x
	finish ct
	[ "$status" -eq 5 ]
	check_format
	check_sums
	[ "$(count_of fork)" -eq 12 ]
	[ "$(count_of exit)" -eq 13 ]
	[ "$(count_of lwp_create)" -eq 30 ]
	[ "$(count_of lwp_exit)" -eq 30 ]
}

@test "short-lived threads in a child of the command are threads, not processes" {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		track -0 -fev -T 0 -c page-faults sh -c "'$WORK/threads' 50; exit 0" >"$T/log" ||
			{ cat "$T/log" && false; }
		check_life
		check_sums
		[ "$(count_of fork)" -eq 1 ]
		[ "$(count_of lwp_create)" -eq 50 ]
		[ "$(count_of lwp_exit)" -eq 50 ]
	done
}

@test "killed in the midst of births: every LWP and process has its end" {
	for options in '' --foreground; do
		for program in "threads 10000000" "forks 10000000" "vforks -x 10000000" \
			"forks -j 2000" "clones"; do
			# shellcheck disable=SC2086 # options and operands
			track -fev -T 0 -c page-faults timeout $options -s KILL 0.1 \
				"$WORK/"$program >"$T/log"
			# 124: it ended by itself, just when timeout(1) was about to kill it.
			[[ $status =~ ^(137|124|0)$ ]] || { cat "$T/log" && false; }
			check_format
			check_sums
			check_life
			[ "$(count_of lwp_create)" -eq "$(count_of lwp_exit)" ]
		done
	done
}

@test "if some LWPs cannot be counted, no other LWP is lost" {
	by_ptrace # in the kernel LWPs have no files
	# each LWP takes two files
	start ct "${WITH_FILES[@]}" 40 cputrack -o "$ROWS" -v -T 0 \
		-c page-faults,minor-faults "$WORK/thread-pool" -p 10 30
	eventually said ct ready
	tell ct g
	eventually said ct "done"
	hang_up ct
	finish ct
	[ "$status" -eq 1 ]
	cat "$ROWS"
	check_format
	check_sums
	lost=$(rows_of lwp_exit | awk '$4 == "-" && $5 == "-"' | wc -l)
	[ "$lost" -gt 5 ]
	[ "$lost" -lt 25 ]
	[ "$(count_of lwp_exit)" -eq 30 ]
	[ "$(rows_of lwp_exit | awk '$4 >= 10' | wc -l)" -eq $((30 - lost)) ]
	rows_of exit | grep -q '# incomplete$'
	# The reason is printed once, with the number of LWPs.
	[ "$(grep -c "^cputrack: init_lwp: can't bind perf counters to lwp" "$T/ct.err")" -eq 1 ]
	grep -q "^cputrack: $lost LWPs could not be counted; all could, with a limit of" "$T/ct.err"
	enough=$(sed -n 's/.* a limit of \([0-9]*\) files .*/\1/p' "$T/ct.err")
	go -0 "${WITH_FILES[@]}" "$enough" cputrack -o "$ROWS" -c page-faults,minor-faults \
		"$WORK/thread-pool" 30
	[ -z "$stderr" ]
	grep -q 'RLIMIT_NOFILE\|ulimit' "$T/ct.err"
	# Just one of them.
	go -1 "${WITH_FILES[@]}" $((40 + 2 * (lost - 1))) cputrack -o "$ROWS" \
		-c page-faults,minor-faults "$WORK/thread-pool" -p 10 30
	grep -q '^cputrack: 1 LWP could not be counted; all could, with a limit of' <<<"$stderr"
}
