#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Counts per second.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
}

# rates "KIND PID NS SPAN COUNT"...: a record with these rows. SPAN is the time that COUNT covers.
rates() {
	local row kind pid ns span count
	cat <<-'END'
		{"kind":"run","schema":1,"tool":"cputrack","command":["x"],"host":"h","start":"2026-01-31T23:59:58.000000000Z","cycles":"tsc","sets":[{"spec":"a","events":[{"event":"a","name":"a","pic":0,"unit":"","scale":1,"signed":false}]}],"many":true}
	END
	for row in "$@"; do
		read -r kind pid ns span count <<<"$row"
		echo "{\"kind\":\"$kind\",\"ns\":$ns,\"time\":\"2026-01-31T23:59:59.000000000Z\",\"pid\":$pid,\"lwp\":1,\"tid\":$pid,\"comm\":\"c$pid\",\"set\":0,\"counts\":{\"a\":$count},\"cycles\":7,\"span\":$span}"
	done
	echo "{\"kind\":\"end\",\"rows\":$#}"
}

@test "--rate: per second of the time in which a row was counted" {
	rates "tick 7 1000000000 500000000 100" "tick 7 1250000000 250000000 100" \
		"exit 7 2000000000 1500000000 300" "exit 8 2500000000 500000000 100" >"$R"
	go -0 cputrack --rate -I "$R"
	[ "${lines[0]}" = "   time    pid lwp      event    pic0/s " ]
	[ "$(awk '$2 == 7 || $2 == 8 { print $5 }' <<<"$output" | tr '\n' ' ')" = "200.00 400.00 200.00 200.00 " ]
	go -0 cputrack --rate --total --names -I "$R"
	[[ ${lines[0]} == *" event a/s" ]]
	# 400 from 0.5 to 2.5
	[ "$(awk '/total/ { print $NF }' <<<"$output")" = 200.00 ]
	go -0 cputrack --rate --by=process --human -I "$R"
	[ "$(awk '{ print $4 }' <<<"$output" | tr '\n' ' ')" = "a 200/s 200/s 200/s " ]
	# A row without a span has no rate.
	sed 's/,"span":[0-9]*//' "$R" >"$T/older"
	go -0 cputrack --rate -I "$T/older"
	[ "$(awk 'NR > 1 { print $5 }' <<<"$output" | tr '\n' ' ')" = "- - - - " ]
	go -2 cputrack --rate --format=csv -I "$R"
	[[ $stderr == "cputrack: unsupported --rate: the format is not table"* ]]
}

@test "--rate --human: CPU time per second is a share of a CPU" {
	rates "tick 7 1000000000 500000000 250000000" "exit 7 2000000000 1000000000 2000000000" |
		sed 's/"event":"a","name":"a"/"event":"task-clock","name":"task-clock"/; s/"a":/"task-clock":/' >"$R"
	go -0 cputrack --rate --human -I "$R"
	[ "$(awk 'NR > 1 { print $5 }' <<<"$output" | tr '\n' ' ')" = "50%CPU 200%CPU " ]
	go -0 cputrack --rate -I "$R"
	[ "$(awk 'NR > 1 { print $5 }' <<<"$output" | tr '\n' ' ')" = "500000000.00 2000000000.00 " ]
}

@test "--rate: what is counted, over the time of its rows" {
	go -0 cputrack --rate -T 0.02 -fe -O "$R" -c task-clock,page-faults sh -c "'$WORK/spin' 0.2; sleep 0.1"
	python3 - "$R" <<-'END'
		import json, sys
		rows = [row for row in map(json.loads, open(sys.argv[1])) if "counts" in row]
		last, born = {}, {}
		assert any(row["kind"] == "tick" for row in rows)
		for row in rows:
		    who = row["pid"], row["lwp"]
		    # each sample begins where the one before ended
		    if row["kind"] == "tick" and who in last:
		        assert row["span"] == row["ns"] - last[who], row
		    if row["kind"] == "tick":
		        last[who] = row["ns"]
		    if row["kind"] == "exec":
		        last.pop(who, None)
		    assert 0 < row["span"] <= row["ns"], row
		    # no LWP runs longer than that
		    assert row["counts"]["task-clock"] <= row["span"] * 1.05 + 2e6, row
	END
	need cpu
	go -0 cpustat --rate -O "$R" -c task-clock -c page-faults -p 0.3 0.1 2
	# The rests are not in it; what is shown is what was counted, over that time.
	cpustat -I "$R" --format=json >"$T/rows"
	python3 - "$T/rows" 3<<<"$output" <<-'END'
		import json, sys
		rows = [row for row in map(json.loads, open(sys.argv[1])) if "counts" in row]
		lines = open(3).read().splitlines()[1:]
		assert len(rows) == len(lines) > 4
		spans = {}
		for row, line in zip(rows, lines):
		    count, = row["counts"].values()
		    assert line.split()[3] == f"{count / row['span'] * 1e9:.2f}", (row, line)
		    if row["kind"] == "tick" and row["cpu"] == rows[0]["cpu"]:
		        spans[row["set"]] = spans.get(row["set"], 0) + row["span"]
		    if row["kind"] == "total":
		        assert row["span"] == spans[row["set"]], row
	END
	# A CPU has 10^9 ns each second, and the machine as many times that as it has CPUs.
	go -0 cpustat --rate -I "$R" --by=cpu
	awk '$1 == "total" { total = $2 } $1 != "total" && NR > 1 { sum += $2 }
		END { d = total - sum; exit d * d > sum * sum * 1e-4 }' <<<"$output"
}
