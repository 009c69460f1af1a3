#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpustat --keys=N: rows of N keys, and the sum of all others.

# shellcheck disable=SC2154 # run sets status, output, stderr

load helpers

setup() {
	common_setup
	R=$T/record.json
	P=$T/cpustat.prom
}

teardown() {
	common_teardown
}

# A record of services: for each sample, "NAME COUNT..." of one or two events.
record() {
	python3 -c '
import json, sys
event = lambda name, pic: dict(event=name, name=name, pic=pic, unit="", scale=1, signed=False)
put = lambda **o: print(json.dumps(o))
put(kind="run", schema=1, tool="cpustat", command=["cpustat"], host="h",
    start="2026-01-31T23:59:58.000000000Z", cycles="tsc", unit="service",
    cpus=[dict(cpu=0, core=0, socket=0, node=0)], sets=[dict(spec="x", events=[event("e", 0), event("f", 1)])])
rows, total = 0, [0, 0]
def row(kind, sec, unit, name, counts, **more):
    put(kind=kind, ns=sec * 10**9, time="2026-01-31T23:59:58.000000000Z", set=0, ncpus=1, span=10**9,
        counts=dict(zip("ef", counts)), cycles=1, **{unit: name}, **more)
for sec, line in enumerate(sys.stdin, 1):
    for sample in sorted(line.split(";")):
        name, *counts = sample.split()
        counts = [int(n.rstrip("!")) for n in counts]
        row("tick", sec, "service", name, counts, **(dict(incomplete=True) if "!" in sample else {}))
        total = [a + b for a, b in zip(total, counts)]
        rows += 1
row("total", sec, "all", 0, total)
put(kind="end", rows=rows + 1)' >"$R"
}

# The rows of the last output as NAME COUNT COUNT [incomplete], a line for each sample.
samples() {
	awk '$3 == "tick" { if (at != "" && $1 != at) print ""; at = $1
			printf "%s %s %s%s; ", $2, $4, $5, /incomplete/ ? " incomplete" : "" }
		$3 == "total" { print ""; print "total", $4, $5 }' <<<"$output"
}

@test "the first sample chooses; a key that becomes much larger takes the row of the smallest" {
	record <<-'END'
		(idle) 0 5;a 100 1;b 80 1;c 10 1;d 9 1
		(idle) 0 5;a 100 1;b 80 1;c 1000 1
		(idle) 0 5;a 100 1;b 80 1;c 1000 1;d 9 1
	END
	go -0 cpustat -I "$R" --keys=2
	diff <(samples) - <<-'END'
		(idle) 0 5; (others) 19 2; a 100 1; b 80 1; 
		(idle) 0 5; (others) 80 1; a 100 1; c 1000 1; 
		(idle) 0 5; (others) 89 2; a 100 1; c 1000 1; 
		total 2568 26
	END
	go -0 cpustat -I "$R" --keys=4
	[ "$output" = "$(cpustat -I "$R")" ]
	[ "$(grep -c others <<<"$output")" -eq 0 ]
}

@test "a key that counts keeps its row while no mean is twice its own; one that does not yields at once" {
	record <<-'END'
		a 100 0;b 10 0
		b 150 0
		a 100 0;b 100 0
		a 50 0;b 90 0
	END
	go -0 cpustat -I "$R" --keys=1
	diff <(samples) - <<-'END'
		(others) 10 0; a 100 0; 
		b 150 0; 
		(others) 100 0; b 100 0; 
		(others) 50 0; b 90 0; 
		total 600 0
	END
}

@test "scarce slots and --keys share a row, which is incomplete only where slots were scarce" {
	record <<-'END'
		a 9 1;b 8 1;c 7 1
		(others) 5! 1;a 9 1;b 8 1
	END
	go -0 cpustat -I "$R" --keys=1
	diff <(samples) - <<-'END'
		(others) 15 2; a 9 1; 
		(others) 13 2 incomplete; a 9 1; 
		total 46 6
	END
	go -0 cpustat -I "$R" --keys=1 --format=openmetrics
	grep -x 'cpc_incomplete_rows 1' <<<"$output"
}

