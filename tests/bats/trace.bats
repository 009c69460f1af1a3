#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Output as trace events: spans do not overlap, times never go back, totals are those of the rows.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need_command jq
	R=$T/run.json
}

teardown() {
	common_teardown
}

# check_trace TRACE RECORD: the rules for each trace, and the totals of the rows.
check_trace() {
	python3 - "$@" <<-'EOF'
	import collections, json, sys
	events = json.load(open(sys.argv[1]))["traceEvents"]
	rows = [json.loads(line) for line in open(sys.argv[2])]
	run, rows = rows[0], rows[1:-1]
	many = len(run["sets"]) > 1
	ns = lambda us: round(us * 1000)
	spans, instants, last = collections.defaultdict(list), [], {}
	totals, ticks = collections.Counter(), collections.Counter()
	number = lambda n: isinstance(n, (int, float)) and not isinstance(n, bool)
	for e in events:
	    # Only events that Perfetto's importer of this format accepts.
	    assert e["ph"] in "MXiC" and isinstance(e["name"], str), e
	    assert type(e["pid"]) is int and type(e["tid"]) is int and number(e["ts"]) and e["ts"] >= 0, e
	    assert e["ph"] != "X" or number(e["dur"]), e
	    assert e["ph"] != "i" or e["s"] in ("g", "p", "t"), e
	    assert e["ph"] != "C" or all(map(number, e["args"].values())), e
	    assert e["ph"] != "M" or e["args"]["name"] != "", e
	    track = e["pid"], e["tid"]
	    if e["ph"] == "X":
	        assert e["dur"] >= 0, e
	        spans[track].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])))
	    elif e["ph"] == "i":
	        instants.append((track, ns(e["ts"])))
	    elif e["ph"] == "C":
	        assert e["ts"] >= last.get((track, e["name"]), 0), ("time goes back", e)
	        last[track, e["name"]] = e["ts"]
	        ticks[track, e["name"]] += e["args"]["count"]
	    if e["ph"] == "X" or e["name"] == "lwp_exit":
	        for name, n in e.get("args", {}).items():
	            if name not in ("status", "signal", "incomplete") and n is not None:
	                totals["process" if e["ph"] == "X" and track[0] == track[1] else "lwp", name] += n
	for track, own in spans.items():
	    own.sort()
	    assert all(a[1] <= b[0] for a, b in zip(own, own[1:])), ("spans overlap", track, own)
	for track, when in instants:
	    assert any(a <= when <= b for a, b in spans[track]), ("an instant out of all spans", track, when)
	want_totals, want_ticks = collections.Counter(), collections.Counter()
	for row in rows:
	    for name, n in row.get("counts", {}).items():
	        label = f"{name} (set {row['set']})" if many else name
	        if row["kind"] in ("exec", "exit", "detach"):
	            want_totals["process", label] += n or 0
	        if row["kind"] == "lwp_exit":
	            want_totals["lwp", label] += n or 0
	        if row["kind"] == "tick":
	            want_ticks[(row["pid"], row["tid"]), f"{label} lwp {row['lwp']}"] += n or 0
	assert +totals == +want_totals, (totals, want_totals)
	assert +ticks == +want_ticks, (ticks, want_ticks)
	kinds = collections.Counter(row["kind"] for row in rows)
	names = collections.Counter(e["name"] for e in events if e["ph"] == "i")
	assert names["fork"] == kinds["fork"], (names, kinds)
	print(sum(map(len, spans.values())), "spans", kinds["fork"], "forks", sum(e["ph"] == "C" for e in events), "samples")
	EOF
}

@test "a tree of shells, threads and execs: spans by name, totals as in the table" {
	go -0 cputrack -fe -T 0.002 -O "$R" --format=trace -o "$T/trace" -c page-faults,task-clock \
		sh -c "'$WORK/threads' 3; '$WORK/exec-thread' 2; '$WORK/forks' 5; ls / >/dev/null; exit 0"
	check_trace "$T/trace" "$R"
	jq -r '.traceEvents[] | select(.ph == "X") | .name' "$T/trace" >"$T/names"
	[ "$(grep -cx 'ls /' "$T/names")" -eq 1 ]
	[ "$(grep -cx threads "$T/names")" -eq 3 ]
	[ "$(jq '[.traceEvents[] | select(.ph == "X") | .args.status] | map(select(. != null)) | length' "$T/trace")" -eq \
		"$(grep -c '"kind":"exit"' "$R")" ]
	# a replay is the same trace
	cputrack -I "$R" --format=trace | cmp - "$T/trace"
}

