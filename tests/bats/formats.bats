#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Output formats: csv, json, records and their replay, tables for people.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
}

# Sums by kind and event of the counts of a record's csv, as "KIND EVENT SUM", sorted.
csv_sums() {
	python3 -c '
import csv, collections, sys
sums = collections.Counter()
for row in csv.DictReader(sys.stdin):
    if row["count"]:
        sums[row["kind"] + " " + row["event"]] += int(row["count"])
print("\n".join(f"{k} {v}" for k, v in sorted(sums.items())))'
}

json_sums() {
	python3 -c '
import json, collections, sys
sums = collections.Counter()
for line in sys.stdin:
    for event, count in json.loads(line).get("counts", {}).items():
        if count is not None:
            sums[json.loads(line)["kind"] + " " + event] += count
print("\n".join(f"{k} {v}" for k, v in sorted(sums.items())))'
}

# The same of a table whose first count is word $1, of the events $2...
table_sums() {
	local at=$1
	shift
	awk -v at="$at" -v names="$*" '
		BEGIN { n = split(names, name, " ") }
		$(at - 1) ~ /^(exec|exit|lwp_create|lwp_exit|tick|total|detach)$/ && $at != "#" {
			for (i = 1; i <= n; i++)
				if ($(at + i - 1) != "-") sum[$(at - 1) " " name[i]] += $(at + i - 1)
		}
		END { for (key in sum) printf "%s %.0f\n", key, sum[key] }' | sort
}

# A record of cpustat with the counts $1 and $2 of the events a and b, b a difference.
record() {
	cat <<-EOF
	{"kind":"run","schema":1,"tool":"cpustat","command":["cpustat"],"host":"h","start":"2026-01-31T23:59:58.000000000Z","cycles":"tsc","sets":[{"spec":"a,b","events":[{"event":"a","name":"a","pic":0,"unit":"","scale":1,"signed":false},{"event":"b","name":"b","pic":1,"unit":"","scale":1,"signed":true}]}],"unit":"cpu","cpus":[{"cpu":0,"core":0,"socket":0,"node":0},{"cpu":1,"core":0,"socket":0,"node":0}]}
	{"kind":"tick","ns":1000000000,"time":"2026-01-31T23:59:59.000000000Z","cpu":0,"ncpus":1,"set":0,"counts":{"a":$1,"b":$2},"cycles":7}
	{"kind":"tick","ns":1000000000,"time":"2026-01-31T23:59:59.000000000Z","cpu":1,"ncpus":0,"set":0,"counts":{"a":null,"b":null},"cycles":null,"incomplete":true}
	{"kind":"total","ns":1000000000,"time":"2026-01-31T23:59:59.000000000Z","all":0,"ncpus":1,"set":0,"counts":{"a":$1,"b":$2},"cycles":7,"incomplete":true}
	{"kind":"end","rows":3}
	EOF
}

@test "a run of cputrack: table, csv and json have the same sums, and the replay is the table" {
	track -0 -fe -T 0.02 -O "$R" -c page-faults,task-clock sh -c "'$WORK/threads' 3; '$WORK/execs' 2; exit 0"
	check_format
	check_life
	go -0 cputrack -I "$R" -o "$T/again"
	cmp "$ROWS" "$T/again"
	go -0 cputrack -I "$R" --format=json -o "$T/json"
	cmp "$R" "$T/json"
	table_sums 5 page-faults task-clock <"$ROWS" >"$T/sums"
	[ "$(wc -l <"$T/sums")" -ge 6 ]
	cputrack -I "$R" --format=csv | csv_sums | diff "$T/sums" -
	json_sums <"$R" | diff "$T/sums" -
}

