#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# --top: a screen, sorted, in a terminal that is restored at the end.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines
# shellcheck disable=SC2016 # for the inner shell

load helpers

setup() {
	common_setup
	export TERMINFO=$T/terminfo TERM=cpc-test
	tic -x -o "$TERMINFO" "$BATS_TEST_DIRNAME/terminal.ti"
	terminal 24 80 -- cpustat --top --shared -c page-faults 0.01 1
	if [[ $output == *"built without ncurses"* ]]; then
		skip "built without ncurses"
	fi
}

teardown() {
	common_teardown
}

# terminal ROWS COLUMNS STEP... -- COMMAND...: see terminal.py.  What stays of the screen goes to $stays.
terminal() {
	run "${LIMIT[@]}" python3 "$BATS_TEST_DIRNAME/terminal.py" "$@"
	echo "$output"
	stays=$(sed -n 's/^> //p' <<<"$output")
	output=$(sed '/^> /d' <<<"$output")
	mapfile -t lines < <(grep . <<<"$output")
}

# top_of_cpus STATUS ROWS COLUMNS STEP... -- ARGUMENT...: cpustat --top ends with this.
top_of_cpus() {
	local want=$1 steps=()
	need cpu
	shift
	while [ "$1" != -- ]; do
		steps+=("$1")
		shift
	done
	shift
	terminal "${steps[@]}" -- cpustat --top --shared "$@"
	[ "$status" -eq 0 ]
	[[ $'\n'$output$'\n' == *$'\n'"$want"$'\n'* ]]
}

# In the rows of a screen, column $1 is sorted, largest first; the first number is the total.
sorted() {
	awk -v column="$1" 'NR == 3 { total = $column }
		NR > 3 && NF > 1 && !/^(status|signal|colours|cpustat:|q quit)/ { sum += $column; if (NR > 4 && $column > last) bad = 1; last = $column; n++ }
		END { print n " rows"; exit bad || n == 0 || sum != total }' <<<"$output"
}

@test "cpustat: rows and their sum, sorted by the event that a key chooses, help, and q" {
	top_of_cpus "status 0" 1000 80 wait:rows type:if wait:FROZEN show type:q -- --human=no -c page-faults,context-switches 0.2
	[[ ${lines[0]} =~ ^0\.[0-9]+\ s,\ ([0-9]+)\ of\ ([0-9]+)\ rows,\ sorted\ by\ page-faults,\ FROZEN$ ]]
	[ "${BASH_REMATCH[2]}" -eq "$(cpus | wc -l)" ]
	[ "$(xargs <<<"${lines[1]}")" = "cpu share page-faults context-switches" ]
	[[ ${lines[2]} =~ ^total\ +100\.0% ]]
	sorted 3
	# each key acts at once, not at the next sample
	top_of_cpus "status 0" 1000 80 wait:rows "type:>if" "wait:sorted by context-switches, FROZEN" show type:q -- \
		--human=no -c page-faults,context-switches 0.5
	sorted 4
	for key in '<' '\x1b[D' '>>>' '\x1b[C'; do
		top_of_cpus "status 0" 24 80 wait:rows "type:$key" "wait:sorted by context" type:q -- \
			-c page-faults,context-switches 0.5
	done
	top_of_cpus "status 0" 24 80 wait:rows type:h "wait:sort by another event" show type:x wait:rows type:q -- 0.5
	[[ $output != *"by command, process"* ]]
	top_of_cpus "status 0" 24 80 "wait:first interval" type:xyzq -- 30 1
}

@test "cpustat: a count ends it, and so do signals; several specs take turns" {
	top_of_cpus "status 0" 24 80 -- -A all -c page-faults 0.02 3
	for signal in TERM:15 HUP:1 INT:2; do
		top_of_cpus "signal ${signal#*:}" 24 80 wait:rows "kill:${signal%:*}" -- -c page-faults 0.2
	done
	top_of_cpus "signal 2" 24 80 wait:rows 'type:\x03' -- -c page-faults 0.2
	top_of_cpus "status 0" 24 80 "wait:^cpu +share page-faults" next "wait:^cpu +share context-switches" \
		"wait:^cpu +share page-faults" type:q -- -c page-faults -c context-switches 0.3
}

