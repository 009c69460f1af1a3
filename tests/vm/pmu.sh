#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# pmu.sh [ENGINE] - exact counts of a real PMU; run as root, on one CPU.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh
use_engine "${1-}"

# ---- instructions of a program that is known to the last one -------------------
for i in 1 2; do
	run cputrack -c Instr_cnt,Cycle_cnt bare
	same "bare, time $i: instructions and cycles" "$(counts exit)" "1000000 1000000"
done

for spec in PAPI_tot_ins PAPI_tot_cyc instructions 0x08 INST_RETIRED:u arm_ac57::CPU_CYCLES \
	armv8_pmuv3/inst_retired/ armv8_pmuv3/event=0x08/ armv8_pmuv3/event=8,long/ 0x08,long=1; do
	run cputrack -c "$spec" bare
	same "bare by the name $spec" "$(counts exit)" 1000000
done
run cputrack -c Instr_cnt,page-faults,task-clock bare
same "software events beside it" "$(counts exit | cut -d' ' -f 1,2)" "1000000 1"

# ---- ratios, by raw codes, which are hexadecimal there --------------------------
cat >/tmp/ratios.def <<END
ipc = 0x8 / 0x11
mpki = 1000 * page-faults / 0x8
half = (ipc + 2 * ipc) / 6
END
for kind in exit total; do
	CPC_EVENTS=/tmp/ratios.def run cputrack --total -c ipc,mpki,half bare
	same "ratios of one program, $kind" "$(counts $kind)" \
		"1000000 1000000 1 1.000 0.001 0.5"
done

# ---- what is counted without -c, and whether that is the hardware ------------------
run cputrack bare
same "without -c: page faults, cycles, instructions" "$(awk '$4 == "exit" { print $7, $8, $9 }' "$out")" \
	"1 1000000 1000000"
run cputrack --check
check "--check: hardware counts" grep -q '^  hardware  *works: ' "$out"

# The start of a program with libc differs by a few instructions from run to run;
# threads do not.
run cputrack -c Instr_cnt loop -t 2 1000
first=$(counts lwp_exit 2) second=$(counts lwp_exit 3)
for i in 1 2; do
	run cputrack -c Instr_cnt loop -t 2 3000
	same "loop, time $i: 2 * 2000 more in thread 1" "$(counts lwp_exit 2)" $((first + 4000))
	same "loop, time $i: 2 * 2000 more in thread 2" "$(counts lwp_exit 3)" $((second + 4000))
done

# ---- two programs compared: the instructions of bare are exact, those of libc's start nearly ----
run cputrack --compare -r 3 -n --fail-above=0 -c Instr_cnt -- bare -- bare
same "a program compared with itself" "$status $(awk '$1 == "Instr_cnt" { $1 = $1; print }' "$out")" \
	"0 Instr_cnt 3 1000000.0 0.00% 1000000.0 0.00% +0.00% +0.00% same"
for percent in 2 4; do
	run cputrack --compare -r 3 --fail-above=3% -c instructions -- loop 1000000 -- loop 10${percent}0000
	same "$percent % more instructions, of which 3 % may be" "$status" $((percent > 3 ? 3 : 0))
done
check "4 % more: the verdict" grep -q '^ *instructions  *3 .* more: above the limit of 3%$' "$out"

# ---- the counters of one's own, by read(2) and without a system call --------------
# A loop of N rounds is 2 * N instructions, whatever a sample itself takes.  The compiler takes a few
# more to enter it.
for access in 0 1; do
	echo $access >/proc/sys/kernel/perf_user_access
	run self-count 1000 instructions
	rounds=$(awk '{ print $2 - $1 }' "$out")
	check "self-count, 1000 rounds, user access $access" [ $((rounds / 10)) = 200 ]
	run self-count 1000000 instructions
	same "self-count, 999000 rounds more, user access $access" \
		"$(($(awk '{ print $2 - $1 }' "$out") - rounds))" 1998000
	run self-count -s 0 instructions
	eval "sample$access=$(awk '{ print $1 }' "$out")"
