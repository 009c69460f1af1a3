#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Ratios: computed from exact counts, in each format and for each total.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
	cat >"$T/events.def" <<-'END'
		one = page-faults / faults  # always 1
		speed = 1e6 * page-faults / task-clock  # faults per millisecond
		never = major-faults / (dummy + dummy)  # 0 / 0
		twice = (one + one) * speed / speed
	END
	chmod 600 "$T/events.def"
	export CPC_EVENTS=$T/events.def
}

# Every row of the JSON lines $1 has the ratios that its own counts make.
check_ratios() {
	python3 - "$1" <<-'END'
		import json, math, sys
		def close(a, b):
		    return a is None and b is None or None not in (a, b) and math.isclose(a, b, rel_tol=1e-11)
		def over(a, b):
		    return None if a is None or not b else a / b
		seen = set()
		for row in map(json.loads, open(sys.argv[1])):
		    if "counts" not in row:
		        continue
		    c, r = row["counts"], row["ratios"]
		    speed = over(c["page-faults"], c["task-clock"])
		    assert close(r["one"], over(c["page-faults"], c["faults"])), row
		    assert close(r["speed"], None if speed is None else 1e6 * speed), row
		    assert r["never"] is None, row
		    seen.add((row["kind"], r["one"]))
		kinds = {kind for kind, one in seen if one == 1}
		assert {"exec", "exit"} <= kinds or {"sum", "total"} <= kinds, seen
	END
}

@test "each row has the ratio of its own counts, and a total that of the total" {
	go -0 cputrack -fe -T 0.01 -o "$ROWS" -O "$R" -c one,speed,never \
		sh -c "'$WORK/touch-pages' 300; sleep 0.1; '$WORK/execs' 2"
	[ -z "$stderr" ]
	check_ratios "$R"
	[[ $(head -n1 "$ROWS") == *"      pic0      pic1      pic2      pic3      pic4       one     speed     never " ]]
	awk '$4 == "exit" { n++; if ($10 != "1.000" || $12 != "-") bad = 1 } END { exit bad || n < 3 }' "$ROWS"
	for by in lwp process command; do
		cputrack -I "$R" --by="$by" --format=json >"$T/by"
		check_ratios "$T/by"
		go -0 cputrack -I "$R" --by="$by"
		# one of all is 1, and not as many as there are
		[ "$(awk '{ print $(NF - 3), $(NF - 1) }' <<<"${lines[-1]}")" = "1.000 -" ]
		awk 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			NR > 1 { want = $at["page-faults"] * 1e6 / $at["task-clock"]
				d = $at["speed"] - want; if (d * d > want * want * 1e-6) bad = 1 }
			END { exit bad }' <<<"$output"
	done
	cputrack -I "$R" --total --format=json >"$T/total"
	check_ratios "$T/total"
	# A replay computes them again, from the counts.
	cputrack -I "$R" | cmp - "$ROWS"
	sed 's/"ratios":{[^}]*}/"ratios":{}/' "$R" >"$T/without"
	cputrack -I "$T/without" | cmp - "$ROWS"
}

@test "what a ratio is made of: events that are there before, and other ratios" {
	go -0 cputrack -T 0 -D -c page-faults,one,twice,dummy,one true
	[ "$(grep -c 'pic[0-9]' <<<"$stderr")" -eq 4 ]
	[[ $stderr == *"twice: ratio: ( ( page-faults / faults ) + ( page-faults / faults ) ) * ( 1e6 * page-faults / task-clock ) / ( 1e6 * page-faults / task-clock )"* ]]
	[[ ${lines[0]} == *"pic0      pic1      pic2      pic3       one     twice " ]]
	[[ ${lines[1]} == *" 1.000     2.000 " ]]
	need kernel
	go -0 cputrack -T 0 --names -c one -c one,nouser,sys -c one,sys true
	[[ ${lines[0]} == *"page-faults faults page-faults:k faults:k page-faults:uk faults:uk one one:k one:uk" ]]
}

