#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# track.sh [ENGINE] - attached processes, both modes, pipelines, exactly; as root, on one CPU.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for awk and other shells
. ./check.sh
use_engine "${1-}"

# ---- attached: from the read(2) that it sleeps in to its end ------------------------
mkfifo fifo
attach() {
	loop -w "$1" <fifo &
	pid=$!
	exec 3>fifo
	: >"$out"
	until grep -q '^State:.S' /proc/$pid/status; do sleep 0.1; done
	cputrack -v -T 0 -c Instr_cnt -p $pid >"$out" 2>"$err" 3>&- &
	until grep -q init_lwp "$out"; do sleep 0.1; done
	exec 3>&-
	wait
	counts exit
}
few=$(attach 1000)
for i in 1 2; do
	same "attached, time $i: 2 * 2000 more" "$(attach 3000)" $((few + 4000))
done

# ---- user mode, kernel mode, both -----------------------------------------------
run cputrack -f -c INST_RETIRED,INST_RETIRED,nouser1,sys1,INST_RETIRED,sys2 loop -t 2 -f 2 1000
check "user and kernel mode add up to both, in each row" \
	awk 'NF == 7 && $5 ~ /^[0-9]/ { n++; bad += $5 + $6 != $7 || $6 == 0 && $4 != "lwp_create" }
	END { exit bad || n != 7 }' "$out"
run cputrack -c arm_ac57::INST_RETIRED,sys,INST_RETIRED:k bare
check "bare in both modes, and in kernel mode" \
	awk '$3 == "exit" && $4 - $5 == 1000000 && $5 > 1000 { ok = 1 } END { exit !ok }' "$out"

# ---- a pipeline that forks, executes and has threads: all adds up ------------------
for spec in Cycle_cnt,Instr_cnt PAPI_tot_cyc,PAPI_tot_ins arm_ac57::INST_RETIRED,sys0,Instr_cnt; do
	run cputrack -fev -c "$spec" sh -c \
		'bare & loop -t 3 -f 2 500 | cat; (bare; loop -t 2 100) | bare | bare; wait'
	same "$spec: exit status" "$status" 0
	check "$spec: the LWPs of each process add up" check_sums "$out"
	same "$spec: four times bare" "$(exits_of_bare)" "1000000 1000000 1000000 1000000"
done

finish