@test "cpustat: the share of the CPUs is that of the time, and rates are per second" {
	local want
	want=$(($(cpus | wc -l) * 100))
	top_of_cpus "status 0" 24 80 wait:rows next show type:q -- -A all --rate --human=no -c cpu-clock 0.5
	[ "$(awk -v want="$want" '$1 == "all" { d = $3 - want; print d * d < want * want / 2500, ($4 / 1e7 - $3) ^ 2 < 1 }' <<<"$output")" = "1 1" ]
	top_of_cpus "status 0" 24 80 wait:rows show type:q -- -A all -c task-clock 0.5
	[[ $(awk '$1 == "all" { print $4 }' <<<"$output") =~ ^[0-9.]+m?s$ ]]
	top_of_cpus "status 0" 24 80 wait:rows show type:q -- -A all --rate -c page-faults,task-clock 0.5
	[[ $(awk '$1 == "all" { print $4, $5 }' <<<"$output") =~ ^[0-9.]+K?/s\ [0-9.]+%CPU$ ]]
}

@test "cpustat: services: exact counts, and names that are cut where 80 columns are too few" {
	local name count
	need_keys
	cpustat -A service -c page-faults 0.01 1 >/dev/null || skip "no keys here"
	top_of_cpus "status 0" 1000 80 wait:rows type:if wait:FROZEN show type:q -- -A service --human=no -O "$T/record" -c page-faults,task-clock,sys 0.3
	[[ ${lines[1]} =~ ^service\ +share\ +%CPU\ page-faults:uk\ task-clock:uk\ *$ ]]
	sorted 4
	# the record has the same counts
	name=$(awk 'NR == 4 { print $1 }' <<<"$output")
	count=$(awk 'NR == 4 { print $4 }' <<<"$output")
	grep '"tick"' "$T/record" | grep -F "\"service\":\"$name\"" | head -n 1 >"$T/first"
	[[ $(cat "$T/first") == *"\"page-faults:uk\":$count,"* ]]
	top_of_cpus "status 0" 24 80 wait:rows show type:q -- --by=command -c page-faults 0.2
	[[ ${lines[1]} =~ ^command\ +share ]]
	# eight columns of counts leave no place for a long name
	top_of_cpus "status 0" 24 80 wait:rows show type:q -- -A cgroup \
		-c page-faults,minor-faults,major-faults,context-switches,cpu-migrations,task-clock,sys 0.3
	[[ ${lines[0]} =~ ,\ \+[1-9]\ columns, ]]
	[ "$(awk 'length > 80' <<<"$output")" = "" ]
	[ "$(awk 'NR > 2 && NF > 1 && $NF !~ /^[0-9]+$/ && !/^(status|colours|cpustat:|q quit)/' <<<"$output")" = "" ]
}

@test "a small screen has what fits, and a terminal may change its size" {
	top_of_cpus "status 0" 5 20 wait:^total show type:q -- -c page-faults,context-switches,task-clock 0.2
	[[ ${lines[0]} =~ ^0\.[0-9]+\ s,\ [12]\ of\ $(cpus | wc -l)\ rows$ ]]
	[[ ${lines[1]} =~ ^cpu\ +page-faults$ ]]
	[ "$(grep -c . <<<"$output")" -le 7 ]
	# a column is there as a whole or not at all
	top_of_cpus "status 0" 24 35 wait:rows show type:q -- -c page-faults,context-switches 0.2
	[ "$(xargs <<<"${lines[1]}")" = "cpu share page-faults" ]
	[[ ${lines[0]} == *"+1 column"* ]]
	top_of_cpus "status 0" 24 30 wait:rows size:3,80 "wait:context-switches" show size:24,100 "wait:context-switches" \
		show type:q -- -c page-faults,context-switches 0.2
	top_of_cpus "status 0" 1 1 -- -c page-faults 0.05 3
}

