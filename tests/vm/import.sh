#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# import.sh [ENGINE] - event files in the shapes of three vendors, by codes that count here.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh
use_engine "${1-}"

export CPC_EVENTS_DIR=/tmp/events.d
mkdir -p $CPC_EVENTS_DIR

run cpc-events -o $CPC_EVENTS_DIR/arm.def import arm.json
same "Arm's file says which CPU it is for" "$status" 0
run cputrack -c OUR_INST,OUR_CYCLES,our_sum bare
same "Arm's events and their sum" "$(counts exit)" "1000000 1000000 2000000"
run cputrack -c our_ipc bare
same "a ratio of Arm's" "$(counts exit)" "1000000 1000000 1.000"

echo '{"Events": [{"EventName": "INTEL_INST", "EventCode": "0x08", "UMask": "0x00"}]}' >/tmp/intel.json
run cpc-events -C 0x00000000410fd070 -o $CPC_EVENTS_DIR/intel.def import /tmp/intel.json
same "Intel's shape" "$status" 0
echo '[{"EventName": "KERNEL_CYCLES", "EventCode": "0x11", "BriefDescription": "Cycles"},
	{"MetricName": "kernel_both", "MetricExpr": "KERNEL_CYCLES + INTEL_INST"}]' >/tmp/kernel.json
run cpc-events -C '0x00000000410fd07?' -o $CPC_EVENTS_DIR/kernel.def import /tmp/kernel.json
same "the kernel's shape" "$status" 0
run cputrack -c INTEL_INST,KERNEL_CYCLES,kernel_both bare
same "events of both" "$(counts exit)" "1000000 1000000 2000000"
run cputrack -h KERNEL_CYC
check "they are found" grep -q '^KERNEL_CYCLES  *Cycles$' "$out"
run cputrack -c ipc,cpi bare
same "shipped ratios" "$(counts exit | sed 's/.* \(.* .*\)/\1/')" "1.000 1.000"

# Another CPU's.
sed -i 's/410fd070/410fd0c0/' $CPC_EVENTS_DIR/arm.def
run cputrack -c OUR_INST bare
same "those of another CPU are unknown" "$status" 2
finish
