#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# What a terminal shows to people, and what a file of the same has for programs.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need_terminal
	R=$T/run.json
	unset NO_COLOR
	export TERM=xterm
}

# shown COMMAND...: what a terminal shows goes to $output.
shown() {
	printf '%q ' "$@" >"$T/command"
	run "${LIMIT[@]}" script -q -e -c "stty cols 200; $(cat "$T/command")" /dev/null </dev/null
	output=${output//$'\r'/}
	mapfile -t lines <<<"$output"
	echo "$output"
}

# Line $1, with single blanks between its words.
words_of() {
	xargs <<<"${lines[$1]}"
}

# lwps "KIND PID LWP COMM CLOCK FAULTS"...: a record with these rows; \s is a blank in COMM.
lwps() {
	local row kind pid lwp comm clock faults
	cat <<-'END'
		{"kind":"run","schema":1,"tool":"cputrack","command":["x"],"host":"h","start":"2026-01-31T23:59:58.000000000Z","cycles":"tsc","sets":[{"spec":"a","events":[{"event":"task-clock","name":"task-clock","pic":0,"unit":"","scale":1,"signed":false},{"event":"page-faults","name":"page-faults","pic":1,"unit":"","scale":1,"signed":false}]}],"many":true}
	END
	for row in "$@"; do
		read -r kind pid lwp comm clock faults <<<"${row//\\s/+}"
		echo "{\"kind\":\"$kind\",\"ns\":1000000000,\"time\":\"2026-01-31T23:59:59.000000000Z\",\"pid\":$pid,\"lwp\":$lwp,\"tid\":$((pid + lwp)),\"comm\":\"${comm//+/ }\",\"set\":0,\"counts\":{\"task-clock\":$clock,\"page-faults\":$faults},\"cycles\":1234567,\"span\":500000000}"
	done
	echo "{\"kind\":\"end\",\"rows\":$#}"
}

@test "a terminal has units, a file digits, and --human chooses" {
	local options
	lwps "tick 7 1 c 1500000 12345" "exit 7 1 c 1990000000 123456" >"$R"
	shown cputrack -I "$R" -t
	[ "$(words_of 0)" = "time pid lwp event tsc task-clock page-faults" ]
	[ "$(words_of 1)" = "1.000 7 1 tick 1.23M 1.50ms 12345" ]
	[ "$(words_of 2)" = "1.000 7 1 exit 1.23M 1.99s 123K" ]
	# the columns stay in line
	[ "$(awk '{ print length($0) }' <<<"$output" | sort -u | wc -l)" -eq 1 ]
	shown cputrack -I "$R" --rate
	[ "$(words_of 0)" = "time pid lwp event task-clock page-faults" ]
	[ "$(words_of 1)" = "1.000 7 1 tick 0.30%CPU 24690/s" ]
	shown cputrack -I "$R" --by=process
	[ "$(words_of 1)" = "7 1 c 1.99s 123K 100.0%" ]
	for options in --names "--names --rate" "--names -t" --by=process --by=command; do
		# shellcheck disable=SC2086 # words
		{
			shown cputrack -I "$R" $options --human=no
			diff <(cputrack -I "$R" $options) - <<<"$output"
			shown cputrack -I "$R" $options
			diff <(cputrack -I "$R" $options --human) - <<<"$output"
			shown cputrack -I "$R" $options -o "$T/file"
			diff <(cputrack -I "$R" ${options#--names}) <(cputrack -I "$R" ${options#--names} --human=no)
			[ -z "$output" ]
		}
	done
	cputrack -I "$R" -o "$T/file"
	shown cputrack -I "$R" -o "$T/file2"
	cmp "$T/file" "$T/file2"
	[[ $(cat "$T/file") == *" pic0 "*1990000000\ *123456* ]]
	shown cputrack -I "$R" --format=csv
	diff <(cputrack -I "$R" --format=csv) - <<<"$output"
}

@test "short titles: the columns of a terminal stay in line, too" {
	lwps "tick 7 1 c 1 1" "tick 7 1 c 1990000000 123456" "exit 7 1 c 0 99999" |
		sed 's/"page-faults"/"a"/g' >"$R"
	shown cputrack -I "$R"
	[ "$(awk '{ print length($0) }' <<<"$output" | sort -u | wc -l)" -eq 1 ]
}

@test "means on a terminal: the mean with its deviation" {
	shown cputrack -r 3 -c page-faults,task-clock "$WORK/touch-pages" 100
	[ "$(words_of 0)" = "event runs mean median spread least most" ]
	[[ $(words_of 1) =~ ^"page-faults 3 "[0-9.]+" +- "[0-9.]+" "[0-9]+" "[0-9.]+"% "[0-9]+" "[0-9]+$ ]]
	[[ $(words_of 2) =~ ^"task-clock 3 "[0-9.]+[um]"s +- "[0-9.]+" "[0-9.]+[um]"s "[0-9.]+"% " ]]
	[[ $(words_of 3) =~ ^"seconds 3 "[0-9.]+[um]?"s +- "[0-9.]+" " ]]
	shown cputrack -r 1 -c page-faults "$WORK/touch-pages" 100
	[[ $(words_of 1) =~ ^"page-faults 1 "[0-9]+" "[0-9]+" - "[0-9]+" "[0-9]+$ ]]
	shown cputrack -r 2 --human=no -c page-faults "$WORK/touch-pages" 100
	[ "$(words_of 0)" = "event runs mean median deviation spread least most" ]
	[[ $(words_of 1) =~ ^"page-faults 2 "[0-9]+\.[0-9]" "[0-9]+\.[0-9]" "[0-9]+\.[0-9]" "[0-9.]+"% " ]]
	[ -x "$WORK/exact" ] || skip "no workload with exact page faults for this machine"
	shown cputrack -r 3 -c page-faults "$WORK/exact" plain
	[ "$(words_of 1)" = "page-faults 3 9 +- 0 9 0.00% 9 9" ]
}

@test "colours say what is incomplete, more or less; NO_COLOR, TERM=dumb and files have none" {
	local red=$'\e[31m' green=$'\e[32m' off=$'\e[m' i
	lwps "tick 7 1 c 1500000 12345" "exit 7 1 c 1990000000 null" "exit 8 1 c 5 5" |
		sed 's/"cycles":1234567/"incomplete":true,&/' >"$R"
	shown cputrack -I "$R"
	[[ ${lines[2]} == *" - $red# incomplete$off" ]]
	shown cputrack -I "$R" --by=process
	[[ ${lines[1]} == *" $red# incomplete$off" ]]
	for i in NO_COLOR=1 TERM=dumb TERM=; do
		shown env "$i" cputrack -I "$R"
		[[ ${lines[2]} == *" # incomplete" ]]
	done
	shown env NO_COLOR= cputrack -I "$R"
	[[ $output == *"$red# incomplete$off"* ]]
	cputrack -I "$R" --human >"$T/file"
	if grep -q $'\e' "$T/file"; then
		false
	fi
	for i in 1 2 3 4; do
		lwps "exit 7 1 c 5000000 $((100 + i))"
	done >"$R"
	for i in 1 2 3 4; do
		lwps "exit 7 1 c 5000000 $((200 + i))"
	done >"$T/more"
	shown cputrack -I "$T/more" --compare "$R"
	[[ ${lines[1]} == *" same" ]]
	[[ ${lines[2]} == *" ${red}more$off" ]]
	shown cputrack -I "$R" --compare "$T/more"
	[[ ${lines[2]} == *" ${green}less$off" ]]
	shown cputrack -I "$R" --compare "$T/more" -o /dev/stdout
	[[ ${lines[2]} == *" ${green}less$off" ]]
}

@test "threads: tids, blanks in names, and one line for the idle ones; files have numbers, \\s and all" {
	lwps "fini_lwp 7 1 main 1500000 3" "fini_lwp 7 2 GC\\sThread#0 0 0" "fini_lwp 7 3 GC\\sThread#1 9000000 0" \
		"fini_lwp 7 4 GC\\sThread#2 0 0" "fini_lwp 7 5 last 0 1" "fini_lwp 7 6 x 0 0" "exit 7 1 main 10500000 4" >"$R"
	shown cputrack -I "$R" --by=lwp
	[ "$(words_of 0)" = "pid tid comm task-clock page-faults share" ]
	[ "$(words_of 1)" = "7 10 GC Thread#1 9.00ms 0 85.7%" ]
	[ "$(words_of 2)" = "7 8 main 1.50ms 3 14.3%" ]
	[ "$(words_of 3)" = "7 12 last 0ns 1 0.0%" ]
	[ "$(words_of 4)" = "- - 3 idle threads 0ns 0 0.0%" ]
	[ "$(words_of 5)" = "- - total 10.5ms 4 100.0%" ]
	[ "${#lines[@]}" -eq 6 ]
	# cycles are something
	shown cputrack -I "$R" --by=lwp --rate --human=no
	[ "${#lines[@]}" -eq 6 ]
	cputrack -I "$R" --by=lwp >"$T/file"
	[ "$(awk '{ print $2, $3 }' "$T/file" | paste -sd, -)" = \
		'lwp comm,3 GC\sThread#1,1 main,2 GC\sThread#0,4 GC\sThread#2,5 last,6 x,- total' ]
	[ "$(cputrack -I "$R" --by=lwp --human | wc -l)" -eq 8 ]
	shown cputrack -I "$R" --by=lwp --format=csv
	diff <(cputrack -I "$R" --by=lwp --format=csv) - <<<"$output"
	# rows have the numbers of Solaris
	shown cputrack -I "$R" --comm
	[[ $(words_of 2) == "1.000 7 2 GC Thread#0 fini_lwp 0ns 0" ]]
}

@test "a single idle thread keeps its name, and so does what is not known to be idle" {
	lwps "fini_lwp 7 1 main 1500000 3" "fini_lwp 7 2 a\\sb 0 0" "exit 7 1 main 1500000 3" >"$R"
	shown cputrack -I "$R" --by=lwp
	[ "$(words_of 2)" = "7 9 a b 0ns 0 0.0%" ]
	lwps "fini_lwp 7 1 main 1500000 3" "fini_lwp 7 2 a null 0" "fini_lwp 7 3 b 0 null" "fini_lwp 7 4 c 0 0" \
		"fini_lwp 7 5 d 0 0" "exit 7 1 main 1500000 3" >"$R"
	shown cputrack -I "$R" --by=lwp
	[ "$(awk '{ print $3 }' <<<"$output" | paste -sd ' ' -)" = "comm main b a 2 total" ]
	lwps "exit 7 1 sh 0 0" "exit 8 1 ls 0 0" "exit 9 1 ls 0 0" >"$R"
	shown cputrack -I "$R" --by=command
	[ "$(words_of 1)" = "3 2 idle commands 0ns 0 -" ]
	shown cputrack -I "$R" --by=process
	[[ $(words_of 1) == "- "[03]" 3 idle processes 0ns 0 -" ]]
}

@test "names cannot control the terminal" {
	lwps "fini_lwp 7 1 a\\sb 1500000 3" "fini_lwp 7 2 x 0 0" "exit 7 1 a\\sb 1500000 3" | sed 's/"x"/"\\u001b[2J\\n\\t y"/' >"$R"
	for options in --by=lwp --comm "--comm --by=command"; do
		# shellcheck disable=SC2086 # words
		NO_COLOR=1 shown cputrack -I "$R" $options
		[[ $output == *"a b"* ]]
		if LC_ALL=C grep -q '[^ -~]' <<<"$output"; then
			false
		fi
	done
	shown cputrack -I "$R" --by=lwp
	[[ $output == *'\^[[2J\n\t y '* ]]
}

@test "threads that wait are one line, and a spinning one has its tid" {
	start pool "$WORK/thread-pool" -p 50 3
	eventually said pool ready
	shown cputrack --by=lwp --for 0.3 -c task-clock,page-faults -p "${PIDS[pool]}"
	[[ $output == *" - 4 idle threads "* ]]
	[ "${#lines[@]}" -le 4 ] # a message, too
	tell pool x
	finish pool
}

@test "cpustat: units on a terminal" {
	need cpu
	shown cpustat --shared -c cpu-clock,page-faults 0.1 2
	[[ ${lines[1]} =~ tick\ +[0-9.]+(us|ms|s)\ +[0-9]+$ ]]
	shown cpustat --shared --by=cpu -c cpu-clock 0.1 2
	[[ ${lines[1]} =~ ^\ *[0-9]+\ +[0-9.]+(us|ms|s)\ +[0-9.]+%$ ]]
}
