#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Questions that one command line answers: totals, summaries, comparisons, records.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
}

# Word $2 of the lines of $output whose word $1 is $3.
words() {
	awk -v at="$1" -v want="$3" -v word="$2" '$at == want { print $word }' <<<"$output"
}

# The sum of the counts of the exec, exit and detach rows of a record.
whole() {
	python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
print(sum(row["counts"][sys.argv[2]] for row in rows
    if row["kind"] in ("exec", "exit", "detach") and row["counts"][sys.argv[2]] is not None))' "$@"
}

@test "--by: LWPs, processes and commands, largest first, and their total is that of all rows" {
	local by
	go -0 cputrack --by=lwp -O "$R" -c page-faults,task-clock \
		sh -c "'$WORK/threads' -i -p 100 3; '$WORK/execs' 2; true"
	[ -z "$stderr" ]
	cp "$R" "$T/record"
	for by in lwp process command; do
		go -0 cputrack -I "$T/record" --by="$by"
		awk 'NR > 1 && $NF != "100.0%" { print $(NF - 2) }' <<<"$output" >"$T/counts"
		[ "$(wc -l <"$T/counts")" -ge 3 ]
		sort -rnc "$T/counts"
		[ "$(tail -n1 <<<"$output" | awk '{ print $(NF - 2), $(NF - 1), $NF }')" = \
			"$(whole "$R" page-faults) $(whole "$R" task-clock) 100.0%" ]
	done
	go -0 cputrack -I "$T/record" --by=command
	# the program executes itself as /proc/self/exe
	[ "$(words 2 1 execs) $(words 2 1 exe) $(words 2 1 threads)" = "1 2 1" ]
	go -0 cputrack -I "$T/record" --by=process
	[ "$(words 3 2 threads)" = 4 ]
}

@test "--by=lwp: what each thread counted, also of a record without fini_lwp rows" {
	local base
	go -0 cputrack --by=lwp -O "$R" -c page-faults "$WORK/threads" -i -p 100 3
	[ -z "$stderr" ]
	[[ ${lines[0]} =~ ^\ *pid\ +lwp\ +comm\ +page-faults\ +share$ ]]
	# the k-th thread touches 100 k pages, and some more as all do
	base=$(($(words 2 4 2) - 100))
	[ "$base" -ge 0 ]
	[ "$base" -lt 100 ]
	[ $(($(words 2 4 3) / 100)) = 2 ]
	[ $(($(words 2 4 4) / 100)) = 3 ]
	go -0 cputrack -I "$R" --by=lwp
	echo "$output" >"$T/with"
	grep -v fini_lwp "$R" | sed 's/"rows":[0-9]*/"rows":7/' >"$T/without"
	cputrack -I "$T/without" --by=lwp | diff "$T/with" -
}

@test "--by in csv and json: rows of kind sum, a total, and no others" {
	local want
	go -0 cputrack --by=command --format=csv -O "$R" -c page-faults sh -c "'$WORK/execs' 1; true"
	want=$(whole "$R" page-faults)
	[ "$(csv_awk '{ print $kind }' <<<"$output" | uniq | xargs)" = "sum total" ]
	[ "$(csv_awk '$kind == "sum" { n += $count; s += $share } END { printf "%d %.3f", n, s }' <<<"$output")" = "$want 1.000" ]
	[ "$(csv_awk '$kind == "total" { print $count }' <<<"$output")" = "$want" ]
	go -0 cputrack --by=command --format=json -I "$R"
	python3 -c '
import json, sys
rows = [json.loads(line) for line in sys.stdin]
sums = [row for row in rows if row["kind"] == "sum"]
assert {row["comm"]: row["runs"] for row in sums}["exe"] == 1
assert sum(row["counts"]["page-faults"] for row in sums) == int(sys.argv[1])
assert rows[-2]["kind"] == "total" and rows[-2]["counts"]["page-faults"] == int(sys.argv[1])
assert rows[-1] == {"kind": "end", "rows": len(rows) - 2}' "$want" <<<"$output"
	# it cannot be replayed
	echo "$output" >"$T/sum"
	go -1 cputrack -I "$T/sum"
	[[ $stderr == "cputrack: $T/sum:2: invalid record: it is a summary (--by); -O writes records"* ]]
}

@test "--by: LWPs that live when tracking ends, and what is not known is marked" {
	start pool "$WORK/thread-pool" -p 50 3
	eventually said pool ready
	tell pool g
	go -0 cputrack --by=lwp -O "$R" --for 0.1 -c page-faults -p "${PIDS[pool]}"
	[ "$(awk '$2 ~ /^[1-4]$/' <<<"$output" | wc -l)" -eq 4 ]
	[ "$(words 1 4 -)" = "$(whole "$R" page-faults)" ]
	# without their rows, the counts of each are unknown
	grep -v fini_lwp "$R" >"$T/cut"
	sed -i "s/\"rows\":[0-9]*}/\"rows\":$(grep -c '"ns"' "$T/cut")}/" "$T/cut"
	go -0 cputrack -I "$T/cut" --by=lwp
	[ "$(words 2 4 1)" = - ]
	[[ ${lines[1]} == *"# incomplete" && ${lines[2]} == *"total"*"# incomplete" ]]
}

