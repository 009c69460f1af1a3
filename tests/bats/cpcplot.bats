#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Plots: the input of gnuplot, pictures, maps in the terminal.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
}

teardown() {
	common_teardown
}

# cpus N: a record of N CPUs and 5 samples, whose counts are 100 * CPU + second; CPU 1 is away
# in the third.
cpus() {
	python3 - "$1" <<-'EOF'
	import json, sys
	n = int(sys.argv[1])
	put = lambda **o: print(json.dumps(o))
	put(kind="run", schema=1, tool="cpustat", command=[], host="h", start="2026-01-01T00:00:00.000000000Z",
	    cycles="tsc", unit="cpu", cpus=[dict(cpu=i, core=i, socket=0, node=0) for i in range(n)],
	    sets=[dict(spec="x", events=[dict(event="e'v", name="x", pic=0, unit="Joules", scale=0.5, signed=False)])])
	for t in range(1, 6):
	    for c in range(n):
	        away = c == 1 and t == 3
	        put(kind="tick", ns=t * 10**9, time=f"2026-01-01T00:00:0{t}.000000000Z", cpu=c, ncpus=int(not away), set=0,
	            counts={"e'v": None if away else 100 * c + t}, cycles=None if away else 1)
	put(kind="end", rows=5 * n)
	EOF
}

# The data for gnuplot, by the names of its blocks.
block() {
	sed -n "/^\\\$$1 <</,/^EOD/p" <<<"$output" | sed '1d;$d'
}

@test "lines: points, gaps, units; csv and json, file and pipe are the same" {
	cpus 2 >"$R"
	go -0 cpcplot -g "$R"
	[ "$(block line0_1)" = $'0 0.5\n1 0.5\n2 1\n3 1.5\n4 2\n5 2.5' ]
	[ "$(block line0_0)" = $'0 50.5\n1 50.5\n2 51\n\n3 52\n4 52\n5 52.5' ]
	grep -Fx "set title 'run.json on h: e'.\"\\047\".'v, Joules per sample'" <<<"$output"
	json=$(grep -v '^set title' <<<"$output")
	[ "$(cpustat -I "$R" --format=csv | cpcplot -g | grep -v '^set title')" = "$json" ]
	[ "$(cpcplot -g - <"$R" | grep -v '^set title')" = "$json" ]
	go -0 cpcplot -g -r "$R"
	grep -F "Joules per second'" <<<"$output"
}

@test "a colour bar and its title have the unit of the highest mark" {
	printf '%s\n' '{"kind": "run", "tool": "cputrack", "command": ["cputrack", "-O", "run.json", "gcc", "-O", "x.c"],
		"host": "h", "sets": [{"events": [{"event": "task-clock", "unit": "ns", "scale": 1}]}]}' |
		tr -d '\n\t' >"$R"
	echo >>"$R"
	printf '%s\n' '{"kind": "exit", "ns": 1000000000, "pid": 1, "lwp": 1, "comm": "a", "set": 0, "counts": {"task-clock": 900000}}' \
		'{"kind": "end"}' >>"$R"
	go -0 cpcplot -g "$R"
	[[ $output == *", '0.8 ms' 0.0008, '1 ms' 0.001)"* ]]
	# The title does not repeat the file that is drawn.
	grep -Fx "set title 'cputrack gcc -O x.c on h: task-clock, ms, total of each program'" <<<"$output"
	cp "$R" "$T/other"
	cpcplot -g "$T/other" | grep -F "title 'cputrack -O run.json gcc -O x.c on h: "
	[ "$(cpcplot -o - "$R")" = "$(cpcplot "$R")" ]
}

@test "64 CPUs: a map, each with its name; a blank where nothing was counted" {
	cpus 64 >"$R"
	go -0 cpcplot -g "$R"
	[ "$(block map0 | wc -l)" -eq $((64 * 5 - 1)) ]
	[ "$(block map0 | awk '$3 == 0.55 { print $1, $2, $5 }')" = $'0 1 50.5\n1 2 51\n3 4 52\n4 5 52.5' ]
	[ "$(grep -o "'cpu [0-9]*' [0-9]*" <<<"$output" | awk '$2 == $3 "\047"' | wc -l)" -eq 64 ]
	go -0 cpcplot -s 60x20 "$R"
	[ "$(grep -c '^cpu ' <<<"$output")" -eq 64 ]
	[ "${lines[0]}" = 'run.json on h' ]
	# Each row ends in its sum, (100 * CPU * 5 + 15) / 2; that of CPU 1 lacks a sample.
	grep -E '^cpu 0  \|:+\| +7.50 Joules$' <<<"$output"
	grep -E '^cpu 1  \|:+ +:+\| +206 Joules \?$' <<<"$output"
	grep -E '^cpu 63 \|.*@\| 15.8 K Joules$' <<<"$output"
	awk 'length($0) > 60 { print; bad = 1 } END { exit bad }' <<<"$output"
}