@test "a run of cpustat: the same, with -A and -m from the record of its CPUs" {
	need cpu
	go -0 cpustat -O "$R" -c context-switches,page-faults -c task-clock -o "$ROWS" 0.05 4
	[ -z "$stderr" ]
	cpustat -I "$R" | cmp - "$ROWS"
	table_sums 4 context-switches page-faults <<<"$(grep -v 'task-clock$' "$ROWS")" >"$T/sums"
	[ "$(wc -l <"$T/sums")" -eq 4 ] # tick and total of each event
	cpustat -I "$R" --format=csv | csv_sums | grep -v task-clock | diff "$T/sums" -
	json_sums <"$R" | grep -v task-clock | diff "$T/sums" -
	for unit in core socket node all; do
		go -0 cpustat -A "$unit" -O "$R" -c context-switches,page-faults 0.05 2
		[ "$(cpustat -I "$R" -A "$unit")" = "$output" ]
		check_totals - "$(cpus | wc -l)" < <(cpustat -I "$R")
		go -0 cpustat -A "$unit" -m -t -T u -O "$R" -c context-switches,page-faults 0.05 2
		[ "$(cpustat -I "$R" -A "$unit" -m -t -T u)" = "$output" ]
	done
}

@test "json: integers, and null where nothing was counted; csv is empty there" {
	record 18446744073709551615 -9223372036854775808 >"$R"
	cpustat -I "$R" | grep -qE '^  1\.000   0  tick 18446744073709551615 -9223372036854775808 $'
	[ "$(cpustat -I "$R" | grep -c tick)" -eq 1 ]
	go -0 cpustat -I "$R" --format=csv
	[[ ${lines[1]} == *,tick,,,,0,1,18446744073709551615,1,0,*,a,* ]]
	[[ ${lines[2]} == *,tick,,,,0,1,-9223372036854775808,1,0,*,b,* ]]
	[[ ${lines[3]} == *,tick,,,,1,0,,1,1,*,a,* ]]
	cpustat -I "$R" --format=json | python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
assert rows[1]["counts"] == {"a": 2**64 - 1, "b": -2**63} and rows[2]["counts"] == {"a": None, "b": None}
assert rows[0]["kind"] == "run" and rows[-1] == {"kind": "end", "rows": 3}'
	# a replay as json is the same record, also the second time
	cpustat -I "$R" --format=json >"$T/2"
	cpustat -I "$T/2" --format=json | cmp - "$T/2"
}

@test "damaged and foreign records: one error with the line, and status 1" {
	local bad
	for bad in 18446744073709551616 99999999999999999999999 -1 1.5 1e3 '"1"' true '[]' 01; do
		record "$bad" 0 >"$R"
		go -1 cpustat -I "$R"
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == "cpustat: $R:2: "* ]]
	done
	for bad in 9223372036854775808 -9223372036854775809 18446744073709551615; do
		record 0 "$bad" >"$R"
		go -1 cpustat -I "$R"
		[[ $stderr == "cpustat: $R:2: "*"out of range" ]]
	done
	record 1 2 >"$T/good"
	sed '$d' "$T/good" >"$R"
	go -1 cpustat -I "$R"
	[ "$stderr" = "cpustat: $R:4: missing end: the record is cut" ]
	grep -q total <<<"$output"
	sed 2d "$T/good" >"$R"
	go -1 cpustat -I "$R"
	[[ $stderr == "cpustat: $R:4: "* ]]
	sed 1d "$T/good" >"$R"
	go -1 cpustat -I "$R"
	[ "$stderr" = "cpustat: $R:1: missing the beginning of a run" ]
	sed 's/"schema":1/"schema":2/' "$T/good" >"$R"
	go -1 cpustat -I "$R"
	[[ $stderr == "cpustat: $R:1: "*version* ]]
	go -1 cputrack -I "$T/good"
	[ "$stderr" = "cputrack: $T/good:1: invalid record: replay it with cpustat" ]
	for bad in /dev/null "$T" "$T/nothing" "$BATS_TEST_FILENAME"; do
		go -1 cpustat -I "$bad"
		[ "${#stderr_lines[@]}" -eq 1 ]
	done
	# a record that is cut or changed anywhere: no crash, but an error or another record
	python3 - "$T/good" "$T/cut" <<-'EOF'
	import sys
	data = open(sys.argv[1], "rb").read()
	for i in range(0, len(data), 7):
	    open(f"{sys.argv[2]}{i}", "wb").write(data[:i])
	    open(f"{sys.argv[2]}x{i}", "wb").write(data[:i] + b"\xff" + data[i + 1:])
	EOF
	for bad in "$T"/cut*; do
		run cpustat -I "$bad" --format=csv
		[ "$status" -eq 1 ]
	done
}