@test "--by with -T: summaries of the intervals add up to that of the whole, also of short lives" {
	local by engine short="'$WORK/touch-pages' 300; sleep 0.15; '$WORK/touch-pages' 500; exec sleep 0.15"
	for engine in auto ptrace; do
		for by in command process lwp; do
			go -0 cputrack --engine="$engine" --by=$by -T 0.1 --format=csv -c page-faults -c minor-faults \
				sh -c "$short & '$WORK/threads' -p 100 3; wait"
			[ "$(csv_awk '{ print $kind }' <<<"$output" | uniq | xargs)" = "tick sum total" ]
			[ "$(csv_awk '$kind == "tick" { print $seconds }' <<<"$output" | sort -u | wc -l)" -ge 3 ]
			# by event, process, LWP and name; a process has its last name
			for kind in tick sum; do
				csv_awk -v want=$kind '
					$kind == want { n[$event " " $pid " " $lwp " " ($pid != "" && $lwp == "" ? "" : $comm)] += $count }
					END { for (k in n) print k, n[k] }' <<<"$output" | sort >"$T/$kind"
			done
			diff "$T/tick" "$T/sum"
			for event in page-faults minor-faults; do
				[ "$(csv_awk -v want=$event '$kind == "tick" && $event == want { n += $count } END { print n }' <<<"$output")" \
					-eq "$(csv_awk -v want=$event '$kind == "total" && $event == want { print $count }' <<<"$output")" ]
			done
		done
	done
}

@test "--by with -T: each interval has a table with its total" {
	local engine
	go -0 cputrack --by=command -T 0.5 -c page-faults sh -c "'$WORK/touch-pages' 300; sleep 0.6; '$WORK/touch-pages' 500"
	echo "$output"
	mapfile -t blocks < <(awk -v RS= '{ print NR ":" $1 }' <<<"$output")
	[ "${blocks[*]}" = "1:time 2:time 3:runs" ]
	awk -v RS= -v FS='\n' '{ n = 0; for (i = 2; i < NF; i++) { split($i, w, " "); n += w[NR < 3 ? 4 : 3] }
		split($NF, w, " "); print (n == w[NR < 3 ? 4 : 3]), w[NR < 3 ? 3 : 2] }' <<<"$output" >"$T/sums"
	[ "$(uniq -c "$T/sums" | xargs)" = "3 1 total" ]
	first=$(awk -v RS= 'NR == 1' <<<"$output" | awk '$3 == "touch-pages" { print $4 }')
	second=$(awk -v RS= 'NR == 2' <<<"$output" | awk '$3 == "touch-pages" { print $4 }')
	[ "$((second - first))" -ge 195 ] && [ "$((second - first))" -le 205 ]
	go -0 cputrack --by=command -T 0 -c page-faults true
	[ "$(grep -c '^$' <<<"$output")" -eq 0 ]
	for engine in auto ptrace; do
		go -0 cputrack --engine="$engine" --by=command -T 0.05 -N 2 -c page-faults sleep 1
		[ "$(grep -c total <<<"$output")" -eq 3 ] # the last sample ends the tracking, too
	done
}

@test "--by=cpu: a row for each CPU, and the total of cpustat" {
	need cpu
	go -0 cpustat --by=cpu -O "$R" -c page-faults,context-switches 0.05 3
	[ "$(awk 'NR > 1 && $1 != "total" { print $1 }' <<<"$output" | sort -n)" = "$(cpus)" ]
	[ "$(words 1 2 total)" = "$(cpustat -I "$R" | awk '$3 == "total" { print $4 }')" ]
	cpustat -I "$R" --by=cpu | diff - <(echo "$output")
	cpustat -I "$R" --by=cpu -A all | awk '{ print $1 }' | tr '\n' ' ' | grep -x "cpu all total "
}

@test "--by: wrong ones are refused" {
	go -2 cputrack --by=cpu -c page-faults true
	[[ $stderr == *"unsupported --by=cpu: cpustat has it; see cputrack -h" ]]
	go -2 cpustat --by=lwp -c page-faults
	[[ $stderr == *"unsupported --by lwp and process: cpustat counts CPUs; use cputrack --all --by=lwp, or --by=command"* ]]
	go -2 cputrack --by=image -c page-faults true
	[ "$stderr" = "cputrack: unknown --by 'image': expected lwp, process, command, cgroup, service, container or user" ]
	go -0 cputrack --by=thread -c page-faults true
	[ "$(head -n 1 <<<"$output" | xargs)" = "pid lwp comm page-faults share" ]
	go -2 cpustat --by=core -c page-faults 1 1
	[ "$stderr" = "cpustat: unsupported --by 'core': --by=cpu -A core has a row for each" ]
	go -2 cpustat --by=image -c page-faults 1 1
	[ "$stderr" = "cpustat: unknown --by 'image': expected cpu, cgroup, service, container, user or command" ]
}

