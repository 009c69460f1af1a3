#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpustat --listen: what each reader gets.

# shellcheck disable=SC2154 # run sets status, output, stderr

load helpers

setup() {
	common_setup
}

teardown() {
	common_teardown
}

# serve OPTION...: start cpustat as "stat", and set PORT.
serve() {
	need cpu
	start stat cpustat --shared --listen=127.0.0.1:0 "$@"
	eventually grep -q . "$T/stat.err"
	if grep "built without libmicrohttpd" "$T/stat.err"; then
		finish stat
		skip "this build has no libmicrohttpd"
	fi
	PORT=$(sed -n 's|^cpustat: listening on http://127.0.0.1:\([0-9]*\)/metrics$|\1|p' "$T/stat.err")
	export PORT
	[ "$PORT" -gt 0 ]
}

# Runs the Python program of the standard input, after listen.py.
readers() {
	PYTHONPATH=$BATS_DIR PYTHONDONTWRITEBYTECODE=1 python3 - "$@"
}

# ends SIGNAL STATUS: by that signal, without another message.
ends() {
	kill "-$1" "${PIDS[stat]}"
	finish stat
	[ "$status" -eq "$2" ]
	[ "$(grep -cv 'unnoticed' "$T/stat.err")" -eq 1 ]
}

@test "a series is 0 first for each reader, and exact from its next document on" {
	need_keys
	serve -A command -c page-faults 0.05
	readers "$WORK/change-keys" <<-'EOF'
	import sys
	from listen import *
	change = lambda first, last: fault(sys.argv[1], first, last, 1000)
	a, b = Reader(), Reader() # two connections of one program are two readers
	for r in (a, b):
	    r.read()
	change(1, 3)
	for r in (a, b):
	    seen = []
	    eventually(lambda: seen.append(r.value(command=3)) or seen[-1] == 1000)
	    seen = [v for v in seen if v is not None]
	    assert seen[0] == 0 and seen == sorted(seen), seen
	    assert [r.value(command=n) for n in (1, 2)] == [1000, 1000]
	# It may have read before the program started.  So all is new to it.
	c = Reader("c")
	assert [c.value(command=2) for _ in range(2)] == [0, 1000]
	# A new connection continues for one that was closed, but not for one that is open.
	change(2, 2)
	eventually(lambda: a.value(command=2) == 2000)
	b.close()
	a.read()
	e, f = Reader(), Reader()
	assert e.value(command=2) == 2000
	assert [f.value(command=2) for _ in range(2)] == [0, 2000]
	# So it does for an older version of the program.
	a.close()
	e.read()
	assert Reader("a/2").value(command=2) == 2000
	# An argument of the address can distinguish them as well.
	for n in range(2):
	    shown = [Reader().value("/metrics?reader=x", command=2) for _ in range(2)]
	    assert shown == [2000 * n, 2000], shown
	EOF
	ends TERM 143
}

@test "what has ended is shown until all readers have read it, and comes back as before" {
	local root=/sys/fs/cgroup
	need_keys
	[ ! -e $root/memory/cgroup.procs ] || root=$root/memory
	[ -e $root/cgroup.procs ] || skip "no cgroups are mounted"
	serve -A service -c page-faults 0.02
	readers "$WORK/change-keys" "$root" <<-'EOF'
	import os, subprocess, sys
	from listen import *
	change, root = sys.argv[1:]
	name = f"listen-{os.getpid()}.service"
	def run():
	    os.mkdir(f"{root}/{name}")
	    try:
	        subprocess.run(["sh", "-c", 'echo 0 >"$1/cgroup.procs" && exec "$0" names 1 1 20000', change, f"{root}/{name}"], check=True)
	    finally:
	        os.rmdir(f"{root}/{name}")
	a, b = Reader("a"), Reader("b")
	shown = lambda r: r.value(service=name)
	for r in (a, b):
	    r.read()
	run()
	eventually(lambda: (shown(a) or 0) >= 20000)
	# One reader has read it, the other not yet; the start counts as a reader, too.
	time.sleep(0.5)
	full = shown(a)
	assert [shown(b), shown(b), shown(a)] == [0, full, full]
	run()
	eventually(lambda: shown(a) >= 40000)
	time.sleep(0.5)
	twice = shown(a)
	assert [shown(b), shown(a)] == [twice, twice]
	EOF
	ends INT 130
}