# ends COUNT...: a record with an exit row per COUNT, of processes 10, 11, ...; a is COUNT, b is -COUNT / 2.
ends() {
	local count n=0
	echo '{"kind":"run","schema":1,"tool":"cputrack","command":["cputrack"],"host":"h","start":"2026-01-31T23:59:58.000000000Z","cycles":"tsc","sets":[{"spec":"a,b","events":[{"event":"a","name":"a","pic":0,"unit":"","scale":1,"signed":false},{"event":"b","name":"b","pic":1,"unit":"","scale":1,"signed":true}]}],"many":true}'
	for count in "$@"; do
		echo "{\"kind\":\"exit\",\"ns\":$((++n))000000,\"time\":\"2026-01-31T23:59:59.000000000Z\",\"pid\":$((9 + n)),\"lwp\":1,\"tid\":$((9 + n)),\"comm\":\"x\",\"set\":0,\"counts\":{\"a\":$count,\"b\":-$((count / 2))},\"cycles\":7,\"span\":1000,\"status\":0}"
	done
	echo "{\"kind\":\"end\",\"rows\":$#}"
}

@test "records that contradict themselves are refused" {
	ends 5 6 >"$T/good"
	go -0 cputrack -I "$T/good" --total
	[[ $output == *" total "*" 11 "*" -5 "* ]]
	while IFS='|' read -r change line why; do
		sed "$change" "$T/good" >"$R"
		go -1 cputrack -I "$R" --total
		[ "$stderr" = "cputrack: $R:$line: $why" ]
		# --compare refuses it, too
		go -1 cputrack -r 2 --compare "$R" -c page-faults true
		[[ $stderr == *"cputrack: $R:$line: $why"* ]]
	done <<-'END'
		2s/"a":5/"a":5,"a":6/|2|invalid object: it has a key twice
		2s/"pid":10/"pid":10,"\\u0070id":10/|2|invalid object: it has a key twice
		1s/"host":"h"/"host":"h","host":"h"/|1|invalid object: it has a key twice
		3s/"status":0/"status":0,"signal":9/|3|invalid row: it has both 'signal' and 'status'
		3s/"ns":2000000/"ns":999999/|3|invalid 'ns': less than in the previous row
	END
	# text that looks like a key is not one
	sed '2s/"comm":"x"/"comm":"\\":\\\\\":"/' "$T/good" | sed '2s/\\\\":"/\\\\"/' >"$R"
	go -0 cputrack -I "$R"
}

@test "sums that do not fit 64 bits are shown as -, and incomplete" {
	ends 18446744073709551615 1 2 >"$R"
	go -0 cputrack -I "$R" --total
	grep -qE ' total +- +-?[0-9]+ +# incomplete$' <<<"$output"
	for by in process command lwp; do
		go -0 cputrack -I "$R" --by=$by
		tail -n 1 <<<"$output" | grep -qE 'total +- .*# incomplete$'
	done
	[ "$(cputrack -I "$R" --by=process | grep -c 18446744073709551615)" -eq 1 ]
	go -0 cputrack -I "$R" --format=openmetrics -o "$T/metrics"
	grep -q a_total "$T/metrics" && run ! grep -E '^[^#].*a_total.* (1|2|3)$' "$T/metrics"
	record 18446744073709551615 -9223372036854775808 | sed '3s/"ncpus":0/"ncpus":1/; 3s/"a":null,"b":null/"a":1,"b":-1/;
		3s/"cycles":null/"cycles":1/' >"$R"
	go -0 cpustat -I "$R" -A all
	grep -qE ' tick +- +- +# incomplete$' <<<"$output"
	# a count of an LWP above that of its process is refused
	{
		ends 5 | sed -n 1p
		ends 9 | sed -n '2s/exit/lwp_exit/; 2s/"lwp":1,"tid":10/"lwp":2,"tid":11/; 2s/,"status":0//p'
		ends 5 | sed -n 2p
		echo '{"kind":"end","rows":2}'
	} >"$R"
	go -0 cputrack -I "$R" --by=lwp
	grep -qE '^ *10 +1 +x +- .*# incomplete$' <<<"$output"
}

