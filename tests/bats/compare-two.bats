#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Comparison of two commands (--compare -- OLD -- NEW).

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	R=$T/run.json
}

# The words of the line of event $1 in $output, from the second on.
line_of() {
	awk -v event="$1" '$1 == event { $1 = ""; print substr($0, 2) }' <<<"$output"
}

# Expects of the means in $output, as json, that each expression in Python is true; `head` is the
# first object, and `mean` has the others by event.
json_has() {
	python3 -c '
import json, sys
head, *rows = map(json.loads, sys.stdin.read().splitlines())
mean = {row["event"]: row for row in rows}
for text in sys.argv[1:]:
    assert eval(text), (text, rows)' "$@" <<<"$output"
}

# A script $T/$1 with these lines.
script() {
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$T/$1"
	chmod +x "$T/$1"
}

@test "exact counts, also of children: same, more, less" {
	[ -x "$WORK/exact" ] || skip "no workload with exact page faults for this machine"
	# tests/work/exact.rows: 7 + 2 faults, and 7 * 7 + 11 of four processes
	go -0 cputrack --compare -r 4 -c page-faults -- "$WORK/exact" plain -- "$WORK/exact" fork
	[ "$(xargs <<<"${lines[0]}")" = "event runs old spread new spread change median verdict" ]
	[ "$(line_of page-faults)" = "4 9.0 0.00% 60.0 0.00% +566.67% +566.67% more" ]
	[[ $(line_of seconds) == "4 "* ]]
	[ "${#lines[@]}" -eq 3 ]
	[ -z "$stderr" ]
	go -0 cputrack --compare -r 2 -n -c page-faults -- "$WORK/exact" fork -- "$WORK/exact" plain
	[ "$(line_of page-faults)" = "2 60.0 0.00% 9.0 0.00% -85.00% -85.00% less" ]
	[ "${#lines[@]}" -eq 2 ]
	# ten runs of each by default
	go -0 cputrack --compare -c page-faults -- "$WORK/exact" fork -- "$WORK/exact" fork
	[ "$(line_of page-faults)" = "10 60.0 0.00% 60.0 0.00% +0.00% +0.00% same" ]
}

@test "10 % more calls of a function: above limits up to 10 %, status 3" {
	local spec='breakpoint/addr=hit/'
	need breakpoint
	go -3 cputrack --compare -r 3 --fail-above=3% -c "$spec" \
		-- "$WORK/function-calls" 1000 -- "$WORK/function-calls" 1100
	[ "$(line_of "$spec")" = "3 1000.0 0.00% 1100.0 0.00% +10.00% +10.00% more: above the limit of 3%" ]
	[ "$stderr" = "cputrack: $spec grew by 10.00%, above the limit of 3%" ]
	go -3 cputrack --compare -r 3 --fail-above=9.9 -c "$spec" \
		-- "$WORK/function-calls" 1000 -- "$WORK/function-calls" 1100
	go -0 cputrack --compare -r 3 --fail-above=10% -c "$spec" \
		-- "$WORK/function-calls" 1000 -- "$WORK/function-calls" 1100
	[ "$(line_of "$spec")" = "3 1000.0 0.00% 1100.0 0.00% +10.00% +10.00% more" ]
	go -0 cputrack --compare -r 3 --fail-above=0 -c "$spec" \
		-- "$WORK/function-calls" 1100 -- "$WORK/function-calls" 1000
	[ "$(line_of "$spec")" = "3 1100.0 0.00% 1000.0 0.00% -9.09% -9.09% less" ]
	[ -z "$stderr" ]
	# a count that varies about the limit does not fail: 1000 and 1060 calls, in turns
	script varies "n=1000; [ -e '$T/odd' ] && n=1060 && rm '$T/odd' || : >'$T/odd'" \
		"exec '$WORK/function-calls' \$n"
	go -0 cputrack --compare -r 4 --fail-above=2% -c "$spec" \
		-- "$WORK/function-calls" 1000 -- "$T/varies"
	[ "$(line_of "$spec")" = "4 1000.0 0.00% 1030.0 3.36% +3.00% +3.00% no difference shown" ]
}