@test "pictures: PNG and SVG of lines, maps and trees" {
	need_command gnuplot
	cpus 2 >"$T/2"
	cpus 64 >"$T/64"
	go -0 cputrack -fe -T 0.002 -O "$R" -c page-faults \
		sh -c "'$WORK/threads' 3; ls / >/dev/null; sleep 0.3; exit 0" # which is there for some ticks
	for input in "$T/2" "$T/64" "-S $R" "$R"; do
		# shellcheck disable=SC2086 # words
		go -0 cpcplot $input -o "$T/p.png" -s 800x600
		[ -z "$stderr" ]
		[ "$(head -c 8 "$T/p.png" | od -An -tx1)" = " 89 50 4e 47 0d 0a 1a 0a" ]
		[ "$(dd if="$T/p.png" bs=1 skip=16 count=8 2>/dev/null | od -An -tx1)" = " 00 00 03 20 00 00 02 58" ]
		# shellcheck disable=SC2086 # words
		go -0 cpcplot $input -o "$T/p.svg"
		python3 -c 'import sys, xml.dom.minidom as m; e = m.parse(sys.argv[1]).documentElement; assert e.tagName == "svg" and e.getAttribute("xml:space") == "preserve"' "$T/p.svg"
		rm "$T/p.png" "$T/p.svg"
	done
	go -0 cpcplot -s 80x25 "$T/2"
	grep '5 s' <<<"$output"
}

@test "each panel in the terminal has its event above it" {
	need_command gnuplot
	cpus 2 >"$T/2"
	go -0 cpcplot -s 80x25 "$T/2"
	grep -F "e'v, Joules per sample" <<<"$output"
	printf '%s\n' seconds,set,kind,pid,lwp,tid,comm,child,command,cpu,event,count,unit,scale \
		1,0,tick,,,,,,,0,page-faults,7,,1 1,0,tick,,,,,,,0,task-clock,7000000,ms,1e-06 >"$T/csv"
	go -0 cpcplot -r -s 80x40 "$T/csv"
	grep -F 'page-faults per second' <<<"$output"
	grep -F 'task-clock, ms per second' <<<"$output"
}

@test "panels have the same margins and colours, one legend in the order of the curves, axes that end with the data" {
	printf '%s\n' seconds,set,kind,pid,lwp,tid,comm,child,command,cpu,event,count,unit,scale \
		1,0,tick,,,,,,,0,page-faults,7,,1 1,0,tick,,,,,,,1,page-faults,70000,,1 \
		1,0,tick,,,,,,,0,task-clock,30000000,,1 1.25,0,tick,,,,,,,0,task-clock,5000000,,1 >"$T/csv"
	go -0 cpcplot -g -o p.png "$T/csv"
	[ "$(grep -o "keyentry .* title '[^']*'" <<<"$output" | grep -o "title '[^']*'")" = $'title \'cpu 1\'\ntitle \'cpu 0\'' ]
	[ "$(grep -c keyentry <<<"$output")" -eq 1 ]
	[ "$(grep -c '^set [lr]margin' <<<"$output")" -eq 2 ]
	[ "$(grep -c '^set xrange' <<<"$output")" -eq 1 ]
	grep -Fx 'set xrange [0:1.25]' <<<"$output"
	grep -F "'60 K' 60000" <<<"$output"
	grep -F "'30 ms' 0.03" <<<"$output"
	grep -Fx "set title 'task-clock, ms per sample'" <<<"$output"
	grep -Fx "set multiplot layout 2,1 title 'csv' font ',13'" <<<"$output"
	# cpu 0 has one colour in both panels
	[ "$(grep -o "line[01]_1 using 1:2 with fsteps lw [0-9.]* lc rgb '[^']*'" <<<"$output" | sed 's/.* //' | sort | uniq -c | awk '{ print $1 }')" -eq 2 ]
	# no yellow: red and green of a colour are not both far above its blue
	cpus 9 >"$R"
	output+=$'\n'$(cpcplot -g -o p.png "$R")
	grep -o "'#[0-9a-f]\{6\}'" <<<"$output" | sort -u >"$T/colours"
	[ "$(wc -l <"$T/colours")" -ge 6 ]
	python3 - "$T/colours" <<-'EOF'
	import sys
	for line in open(sys.argv[1]):
	    red, green, blue = (int(line[i:i + 2], 16) for i in (2, 4, 6))
	    assert min(red, green) - blue < 100, line
	EOF
	grep -F "set cblabel 'e'.\"\\047\".'v'" <<<"$output"
	grep -F "set cbtics ('0' 0, '100 Joules' 100" <<<"$output"
}