@test "a file without lines and without end is refused at once" {
	need_unsanitized "sanitized programs reserve more memory than the limit"
	ulimit -v 2000000
	for option in -I --compare=; do
		[ "$option" = -I ] && args=() || args=(-r 2 -c page-faults true)
		go -1 cputrack "$option"/dev/zero "${args[@]}"
		[[ $stderr == *"/dev/zero:1: not a record: it has a NUL"* ]]
		go -1 cputrack "$option"<(head -c 400000000 /dev/zero | tr '\0' x) "${args[@]}"
		[[ $stderr == *":1: not a record: the line is too long"* ]]
	done
	ends 5 | sed '2s/"x"/"\x00"/' >"$R"
	go -1 cputrack -I "$R"
	[[ $stderr == "cputrack: $R:2: not a record: it has a NUL" ]]
}

@test "names with newlines, escapes and bytes that are not UTF-8 stay on their line in each format" {
	local format
	cp "$WORK/set-comm" "$T/"$'b\n\033\xff\x7f\xc3\xa9",'
	# the first name is that of the file, the second one is set by the program
	# shellcheck disable=SC2016 # for the inner shell
	go -0 cputrack -e -T 0 -O "$R" -o "$ROWS" -c page-faults sh -c \
		'exec "$0" "$@" </dev/null' "$T/"$'b\n\033\xff\x7f\xc3\xa9",' $'c\x9b\n'
	for format in table csv json; do
		go -0 cputrack -I "$R" --format=$format --comm -o "$T/$format"
		if LC_ALL=C grep -n '[[:cntrl:]]' "$T/$format"; then
			false
		fi
	done
	[ "$(wc -l <"$T/csv")" = 4 ]
	python3 - "$T/json" "$T/csv" <<-'EOF'
	import csv, json, sys
	rows = [json.loads(line) for line in open(sys.argv[1])]
	comm = [r["comm"] for r in rows if r["kind"] in ("image", "exit")]
	assert comm == ["b\n\x1b\ufffd\x7f\xe9\",", "c\ufffd\n"], comm
	rows = list(csv.DictReader(open(sys.argv[2])))
	assert rows[-1]["comm"] == "c\ufffd\ufffd", rows[-1]
	assert [r["comm"] for r in rows if r["kind"] == "image"] == ["b\ufffd\ufffd\ufffd\ufffd\u00e9\","], rows
	assert all(None not in row for row in rows)
	EOF
}

@test "csv: python, sqlite3 and awk read the same" {
	need_command sqlite3
	go -3 cputrack -fe -T 0 -O "$R" -o "$ROWS" -c page-faults,task-clock sh -c "'$WORK/forks' 5; exit 3"
	cputrack -I "$R" --format=csv -o "$T/csv"
	want=$(csv_sums <"$T/csv" | awk '$1 == "exit" && $2 == "page-faults" { print $3 }')
	[ "$want" -gt 0 ]
	[ "$(sqlite3 :memory: ".import --csv $T/csv run" \
		"SELECT sum(count) FROM run WHERE kind = 'exit' AND event = 'page-faults'")" = "$want" ]
	[ "$(csv_awk '$kind == "exit" && $event == "page-faults" { n += $count } END { print n }' <"$T/csv")" = "$want" ]
	[ "$(csv_awk '$kind == "exit" { print $status }' <"$T/csv" | sort -u | tr "\n" " ")" = "0 1 2 3 4 5 " ]
	go -0 cputrack -I "$R" --format csv -n
	[[ $output != *time,seconds* ]]
}