# A record of two processes, with counts of a and b each.
record_of() {
	local n=0 pair
	cat <<-END
		{"kind":"run","schema":1,"tool":"cputrack","command":["x"],"host":"h","start":"2026-01-31T23:59:58.000000000Z","cycles":"tsc","sets":[{"spec":"r","events":[{"event":"a","name":"a","pic":0,"unit":"","scale":1,"signed":false},{"event":"b:k","name":"b","pic":1,"unit":"","scale":1,"signed":false}],"ratios":[{"ratio":"r","expression":"a / b","events":["a","b:k"]}]}],"many":true}
	END
	for pair in "$@"; do
		n=$((n + 1))
		echo "{\"kind\":\"exit\",\"ns\":${n}00,\"time\":\"2026-01-31T23:59:59.000000000Z\",\"pid\":$n,\"lwp\":1,\"tid\":$n,\"comm\":\"c\",\"set\":0,\"counts\":{\"a\":${pair%/*},\"b:k\":${pair#*/}},\"cycles\":7,\"status\":0}"
	done
	echo "{\"kind\":\"end\",\"rows\":$n}"
}

@test "known counts in each format: totals, 0 / 0, what is not known, and 2^64 - 1" {
	record_of 1/2 18446744073709551615/3 0/0 5/0 null/7 >"$R"
	go -0 cputrack -I "$R"
	[ "$(awk '$4 == "exit" { print $7 }' <<<"$output" | tr '\n' ' ')" = "0.5 6148914691236516864.0 - - - " ]
	record_of 9999/10000 99999/100000 >"$R"
	go -0 cputrack -I "$R"
	[ "$(awk '$4 == "exit" { print $7 }' <<<"$output" | tr '\n' ' ')" = "0.9999 1.000 " ]
	record_of 1/2 8/1 0/0 1/0 >"$R"
	go -0 cputrack -I "$R" --by=command
	[[ ${lines[1]} =~ ^\ +4\ +c\ +10\ +3\ 3\.333\ 100\.0%$ ]]
	go -0 cputrack -I "$R" --total --names
	[[ ${lines[-1]} =~ total\ +10\ +3\ +3\.333$ ]]
	go -0 cputrack -I "$R" --total --format=csv
	[ "$(csv_awk '$unit == "ratio" { print $kind, $count, $event }' <<<"$output" | tr '\n' ' ')" = \
		"exit 0.5 r exit 8 r exit  r exit  r total 3.33333333333 r " ]
	go -0 cputrack -I "$R" --total --format=json
	[ "$(grep -o '"ratios":{[^}]*}' <<<"$output" | tr '\n' ' ')" = \
		'"ratios":{"r":0.5} "ratios":{"r":8} "ratios":{"r":null} "ratios":{"r":null} "ratios":{"r":3.33333333333} ' ]
	go -0 cputrack -I "$R" --format=openmetrics
	grep -qx '# TYPE cpc_ratio gauge' <<<"$output"
	grep -qx 'cpc_ratio{ratio="r",command="c"} 3.33333333333' <<<"$output"
	go -0 cputrack -I "$R" --format=trace
	python3 -c '
import json, sys
spans = [e["args"]["r"] for e in json.load(sys.stdin)["traceEvents"] if e["ph"] == "X"]
assert spans == [0.5, 8, None, None], spans' <<<"$output"
}

@test "-r and --compare: the ratio of each run" {
	{ record_of 1/2 3/2 && record_of 3/2 1/1; } >"$R"
	{ record_of 1/1 && record_of 1/1; } >"$T/before"
	go -0 cputrack -I "$R" --compare "$T/before"
	# 4 / 4 and 4 / 3
	[ "$(awk '$1 == "r" { $1 = ""; print }' <<<"$output")" = \
		" 2 1.0000 0.00% 1.1667 20.20% +16.67% +16.67% no difference shown" ]
	go -0 cputrack -r 2 -c one,never true
	[ "$(awk '$1 == "one" { print $2, $3, $5 }' <<<"$output")" = "2 1.0000 0.0000" ]
	[ "$(awk '$1 == "never" { print $2, $3, $4, $5, $6, $7 }' <<<"$output")" = "0 - - - - -" ]
}