@test "a summary has the largest keys of the whole run" {
	record <<-'END'
		(idle) 0 5;a 100 1;b 80 1;c 10 1;d 9 1
		(idle) 0 5;a 100 1;b 80 1;c 1000 1
		(idle) 0 5;a 100 1;b 80 1;c 1000 1;d 9 1
	END
	go -0 cpustat -I "$R" --by=service --keys=2 --format=json
	[ "$(jq -r 'select(.kind == "sum") | [.service, .key_kind, .counts.e, .counts.f, .incomplete] | join(" ")' <<<"$output")" = \
		"$(printf '%s\n' 'c name 2010 3 ' 'a name 300 3 ' ' others 258 5 ' ' idle 0 15 ')" ]
	[ "$(jq -r 'select(.kind == "total") | .counts | [.e, .f] | join(" ")' <<<"$output")" = "2568 26" ]
	go -0 cpustat -I "$R" --by=service --keys=2 --rate
	[ "$(awk '$1 == "(others)" { print $2, $4 }' <<<"$output")" = "86.00 10.0%" ]
}

@test "OpenMetrics: a total stays with its key, and ends with its row" {
	record <<-'END'
		a 100 1;b 80 1;c 10 1
		a 100 1;b 80 1;c 1000 1
		a 100 1;b 80 1;c 1000 1
	END
	# In a file, whose contents follow each other, no total moves to another series.
	go -0 cpustat -I "$R" --keys=2 --format=openmetrics -o "$P"
	[ "$(grep '"e"' "$P")" = "$(printf '%s\n' 'cpc_events_total{event="e",kind="others"} 170' \
		'cpc_events_total{event="e",service="a"} 300' 'cpc_events_total{event="e",service="c"} 2000' | sort)" ]
	grep -x 'cpc_counted_cpus 1' "$P"
	grep -x 'cpc_incomplete_rows 0' "$P"
	# A single document has the sum.
	go -0 cpustat -I "$R" --keys=2 --format=openmetrics
	[ "$(awk '/"e"/ { n += $NF } END { print n }' <<<"$output")" -eq 2550 ]
	[ "$(grep -c '"e"' <<<"$output")" -eq 3 ]
}

@test "--by=cpu: records of keys are refused" {
	record <<<"a 1 1"
	go -1 cpustat -I "$R" --by=cpu
	[[ $stderr == *"unsupported --by cpu: the rows are by service" ]]
	go -0 cpustat -I "$R" --by=service
}

@test "records of CPUs are refused" {
	need cpu
	cpustat --shared -O "$R" -c page-faults 0.01 1
	go -1 cpustat -I "$R" --keys=3
	[[ $stderr == *"unsupported --keys: the rows are by cpu" ]]
}

# bats test_tags=all
@test "while names come and go: at most N keys in each sample, and all counts are there" {
	need_keys
	start stat cpustat -O "$R" -o "$P" --format=openmetrics -A command --keys=4 -c page-faults,context-switches 0.1
	eventually test -s "$P"
	start names "$WORK/change-keys" names 1 600 1000
	python3 - "$P" <<-'EOF'
	import re, sys, time
	seen = set()
	end = time.monotonic() + 3
	while time.monotonic() < end:
	    text = open(sys.argv[1]).read()
	    seen.add(text)
	    names = set(re.findall(r'command="([^"]*)"', text))
	    assert len(names) <= 4, names
	assert len(seen) > 10
	EOF
	finish names
	kill -INT "${PIDS[stat]}"
	finish stat
	no_message "$T/stat.err"
	for options in "" --by=command; do
		# shellcheck disable=SC2086 # none or one
		go -0 cpustat -I "$R" --keys=4 --format=json $options
		python3 -c '
import collections, json, sys
sums, total, keys = collections.Counter(), None, collections.defaultdict(set)
for line in sys.stdin:
    row = json.loads(line)
    if row["kind"] in ("tick", "sum"):
        sums.update(row["counts"])
        keys[row["ns"]].add((row["key_kind"], row["command"]))
        assert "incomplete" not in row, row
    elif row["kind"] == "total":
        total = row["counts"]
assert dict(sums) == total, (sums, total)
assert total["page-faults"] >= 600 * 1000
assert max(sum(kind == "name" for kind, _ in k) for k in keys.values()) == 4
assert any(("others", None) in k for k in keys.values())' <<<"$output"
	done
	[ "$(cpustat -I "$R" --format=json | jq -r 'select(.kind == "total") | .counts["page-faults"]')" = \
		"$(jq -r 'select(.kind == "total") | .counts["page-faults"]' <<<"$output")" ]
}

@test "a record with rows of two sets at the same time: each is of its own sample" {
	tail -n +2 "$BATS_DIR/../fuzz/corpus/record/keys-of-two-sets" >"$R"
	go -0 cpustat -I "$R" --keys=1
	diff <(awk '$3 == "tick" { $1 = $1; print }' <<<"$output") - <<-'END'
		0.000 (others) tick 0 # s0
		0.000 k01 tick 100 # s0
		0.000 k02 tick 200 201 202 # s1
		0.000 k03 tick 300 # s0
	END
}