@test "json: jq reads it, and each row is complete by itself" {
	need_command jq
	go -137 cputrack -fe -T 0 --format=json -c page-faults,page-faults sh -c "kill -9 \$\$"
	printf '%s\n' "$output" >"$R"
	[ "$(jq -r 'select(.kind == "exit") | [.signal, .comm, (.counts | keys_unsorted[])] | join(" ")' "$R")" = \
		"9 sh page-faults page-faults@pic1" ]
}

@test "exit rows tell how a process ended: in json, csv, and tables with --comm" {
	go -7 cputrack -fe -T 0 -O "$R" -o "$ROWS" -c page-faults sh -c 'sh -c "kill -9 \$\$"; exit 7'
	go -0 cputrack -I "$R" --comm
	grep -qE ' sh +exit +[0-9]+ # signal 9: Killed$' <<<"$output"
	grep -qE ' sh +exit +[0-9]+ # status 7$' <<<"$output"
	[ "$(grep -c '"signal":9' "$R")" -eq 1 ]
	[ "$(grep -c '"kind":"exit".*"status":7' "$R")" -eq 1 ]
	[ "$(tail -n 1 "$R")" = '{"kind":"end","rows":5,"status":7}' ]
	[ "$(cputrack -I "$R" --format=csv | csv_awk '$kind == "exit" { printf "%s/%s ", $status, $signal }')" = "/9 7/ " ]
}

@test "all rows of a sample have one time" {
	start crowd "$WORK/thread-pool" 50
	eventually said crowd ready
	go -0 cputrack -T 0.02 -N 5 --format=json -p "${PIDS[crowd]}" -c page-faults
	python3 -c '
import json, sys, collections
ticks = collections.Counter(json.loads(l)["ns"] for l in sys.stdin if json.loads(l)["kind"] == "tick")
assert len(ticks) == 5 and set(ticks.values()) == {51}, ticks' <<<"$output"
}

@test "--names: events over columns as wide as their contents, and no blanks at line ends" {
	record 123456789012345 -1 >"$R"
	[ "$(cpustat -I "$R" --names)" = "$(printf '%s\n' \
		'   time    cpu      event a b' \
		'  1.000      0       tick 123456789012345 -1' \
		'  1.000    all      total 123456789012345 -1 # incomplete')" ]
	track -0 -fe --names -T 0 -c page-faults,page-faults sh -c 'true & wait; exit 0'
	[ "$(head -n1 "$ROWS")" = '   time     pid lwp      event page-faults page-faults@pic1' ]
	if grep -n ' $' "$ROWS"; then
		false
	fi
}

@test "--tid: the columns stay in line" {
	track -0 --tid -T 0 -c page-faults "$WORK/threads" 3
	[ "$(awk '{ print length($0) }' "$ROWS" | sort -u | wc -l)" -eq 1 ]
}

@test "a terminal gets names, command lines no longer than it, and the header on each screen" {
	need_terminal
	script -q -e -c "stty cols 60 rows 10; cputrack -fe -T 0 -c page-faults sh -c \
		'for i in 1 2 3 4 5; do /bin/echo $(printf 'x%.0s' {1..100}) >/dev/null; done; exit 0'" \
		/dev/null </dev/null | tr -d '\r' >"$T/out"
	cat "$T/out"
	[ "$(grep -c '^   time' "$T/out")" -ge 2 ]
	awk 'length($0) > 60 || / $/ { print; bad = 1 } END { exit bad }' "$T/out"
}

@test "a narrow terminal cuts no counts" {
	need_terminal
	record 123456789012345 -1 >"$R"
	script -q -e -c "stty cols 30 rows 10; NO_COLOR=1 cpustat -I '$R' --human=no" /dev/null </dev/null | tr -d '\r' >"$T/out"
	cat "$T/out"
	diff <(cpustat -I "$R" --names) "$T/out"
}

