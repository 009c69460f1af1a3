#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Output as trace events: spans are balanced, times never go back, totals are those of the rows.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
}

teardown() {
	common_teardown
}

# check_trace TRACE RECORD: what holds for every trace, and what the rows say.
check_trace() {
	python3 - "$@" <<-'EOF'
	import collections, json, sys
	events = json.load(open(sys.argv[1]))["traceEvents"]
	rows = [json.loads(line) for line in open(sys.argv[2])]
	run, rows = rows[0], rows[1:-1]
	many = len(run["sets"]) > 1
	stack, last, ns, totals, ticks = collections.defaultdict(list), {}, {}, collections.Counter(), collections.Counter()
	for e in events:
	    track = e["pid"], e["tid"]
	    if e["ph"] == "M":
	        continue
	    assert e["ts"] >= last.get(track, 0), ("time goes back", e)
	    last[track] = e["ts"]
	    if e["ph"] == "B":
	        stack[track].append(e["name"])
	    elif e["ph"] == "E":
	        assert stack[track].pop() == e["name"], e
	        first = track[0] == track[1]
	    if e["ph"] == "E" or e["name"] == "lwp_exit":
	        for name, n in e.get("args", {}).items():
	            if name not in ("status", "signal", "incomplete") and n is not None:
	                totals["process" if e["ph"] == "E" and first else "lwp", name] += n
	    elif e["ph"] == "C":
	        ticks[track, e["name"]] += e["args"]["count"]
	    elif e["ph"] == "i":
	        assert stack[track], ("an instant out of a span", e)
	assert not any(stack.values()), stack
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
	spans = sum(e["ph"] == "B" for e in events)
	print(spans, "spans", kinds["fork"], "forks", sum(e["ph"] == "C" for e in events), "samples")
	EOF
}

@test "a tree of shells, threads and execs: spans by name, totals as in the table" {
	go -0 cputrack -fe -T 0.002 -O "$R" --format=trace -o "$T/trace" -c page-faults,task-clock \
		sh -c "'$WORK/threads' 3; '$WORK/exec-thread' 2; '$WORK/forks' 5; ls / >/dev/null; exit 0"
	check_trace "$T/trace" "$R"
	jq -r '.traceEvents[] | select(.ph == "B") | .name' "$T/trace" >"$T/names"
	[ "$(grep -cx 'ls /' "$T/names")" -eq 1 ]
	[ "$(grep -cx threads "$T/names")" -eq 3 ]
	[ "$(jq '[.traceEvents[] | select(.ph == "E") | .args.status] | map(select(. != null)) | length' "$T/trace")" -eq \
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

@test "names of others are escaped; appending is refused" {
	cp "$WORK/set-comm" "$T/"$'b\n\033\xff"'
	go -0 cputrack -fe -T 0 --format=trace -o "$T/trace" -c page-faults "$T/"$'b\n\033\xff"' x
	if LC_ALL=C grep -n '[^ -~]' "$T/trace"; then
		false
	fi
	jq . "$T/trace" >/dev/null
	go -2 cputrack --format=trace --append -o "$T/trace" -T 0 -c page-faults true
}
