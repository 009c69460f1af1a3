#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cputrack -p: processes to which it cannot attach, and the messages.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need attach
}

teardown() {
	[ -z "${FREEZER-}" ] || echo THAWED >"$FREEZER/freezer.state"
	common_teardown
	[ -z "${FREEZER-}" ] || rmdir "$FREEZER"
}

# cputrack -p $1 is refused: status 1, and one line that matches $2.
refused() {
	go -1 cputrack -c page-faults -p "$1"
	[ -z "$output" ]
	# shellcheck disable=SC2154 # from run
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ ${stderr_lines[0]} == cputrack:* ]]
	grep -Eiq -- "$2" <<<"$stderr"
}

@test "no such process" {
	refused 2147483646 'no such process'
}

@test "a zombie" {
	start zombie "$WORK/zombie"
	eventually grep -q ready "$T/zombie.out"
	refused "$(sed 's/ready //' "$T/zombie.out")" 'zombie|ended'
}

@test "a process that is stopped and then frozen: an attach fails at once" {
	local group=/sys/fs/cgroup/freezer/cpc-$$
	by_ptrace
	need_root
	mkdir "$group" 2>/dev/null || skip "no freezer of cgroup v1 here"
	FREEZER=$group
	start program "$WORK/thread-pool" 3
	eventually said program ready
	echo "${PIDS[program]}" >"$group/cgroup.procs"
	kill -STOP "${PIDS[program]}"
	eventually stopped "${PIDS[program]}"
	echo FROZEN >"$group/freezer.state"
	eventually grep -qx FROZEN "$group/freezer.state"
	refused "${PIDS[program]}" 'stopped, and its cgroup is frozen'
	echo THAWED >"$group/freezer.state"
	go -0 cputrack -T 0.01 -N 1 -c page-faults -p "${PIDS[program]}"
}

@test "/proc of another PID namespace: an error, and none of its processes is taken for ours" {
	need_root
	unshare -pf true || skip "no PID namespaces here"
	go -1 unshare -pf sh -c "sleep 60 & exec cputrack -c page-faults -p \$!"
	[ "$stderr" = "cputrack: cannot track process 2: /proc is not mounted, or it is that of another PID namespace" ]
	by_ptrace
	go -3 unshare -pf cputrack -e -o "$ROWS" -c page-faults sh -c 'exec sh -c "exit 3"'
	rows_of exec | grep -q "# ''\$"
}

@test "/proc of another PID namespace: no symbols" {
	need_root
	need breakpoint
	unshare -pf true || skip "no PID namespaces here"
	go -1 unshare -pf cputrack -c breakpoint/addr=main/ "$WORK/touch-pages" 1
	[[ $stderr == *"symbols are looked up in /proc, which is not mounted"* ]]
}

@test "without /proc: an error says so" {
	need_root
	need_unsanitized "sanitized programs need /proc themselves"
	# shellcheck disable=SC2016 # for the inner shell
	go -1 unshare -m sh -c 'umount -l /proc && exec "$@"' sh cputrack -c page-faults true
	[ "$stderr" = "cputrack: cannot use CPU performance counters: /proc is not mounted" ]
}

@test "a process that is already traced" {
	by_ptrace
	start traced "$WORK/traced-process"
	eventually grep -q ready "$T/traced.out"
	refused "$(sed 's/ready //' "$T/traced.out")" 'traced'
}

@test "a kernel thread" {
	need_root
	[ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ] || skip "no kernel threads are seen here"
	refused 2 'kernel thread'
}

@test "itself" {
	# shellcheck disable=SC2016 # for the inner shell
	go -1 sh -c 'exec cputrack -c page-faults -p $$'
	[ -z "$output" ]
	[[ ${stderr_lines[0]} == cputrack:* ]]
	grep -iq 'itself' <<<"$stderr"
}
