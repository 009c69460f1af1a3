#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Plots of large records: pictures and pages have the sums of what falls into a pixel, and no count is lost.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
	cat >"$T/page.py" <<-'EOF'
	"""Reads a page: for each series its cells, and the exact sums of the table."""
	import html.parser
	class Page(html.parser.HTMLParser):
	    def __init__(self, path):
	        super().__init__(convert_charrefs=True)
	        self.series, self.rows, self.elements, self.where = [], [], 0, None
	        text = open(path, encoding="utf-8").read()
	        self.size = len(text.encode())
	        self.feed(text)
	    def handle_starttag(self, tag, attrs):
	        attrs = dict(attrs)
	        self.elements += 1
	        if "data-columns" in attrs:
	            self.series.append({})
	            self.columns = int(attrs["data-columns"])
	        if tag == "li" and "data-v" in attrs:
	            self.add(attrs["title"], attrs["data-v"])
	        elif "data-v" in attrs and attrs.get("class") == "row":
	            self.where = attrs["data-v"]
	        elif self.where is not None and attrs.get("class") == "name":
	            self.add(attrs["title"], self.where)
	            self.where = None
	        if tag == "tr":
	            self.rows.append([])
	        if tag == "td":
	            self.rows[-1].append(attrs.get("title", ""))
	    def add(self, name, data):
	        """[(from, to, sum or None, incomplete)] in columns."""
	        cells, at = [], 0
	        for word in data.split(","):
	            count, _, width = word.partition("*")
	            to = at + int(width or 1)
	            known = count.rstrip("?")
	            cells.append((at, to, int(known) if known.isdecimal() else float(known) if known else None, "?" in count))
	            at = to
	        assert at <= self.columns
	        self.series[-1][name] = cells
	def total(cells):
	    return sum(count for _, _, count, _ in cells if count is not None)
	EOF
	# Rows of a record of services.
	cat >"$T/record.py" <<-'EOF'
	import json
	def put(**row):
	    print(json.dumps(row))
	def begin(*events, unit="service", tool="cpustat"):
	    put(kind="run", tool=tool, command=[], host="h", unit=unit, sets=[dict(events=[dict(event=event, unit="", scale=1) for event in events])])
	def tick(second, name, counts, **more):
	    put(kind="tick", ns=round(second * 1e9), service=name, key_kind="name", set=0, counts=counts, **more)
	def write(seconds, keys, count):
	    begin("e")
	    for number, second in enumerate(seconds, 1):
	        for k in range(keys):
	            tick(second, f"s{k}", {"e": count(number, k)})
	    put(kind="end")
	EOF
	export PYTHONPATH=$T PYTHONDONTWRITEBYTECODE=1
}

teardown() {
	common_teardown
}

# The data for gnuplot, by the names of its blocks.
block() {
	sed -n "/^\\\$$1 <</,/^EOD/p" <<<"$output" | sed '1d;$d'
}

