#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# losses.sh - what may keep the engine in the kernel from counting: programs that take the counters,
# CPUs that go and come, memory that is not there.  What it then shows is right, or said to be
# not; as root, on two CPUs.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for awk and other shells
. ./check.sh

engine=--engine=kernel

said() {
	grep -q "^cputrack: [0-9]* LWPs* w[aser]* not counted all the time: $1" "$err"
}

# ---- counters that another program takes: opened before ours, and enabled later ---------
run hold-counters -d 2 cputrack $engine -fe -T 0 -c page-faults,Instr_cnt \
	sh -c 'loop 1000; sleep 4; loop 1000; exit 3'
same "taken: the exit status" "$status" 1
check "taken: it is reported" said "another program took the counters"
before=$(awk '$4 == "exit" { print $6; exit }' "$out")
check "taken: what had ended before is right" [ "$before" -gt 2000 ]
same "taken: what ran later is incomplete" \
	"$(awk '$4 == "exit" && NR > 1' "$out" | grep -vc '# incomplete$')" 1
same "taken: no count of those is shown as right" \
	"$(awk '$4 == "exit" && !/# incomplete$/ && $6 != '"$before" "$out" | wc -l)" 0

# ---- CPUs that go and come -----------------------------------------------------------------
last=$(($(nproc) - 1))

online() {
	echo "$1" >/sys/devices/system/cpu/cpu$last/online
}

echo 0 >/proc/sys/kernel/randomize_va_space
mkfifo in

# The crowd does N rounds; it has said so: rounds N
rounds() {
	want=$(($(grep -c '^done' /tmp/crowd) + $1))
	printf "%$1s" '' | tr ' ' g >&3
	until [ "$(grep -c '^done' /tmp/crowd)" = $want ]; do sleep 0.05; done
}

crowd() {
	thread-pool -p 5 4 <in >/tmp/crowd &
	pid=$!
	exec 3>in
	until grep -q ready /tmp/crowd; do sleep 0.05; done
	rounds 1 # which touches the stacks
	: >"$out"
	cputrack $engine -v -T 0 -c page-faults,Instr_cnt -p $pid >"$out" 2>"$err" 3>&- &
	tracker=$!
	until grep -q init_lwp "$out"; do sleep 0.05; done
}

end_of_crowd() {
	exec 3>&-
	status=0
	wait $tracker || status=$?
	wait
}

# Each thread has its 5 faults in each of N rounds, or no counts at all; the first that ends has a
# few more: right_or_none N
right_or_none() {
	awk -v n="$1" '$3 == "lwp_exit" { lwps++; more += $4 > 5 * n; less += $4 != "-" && $4 < 5 * n }
		END { exit lwps != 4 || more > 1 || less > 0 }' "$out"
}

crowd
rounds 2
online 0
rounds 2
end_of_crowd
check "offline: all is right, or not shown" right_or_none 4
online 1

crowd
rounds 2
online 0
online 1
taskset -ap $((1 << last)) $pid >/dev/null
rounds 2
end_of_crowd
same "offline and back: the exit status" "$status" 1
check "offline and back: it is reported" said "another program took the counters of a CPU, or it was put"
same "offline and back: no counts are known" "$(grep -c 'lwp_exit.* -  *- *$' "$out")" 4
same "offline and back: the total is incomplete" "$(grep -c ' exit .*# incomplete$' "$out")" 1

online 0
crowd
rounds 2
online 1
taskset -ap $((1 << last)) $pid >/dev/null
rounds 2
end_of_crowd
same "online later: the exit status" "$status" 1
same "online later: no counts are known" "$(grep -c 'lwp_exit.* -  *- *$' "$out")" 4

while [ ! -e /tmp/calm ]; do
	online 0
	online 1
done &
run cputrack $engine -f -T 0 -c page-faults forks -p 5 200
: >/tmp/calm
wait
same "in a storm: all processes" "$(grep -c ' exit ' "$out")" 201
same "in a storm: complete processes have the same faults" \
	"$(awk '$4 == "exit" && !/# incomplete$/ { print $5 }' "$out" | sed '$d' | sort -u | wc -l)" 1
check "in a storm: a message says so, or nothing is missing" \
	[ "$status" = "$(grep -q incomplete "$out" && echo 1 || echo 0)" ]

# ---- no memory for the task storage of an LWP -----------------------------------------------
cg=/tmp/cgroup

# starve FORKS EXECS COMMAND...: which is tracked, and the kernel has no memory to know its LWPs by.
starve() {
	forks=$1 execs=$2
	shift 2
	mkdir -p $cg/small
	sh -c 'read line; exec "$@"' sh "$@" <in &
	pid=$!
	exec 3>in
	: >"$out"
	# What the kernel has for its maps is charged to where they were made.
	sh -c 'echo $$ >'$cg'/small/cgroup.procs
		exec cputrack '$engine' -fe -T 0 -c page-faults -p '$pid >"$out" 2>"$err" 3>&- &
	tracker=$!
	until grep -q '' "$out"; do sleep 0.05; done
	while read -r process; do
		echo "$process" >$cg/cgroup.procs
	done <$cg/small/cgroup.procs
	# Each CPU keeps pages that were freed there, some even later, for the cgroup: take them, too.
	while kill -0 $tracker; do
		echo 0 >$cg/small/memory.max
		sleep 0.05
	done 2>/dev/null 3>&- &
	echo >&3
	exec 3>&-
	status=0
	wait $tracker || status=$?
	wait
	same "no memory: $1: rows of all forks, execs and exits" \
		"$(grep -c ' fork ' "$out") $(grep -c ' exec  *# ' "$out") $(grep -c ' exit ' "$out")" \
		"$forks $execs $((forks + 1))"
	same "no memory: $1: the exit status" "$status" 1
	check "no memory: $1: a message says so" said "the kernel had no memory"
	check "no memory: $1: of them, too" grep -q ' exit .*# incomplete$' "$out"
	rmdir $cg/small
}

mkdir $cg
if mount -t cgroup2 nodev $cg && echo +memory >$cg/cgroup.subtree_control; then
	starve 400 1 forks -j -s 7 400
	# LWPs without task storage have children, and these execute programs: one
	# after the other, so that there are not too many of them.
	mkfifo token
	starve 690 231 sh -c 'exec 4<>token
		i=0
		while [ $i -lt 230 ]; do
			{ read line <&4; forks -s 7 1; echo >&4; } &
			i=$((i + 1))
		done
		echo >&4
		wait'
fi
finish