@test "9 % more calls, and an outlier: named, above the limit, and the same when replayed" {
	local spec='breakpoint/addr=hit/' table
	need breakpoint
	script disturbed "echo >>'$T/n'" "n=1090; [ \$(wc -l <'$T/n') -ne 4 ] || n=5000" \
		"exec '$WORK/function-calls' \$n"
	go -3 cputrack --compare -r 5 --fail-above=3% -O "$R" -c "$spec" \
		-- "$WORK/function-calls" 1000 -- "$T/disturbed"
	table=$output
	[ "$(line_of "$spec")" = "5 1000.0 0.00% 1872.0 93.41% +87.20% +9.00% more: above the limit of 3% # outliers: 0 old, 1 new" ]
	[ "${stderr_lines[-1]}" = "cputrack: $spec grew by 9.00%, above the limit of 3%" ]
	go -3 "$CPC_BUILD/cputrack" -I "$R" --compare --fail-above=3%
	[ "$output" = "$table" ]
	[ "$stderr" = "cputrack: $spec grew by 9.00%, above the limit of 3%" ]
	go -0 "$CPC_BUILD/cputrack" -I "$R" --compare --fail-above=9% --format=json
	json_has "mean['$spec']['median'] == 1090" "mean['$spec']['outliers'] == 1" \
		"mean['$spec']['old']['outliers'] == 0" "mean['$spec']['median_change'] == 0.09" \
		"abs(mean['$spec']['p'] - 2 / 252) < 1e-9" "mean['$spec']['above'] is False"
	# the runs of one command
	rm "$T/n"
	go -0 cputrack -r 5 -c "$spec" "$T/disturbed"
	[ "$(line_of "$spec")" = "5 1872.0 1090.0 1748.6 93.41% 1090.0 5000.0 # outliers: 1" ]
}

@test "json and csv: values of all runs, old and new" {
	[ -x "$WORK/exact" ] || skip "no workload with exact page faults for this machine"
	go -3 cputrack --compare -r 3 --format=json --fail-above=50% -c page-faults \
		-- "$WORK/exact" plain -- "$WORK/exact" fork
	json_has 'head["kind"] == "means"' 'head["tool"] == "cputrack"' 'head["limit"] == 0.5' \
		'"--compare" in head["command"]' 'head["command"].count("--") == 2' \
		'list(mean) == ["page-faults", "seconds"]' \
		'mean["page-faults"]["values"] == [60, 60, 60]' 'mean["page-faults"]["runs"] == 3' \
		'mean["page-faults"]["mean"] == 60' 'mean["page-faults"]["deviation"] == 0' \
		'mean["page-faults"]["old"] == {"runs": 3, "mean": 9, "median": 9, "deviation": 0, "least": 9, "most": 9, "values": [9, 9, 9], "outliers": 0}' \
		'mean["page-faults"]["verdict"] == "more"' 'mean["page-faults"]["p"] == 0.1' 'mean["page-faults"]["above"] is True' \
		'abs(mean["page-faults"]["change"] - 51 / 9) < 1e-9' \
		'mean["seconds"]["above"] is False' 'mean["seconds"]["unit"] == "s"'
	go -0 cputrack --compare -r 1 --format=json -c page-faults -- "$WORK/exact" plain -- "$WORK/exact" fork
	json_has 'mean["page-faults"]["verdict"] == "cannot tell"' \
		'mean["page-faults"]["reason"] == "one run is too few"' \
		'mean["page-faults"]["deviation"] is None' '"above" not in mean["page-faults"]' '"limit" not in head'
	go -0 cputrack --compare -r 2 --format=csv -c page-faults -- "$WORK/exact" plain -- "$WORK/exact" fork
	[[ ${lines[1]} == "page-faults,,2,60,0,60,60,0,0,2,9,0,9,9,5.666666666666667,more,,,60,0,9,0,5.666666666666667,0.333333333"* ]]
	go -0 cputrack --compare -r 2 --human -c page-faults,task-clock -- true -- true
	[[ $(line_of task-clock) =~ ^"2 "[0-9.]+[um]"s "[0-9.]+"% "[0-9.]+[um]"s " ]]
}

