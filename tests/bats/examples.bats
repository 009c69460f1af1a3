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

@test "example 1 of cpc_bind_curlwp: the counts of each iteration" {
	export EVENT0=page-faults EVENT1=minor-faults
	for n in 0 1 1000; do
		go -0 "$WORK/example-count" "$n"
		[ "${#lines[@]}" -eq 20 ]
		for i in {1..20}; do
			[ "${lines[i - 1]}" = "$(printf '%3d: %d %d' "$i" "$n" "$n")" ]
		done
	done
}

@test "example 1 of cpc_bind_curlwp: an event that is not there ends it" {
	export EVENT0=page-faults EVENT1=EC_rfe
	go -1 "$WORK/example-count"
	[[ $stderr == *"unknown event 'EC_rfe' (did you mean 'EC_ref'?)"*"could not add first request: Invalid argument" ]]
}

@test "example 2 of cpc_bind_curlwp: a signal every 1000 events" {
	export EVENT=page-faults EVENT1=faults
	go -0 "$WORK/example-overflow" 500 # 20 times
	[ "${#lines[@]}" -eq 20 ]
	for ((i = 0; i < 20; i += 2)); do
		[[ ${lines[i]} =~ ^lwp[0-9]+\ -\ si_addr\ (0x[0-9a-f]+)\ ucontext:\ %pc\ (0x[0-9a-f]+)\ %sp\ 0x[0-9a-f]+$ ]]
		[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
		[ "${lines[i + 1]}" = 0x0 ]
	done
	go -0 "$WORK/example-overflow" 49
	[ "$output" = "" ]
}

@test "example 1 of cpc_bind_event: the counts of each iteration" {
	export PERFEVENTS=pic0=page-faults,pic1=minor-faults
	for n in 0 1 1000; do
		go -0 "$WORK/example-v1-count" "$n"
		[ "${#lines[@]}" -eq 20 ]
		for i in {1..20}; do
			[ "${lines[i - 1]}" = "$(printf '%3d: %d %d' "$i" "$n" "$n")" ]
		done
	done
}

@test "example 1 of cpc_bind_event: a spec that means nothing ends it" {
	export PERFEVENTS=pic0=page-faults,pic1=EC_rfe
	go -1 "$WORK/example-v1-count"
	[[ $stderr == *"cpc_strtoevent: unknown event 'EC_rfe' (did you mean 'EC_ref'?)"*"can't measure '$PERFEVENTS' on this processor" ]]
}

@test "example 2 of cpc_bind_event: a signal every 1000 events" {
	export PERFEVENTS=pic0=page-faults,pic1=faults
	go -0 "$WORK/example-v1-overflow" 500 # 20 times
	[ "${#lines[@]}" -eq 20 ]
	for ((i = 0; i < 20; i += 2)); do
		[[ ${lines[i]} =~ ^lwp[0-9]+\ -\ si_addr\ (0x[0-9a-f]+)\ ucontext:\ %pc\ (0x[0-9a-f]+)\ %sp\ 0x[0-9a-f]+$ ]]
		[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
		[ "${lines[i + 1]}" = "0x0 0x3e8" ]
	done
	go -0 "$WORK/example-v1-overflow" 49
	[ "$output" = "" ]
}
