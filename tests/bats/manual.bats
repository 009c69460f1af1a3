#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The example programs of the manual pages are built and run.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

MAN3=$BATS_TEST_DIRNAME/../../man3

# Builds all programs, once.
setup_file() {
	local page builds=()
	mapfile -t LIBS < <(find "$CPC_BUILD" -maxdepth 1 -name 'libcpc.[as]*' -o -maxdepth 1 -name 'libpctx.[as]*' | sort)
	for page in "$MAN3"/*.3; do
		build "$(basename "$page" .3)" &
		builds+=($!)
		[ ${#builds[@]} -lt 4 ] || { wait "${builds[0]}" && builds=("${builds[@]:1}"); }
	done
	wait "${builds[@]}"
}

# build PAGE: its only program.
build() {
	cd "$BATS_FILE_TMPDIR" || return
	awk '/^\.Bd -literal/ { begun = 1; next }
		/^\.Ed/ { begun = 0 }
		begun == 1 { begun = /^#include/ ? 2 : 0 }
		begun == 2' "$MAN3/$1.3" | sed 's/\\-/-/g; s/\\e/\\/g' >"$1.c"
	"${CC:-cc}" -O2 -std=gnu99 -Wall -Wextra -Wshadow -Werror -o "$1" -I "$BATS_TEST_DIRNAME/../../include" \
		-I "$CPC_BUILD/include" "$1.c" "${LIBS[@]}" -lpfm -lbsd -pthread >"$1.log" 2>&1 || :
}

setup() {
	common_setup
	need_unsanitized "sanitized libraries want a sanitized program"
	P=$BATS_FILE_TMPDIR
}

@test "each page has one program, which can be built" {
	for page in "$MAN3"/*.3; do
		page=$(basename "$page" .3)
		cat "$P/$page.log"
		[ "$(grep -c '^int main(' "$P/$page.c")" -eq 1 ]
		[ -x "$P/$page" ]
	done
}

@test "cpc, cpc_read_pic: the page faults of a loop" {
	for page in cpc cpc_read_pic; do
		go -0 "$P/$page"
		[[ $output =~ ^(100[0-9])" page faults"$ ]]
	done
}

@test "cpc_event: the page faults of a loop, or what PERFEVENTS says" {
	go -0 "$P/cpc_event"
	[[ $output =~ ^(99|10[0-9])" in pic0"$ ]]
	PERFEVENTS=context-switches,sys go -0 "$P/cpc_event"
	[[ $output =~ ^[0-9]" in pic0"$ ]]
	PERFEVENTS=EC_rfe go -1 "$P/cpc_event"
	[ "$stderr" = "libcpc: cpc_strtoevent: unknown event 'EC_rfe' (did you mean 'EC_ref'?)" ]
}

@test "cpc_open, cpc_npic, generic_events: the machine and its events" {
	for page in cpc_open cpc_npic generic_events; do
		go -0 "$P/$page"
		[ -z "$stderr" ]
	done
	name=$("$P/cpc_open")
	[[ $("$P/cpc_npic") == "$name, "*" counters"*page-faults* ]]
	[[ $("$P/generic_events" | tail -n1) == *" of them on $name" ]]
}

@test "cpc_seterrhndlr: the output is that of the page" {
	go -0 "$P/cpc_seterrhndlr"
	# The page breaks the line in two.
	[ "${stderr_lines[0]}" = "$(sed 's/\\-/-/g' "$MAN3/cpc_seterrhndlr.3" | grep -A 1 '^myprog:' | tr -s ' \n' ' ' | sed 's/ $//')" ]
	[ "${stderr_lines[1]}" = "cpc_seterrhndlr: not counted: Invalid argument" ]
}

@test "cpc_set_create: the meaning of each request" {
	go -0 "$P/cpc_set_create"
	[ "${lines[0]}" = "0: page-faults" ]
	[ "${lines[1]}" = "1: minor-faults, in both modes" ]
	[[ ${lines[2]} == "pic1 minor-faults: kernel: + type 1, config 0x5, "* ]]
}

@test "cpc_bind_curlwp: the switches of each CPU" {
	need cpu
	go -0 "$P/cpc_bind_curlwp"
	[ -z "$stderr" ]
	[ "${#lines[@]}" -ge 1 ]
	[[ ${lines[0]} =~ ^"CPU "[0-9]+": "[0-9]+$ ]]
}

@test "cpc_buf_create: the sum is that of the rounds" {
	go -0 "$P/cpc_buf_create"
	awk '/^round/ { ns += $2; faults += $4; cycles += $7; n++ }
		/^all/ { exit !(n == 3 && ns == $2 && faults == $4 && cycles == $7 && faults > 0) }' <<<"$output"
}

@test "cpc_set_sample_pcbuf: the place of each page fault of a loop" {
	go -0 "$P/cpc_set_sample_pcbuf"
	[[ $output =~ ^(100[0-9])" page faults, the last at 0x"[0-9a-f]+$ ]]
}

@test "cpc_enable: alone, and counted by cputrack" {
	go -0 "$P/cpc_enable"
	[ "$output" = "no process counts this one" ]
	go -0 cputrack -T 0 --start-disabled -c page-faults -o "$ROWS" "$P/cpc_enable"
	[ -z "$output" ]
	[ "$(sum_of exit)" -ge 1000 ]
	[ "$(sum_of exit)" -lt 1010 ]
}

@test "cpc_ratio_find: faults without input or output, of all" {
	go -0 "$P/cpc_ratio_find"
	[ "$output" = 1 ]
}

@test "cpc_region: its table" {
	go -0 "$P/cpc_region"
	[ "$(awk '$5 == "page-faults" { print $2, $3, $4, $6 }' <<<"$stderr")" = "10 10 0 compute
10 10 0 compute
20 20 0 compute" ]
}

@test "pctx_capture: the programs of a command" {
	go -3 "$P/pctx_capture" sh -c '/bin/true; exit 3'
	[[ $output == *": made "* ]]
	[[ $output == *": /bin/true" ]]
}

@test "pctx_set_events: the page faults of each thread" {
	go -0 "$P/pctx_set_events" "$WORK/threads" -p 100 3
	[ "$(wc -l <<<"$output")" -eq 4 ]
	awk -F '[/: ]+' '{ if ($2 > 1 && $3 < 100) exit 1 }' <<<"$output"
}
