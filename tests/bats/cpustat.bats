#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpustat: rows, totals, times, refusals.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	CPUS=$(cpus | wc -l)
}

# sample [-N] ARGUMENT...: cpustat, its table in $ROWS.
sample() {
	local want=() bad=0
	if [[ $1 =~ ^-[0-9]+$ ]]; then
		want=("$1")
		shift
	fi
	# shellcheck disable=SC2016 # for the inner shell
	go "${want[@]}" sh -c 'rows=$1; shift; exec cpustat "$@" >"$rows"' sh "$ROWS" "$@" || bad=1
	cat "$ROWS"
	return $bad
}

ticks() {
	grep -c ' tick ' "$ROWS" || true
}

# Exactly our CPUs have tick rows, $1 each, and each sample is sorted by CPU.
check_cpus() {
	diff <(cpus | awk -v n="$1" '{ print n, $1 }') \
		<(awk '$3 == "tick" { print $2 }' "$ROWS" | sort -n | uniq -c | awk '{ print $1, $2 }')
	diff <(for _ in $(seq "$1"); do cpus; done) <(awk '$3 == "tick" { print $2 }' "$ROWS")
}

# A PMU that counts CPUs only, as those of the power do: its event is the kernel's cpu-clock.
in_power() {
	local pmu=$T/devices/power
	mkdir -p "$pmu/events" "$pmu/format"
	echo 1 >"$pmu/type"
	cpus | head -n1 >"$pmu/cpumask"
	echo config:0-63 >"$pmu/format/event"
	echo event=0x0 >"$pmu/events/energy-pkg"
	echo 0.25 >"$pmu/events/energy-pkg.scale"
	echo Joules >"$pmu/events/energy-pkg.unit"
	unshare -m mount --bind "$T/devices" /sys/bus/event_source/devices || skip "nothing can be mounted here"
	# shellcheck disable=SC2016 # for the inner shell
	go "$1" unshare -m sh -c 'mount --bind "$0" /sys/bus/event_source/devices && exec "$@"' "$T/devices" "${@:2}"
}

@test "-h: what cpustat alone can count, with units" {
	need_root
	need cpu
	in_power -0 cpustat -h
	[ "$(sed -n '/^events of whole CPUs, which only cpustat counts:/,/^$/p' <<<"$output" | sed -n 2p)" = \
		"        power/energy-pkg/ (in Joules)" ]
	in_power -0 cputrack -h
	grep -qx 'of whole CPUs, which only cpustat counts:' <<<"$output"
	in_power -0 cpustat -h energy
	[[ $output =~ ^"power/energy-pkg/ "+"in Joules"$ ]]
	in_power -0 cpustat -c power/energy-pkg/ --names --human 0.05 1
	[[ ${lines[1]} =~ tick\ +[0-9]+Joules$ ]]
}

@test "5 samples: a row for each CPU, totals exactly the sum" {
	need cpu
	sample -0 -c context-switches,cpu-migrations 0.2 5
	[ "$(head -n1 "$ROWS")" = "   time cpu event      pic0      pic1 " ]
	check_cpustat_format "$ROWS"
	check_cpus 5
	check_totals "$ROWS" "$CPUS"
	[ "$(wc -l <"$ROWS")" -eq $((1 + 5 * CPUS + 1)) ]
	[ "$(tail -n1 "$ROWS" | awk '{ print $2, $3 }')" = "$CPUS total" ]
	[ "$(tail -n1 "$ROWS" | awk '{ print $4 }')" -gt 0 ]
	[ -z "$stderr" ]
}

@test "no sample is before its time" {
	need cpu
	sample -0 -c page-faults 0.1 5
	awk -v cpu="$(cpus | head -n1)" '$3 == "tick" && $2 == cpu {
		n++
		if ($1 < n * 0.1 - 0.02 || $1 <= last) { print; failed = 1 }
		last = $1
	} END { exit failed || n != 5 }' "$ROWS"
}

