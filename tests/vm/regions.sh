#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# regions.sh [ENGINE] - what a region of cpc_region.h costs, in instructions; run as root, on one CPU.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh
use_engine "${1-}"

# cost MODE: instructions in user mode of a region with nothing in it, to $cost.
cost() {
	export CPC_REGIONS="$1"
	run cputrack -c Instr_cnt regions empty 1000
	few=$(counts exit)
	run cputrack -c Instr_cnt regions empty 3000
	cost=$((($(counts exit) - few) / 2000))
}
cost table:/tmp/regions
check "entries are counted" grep -q '3000       3000 ' /tmp/regions
on=$cost
cost off
echo "a region takes $on instructions when it is counted, $cost when regions are off"
check "off, a region costs next to nothing" [ "$cost" -le 12 ]
check "on, it costs two samples" [ "$on" -le 3000 ]

finish