@test "runs alternate, and those of the first pair are left out" {
	script old "echo old >>'$T/order'" "[ -s '$T/order.1' ] || '$WORK/touch-pages' 5000" "echo >>'$T/order.1'"
	script new "echo new >>'$T/order'" "[ -s '$T/order.2' ] || '$WORK/touch-pages' 5000" "echo >>'$T/order.2'"
	go -0 cputrack --compare -r 5 --format=json -c page-faults -- "$T/old" -- "$T/new"
	[ "$(paste -sd ' ' "$T/order")" = "old new old new new old old new new old old new" ]
	json_has 'mean["page-faults"]["runs"] == mean["page-faults"]["old"]["runs"] == 5' \
		'mean["page-faults"]["most"] < 5000' 'mean["page-faults"]["old"]["most"] < 5000'
}

@test "a record of both: -I and --compare show it again, other uses are refused" {
	[ -x "$WORK/exact" ] || skip "no workload with exact page faults for this machine"
	local table
	go -0 cputrack --compare -r 3 -O "$R" -c page-faults -- "$WORK/exact" plain -- "$WORK/exact" fork
	table=$output
	[ "$(grep -c '"side":"old"' "$R") $(grep -c '"side":"new"' "$R")" = "3 3" ]
	go -0 "$CPC_BUILD/cputrack" -I "$R" --compare
	[ "$output" = "$table" ]
	go -3 "$CPC_BUILD/cputrack" -I "$R" --compare --fail-above=3%
	"$CPC_BUILD/cputrack" -I "$R" --format=json | cmp - "$R"
	mistake 1 "$R:1: cannot compare with two commands" "$CPC_BUILD/cputrack" -I "$R" --compare="$R"
	go -0 cputrack -r 2 -O "$T/one" -c page-faults true
	mistake 1 "$T/one:1: cannot compare two commands: this run is of one command; --compare=FILE" \
		"$CPC_BUILD/cputrack" -I "$T/one" --compare
	sed -i 's/"side":"old"/"side":"red"/' "$R"
	mistake 1 "$R:1: invalid 'side': expected old or new" "$CPC_BUILD/cputrack" -I "$R"
}

@test "a command that fails is named, status 4; a missing one ends the runs" {
	go -4 cputrack --compare -r 2 -c page-faults -- true -- sh -c 'exit 3'
	[ "$stderr" = "cputrack: the new command 'sh' failed in 3 of 3 runs: exit status 3" ]
	[[ $(line_of page-faults) == "2 "* ]]
	# shellcheck disable=SC2016 # for the inner shell
	go -4 cputrack --compare -r 2 -c page-faults -- sh -c 'kill -TERM $$' -- false
	[ "${stderr_lines[0]}" = "cputrack: the old command 'sh' failed in 3 of 3 runs: signal 15, Terminated" ]
	[ "${stderr_lines[1]}" = "cputrack: the new command 'false' failed in 3 of 3 runs: exit status 1" ]
	# in one run only
	script once "echo >>'$T/n'" "[ \$(wc -l <'$T/n') -ne 2 ]"
	go -4 cputrack --compare -r 2 -c page-faults -- true -- "$T/once"
	[ "$stderr" = "cputrack: the new command '$T/once' failed in 1 of 3 runs: exit status 1" ]
	# a limit that is exceeded, too
	go -4 cputrack --compare -r 2 --fail-above=3% -c page-faults -- true -- sh -c "'$WORK/touch-pages' 1000; exit 1"
	[ "${#stderr_lines[@]}" -eq 2 ]
	[[ ${lines[1]} == *"more: above the limit of 3%" ]]
	# the same in the record, without the first pair
	go -4 cputrack --compare -r 2 -O "$R" -c page-faults -- false -- sh -c 'exit 3'
	go -4 "$CPC_BUILD/cputrack" -I "$R" --compare
	[ "${stderr_lines[0]}" = "cputrack: the old command of '$R' failed in 2 of 2 runs: exit status 1" ]
	[ "${stderr_lines[1]}" = "cputrack: the new command of '$R' failed in 2 of 2 runs: exit status 3" ]
	go -127 cputrack --compare -r 2 -c page-faults -- true -- no-such-program
	[ "${#stderr_lines[@]}" -eq 1 ]
	[ -z "$output" ]
	go -126 cputrack --compare -r 2 -c page-faults -- "$T" -- true
	[ -z "$output" ]
}

