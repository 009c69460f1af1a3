#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# --split: more events than counters.  The tests use breakpoints, since every machine has a
# few; tests/work/symbols.c describes the known counts.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# breakpoints N [FUNCTION]: a spec of N of them
breakpoints() {
	local i spec=''
	for ((i = 0; i < $1; i++)); do
		spec+=,breakpoint/addr=${2:-called}/
	done
	printf '%s' "${spec:1}"
}

# Sets $N to the number of breakpoints that an LWP can have, from the error for more of them.
count_registers() {
	need breakpoint
	go -1 cputrack -c "$(breakpoints 33)" "$WORK/symbols" 1
	[[ $stderr =~ "this CPU has "([0-9]+)" registers for breakpoints of this kind; count some of them in a set of their own; use --split to count them in turns"$ ]]
	N=${BASH_REMATCH[1]}
}

# numbers N VALUE: a row of them
numbers() {
	printf "%${1}s" '' | sed "s/ /$2 /g; s/ \$//"
}

@test "a turn that never comes: its counts are unknown, not 0" {
	count_registers
	spec=$(breakpoints $((N + 1)))
	track -0 --split -T 600 -O "$T/run.json" -c "$spec" "$WORK/symbols" 100 2
	[ "$(head -n1 "$ROWS" | wc -w)" -eq $((4 + N + 1)) ]
	[ "$(rows_of exit | sed -n '1s/^0 1 exit [0-9]* //p')" = "$(numbers "$N" 300) # $(breakpoints "$N")" ]
	[ "$(rows_of exit | sed -n 2p)" = "0 1 exit - - # $(breakpoints 1)" ]
	[ "$stderr" = "cputrack: cannot count the events of '$spec' together: 2 specs take turns
cputrack: counted 100.0% of the time: '$(breakpoints "$N")'
cputrack: counted 0.0% of the time: '$(breakpoints 1)' (its turn never came)" ]
	go -0 cputrack -I "$T/run.json" -t -o "$T/again"
	cmp "$ROWS" "$T/again"
	python3 - "$T/run.json" "$N" <<-'END'
	import json, sys
	n = int(sys.argv[2])
	rows = [json.loads(line) for line in open(sys.argv[1])]
	assert [[e["pic"] for e in s["events"]] for s in rows[0]["sets"]] == [list(range(n)), [n]]
	first, second = [row for row in rows if row["kind"] == "exit"]
	assert first["set"] == 0 and set(first["counts"].values()) == {300} and first["cycles"] > 0
	assert second["set"] == 1 and list(second["counts"].values()) == [None]
	assert second["cycles"] is None
	END
	go -0 cputrack --split -T 600 --format=csv -o "$T/csv" -c "$spec" "$WORK/symbols" 100 2
	[ "$(csv_awk '$kind == "exit" && $event ~ /^break/ { print $count }' <"$T/csv" | xargs)" = "$(numbers "$N" 300)" ]
	[ "$(csv_awk '$kind == "exit" && $event ~ /^break/ && $count == ""' <"$T/csv" | wc -l)" -eq 1 ]
}

# The number of printed samples.
ticks() {
	csv_awk '$kind == "tick" && $time != last { last = $time; n++ } END { print n + 0 }' <"$T/rows"
}

ticked() {
	[ "$(ticks)" -ge "$1" ]
}

# tick N: the time of sample N and its counts.
tick() {
	csv_awk -v nth="$1" '
		$kind != "tick" { next }
		$time != last { last = $time; n++; if (n == nth) printf "%s", last }
		n == nth && $event ~ /^break/ { printf " %s", $count }' <"$T/rows"
}

# A phase of the program is exactly in one turn if it begins after the row of the turn before and
# ends before the next sample is taken.
@test "events in a turn are counted by its set, exactly, and by no other set" {
	count_registers
	start ct cputrack --split -T 1 --format=csv -o "$T/rows" -c "$(breakpoints $((N + 1)))" \
		"$WORK/symbols" -e 10
	eventually said ct ready
	first=0 second=0
	for ((phase = 1; first + second < 2; phase++)); do
		[ "$phase" -le 60 ]
		eventually ticked "$phase"
		turn=$(($(ticks) + 1))
		tell ct g
		eventually said ct "done" "$phase"
		over=$(date +%s%N)
		eventually ticked "$turn"
		read -r time counts <<<"$(tick "$turn")"
		if [ "$over" -ge "$(date -d "$time" +%s%N)" ]; then
			eventually ticked "$(($(ticks) + 1))" # then it is in no later turn
			continue
		fi
		case $counts in
		"$(numbers "$N" 10)") first=1 ;;
		10) second=1 ;;
		*) false ;;
		esac
	done
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	# Both had their turns, and the totals have only counts of turns.
	csv_awk -v most="$((10 * phase))" '
		$event !~ /^break/ { next }
		$kind == "tick" { sum[$event $spec] += $count }
		$kind == "exit" { rows++; if ($count < sum[$event $spec] || $count > most || $count == 0) bad = 1 }
		END { exit bad || rows == 0 }' <"$T/rows"
	[ "$(sed -n 's/^cputrack: counted \([0-9.]*\)% of the time: .*/\1/p' "$T/ct.err" |
		awk '$1 > 0 { n++; s += $1 } END { print n, (s > 99.8 && s < 100.2) }')" = "2 1" ]
}

