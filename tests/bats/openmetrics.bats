#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Output as OpenMetrics: its contents, other parsers, and files that are replaced.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
	P=$T/cpustat.prom
}

teardown() {
	common_teardown
}

# A record of two samples of two CPUs; the second CPU is away in the last one.
record() {
	python3 - <<-'EOF'
	import json
	event = lambda name, pic, unit="", scale=1, signed=False: dict(
	    event=name, name=name, pic=pic, unit=unit, scale=scale, signed=signed)
	put = lambda **o: print(json.dumps(o))
	put(kind="run", schema=1, tool="cpustat", command=["cpustat"], host="h",
	    start="2026-01-31T23:59:58.000000000Z", cycles="tsc", unit="cpu",
	    cpus=[dict(cpu=i, core=i, socket=0, node=0) for i in (0, 7)],
	    sets=[dict(spec="x", events=[event('a"\\\n', 0), event("task-clock", 1),
	               event("energy", 2, "Joules", 0.25), event("diff", 3, signed=True)])])
	def row(kind, sec, counts, **more):
	    put(kind=kind, ns=sec * 10**9, time=f"2026-01-31T23:59:{58 + sec}.000000000Z", set=0,
	        counts=dict(zip(('a"\\\n', "task-clock", "energy", "diff"), counts)),
	        cycles=None if counts[0] is None else 1, **more)
	row("tick", 0, (2**63, 1500000000, 6, -5), cpu=0, ncpus=1)
	row("tick", 0, (10, 1, 1, 1), cpu=7, ncpus=1)
	row("tick", 1, (2**63 - 1, 500000001, 1, -5), cpu=0, ncpus=1)
	row("tick", 1, (None,) * 4, cpu=7, ncpus=0, incomplete=True)
	put(kind="end", rows=4)
	EOF
}

# The samples of a document as "NAME{LABELS} VALUE", by the strict parser of OpenMetrics.
samples() {
	/usr/bin/python3 -c '
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for family in parse(sys.stdin.read()):
    assert family.documentation and family.type in ("counter", "gauge"), family
    for s in family.samples:
        print(s.name, *(f"{k}={v}" for k, v in sorted(s.labels.items())), "%.17g" % s.value)'
}

need_parser() {
	/usr/bin/python3 -c 'import prometheus_client.openmetrics.parser' 2>/dev/null ||
		skip "there is no prometheus_client of Python"
}

# The sums of json's rows of KIND by event and by the named members, in the format of samples().
sums() {
	python3 -c '
import json, collections, sys
kinds, key, label = sys.argv[1].split(","), sys.argv[2], sys.argv[3]
sums = collections.Counter()
for line in sys.stdin:
    row = json.loads(line)
    if row["kind"] in kinds:
        for event, n in row["counts"].items():
            sums[(f"{label}={row[key]}", f"event={event}")] += n
for labels, n in sums.items():
    print("cpc_events_total", *sorted(labels), n)' "$@"
}

@test "running totals are exact; units, differences, gaps and labels follow OpenMetrics" {
	record >"$R"
	go -0 cpustat -I "$R" --format=openmetrics
	diff - <(printf '%s\n' "$output") <<-'EOF'
	# HELP cpc_events Events since the start.
	# TYPE cpc_events counter
	cpc_events_total{event="a\"\\\n",cpu="0"} 18446744073709551615
	# HELP cpc_events_seconds Events since the start, in seconds.
	# TYPE cpc_events_seconds counter
	# UNIT cpc_events_seconds seconds
	cpc_events_seconds_total{event="task-clock",cpu="0"} 2.000000001
	# HELP cpc_events_joules Events since the start, in joules.
	# TYPE cpc_events_joules counter
	# UNIT cpc_events_joules joules
	cpc_events_joules_total{event="energy",cpu="0"} 1.75
	# HELP cpc_differences Differences of events since the start.
	# TYPE cpc_differences gauge
	cpc_differences{event="diff",cpu="0"} -10
	# HELP cpc_counted_cpus CPUs counted in the last sample.
	# TYPE cpc_counted_cpus gauge
	cpc_counted_cpus{cpu="0"} 1
	cpc_counted_cpus{cpu="7"} 0
	# EOF
	EOF
	cpustat -I "$R" -A socket --format=openmetrics | grep -x 'cpc_events_joules_total{event="energy",socket="0"} 2'
	cpustat -I "$R" -A all --format=openmetrics | grep -x 'cpc_counted_cpus{all="all"} 1'
}