@test "page faults of a whole machine include those of a program" {
	need cpu
	start cs cpustat -c page-faults 0.1
	eventually grep -q ' tick ' "$T/cs.out"
	"$WORK/touch-pages" 5000
	kill -INT "${PIDS[cs]}"
	finish cs
	mv "$T/cs.out" "$ROWS"
	check_totals "$ROWS" "$CPUS"
	[ "$(awk '$3 == "total" { print $4 }' "$ROWS")" -ge 5000 ]
}

@test "only the CPUs that we may use, or those of --cpus" {
	need cpu
	need_command taskset
	first=$(cpus | head -n1) cpu=$(cpus | tail -n1) online=$(getconf _NPROCESSORS_ONLN)
	for command in "taskset -c $cpu cpustat" "taskset -c $first cpustat --cpus=$cpu"; do
		# shellcheck disable=SC2086 # several words
		go -0 $command -c page-faults 0.1 2
		printf '%s\n' "$output" >"$ROWS"
		[ "$(ticks)" -eq 2 ]
		[ "$(awk '$3 == "tick" { print $2 }' "$ROWS" | sort -u)" = "$cpu" ]
		check_totals "$ROWS" 1
		if [ "$online" -gt 1 ] && [[ $command != *--cpus* ]]; then
			[ "$stderr" = "cpustat: counting 1 of $online online CPUs: the others are not in the affinity mask; --cpus=all counts them" ]
		else
			[ -z "$stderr" ]
		fi
	done
	for unit in cpu core socket node all; do
		go -0 taskset -c "$cpu" cpustat --cpus=all -A $unit -c task-clock 0.1 1
		[ "$(awk '$3 == "total" { print $2 }' <<<"$output")" -eq "$online" ]
	done
	mistake 1 "cannot count CPU 65000 of --cpus '65000': it is not online" cpustat --cpus=65000 -c page-faults 1 1
}

@test "busy-time: a CPU that spins is busy all the time, and no CPU more than that" {
	local cpu
	need cpu
	why=$(cpustat --shared -c busy-time 0.01 1 2>&1 >/dev/null) || skip_kernel "$why" "busy time is not counted here"
	cpu=$(cpus | tail -n1)
	start spinner taskset -c "$cpu" sh -c 'while :; do :; done'
	go -0 cpustat --shared --format=json -O "$T/record" -c busy-time,task-clock 0.2 5
	kill "${PIDS[spinner]}"
	finish spinner
	# In nanoseconds; of each CPU both are read one after the other.
	jq -e -s --argjson cpu "$cpu" 'map(select(.kind == "tick")) | length >= 5 and
		all(.counts["busy-time"] <= .counts["task-clock"] + 20e6) and
		(map(select(.cpu == $cpu) | .counts["busy-time"] / .counts["task-clock"]) | add / length > 0.97)' <<<"$output"
	jq -e -s '(map(select(.kind == "tick").counts["busy-time"]) | add) == (map(select(.kind == "total"))[0].counts["busy-time"])' <<<"$output"
	# Several sets take turns; a record shows the same; it is a clock.
	go -0 cpustat --shared -c busy-time -c page-faults,busy-time 0.05 4
	awk '$3 == "tick" { n++; bad += !/busy-time/ } END { exit n == 0 || bad }' <<<"$output"
	go -0 cpustat -I "$T/record" --format=openmetrics
	grep -q '^cpc_events_seconds_total{event="busy-time",cpu="' <<<"$output"
	mistake 1 "cannot count 'busy-time': it is the time that a CPU is not idle; task-clock is the time of an LWP on a CPU" cputrack -c busy-time true
	mistake 1 "cannot count 'busy-time': it is the time that a CPU is not idle" cpustat -A service -c busy-time 0.1 1
}