@test "a signal ends the runs: those before it are compared, and the status is the signal's" {
	script stays "echo >>'$T/n'" "[ \$(wc -l <'$T/n') -eq 4 ] || exit 0" 'echo ready' 'while :; do sleep 0.02; done'
	start ct cputrack --compare -r 5 -o "$ROWS" -c page-faults -- true -- "$T/stays"
	eventually said ct ready
	kill -TERM "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 143 ]
	# old new | old new, new old, old: the fourth run of the new one is cut
	[ "$(cat "$T/ct.err")" = \
		"cputrack: SIGTERM ended the runs: 5 of 10 are complete, and one that it cut is left out" ]
	output=$(cat "$ROWS")
	[[ $(line_of page-faults) == "3/2 "* ]]
}

@test "counts in turns have no verdict, but their ratios have" {
	# It computes all the time, so that each spec counts in its turns.
	go -1 cputrack --compare -r 2 -T 0.01 --fail-above=3% -c page-faults -c task-clock \
		-- "$WORK/spin" 0.1 -- "$WORK/spin" 0.1
	[[ $(line_of page-faults) == "2 "*"cannot tell: counted in turns" ]]
	[[ $(line_of task-clock) == "2 "*"cannot tell: counted in turns" ]]
	[ "${stderr_lines[0]}" = \
		"cputrack: cannot tell whether page-faults grew by more than 3%: counted in turns" ]
	go -0 cputrack --compare -r 2 -T 0.01 -c minor-faults -c faults-per-ms \
		-- "$WORK/spin" 0.1 -- "$WORK/spin" 0.1
	[[ $(line_of faults-per-ms) != *"cannot tell"* ]]
	[[ $(line_of faults-per-ms) == "2 "*"# in turns" ]]
}

@test "wrong command lines: one line with the way out" {
	local two="missing the second command: --compare without a record is for two, as in --compare -- ./old -- ./new;"
	mistake 2 "$two" cputrack --compare
	mistake 2 "$two" cputrack --compare -- true
	mistake 2 "$two" cputrack --compare -c page-faults true
	for arg in "-p $$" --all --user=0; do
		# shellcheck disable=SC2086 # words
		mistake 2 "unsupported with --compare without a record, which is for two commands: -p, --all" \
			cputrack --compare $arg
		# shellcheck disable=SC2086 # words
		mistake 2 "unsupported with --compare without a record" cputrack --compare $arg -- true -- true
	done
	mistake 2 "missing the first command, before the second --;" cputrack --compare -- -- true
	mistake 2 "missing the second command, after the second --;" cputrack --compare -- true --
	mistake 2 "invalid '--': --compare has two commands, with one '--' between them; put a command with a -- of its own into sh -c" \
		cputrack --compare -- true -- x -- true
	mistake 2 "unsupported with --top" cputrack --compare --top -- true -- true
	mistake 2 "unsupported with -r and --compare: --by" cputrack --compare --by=process -- true -- true
	mistake 2 "missing -r: --fail-above needs 2 runs or more" \
		cputrack --compare -r 1 --fail-above=3% -c page-faults -- true -- true
	mistake 2 "missing -c: --fail-above needs the events" cputrack --compare --fail-above=3% -- true -- true
	mistake 2 "'page-faults' is an event, not a program" cputrack --compare -- true -- page-faults
	mistake 0 "'--fail-above=0' is an option of 'true' here: those of cputrack come before the commands" \
		cputrack --compare -r 2 -c page-faults -- true -- true --fail-above=0
	# a program in the place of the record
	script old true
	mistake 2 "invalid --compare '$T/old': it is a program, not a record; two commands are compared by --compare -- $T/old -- COMMAND" \
		cputrack --compare "$T/old" -- true
	mistake 2 "invalid --compare 'true': it is a program" cputrack -r 2 --compare true -- true
	mistake 1 "cannot read '$T/none'" cputrack --compare "$T/none" true
}

