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
	[ "$(block line0_0)" = $'0 0.5\n1 0.5\n2 1\n3 1.5\n4 2\n5 2.5' ]
	[ "$(block line0_1)" = $'0 50.5\n1 50.5\n2 51\n\n3 52\n4 52\n5 52.5' ]
	grep -F "set ylabel 'e''v (Joules) per sample'" <<<"$output"
	grep -F "title 'cpu 1'" <<<"$output"
	json=$output
	[ "$(cpustat -I "$R" --format=csv | cpcplot -g)" = "$json" ]
	[ "$(cpcplot -g - <"$R")" = "$json" ]
	go -0 cpcplot -g -r "$R"
	grep -F "(Joules) per second'" <<<"$output"
}

@test "64 CPUs: a map, each with its name; a blank where nothing was counted" {
	cpus 64 >"$R"
	go -0 cpcplot -g "$R"
	[ "$(block map0 | wc -l)" -eq $((64 * 5 - 1)) ]
	[ "$(block map0 | awk '$3 == 0.55 { print $1, $2, $5 }')" = $'0 1 50.5\n1 2 51\n3 4 52\n4 5 52.5' ]
	[ "$(grep -o "'cpu [0-9]*' [0-9]*" <<<"$output" | awk '$2 == $3 "\047"' | wc -l)" -eq 64 ]
	go -0 cpcplot -s 60x20 "$R"
	[ "${#lines[@]}" -eq 66 ]
	[[ ${lines[2]} =~ ^'cpu 1  |'\.+' '+\.+'|'$ ]]
	[[ ${lines[64]} =~ ^'cpu 63 |'.*@'|'$ ]]
	awk 'NR > 1 && length($0) > 60 { print; bad = 1 } END { exit bad }' <<<"$output"
}

@test "pictures: PNG and SVG of lines, maps and trees" {
	need_command gnuplot
	cpus 2 >"$T/2"
	cpus 64 >"$T/64"
	go -0 cputrack -fe -T 0.002 -O "$R" -c page-faults \
		sh -c "'$WORK/threads' 3; ls / >/dev/null; sleep 0.3; exit 0" # which is there for some ticks
	for input in "$T/2" "$T/64" "$R" "-t $R"; do
		# shellcheck disable=SC2086 # words
		go -0 cpcplot $input -o "$T/p.png" -s 800x600
		[ -z "$stderr" ]
		[ "$(head -c 8 "$T/p.png" | od -An -tx1)" = " 89 50 4e 47 0d 0a 1a 0a" ]
		[ "$(dd if="$T/p.png" bs=1 skip=16 count=8 2>/dev/null | od -An -tx1)" = " 00 00 03 20 00 00 02 58" ]
		# shellcheck disable=SC2086 # words
		go -0 cpcplot $input -o "$T/p.svg"
		python3 -c 'import sys, xml.dom.minidom as m; assert m.parse(sys.argv[1]).documentElement.tagName == "svg"' "$T/p.svg"
		rm "$T/p.png" "$T/p.svg"
	done
	go -0 cpcplot -s 80x25 "$T/2"
	grep seconds <<<"$output"
}

@test "each panel in the terminal has its event above it" {
	need_command gnuplot
	cpus 2 >"$T/2"
	go -0 cpcplot -s 80x25 "$T/2"
	grep -F "e'v (Joules) per sample" <<<"$output"
	printf '%s\n' seconds,set,kind,pid,lwp,tid,comm,child,command,cpu,event,count,unit,scale \
		1,0,tick,,,,,,,0,page-faults,7,,1 1,0,tick,,,,,,,0,task-clock,7000000,ms,1e-06 >"$T/csv"
	go -0 cpcplot -r -s 80x40 "$T/csv"
	grep -F 'page-faults per second' <<<"$output"
	grep -F 'task-clock (ms) per second' <<<"$output"
	go -0 cpcplot -g -o p.svg "$T/csv"
	[[ $output != *'set title'* ]]
}

@test "the tree: a bar for each LWP, a part for each program, coloured by its total" {
	track -0 -fe -T 0 -O "$R" -c page-faults sh -c "'$WORK/threads' 3; ls / >/dev/null; exit 0"
	go -0 cpcplot -t -s 100x30 "$R"
	[ "$(tail -n +2 <<<"$output" | grep -c '|')" -eq "$(table | awk '{ print $1, $2 }' | sort -u | wc -l)" ]
	[ "$(grep -c '^    threads [0-9]*/' <<<"$output")" -eq 3 ]
	grep -E '^  sh > ls [0-9]+/1 ' <<<"$output"
	go -0 cpcplot -t -g "$R"
	[ "$(block map0 | awk '{ print $5 }' | sort -n)" = \
		"$(table | awk '$3 ~ /^(exec|exit|lwp_exit)$/ && $4 != "#" { print $4 }' | sort -n)" ]
}

@test "names in records are data, wherever they are; nothing is run" {
	need_command gnuplot
	cpus 2 | sed "s/e'v/\`touch pwned\`\\\\n'; system('touch pwned') #/g" >"$R"
	cd "$T"
	go -0 cpcplot -o p.svg "$R"
	go -0 cpcplot "$R"
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
	go -1 cpcplot "$R"
	[[ $stderr == *"missing samples"* ]]
}

# refused STATUS TEXT COMMAND...: it says TEXT, and nothing else.
refused() {
	go "-$1" "${@:3}"
	[ -z "$output" ]
	[ "$stderr" = "cpcplot: $2" ]
}

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
		option=--tree
		[[ $file == *[02468].* ]] || option=--rate
		run --separate-stderr "${LIMIT[@]}" cpcplot $option -g "$file"
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

@test "a file that cannot be read or written is reported in one line, and nothing is left behind" {
	need_command gnuplot
	cpus 2 >"$R"
	refused 1 "cannot write '$T/no/a.svg': No such file or directory" cpcplot -o "$T/no/a.svg" "$R"
	refused 2 "invalid output '$T/a.pdf': expected a name that ends in .svg or .png" cpcplot -o "$T/a.pdf" "$R"
	refused 2 "invalid output '/dev/full': expected a name that ends in .svg or .png" cpcplot -o /dev/full "$R"
	refused 1 'cannot read the standard input: Bad file descriptor' bash -c 'cpcplot <&-'
	refused 1 'cannot write: Bad file descriptor' bash -c "cpcplot -g '$R' >&-"
	refused 1 'cannot write: No space left on device' bash -c "cpcplot -g '$R' >/dev/full"
	refused 1 'cannot write: No space left on device' bash -c "cpcplot '$R' >/dev/full"
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
