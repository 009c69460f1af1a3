#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# unit.sh [TEST...] - the unit tests, or some of them, on Arm64, and the shipped event definitions
# against its libpfm4, which has no tables of other CPUs.  test_pmu runs hold-counters.
# shellcheck disable=SC1091,SC2154 # a file of its own, and its variables
. ./check.sh

[ $# != 0 ] || set -- /cpc/tests/test_*
for test; do
	test=${test##*/}
	case $test in
	test_lwps*) continue ;; # on their own, on several kernels
	esac
	run "$test"
	same "$test" "$status" 0
	sed -n "s/^skipped: /skipped: $test: /p" "$out"
done
run defcheck defs/solaris.def defs/generic.def
same "event definitions" "$status" 0

finish