@test "readers that had left before they were answered have read nothing" {
	need_keys
	serve -A command -c page-faults 0.05
	readers "$WORK/change-keys" "${PIDS[stat]}" <<-'EOF'
	import os, signal, sys
	from listen import *
	pid = int(sys.argv[2])
	change = lambda n: fault(sys.argv[1], n, n, 1000)
	a = Reader()
	a.read()
	change(1)
	eventually(lambda: a.value(command=1) == 1000)
	# Its connection is found out within 20 seconds if its machine has gone: "02:" is the timer of keepalive, in 10 ms.
	timers = lambda: [f[5] for f in map(str.split, open("/proc/net/tcp")) if f[1].endswith(f":{PORT:04X}") and f[3] == "01"]
	eventually(lambda: [t[:3] == "02:" and int(t[3:], 16) <= 1000 for t in timers()] == [True])
	# While cpustat is stopped, they ask, lose patience, and ask again by new connections.
	os.kill(pid, signal.SIGSTOP)
	change(2)
	for r in (a, Reader(), Reader()):
	    r.connection.request("GET", "/metrics", headers=r.headers)
	    r.close()
	os.kill(pid, signal.SIGCONT)
	# One that has ended its own direction gets an answer, which is of no reader.
	eventually(lambda: ask_and_end().get(2) == 1000)
	for n in range(4):
	    text = Reader().read()
	    shown = [text[f'cpc_events_total{{event="page-faults",command="{BASE + c}"}}'] for c in (1, 2)]
	    assert shown == [1000, 1000 * (n > 0)], (n, shown)
	EOF
	ends TERM 143
}

@test "of too many that have ended, those that ended first are forgotten" {
	need_keys
	serve -A command -c page-faults 0.02
	readers "$WORK/change-keys" <<-'EOF'
	import sys
	from listen import *
	def change(first, last, total=20):
	    fault(sys.argv[1], first, last, 20)
	    eventually(lambda: b.value(command=last) == total)
	a, b = Reader("a"), Reader("b")
	# 1000 have series at a time, and 4000 that have ended.  The start is a reader that never comes.
	a.read()
	change(1, 1)
	for first in range(2, 3602, 900):
	    change(first, first + 899)
	assert [a.value(command=1) for _ in range(2)] == [0, 20]
	# It is the oldest, but has not ended before the others.
	change(1, 1, 40)
	for first in range(3602, 6302, 900):
	    change(first, first + 899)
	shown = [a.read() for _ in range(2)]
	of = lambda n: [s.get(f'cpc_events_total{{event="page-faults",command="{BASE + n}"}}') for s in shown]
	assert of(1) == [40, 40], of(1)
	assert [n for n in range(3602, 6302) if of(n) != [0, 20]] == []
	assert len(shown[1]) < 5100, len(shown[1])
	EOF
	ends TERM 143
}

# What a reader gets of each format, by the parsers of Python's client of Prometheus.
@test "the format is that of the Accept header" {
	serve --label 'rack=r"1' -c page-faults,task-clock 0.05
	readers <<-'EOF'
	from listen import *
	old, new = "text/plain; version=0.0.4; charset=utf-8", "application/openmetrics-text; version=1.0.0; charset=utf-8"
	for accept, want in (("*/*", old), ("text/plain", old), (OPENMETRICS, new), ("application/openmetrics-text", new),
	                     ("application/openmetrics-text; q=0.3, text/plain;q=0.4", old), ("application/openmetrics-text;q=0", old),
	                     ("text/plain;q=0.5 , Application/OpenMetrics-Text ; version=0.0.1 ; q=0.5", new),
	                     ("application/openmetrics-textile", old), ("a" * 5000, old), (",;q=,;q=x,", old)):
	    r = Reader(accept=accept)
	    answer = r.ask()
	    assert answer.status == 200 and answer.getheader("Content-Type") == want, (accept, answer.getheader("Content-Type"))
	EOF
	/usr/bin/python3 -c 'import prometheus_client.openmetrics.parser' 2>/dev/null ||
		skip "there is no prometheus_client of Python"
	PYTHONPATH=$BATS_DIR PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 - <<-'EOF'
	from listen import *
	from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
	from prometheus_client.parser import text_string_to_metric_families as old_text
	for accept, parse in ((OPENMETRICS, openmetrics), ("text/plain", old_text)):
	    r = Reader(accept=accept)
	    eventually(r.read)
	    r.read()
	    families = list(parse(r.text))
	    samples = [s for f in families for s in f.samples]
	    assert {f.type for f in families} == {"counter", "gauge"}
	    assert all(s.labels["rack"] == 'r"1' for s in samples)
	    created = [s.value for s in samples if s.name.endswith("_created")]
	    assert (len(created) > 0) == (parse is openmetrics)
	    assert all(time.time() - 3600 < at <= time.time() for at in created)
	EOF
	ends TERM 143
}