@test "two hours of 50 services: a page below 2 MB, whose cells add up to the record" {
	python3 - >"$R" <<-'EOF'
	import record
	record.begin("task-clock")
	for t in range(1, 7201):
	    for k in range(50):
	        n = 300_000_000 + t * k if k < 3 else (t * 7919 * k % 1000 if (t + k) % 5 == 0 else 0)
	        # Service 7 lacks something at 1000 s, service 8 has no counts from 2001 s to 2100 s.
	        more = {"incomplete": True} if (k, t) == (7, 1000) else {}
	        record.tick(t + 0.0003 * (k % 3), f"/system.slice/unit{k}.service", {"task-clock": None if k == 8 and 2000 < t <= 2100 else n}, **more)
	record.put(kind="end")
	EOF
	[ "$(grep -c '"tick"' "$R")" -eq 360000 ]
	go -0 cpcplot -o "$T/p.html" "$R"
	python3 - "$R" "$T/p.html" <<-'EOF'
	import collections, json, page, sys
	sums = collections.Counter()
	for line in open(sys.argv[1]):
	    row = json.loads(line)
	    if row["kind"] == "tick":
	        sums[row["service"]] += row["counts"]["task-clock"] or 0
	p = page.Page(sys.argv[2])
	assert p.size < 2_000_000 and p.elements < 1000, (p.size, p.elements)
	[found] = p.series
	assert {name: page.total(cells) for name, cells in found.items()} == sums
	assert list(found) == sorted(sums, key=lambda name: -sums[name])
	assert {row[0]: row[1] for row in p.rows[1:-1]} == {name: f"{n} ns" for name, n in sums.items()}
	assert p.rows[-1][1] == f"{sum(sums.values())} ns"
	# 8 samples in a cell: marks are where the record has them.
	assert p.columns == 900
	lacking = {name: [(a, b) for a, b, _, lacks in cells if lacks] for name, cells in found.items()}
	assert lacking["/system.slice/unit7.service"] == [(124, 125)], lacking
	# 2001 s to 2096 s are 12 cells; the next one has half of its samples.
	gap = [(a, b) for a, b, n, _ in found["/system.slice/unit8.service"] if n is None]
	assert gap == [(250, 262)] and lacking["/system.slice/unit8.service"] == [(262, 263)], (gap, lacking)
	assert not any(marks for name, marks in lacking.items() if name[-9] not in "78")
	EOF
	# A steady load stays level: every cell but the last has the same number of samples.
	python3 -c 'import record
record.write([t * 0.25 + 0.01 * (t % 3) for t in range(1, 7202)], 9, lambda t, k: 100 + k)' >"$R"
	go -0 cpcplot -o "$T/p.html" "$R"
	python3 - "$T/p.html" <<-'EOF'
	import page, sys
	[found] = page.Page(sys.argv[1]).series
	for name, cells in found.items():
	    assert page.total(cells) == 7201 * (100 + int(name[1:]))
	    assert len({n for _, _, n, _ in cells[:-1]}) == 1, cells
	EOF
}

@test "the sums do not depend on the width of the picture" {
	python3 -c 'import record; record.write(range(1, 1001), 12, lambda t, k: t * k % 17)' >"$R"
	for width in 60 83 150; do
		go -0 cpcplot -s "${width}x30" "$R"
		[ "$(grep '^s[0-9]' <<<"$output" | sed 's/|.*|//')" = "${sums:=$(grep '^s[0-9]' <<<"$output" | sed 's/|.*|//')}" ]
		awk -v width="$width" 'length($0) > width { print; bad = 1 } END { exit bad }' <<<"$output"
	done
	[ "$(grep -c . <<<"$sums")" -eq 12 ]
	for width in 300 1200; do
		go -0 cpcplot -g -o p.png -s "${width}x800" "$R"
		[ "$(block map0 | awk '{ s += $5 } END { print s }')" -eq "$(
			awk 'BEGIN { for (t = 1; t <= 1000; t++) for (k = 0; k < 12; k++) s += t * k % 17; print s }')" ]
	done
}

@test "the rate of a point is that of all its samples" {
	python3 -c 'import record; record.write([t / 4 for t in range(1, 2001)], 9, lambda t, k: 100 + k)' >"$R"
	go -0 cpcplot -g -r -o p.png -s 400x300 "$R"
	[[ $output == *"e per second'"* ]]
	[ "$(block map0 | awk '{ print $5 }' | sort -n | uniq -c | awk '{ print $2, $1 }' | xargs)" = "$(
		block map0 | wc -l | awk '{ for (k = 0; k < 9; k++) printf "%d %d ", 400 + 4 * k, $1 / 9 }' | xargs)" ]
	[ "$(block map0 | wc -l)" -lt 2000 ]
}