@test "no file is written twice, and a record is not overwritten while it is read" {
	record 1 2 >"$R"
	cp "$R" "$T/copy"
	ln "$R" "$T/link"
	go -2 cpustat -I "$R" -o "$T/link"
	[[ $stderr == *"invalid -o: it is the record that -I reads"* ]]
	go -2 cpustat -I "$R" -o "$R" --format=openmetrics
	[[ $stderr == *"invalid -o: it is the record that -I reads"* ]]
	cmp "$R" "$T/copy"
	go -2 cputrack -o "$T/new" -O "$T/new" true
	[[ $stderr == *"invalid -o and -O: both are the same file"* ]]
	[ ! -e "$T/new" ]
	go -0 cputrack -c page-faults -o /dev/null -O /dev/null true
}

@test "-I names the unsupported option" {
	local tool option args
	record 1 2 >"$R"
	while read -r tool option args; do
		# shellcheck disable=SC2086 # words
		go -2 "$tool" -I "$R" $option $args
		[ -z "$output" ]
		[ "$stderr" = "$tool: unsupported with -I, which counts nothing: ${option%%=*}" ]
	done <<-EOF
		cputrack -O $T/new
		cputrack -v -c page-faults
		cputrack --tree
		cputrack --for=1
		cpustat -O $T/new -A all
		cpustat --top
		cputrack --top
	EOF
	[ ! -e "$T/new" ]
}

@test "200 columns" {
	python3 - >"$R" <<-'EOF'
	import json
	events = lambda k: [{"event": f"e{k}_{i}", "name": "e", "pic": i, "unit": "", "scale": 1, "signed": False}
	                    for i in range(50)]
	put = lambda **o: print(json.dumps(o))
	put(kind="run", schema=1, tool="cputrack", command=[], host="", start="2026-01-01T00:00:00.000000000Z",
	    cycles="tsc", many=False, sets=[{"spec": f"s{k}", "events": events(k)} for k in range(4)])
	for k in range(4):
	    put(kind="exit", ns=1, time="2026-01-01T00:00:00.000000001Z", pid=1, lwp=1, tid=1, set=k,
	        counts={f"e{k}_{i}": 10**18 + i for i in range(50)}, cycles=1)
	put(kind="end", rows=4)
	EOF
	cputrack -I "$R" --names >"$T/names"
	[ "$(head -n1 "$T/names" | wc -w)" -eq 203 ]
	[ "$(tail -n1 "$T/names" | wc -w)" -eq 53 ]
	[ "$(cputrack -I "$R" | awk 'NR > 1 { n += NF - 5 } END { print n }')" -eq 200 ]
	[ "$(cputrack -I "$R" --format=csv | wc -l)" -eq 201 ]
}

# The times in the record of a program are its start and the time since then, within 5 ms.  Two
# clocks are read for each time: on a busy machine, seldom at once.
times_fit() {
	for _ in {1..30}; do
		"$1" -O "$R" "${@:2}" >/dev/null
		! record_fits || return 0
	done
	return 1
}

record_fits() {
	python3 - "$R" <<-'EOF'
		import datetime, json, sys
		def ns(time):
		    whole, part = time[:-1].split(".")
		    return int(datetime.datetime.fromisoformat(whole + "+00:00").timestamp()) * 10**9 + int(part)
		rows = [json.loads(line) for line in open(sys.argv[1])]
		late = [ns(row["time"]) - ns(rows[0]["start"]) - row["ns"] for row in rows if "time" in row]
		sys.exit(not late or any(abs(n) > 5e6 for n in late))
	EOF
}

@test "the start of a record is when the time of its rows is 0" {
	times_fit cputrack -T 0.05 -c page-faults sleep 0.1
}

@test "the start of a record of CPUs is after its delay" {
	need cpu
	times_fit cpustat -c page-faults --delay=0.5 0.1 2
}

