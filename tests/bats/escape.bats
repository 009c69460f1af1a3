#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Untrusted text, such as names of programs and files and command lines, forges no lines and
# controls no terminal.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

ESC=$'\033'

# Standard error has exactly these lines, each a pattern, and nothing unprintable.
told() {
	local i
	if LC_ALL=C grep -q '[^ -~]' <<<"$stderr"; then
		return 1
	fi
	[ "${#stderr_lines[@]}" -eq $# ]
	for ((i = 0; i < $#; i++)); do
		# shellcheck disable=SC2053 # a pattern
		[[ ${stderr_lines[i]} == ${*:i+1:1} ]]
	done
}

@test "the name of a program, in messages and rows" {
	need breakpoint
	# The first 15 bytes are its comm.
	name=$'a\ncputrack: b\033[31m'
	cp "$(type -P true)" "$T/$name"
	track -1 -T 0 -c breakpoint/addr=nowhere/ "$T/$name"
	told "cputrack: 'a\\\\ncputrack: b\\\\^\[[[]' (*) has no symbol 'nowhere': breakpoint/addr=nowhere/ counts 0 in it" \
		"cputrack: no tracked program has the symbol 'nowhere', nor a library that it starts with (-f tracks children, too, -e what they execute); those of dlopen(3) are not looked at*"

	# shellcheck disable=SC2016 # for the inner shell
	track -0 -T 0 -e -c page-faults sh -c 'exec "$0"' "$T/$name"
	[ -z "$stderr" ]
	[ "$(wc -l <"$ROWS")" -eq 4 ]
	rows_of exec | grep -qF "# '$T/a\\ncputrack: b\\^[[31m'"
}

@test "a name that a tracked program gives itself" {
	need breakpoint
	start named "$WORK/set-comm" $'x\n\033]0;y'
	eventually said named ready
	pid=${PIDS[named]}
	start ct cputrack -D -o "$ROWS" -c breakpoint/addr=main/ -p "$pid"
	eventually grep -q 'has the symbol' "$T/ct.err"
	tell named g
	finish named
	[ "$status" -eq 0 ]
	finish ct
	[ "$status" -eq 0 ]
	grep -F "cputrack: 'x\\n\\^[]0;y' ($pid) has the symbol 'main': counted at " "$T/ct.err"
	if LC_ALL=C grep -q '[^ -~]' "$T/ct.err"; then
		false
	fi
}

@test "a path on the command line" {
	path=$T/$ESC$'[2J\ncputrack: all is well\303\251'
	shown='\\^\[[[]2J\\ncputrack: all is well\\M-C\\M-)'
	go -127 cputrack -c page-faults "$path"
	told "cputrack: cannot find program '$T/$shown'"
	: >"$path"
	go -126 cputrack -c page-faults "$path"
	told "cputrack: cannot execute program '$T/$shown': Permission denied"
	go -1 cputrack -o "$path/rows" -c page-faults true
	told "cputrack: cannot write '$T/$shown/rows': Not a directory"
}

@test "specs, options and the name of cputrack and cpustat themselves" {
	for program in cputrack cpustat; do
		after=(1 1)
		[ "$program" = cpustat ] || after=(true)
		go -2 "$program" -c "page${ESC}faults" "${after[@]}"
		told "$program: unknown event 'page\\\\^[[]faults'*"
		go -2 "$program" -c $'page\nfaults' "${after[@]}"
		told "$program: invalid event spec 'page\\\\nfaults': *"
		go -2 "$program" "--$ESC"
		told "$program: unknown option '--\\\\^[[]'; *"
		go -1 "$program" -h "x$ESC"
		told "$program: unknown event: none *'x\\\\^[[]'*"
		# shellcheck disable=SC2016 # for the inner shell
		go -2 bash -c 'exec -a "$0" "$1" --append' $'a\nb' "$(command -v "$program")"
		told 'a\\nb: missing -o *'
	done
}

@test "names of definitions, in rows and listings" {
	printf 'odd%s[1m = page-faults\n' "$ESC" >"$T/events.def"
	export CPC_EVENTS=$T/events.def
	go -0 cputrack -h odd
	[[ ${lines[0]} == 'odd\^[[1m '* ]]
	track -0 -T 0 -c "odd${ESC}[1m" -c page-faults true
	grep -q '# odd\\^\[\[1m$' "$ROWS"
	if LC_ALL=C grep -q '[^ -~]' "$ROWS"; then
		false
	fi
}