@test "requests of others, malformed and slow ones, while a reader reads; with the memory and files as before" {
	local rounds=1000 limit=4096
	in_short || rounds=10000
	! is_sanitized || limit=400000 # what is freed waits, up to 256 MiB
	serve -c page-faults 0.05
	readers "${PIDS[stat]}" $rounds $limit <<-'EOF'
	import os, random, socket, sys
	from listen import *
	pid, rounds, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
	files = lambda: len(os.listdir(f"/proc/{pid}/fd"))
	memory = lambda: int(re.search(r"VmRSS:\s*(\d+)", open(f"/proc/{pid}/status").read())[1])
	connect = lambda: socket.create_connection(("127.0.0.1", PORT), timeout=LIMIT)
	a = Reader("a")
	eventually(a.read)
	for method, path, status in (("GET", "/", 404), ("GET", "/metrics/", 404), ("POST", "/metrics", 405), ("PUT", "/x", 404),
	                             ("DELETE", "/metrics", 405), ("HEAD", "/metrics", 200)):
	    answer = a.ask(method, path)
	    assert answer.status == status, (method, path, answer.status)
	assert answer.getheader("Content-Length") != "0" and a.text == ""
	before = files()
	random.seed(1)
	for n in range(rounds):
	    s = connect()
	    junk = random.choice((b"GET /metrics HTTP/9.9\r\n\r\n", b"\0" * 100, b"GET " + b"/" * 70000, random.randbytes(200) + b"\r\n\r\n",
	                          b"GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"POST /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"))
	    try:
	        s.sendall(junk)
	    except OSError:
	        pass
	    s.close()
	    if n % 100 == 0:
	        assert a.read()
	    if n == rounds // 2:
	        warm = memory()
	# They ask, and do not read the answer, or do not ask to the end.  A reader is answered all the same.
	slow = []
	for n in range(200):
	    slow.append(connect())
	    slow[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n" + b"\r\n" * (n % 2))
	    if n % 20 == 0:
	        assert a.read()
	assert Reader("new").read() and a.read()
	assert files() <= before + 64, files()
	for s in slow:
	    s.close()
	eventually(lambda: a.read() and files() <= before + 1)
	print("memory:", warm, memory())
	assert memory() - warm < limit
	EOF
	ends TERM 143
}

@test "as many events as a set can have" {
	need_keys
	serve -A command -c "$(printf 'page-faults,%.0s' {1..63})page-faults" 0.05
	readers "$WORK/change-keys" <<-'EOF'
	import sys
	from listen import *
	a = Reader()
	a.read()
	fault(sys.argv[1], 1, 1, 1000)
	counts = lambda: [v for k, v in a.read().items() if f'command="{BASE + 1}"' in k]
	eventually(lambda: counts() == [1000] * 64)
	EOF
	ends TERM 143
}

@test "wrong addresses, and options that it excludes" {
	local where
	for where in :80 127.0.0.1 127.0.0.1:http 127.0.0.1:65536 ::1:80 '[]:80' '[::1]' x:; do
		mistake 2 "invalid --listen '$where': expected ADDRESS:PORT, such as 127.0.0.1:10047" cpustat --listen="$where" 1
	done
	for options in "-o x" --top --by=cpu --format=csv; do
		# shellcheck disable=SC2086 # none or one
		mistake 2 "unsupported with --listen" cpustat --listen=127.0.0.1:0 $options 1
	done
	mistake 2 "unsupported with -I" cpustat --listen=127.0.0.1:0 -I x
	serve -c page-faults 0.1
	mistake 1 "cannot listen on '127.0.0.1' port $PORT: Address already in use" \
		cpustat --shared --listen=127.0.0.1:"$PORT" -c page-faults 1
	mistake 1 "cannot listen on '192.0.2.1' port 0: Cannot assign requested address" \
		cpustat --shared --listen=192.0.2.1:0 -c page-faults 1
	ends TERM 143
	# The port is free at once.
	go -0 cpustat --shared --listen=127.0.0.1:"$PORT" -c page-faults 0.05 2
	[ "$stderr" = "cpustat: listening on http://127.0.0.1:$PORT/metrics" ]
}

@test "labels of all samples" {
	local text
	for text in a a= =a 1a=b __a=b 'a b=c' event=x cpu=1 service=x set=1; do
		[ "$text" = a= ] || mistake 2 "invalid --label '$text'" cputrack --format=openmetrics --label "$text" -c page-faults true
	done
	mistake 2 "invalid --label 'a=2': the samples have a label 'a' already" \
		cputrack --format=openmetrics --label a=1 --label a=2 -c page-faults true
	mistake 2 "missing --format=openmetrics" cputrack --label a=1 -c page-faults true
	track --format=openmetrics --label 'job=a "b"\c' --label empty= -c page-faults true
	[[ $(grep ^cpc_events_total "$ROWS") == 'cpc_events_total{event="page-faults",command="true",job="a \"b\"\\c",empty=""} '* ]]
}