@test "without -c: what this machine and user can count, under its names" {
	need kernel
	go -0 cputrack -o "$ROWS" "$WORK/touch-pages" 300
	[ -z "$stderr" ]
	[[ $(head -n1 "$ROWS") =~ ^\ *time\ +pid\ lwp\ +event\ +task-clock\ context-switches\ page-faults(\ cycles\ instructions)?$ ]]
	[ "$(awk '$4 == "exit" && $7 >= 300 && $7 < 500' "$ROWS" | wc -l)" -eq 1 ]
	go -0 cputrack --format=csv -O "$R" true
	grep -q ',exit,.*,page-faults,"task-clock,context-switches,page-faults' <<<"$output"
	go -0 cputrack -I "$R"
	need cpu
	go -0 cpustat 0.05 1
	[[ ${lines[0]} =~ ^\ *time\ +cpu\ +event\ +(busy-time\ )?context-switches\ page-faults ]]
	[ "$(grep -c tick <<<"$output")" = "$(cpus | wc -l)" ]
}

@test "without -c: an ordinary user counts what it may" {
	need_root
	need_reachable "$CPC_BUILD"
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -eq 2 ] || skip "other settings of perf_event_paranoid allow more or less"
	go -0 setpriv --reuid=65534 --regid=65534 --clear-groups cputrack --names true
	[[ ${lines[0]} =~ ^\ *time\ +pid\ lwp\ +event\ +task-clock\ page-faults ]]
	go -1 setpriv --reuid=65534 --regid=65534 --clear-groups cpustat 0.05 1
	[[ $stderr == *"cannot count 'context-switches' on a whole CPU: kernel.perf_event_paranoid is"* ]]
}

@test "names of LWPs and processes are those with which they ended" {
	# shellcheck disable=SC2016 # for the inner shell
	go -0 cputrack --by=process -c page-faults sh -c 'printf "new name" >/proc/$$/comm'
	[ "$(words 3 2 'new\sname')" = 1 ]
	# also of many that end at once, and of those that are killed
	# shellcheck disable=SC2016 # for the inner shells
	go -0 cputrack -fe -T 0 --format=csv -c page-faults sh -c '
		for i in $(seq 100); do
			sh -c "printf n$i >/proc/\$\$/comm; kill -9 \$\$" &
		done
		wait'
	[ "$(csv_awk '$kind == "exit" && $signal == 9 { print $comm }' <<<"$output" | sort -u | wc -l)" -eq 100 ]
}

@test "--total: a last row for the whole tree" {
	track -0 -fe -T 0 --total -O "$R" -c page-faults,task-clock sh -c "'$WORK/execs' 3; true"
	[ "$(tail -n1 "$ROWS" | awk '{ print $2, $3, $4, $5, $6 }')" = \
		"2 - total $(whole "$R" page-faults) $(whole "$R" task-clock)" ]
	cputrack -I "$R" | diff - <(head -n -1 "$ROWS")
	cputrack -I "$R" --total --format=json >"$T/again"
	cputrack -I "$T/again" | cmp - "$ROWS"
	cputrack -I "$T/again" --total | cmp - "$ROWS"
	go -0 cputrack -I "$R" --total --names
	[[ ${lines[-1]} =~ ^\ +[0-9.]+\ +all\ +-\ +total\ +$(whole "$R" page-faults)\ +[0-9]+$ ]]
}

@test "--changed: no tick rows of LWPs that counted nothing" {
	start pool "$WORK/thread-pool" 20
	eventually said pool ready
	go -0 cputrack --changed -O "$R" -T 0.02 -N 5 -c page-faults -p "${PIDS[pool]}"
	[ "$(grep -c tick <<<"$output" || true)" -eq 0 ]
	grep -q detach <<<"$output"
	[ "$(cputrack -I "$R" | grep -c tick)" -eq 105 ]
}

@test "-p: names that the kernel cuts after 15 characters" {
	local name=a-long-name-of-$BASHPID-program
	cp "$WORK/thread-pool" "$T/$name"
	printf '#!/bin/sh\necho ready\nread -r line\n' >"$T/$name-script"
	chmod +x "$T/$name-script"
	start program "$T/$name" 1
	start script "$T/$name-script"
	eventually said program ready
	eventually said script ready
	rm "$T/$name" # it is still known
	names_are "$name" program
	names_are "$name-script" script
	names_are "${name%m}*[tm]" program script
	mistake 2 "-p '${name}s': no process has this name" cputrack -c page-faults -p "${name}s"
	hang_up program
	hang_up script
}