@test "--append: several runs in one file, also of records" {
	local format
	for _ in 1 2; do
		go -0 cputrack --append -O "$R" -o "$ROWS" -T 0 -c page-faults true
	done
	[ "$(grep -c time "$ROWS")" -eq 2 ]
	cputrack -I "$R" | cmp - "$ROWS"
	# formats for a single run refuse the second
	for format in openmetrics trace; do
		go -1 cputrack -I "$R" --format=$format
		[ "$stderr" = "cputrack: $R:4: unsupported second run: --format $format is a document of one run" ]
	done
	go -0 cputrack -O "$R" -o "$ROWS" -T 0 -c page-faults true
	[ "$(wc -l <"$R")" -eq 3 ]
}

@test "escape sequences in a foreign record are refused or escaped" {
	local option
	record 1 2 | sed 's/"tsc"/"t\\u001b[2J"/' >"$R"
	go -1 cpustat -t -I "$R"
	[ "$stderr" = "cpustat: $R:1: invalid 'cycles': expected tsc or tick" ]
	record 1 2 | sed 's/"name":"a","pic":0,"unit":""/"name":"a","pic":0,"unit":"M\\u001b[2J\\n B"/' >"$R"
	for option in --human "--human --names" "--human --by=cpu"; do
		# shellcheck disable=SC2086 # words
		go -0 cpustat $option -I "$R"
		[[ $output == *'M\^[[2J\n'* ]]
		if LC_ALL=C grep -q '[^ -~]' <<<"$output"; then
			false
		fi
	done
	go -0 cpustat --format=csv -I "$R"
	[[ $output == *$',M\xef\xbf\xbd[2J\xef\xbf\xbd B,'* ]]
	record 1 2 | sed 's/"events":\[.*\]}\],"unit"/"events":[]}],"unit"/' >"$R"
	go -1 cpustat -I "$R"
	[ "$stderr" = "cpustat: $R:1: invalid set: it has no events" ]
	record 1 2 | sed 's/"cpus":.*/"cpus":[]}/' >"$R"
	go -1 cpustat -I "$R"
	[ "$stderr" = "cpustat: $R:1: invalid record: it has no CPUs" ]
}

@test "a full disk under a record, a csv, means or a replay is an error" {
	# A file reaches its limit.
	for words in --format=csv --format=json "--format=csv -r 2" "--format=json -r 2" -O; do
		[ "$words" = -O ] || words+=" -o"
		# shellcheck disable=SC2016 # for the inner shell
		go -1 bash -o pipefail -c '(ulimit -f 0; exec cputrack $0 "$1" -T 0 -c page-faults true) 2>&1 | cat' "$words" "$T/file"
		[[ $output == *"cputrack: cannot write '$T/file': File too large"* ]]
	done
	# A device refuses all: the command is not run.
	for words in -o -O "--format=csv -o" "--format=json -o" "--format=openmetrics -o" "-r 2 -o"; do
		# shellcheck disable=SC2086 # words
		go -1 cputrack $words /dev/full -c page-faults touch "$T/ran"
		[ "$stderr" = "cputrack: cannot write '/dev/full': No space left on device" ]
		[ ! -e "$T/ran" ]
	done
	# shellcheck disable=SC2016 # for the inner shell
	go -1 sh -c 'exec cputrack -O "$0" -T 0 -c page-faults true >/dev/full' "$R"
	[ "$stderr" = "cputrack: cannot write the standard output: No space left on device" ]
	record 1 2 >"$R"
	go -1 cpustat -I "$R" -o /dev/full
	[ "$stderr" = "cpustat: cannot write '/dev/full': No space left on device" ]
	go -1 cpustat -I "$R" -o "$T/no/such"
	[ "$stderr" = "cpustat: cannot write '$T/no/such': No such file or directory" ]
}

@test "a locale with a decimal comma changes nothing" {
	record 5 2 | sed 's/"unit":"","scale":1,"signed":false/"unit":"Joules","scale":0.5,"signed":false/' >"$R"
	for format in table csv json; do
		cpustat -I "$R" --format=$format >"$T/C"
		with_comma cpustat -I "$R" --format=$format | cmp - "$T/C"
	done
	cpustat -I "$R" | grep -q ' 2\.50 '
}