@test "several sets, children of killed parents, leaders that end first, a process that is left" {
	go -0 cputrack -fe -T 0.002 -O "$R" --format=trace -o "$T/trace" -c page-faults -c task-clock \
		sh -c "'$WORK/threads' 2; ls / >/dev/null; exit 0"
	check_trace "$T/trace" "$R"
	go cputrack -fe -T 0.002 -O "$R" --format=trace -o "$T/trace" -c page-faults "$WORK/killed-parents"
	check_trace "$T/trace" "$R"
	go cputrack -fe -T 0.002 -O "$R" --format=trace -o "$T/trace" -c page-faults "$WORK/leader-first"
	check_trace "$T/trace" "$R"
	start crowd "$WORK/thread-pool" 5
	eventually said crowd ready
	go -0 cputrack -T 0.02 -N 5 -O "$R" --format=trace -o "$T/trace" -p "${PIDS[crowd]}" -c page-faults
	check_trace "$T/trace" "$R" | grep -x '6 spans 0 forks [0-9]* samples'
}

@test "the span of a thread has the name that it gave itself" {
	cat >"$R" <<-'EOF'
	{"kind":"run","schema":1,"tool":"cputrack","command":["x"],"host":"h","start":"2026-01-31T23:59:58.000000000Z","cycles":"tsc","sets":[{"spec":"a","events":[{"event":"a","name":"a","pic":0,"unit":"","scale":1,"signed":false}]}],"many":false}
	{"kind":"lwp_create","ns":1000,"time":"2026-01-31T23:59:58.000001000Z","pid":2,"lwp":2,"tid":3,"comm":"pool","set":0,"counts":{"a":0},"cycles":0}
	{"kind":"lwp_exit","ns":2000,"time":"2026-01-31T23:59:58.000002000Z","pid":2,"lwp":2,"tid":3,"comm":"worker","set":0,"counts":{"a":1},"cycles":7}
	{"kind":"exit","ns":3000,"time":"2026-01-31T23:59:58.000003000Z","pid":2,"lwp":1,"tid":2,"comm":"pool","set":0,"counts":{"a":1},"cycles":7,"status":0}
	{"kind":"end","rows":3}
	EOF
	go -0 cputrack -I "$R" --format=trace
	[ "$(jq -r '.traceEvents[] | select(.ph == "X") | .name' <<<"$output" | tr '\n' ' ')" = "worker pool " ]
}

@test "cpustat: a counter for each CPU and event, with the sums of the table" {
	need cpu
	go -0 cpustat --shared -O "$R" --format=trace -o "$T/trace" -c page-faults,context-switches 0.02 5
	python3 - "$T/trace" "$R" <<-'EOF'
	import collections, json, sys
	got, want = collections.Counter(), collections.Counter()
	for e in json.load(open(sys.argv[1]))["traceEvents"]:
	    if e["ph"] == "C":
	        got[e["name"]] += e["args"]["count"]
	for line in open(sys.argv[2]):
	    row = json.loads(line)
	    if row["kind"] == "tick":
	        for name, n in row["counts"].items():
	            want[f"{name} cpu {row['cpu']}"] += n
	assert got == want and got, (got, want)
	EOF
}

@test "names of programs are escaped; appending is refused" {
	cp "$WORK/set-comm" "$T/"$'b\n\033\xff"'
	go -0 cputrack -fe -T 0 --format=trace -o "$T/trace" -c page-faults "$T/"$'b\n\033\xff"' x
	if LC_ALL=C grep -n '[^ -~]' "$T/trace"; then
		false
	fi
	jq . "$T/trace" >/dev/null
	go -2 cputrack --format=trace --append -o "$T/trace" -T 0 -c page-faults true
}