# names_are NAME PROCESS...
names_are() {
	go -0 cputrack -c page-faults -T 0.02 -N 1 -p "$1"
	[ "$(sed -n "1s/.*: process[es]* //p" <<<"$stderr" | tr -d , | xargs -n 1 | sort -n)" = \
		"$(for process in "${@:2}"; do echo "${PIDS[$process]}"; done | sort -n)" ]
}

@test "-p: lists and names" {
	# no other process has these names
	local one=one-$BASHPID two=two-$BASHPID separator
	start one "$WORK/set-comm" "$one"
	start two "$WORK/set-comm" "$two"
	eventually said one ready
	eventually said two ready
	# by blanks and newlines as from pgrep(1)
	for separator in ' ' ',' $'\n'; do
		go -0 cputrack -c page-faults -T 0.02 -N 1 -p "${PIDS[one]}$separator${PIDS[two]}"
		[ "$(awk '$4 == "detach" { print $2 }' <<<"$output" | sort -n)" = \
			"$(printf '%s\n' "${PIDS[one]}" "${PIDS[two]}" | sort -n)" ]
	done
	go -0 cputrack -c page-faults -T 0.02 -N 1 -p "$one,${PIDS[two]}"
	[ "$stderr" = "cputrack: -p '$one': process ${PIDS[one]}" ]
	[ "$(grep -c detach <<<"$output")" -eq 2 ]
	# each once
	go -0 cputrack -c page-faults -T 0.02 -N 1 -p "${PIDS[one]}" -p "$one"
	[ "$(grep -c detach <<<"$output")" -eq 1 ]
	# a pattern
	go -0 cputrack -c page-faults -T 0.02 -N 1 -p "[ot][nw][eo]-$BASHPID"
	[ "$(grep -c detach <<<"$output")" -eq 2 ]
	[[ $stderr == "cputrack: -p '[ot][nw][eo]-$BASHPID': processes "* ]]
	mistake 2 "-p 'x$one*': no process has a name like this" cputrack -c page-faults -p "x$one*"
	mistake 2 "-p '$one-': no process has this name" cputrack -c page-faults -p "$one-"
	mistake 2 "process ids, from 1 to" cputrack -c page-faults -p 1,0
	mistake 2 "process ids, from 1 to" cputrack -c page-faults -p ''
}

