#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# hotplug.sh - CPUs that go offline and return while cpustat counts them; run as root.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for awk
. ./check.sh

last=$(($(nproc) - 1)) # the CPU that goes
all=$(nproc)

online() {
	echo "$2" >"/sys/devices/system/cpu/cpu$1/online"
}

# The table has at least N rows of CPU: rows CPU N
rows() {
	[ "$(awk -v cpu="$1" '$3 == "tick" && $2 == cpu' "$out" | wc -l)" -ge "$2" ]
}

until_rows() {
	until rows "$1" "$2"; do
		sleep 0.05
	done
}

# The number of rows of CPU so far: n_rows CPU
n_rows() {
	awk -v cpu="$1" '$3 == "tick" && $2 == cpu' "$out" | wc -l
}

# Rows of one sample have one time and ascending CPUs.
sorted() {
	awk '$3 == "tick" {
		if ($1 == time && $2 <= cpu) { print; bad = 1 }
		time = $1; cpu = $2
	} END { exit bad }' "$out"
}

said() {
	grep -qx "cpustat: $1" "$err"
}

until_said() {
	until said "$1"; do
		sleep 0.05
	done
}

gone="cpu$last - the CPU went offline"
back="cpu$last - counted again"

# begin CPU ARGUMENT...: cpustat in the background, which has two rows of CPU by now.
begin() {
	: >"$out"
	first=$1
	shift
	cpustat "$@" >"$out" 2>"$err" &
	pid=$!
	until_rows "$first" 2
}

# Wait until it ends by itself.
await() {
	status=0
	wait $pid || status=$?
}

# End it by a signal.
end() {
	kill -INT $pid
	await
}

# ---- gone for good ------------------------------------------------------------
begin $last -c page-faults,context-switches 0.1
online $last 0
until_said "$gone"
before=$(n_rows $last) others=$(n_rows 0)
until_rows 0 $((others + 5))
same "offline: no more rows of that CPU" "$(n_rows $last)" "$before"
end
same "offline: it ends by the signal" $status 130
same "offline: one message" "$(cat "$err")" "cpustat: $gone"
check "offline: rows are sorted" sorted
check "offline: totals are the sums of all known counts" check_totals "$out" $((all - 1))
same "offline: one total, incomplete" "$(grep -c 'total.*# incomplete$' "$out")" 1

# ---- offline at the start, online later: it is not counted ---------------
cpustat -c page-faults 0.1 10 >"$out" 2>"$err" &
pid=$!
until_rows 0 2
online $last 1
await
same "late: status" $status 0
same "late: no message" "$(cat "$err")" ""
same "late: no rows" "$(n_rows $last)" 0
check "late: totals" check_totals "$out" $((all - 1))

# ---- gone and back, to the end ------------------------------------------------------
begin $last -c page-faults,context-switches 0.1 40
online $last 0
until_said "$gone"
before=$(n_rows $last) others=$(n_rows 0)
until_rows 0 $((others + 5))
same "back: no rows in between" "$(n_rows $last)" "$before"
online $last 1
until_rows $last $((before + 3))
await
same "back: status" $status 1
same "back: messages" "$(cat "$err")" "cpustat: $gone
cpustat: $back"
same "back: as many samples as asked for" "$(n_rows 0)" 40
check "back: rows are sorted" sorted
check "back: totals are the sums of all known counts" check_totals "$out" "$all"
same "back: incomplete" "$(grep -c 'total.*# incomplete$' "$out")" 1
# Its counts start from 0: it was online for at most the interval when it was bound.
check "back: counts of an interval only" \
	awk '$3 == "tick" && $5 > 5000 { print; bad = 1 } END { exit bad }' "$out"