@test "colours, unless NO_COLOR is set or the terminal has none" {
	top_of_cpus "status 0" 24 80 wait:rows type:q -- 0.2
	[[ $output == *colours ]]
	NO_COLOR=1 top_of_cpus "status 0" 24 80 wait:rows type:q -- 0.2
	[[ $output != *colours ]]
	NO_COLOR='' top_of_cpus "status 0" 24 80 wait:rows type:q -- 0.2
	[[ $output == *colours ]]
	TERM=cpc-mono top_of_cpus "status 0" 24 80 wait:rows type:q -- 0.2
	[[ $output != *colours ]]
}

@test "what cannot be shown on a screen is refused" {
	local bad
	go -2 cpustat --top --shared -c page-faults 0.01 1
	[ "$stderr" = "cpustat: cannot use --top: the standard output is not a terminal" ]
	go -2 cputrack --top -c page-faults -p $$
	[ "$stderr" = "cputrack: cannot use --top: the standard output is not a terminal" ]
	for bad in "-o $T/o" --format=csv; do
		# shellcheck disable=SC2086 # words
		go -2 cpustat --top --shared $bad -c page-faults 0.01 1
		[[ $stderr == *"unsupported with --top: "* ]]
		# shellcheck disable=SC2086
		go -2 cputrack --top $bad -c page-faults true
		[[ $stderr == *"unsupported with --top: "* ]]
	done
	go -2 cputrack --top -r 2 -c page-faults true
	go -2 cputrack --top -T 0 -c page-faults true
	for bad in dumb no-such cpc-plain; do
		TERM=$bad terminal 24 80 -- cpustat --top --shared -c page-faults 0.01 1
		[[ $output == *"cannot use --top: TERM='$bad' is unknown, or lacks capabilities"*"status 2"* ]]
	done
	# a command would write to the screen
	for bad in '' '>/dev/null' '2>/dev/null'; do
		terminal 24 80 -- sh -c "exec cputrack --top -c page-faults echo hello $bad"
		[[ $output == *"status 2"* ]]
		[[ $output != *hello* ]]
	done
	[ "$(setsid cputrack --top -c page-faults true 2>&1 >/dev/null </dev/null | cat)" = \
		"cputrack: cannot use --top: there is no terminal" ]
}

@test "when its terminal goes, it ends as by SIGHUP, also if that is ignored, without a message" {
	local trap tool
	for trap in "trap '' HUP" :; do
		for tool in "cpustat --top --shared -c page-faults 0.2" \
			"cputrack --engine=auto --top -T 0.2 -c page-faults -p $$" \
			"cputrack --engine=ptrace --top -T 0.2 -c page-faults -p $$"; do
			terminal 24 80 wait:rows hangup -- sh -c "$trap; exec $tool 2>'$T/err'"
			[[ $output == *"signal 1"* ]]
			[ ! -s "$T/err" ]
		done
	done
}

@test "a stopped terminal, or one that takes nothing: the first signal ends it" {
	local step tool
	need cpu
	start sleeper cat
	eventually executes sleeper cat
	for step in 'type:\x13' deaf; do
		for tool in "cpustat --top --shared" "cputrack --engine=auto --top -p ${PIDS[sleeper]} -T" \
			"cputrack --engine=ptrace --top -p ${PIDS[sleeper]} -T"; do
			# shellcheck disable=SC2086 # words
			terminal 24 80 wait:rows "$step" kill:TERM -- $tool 0.05
			[ "$status" -eq 0 ]
			[[ $output == *"signal 15"* || $output == *"status 0"* ]]
		done
	done
	eventually untraced "${PIDS[sleeper]}"
	hang_up sleeper
	finish sleeper
	[ "$status" -eq 0 ]
	# it does not begin on a stopped terminal
	terminal 24 80 -- sh -c 'python3 -c "import termios; termios.tcflow(1, termios.TCOOFF)"
		cpustat --top --shared -c page-faults 0.01 1 2>"$0"; status=$?
		python3 -c "import termios; termios.tcflow(1, termios.TCOON)"; exit $status' "$T/err"
	[[ $output == *"status 2"* ]]
	[ "$(cat "$T/err")" = "cpustat: cannot use --top: the output of the terminal is stopped; ^Q continues it" ]
}