@test "the first -- may be left out behind an option; a record can follow --compare in both ways" {
	go -0 cputrack --compare -r 2 -c page-faults "$WORK/bare" -- "$WORK/bare"
	[ "$(line_of page-faults)" = "2 1.0 0.00% 1.0 0.00% +0.00% +0.00% same" ]
	go -0 cputrack -r 2 -O "$R" -c page-faults "$WORK/bare"
	for how in "--compare=$R" "--compare $R" "--compare $R --"; do
		# shellcheck disable=SC2086 # words
		go -0 cputrack -r 2 -c page-faults $how "$WORK/bare"
		[ "$(line_of page-faults)" = "2 1.0 0.00% 1.0 0.00% +0.00% +0.00% same" ]
	done
	# an executable record is one, as all files are on some file systems
	chmod +x "$R"
	go -0 cputrack -r 2 -c page-faults --compare "$R" "$WORK/bare"
	cp "$R" "$T/same"
	go -0 "$CPC_BUILD/cputrack" -I - --compare "$R" <"$T/same"
	go -0 "$CPC_BUILD/cputrack" -I "$R" --compare - <"$T/same"
	[ "$(line_of page-faults)" = "2 1.0 0.00% 1.0 0.00% +0.00% +0.00% same" ]
}

# The commands of step $1 of the workflow in docs/ci.md.
step() {
	awk -v name="- name: $1" '
		index($0, name) { on = 1; next }
		on && /^ *run: \|$/ { inside = 1; next }
		inside && !/^          / { exit }
		inside { print substr($0, 11) }' "$BATS_TEST_DIRNAME/../../docs/ci.md"
}

# bats test_tags=all
@test "docs/ci.md: its commands and the workflow, as they are written" {
	local page=$BATS_TEST_DIRNAME/../../docs/ci.md line
	cd "$T" || return
	mkdir bin folder
	# They name programs of these names, in other folders or below them.
	script old "exec '$WORK/touch-pages' 1000"
	script new "exec '$WORK/touch-pages' 1100"
	cp old program
	line=$(sed -n 's/^    \$ cputrack/cputrack/p' "$page")
	go -3 bash -c "$line"
	[[ $(line_of page-faults) == "10 "*"more: above the limit of 3%"* ]]
	[ "$(xargs <<<"${lines[0]}")" = "$(grep -m 1 '^ *event runs' "$page" | xargs)" ]
	# the step of a workflow, as GitHub runs it
	step Compare >"$T/compare"
	[ "$(wc -l <"$T/compare")" -ge 6 ]
	cd folder || return
	mkdir old new
	cp ../old old/program
	cp ../new new/program
	export GITHUB_STEP_SUMMARY=$T/summary
	go -3 bash -e "$T/compare"
	[[ $(line_of page-faults) == "20 "*"more: above the limit of 3%"* ]]
	grep -q '^    page-faults .* more: above the limit of 3%' "$GITHUB_STEP_SUMMARY"
	[ "$(grep -c '"kind":"run"' runs.json)" -eq 40 ]
	cp old/program new/program
	go -0 bash -e "$T/compare"
	# with the record of a release
	cd .. || return
	# shellcheck disable=SC2016 # backticks of the page
	mapfile -t lines < <(tr '\n' ' ' <"$page" | grep -oE '`cputrack -r 20 [^`]*`' | tr -d '`')
	[ "${#lines[@]}" -eq 2 ]
	go -0 bash -c "${lines[0]}"
	cp new program
	# shellcheck disable=SC2016 # backticks of the page
	line=$(tr '\n' ' ' <"$page" | grep -oE '`cputrack -r 20 --compare[^`]*`' | tr -d '`')
	go -3 bash -c "$line"
}