# ---- the same, by several specs in turns, with hardware counters -----------------------
begin $last -c CPU_CYCLES,page-faults -c INST_RETIRED,INST_RETIRED,nouser1,sys1 0.05 60
online $last 0
until_said "$gone"
others=$(n_rows 0)
until_rows 0 $((others + 4))
online $last 1
until_said "$back"
before=$(n_rows $last)
until_rows $last $((before + 4))
await
same "turns: status" $status 1
same "turns: messages" "$(cat "$err")" "cpustat: $gone
cpustat: $back"
check "turns: totals" check_totals "$out" "$all"
same "turns: rows" "$(n_rows 0)" 60
check "turns: counts" awk '$3 == "total" { n += $4 > 0 } END { exit n != 2 }' "$out"

# ---- off and on again in the last interval: a message says so, too -------------------------
begin 0 -c page-faults,INST_RETIRED 1
online $last 0
online $last 1
end
same "last interval: it ends by the signal" $status 130
same "last interval: incomplete" "$(grep -c 'total.*# incomplete$' "$out")" 1
same "last interval: one message" "$(grep -c . "$err")" 1
check "last interval: which names the CPU" grep -q "^cpustat: cpu$last - " "$err"

# ---- all CPUs in one row ---------------------------------------------------------------
begin all -A all -m -c page-faults,context-switches 0.1 30
online $last 0
until_said "$gone"
online $last 1
await
same "all: status" $status 1
same "all: messages" "$(cat "$err")" "cpustat: $gone
cpustat: $back"
same "all: one row per sample" "$(grep -c 'all  tick' "$out")" 30
check "all: what lacks a CPU says so" grep -q 'all  tick .*# incomplete$' "$out"
check "all: means and sums" awk -v cpus="$all" '
	$3 == "tick" { for (i = 4; i < 6; i++) sum[i] += $i * (cpus - /incomplete/) }
	$3 == "total" { for (i = 4; i < 6; i++) if ($i - sum[i] > 1 || sum[i] - $i > 1) bad = 1 }
	END { exit bad }' "$out"

# ---- divided among commands ------------------------------------------------------------
if cpustat -A command -c page-faults 0.05 1 >"$out" 2>"$err"; then
	: >"$out"
	cpustat -A command -c page-faults,INST_RETIRED 0.1 40 >"$out" 2>"$err" &
	pid=$!
	until grep -q cpustat "$out"; do sleep 0.05; done
	online $last 0
	until_said "$gone"
	online $last 1
	until_said "$back"
	taskset -c $last touch-pages 1000
	await
	same "commands: status" $status 1
	same "commands: messages" "$(grep -v "did not report" "$err")" "cpustat: $gone
cpustat: $back"
	check "commands: counted after the return" awk '$2 == "touch-pages" { n += $4; bad += /incomplete/ }
		END { exit n < 1000 || bad }' "$out"
	check "commands: the total is incomplete" grep -q 'all .*total.*# incomplete$' "$out"

	# A CPU that comes online later runs commands, too.
	online $last 0
	: >"$out"
	cpustat -A command -c page-faults 0.1 40 >"$out" 2>"$err" &
	pid=$!
	until grep -q cpustat "$out"; do sleep 0.05; done
	online $last 1
	until_said "cpu$last - came online, and is counted from now on"
	taskset -c $last touch-pages 1000
	await
	same "commands, late: status" $status 1
	check "commands, late: counted" awk '$2 == "touch-pages" { n += $4; bad += /incomplete/ }
		END { exit n < 1000 || bad }' "$out"
else
	check "commands: no BPF here" grep -q "built without BPF" "$err"
fi

# ---- the schedule, where nothing disturbs it --------------------------------------------
run cpustat -c sched:sched_switch 0.01 500
same "500 samples: status" $status 0
same "500 samples: on each CPU" "$(grep -c ' tick ' "$out")" $((500 * all))
check "500 samples: none is missing, none drifts" awk -v cpus="$all" '$3 == "tick" {
	n = int(rows++ / cpus) + 1
	if ($1 < n / 100 - 0.0005 || $1 >= (n + 1) / 100) exit bad = 1
} END { exit bad }' "$out"
check "500 samples: totals" check_totals "$out" "$all"

finish
