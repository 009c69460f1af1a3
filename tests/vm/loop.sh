#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# loop.sh ENGINE [TIMES] - run a program that starts and joins 100 threads, TIMES (200) times; as
# root.  Each run must have status 0, 100 lwp_exit rows, and no message.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh
engine=$1 times=${2-200}

rows() {
	awk '$4 == "lwp_exit" { n++ } END { print n + 0 }' "$out"
}

n=0
while [ "$n" -lt "$times" ]; do
	n=$((n + 1))
	run timeout 60 cputrack --engine="$engine" -f -T 0 -c page-faults threads 100
	check "run $n: exit status, rows, bytes of messages" \
		[ "$status $(rows) $(wc -c <"$err")" = "0 100 0" ]
done
finish
