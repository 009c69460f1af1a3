#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# nopmu.sh - what a machine without a PMU says; as root.
# shellcheck disable=SC1091,SC2154 # a file of its own, and its variables
. ./check.sh

for event in Instr_cnt PAPI_tot_cyc EC_hit arm_ac57::CPU_CYCLES 0x11 cycles; do
	run cputrack -c "page-faults,$event" sh -c 'touch /tmp/was-run'
	reports "$event" 1 "^cputrack: cannot count '$event': the kernel has no hardware counters on"
	run cpustat -c "$event" 0.1 1
	reports "$event" 1 "^cpustat: cannot count '$event': the kernel has no hardware counters on"
done
check "no command is run without its counters" [ ! -e /tmp/was-run ]
run cputrack -c armv8_pmuv3/cpu_cycles/ bare
reports "a PMU by name" 1 "the kernel has no PMU 'armv8_pmuv3' on this machine"
run cputrack -c INST_RETIRED,long=1 bare
reports "a field of a PMU" 1 "attribute 'long' .* the kernel has no hardware counters on"

run cputrack -c page-faults bare
same "software events are counted" "$status $(counts exit)" "0 1"
run cputrack -h
same "-h: exit status" "$status" 0
check "-h names no hardware" grep -q 'name: .*no hardware counters' "$out"
check "-h lists no event of it" [ "$(grep -ciE 'instr|cycle|cache|platform|armv8' "$out")" = 1 ]
run test_bind
same "test_bind" "$status" 0

finish