@test "-p: of very many processes of a name, some are named, and how many more there are" {
	local many=many-$BASHPID
	start many python3 -c '
import os, signal, sys
open("/proc/self/comm", "w").write(sys.argv[1])
children = []
for i in range(179):
    children.append(os.fork())
    if children[-1] == 0:
        signal.pause()
print("ready", flush=True)
sys.stdin.read(1)
for child in children:
    os.kill(child, signal.SIGKILL)
print(os.getpid(), *children)' "$many"
	eventually said many ready
	go -2 cputrack -p "$many" true
	tell many x
	finish many
	[[ ${stderr_lines[0]} =~ ^"cputrack: -p '$many': processes "([0-9, ]+)" and "([0-9]+)" more"$ ]]
	[ $(($(wc -w <<<"${BASH_REMATCH[1]}") + BASH_REMATCH[2])) -eq 180 ]
	for pid in ${BASH_REMATCH[1]//,/}; do
		[[ " $(tail -n 1 "$T/many.out") " == *" $pid "* ]]
	done
}

# A record of cputrack with a run of each of these page faults.
runs_of() {
	local n
	for n in "$@"; do
		cat <<-EOF
		{"kind":"run","schema":1,"tool":"cputrack","command":["x"],"host":"h","start":"2026-01-31T23:59:58.000000000Z","cycles":"tsc","sets":[{"spec":"a","events":[{"event":"a","name":"a","pic":0,"unit":"","scale":1,"signed":false}]}],"many":true}
		{"kind":"exec","ns":500000000,"time":"2026-01-31T23:59:58.500000000Z","pid":2,"lwp":1,"tid":2,"set":0,"counts":{"a":1},"cycles":7}
		{"kind":"exit","ns":2000000000,"time":"2026-01-31T23:59:59.000000000Z","pid":2,"lwp":1,"tid":2,"set":0,"counts":{"a":$((n - 1))},"cycles":7,"status":0}
		{"kind":"end","rows":2}
		EOF
	done
}

@test "-r: mean, median, deviation and range over the runs of a command" {
	local counts
	go -0 cputrack -r 4 -O "$R" -c page-faults -o "$ROWS" sh -c "'$WORK/touch-pages' 300; echo run"
	[ "$output" = $'run\nrun\nrun\nrun' ]
	mapfile -t counts < <(python3 -c '
import json, statistics, sys
runs, n = [], 0
for row in map(json.loads, open(sys.argv[1])):
    n = 0 if row["kind"] == "run" else n
    n += row["counts"]["page-faults"] if row["kind"] in ("exec", "exit") else 0
    runs += [n] if row["kind"] == "end" else []
print("%d %.1f %.1f %.1f %.1f %.1f" % (len(runs), statistics.mean(runs), statistics.median(runs), statistics.stdev(runs), min(runs), max(runs)))' "$R")
	[ "$(awk '$1 == "page-faults" { print $2, $3, $4, $5, $7, $8 }' "$ROWS")" = "${counts[0]}" ]
	# what we set for ourselves is not for later runs
	go -0 cputrack -r 3 -o "$ROWS" sh -c 'ulimit -Sn; trap | cat; grep SigIgn /proc/self/status'
	[ "$(sort -u <<<"$output" | wc -l)" -eq 2 ]
	# and no run leaves a file open: as many again as there is room for
	go -0 "${WITH_FILES[@]}" 40 cputrack --engine=ptrace -r 50 -o "$ROWS" -c task-clock true
	[ "$(awk '$1 == "task-clock" { print $2 }' "$ROWS")" = 50 ]
	go -7 cputrack -r 2 -o "$ROWS" sh -c 'exit 7'
	go -127 cputrack -r 5 no-such-program
	[ "${#stderr_lines[@]}" -eq 1 ]
	mistake 2 "-r runs a command again" cputrack -r 2 -p $$
	mistake 2 "-r '0'" cputrack -r 0 true
}

# The words of line $1 of the table.
words_of() {
	echo "${lines[$1]}" | xargs
}

@test "--compare: changes, and Welch's t-test of few runs" {
	runs_of 20 22 24 >"$T/before"
	runs_of 10 12 14 >"$R"
	go -0 cputrack -I "$R" --compare "$T/before"
	[ "$(words_of 0)" = "event runs old spread new spread change median verdict" ]
	[ "$(words_of 1)" = "a 3 22.0 9.09% 12.0 16.67% -45.45% -45.45% less" ]
	[ "$(words_of 2)" = "seconds 3 2.000000s 0.00% 2.000000s 0.00% +0.00% +0.00% same" ]
	go -0 cputrack -I "$T/before" --compare "$R"
	[ "$(words_of 1)" = "a 3 12.0 16.67% 22.0 9.09% +83.33% +83.33% more" ]
	# the limit of t is 2.999 for 4 degrees: 2.939 is below, and 3.062 above
	for n in 268/no\ difference\ shown 270/more; do
		runs_of 200 220 240 >"$T/before"
		runs_of $((${n%%/*} - 20)) "${n%%/*}" $((${n%%/*} + 20)) >"$R"
		go -0 cputrack -I "$R" --compare "$T/before"
		[[ "$(words_of 1)" == *"% ${n#*/}" ]]
	done
	runs_of 20 22 24 >"$T/before"
	runs_of 10 20 30 >"$R"
	go -0 cputrack -I "$R" --compare "$T/before"
	[ "$(words_of 1)" = "a 3 22.0 9.09% 20.0 50.00% -9.09% -9.09% no difference shown" ]
	runs_of 10 >"$R"
	go -0 cputrack -I "$R" --compare "$T/before"
	[ "$(words_of 1)" = "a 3/1 22.0 9.09% 10.0 - -54.55% -54.55% cannot tell: one run is too few" ]
	# equal counts in all runs are exact
	runs_of 10 10 >"$R"
	runs_of 11 11 11 >"$T/before"
	go -0 cputrack -I "$R" --compare "$T/before"
	[ "$(words_of 1)" = "a 3/2 11.0 0.00% 10.0 0.00% -9.09% -9.09% less" ]
	runs_of 10 10 10 >"$T/before"
	go -0 cputrack -I "$R" --compare "$T/before"
	[ "$(words_of 1)" = "a 3/2 10.0 0.00% 10.0 0.00% +0.00% +0.00% same" ]
	go -0 cputrack -r 2 --compare "$T/before" -c page-faults true
	[[ ${lines[1]} == *"cannot tell: not counted in old" ]]
	go -1 cputrack --compare /dev/null true
	[[ $stderr == *"invalid record: the file is empty"* ]]
	mistake 2 "unsupported with -r and --compare: --by" cputrack -r 2 --by=lwp true
}

@test "--compare: incomplete counts give no verdict" {
	runs_of 10 10 >"$R"
	runs_of 20 20 | sed '2s/"cycles":7/"cycles":7,"incomplete":true/' >"$T/before"
	go -0 cputrack -I "$R" --compare "$T/before"
	[ "$(words_of 1)" = "a 2 20.0 0.00% 10.0 0.00% -50.00% -50.00% cannot tell: counts are incomplete" ]
	go -0 cputrack -I "$T/before" --compare "$R"
	[[ $(words_of 1) == *"+100.00% +100.00% cannot tell: counts are incomplete" ]]
	# a run without the count
	runs_of 20 20 20 | sed '2,3s/"counts":{"a":[0-9]*},"cycles":7/"counts":{"a":null},"cycles":null/' >"$T/before"
	go -0 cputrack -I "$T/before" --compare "$R"
	[ "$(words_of 1)" = "a 2 10.0 0.00% 20.0 0.00% +100.00% +100.00% cannot tell: not counted in every run" ]
}

@test "--fail-above: status 3 if a count grew by more than the limit and the spread" {
	runs_of 100 100 100 >"$T/before"
	while read -r runs limit want; do
		# shellcheck disable=SC2086 # words
		runs_of ${runs//,/ } >"$R"
		go "-$want" cputrack -I "$R" --compare="$T/before" --fail-above="$limit"
		if [ "$want" -eq 3 ]; then
			[[ ${lines[1]} == *"more: above the limit of ${limit%\%}%" ]]
			[[ $stderr =~ ^"cputrack: a grew by "[0-9.]+"%, above the limit of ${limit%\%}%"$ ]]
		else
			[ -z "$stderr" ]
			[[ ${lines[1]} != *above* ]]
		fi
	done <<-'END'
		103,103,103 3% 0
		104,104,104 3% 3
		104,104,104 3 3
		104,104,104 3.9 3
		104,104,104 4% 0
		101,101,101 0 3
		100,100,100 0 0
		90,90,90 0 0
		104,105,106 3% 0
		104,105,106 2% 3
		103,105,107 0.1 0
		104,106,108 0 3
	END
	# from 0 any growth is above
	runs_of 2 2 | sed 's/"a":1/"a":0/' >"$T/before"
	runs_of 2 2 >"$R"
	go -3 cputrack -I "$R" --compare="$T/before" --fail-above=100%
	[ "$(words_of 1)" = "a 2 0.0 0.00% 2.0 0.00% - - more: above the limit of 100%" ]
	[ "$stderr" = "cputrack: a grew from 0, above the limit of 100%" ]
	# a ratio and the time have no limit
	runs_of 2 2 >"$T/before"
	sed 's/"ns":2000000000/"ns":9000000000/' "$T/before" >"$R"
	go -0 cputrack -I "$R" --compare="$T/before" --fail-above=0
	[ "$(words_of 2)" = "seconds 2 2.000000s 0.00% 9.000000s 0.00% +350.00% +350.00% more" ]
	# an event without a verdict is an error
	runs_of 2 >"$R"
	go -1 cputrack -I "$R" --compare="$T/before" --fail-above=3%
	[ "$stderr" = "cputrack: cannot tell whether a grew by more than 3%: one run is too few" ]
	sed 's/"rows":2/&,"cut":true/' "$T/before" >"$R"
	go -1 cputrack -I "$R" --compare="$T/before" --fail-above=3%
	[ "$stderr" = "cputrack: cannot tell whether an event grew: no run is complete" ]
}

@test "--fail-above: wrong command lines" {
	local limit
	runs_of 2 2 >"$R"
	for limit in '' x -1 3x 3%% nan inf 1e7 ' 3'; do
		mistake 2 "invalid --fail-above '$limit': expected per cent from 0 to 1000000, such as 3%" \
			cputrack -I "$R" --compare="$R" --fail-above="$limit"
	done
	mistake 2 "missing --compare: --fail-above limits how much an event may grow;" \
		cputrack -r 2 --fail-above=3% -c page-faults true
	mistake 2 "missing -c: --fail-above needs the events that may not grow;" \
		cputrack -r 2 --compare="$R" --fail-above=3% true
	mistake 2 "missing -r: --fail-above needs 2 runs or more" \
		cputrack --compare="$R" --fail-above=3% -c page-faults true
	mistake 2 "missing --compare" cputrack --top --fail-above=3% -p $$
}

@test "-r: units, --human, csv and json of the means" {
	local from='"unit":"","scale":1'
	runs_of 20000 24000 | sed 's/"a"/"task-clock"/g' >"$R"
	go -0 cputrack -I "$R" --compare "$R"
	[ "$(words_of 1)" = "task-clock 2 22000.0ns 12.86% 22000.0ns 12.86% +0.00% +0.00% no difference shown" ]
	go -0 cputrack -I "$R" --compare "$R" --human
	[ "$(words_of 1)" = "task-clock 2 22.0us 12.86% 22.0us 12.86% +0.00% +0.00% no difference shown" ]
	[[ $(words_of 2) == "seconds 2 2.00s 0.00% 2.00s 0.00% +0.00% +0.00% same" ]]
	runs_of 20 24 | sed "s/$from/\"unit\":\"Joules\",\"scale\":0.5/" >"$R"
	go -0 cputrack -I "$R" --compare "$R"
	[[ $(words_of 1) == "a 2 11.0Joules "* ]]
	go -0 cputrack -I "$R" --compare "$R" --format=csv
	[ "${lines[0]}" = "event,unit,runs,mean,deviation,least,most,incomplete,turns,old_runs,old_mean,old_deviation,old_least,old_most,change,verdict,reason,above,median,outliers,old_median,old_outliers,median_change,p,host" ]
	[[ ${lines[1]} == a,Joules,2,11,1.414*,10,12,0,0,2,11,1.414*,10,12,0,"no difference shown,,,11,0,11,0,0,1,h" ]]
	[ "${lines[2]}" = "seconds,s,2,2,0,2,2,0,0,2,2,0,2,2,0,same,,,2,0,2,0,0,1,h" ]
	go -0 cputrack -I "$R" --compare "$R" -n --format=csv --fail-above=1
	[[ ${lines[0]} == a,Joules,*,"no difference shown,,0,11,0,11,0,0,1,h" ]]
	# as the table, from live runs
	go -0 cputrack -r 3 -n -c page-faults,task-clock "$WORK/touch-pages" 100
	[ "${#lines[@]}" -eq 3 ]
	[[ $(words_of 0) =~ ^"page-faults 3 "[0-9]+\.[0-9]" "[0-9]+\.0" "[0-9]+\.[0-9]" "[0-9.]+"% "[0-9]+\.0" "[0-9]+\.0$ ]]
	[[ $(words_of 1) =~ ^"task-clock 3 "[0-9]+\.[0-9]"ns "[0-9]+\.0"ns "[0-9]+\.[0-9]"ns "[0-9.]+"% "[0-9]+\.0"ns "[0-9]+\.0ns$ ]]
	[[ $(words_of 2) =~ ^"seconds 3 "[0-9]+\.[0-9]{6}"s "[0-9]+\.[0-9]{6}"s "[0-9]+\.[0-9]{6}"s "[0-9.]+"% " ]]
	go -0 cputrack -r 3 --format=json -c page-faults,task-clock "$WORK/touch-pages" 100
	python3 -c '
import json, statistics, sys
head, *rows = map(json.loads, sys.stdin)
assert head["kind"] == "means" and head["tool"] == "cputrack" and head["command"][1:3] == ["-r", "3"], head
assert [(r["kind"], r["event"], r["unit"], r["runs"]) for r in rows] == [
    ("mean", "page-faults", "", 3), ("mean", "task-clock", "ns", 3), ("mean", "seconds", "s", 3)], rows
for r in rows:
    v = r["values"]
    assert len(v) == 3 and min(v) == r["least"] and max(v) == r["most"], r
    assert abs(statistics.median(v) - r["median"]) < 1e-9 * r["mean"], r
    assert abs(statistics.mean(v) - r["mean"]) < 1e-9 * r["mean"], r
    assert abs(statistics.stdev(v) - r["deviation"]) <= 1e-6 * r["mean"], r
    assert "old" not in r and "verdict" not in r, r
' <<<"$output"
	# such output cannot be replayed
	echo "$output" >"$T/means"
	mistake 1 "invalid record: it has means (-r); -O writes records" cputrack -I "$T/means"
	mistake 1 "invalid record: it has means (-r); -O writes records" cputrack -I "$R" --compare "$T/means"
}

# counted_by ENGINE: the record of a run, changed to name that engine.
counted_by() {
	sed "s/\"cycles\":\"tsc\"/&,\"engine\":\"$1\"/"
}

@test "--compare: records of different engines, with a message" {
	local by="their context switches differ"
	runs_of 20 22 | counted_by ptrace >"$T/before"
	runs_of 20 22 | counted_by kernel >"$R"
	go -0 cputrack -I "$R" --compare "$T/before"
	[ "$stderr" = "cputrack: the old runs were counted by engine ptrace, the new ones by kernel: $by" ]
	go -0 cputrack -I "$T/before" --compare "$R"
	[ "$stderr" = "cputrack: the old runs were counted by engine kernel, the new ones by ptrace: $by" ]
	[ "${#lines[@]}" -eq 3 ]
	cat "$T/before" >>"$R"
	go -0 cputrack -I "$T/before" --compare "$R"
	[ "$stderr" = "cputrack: the old runs were counted by engine kernel and ptrace, the new ones by ptrace: $by" ]
	go -0 cputrack -I "$T/before" --compare "$T/before"
	[ -z "$stderr" ]
	runs_of 20 22 >"$R" # an older record does not tell
	go -0 cputrack -I "$R" --compare "$T/before"
	[ -z "$stderr" ]
	runs_of 90 92 | counted_by kernel >"$R" # which may be why it is above the limit
	go -3 cputrack -I "$R" --compare "$T/before" --fail-above=3
	[[ $stderr = *"by kernel: $by"$'\n'*"above the limit of 3%" ]]
	runs_of 20 | counted_by magic >"$R"
	mistake 1 "invalid 'engine': expected kernel or ptrace" cputrack -I "$R" --compare "$T/before"
}

@test "a record names the engine that counted, also when it is replayed" {
	local engine
	for engine in ptrace kernel; do
		go cputrack --engine=$engine -T 0 -O "$R" -o "$ROWS" -c page-faults true
		[ "$status" -eq 0 ] || [ $engine = kernel ] || return 1
		[ "$status" -eq 0 ] || skip_kernel "$stderr" "nothing is counted in the kernel here"
		[ "$(head -n 1 "$R" | grep -c "\"engine\":\"$engine\"")" -eq 1 ]
		go -0 cputrack -I "$R" -o "$ROWS" --format=json
		cmp "$R" "$ROWS"
	done
}

@test "--by: nothing has no shares, and so has its total" {
	runs_of 1 | sed 's/"a":1}/"a":0}/' >"$R"
	go -0 cputrack -I "$R" --by=process
	[[ ${lines[1]} =~ \ 0\ +-$ ]]
	[[ ${lines[2]} =~ \ total\ +0\ +-$ ]]
	runs_of 2 >"$R"
	go -0 cputrack -I "$R" --by=process
	[[ ${lines[2]} =~ \ total\ +2\ +100\.0%$ ]]
}

@test "-r: an event may be called seconds, as the time is" {
	runs_of 20 22 | sed 's/"event":"a"/"event":"seconds"/; s/"counts":{"a"/"counts":{"seconds"/' >"$R"
	go -0 cputrack -I "$R" --compare "$R"
	[ "${#lines[@]}" -eq 3 ]
	[[ $(words_of 1) == "seconds 2 21.0 "*" 21.0 "*" +0.00% +0.00% no difference shown" ]]
	[[ $(words_of 2) == "seconds 2 2.000000s "*" 2.000000s "*" +0.00% +0.00% same" ]]
}

@test "--human: few digits, prefixes and units, in tables only" {
	local n want
	while read -r n want; do
		runs_of "$n" >"$R"
		[ "$(cputrack -I "$R" --by=process --human | awk '/total/ { print $4 }')" = "$want" ]
	done <<-EOF
		1 1
		999 999
		1000 1000
		12345 12345
		99999 99999
		100000 100K
		100499 100K
		999499 999K
		999500 1.00M
		12345678 12.3M
		9999999999 10.0G
		9223372036854775807 9.22E
	EOF
	runs_of 1500000 | sed 's/"a"/"task-clock"/g' >"$R"
	[ "$(cputrack -I "$R" --by=process --human | awk '/total/ { print $4 }')" = 1.50ms ]
	runs_of 3000 | sed 's/"unit":"","scale":1/"unit":"Joules","scale":0.5/' >"$R"
	[ "$(cputrack -I "$R" --by=process --human | awk '/total/ { print $4 }')" = 1500Joules ]
	[ "$(cputrack -I "$R" --human | awk '$4 == "exit" { print $5 }')" = 1500Joules ]
	mistake 2 "unsupported --human: the format is not table" cputrack --human --format=csv -I "$R"
	mistake 2 "unknown --human 'often': expected yes or no" cputrack --human=often -I "$R"
	# its argument follows an =: the next word is the command
	go -0 cputrack --human -c page-faults true
	go -0 cputrack --human=no -I "$R"
	diff <(cputrack -I "$R") - <<<"$output"
}

@test "--check: what counts here, on one screen, and status 0 if hardware counts" {
	local program want=1
	if "$WORK/probe" pmu >/dev/null; then
		want=0
	fi
	for program in cputrack cpustat; do
		go "-$want" "$program" --check
		[ -z "$stderr" ]
		[ "${#lines[@]}" -le 32 ]
		[ "$(awk 'length > 80' <<<"$output")" = '' ]
		grep -qE '^  hardware +(works: |cannot count)' <<<"$output"
		grep -qE '^  user mode +works$' <<<"$output"
		grep -qE '^  tracking +works$' <<<"$output"
		# where ptrace(2) is denied, the reason
		go "-$want" "$WORK/deny" ptrace EPERM "$program" --check
		grep -qE '^  tracking +cannot track' <<<"$output"
		grep -qE "^  paranoid +$(cat /proc/sys/kernel/perf_event_paranoid) " <<<"$output"
		grep -qE "^  open files +$(ulimit -Hn);" <<<"$output"
		if "$WORK/probe" cpu >/dev/null; then
			grep -qE '^  whole CPUs +works$' <<<"$output"
		fi
	done
}

@test "summaries of records that were tampered with" {
	local kind by
	for kind in fini_lwp lwp_exit exec exit detach tick; do
		runs_of 5 | sed "s/\"kind\":\"exit\"/\"kind\":\"$kind\"/" >"$R"
		sed -i 's/"sets":\[\({.*}\)\],"many"/"sets":[\1,\1],"many"/; s/"set":0/"set":1/' "$R"
		for by in lwp process command; do
			go -0 cputrack -I "$R" --by="$by"
			[[ ${lines[-1]} == *total* ]]
		done
		go -0 cputrack -I "$R" --total --changed --format=json
		echo "$output" >"$T/again"
		go -0 cputrack -I "$T/again" --compare "$R"
	done
}
