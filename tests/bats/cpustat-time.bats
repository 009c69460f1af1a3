#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpustat: sampling times, soakers.  tests/vm/hotplug.sh is stricter,
# on a machine where nothing else runs.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need cpu
	CPUS=$(cpus | wc -l)
}

# check_schedule FILE INTERVAL COUNT: each CPU has COUNT samples, none early, and at most one in
# each interval: late samples are left out, and not followed by several at once.
check_schedule() {
	awk -v step="$2" -v count="$3" -v cpu="$(cpus | head -n1)" '
	function bad(why) { print why ": " $0; failed = 1 }
	$3 == "tick" { rows[$2]++ }
	$3 == "tick" && $2 == cpu {
		n++
		if ($1 < n * step - 0.001) bad("too early")
		if (n > 1 && $1 - n * step < latest - step - 0.002) bad("bunched")
		if (n == 1 || $1 - n * step > latest) latest = $1 - n * step
	}
	END {
		for (cpu in rows) if (rows[cpu] != count) { print rows[cpu] " of CPU " cpu; failed = 1 }
		exit failed || !n
	}' "$1"
}

@test "500 samples in 5 seconds, which add up" {
	need_tracepoints sched/sched_switch
	set_tracefs
	go -0 "${TRACEFS[@]}" cpustat -c sched:sched_switch 0.01 500
	check_schedule - 0.01 500 <<<"$output"
	check_totals - "$CPUS" <<<"$output"
	[ "$(awk '$3 == "total" { print $4 }' <<<"$output")" -ge 500 ] # it switches itself
}

@test "fractions of a millisecond" {
	go -0 cpustat -c context-switches 0.0005 300
	check_schedule - 0.0005 300 <<<"$output"
	check_totals - "$CPUS" <<<"$output"
}

@test "stopped for a while: late samples are left out, not taken at once" {
	start cs cpustat -c page-faults 0.02 30
	eventually grep -q ' tick ' "$T/cs.out"
	kill -STOP "${PIDS[cs]}"
	eventually stopped "${PIDS[cs]}"
	sleep 0.5
	kill -CONT "${PIDS[cs]}"
	finish cs
	[ "$status" -eq 0 ]
	check_schedule "$T/cs.out" 0.02 30
	check_totals "$T/cs.out" "$CPUS"
	awk -v cpu="$(cpus | head -n1)" '$3 == "tick" && $2 == cpu {
		if ($1 - last > gap) gap = $1 - last
		last = $1
	} END { exit gap < 0.5 }' "$T/cs.out"
}

# late_answers CPUS OPTION...: rows of CPU time; cpustat runs on CPUS, and its CPUs, or with keys the
# first one, answer 0.3 s late.
late_answers() {
	taskset -c "$1" env LD_PRELOAD="$CPC_BUILD/tests/slow-read.so" \
		"$CPC_BUILD/cpustat" "${@:2}" -c task-clock -o "$ROWS" --format=csv 0.2 3
}

# check_lengths SLACK: up to each row they have no more CPU time than its time, nor in its interval,
# but for SLACK ns; and they have half of it at least.
check_lengths() {
	csv_awk -v slack="$1" '
		function check() {
			total += ns
			most = (now - before) * 1e9 * ncpus
			if (total > now * 1e9 * ncpus + 1000 || ns > most + slack || ns < most / 2) {
				print ns " ns in " before + 0 " to " now
				failed = 1
			}
			before = now; ns = 0; n++
		}
		$kind != "tick" { next }
		$seconds != now { if (now) check(); now = $seconds; ncpus = 0 }
		{ ns += $count; ncpus = $cpu == "" ? $cpus : ncpus + 1 }
		END { check(); exit failed || n != 3 || now < 0.89 }' <"$ROWS"
}

@test "a CPU that answers late: a row has the time when its counts were read" {
	local two
	need_unsanitized "the sanitizer's runtime has a read(2) of its own"
	two=$(cpus | head -n 2 | paste -sd,)
	late_answers "$two"
	check_lengths 2e8
}

@test "a CPU that answers late: keys have no more time than there was" {
	need_unsanitized "the sanitizer's runtime is to be the first library"
	need_keys
	late_answers "$(cpus | paste -sd,)" -A user
	check_lengths 1000
}

# The idle time of each of our CPUs, in clock ticks.
idle() {
	local cpu
	for cpu in $(cpus); do
		awk -v name="cpu$cpu" '$1 == name { print $5 + $6 }' /proc/stat
	done
}

@test "-s: no CPU idles while a system-only set is bound; afterwards they do" {
	start cs cpustat -s -c context-switches,nouser,sys 0.1
	eventually grep -q ' tick ' "$T/cs.out"
	before=$(idle)
	sleep 0.5
	after=$(idle)
	# A clock tick may have begun before.
	paste <(echo "$before") <(echo "$after") | awk '$2 - $1 > 1 { print; exit failed = 1 }
		END { exit failed }'
	kill -INT "${PIDS[cs]}"
	finish cs
	[ "$status" -eq 130 ]
	check_totals "$T/cs.out" "$CPUS"
}

# Threads of process $1 with the policy SCHED_IDLE (5) and the state $2.
soakers() {
	local stat n=0
	for stat in /proc/"$1"/task/*/stat; do
		if [[ $(sed 's/.*) //' "$stat" 2>/dev/null | cut -d' ' -f1,39) == "$2 5" ]]; then
			n=$((n + 1))
		fi
	done
	[ "$n" -eq "$CPUS" ]
}

@test "-s: the threads rest while another set is bound, and between the rounds" {
	start cs cpustat -s -c context-switches,nouser,sys -c page-faults 0.5
	eventually soakers "${PIDS[cs]}" R
	eventually soakers "${PIDS[cs]}" S
	eventually soakers "${PIDS[cs]}" R
	kill -INT "${PIDS[cs]}"
	finish cs
	start cs cpustat -s -p 2 -c context-switches,nouser,sys 0.2
	eventually soakers "${PIDS[cs]}" R
	eventually soakers "${PIDS[cs]}" S
	eventually soakers "${PIDS[cs]}" R
	kill -INT "${PIDS[cs]}"
	finish cs
}
