#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# For a command line that cannot be meant as written, the message suggests the right one.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
}

@test "options" {
	mistake 2 "unknown option '--follow-exek' (did you mean '--follow-exec'?)" cputrack --follow-exek true
	mistake 2 "unknown option '--xyzzy'" cputrack --xyzzy true
	mistake 2 "ambiguous option '--fol': it can be --follow-exec, --follow-fork" cputrack --fol true
	mistake 2 "unknown option '-e'; use -c for events" cpustat -e page-faults 1 1
	mistake 2 "unknown option '--agregate' (did you mean '--aggregate'?)" cpustat --agregate all
	mistake 0 "-N counts samples, of which -T 0 takes none" cputrack -N 5 -T 0 -c page-faults true
	mistake 0 "'-c page-faults' is an option of 'true' here" cputrack true -c page-faults
	go -0 cputrack sh -c true
	[ -z "$stderr" ]
	go -0 cputrack -c page-faults true -c page-faults
	[ -z "$stderr" ]
}

@test "commands" {
	mistake 2 "'page-faults' is an event, and no program" cputrack -e page-faults true
	mistake 2 "'page-faults,task-clock' is an event" cputrack -e page-faults,task-clock true
	mistake 2 "sh -c 'ls | wc'" cputrack 'ls | wc'
	mistake 127 "cannot find program 'no-such-program'" cputrack no-such-program
	mistake 2 "invalid interval 'sleep': cpustat counts CPUs; cputrack counts commands" cpustat sleep 1
	# a program may be called like an event
	ln -s "$(type -P true)" "$T/page-faults"
	PATH=$T:$PATH go -0 cputrack page-faults
	[ -z "$stderr" ]
	ln -s "$(type -P true)" "$T/a b"
	PATH=$T:$PATH go -0 cputrack 'a b'
}

@test "events" {
	mistake 2 "unknown event 'malloc'; calls of a function: uprobe/func=malloc/" cputrack -c malloc true
	mistake 2 "did you mean 'uprobe/func=malloc/'?" cputrack -c breakpoint:malloc true
	mistake 2 "did you mean 'page-faults'?" cputrack -c page_faults true
	go -2 cpustat -c malloc
	[ "$stderr" = "cpustat: unknown event 'malloc'" ]
}

@test "a tracepoint without its system" {
	local name
	need_tracepoints syscalls/sys_enter_openat sched/sched_switch
	set_tracefs
	for name in openat sys_enter_openat; do
		mistake 2 "unknown event '$name' (did you mean the tracepoint 'syscalls:sys_enter_openat'?)" \
			"${TRACEFS[@]}" cputrack -c "$name" true
	done
	mistake 2 "did you mean the tracepoint 'sched:sched_switch'?" "${TRACEFS[@]}" cputrack -c sched_switch true
}