@test "SIGINT and SIGTERM: a last sample, totals, and death of that signal" {
	need cpu
	for signal in 2 15; do
		start cs "$WORK/record-exit" "$T/ending" cpustat -c page-faults,task-clock 0.1
		eventually grep -q ' tick ' "$T/cs.out"
		kill "-$signal" "$(sed -n 's/^pid //p' "$T/ending")"
		finish cs
		[ "$(tail -n1 "$T/ending")" = "signal $signal" ]
		mv "$T/cs.out" "$ROWS"
		cat "$ROWS"
		check_cpustat_format "$ROWS"
		check_totals "$ROWS" "$CPUS"
		check_cpus $(($(ticks) / CPUS))
		[ ! -s "$T/cs.err" ]
	done
}

# Process $1 has an event on each of our CPUs.
counts() {
	[ "$(find "/proc/$1/fd" -lname '*perf_event*' | wc -l)" -ge "$CPUS" ]
}

@test "SIGINT in a long first interval: its part of it is sampled" {
	need cpu
	start cs "$WORK/record-exit" "$T/ending" cpustat -c page-faults 600
	eventually grep -q '^pid' "$T/ending"
	eventually counts "$(sed -n 's/^pid //p' "$T/ending")"
	"$WORK/touch-pages" 100
	kill -INT "$(sed -n 's/^pid //p' "$T/ending")"
	finish cs
	[ "$(tail -n1 "$T/ending")" = "signal 2" ]
	mv "$T/cs.out" "$ROWS"
	check_cpus 1
	check_totals "$ROWS" "$CPUS"
}

@test "a hangup ends it, with totals, except under nohup" {
	need cpu
	start cs cpustat -c page-faults 0.05
	eventually grep -q ' tick ' "$T/cs.out"
	kill -HUP "${PIDS[cs]}"
	finish cs
	[ "$status" -eq 129 ]
	check_totals "$T/cs.out" "$CPUS"
	start nh sh -c "trap '' HUP; exec cpustat -c page-faults 0.05 20"
	eventually grep -q ' tick ' "$T/nh.out"
	kill -HUP "${PIDS[nh]}"
	finish nh
	[ "$status" -eq 0 ]
	[ "$(grep -c ' tick ' "$T/nh.out")" -eq $((20 * CPUS)) ]
}

@test "SIGINT ends it also where it was ignored, as a script does for commands with &" {
	need cpu
	start cs sh -c "trap '' INT; exec cpustat -c page-faults 0.05"
	eventually grep -q ' tick ' "$T/cs.out"
	kill -INT "${PIDS[cs]}"
	finish cs
	[ "$status" -eq 130 ]
	check_totals "$T/cs.out" "$CPUS"
}

@test "-n: no header" {
	need cpu
	sample -0 -n -c page-faults 0.05 2
	[ "$(wc -l <"$ROWS")" -eq $((2 * CPUS + 1)) ]
	[ "$(grep -c time "$ROWS")" -eq 0 ]
	check_cpustat_format "$ROWS"
}

@test "-t: a column of cycles" {
	need cpu
	sample -0 -t -c page-faults 0.05 2
	case $(uname -m) in
	x86_64 | i?86) head -n1 "$ROWS" | grep -q 'cpu event  *tsc      pic0 $' ;;
	*) head -n1 "$ROWS" | grep -q 'cpu event  *tick      pic0 $' ;;
	esac
	check_cpustat_format "$ROWS"
	check_totals "$ROWS" "$CPUS"
	awk '$3 == "tick" { n++; if (NF != 5 || $4 <= 0) { print; failed = 1 } } END { exit failed || !n }' "$ROWS"
}

@test "-T u: the seconds since the Epoch before each sample" {
	need cpu
	before=$(date +%s)
	sample -0 -T u -c page-faults 0.1 3
	after=$(date +%s)
	[ "$(grep -Ecx '[0-9]+' "$ROWS")" -eq 3 ]
	grep -Ex '[0-9]+' "$ROWS" | awk -v a="$before" -v b="$after" \
		'$1 < a || $1 > b { print; failed = 1 } END { exit failed }'
	# each before the rows of its sample
	awk '/^[0-9]+$/ { due = 1; next } $3 == "tick" { if (!due && $2 <= last) exit failed = 1; due = 0; last = $2 } END { exit failed }' "$ROWS"
	check_cpustat_format "$ROWS"
	check_totals "$ROWS" "$CPUS"
}