@test "each signal that can be caught restores the terminal" {
	local signal
	need cpu
	ulimit -c 0
	for signal in HUP QUIT ABRT USR1 SEGV PIPE ALRM XCPU; do
		[[ $signal != @(ABRT|SEGV) ]] || ! grep -q __asan_init "$CPC_BUILD/cpustat" || continue
		top_of_cpus "signal $(kill -l $signal)" 24 80 wait:rows kill:$signal -- -c page-faults 0.2
	done
	start sleeper cat
	eventually executes sleeper cat
	for signal in USR1 SEGV; do
		grep -q __asan_init "$CPC_BUILD/cputrack" && break
		terminal 24 80 wait:rows kill:$signal -- cputrack --top -T 0.2 -c page-faults -p "${PIDS[sleeper]}"
		[[ $output == *"signal $(kill -l $signal)"* ]]
		[ "$status" -eq 0 ]
	done
	terminal 24 80 wait:rows kill:QUIT -- cputrack --top -T 0.2 -c page-faults -p "${PIDS[sleeper]}"
	[[ $output == *"status 0"* ]]
	eventually untraced "${PIDS[sleeper]}"
}

@test "a window of any size" {
	local size
	for size in 32768,80 3,65535; do
		top_of_cpus "status 0" 24 80 wait:rows size:$size next type:q -- -c page-faults 0.05
	done
	for size in "32768 80" "24 32768"; do
		# shellcheck disable=SC2086 # words
		top_of_cpus "status 0" $size wait:rows type:q -- -c page-faults 0.05
	done
}

@test "^Z gives the terminal back, and fg has the screen again" {
	top_of_cpus "status 0" 24 80 wait:rows 'type:\x1a' stopped fg wait:rows next 'type:\x1a' stopped fg wait:rows \
		next type:q -- -c page-faults 0.2
	terminal 24 80 wait:rows 'type:\x1a' stopped fg wait:rows next type:q -- \
		sh -c 'exec cputrack --top -T 0.2 -c page-faults sleep 4 >/dev/null 2>&1'
	[ "$status" -eq 0 ]
	[[ $output == *"status 0"* ]]
}

@test "cputrack: counts on the screen are those of the record" {
	local screen faults
	still
	for engine in auto ptrace; do
		terminal 24 80 "wait:^threads " show type:p wait:lwps show type:l "wait:tid command" show type:q -- \
			sh -c 'exec "$@" >"$0" 2>&1' "$T/out" \
			"${STILL[@]}" cputrack --engine=$engine --top --human=no -T 1 -O "$T/record" -c page-faults \
			sh -c "'$WORK/touch-pages' 1000; '$WORK/touch-pages' 500; '$WORK/threads' -i -p 100 3; sleep 1.9; exit 7"
		[[ $output == *"status 7"* ]]
		screen=$output
		[ ! -s "$T/out" ]
		cputrack -I "$T/record" --by=command -n | awk '$2 == "touch-pages" || $2 == "threads" { print $2, $1, $3 }' | sort >"$T/want"
		[ "$(wc -l <"$T/want")" -eq 2 ]
		awk '$1 == "touch-pages" || $1 == "threads" { print $1, $2, $4 }' <<<"$screen" | sort | diff - "$T/want"
		# processes: two of touch-pages, with 500 faults between them
		mapfile -t faults < <(awk '$2 == "touch-pages" && $3 == 1 { print $5 }' <<<"$screen")
		[ "${#faults[@]}" -eq 2 ]
		[ $((faults[0] - faults[1])) -ge 490 ] && [ $((faults[0] - faults[1])) -le 510 ]
		# LWPs: the k-th touches 100 k pages
		mapfile -t faults < <(awk '$3 == "threads" && $2 ~ /^[0-9]+$/ && $2 > $1 { print int($5 / 100) }' <<<"$screen" | sort -n)
		[ "${faults[*]}" = "1 2 3" ]
	done
}