@test "each event has a set, with the other events; attributes and slots stay with it" {
	count_registers
	track -0 --split -T 600 -c "pic2=page-faults,$(breakpoints "$N"),$(breakpoints 1 getppid),minor-faults,sys2" \
		"$WORK/symbols" 10
	[ "$(rows_of exit | sed 's/.*# //')" = "pic2=page-faults,$(breakpoints "$N"),minor-faults,sys2
$(breakpoints 1 getppid)" ]
	[[ $(head -n1 "$ROWS") =~ ^" "+time\ +lwp\ +event\ +(tsc|tick)\ +pic2\  ]]
	# the printed name is a spec
	track -0 -T 0 -c "$(rows_of exit | sed -n '1s/.*# //p')" "$WORK/symbols" 10
}

@test "a spec that fits is not split; events that cannot be counted are refused" {
	track -0 --split -T 600 -c page-faults,minor-faults "$WORK/symbols" 10
	[ "$(head -n1 "$ROWS")" = "   time lwp      event      pic0      pic1 " ]
	[ "$stderr" = "" ]
	spec=pic1=page-faults,pic1=minor-faults
	go -2 cputrack --split -c page-faults,page-faultz true
	[ "$stderr" = "cputrack: unknown event 'page-faultz' (did you mean 'page-faults'?)" ]
	go -2 cputrack --split -T 0 -c "$spec" true
	[[ $stderr == *"unsupported -T 0: specs take turns at samples, which it omits"* ]]
	go -2 cputrack -c "$spec" true
	track -0 --split -T 600 -c "$spec" "$WORK/symbols" 10
	[ "$(rows_of exit | sed 's/.*# //' | xargs)" = "pic1=page-faults pic1=minor-faults" ]
}

@test "summaries and several runs have all events of a spec" {
	count_registers
	spec=$(breakpoints "$N"),$(breakpoints 1 main)
	go -0 cputrack --split -T 600 --by=process -c "$spec" "$WORK/symbols" 10
	[[ $output == *"called"* ]]
	go -0 cputrack --split -T 600 -r 2 -c "$spec" "$WORK/symbols" 10
	[ "$(awk '/called/ { print $3 }' <<<"$output" | sort -u)" = 10.0 ]
	[ "$(grep -c "counted 100.0% of the time" <<<"$stderr")" -eq 1 ]
}

@test "the events of a ratio count in the same turns, also those of two that share one" {
	count_registers
	called=breakpoint/addr=called/ main=breakpoint/addr=main/ getppid=breakpoint/addr=getppid/
	cat >"$T/events.def" <<-END
		calls = $called / $main
		share = 100 * $main / $getppid
	END
	chmod 644 "$T/events.def"
	export CPC_EVENTS=$T/events.def
	others=$(breakpoints $((N - 1)) getpid)
	track -0 --split -T 600 -c "$others,calls" "$WORK/symbols" 10
	[ "$(rows_of exit | sed 's/.*# //')" = "$others
$called,$main,calls" ]
	track -0 --split -T 600 -c "calls,$others" "$WORK/symbols" 10
	rest=$(breakpoints 1 getpid)
	[ "$(rows_of exit | sed 's/.*# //' | tail -n 1)" = "$rest" ]
	[[ $(rows_of exit | head -n 1) == "0 1 exit "*" 10 1 "*" 10.000 # $called,$main,"*",calls" ]]
	if [ "$N" -ge 3 ]; then # which both take
		track -0 --split -T 600 -c "share,$others,calls" "$WORK/symbols" 10
		[[ $(rows_of exit | head -n 1) == *" 10.000 10.000 # $main,$getppid,"*"$called,share,calls" ]]
	fi
	# The message suggests --split.
	go -1 cputrack -c "calls,$others" true
	[[ $stderr == *"; use --split to count them in turns" ]]
}

@test "a symbol is missing only if its set had a turn to look for it" {
	count_registers
	spec=$(breakpoints "$N"),$(breakpoints 1 nosuch)
	go -0 cputrack --split -T 600 -c "$spec" "$WORK/symbols" 10
	[[ $stderr != *"has the symbol"* ]]
}

# Breakpoints on whole CPUs would take the breakpoints of other tests.
@test "CPUs: events of the same slot take turns" {
	need cpu
	go -2 cpustat --shared -c pic1=page-faults,pic1=minor-faults,context-switches 0.1 1
	go -0 cpustat --split --shared -c pic1=page-faults,pic1=minor-faults,context-switches -o "$ROWS" 0.05 4
	check_cpustat_split "$ROWS"
	[ "$(grep -c '^cpustat: counted [0-9.]*% of the time: ' <<<"$stderr")" -eq 2 ]
	[[ $stderr != *"counted 0.0%"* ]]
	n=$(cpus | wc -l)
	go -0 cpustat --split --shared -c pic1=page-faults,pic1=minor-faults --format=csv 0.05 4
	for event in page-faults minor-faults tsc; do
		[ "$event" != tsc ] || event='(tsc|tick)'
		[ "$(csv_awk -v want="^$event\$" '$kind == "tick" && $event ~ want' <<<"$output" | wc -l)" -ge $((2 * n)) ]
	done
}

# In turn, with totals of both.
check_cpustat_split() {
	[[ $(head -n1 "$1") =~ (tsc|tick)\ +pic1\ +pic2\ $ ]]
	[ "$(awk '$3 == "tick" { sub(/.*# /, ""); print }' "$1" | uniq | xargs)" = \
		"pic1=page-faults,context-switches pic1=minor-faults pic1=page-faults,context-switches pic1=minor-faults" ]
	[ "$(awk '$3 == "total" { sub(/.*# /, ""); print }' "$1" | xargs)" = \
		"pic1=page-faults,context-switches pic1=minor-faults" ]
}
