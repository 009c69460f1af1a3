#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# like.sh NAME PMU OWN - a CPU called NAME, whose events are those of another one, PMU.  A newer
# libpfm4 has a table for it, called OWN.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh

run cputrack -c "$3::CPU_CYCLES" bare
if [ "$status" = 0 ]; then
	pmu=$3 prefix=
else
	pmu=$2 prefix=$2::
fi
run cputrack -h
check "the CPU is known" grep -q "^  name:  $1 (PMU armv8_pmuv3, 7 counters)$" "$out"
run cputrack -c "INST_RETIRED:u,$pmu::CPU_CYCLES,$pmu::INST_RETIRED:u:k" bare
same "events by name" "$(counts exit | cut -d' ' -f1,2)" "1000000 1000000"
check "user and kernel mode" [ "$(counts exit | cut -d' ' -f3)" -gt 1000000 ]
run cputrack -c hw_int_rx,PAPI_lst_ins bare
same "definitions" "$status" 0
run cputrack -c INST_RETIRED:frob bare
reports "an unknown modifier" 2 "invalid event '${prefix}INST_RETIRED:frob': "
finish