# nth N: the N-th screen of $output, without its keys.
nth() {
	awk -v n="$1" '/^[0-9.]+ s, / { at++; on = 1 } /^(q quit|type a part|status|signal)/ { on = 0 } on && at == n && NF' <<<"$output"
}

# The page faults of the threads on the N-th screen, in hundreds.
hundreds() {
	nth "$1" | awk '$3 == "threads" { print int($5 / 100) }' | paste -sd ' ' -
}

# forty STEP...: LWPs, of which the k-th has 100 k page faults, on a frozen screen with 10 rows.
forty() {
	still
	terminal 14 100 "wait:^threads " type:fl "wait:tid command" "$@" type:q -- \
		sh -c 'exec "$@" >"$0" 2>&1' "$T/out" "${STILL[@]}" cputrack --top --human=no -T 2 -c page-faults \
		sh -c "'$WORK/touch-pages' 9000; '$WORK/threads' -i -p 100 40; sleep 3"
	[[ $output == *"status 0"* ]]
}

@test "arrows and page keys scroll, and the rows on the screen are said" {
	forty 'type:\x1b[B' "wait:rows 2 to" show 'type:\x1b[6~' "wait:rows 11 to" show 'type:\x1b[6~\x1b[5~\x1b[A' "wait:rows 10 to" show \
		'type:\x1b[F' "wait:sleep" show 'type:\x1b[H' "wait:10 of" show 'type:\x1b[A\x1b[5~' "wait:10 of"
	[[ $(nth 1) =~ "s, rows 2 to 11 of "[0-9]+", sorted by page-faults, FROZEN"$'\n' ]]
	[ "$(hundreds 1)" = "40 39 38 37 36 35 34 33 32 31" ]
	[ "$(hundreds 2)" = "31 30 29 28 27 26 25 24 23 22" ]
	[ "$(hundreds 3)" = "32 31 30 29 28 27 26 25 24 23" ]
	[[ $(hundreds 4) == *"2 1"* ]]
	[ "$(nth 4 | sed -n 's/.*rows [0-9]* to \([0-9]*\) of \1, .*/end/p')" = end ]
	[ "$(hundreds 5)" = "40 39 38 37 36 35 34 33 32" ] # after touch-pages
}

@test "/ shows names that contain some text, Esc all, and a capital letter sorts by the column that begins so" {
	forty type:/SL "wait:/SL_" show 'type:\x7f\x7ftouX\x7f\r' "wait:/tou, " show 'type:\x1b' "wait:rows, sorted" type:/q "wait:0 of 0 rows" 'type:\x1b' \
		"wait:rows, sorted" type:T "wait:by tid" show type:P "wait:by page-faults" type:P "wait:by pid" type:C "wait:by command" show \
		type:c "wait:^threads .*" type:R "wait:by runs" show type:l "wait:by page-faults"
	[[ $(nth 1) =~ "s, 1 of 1 rows, /SL_, sorted by page-faults, FROZEN"$'\n' ]]
	[ "$(nth 1 | awk 'NR > 3 { print $3 }')" = sleep ]
	[ "$(nth 2 | awk 'NR > 3 { print $3, int($5 / 1000) }')" = "touch-pages 9" ]
	# the total is that of all
	[ "$(nth 2 | awk 'NR == 3 { print int($3 / 1000) }')" -ge 90 ]
	nth 3 | awk 'NR > 3 { print $2 }' | sort -nc
	nth 4 | awk 'NR > 3 { print $3 }' | sort -c
	[ "$(nth 5 | awk 'NR == 4 { print $1 }')" = sh ]
	nth 5 | awk 'NR > 3 { print $2 }' | sort -nrc
}