@test "options that do not fit together are refused" {
	record 1 2 >"$R"
	for bad in "-c page-faults" "-s" "-O $T/o" "1" "--names --format=csv" "--append" "-m" "--cpus x" \
		"--format=xml"; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr cpustat -I "$R" $bad
		[ "$status" -eq 2 ]
		[ "${#stderr_lines[@]}" -eq 1 ]
	done
	[ "$(cpustat -I "$R" --cpus 0 | awk '$3 == "total" { print $2, $4, $5, NF }')" = "1 1 2 5" ]
}

@test "rows for programs are alone on the standard output of a command" {
	local format run=("$CPC_BUILD/cputrack" -T 0 -c page-faults)
	for format in csv json openmetrics trace "csv -r 2" "json -r 2"; do
		# shellcheck disable=SC2086 # two words
		go -0 "${run[@]}" --format=$format echo printed
		[ "$(grep -c '^printed$' <<<"$output")" = 0 ]
		[ "$(sort -u <<<"$stderr")" = printed ]
	done
	go -0 "${run[@]}" --format=json sh -c 'echo printed; echo errors >&2; echo "{"'
	python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <<<"$output"
	# Tables have them in between, as on Solaris; with -o, the command keeps its output.
	go -0 "${run[@]}" echo printed
	[ "$(grep -c '^printed$' <<<"$output")" = 1 ]
	for format in "$R" /dev/fd/3 /dev/stderr; do
		# shellcheck disable=SC2016 # for the inner shell
		go -0 sh -c '"$@" echo printed 3>"$0"' "$R" "${run[@]}" --format=json -o "$format"
		[ "$output" = printed ]
	done
	# One that reads the rows and the output of the command apart
	"${run[@]}" --format=json -o /dev/fd/3 echo printed 3>&1 >"$T/printed" |
		python3 -c 'import json, sys; assert [json.loads(line)["kind"] for line in sys.stdin][-1] == "end"'
	[ "$(cat "$T/printed")" = printed ]
	# Streams that are closed, or the same
	go -1 sh -c 'exec "$@" >&-' sh "${run[@]}" --format=csv true
	[ "$stderr" = "cputrack: cannot write the standard output: Bad file descriptor" ]
	"${run[@]}" --format=csv echo printed 2>&- >"$T/both"
	[ "$(grep -c '^printed$' "$T/both")" = 1 ]
	"${run[@]}" --format=csv echo printed >"$T/both" 2>&1
	[ "$(grep -c '^printed$' "$T/both")" = 1 ]
	[ "$(grep -c '^time,\|,exit,' "$T/both")" = 2 ]
}

@test "csv: the machine, and the unit of clocks" {
	go -0 cputrack -T 0 -t --format=csv -c task-clock,page-faults -O "$R" true
	printf '%s\n' "$output" >"$T/csv"
	[ "$(csv_awk '{ print $event, $unit, $host }' <"$T/csv" | grep -vE '^(tsc|tick) ' | sort -u)" = \
		"page-faults  $(uname -n)"$'\n'"task-clock ns $(uname -n)" ]
	# a record has it from the machine that counted
	sed -i "s/\"host\":\"$(uname -n)\"/\"host\":\"a,b\"/" "$R"
	go -0 cputrack -I "$R" --format=csv
	[[ ${lines[1]} == *',"a,b"' ]]
	go -0 cputrack -I "$R" --format=csv --by=process
	[[ ${lines[1]} == *',"a,b"' ]]
	go -0 cputrack -r 2 --format=csv -c page-faults true
	[[ ${lines[1]} == *,"$(uname -n)" ]]
	# cpcplot names it, and reads files without it
	need_command cpcplot
	go -0 cpcplot -o "$T/html" --html "$T/csv"
	grep -q " on $(uname -n)" "$T/html"
	sed 's/,[^,]*$//' "$T/csv" >"$T/old"
	go -0 cpcplot -o "$T/html" --html "$T/old"
}