@test "records with bad ratios are refused" {
	local from to
	while IFS='|' read -r from to; do
		record_of 1/2 | sed "s|$from|$to|" >"$R"
		go -1 cputrack -I "$R"
		[[ $stderr == "cputrack: $R:1: "* ]]
		[ "${#stderr_lines[@]}" -eq 1 ]
	done <<-'END'
		a / b"|a / "
		a / b"|a / b / c"
		a / b"|a"
		"b:k"\]|"b"]
		"events":\["a","b:k"\]|"events":5
		"events":\["a","b:k"\]|"events":[1,2]
		"ratios":\[{|"ratios":[{"ratio":"r","expression":"a / b","events":["a","b:k"]},{
		"ratio":"r"|"ratio":5
		"ratios":\[|"ratios":[7,
	END
}

@test "bad ratios say what is wrong with them, and where" {
	while IFS='|' read -r name want; do
		printf '\n%s\n' 'parens = (page-faults / faults
missing = no-such-event / faults
circle = other / 2
other = circle / 2
nothing = 1 / 2' >"$CPC_EVENTS"
		go -2 cputrack -c "$name" true
		[ "${stderr_lines[-1]}" = "cputrack: ${want//@/$CPC_EVENTS}" ]
	done <<-'END'
		parens|@:2: 'parens' is not an event: a parenthesis is not closed
		nothing|@:6: 'nothing' is not an event: a ratio has an event at least
		missing|unknown event 'no-such-event'; ratio 'missing' requires it
		circle|@:4: the definition of 'circle' refers to itself
	END
}

@test "cpustat: a row for each CPU, the total, units of CPUs, and gauges" {
	need cpu
	go -0 cpustat -O "$R" -c one,speed,never 0.1 2
	[[ ${lines[0]} == *"       one     speed     never " ]]
	awk '$3 == "total" { print $9, $11 }' <<<"$output" | grep -x '1.000 -'
	go -0 cpustat -I "$R" -A all -m
	awk '$3 == "total" { print $9, $11 }' <<<"$output" | grep -x '1.000 -'
	go -0 cpustat -I "$R" --by=cpu
	[[ ${lines[-1]} == *" 1.000 "* ]]
	go -0 cpustat -o "$T/now.prom" --format=openmetrics -c one 0.05 3
	grep -x '# HELP cpc_ratio Ratios of events.' "$T/now.prom"
	go -0 cpustat -I "$R" --format=openmetrics
	grep -x '# HELP cpc_ratio Ratios of events.' <<<"$output"
	[ "$(grep -c '^cpc_ratio{ratio="one",.*} 1$' <<<"$output")" -ge 1 ]
}

@test "-h lists ratios whose events can be counted" {
	go -0 cputrack -h
	[[ "$(sed -n '/^ratios of events:/,/^$/p' <<<"$output" | tail -n +2 | xargs)" == \
		"one speed never twice "*"faults-per-ms switches-per-s wait-share" ]]
	go -0 cputrack -h millisecond
	[[ $output == speed\ *"faults per millisecond" ]]
}

@test "shipped ratios, and a definition of the user in place of one" {
	go -0 cputrack -T 0 -c speed,faults-per-ms,switches-per-s "$WORK/touch-pages" 1000
	[ -z "$stderr" ]
	awk '$3 == "exit" { n++; if ($(NF - 2) != $(NF - 1) || $NF == "-") bad = 1 }
		END { exit bad || n != 1 }' <<<"$output"
	echo 'ipc = page-faults / faults' >"$T/events.def"
	go -0 cputrack -T 0 -c ipc true
	[ -z "$stderr" ]
	[ "$(awk '$3 == "exit" { print $NF }' <<<"$output")" = 1.000 ]
}