@test "a frozen screen stays as it is while counting goes on, and the last screen stays on the terminal" {
	terminal 24 80 wait:rows type:f wait:FROZEN show "until:$T/done" type:l "wait:tid" type:c "wait:runs" show type:f next show type:q -- \
		sh -c 'exec "$@" >"$0" 2>&1' "$T/out" cputrack --top --human=no -T 0.1 -O "$T/record" -c page-faults \
		sh -c "sleep 0.5; '$WORK/touch-pages' 7000; sleep 0.3; echo >'$T/done'; sleep 5"
	[[ $output == *"status 0"* ]]
	[ "$(nth 1)" = "$(nth 2)" ]
	[[ $(nth 3) != *FROZEN* ]]
	[ "$("$CPC_BUILD/cputrack" -I "$T/record" --by=command -n | awk '$2 == "touch-pages" { print int($3 / 1000) }')" = 7 ]
	# what stays is the last screen
	[[ $(head -n 1 <<<"$stays") =~ ^[0-9.]+\ s,\ [0-9]+\ of\ [0-9]+\ rows,\ sorted\ by\ page-faults$ ]]
	[ "$(sed -n 2p <<<"$stays" | xargs)" = "command runs share page-faults" ]
	[[ $(sed -n 3p <<<"$stays") =~ ^total\  ]]
	terminal 8 80 wait:rows type:f wait:FROZEN show type:q -- cpustat --top --shared -c page-faults,context-switches 0.2
	[ "$(nth 1 | sed 's/, FROZEN//')" = "$stays" ]
	terminal 8 80 wait:rows kill:TERM -- cpustat --top --shared -c page-faults 0.2
	[[ $stays == *$'\ntotal '* ]]
}

@test "the last screen of LWPs has the last sample, also if it is the only one" {
	local engine
	start waiter sleep 100
	for engine in ptrace auto; do
		terminal 24 80 -- cputrack --top --engine=$engine -c page-faults -T 0.2 -N 1 -p "${PIDS[waiter]}"
		[ "$(sed -n 4p <<<"$stays" | awk '{ print $1 }')" = sleep ]
		terminal 24 80 -- cputrack --top --engine=$engine -c page-faults -T 0.3 --for 0.6 -p "${PIDS[waiter]}"
		awk 'NR == 1 && $1 >= 0.6 { found = 1 } END { exit !found }' <<<"$stays"
	done
}

@test "cpustat: keys choose the unit: CPUs and groups of them, and by counting anew commands, users, ..." {
	need_keys
	terminal 1000 100 wait:rows type:p "wait:^core " show type:pppp "wait:^all " show type:c "wait:^command " show \
		type:u "wait:^user " show type:s "wait:^service " type:g "wait:^cgroup " type:o "wait:^container " type:p "wait:^cpu " type:if wait:FROZEN show type:q -- \
		cpustat --top --human=no -O "$T/record" 0.3
	[[ $output == *"status 0"* ]]
	[ "$(nth 1 | sed -n 2p | xargs)" = "core share %CPU busy-time context-switches page-faults" ]
	[ "$(nth 2 | awk 'NR == 3 { total = $4 } NR == 4 { print $1, $4 == total }')" = "all 1" ]
	[[ $(nth 3 | sed -n 2p | xargs) =~ ^"command share %CPU "(%WAIT\ )?"task-clock " ]]
	[[ $(nth 4) == *$'\nroot '* ]]
	[ "$(nth 5 | awk 'NR > 3 { print $1 }' | sort -n)" = "$(cpus)" ]
	# the record has a run by each unit
	cpustat -I "$T/record" --format=json | python3 -c '
import json, sys
units = [row["unit"] for row in map(json.loads, sys.stdin) if row["kind"] == "run"]
assert units == ["cpu", "command", "user", "service", "cgroup", "container", "cpu"], units'
	# the samples of all units are counted
	terminal 24 80 wait:rows type:u "wait:^user " type:p "wait:^cpu " -- cpustat --top -O "$T/record" -c page-faults 0.2 25
	[[ $output == *"status 0"* ]]
	cpustat -I "$T/record" --format=json | python3 -c '
import json, sys
run, samples = 0, set()
for row in map(json.loads, sys.stdin):
    run += row["kind"] == "run"
    if row["kind"] == "tick":
        samples.add((run, row["ns"]))
assert run == 3 and len(samples) == 25, (run, len(samples))'
	# what cannot be counted so is said, and the former unit goes on
	terminal 24 140 wait:rows type:s "wait:cannot divide the counts by service" "wait:^cpu " show type:q -- cpustat --top -c busy-time 0.3
	[[ $output == *"status 0"* ]]
	[[ $output == *"cpustat: cannot divide the counts by service: "*"'busy-time'"* ]]
	# ^Z works as before
	terminal 24 80 wait:rows type:c "wait:^command " 'type:\x1a' stopped fg wait:rows next type:q -- cpustat --top -c page-faults 0.3
	[[ $output == *"status 0"* ]]
}