@test "of many keys, the largest are drawn, and (others) is the exact sum of the rest for every event" {
	python3 - >"$R" <<-'EOF'
	import record
	record.begin("e", "f")
	for t in (1, 2, 3):
	    for k in range(2000):
	        # The largest of e are the smallest of f.
	        record.tick(t, f"/system.slice/unit{k}.service", {"e": k * 2**40 + t, "f": 2000 - k})
	    record.put(kind="tick", ns=t * 10**9, service=None, key_kind="others", set=0, counts={"e": 5, "f": 9})
	record.put(kind="end")
	EOF
	go -0 cpcplot -o "$T/p.html" "$R"
	python3 - "$T/p.html" <<-'EOF'
	import page, sys
	p = page.Page(sys.argv[1])
	assert p.size < 2_000_000, p.size
	e, f = p.series
	value = {"e": lambda k: 3 * k * 2**40 + 6, "f": lambda k: 3 * (2000 - k)}
	for event, found, largest in (("e", e, range(1999, 1950, -1)), ("f", f, range(49))):
	    names = [f"/system.slice/unit{k}.service" for k in largest]
	    assert list(found) == names + ["(others)"], list(found)[:5]
	    assert [page.total(found[name]) for name in names] == [value[event](k) for k in largest]
	    rest = sum(map(value[event], set(range(2000)) - set(largest))) + 3 * (5 if event == "e" else 9)
	    assert page.total(found["(others)"]) == rest, (page.total(found["(others)"]), rest)
	rows = [row for row in p.rows if row]
	assert rows[-2][0] == "(others)" and len(rows) == 1002, (rows[-2], len(rows))
	for column in (1, 2):
	    assert sum(int(row[column]) for row in rows[:-1]) == int(rows[-1][column])
	EOF
	go -0 cpcplot -e f -s 100x30 "$R"
	[ "$(grep -c '|' <<<"$output")" -eq 50 ]
	# The sum of the others does not make the largest ones pale.
	[ "$(grep -c '@|' <<<"$output")" -ge 2 ]
	[[ ${lines[-2]} == '(others) '*' 5713 K' ]] # 3 * (1 + ... + 1951) + 27
	# Marks survive in (others), also of a key without any count.
	sed '$d' "$R" >"$T/lacks"
	python3 -c 'import record; record.tick(3, "/system.slice/x", {"e": None, "f": 1}); record.put(kind="end")' >>"$T/lacks"
	go -0 cpcplot -e e -s 100x30 "$T/lacks"
	[[ ${lines[-2]} == '(others) '*'?| '*' ?' ]]
	[ "$(grep -c '?|' <<<"$output")" -eq 1 ]
}