# A record of two samples of five commands, of which three have one label.
names() {
	python3 - <<-'EOF'
	import json
	put = lambda **o: print(json.dumps(o))
	put(kind="run", schema=1, tool="cpustat", command=["cpustat"], host="h", unit="command",
	    start="2026-01-31T23:59:58.000000000Z", cycles="tsc", cpus=[dict(cpu=0, core=0, socket=0, node=0)],
	    sets=[dict(spec="a", events=[dict(event="a", name="a", pic=0, unit="", scale=1, signed=False)])])
	for sec in (1, 2):
	    for n, name in enumerate(("caf\u00e9", "x\\x2d\"\n", "y\u0001", "y\u0002", "y\ufffd")):
	        put(kind="tick", ns=sec * 10**9, time=f"2026-01-31T23:59:{58 + sec - 1}.000000000Z", set=0, cycles=1,
	            command=name, key_kind="name", ncpus=1, counts=dict(a=10**n))
	put(kind="end", rows=10)
	EOF
}

@test "names are labels in UTF-8, and those that are printed alike are one series" {
	need_parser
	need_command jq
	names >"$R"
	go -0 cpustat -I "$R" --format=openmetrics
	[ "$(grep ^cpc_events_total <<<"$output")" = 'cpc_events_total{event="a",command="café"} 2
cpc_events_total{event="a",command="x\\x2d\"\n"} 20
cpc_events_total{event="a",command="y�"} 22200' ]
	[ "$(samples <<<"$output" | grep -c cpc_events_total)" -eq 3 ]
	# Each sample is a document.
	go -0 cpustat -I "$R" --format=openmetrics -o "$P"
	[ "$(grep -c ^cpc_events_total "$P")" -eq 3 ]
	[ "$(cpustat -I "$R" --format=csv | csv_awk '$key == "café" { n += $count } END { print n }')" -eq 2 ]
	[ "$(cpustat -I "$R" --format=trace | jq '[.traceEvents[] | select(.name == "a café").args.count] | add')" -eq 2 ]
}

@test "the strict parser reads it, and every series has the sum of its rows" {
	need cpu
	need_parser
	go -0 cpustat --shared -O "$R" --format=openmetrics -c page-faults,context-switches 0.05 4
	samples <<<"$output" | grep cpc_events_total | sort | diff - <(sums tick cpu cpu <"$R" | sort)
	go -0 cpustat --shared -O "$R" --format=openmetrics -c page-faults -c page-faults,task-clock 0.05 4
	[ "$(samples <<<"$output" | grep -c cpc_events_seconds_total)" -eq "$(cpus | wc -l)" ]
	[ "$(samples <<<"$output" | grep -c 'set=1')" -eq $((3 * $(cpus | wc -l))) ]
}

@test "cputrack: totals by command" {
	need_parser
	go -0 cputrack -fe -O "$R" --format=openmetrics -o "$P" -c page-faults sh -c "'$WORK/execs' 2; ls /; ls /"
	sed 's/^\(# [A-Z]* cpc_events\)_total/\1/' "$P" | samples |
		grep cpc_events_total | sort | diff - <(sums exec,exit comm command <"$R" | sort)
	[ "$(grep -c 'command="ls"' "$P")" -eq 2 ]
}

# The sum over all commands of an event in the document.
in_document() {
	awk -v event="\"$1\"" 'index($0, "cpc_events") == 1 && index($0, event) { n += $NF } END { print n + 0 }' "$P"
}

counts_faults() {
	[ -s "$P" ] && [ "$(in_document page-faults)" -ge "$1" ]
}

@test "clocks are in seconds, whatever modes their names have" {
	for event in task-clock task-clock:u cpu-clock:uk; do
		go -0 cputrack --format=openmetrics -c "$event" true
		[[ $output == *$'\n'"cpc_events_seconds_total{event=\"$event\",command=\"true\"} 0."* ]]
	done
}

@test "cputrack: a document at each sample, with running processes, too" {
	start pool "$WORK/thread-pool" -p 50 3
	eventually said pool ready
	start ct cputrack -f -T 0.02 -o "$P" -O "$R" --format=openmetrics -c page-faults,task-clock -p "${PIDS[pool]}"
	eventually test -s "$P"
	tell pool g
	# each of its threads has touched its pages, and none has ended
	eventually counts_faults 150
	grep -q '^# EOF$' "$P"
	[ "$(grep -c '"kind":"exit"' "$R" || true)" -eq 0 ]
	tell pool x
	hang_up pool
	finish pool
	finish ct
	[ "$status" -eq 0 ]
	# At the end, the document equals one that is written at the end only.
	cputrack -I "$R" --format=openmetrics >"$T/end"
	want=$(awk '/page-faults/ { n += $NF } END { print n }' "$T/end")
	[ "$(in_document page-faults)" = "$want" ]
	cputrack -I "$R" --format=openmetrics -o "$T/again"
	[ "$(awk '/page-faults/ { n += $NF } END { print n }' "$T/again")" = "$want" ]
}

@test "a file is replaced at every sample: each look finds a whole one, and no counter goes back" {
	need cpu
	start writer cpustat --shared --format=openmetrics -o "$P" -c page-faults,task-clock 0.01
	eventually test -s "$P"
	python3 - "$P" <<-'EOF'
	import sys
	last, seen = {}, set()
	while len(seen) < 100:
	    text = open(sys.argv[1]).read()
	    assert text.endswith("\n# EOF\n") and text.count("# EOF") == 1, text
	    seen.add(text)
	    for line in text.splitlines():
	        if not line.startswith("#") and "_total" in line:
	            name, value = line.rsplit(" ", 1)
	            assert float(value) >= last.get(name, 0), line
	            last[name] = float(value)
	assert last
	EOF
	kill -TERM "${PIDS[writer]}"
	finish writer
	[ "$status" -eq 143 ]
	[ "$(ls -A "$T")" = "$(printf '%s\n' cpustat.prom writer.err writer.out)" ]
}

@test "ended by a signal, nothing stays beside the output; what a killed run left stops no other" {
	need cpu
	start writer cpustat --shared --format=openmetrics -o "$P" -c page-faults 0.01
	eventually test -s "$P"
	kill -TERM "${PIDS[writer]}"
	finish writer
	[ "$status" -eq 143 ]
	tail -n1 "$P" | grep -x '# EOF'
	[ "$(ls -A "$T")" = "$(printf '%s\n' cpustat.prom writer.err writer.out)" ]
	# as a run that SIGKILL ends in the middle of writing
	record >"$R"
	for _ in {1..20}; do
		start writer cpustat -I "$R" --format=openmetrics -o "$P"
		kill -KILL "${PIDS[writer]}" 2>/dev/null || true
		finish writer
	done
	tail -n1 "$P" | grep -x '# EOF'
	: >"$T/.cpustat.prom.0123456789abcdef.new"
	go -0 cpustat -I "$R" --format=openmetrics -o "$P"
	tail -n1 "$P" | grep -x '# EOF'
}

@test "a full disk is reported, the file is unchanged, and nothing is beside it" {
	record >"$R"
	echo before >"$P"
	go -1 prlimit --fsize=500 sh -c "trap '' XFSZ; exec cpustat -I '$R' --format=openmetrics -o '$P'"
	[ "$stderr" = "cpustat: cannot write '$P': File too large" ]
	[ "$(cat "$P")" = before ]
	[ -z "$(find "$T" -name '.*.new')" ]
	go -1 cpustat -I "$R" --format=openmetrics -o /dev/full
	[ "$stderr" = "cpustat: cannot write '/dev/full': No space left on device" ]
	go -1 cpustat -I "$R" --format=openmetrics -o "$T/no/such"
	[ "$stderr" = "cpustat: cannot write '$T/no/such': No such file or directory" ]
	mkdir "$T/dir"
	go -1 cpustat -I "$R" --format=openmetrics -o "$T/dir"
	[ "$stderr" = "cpustat: cannot write '$T/dir': Is a directory" ]
}

@test "links stay links; pipes and descriptors get one document" {
	record >"$R"
	echo before >"$T/real"
	ln -s real "$P"
	go -0 cpustat -I "$R" --format=openmetrics -o "$P"
	[ -L "$P" ]
	grep -qx '# EOF' "$T/real"
	[ "$(cpustat -I "$R" --format=openmetrics -o /dev/stdout | grep -cx '# EOF')" -eq 1 ]
	[ -e /dev/stdout ]
	mkfifo "$T/pipe"
	cpustat -I "$R" --format=openmetrics -o "$T/pipe" &
	[ "$(grep -cx '# EOF' "$T/pipe")" -eq 1 ]
	wait "$!"
	[ -p "$T/pipe" ]
}

@test "conflicting options are refused; the umask applies, the locale does not" {
	record >"$R"
	go -2 cpustat -I "$R" --format=openmetrics --append -o "$P"
	[ "${#stderr_lines[@]}" -eq 1 ]
	(umask 077; cpustat -I "$R" --format=openmetrics -o "$P")
	[ "$(stat -c %a "$P")" = 600 ]
	with_comma cpustat -I "$R" --format=openmetrics | cmp - <(cpustat -I "$R" --format=openmetrics)
}
