#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The events of the scheduler: run-delay, preemptions and preemptions-by-others.

# shellcheck disable=SC2154 # run sets status, output, stderr

load helpers

need_waits() {
	need_keys
	[ -e /proc/self/schedstat ] || skip "this kernel does not measure waits (CONFIG_SCHED_INFO)"
}

@test "known waits and preemptions of LWPs and commands" {
	need_waits
	cp "$BATS_DIR/../vm/"{check,waits}.sh "$BATS_DIR/tables.sh" "$T"
	cd "$T"
	PATH=$WORK:$PATH TMPDIR=$T go -0 ./waits.sh
}

@test "each CPU: what waited there, and ratios of waits" {
	need_waits
	need cpu
	local cpu
	cpu=$(cpus | tail -n1)
	start one taskset -c "$cpu" "$WORK/spin" 99
	start two taskset -c "$cpu" "$WORK/spin" 99
	go -0 cpustat --shared --format=json -O "$T/record" -c busy-time,run-delay,preemptions 0.2 5
	kill "${PIDS[one]}" "${PIDS[two]}"
	finish one
	finish two
	# One of both waits all the time, but for a wait that has not ended yet.
	jq -e -s --argjson cpu "$cpu" 'map(select(.kind == "tick" and .cpu == $cpu).counts) |
		(map(.["run-delay"]) | add) > 0.7e9 and (map(.preemptions) | add) >= 2' "$T/record"
	go -0 cpustat -I "$T/record" --format=openmetrics
	grep -q '^cpc_events_seconds_total{event="run-delay",cpu="' <<<"$output"
	grep -q '^cpc_events_total{event="preemptions",cpu="' <<<"$output"
	go -0 cputrack --format=json -o "$T/share" -c wait-share "$WORK/spin" 0.05
	jq -e -s 'map(select(.kind == "exit"))[0] | (.counts["run-delay"] / (.counts["run-delay"] + .counts["task-clock"])
		* 100 - .ratios["wait-share"]) | fabs < 1e-9' "$T/share"
}

@test "where they cannot be counted: the reason" {
	mistake 1 "'run-delay' requires counting in the kernel, as the stops of ptrace(2) cause waits: --engine=ptrace cannot" \
		cputrack --engine=ptrace -c run-delay true
	mistake 1 "cannot count 'preemptions-by-others': it is counted only by cgroup, user, command or the like" cputrack -c preemptions-by-others true
	need cpu
	mistake 1 "cannot count 'preemptions-by-others': it is counted only by cgroup, user, command or the like" \
		cpustat --shared -c preemptions-by-others 0.1 1
}
