#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# user.sh [ENGINE] - what an ordinary user may count of the hardware, by
# kernel.perf_event_paranoid; as root, to set that.
# shellcheck disable=SC1091,SC2154 # a file of its own, and its variables
. ./check.sh
use_engine "${1-}"

paranoid() {
	level=$1
	echo "$level" >/proc/sys/kernel/perf_event_paranoid
}

# run as the user nobody
as_user() {
	run su -s /bin/sh nobody -c "$*"
}

# counted SPEC WANT: bare has that exit row.
counted() {
	as_user "cputrack -c $1 bare"
	same "level $level: $1" "$(counts exit)" "$2"
}

# refused MODE LEVEL COMMAND...: and the level that would do is named.
refused() {
	mode=$1 enough=$2
	shift 2
	as_user "$*"
	reports "level $level: $*" 1 "cannot count 'Instr_cnt'$mode: kernel.perf_event_paranoid is \
$level; root and CAP_PERFMON may, .*kernel.perf_event_paranoid=$enough\$"
}

same "Debian's own level" "$(cat /proc/sys/kernel/perf_event_paranoid)" 3
level=3
refused '' 2 cputrack -c Instr_cnt bare
refused ' in kernel mode' 1 cputrack -c Instr_cnt,sys bare
refused ' on a whole CPU' 0 cpustat -c Instr_cnt 0.1 1
as_user cputrack -h
check "level 3: -h tells why there are no events" \
	grep -q "^no events: .*kernel.perf_event_paranoid is 3" "$out"
same "level 3: -h says nothing of counters that it may not try" "$(grep -c 'counters)\|slots:' "$out")" 0
as_user cputrack -h instr
reports "level 3: -h instr" 1 "^cputrack: .*kernel.perf_event_paranoid is 3"
paranoid 2
as_user cputrack -h
check "level 2: -h has the counters" grep -q ' 7 counters)' "$out"
same "level 2: -h has the slots" "$(sed -n 's/ *slots: //p' "$out")" "pic0 to pic6"
check "level 2: -h has events" [ "$(grep -c '^no events\|^generic events' "$out")" = 1 ]
counted Instr_cnt,armv8_pmuv3/cpu_cycles/,0x08 '1000000 1000000 1000000'
refused ' in kernel mode' 1 cputrack -c Instr_cnt,sys bare
refused ' on a whole CPU' 0 cpustat -c Instr_cnt 0.1 1
as_user test_pmu own_lwp
same "level 2: test_pmu" "$status" 0
paranoid 1
counted Instr_cnt 1000000
as_user cputrack -c Instr_cnt,sys bare
check "level 1: kernel mode, too" [ "$(counts exit)" -gt 1000000 ]
refused ' on a whole CPU' 0 cpustat -c Instr_cnt 0.1 1
paranoid 0
as_user cpustat -c Instr_cnt 0.1 1
same "level 0: whole CPUs" "$status" 0

finish