@test "0, little, much, not counted and incomplete differ in a map" {
	python3 - >"$R" <<-'EOF'
	import record
	record.begin("e")
	for k in range(9):
	    for t, n in enumerate([2, 30000, 0, 0, 900000, 9, None, 0] if k == 0 else [1] * 8, 1):
	        record.tick(t, f"s{k}", {"e": n}, **({"incomplete": True} if (k, t) == (0, 8) else {}))
	record.put(kind="end")
	EOF
	go -0 cpcplot -s 80x30 "$R"
	row=$(grep '^s0' <<<"$output")
	row=${row#*|}
	row=${row%%|*}
	[ "$(tr -s ':.@ ?' <<<"$row")" = ':.@: ?' ]
	go -0 cpcplot -g -o p.png "$R"
	[ "$(block zero0 | awk '$3 == -0.45 { print $1 "-" $2 }' | xargs)" = '2-3 3-4 7-8' ]
	[ "$(block map0 | awk '$3 == -0.45 { print $5 }' | xargs)" = '2 30000 900000 9' ]
	[ "$(block dark0 | awk '{ print $1 "-" $2 }')" = '7-8' ]
	go -0 cpcplot -o "$T/p.html" "$R"
	python3 - "$T/p.html" <<-'EOF'
	import base64, page, re, struct, sys, zlib
	found = page.Page(sys.argv[1]).series[0]["s0"]
	assert [(n, lacks) for _, _, n, lacks in found] == [(2, False), (30000, False), (0, False), (900000, False), (9, False), (None, False), (0, True)], found
	# The colours of the picture: four lines of bytes after their filter types.
	png = base64.b64decode(re.search(r'base64,([^"]*)', open(sys.argv[1]).read())[1])
	width, height = struct.unpack(">II", png[16:24])
	at, chunks = 8, {}
	while at < len(png):
	    size, = struct.unpack(">I", png[at:at + 4])
	    chunks[png[at + 4:at + 8]] = png[at + 8:at + 8 + size]
	    at += size + 12
	lines = zlib.decompress(chunks[b"IDAT"])
	assert height == 4 and len(lines) == 4 * (width + 1)
	colour = [(lines[1 + a], lines[3 * (width + 1) + 1 + a]) for a, *_ in found]
	little, more, zero, much, nine, gap, lacking = colour
	assert little == nine and len({little[0], more[0], zero[0], much[0], gap[0]}) == 5, colour
	assert lacking[0] == zero[0] and lacking[1] != zero[1] and all(a == b for a, b in colour[:-1]), colour
	assert chunks[b"tRNS"][gap[0]] == 0 and all(chunks[b"tRNS"][shade] for shade, _ in colour if shade != gap[0])
	EOF
}

@test "labels show what differs between long names; the full names are in the tooltips" {
	PYTHONPATH=$BATS_DIR/../../cmd/cpcplot python3 - <<-'EOF'
	from model import labels_of
	def check(names, most, expected=None):
	    labels = labels_of(names, most)
	    assert len(set(labels.values())) == len(names), labels
	    assert all(len(label) <= most for label in labels.values()), labels
	    if expected is not None:
	        assert list(labels.values()) == expected, labels
	check(["cpu 0", "cpu 1"], 9, ["cpu 0", "cpu 1"])
	check(["/system.slice/ssh.service", "/system.slice/cron.service", "(idle)"], 12, ["\u2026ssh\u2026", "\u2026cron\u2026", "(idle)"])
	check([f"enterprise/internal/query/resolver/{n}.go" for n in ("alpha", "beta")], 20)
	# They differ in the middle, at the start, at the end.
	check([f"/kubepods/pod{n:040d}/container-{n % 7:030d}/tail" for n in range(200)], 24)
	check([f"{n:03d}" + "x" * 60 for n in range(50)], 16)
	check(["x" * 60 + f"{n:03d}" for n in range(50)], 16)
	check(["a" * n for n in range(1, 60)], 70)
	check(["/a/b", "/a/" + "b" * 60], 20)
	EOF
	python3 - >"$R" <<-'EOF'
	import record
	record.begin("e")
	for k in range(20):
	    record.tick(1, f"/system.slice/system-getty.slice/getty@tty{k:02d}.service", {"e": 20 - k})
	record.put(kind="end")
	EOF
	go -0 cpcplot -o "$T/p.html" "$R"
	[ "$(grep -o 'title="/system.slice/system-getty.slice/getty@tty0[0-9].service">[^<]*getty@tty0[0-9][^<]*<' "$T/p.html" | grep -vc 'td' )" -ge 10 ]
	go -0 cpcplot -s 100x30 "$R"
	[ "$(grep -c 'getty@tty[01][0-9].* |' <<<"$output")" -eq 20 ]
}

@test "axes end with the data" {
	PYTHONPATH=$BATS_DIR/../../cmd/cpcplot python3 - <<-'EOF'
	from model import time_marks
	for end, texts in ((7200, "0 1000_s 2000_s 3000_s 4000_s 5000_s 6000_s 7200_s"), (0.0493, "0 5_ms 10_ms 15_ms 20_ms 25_ms 30_ms 35_ms 40_ms 45_ms 49.3_ms"),
	                   (1.25, "0 0.2_s 0.4_s 0.6_s 0.8_s 1_s 1.25_s"), (0, "0")):
	    assert " ".join(text.replace(" ", "_") for _, text in time_marks(end)) == texts, time_marks(end)
	    assert time_marks(end)[-1][0] == end
	EOF
	# A row of the total can be later than the last sample.
	python3 -c 'import record
record.begin("e")
record.tick(4, "a", {"e": 1})
record.put(kind="total", ns=5 * 10**9, service="a", key_kind="name", set=0, counts={"e": 1})
record.put(kind="end")' >"$R"
	go -0 cpcplot -g "$R"
	grep -Fx 'set xrange [0:4]' <<<"$output"
	go -0 cpcplot --html "$R"
	[[ $output == *'data-end="4"'* ]]
	# A small picture has fewer marks, and shorter names.
	python3 -c 'import record; record.write(range(1, 41), 12, lambda t, k: t)' | sed 's/"s\([0-9]\)/"\/system.slice\/a-service-of-a-long-name-\1/' >"$R"
	go -0 cpcplot -g -o p.png -s 500x400 "$R"
	grep -Fx "set xtics ('0' 0, '20 s' 20, '40 s' 40)" <<<"$output"
	[ "$(grep -o "'[^']*long-name-[0-9]*' [0-9]*" <<<"$output" | awk '{ n++; if (length($0) > 36) exit 1 } END { print n }')" -eq 12 ]
}

@test "any record makes a page below 2 MB: long names, many events, execs and processes" {
	python3 - "$T" <<-'EOF'
	import contextlib, record, sys
	def write(name, events, unit, rows):
	    with open(f"{sys.argv[1]}/{name}.json", "w") as file, contextlib.redirect_stdout(file):
	        record.begin(*events, unit=unit, tool="cpustat" if unit == "service" else "cputrack")
	        rows(events)
	        record.put(kind="end")
	def ticks(keys, seconds, long):
	    def rows(events):
	        for t in range(1, seconds + 1):
	            for k in range(keys):
	                record.tick(t, f"{'x' * long}{k}<>", {event: 10**18 + k * t for event in events})
	    return rows
	def processes(number, long):
	    def rows(events):
	        for i in range(number):
	            pid, command = i + 2, f"cc1 -o {'<' * long} src/file{i}.c"
	            record.put(kind="fork", ns=i * 1000, pid=1, lwp=1, comm="make", child=pid)
	            record.put(kind="exec", ns=i * 1000 + 1, pid=pid, lwp=1, comm="make", set=0, counts={event: 1 for event in events})
	            record.put(kind="image", ns=i * 1000 + 1, pid=pid, lwp=1, comm=f"c{i}{'&' * 100}", command=command)
	            record.put(kind="exit", ns=i * 1000 + 900, pid=pid, lwp=1, comm=f"c{i}{'&' * 100}", set=0, counts={event: 10 for event in events})
	        record.put(kind="exit", ns=number * 1000, pid=1, lwp=1, comm="make", set=0, counts={event: 5 for event in events})
	    return rows
	def execs(events):
	    for i in range(20000):
	        record.put(kind="exec", ns=i * 1000 + 1, pid=1, lwp=1, comm="a", set=0, counts={"e": i})
	        record.put(kind="image", ns=i * 1000 + 1, pid=1, lwp=1, comm="a", command="a " + "b" * 300)
	many = [f"event-{i}" for i in range(64)]
	write("names", ["e"], "service", ticks(300, 5, 3000))
	write("events", many, "service", ticks(60, 60, 20))
	write("lines", many, "service", ticks(8, 200, 400))
	write("forged", [f"{'&' * 90}{i}" for i in range(5000)], "service", ticks(3, 2, 9))
	write("processes", many[:8], "user", processes(3000, 300))
	write("execs", ["e"], "user", execs)
	EOF
	for name in names events lines forged processes execs; do
		go -0 cpcplot -o "$T/p.html" "$T/$name.json"
		[ "$(stat -c %s "$T/p.html")" -le 2000000 ]
		[ -z "$stderr" ]
		cp "$T/p.html" "$T/$name.html"
	done
	grep -F 'the first 256 of 5000 events; -e chooses others' "$T/forged.html"
	python3 - "$T" <<-'EOF'
	import page, re, sys
	for name, total in (("names", sum(5 * 10**18 + 15 * k for k in range(300))), ("events", sum(60 * 10**18 + 1830 * k for k in range(60)))):
	    p = page.Page(f"{sys.argv[1]}/{name}.html")
	    for series in p.series:
	        assert sum(map(page.total, series.values())) == total, (name, len(series))
	    assert {int(row[1]) for row in p.rows if row and row[0] == ""} == {total}
	# What the tree and the table show of the 3001 processes adds up: 1 + 10 for each, and 5.
	text = open(f"{sys.argv[1]}/processes.html").read()
	tree = text[text.index('class="tree"'):]
	values = [int(n) for n in re.findall(r'class="v v0[^"]*" data-v="(\d+)"', tree)]
	own, sums = values[0::2], values[1::2]
	assert "(others)" in tree and len(own) < 3001
	assert sum(own) == 3000 * 11 + 5 == sums[0], (sum(own), sums[0])
	p = page.Page(f"{sys.argv[1]}/processes.html")
	rows = [[int(n) for n in row[2:]] for row in p.rows if row]
	assert all(sum(column[:-1]) == column[-1] == 3000 * 11 + 5 for column in zip(*(row[-8:] for row in rows))), rows[-1]
	# The bars of one pixel are added up: no exec is lost.
	text = open(f"{sys.argv[1]}/execs.html").read()
	assert text.count('<i class') + text.count('<i style="left') <= 1200
	assert sum(int(n or 1) for n in re.findall(r'<i [^>]*title="(?:(\d+) programs, the last one )?a bbb', text)) == 20001 # 20000 execs
	EOF
}

@test "the page of a build: labels have the argument, and sums with children sort the tree" {
	PYTHONPATH=$BATS_DIR/../../cmd/cpcplot python3 - <<-'EOF'
	from page import argument_of
	for command, argument in (
	        ("/usr/lib/gcc/x86_64-linux-gnu/12/cc1 -quiet -imultiarch x86_64-linux-gnu src/net.c -quiet -dumpbase net.c -dumpbase-ext .c -O2 -o /tmp/ccX.s", "net.c"),
	        ("gcc -O2 -c -o net.o net.c", "net.c"), ("gcc -c net.c", "net.c"), ("as --64 -o net.o /tmp/ccX.s", "net.o"),
	        ("ld -plugin x -o build/prog /usr/lib/crt1.o a.o /usr/lib/crtn.o", "prog"), ("gcc a.o -o", "a.o"),
	        (f"cc1 src/net.c {'-I/include ' * 371}/cut"[:4095], "net.c"), ('sh -c cd "src" && make "all" >/dev/null 2>&1', "all"), ("sort /tmp/x", "x"), ("make -j2", ""), ("ls", ""), ("", ""), ("rm -rf build/", "build"), ("sh -c exit", "exit")):
	    assert argument_of(command) == argument, (command, argument_of(command))
	EOF
	python3 - >"$R" <<-'EOF'
	import record
	record.begin("e", "f", unit="user", tool="cputrack")
	def process(born, parent, pid, count, command=None, lwps=()):
	    ns = born * 10**6
	    name = command.split()[0] if command else "make"
	    if parent:
	        record.put(kind="fork", ns=ns, pid=parent, lwp=1, comm="x", child=pid)
	    if command:
	        record.put(kind="exec", ns=ns + 1, pid=pid, lwp=1, comm="make", set=0, counts={"e": 0, "f": 0})
	        record.put(kind="image", ns=ns + 1, pid=pid, lwp=1, comm=name, command=command)
	    for lwp, part in lwps:
	        record.put(kind="lwp_create", ns=ns + 2, pid=pid, lwp=lwp, comm=name)
	        record.put(kind="lwp_exit", ns=ns + 3, pid=pid, lwp=lwp, comm=name, set=0, counts={"e": part, "f": 0})
	    return dict(kind="exit", ns=10**9 + pid, pid=pid, lwp=1, comm=name, set=0, counts={"e": count, "f": 100 - count})
	ends = [process(0, None, 1, 5), process(1, 1, 10, 1, "gcc -c a.c"), process(2, 10, 11, 20, "cc1 a.c"), process(3, 1, 20, 2, "gcc -c b.c"),
	        process(4, 20, 21, 40, "cc1 b.c", [(2, 15)]), process(5, 1, 30, 7, "ld -o prog a.o b.o")]
	for end in reversed(ends):
	    record.put(**end)
	record.put(kind="end")
	EOF
	go -0 cpcplot -o "$T/p.html" "$R"
	cat >"$T/tree.js" <<-'EOF'
	// The rows of the tree as elements, on which the script of the page runs.
	const assert = require("assert"), page = require("fs").readFileSync(process.argv[2], "utf8");
	class Element {
		constructor(tag, attributes, parent) {
			Object.assign(this, {tagName: tag.toUpperCase(), attributes, parentNode: parent, children: [], childNodes: [], text: ""});
			this.className = attributes.class ?? "";
			this.dataset = {born: attributes["data-born"], v: attributes["data-v"]};
		}
		append(...nodes) {
			for (const node of nodes.filter(node => node instanceof Element)) {
				node.parentNode?.children.splice(node.parentNode.children.indexOf(node), 1);
				node.parentNode = this;
				this.children.push(node);
			}
		}
		getAttribute(name) { return this.attributes[name]; }
		setAttribute(name, value) { this.attributes[name] = value; }
		addEventListener(_, action) { this.click = action; }
	}
	const tree = new Element("div", {class: "tree"});
	let at = tree;
	for (const [, end, tag, attributes, text] of page.split('<div class="tree">')[1].split("<output")[0].matchAll(/<(\/?)(\w+)([^>]*)>([^<]*)/g)) {
		if (end) {
			if (at === tree)
				break;
			at = at.parentNode;
		} else {
			const node = new Element(tag, Object.fromEntries([...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(found => found.slice(1))), at);
			node.text = text;
			at.children.push(node);
			at = node;
		}
	}
	const inputs = [{checked: true}, {checked: false}];
	const document = {querySelector: () => ({}), addEventListener() {}, createElement: tag => new Element(tag, {}),
	                  querySelectorAll: name => name === ".tree" ? [tree] : name === "[name=event]" ? inputs : []};
	new Function("document", page.split("<script>")[1].split("</script>")[0])(document);
	const buttons = tree.children[0].children.map(head => head.children[0]);
	const rows = box => box.children.flatMap(item => item.tagName === "DETAILS" ? rows(item) : item.attributes["data-born"] ? [item] : []);
	const shown = () => rows(tree).map(row => row.children[0].text).join(", ");
	const values = (column, event) => rows(tree).map(row => +row.children[column].children[event].attributes["data-v"]);
	assert.equal(shown(), "make 1, gcc a.c, cc1 a.c, gcc b.c, cc1 b.c, cc1 21/2, ld prog");
	assert.deepEqual(values(1, 0), [5, 1, 20, 2, 40, 15, 7]);
	assert.deepEqual(values(2, 0), [75, 21, 20, 42, 40, 15, 7]);
	assert.deepEqual(values(2, 1), [525, 179, 80, 158, 60, 0, 93]);
	buttons[2].click();
	assert.equal(shown(), "make 1, gcc b.c, cc1 b.c, cc1 21/2, gcc a.c, cc1 a.c, ld prog");
	buttons[1].click();
	assert.equal(shown(), "make 1, ld prog, gcc b.c, cc1 b.c, cc1 21/2, gcc a.c, cc1 a.c");
	buttons[1].click();
	assert.equal(shown(), "make 1, gcc a.c, cc1 a.c, gcc b.c, cc1 b.c, cc1 21/2, ld prog");
	inputs.reverse();
	buttons[2].click();
	assert.equal(shown(), "make 1, gcc a.c, cc1 a.c, gcc b.c, cc1 b.c, cc1 21/2, ld prog");
	buttons[2].click();
	assert.equal(shown(), "make 1, ld prog, gcc b.c, cc1 b.c, cc1 21/2, gcc a.c, cc1 a.c");
	buttons[0].click();
	assert.equal(shown(), "make 1, gcc a.c, cc1 a.c, gcc b.c, cc1 b.c, cc1 21/2, ld prog");
	EOF
	need_command node
	node "$T/tree.js" "$T/p.html"
}