@test "the tree: a bar for each LWP, a part for each program, coloured by its total" {
	track -0 -fe -T 0 -O "$R" -c page-faults sh -c "'$WORK/threads' 3; ls / >/dev/null; exit 0"
	go -0 cpcplot -t -s 100x30 "$R"
	[ "$(tail -n +3 <<<"$output" | grep -c '|')" -eq "$(table | awk '{ print $1, $2 }' | sort -u | wc -l)" ]
	[ "$(grep -c '^    threads [0-9]*/' <<<"$output")" -eq 3 ]
	grep -E '^  sh > ls [0-9]+/1 ' <<<"$output"
	go -0 cpcplot -t -g "$R"
	[ "$( (block map0; block zero0) | awk '$2 > 0 { print $5 }' | sort -n)" = \
		"$(table | awk '$3 ~ /^(exec|exit|lwp_exit)$/ && $4 != "#" { print $4 }' | sort -n)" ]
}

@test "two commands draw what a build costs: a tree, the samples with -S" {
	printf 'all: one two\n\ttrue; exit\none two:\n\tls / >$@; sleep 0.05\n' >"$T/Makefile"
	cd "$T"
	go -0 cputrack -T 0.01 -O "$R" -o /dev/null make -j2
	go -0 cpcplot -s 100x30 "$R"
	[[ ${lines[0]} == "cputrack -T 0.01 -o /dev/null make -j2 on "* ]]
	[[ ${lines[1]} == "task-clock, ms, total of each program; '@' is "*" ms, "* ]]
	grep -E '^make [0-9]+/1 +\|.*\| [0-9.]+ ms$' <<<"$output"
	[ "$(grep -Ec '^    (sh|make) > ls [0-9]+/1 ' <<<"$output")" -eq 2 ]
	go -0 cpcplot -g -S -b command -e task-clock "$R"
	[[ $output == *"task-clock, ms per sample'"* ]]
	refused 2 'invalid options: -t draws no samples, so it cannot go with -S, -r or -b' cpcplot -t -S "$R"
	# the same from a single program, and from csv
	go -0 cputrack -O "$T/true.json" -o /dev/null true
	go -0 cpcplot "$T/true.json"
	grep -E '^.*true [0-9]+/1 ' <<<"$output"
	cputrack -I "$R" --format=csv >"$T/run.csv"
	[ "$(cpcplot -s 100x30 "$T/run.csv" | sed 1d)" = "$(cpcplot -s 100x30 "$R" | sed 1d)" ]
}

# bats test_tags=all
@test "a large tree: the 100 largest processes, below their parents" {
	python3 - >"$R" <<-'EOF'
	import json
	put = lambda **o: print(json.dumps(o))
	put(kind="run", tool="cputrack", command=["make"], host="h", sets=[dict(events=[dict(event="e", unit="", scale=1)])])
	for i in range(5000):
	    put(kind="fork", ns=i * 1000, pid=1 if i % 10 == 0 else i // 10 * 10 + 10, lwp=1, comm="make", child=i + 10)
	    put(kind="exit", ns=i * 1000 + 500, pid=i + 10, lwp=1, comm=f"c{i}", set=0, counts=dict(e=i)) if i % 10 else None
	put(kind="end", rows=0)
	EOF
	go -0 cpcplot -s 100x30 "$R"
	[ "$(grep -c '|' <<<"$output")" -le 110 ]
	[[ ${lines[1]} == "e, total of each program (the 1"[0-9][0-9]" largest of 5001); "* ]]
	grep -E '^    make > c4999 |^    c4999 ' <<<"$output"
	go -0 cpcplot --html -o "$T/p.html" "$R"
	grep -o 'The 20[0-9]* largest of 5001; (others) is the sum of the rest' "$T/p.html"
}

@test "a record that is cut off, or has several runs, is drawn as far as possible" {
	cpus 2 >"$R"
	head -n 6 "$R" >"$T/cut"
	go -1 cpcplot -g "$T/cut"
	[ "$stderr" = "cpcplot: $T/cut: the record is cut off after line 6" ]
	[ "$(block line0_1)" = $'0 0.5\n1 0.5\n2 1\n3 1.5' ]
	head -c -20 "$T/cut" >"$T/half"
	go -1 cpcplot -g "$T/half"
	[ "$stderr" = "cpcplot: $T/half: the record is cut off after line 6" ]
	cat "$R" "$R" >"$T/two"
	go -1 cpcplot -g "$T/two"
	[ "$stderr" = "cpcplot: $T/two: unsupported second run in line 13: only the first one is drawn" ]
	[ "$(block line0_1 | wc -l)" -eq 6 ]
	[ "$output" = "$(cpcplot -g "$R" | sed 's/run.json/two/')" ]
}

@test "services and commands of cpustat have their names" {
	python3 - >"$R" <<-'EOF'
	import json
	put = lambda **o: print(json.dumps(o))
	for unit in ["service"]:
	    put(kind="run", tool="cpustat", command=["cpustat"], host="h", unit=unit, sets=[dict(events=[dict(event="e", unit="", scale=1)])])
	    put(kind="tick", ns=10**9, **{unit: "ssh.service"}, set=0, counts=dict(e=7))
	    put(kind="tick", ns=10**9, **{unit: "(idle)"}, set=0, counts=dict(e=9))
	    put(kind="end", rows=2)
	EOF
	go -0 cpcplot -g "$R"
	[ "$(grep -o "keyentry .* title '[^']*'" <<<"$output" | grep -o "title '[^']*'")" = $'title \'(idle)\'\ntitle \'ssh.service\'' ]
	sed 's/"service"/"command"/g' "$R" >"$T/command"
	go -0 cpcplot -g "$T/command"
	[[ $output == *"title '(idle)'"* ]]
	# Files with kinds of keys: names are escaped as in tables.
	python3 - "$R" >"$T/kinds" <<-'EOF'
	import json, sys
	for line in open(sys.argv[1]):
	    row = json.loads(line)
	    if row["kind"] == "tick":
	        row.update(key_kind="idle", service=None) if row["service"] == "(idle)" else row.update(key_kind="name", service="(idle)")
	    print(json.dumps(row))
	    if row["kind"] == "tick" and row["service"]:
	        print(json.dumps(dict(row, service="")))
	EOF
	go -0 cpcplot -g "$T/kinds"
	[ "$(grep -o "title '[^']*'" <<<"$output" | sort -u | grep -c "title '\(.*idle\|(empty\))'")" -eq 3 ]
	printf '%s\n' seconds,kind,pid,lwp,comm,child,cpu,count,scale,unit,event,command,key,key_kind \
		"1,tick,,,,,,7,1,,e,,(idle),name" "1,tick,,,,,,9,1,,e,,,idle" "1,tick,,,,,,3,1,,e,,,name" >"$T/csv"
	go -0 cpcplot -g "$T/csv"
	[ "$(grep -o "title '[^']*'" <<<"$output" | sort -u | grep -c "title '\(.*idle\|(empty\))'")" -eq 3 ]
}

# bats test_tags=all
@test "a summary of --by: only its intervals are drawn" {
	local summary='cannot draw a summary of --by; a record of -O of the same run can be drawn'
	for by in command lwp process user; do
		for format in csv json; do
			go -0 cputrack --by=$by --format=$format -O "$R" -o "$T/by" -c page-faults "$WORK/threads" 2
			for how in -g --tree --html; do
				refused 1 "$summary" cpcplot $how "$T/by"
			done
			# The record has the processes, with their users.
			for how in '' --tree --html; do
				# shellcheck disable=SC2086 # words
				go -0 cpcplot $how "$R"
				[[ $output == *threads* ]]
			done
		done
	done
	go -0 cputrack --by=command -T 0.05 --format=csv -o "$T/by" -c task-clock "$WORK/spin" 0.2
	go -0 cpcplot -g -b command "$T/by"
	[ "$(block line0_0 | wc -l)" -ge 3 ]
	for how in --tree --html; do
		refused 1 "$summary" cpcplot $how "$T/by"
	done
	# Without the summary at the end, too, there are no processes.
	grep -v ',sum,' "$T/by" >"$T/ticks"
	for how in --tree --html; do
		refused 1 'cannot draw the tree: the rows are not of processes' cpcplot $how "$T/ticks"
	done
}

@test "--html: a page without network that escapes all names" {
	python3 - >"$R" <<-'EOF'
	import json
	put = lambda **o: print(json.dumps(o))
	evil = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'& @BODY@"
	put(kind="run", tool="cputrack", command=["cputrack", evil], host=evil, start=evil,
	    sets=[dict(events=[dict(event=evil, unit="<b>", scale=1), dict(event="f", unit="", scale=1)])])
	put(kind="fork", ns=10**8, pid=10, lwp=1, comm="sh", child=11)
	put(kind="exec", ns=2 * 10**8, pid=11, lwp=1, comm="sh", set=0, counts={evil: 1, "f": 2})
	put(kind="image", ns=2 * 10**8, pid=11, lwp=1, comm=evil, command=evil)
	put(kind="tick", ns=6 * 10**8, pid=11, lwp=1, comm=evil, set=0, counts={evil: 4, "f": 0})
	put(kind="exit", ns=10**9, pid=11, lwp=1, comm=evil, set=0, counts={evil: 8, "f": 16})
	put(kind="exit", ns=10**9, pid=10, lwp=1, comm="sh", set=0, counts={evil: 32, "f": None})
	put(kind="end", rows=6)
	EOF
	go -0 cpcplot --html "$R"
	[ -z "$stderr" ]
	[[ $output != *'<img'* && $output != *alert\(\'* && $output != *'<b>'* ]]
	[ "$(grep -c '<script' <<<"$output")" -eq 1 ]
	[[ $output != *://* && $output != *'url('* && $output != *@import* ]]
	python3 - <(echo "$output") <<-'EOF'
	import base64, collections, hashlib, html.parser, re, sys
	page = open(sys.argv[1]).read()
	script = page.split("<script>")[1].split("</script>")[0]
	assert "'sha256-%s'" % base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in page
	assert "default-src 'none'" in page
	class Page(html.parser.HTMLParser):
	    def __init__(self):
	        super().__init__(convert_charrefs=True)
	        self.open, self.rows, self.kinds = [], [], collections.Counter()
	    def handle_starttag(self, tag, attrs):
	        self.kinds[tag] += 1
	        assert not [a for a, v in attrs if a.startswith("on") or a in ("src", "href") and v != "data:,"], attrs
	        if tag == "tr": self.rows.append([])
	        if tag == "td": self.rows[-1].append("")
	        if tag not in ("meta", "link", "line", "input"): self.open.append(tag)
	    def handle_startendtag(self, tag, attrs):
	        self.kinds[tag] += 1
	    def handle_endtag(self, tag):
	        assert self.open.pop() == tag, tag
	    def handle_data(self, data):
	        if "td" in self.open: self.rows[-1][-1] += data
	page = page.replace("<!DOCTYPE html>", "")
	parser = Page()
	parser.feed(page)
	assert parser.open == [], parser.open
	evil = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'& @BODY@"
	assert parser.rows[1:] == [["sh", "2", "33 <b> 80.5%", "2 incomplete"], [evil, "1", "8 <b> 19.5%", "16 "],
	                           ["total", "3", "41 <b> ", "18 incomplete"]], parser.rows
	assert parser.kinds["svg"] == 2 and parser.kinds["details"] == 1 and parser.kinds["summary"] == 1
	EOF
	refused 2 'invalid options: a page has all views; it takes -e and -o only' cpcplot --html -r "$R"
	go -0 cpcplot -o "$T/p.html" "$R"
	[ "$(cat "$T/p.html")" = "$(cpcplot --html - <"$R")" ]
	cpus 3 >"$T/cpus"
	go -0 cpcplot --html "$T/cpus"
	[ "$(grep -o '<path d="M[^>]*stroke:var' <<<"$output" | wc -l)" -eq 3 ]
	[[ $output == *'cpu 0</td>'*'7.50 Joules <small></small>'* ]]
	[[ $output == *'cpu 1</td>'*'206 Joules <small>incomplete</small>'* ]]
	cpus 64 >"$T/cpus"
	go -0 cpcplot --html "$T/cpus"
	[ "$(grep -o '<img' <<<"$output" | wc -l)" -eq 64 ]
}

@test "--html: what the curves add up to is the total of the processes" {
	go -0 cputrack -fe -T 0.01 -O "$R" -o /dev/null -c page-faults sh -c "'$WORK/threads' 3; ls / >/dev/null; sleep 0.05; exit 0"
	PYTHONPATH=$BATS_DIR/../../cmd/cpcplot PYTHONDONTWRITEBYTECODE=1 python3 - "$R" <<-'EOF'
	import json, sys
	import model, read
	rows = read.read(sys.argv[1]).rows
	end = max(row.sec for row in rows)
	total = sum(row.count for row in rows if row.kind in ("exec", "exit"))
	assert any(row.kind == "tick" for row in rows) and any(row.kind == "lwp_exit" for row in rows)
	pieces = model.pieces_of(rows, "page-faults", model.Unit("", 1))
	assert sum(n for *_, n in pieces) == total > 0, (pieces, total)
	rates = model.rates_of(pieces, end, 240)
	assert abs(sum(sum(own) for own in rates.values()) * end / 240 - total) < 1e-6
	EOF
}

@test "--html: the script sorts the table" {
	need_command node
	cpus 12 >"$R"
	go -0 cpcplot --html -o "$T/p.html" "$R"
	node - "$T/p.html" <<-'EOF'
	const page = require("fs").readFileSync(process.argv[2], "utf8");
	const script = page.split("<script>")[1].split("</script>")[0];
	const cell = (text, v) => ({textContent: text, dataset: v === undefined ? {} : {v}});
	const head = sort => ({childNodes: ["x"], sort, append(b) { this.button = b; },
	                       getAttribute() { return this.sort; }, setAttribute(_, v) { this.sort = v; }});
	const heads = [head("none"), head("descending")];
	const body = {rows: [["b", 9], ["a", 10], ["c", -1]].map(([t, v]) => ({cells: [cell(t), cell(String(v), String(v))]})),
	              append(...rows) { this.rows = rows; }};
	heads.forEach(head => head.parentNode = {children: heads});
	const tables = [{tHead: {rows: [{cells: heads}]}, tBodies: [body]}];
	const document = {querySelectorAll: name => name === "table" ? tables : [], querySelector: () => ({}), addEventListener() {},
	                  createElement: () => ({append() {}, addEventListener(_, f) { this.click = f; }})};
	new Function("document", script)(document);
	const got = [];
	for (const column of [1, 1, 0, 0]) {
		heads[column].button.click();
		got.push(body.rows.map(row => row.cells[0].textContent).join("") + heads[column].sort[0]);
	}
	require("assert").deepEqual(got, ["cbaa", "abcd", "abca", "cbad"]);
	EOF
}

@test "names in records are data, wherever they are; nothing is run" {
	need_command gnuplot
	cpus 2 | sed "s/e'v/\`touch pwned\`\\\\n'; system('touch pwned') #/g" >"$R"
	cd "$T"
	go -0 cpcplot -o p.svg "$R"
	go -0 cpcplot "$R"
	# shellcheck disable=SC2016 # not to be expanded
	for name in \' "'x''y'" '$(touch pwned)' '`touch pwned`' '@x' '%c%s' '"' '{/*9 x}' '#' '\\n'; do
		cpus 2 | NAME=$name python3 -c 'import json, os, sys
sys.stdout.write(sys.stdin.read().replace(json.dumps("e\u0027v"), json.dumps(os.environ["NAME"])))' >"$R"
		go -0 cpcplot -s 100x20 "$R"
		[[ $output == *"$name, Joules per sample"* ]]
	done
	[ ! -e pwned ]
}

@test "input that the tools did not write is refused, in one line" {
	cpus 2 >"$R"
	for bad in "$T/nothing" /dev/null "$BATS_TEST_FILENAME" "$R -e x" "-t $R"; do
		# shellcheck disable=SC2086 # words
		go -1 cpcplot $bad
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == "cpcplot: "* ]]
	done
	sed 's/"kind": "tick"/"kind":/' "$R" >"$T/bad"
	go -1 cpcplot "$T/bad"
	[ "$stderr" = "cpcplot: $T/bad:2: invalid record of cputrack or cpustat" ]
	go -2 cpcplot -s 5 "$R"
	go -0 cputrack -T 0 -O "$R" -c page-faults true
	go -1 cpcplot -S "$R"
	[[ $stderr == *"missing samples"* ]]
}

# refused STATUS TEXT COMMAND...: it says TEXT, and nothing else.
refused() {
	go "-$1" "${@:3}"
	[ -z "$output" ]
	[ "$stderr" = "cpcplot: $2" ]
}

# bats test_tags=all
@test "crafted input is refused or drawn: never a traceback" {
	cpus 2 >"$R"
	cputrack -fe -T 0.01 -O "$T/tree.json" -o /dev/null -c page-faults sh -c 'sleep 0.03; true'
	cpustat -I "$R" --format=csv >"$T/run.csv"
	python3 - "$R" "$T/tree.json" "$T/run.csv" "$T/bad" <<-'EOF'
	import csv, itertools, json, sys
	number = itertools.count()
	put = lambda kind, text: open(f"{sys.argv[4]}{next(number):03d}.{kind}", "w", errors="surrogatepass").write(text)
	odd = ["x\x1b[2J", 1e999, -1, 10**30, 1.5, None, [], {}, True, "\u00b2", "9" * 30]
	for record in sys.argv[1:3]:
	    lines = open(record).read().splitlines()
	    rows = [json.loads(line) for line in lines]
	    seen = set()
	    for at, row in enumerate(rows):
	        for key in row:
	            if (row["kind"], key) in seen:
	                continue
	            seen.add((row["kind"], key))
	            for value in odd[next(number) % 11::11]:
	                bad = list(lines)
	                bad[at] = json.dumps({**row, key: value} if key != "counts" else
	                                     {**row, key: {event: value for event in row[key]}})
	                put("json", "\n".join(bad) + "\n")
	put("json", lines[0] + "\n" + "[" * 100000)
	put("json", open(sys.argv[1]).read().replace('"scale": 0.5', '"scale": 1e999'))
	put("json", open(sys.argv[1]).read().replace("e'v", "e\\ud800\\u001b[2J"))
	rows = list(csv.reader(open(sys.argv[3])))
	for column, name in enumerate(rows[0]):
	    for value in (("x", "nan"), ("inf", "-1"), ("9" * 5000, ""))[column % 3]:
	        bad = [list(row) for row in rows]
	        bad[1][column] = value
	        put("csv", "\n".join(",".join(row) for row in bad) + "\n")
	put("csv", open(sys.argv[3]).read().splitlines()[0] + '\n"' + "x" * 200000 + '"\n')
	put("csv", "seconds,kind,cpu,event,count\n1,tick,0,e,1\n")
	EOF
	[ "$(find "$T" -name 'bad*' | wc -l)" -gt 80 ]
	for file in "$T"/bad*; do
		option='--tree -g'
		[[ $file == *[0369].* ]] || option='--rate -g'
		[[ $file == *[258].* ]] || option=--html
		# shellcheck disable=SC2086 # words
		run --separate-stderr "${LIMIT[@]}" cpcplot $option "$file"
		[ "$status" -le 1 ]
		if [ "$status" -eq 1 ]; then
			[ "${#stderr_lines[@]}" -eq 1 ]
			[[ $stderr == "cpcplot: "* ]]
		else
			[ -z "$stderr" ]
		fi
		[[ $output$stderr != *$'\e'* ]]
	done
}

# bats test_tags=all
@test "other input than records: binary, endless, a folder, without a locale" {
	refused 1 "/dev/zero:1: invalid file: a line has more than 16777216 characters" cpcplot /dev/zero
	refused 1 "cannot read '$T': Is a directory" cpcplot "$T"
	refused 1 "$WORK/threads:1: invalid file: expected csv or json of cputrack or cpustat" cpcplot "$WORK/threads"
	refused 1 "cannot read 'a?[2Jb': No such file or directory" cpcplot $'a\e[2Jb'
	printf '{' >"$T/json"
	refused 1 "$T/json:1: invalid record of cputrack or cpustat" cpcplot "$T/json"
	printf '{"kind":"end"}\n' >"$T/json"
	refused 1 "missing counts: nothing to draw" cpcplot "$T/json"
	printf '{"kind":"tick","ns":1,"pid":1,"lwp":1,"set":0,"counts":{"e":1}}\n' >"$T/json"
	refused 1 "$T/json:1: invalid record of cputrack or cpustat" cpcplot "$T/json"
	# names that the locale lacks
	cpus 9 | sed 's/"h"/"\\u732b\\ud83d\\ude00"/' >"$R"
	go -0 env LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0 cpcplot "$R"
	[ "${lines[0]}" = 'run.json on ??' ]
	[ -z "$stderr" ]
	for option in -g --html; do
		go -0 env LC_ALL=C PYTHONCOERCECLOCALE=0 PYTHONUTF8=0 cpcplot $option "$R"
		[[ $output == *$'\xe7\x8c\xab\xf0\x9f\x98\x80'* ]]
	done
}

@test "without gnuplot, maps and pages are drawn; pictures say what is missing" {
	cpus 2 >"$R"
	mkdir "$T/bin"
	local program
	program=$(command -v cpcplot)
	for gnuplot in no '#!/bin/sh\nexit 3\n' '#!/bin/sh\nprintf "no\\033 fonts\\n" >&2; exit 1\n'; do
		case $gnuplot in
		no) reason='missing gnuplot (on Debian: gnuplot-nox)' ;;
		*exit\ 3*) reason='gnuplot failed' ;;
		*) reason='gnuplot failed: no? fonts' ;;
		esac
		if [ "$gnuplot" != no ]; then
			# shellcheck disable=SC2059 # a format
			printf "$gnuplot" >"$T/bin/gnuplot"
			chmod +x "$T/bin/gnuplot"
		fi
		go -1 env PATH="$T/bin" "$program" -o "$T/p.svg" "$R"
		[ "$stderr" = "cpcplot: $reason" ]
		[ ! -e "$T/p.svg" ]
	done
	go -0 env PATH="$T/bin" "$program" -o "$T/p.html" "$R"
	cpus 64 >"$R"
	go -0 env PATH="$T/bin" "$program" "$R"
}

# bats test_tags=all
@test "a closed pipe ends it quietly; the full disk is reported, also for help and pages" {
	cpus 64 >"$R"
	for option in -g --html -h ''; do
		# shellcheck disable=SC2086 # words
		go -0 bash -c "set -o pipefail; cpcplot $option '$R' | :; [ \${PIPESTATUS[0]} -le 1 ]"
		[ -z "$stderr" ]
		refused 1 'cannot write the standard output: No space left on device' bash -c "cpcplot $option '$R' >/dev/full"
	done
	ln -s /dev/full "$T/full.html"
	refused 1 "cannot write '$T/full.html': No space left on device" cpcplot -o "$T/full.html" "$R"
	# a closed or full standard error changes nothing
	go -1 bash -c 'cpcplot /nonexistent 2>&-'
	[ -z "$output$stderr" ]
	go -1 bash -c 'cpcplot /nonexistent 2>/dev/full'
	[ -z "$output$stderr" ]
}

@test "a file that cannot be read or written is reported in one line, and nothing is left behind" {
	need_command gnuplot
	cpus 2 >"$R"
	refused 1 "cannot write '$T/no/a.svg': No such file or directory" cpcplot -o "$T/no/a.svg" "$R"
	refused 2 "invalid output '$T/a.pdf': expected a name that ends in .svg, .png or .html" cpcplot -o "$T/a.pdf" "$R"
	refused 2 "invalid output '/dev/full': expected a name that ends in .svg, .png or .html" cpcplot -o /dev/full "$R"
	refused 1 'cannot read the standard input: Bad file descriptor' bash -c 'cpcplot <&-'
	refused 1 'cannot write the standard output: Bad file descriptor' bash -c "cpcplot -g '$R' >&-"
	refused 1 'cannot write the standard output: No space left on device' bash -c "cpcplot -g '$R' >/dev/full"
	refused 1 'cannot write the standard output: No space left on device' bash -c "cpcplot '$R' >/dev/full"
	ln -s /dev/full "$T/full.svg"
	refused 1 "cannot write '$T/full.svg': No space left on device" cpcplot -o "$T/full.svg" "$R"
	echo before >"$T/p.svg"
	# gnuplot 6 has small files of its own.
	cpus 64 >"$T/many"
	refused 1 "cannot write '$T/p.svg': File too large" \
		bash -c "ulimit -f 32; trap '' XFSZ; exec cpcplot -o '$T/p.svg' '$T/many'"
	[ "$(cat "$T/p.svg")" = before ]
	[ "$(cd "$T" && find . -name '*p.svg*')" = ./p.svg ]
	go -0 cpcplot -o "$T/p.svg" "$R"
	[ -z "$output" ]
	grep -q '<svg' "$T/p.svg"
}