@test "cputrack -p: the processes go on, and --by is the first view" {
	start pool "$WORK/thread-pool" -p 50 3
	eventually said pool ready
	# its threads wait
	terminal 24 80 wait:rows next show type:i wait:thread-pool show type:q -- \
		cputrack --top --by=lwp -T 0.2 -c page-faults,task-clock -p "${PIDS[pool]}"
	[ "$status" -eq 0 ]
	[[ $output == *"status 0"* ]]
	[ "$(xargs <<<"${lines[1]}")" = "pid tid command share %CPU page-faults task-clock" ]
	[ "$(xargs <<<"${lines[3]}")" = "4 idle threads - 0.0 0 0ns" ]
	[ "$(awk -v pid="${PIDS[pool]}" '$1 == pid { print $2 }' <<<"$output" | sort -n)" = \
		"$(printf '%s\n' /proc/"${PIDS[pool]}"/task/* | sed 's/.*task.//' | sort -n)" ]
	terminal 24 80 wait:rows type:u "wait:^user +runs" show type:s "wait:^service +runs" show type:h \
		"wait:by service, user" type:q -- cputrack --top -T 0.2 -c page-faults -p "${PIDS[pool]}"
	[ "$(awk '$1 == "'"$(id -un)"'" { print $2 }' <<<"$output")" = 1 ]
	terminal 24 80 "wait:^cgroup +runs" type:c "wait:^command +runs" type:s "wait:^cgroup +runs" type:q -- \
		cputrack --top --by=cgroup -T 0.2 -c page-faults -p "${PIDS[pool]}"
	[[ $output == *"status 0"* ]]
	tell pool g
	tell pool x
	finish pool
	# the end of all processes ends it
	start sleeper cat
	eventually executes sleeper cat
	terminal 24 80 wait:rows "kill:TERM,${PIDS[sleeper]}" -- cputrack --top -T 0.2 -c page-faults -p "${PIDS[sleeper]}"
	[[ $output == *"status 0"* ]]
}

@test "cputrack: signals, space and a command that reads its input" {
	# a paused screen stays as it is
	terminal 24 80 wait:rows "type: " wait:FROZEN show "type: " next show type:q -- \
		sh -c 'exec cputrack --top -T 0.2 -c page-faults cat >"$0" 2>&1' "$T/out"
	[[ $output == *"status 0"* ]]
	[ ! -s "$T/out" ]
	for signal in TERM INT; do
		terminal 24 80 wait:rows kill:$signal -- sh -c 'exec cputrack --top -T 0.2 -c page-faults sleep 100 >"$0" 2>&1' "$T/out"
		[[ $output == *"status 143"* || $output == *"signal 2"* ]]
	done
}

@test "a screen that cannot be opened is an output that cannot be written" {
	need_unsanitized "the sanitizer's runtime makes the denied calls, too"
	terminal 24 80 -- "$WORK/deny" memfd_create EPERM cpustat --top --shared -c page-faults 0.01
	[ "$output" = $'cpustat: cannot write the standard output: Operation not permitted\nstatus 1' ]
	terminal 24 80 -- sh -c '"$2" memfd_create EPERM cputrack --top -c page-faults sh -c "echo ran" >"$0" 2>"$1"' \
		"$T/out" "$T/err" "$WORK/deny"
	[ "$output" = "status 1" ]
	[ "$(cat "$T/out")" = ran ]
	[ "$(cat "$T/err")" = "cputrack: cannot write '/dev/tty': Operation not permitted" ]
}
