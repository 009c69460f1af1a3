#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# SIGHUP opens output files again that were renamed, as logrotate does without copytruncate.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	cd "$T" || return
}

# detached NAME COMMAND...: as start, without a terminal; $pid is the process.
detached() {
	rm -f "$T/$1.pid"
	# shellcheck disable=SC2016 # for the inner shell
	start "$1" setsid --wait sh -c 'echo $$ >"$0.new"; mv "$0.new" "$0"; exec "$@"' "$T/$1.pid" "${@:2}"
	eventually test -s "$T/$1.pid"
	pid=$(cat "$T/$1.pid")
	STRAYS+=("$pid")
}

# What the program itself has reported.
messages() {
	grep -v '^setsid: ' "$T/$1.err" || true
}

longer_than() {
	[ "$(stat -c %s "$1" 2>/dev/null || echo 0)" -gt "$2" ]
}

# Renames $1 three times, with a signal after each; the parts are $1.1 to $1.3, and then $1.
rotate() {
	local n
	for n in 1 2 3; do
		eventually longer_than "$1" "$2"
		mv "$1" "$1.$n"
		[ $# -eq 2 ] || mv "$3" "$3.$n"
		kill -HUP "$pid"
		eventually test -s "$1"
		[ $# -eq 2 ] || eventually test -s "$3"
	done
	eventually longer_than "$1" "$2"
	kill -TERM "$pid"
}

# The rows of the records $@, each of which is complete: their ticks and their totals, by event.
records() {
	python3 - "$@" <<-'END'
		import json, sys
		ticks, totals, times = {}, {}, []
		for path in sys.argv[1:]:
		    rows = [json.loads(line) for line in open(path)]
		    assert rows[0]["kind"] == "run" and rows[-1]["kind"] == "end", path
		    assert rows[-1]["rows"] == len(rows) - 2, path
		    for row in rows[1:-1]:
		        assert row["kind"] in ("tick", "total", "detach"), row
		        to = ticks if row["kind"] == "tick" else totals
		        for event, n in row["counts"].items():
		            to[event] = to.get(event, 0) + n
		        if row["kind"] == "tick":
		            times.append((row["ns"], row.get("cpu", row.get("tid"))))
		assert ticks == totals, (ticks, totals)
		assert times == sorted(times) and len(set(times)) == len(times)
		print(len(times))
	END
}

@test "cpustat: each row is in one file, and each file is complete" {
	local format part
	need cpu
	for format in table csv; do
		detached cs cpustat --format=$format -o log -c page-faults,context-switches 0.02
		rotate log 500
		finish cs
		[ -z "$(messages cs)" ]
		for part in log.1 log.2 log.3 log; do
			[ "$(grep -c time "$part")" -eq 1 ]
			head -n 1 "$part" | grep -q time
			[ -z "$(tail -c 1 "$part")" ]
		done
		# page-faults: the ticks add up to the total, which only the last file has
		[ "$(grep -c total log.[123])" = $'log.1:0\nlog.2:0\nlog.3:0' ]
		if [ $format = table ]; then
			[ "$(awk '$3 == "tick" { n += $4 } END { print n }' log.1 log.2 log.3 log)" = "$(awk '$3 == "total" { print $4 }' log)" ]
		else
			[ "$(awk -F, '$3 == "tick" && $18 == "page-faults" { n += $9 } END { print n }' log.1 log.2 log.3 log)" = \
				"$(awk -F, '$3 == "total" && $18 == "page-faults" { print $9 }' log)" ]
		fi
		rm -f log*
	done
	detached cs cpustat --format=json -o log -O record -c page-faults,context-switches 0.02
	rotate log 2000 record
	finish cs
	[ "$(records log.1 log.2 log.3 log)" = "$(records record.1 record.2 record.3 record)" ]
	for part in log.1 log.2 log.3 log; do
		go -0 cpustat -I "$part"
		[ -z "$stderr" ]
		cmp "$part" "${part/log/record}"
	done
}

@test "cpustat --listen: SIGHUP opens the record again" {
	need cpu
	detached cs cpustat --shared --listen=127.0.0.1:0 -O record -c page-faults,context-switches 0.02
	eventually test -s cs.err
	if grep -q "built without libmicrohttpd" cs.err; then
		skip "this build has no libmicrohttpd"
	fi
	rotate record 2000
	finish cs
	[ "$(messages cs | grep -c 'listening on')" -eq "$(messages cs | wc -l)" ]
	records record.1 record.2 record.3 record
	for part in record.1 record.2 record.3 record; do
		go -0 cpustat -I "$part"
		[ -z "$stderr" ]
	done
}

@test "cputrack -p: each row is in one file, with both engines" {
	local engine part
	need attach
	for engine in auto ptrace; do
		start target bash -c 'echo ready; while :; do read -t 0.01 -r line; done'
		eventually said target ready
		detached ct cputrack --engine=$engine -T 0.02 --format=json -o log -O record \
			-c page-faults,context-switches -p "${PIDS[target]}"
		rotate log 2000 record
		finish ct
		[ -z "$(messages ct)" ]
		[ "$(records log.1 log.2 log.3 log)" = "$(records record.1 record.2 record.3 record)" ]
		for part in log.1 log.2 log.3 log; do
			go -0 cputrack -I "$part"
			[ -z "$stderr" ]
		done
		kill -KILL "${PIDS[target]}"
		finish target
		[ "$status" -eq 137 ]
		rm -f log* record*
	done
}

@test "summaries of intervals: each file begins with one" {
	local format part
	need attach
	start target bash -c 'echo ready; while :; do read -t 0.01 -r line; done'
	eventually said target ready
	for format in table csv json; do
		detached ct cputrack --format=$format --by=process -T 0.05 -o log -c page-faults -p "${PIDS[target]}"
		rotate log 300
		finish ct
		[ -z "$(messages ct)" ]
		for part in log.1 log.2 log.3 log; do
			head -n 1 "$part" | grep -qE "page-faults|^time,"
			[ -z "$(tail -c 1 "$part")" ]
			[ $format = table ] || [ "$(grep -cE '^time|"kind":"run"' "$part")" -eq 1 ]
		done
		rm -f log*
	done
}

@test "the file was not renamed: nothing changes; it cannot be opened again: a message, and no row is lost" {
	need cpu
	detached cs cpustat -o log -c page-faults 0.02
	eventually longer_than log 300
	kill -HUP "$pid"
	eventually longer_than log 900
	[ "$(grep -c time log)" -eq 1 ]
	mv log log.1
	mkdir log
	kill -HUP "$pid"
	eventually grep -q "^cpustat: cannot open 'log' again: .*; the output goes on into the file that was renamed$" "$T/cs.err"
	eventually longer_than log.1 1500
	# another program writes it
	rmdir log
	start other cpustat --shared -o log -c page-faults 0.02
	eventually test -s log
	kill -HUP "$pid"
	eventually grep -q "^cpustat: cannot open 'log' again: cpustat (pid ${PIDS[other]}) is writing it; " "$T/cs.err"
	kill -TERM "${PIDS[other]}"
	finish other
	mv log log.2
	kill -HUP "$pid"
	eventually longer_than log 300
	kill -TERM "$pid"
	finish cs
	[ "$(messages cs | wc -l)" -eq 2 ]
	[ "$(awk '$3 == "tick" { n += $4 } END { print n }' log.1 log)" = "$(awk '$3 == "total" { print $4 }' log)" ]
}

@test "a terminal, the standard output or --format=trace: SIGHUP ends it" {
	need cpu
	need attach
	start target cat
	eventually executes target cat
	for tool in "cpustat -o $T/log -c page-faults 0.02" \
		"cputrack --engine=auto -T 0.02 -o $T/log -c page-faults -p ${PIDS[target]}"; do
		: >log
		# shellcheck disable=SC2086 # words
		python3 "$BATS_TEST_DIRNAME/terminal.py" 24 80 "until:$T/log" kill:HUP -- $tool >ended
		grep -qE "^(signal 1|status 0)$" ended
		[ "$(grep -cE "total|detach" log)" -eq 1 ]
	done
	for how in "-O record" "--format=trace -o log"; do
		rm -f log record
		# shellcheck disable=SC2086 # words
		detached ct cputrack -T 0.02 $how -c page-faults -p "${PIDS[target]}"
		eventually longer_than "${how##* }" 500
		kill -HUP "$pid"
		finish ct
		[ "$status" -eq 0 ]
	done
}

@test "OpenMetrics: the file has its name again after each interval, and SIGHUP ends nothing" {
	need cpu
	detached cs cpustat --format=openmetrics -o log -c page-faults 0.02
	eventually test -s log
	mv log log.1
	kill -HUP "$pid"
	eventually test -s log
	[ "$(tail -n 1 log)" = "# EOF" ]
	[ "$(tail -n 1 log.1)" = "# EOF" ]
	kill -TERM "$pid"
	finish cs
	[ -z "$(messages cs)" ]
}

@test "a command gets the signal, and the file stays" {
	detached ct cputrack -T 0.02 -o log -c page-faults \
		bash -c 'trap "echo again" HUP; echo ready; while :; do read -t 0.02 -r line; done'
	eventually said ct ready
	mv log log.1
	kill -HUP "$pid"
	eventually said ct again
	kill -TERM "$pid"
	finish ct
	[ ! -e log ]
	grep -q exit log.1
}
