#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# System calls that a seccomp(2) profile denies, by any errno: counts are right, or a
# message says why, and nothing was started.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load ../bats/helpers

# For root and for an ordinary user: AS is the command prefix that changes to it.
each_user() {
	AS=()
	"$@"
	[ "$(id -u)" = 0 ] || return 0
	need_reachable "$WORK"
	AS=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${AS[@]}" "$WORK/probe" soft || return 0
	"$@"
}

# denied CALL ERRNO COMMAND...: with status 1 and one line, which becomes $stderr.
denied() {
	go -1 "${AS[@]}" "$WORK/deny" "$@"
	[[ $stderr != *$'\n'* ]]
	[ -z "$output" ]
}

without_perf() {
	local error
	for error in EPERM EACCES ENOSYS; do
		denied perf_event_open $error cputrack -c page-faults echo started
		[[ $stderr =~ perf_event_open\(2\)\ is\ (denied|not\ there) ]]
		"${AS[@]}" "$WORK/probe" cpu >/dev/null || continue
		denied perf_event_open $error cpustat -c page-faults 0.01 1
		[[ $stderr =~ perf_event_open\(2\)\ is\ (denied|not\ there) ]]
	done
}

@test "perf_event_open(2): the reason, and nothing starts" {
	each_user without_perf
}

without_ptrace() {
	local error
	for error in EPERM EACCES ENOSYS; do
		denied ptrace $error cputrack -c page-faults echo started
		[[ $stderr == *"ptrace(2) is not permitted here"* ]]
		denied ptrace $error cputrack -c page-faults -p "${PIDS[program]}"
		[[ $stderr == *"cannot track process ${PIDS[program]}:"* ]]
		sleeping "${PIDS[program]}"
	done
}

@test "ptrace(2): the reason, nothing starts, and no process is harmed" {
	by_ptrace
	need_unsanitized "LeakSanitizer needs ptrace(2) itself"
	start program "$WORK/thread-pool" 3
	eventually said program ready
	each_user without_ptrace
}

@test "the kernel engine works without ptrace(2)" {
	need_unsanitized "LeakSanitizer needs ptrace(2) itself"
	by_kernel
	for error in EPERM EACCES ENOSYS; do
		go -0 "$WORK/deny" ptrace $error cputrack -fe -T 0 -c page-faults "$WORK/exact" fork
		[ -z "$stderr" ]
		[ "$(ROWS=<(echo "$output") sum_of exit)" -eq $((7 * 7 + 11)) ]
	done
}

with_less() {
	local call error
	for call in bpf process_vm_readv pidfd_open sched_getaffinity sched_setaffinity; do
		for error in EPERM EACCES ENOSYS; do
			go -0 "${AS[@]}" "$WORK/deny" $call $error cputrack -fe -T 0 \
				-c breakpoint/addr=lib_called/ "$WORK/symbols" 7 2
			[ -z "$stderr" ]
			[ "$(table <(echo "$output") | awk '$3 == "exit" { print $4 }')" = 28 ]
		done
	done
}

@test "calls that have a substitute: exact counts" {
	need breakpoint
	each_user with_less
}

@test "cpustat reports that it cannot list its CPUs" {
	need cpu
	AS=()
	for error in EPERM EACCES ENOSYS; do
		denied sched_getaffinity $error cpustat -c page-faults 0.01 1
		[[ $stderr == "cpustat: cannot get the affinity mask: "* ]]
	done
}
