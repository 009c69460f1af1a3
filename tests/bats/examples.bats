#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The examples of the Solaris manuals do what their pages say.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
}

# iterations PROGRAM: each of 20 counts the pages that it touches, twice.
iterations() {
	local n i
	for n in 0 1 1000; do
		go -0 "$WORK/$1" "$n"
		[ "${#lines[@]}" -eq 20 ]
		for i in {1..20}; do
			[ "${lines[i - 1]}" = "$(printf '%3d: %d %d' "$i" "$n" "$n")" ]
		done
	done
}

# overflows PROGRAM VALUES: a signal every 1000 of 20 * 500 events, with these values.
overflows() {
	local i
	go -0 "$WORK/$1" 500
	[ "${#lines[@]}" -eq 20 ]
	for ((i = 0; i < 20; i += 2)); do
		[[ ${lines[i]} =~ ^lwp[0-9]+\ -\ si_addr\ (0x[0-9a-f]+)\ ucontext:\ %pc\ (0x[0-9a-f]+)\ %sp\ 0x[0-9a-f]+$ ]]
		[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
		[ "${lines[i + 1]}" = "$2" ]
	done
	go -0 "$WORK/$1" 49
	[ "$output" = "" ]
}

@test "the library stays when it is closed while signals and threads may still call it" {
	[ -e "$CPC_BUILD/python/_cpc.so" ] || skip "there is no shared object here"
	go -0 "$WORK/unload" "$CPC_BUILD/python/_cpc.so"
	[ "$output" = PASS ]
}

@test "example 1 of cpc_bind_curlwp: the counts of each iteration" {
	export EVENT0=page-faults EVENT1=minor-faults
	iterations example-count
}

@test "example 1 of cpc_bind_curlwp: an unavailable event ends it" {
	export EVENT0=page-faults EVENT1=EC_rfe
	go -1 "$WORK/example-count"
	[[ $stderr == *"unknown event 'EC_rfe' (did you mean 'EC_ref'?)"*"could not add first request: Invalid argument" ]]
}

@test "example 2 of cpc_bind_curlwp: a signal every 1000 events" {
	export EVENT=page-faults EVENT1=faults
	overflows example-overflow 0x0
}

@test "example 1 of cpc_bind_event: the counts of each iteration" {
	export PERFEVENTS=pic0=page-faults,pic1=minor-faults
	iterations example-v1-count
}

@test "example 1 of cpc_bind_event: a meaningless spec ends it" {
	export PERFEVENTS=pic0=page-faults,pic1=EC_rfe
	go -1 "$WORK/example-v1-count"
	[[ $stderr == *"cpc_strtoevent: unknown event 'EC_rfe' (did you mean 'EC_ref'?)"*"can't measure '$PERFEVENTS' on this processor" ]]
}

@test "example 2 of cpc_bind_event: a signal every 1000 events" {
	export PERFEVENTS=pic0=page-faults,pic1=faults
	overflows example-v1-overflow "0x0 0x3e8"
}
