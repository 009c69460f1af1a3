#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# many.sh - more than 64 CPUs; as root.  Run by hand, since it takes long:
# tests/vm/vm -n 72 -m 2048 many.sh
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016,SC3045 # for awk; busybox has these limits
. ./check.sh

ncpus=$(nproc)

# Fewer files than a file per CPU and event.
ulimit -Sn "$ncpus"
run cpustat -c page-faults,context-switches 0.1 3
same "rows: status" "$status" 0
check "rows: of each CPU in each sample" awk -v cpus="$ncpus" '
	$3 == "tick" { bad += $2 != n++ % cpus }
	END { exit bad || n != 3 * cpus }' "$out"
check "rows: their sum" check_totals "$out" "$ncpus"

run cpustat -A all -m -c task-clock 0.1 2
check "the mean of all" awk '$2 == "all" { n += $4 > 0.09e9 && $4 < 0.11e9 } END { exit n != 2 }' "$out"

ulimit -Hn "$ncpus"
run cpustat -c page-faults,context-switches 0.1 1
reports "too few files" 1 "RLIMIT_NOFILE is $ncpus"

finish