@test "OpenMetrics has 1000 keys without --keys, and other formats all" {
	python3 -c 'print(*(f"k{i} {i} 1" for i in range(1, 1201)), sep=";")' | record
	go -0 cpustat -I "$R" --format=openmetrics
	[ "$(grep -c 'event="e",service="k' <<<"$output")" -eq 1000 ]
	grep -x 'cpc_events_total{event="e",kind="others"} 20100' <<<"$output"
	grep -x 'cpc_events_total{event="f",kind="others"} 200' <<<"$output"
	[ "$(awk '/"e"/ { n += $NF } END { print n }' <<<"$output")" -eq $((1200 * 1201 / 2)) ]
	go -0 cpustat -I "$R" --format=openmetrics --keys=1200
	[ "$(grep -c 'event="e",service="k' <<<"$output")" -eq 1200 ]
	go -0 cpustat -I "$R"
	[ "$(grep -c ' tick ' <<<"$output")" -eq 1200 ]
}

# change_names FIRST: 5000 names have two page faults each in one sample, and then some samples pass.
change_names() {
	kill -STOP "${PIDS[stat]}"
	"$WORK/change-keys" names "$1" $(($1 + 4999)) 2
	kill -CONT "${PIDS[stat]}"
	for _ in 1 2 3 4 5 6; do
		inode=$(stat -c %i "$P")
		eventually replaced "$inode"
	done
}

replaced() {
	[ "$(stat -c %i "$P")" != "$1" ]
}

# bats test_tags=all
@test "OpenMetrics: thousands of short-lived commands, known counts, and memory that does not grow" {
	local first warm=0 rss
	need_keys
	start stat cpustat -O "$R" -o "$P" --format=openmetrics -A command -c page-faults 0.2
	eventually test -s "$P"
	for first in $(seq 1 5000 25001); do
		change_names "$first"
		[ "$(grep -c '"page-faults",command=' "$P")" -le 1000 ]
		rss=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/${PIDS[stat]}/status")
		echo "$first: $rss KiB"
		[ "$first" -ne 15001 ] || warm=$rss
	done
	kill -INT "${PIDS[stat]}"
	finish stat
	no_message "$T/stat.err"
	# All names: in the record, and, as one document, in series of their own or (others).
	[ "$(jq -r 'select(.kind == "tick" and .key_kind == "name" and (.command | test("^[0-9]+$"))) | .counts["page-faults"]' "$R" |
		awk '{ n += $1 } END { print n }')" -eq 60000 ]
	cpustat -I "$R" --format=openmetrics >"$T/document"
	[ "$(awk '/^cpc_events_total/ { n += $NF } END { print n }' "$T/document")" = \
		"$(jq -r 'select(.kind == "total") | .counts["page-faults"]' "$R")" ]
	need_unsanitized "sanitized programs keep memory that they have freed"
	[ $((rss - warm)) -le 1024 ]
}

@test "rates, prefixes, names, and --changed" {
	record <<-'END'
		(idle) 0 5;a 100 1;b 0 0
		a 50 0;b 2000000 1
	END
	go -0 cpustat -I "$R" --changed --rate --human --names
	diff <(awk '{ $1 = $1; print }' <<<"$output") - <<-'END'
		time service event e f
		1.000 (idle) tick 0/s 5/s
		1.000 a tick 100/s 1/s
		2.000 a tick 50/s 0/s
		2.000 b tick 2.00M/s 1/s
		2.000 all total 2.00M/s 7/s
	END
	go -0 cpustat -I "$R" --human --by=service
	diff <(awk '{ $1 = $1; print }' <<<"$output") - <<-'END'
		service e f share
		b 2.00M 1 100.0%
		a 150 1 0.0%
		(idle) 0 5 0.0%
		total 2.00M 7 100.0%
	END
}

@test "-T u and --for: a time before the rows of each sample, and a last one after that long" {
	need_keys
	go -0 cpustat -A command -T u --for 0.5 -c page-faults 0.2
	awk '$3 == "tick" { if ($1 != at) n++; at = $1 } NF == 1 && $1 ~ /^[0-9]+$/ { times++ }
		$3 == "total" { end = $1 }
		END { exit n < 1 || n != times || end != at || at < 0.5 }' <<<"$output"
}
