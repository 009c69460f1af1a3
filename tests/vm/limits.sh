#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# limits.sh [ENGINE] - all counters, one more than all, and counters that another program holds; as
# root, on one CPU.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for awk and other shells
. ./check.sh
use_engine "${1-}"

# ---- all counters, and one more ----------------------------------------------------
i=0x08
run cputrack -c $i,$i,$i,$i,$i,$i,Cycle_cnt bare
same "6 and cycles" "$(counts exit)" "1000000 1000000 1000000 1000000 1000000 1000000 1000000"
run cputrack -c $i,$i,$i,$i,$i,$i,$i bare
reports "7" 1 "cannot count '0x08' together with .* the PMU has too few counters.*; use --split to count them in turns"
run cputrack -c $i,$i,$i,$i,$i,$i,armv8_pmuv3/inst_retired/ bare
reports "7, one by sysfs" 1 "cannot count 'armv8_pmuv3/inst_retired/' together with"
run cpustat -c $i,$i,$i,$i,$i,$i,$i 0.1 1
reports "7 on a CPU" 1 "cannot count '0x08' together with .* the PMU has too few counters.*; use --split to count them in turns"

# ---- more events than counters, in turns --------------------------------------------
run cputrack --split -T 600 -c $i,$i,Cycle_cnt,$i,$i,$i,$i,$i,$i bare
same "split: 6 and cycles, and the rest never" \
	"$(awk '$3 == "exit" { sub(/#.*/, ""); for (n = 5; n <= NF; n++) printf "%s ", $n }' "$out")" \
	"1000000 1000000 1000000 1000000 1000000 1000000 1000000 - - "
check "split: a message says so" grep -q "counted 0.0% of the time: '$i,$i' (its turn never came)" "$err"
run cputrack --split -T 600 -c $i,$i,$i,$i,$i,$i,Cycle_cnt bare
same "split: what fits is not" "$(counts exit)" \
	"1000000 1000000 1000000 1000000 1000000 1000000 1000000"
same "split: what fits is not, and says nothing" "$(wc -l <"$err")" 0
run cputrack --split -T 0.05 -c $i,$i,$i,$i,$i,$i,$i spin 0.18
check "split: both turn" awk '$3 == "exit" && $5 + $NF == 0 { bad = 1 }
	$3 == "tick" && last == $NF { bad = 1 } $3 == "tick" { last = $NF; n++ }
	END { exit bad || n < 2 }' "$out"
check "split: shares are a whole" awk '/: counted/ { sub(/%.*/, "", $3); sum += $3; n++ }
	END { exit n != 2 || sum < 99.8 || sum > 100.2 }' "$err"
run cpustat --split -c $i,$i,$i,$i,$i,$i,$i 0.1 4
same "split on CPUs: a total of each" "$(grep -c ' total ' "$out")" 2
same "split on CPUs: all count" "$(awk '$3 == "total" { sub(/#.*/, ""); for (n = 5; n <= NF; n++) c += $n > 0 }
	END { print c }' "$out")" 7

# ---- one program at a time has the core PMU, and all have the rest ----------------------
cpustat -c Instr_cnt 0.1 600 >/dev/null 2>&1 &
holder=$!
while [ -z "$(ls /run/cpc/cpc-cpu* 2>/dev/null)" ]; do sleep 0.1; done
run cputrack -c Instr_cnt bare
reports "beside cpustat" 1 "process $holder [(]cpustat[)] counts on CPU 0"
run cputrack -c armv8_pmuv3/inst_retired/,page-faults bare
reports "beside cpustat, by sysfs" 1 "process $holder [(]cpustat[)] counts on CPU 0"
run cputrack -c page-faults bare
same "beside cpustat, software events" "$(counts exit)" 1
run cpustat -c page-faults 0.1 1
same "two cpustat, one of software events" "$status $(wc -l <"$err")" "0 0"
kill "$holder"
wait "$holder" || :

# ---- counters that another program holds -------------------------------------------
run hold-counters cpustat -c Instr_cnt 0.1 2
reports "cpustat beside a holder" 1 "^cpustat: cpu0 - cannot count 'Instr_cnt': other programs use the counters that it needs; process [0-9]* \\(hold-counters\\) has counters open"
run hold-counters -d 1 cpustat -c Instr_cnt 0.2 20
reports "held while cpustat counts" 1 "^cpustat: cpu0 - perf counter contents invalidated: .*'Instr_cnt'.*; process [0-9]* \\(hold-counters\\) has counters open"
check "held while cpustat counts: rows up to there" grep -q ' 0  tick' "$out"
run hold-counters cputrack -c page-faults,Instr_cnt bare
reports "cputrack beside a holder" 1 "^cputrack: cannot count 'Instr_cnt': other programs use the counters that it needs; process [0-9]* \\(hold-counters\\) has counters open"
level=$(cat /proc/sys/kernel/perf_event_paranoid)
echo 2 >/proc/sys/kernel/perf_event_paranoid
run hold-counters su -s /bin/sh nobody -c 'cputrack -c Instr_cnt bare'
reports "beside a holder that one may not see" 1 "other programs use the counters that it needs; (they cannot be seen|the NMI watchdog)"
echo "$level" >/proc/sys/kernel/perf_event_paranoid
# Counters of an LWP are taken away; those of CPUs, in the kernel, are had before.
run cputrack --engine=ptrace -e -T 0.1 -c page-faults,Instr_cnt hold-counters sleep 1
same "held while tracking: the exit status" "$status" 1
check "held while tracking: a message says so" grep -q '^cputrack: [0-9]*/1: perf counter contents invalidated: .*Instr_cnt.*; process [0-9]* (hold-counters) has counters open' "$err"
check "held while tracking: no count is shown" \
	awk '$3 == "tick" { n++; bad += $4 != "-" || $5 != "-" } END { exit bad || !n }' "$out"
check "held while tracking: the total says so" grep -q 'exit .*# incomplete$' "$out"
# It ends before the next sample.
run cputrack --engine=ptrace -fe -T 0 -c page-faults,Instr_cnt hold-counters loop 1000
same "held until death: the exit status" "$status" 1
check "held until death: a message says so" grep -q "invalidated: .*Instr_cnt.*; process [0-9]* (hold-counters) has counters open" "$err"
check "held until death: no count is shown for the held one" \
	awk '$4 == "exit" && !n++ { bad = $5 != "-" || $6 != "-" } END { exit bad || n != 2 }' "$out"
run hold-counters -n 1 cputrack -c $i,$i,$i,$i,$i,$i bare
same "the free counters can be used" "$(counts exit)" \
	"1000000 1000000 1000000 1000000 1000000 1000000"
run hold-counters cputrack -c page-faults bare
same "a holder does not matter to software events" "$(counts exit)" 1
# Events of other programs that are not pinned take no counters: they wait.
inherited-count spin 0.1 >/dev/null &
run cputrack --engine=kernel -c $i,$i,$i,$i,$i,$i,Cycle_cnt bare
wait $!
same "beside events that are not pinned: the exit status" "$status" 0
same "beside events that are not pinned: 6 and cycles" "$(counts exit)" \
	"1000000 1000000 1000000 1000000 1000000 1000000 1000000"

finish