@test "-T d: the date before each sample, as date(1) writes it" {
	need cpu
	before=$(date +%s)
	sample -0 -T d -c page-faults 0.1 3
	after=$(date +%s)
	dates=$(grep -Ex '[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} UTC [0-9]{4}' "$ROWS")
	[ "$(wc -l <<<"$dates")" -eq 3 ]
	while read -r line; do
		seconds=$(date -d "$line" +%s)
		[ "$seconds" -ge "$before" ]
		[ "$seconds" -le "$after" ]
	done <<<"$dates"
	check_totals "$ROWS" "$CPUS"
}

@test "several -c: one spec per sample, a total for each" {
	need cpu
	sample -0 -c page-faults -c context-switches 0.05 4
	[ "$(head -n1 "$ROWS")" = "   time cpu event      pic0 " ]
	check_cpustat_format "$ROWS"
	check_cpus 4
	check_totals "$ROWS" "$CPUS"
	for spec in page-faults context-switches; do
		[ "$(grep -c " tick .* # $spec\$" "$ROWS")" -eq $((2 * CPUS)) ]
		[ "$(grep -c " total .* # $spec\$" "$ROWS")" -eq 1 ]
	done
	[ "$(awk '$3 == "tick" { print $NF }' "$ROWS" | uniq | wc -l)" -eq 4 ]
}

@test "several -c: columns that a spec does not have are blank" {
	need cpu
	sample -0 -c pic0=page-faults -c pic1=context-switches 0.05 2
	[ "$(head -n1 "$ROWS")" = "   time cpu event      pic0      pic1 " ]
	grep -Eq '^ *[0-9.]+ +[0-9]+  tick +[0-9]+ {11}# pic0=page-faults$' "$ROWS"
	grep -Eq '^ *[0-9.]+ +[0-9]+  tick {11} *[0-9]+ # pic1=context-switches$' "$ROWS"
	[ "$(grep '#' "$ROWS" | sed 's/#.*//' | awk '{ print length($0) }' | sort -u | wc -l)" -eq 1 ]
}

@test "-p: all specs once per period, then rest; the count is of periods" {
	need cpu
	sample -0 -p 0.5 -c page-faults -c context-switches 0.05 2
	check_cpus 4
	check_totals "$ROWS" "$CPUS"
	# a spec's second sample is not before the second period
	awk -v cpu="$(cpus | head -n1)" '$3 == "tick" && $2 == cpu && $NF == "page-faults" {
		if ($1 < 0.05 + 0.5 * n) { print n, $1; failed = 1 }
		n++
	} END { exit failed || n != 2 }' "$ROWS"
}

@test "-p shorter than specs x interval: no rest" {
	need cpu
	sample -0 -p 0.01 -c page-faults -c context-switches 0.05 2
	check_cpus 4
	check_totals "$ROWS" "$CPUS"
}

# How many threads of process $1 have the scheduling policy SCHED_IDLE (5).
idle_threads() {
	local task n=0
	for task in /proc/"$1"/task/*; do
		if [ "$(sed 's/.*) //' "$task/stat" 2>/dev/null | cut -d' ' -f39)" = 5 ]; then
			n=$((n + 1))
		fi
	done
	[ "$n" -eq "$2" ]
}

@test "-s: a lowest-priority thread on each CPU while a system-only set is bound" {
	need cpu
	start cs cpustat -s -c page-faults,nouser,sys 0.1
	eventually grep -q ' tick ' "$T/cs.out"
	eventually idle_threads "${PIDS[cs]}" "$CPUS"
	kill -INT "${PIDS[cs]}"
	finish cs
	check_totals "$T/cs.out" "$CPUS"
	start cs cpustat -s -c page-faults 0.1
	eventually grep -q ' tick ' "$T/cs.out"
	idle_threads "${PIDS[cs]}" 0
	kill -INT "${PIDS[cs]}"
	finish cs
}

@test "a closed pipe ends it quietly, by SIGPIPE" {
	need cpu
	mkfifo "$T/pipe"
	exec {both}<>"$T/pipe"
	exec {write}>"$T/pipe"
	exec {both}>&-
	run --separate-stderr "${LIMIT[@]}" "$WORK/record-exit" "$T/ending" \
		bash -c "exec cpustat -c page-faults 0.05 100000 >&$write"
	exec {write}>&-
	[ "$(tail -n1 "$T/ending")" = "signal 13" ]
	[ -z "$stderr" ]
}

@test "a full disk: one message, status 1" {
	need cpu
	[ -c /dev/full ] || skip "there is no /dev/full"
	go -1 sh -c 'exec cpustat -c page-faults 0.05 100000 >/dev/full'
	[ "$stderr" = "cpustat: cannot write the standard output: No space left on device" ]
}

@test "1: a closed standard output is an error, not silence" {
	need cpu
	go -1 sh -c 'exec cpustat -c page-faults 0.05 2 >&-'
	[[ $stderr == cpustat:* ]]
}

@test "2: bad usage" {
	refuses() {
		go -2 cpustat "$@"
		[ -z "$output" ]
		[[ ${stderr_lines[0]} == cpustat:* ]]
	}
	refuses -c
	refuses -Z
	refuses -c page-faults -T x 1 1
	refuses -c page-faults 1 1 1
	for bad in abc '' -1 0 1x nan; do
		refuses -c page-faults -- "$bad" 1
		refuses -c page-faults -p "$bad" 1 1
	done
	for bad in abc '' -1 0 1.5 1x 99999999999999999999; do
		refuses -c page-faults -- 1 "$bad"
	done
	refuses -c no_such_event 1 1
	[[ $stderr == "cpustat: unknown event 'no_such_event'"* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
	refuses -c page-faults,frobnicate 1 1
	refuses -c page-faults,nouser 1 1
	refuses -c pic0=page-faults,pic0=task-clock 1 1
	refuses -c pic99=page-faults 1 1
}

@test "1: a hardware event where there is no hardware counter" {
	need cpu
	if "$WORK/probe" pmu; then
		skip "this machine has hardware counters"
	fi
	go -1 cpustat -c cycles 0.1 1
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "cpustat: "*cycles* ]]
	[ "$(grep -c tick <<<"$output")" -eq 0 ]
}

@test "-h and --help: the usage on standard output, status 0; --version" {
	go -0 cpustat -h
	[[ ${output,,} == *cpustat*-c*interval*count* ]]
	[ -z "$stderr" ]
	usage=$output
	go -0 cpustat --help
	[ "$output" = "$usage" ]
	go -0 cpustat --version
	[[ $output == *cpustat* ]]
	[ "${#lines[@]}" -eq 1 ]
}

@test "every short option has its long one" {
	need cpu
	sample -0 -c page-faults -n -t -T u -p 0.1 -s 0.05 2
	awk '{ print NF, $3 }' "$ROWS" >"$T/short"
	sample -0 --events page-faults --no-header --cycles --timestamp u --period 0.1 --soak 0.05 2
	diff "$T/short" <(awk '{ print NF, $3 }' "$ROWS")
}

@test "-D says how an event was found" {
	need cpu
	sample -0 -D -c page-faults 0.05 1
	grep -q 'page-faults' <<<"$stderr"
	check_totals "$ROWS" "$CPUS"
}

@test "msr/tsc/ grows like the clock, on every CPU" {
	need cpu
	[ -e /sys/bus/event_source/devices/msr/events/tsc ] || skip "this kernel has no msr/tsc/"
	sample -0 -t -c msr/tsc/ 0.3 2
	check_cpus 2
	# The column of -t is computed from the time for which the event was on.
	awk '$3 == "tick" || $3 == "total" {
		rows++
		if ($5 < 0.99 * $4 || $5 > 1.01 * $4) { print; failed = 1 }
	} END { exit failed || !rows }' "$ROWS"
}