done
echo "a sample takes $sample0 instructions by read(2), $sample1 without"
check "self-count: the user-space path is taken" [ "$((sample1 * 4))" -lt "$sample0" ]
# One request by cpc_read_pic(): by the register alone, also beside software events.  The samples
# themselves are subtracted: by read(2), each also reads the clock, and the C library's function for
# that takes some instructions more shortly after the begin of a second.
# by_pic NAME STATUS EVENT...: 2000 rounds more are 4000 instructions more
by_pic() {
	name=$1 want=$2
	shift 2
	run self-count -p 1000 "$@"
	few=$(awk '{ print $2 - $1 }' "$out")
	run self-count -p 3000 "$@"
	same "cpc_read_pic: $name" "$status $(($(awk '{ print $2 - $1 }' "$out") - few))" "$want 4000"
}
by_pic "instructions" 0 instructions
by_pic "beside a software event" 0 page-faults instructions
by_pic "the register of cycles" 0 instructions cycles
run self-count -p 0 instructions
pic=$(awk '{ print $1 }' "$out")
run self-count -sp 0 instructions
echo "cpc_read_pic takes $pic instructions in user mode, $(awk '{ print $1 }' "$out") in both"
same "cpc_read_pic: none is in kernel mode" "$(awk '{ print $1 }' "$out")" "$pic"
run self-count -p 1000 instructions page-faults
same "cpc_read_pic: software events are read by the kernel" "$status" 3
run self-count 1000 instructions page-faults
same "self-count: software events are read by the kernel" \
	"$(awk '{ printf "%s ", $2 - $1 } END { print "" }' "$out")" "$rounds 0 "
echo 0 >/proc/sys/kernel/perf_user_access
by_pic "without user access" 3 instructions

# ---- a program marks the code of interest -----------------------------------------
# Only events between cpc_enable() and cpc_disable() count: 12 such pairs count 12 times as
# much as one, in each of four threads.
run cputrack -c Instr_cnt --start-disabled enable-disable -n 1 -t 4 10
for lwp in 2 3 4 5; do
	eval "once$lwp=$(counts lwp_exit $lwp)"
done
run cputrack -c Instr_cnt --start-disabled enable-disable -n 12 -t 4 10
for lwp in 2 3 4 5; do
	eval "once=\$once$lwp"
	check "brackets: thread $((lwp - 1)) counted" [ "$once" -gt 0 ]
	same "brackets: thread $((lwp - 1)), 12 brackets" "$(counts lwp_exit $lwp)" $((12 * once))
done

# ---- events that the CPU does not have open, and stay 0 -----------------------------
run cputrack -c BRANCH_MISPRED true
reports "an event that the CPU lacks" 1 "^cputrack: cannot count 'BRANCH_MISPRED': the CPU of this machine does not have this event$"
run cputrack -h
check "-h leaves them out" [ -z "$(grep -w BRANCH_MISPRED "$out")" ]
check "-h tells the counters" grep -q "^  name:  ARM Cortex A57 (PMU armv8_pmuv3, 7 counters)$" "$out"

# ---- events by the PMU's own names and codes ----------------------------------------
run cputrack -c armv8_pmuv3/event=0x10000/ bare
reports "a code that is too large" 2 "'event' is at most 0xffff"
run cputrack -c armv8_pmuv3/nosuch/ bare
reports "a name that the PMU does not have" 2 "'armv8_pmuv3' has no event or field 'nosuch'"
run cputrack -c IC_ref bare
reports "an event that this CPU does not count" 1 "cannot count 'IC_ref'"

# ---- attributes are fields of the PMU ---------------------------------------------
run cputrack -c 0x10,event=8 bare
same "the field event" "$(counts exit)" 1000000
run cputrack -c 8,event=0x10000 bare
reports "a value that does not fit" 2 "^cputrack: attribute 'event' of event '8' is at most 0xffff, not 0x10000$"
run cputrack -c 8,edge bare
reports "a field that this PMU lacks" 1 "^cputrack: attribute 'edge' of event '8' cannot be set: PMU 'armv8_pmuv3' has no such field$"
run cputrack -c cycles,event=8 bare
reports "a field of an event of the kernel" 2 "^cputrack: attribute 'event' does not go with event 'cycles'"

finish
