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
	mistake 2 "unknown option '--xyzzy'; cputrack -h lists the options" cputrack --xyzzy true
	mistake 2 "unknown option '-q'; cpustat -h lists the options" cpustat -q 1 1
	mistake 2 "ambiguous option '--fol': it can be --follow-exec, --follow-fork" cputrack --fol true
	mistake 2 "unknown option '-e'; use -c for events" cpustat -e page-faults 1 1
	mistake 2 "unknown option '--agregate' (did you mean '--aggregate'?)" cpustat --agregate all
	mistake 0 "-N has no effect: it counts samples, and -T 0 takes no samples" cputrack -N 5 -T 0 -c page-faults true
	mistake 0 "'-c page-faults' is an option of 'true' here" cputrack true -c page-faults
	mistake 2 "invalid --for '10x': expected seconds from 0.001 to 1000000, or a time such as 100ms" cputrack --for 10x true
	mistake 2 "invalid -T '100ms': expected u or d; an interval is an argument without -T" cpustat -T 100ms 1 1
	mistake 2 "unsupported -O -: --format=json prints a record" cputrack -O - true
	go -0 cputrack sh -c true
	[ -z "$stderr" ]
	go -0 cputrack -c page-faults true -c page-faults
	[ -z "$stderr" ]
}

@test "commands" {
	mistake 2 "'page-faults' is an event, not a program" cputrack -e page-faults true
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
	mistake 2 "unknown event 'cpu-wait' (did you mean 'run-delay'?)" cputrack -c cpu-wait true
	mistake 2 "unknown event 'steal' (did you mean 'run-delay'? it counts waits inside this machine; vmstat(8) shows" \
		cpustat -c steal 1
	mistake 2 "unknown event 'throttled' (did you mean 'throttled-time'?)" cpustat --by=service -c throttled 1
	mistake 1 "cannot count 'throttled-time': it is counted only by cgroup, service or container" \
		cputrack -c throttled-time true
	go -2 cpustat -c malloc
	[ "$stderr" = "cpustat: unknown event 'malloc'; cpustat -h lists the events" ]
}

@test "options and words of other tools" {
	mistake 2 "unknown option '-a'; --all tracks all processes" cputrack -a ls
	mistake 2 "unknown option '-x'; --format=csv separates columns" cputrack -x, ls
	mistake 2 "unknown option '--json=x'; --format=json does that" cputrack --json=x ls
	mistake 2 "unknown option '--per-thread'; --by=lwp has a row for each thread" cputrack --per-thread ls
	mistake 2 "unknown option '-a'; all CPUs are counted without it" cpustat -a
	mistake 2 "unknown option '--cgroup=foo'; --by=cgroup has a row for each cgroup" cpustat --cgroup=foo
	mistake 2 "unknown option '--tree'; cputrack has rows for processes" cpustat --tree 1 1
	mistake 2 "unknown option '-A'; cpustat -A has sums of the whole machine" cputrack -A service ls
	mistake 2 "unknown option '--interval'; the interval is an argument" cpustat --interval 1
	mistake 2 "unknown option '--uid'; --user=USER tracks the processes of a user" cputrack --uid root
	mistake 2 "unknown option '--uid'; --by=user has a row for each user" cpustat --uid root 1
	mistake 2 "invalid interval 'list': -h lists the events" cpustat list
	mistake 2 "invalid event spec 'page-faults,': missing event after the last comma; write the list without blanks" \
		cputrack -c page-faults, task-clock true
	mistake 2 "invalid event spec 'page-faults,': missing event" cpustat -c page-faults, task-clock 1 1
	mistake 2 "unknown option '-C'; --cpus=0,2-5 counts these CPUs" cpustat -C 0 1 1
	mistake 2 "invalid argument '--human': options come before the interval" cpustat 1 1 --human
	mistake 2 "unsupported -A lwp and process: cpustat counts CPUs; use cputrack --all --by=lwp" cpustat -A process 1 1
	mistake 2 "unsupported --by lwp and process: cpustat counts CPUs; use cputrack --all --by=lwp" cpustat --by=pid 1 1
	mistake 2 "cannot read '100': -I shows a record; -T sets the interval, in seconds" cputrack -I 100 ls
	mistake 2 "cannot read '100': -I shows a record; -T sets the interval, in seconds" cputrack -I 100 -p 1
	mistake 2 "cannot read '100': -I shows a record; the interval is an argument" cpustat -I 100
	mistake 2 "-I shows a record, without a command" cputrack -I 100x ls
	mistake 2 "unknown option '-d'; -c adds events, and -D describes them" cputrack -d ls
	mistake 2 "unknown option '--detailed'; -c adds events, and -D describes them" cpustat --detailed 1 1
	mistake 2 "unknown option '-d'; the interval is an argument" cpustat -d 1
	mistake 2 "unknown option '-M'; -c counts ratios, too, such as -c ipc" cputrack -M ipc ls
	mistake 2 "unknown option '-B'; --human shortens large counts" cputrack -B ls
	mistake 2 "unknown option '-g'; ovfprof -c counts by callers" cputrack -g ls
	mistake 2 "unknown option '-G'; --cgroup=CGROUP tracks" cputrack -G foo ls
	mistake 2 "unknown option '--per-core'; cpustat -A core has" cputrack --per-core ls
	mistake 2 "unknown option '--per-core'; -A core has" cpustat --per-core 1 1
	mistake 2 "unknown option '--threads'; --by=lwp has a row for each thread" cputrack --threads ls
	mistake 2 "unknown option '-r'; cputrack -r repeats a command" cpustat -r 5 ls
	mistake 2 "unknown option '--log-fd=3'; -o /dev/fd/N writes to a file descriptor" cputrack --log-fd=3 ls
	mistake 2 "unknown --format 'prometheus' (did you mean 'openmetrics'?)" cputrack --format=prometheus ls
	mistake 2 "unknown --format 'CSV' (did you mean 'csv'?)" cpustat --format=CSV 1 1
	mistake 2 "unknown --format 'yaml': expected table, csv, json, openmetrics or trace" cpustat --format=yaml
	mistake 2 "unsupported --by 'numa': --by=cpu -A node has a row for each" cpustat --by=numa 1 1
	mistake 2 "cannot start '1': -p tracks running processes, several as in -p 17,18; -T 1 sets the interval, -N" \
		cputrack -p 1 1 2
	mistake 2 "cannot start '0.5': --all tracks running processes; -T 0.5 sets the interval" cputrack --all 0.5
	mistake 2 "either a command or -p, not both; --for=SECS stops counting, -T sets the interval" cputrack -p 1 ls 1
	mistake 2 "invalid count 'page-faults': -c selects events; cputrack counts commands" cpustat 1 page-faults
	mistake 2 "unknown option '--service=foo'; --cgroup=CGROUP tracks" cputrack --service=foo
	mistake 2 "unknown option '--container'; --by=container has a row for each container" cpustat --container 1
	mistake 2 "unknown option '--runs=3'; -r RUNS repeats the command" cputrack --runs=3 ls
	mistake 2 "unknown option '--prometheus'; --format=openmetrics does that" cputrack --prometheus ls
	mistake 2 "unknown option '--prometheus'; --listen=ADDRESS:PORT serves" cpustat --prometheus 1
	mistake 2 "cannot start 'sleep 3': -p tracks running processes; --for=3 counts them for that time" \
		cputrack -p 1 sleep 3
	mistake 2 "cannot start 'sleep 0.5m': --all tracks running processes; --for=0.5m counts" cputrack --all -- sleep 0.5m
	mistake 2 "either a command or -p, not both" cputrack -p 1 sleep 1 2
	mistake 2 "only one of a command, -p, --all, --cgroup and --user" cputrack --all ls
	mistake 2 "there is no program '5'; -p tracks a process, -T sets the interval" cputrack -n 5 ls
	mistake 2 "env(1) sets variables: cputrack env LC_ALL=C COMMAND" cputrack LC_ALL=C ls
	mistake 2 "there is no program 'trace=open'; events are given by -c" cputrack -e trace=open ls
	mistake 2 "there is no program 'list'; cputrack -h lists options and events" cputrack list
	mistake 2 "-N the number of samples, --delay the start" cputrack -D 1000 ls
	mistake 2 "invalid -r 'ls': expected a number from 1 to 1000000" cputrack -r ls
	mistake 2 "invalid -T '1x': expected 0, seconds" cputrack -T 1x ls
	mistake 2 "unsupported -A lwp and process" cpustat -A thread 1 1
	mistake 2 "unsupported -A lwp and process" cpustat -A pid 1 1
	mistake 2 "there is no program 'record'; -O FILE makes a record" cputrack record ls
	mistake 2 "sh -c 'ls -l /'" cputrack 'ls -l /'
	mistake 2 "invalid --compare 'true': it is a program, not a record" cputrack -r 2 --compare true
	mistake 2 "nothing to track: expected a command, -p, --all, --cgroup or --user" cputrack -c page-faults
	go -0 cputrack --by=pid -c page-faults true
	[[ ${lines[0]} == *" comm page-faults  share" ]]
	[[ ${lines[0]} == *pid* ]]
	go -0 cputrack --by=tid -c page-faults true
	[[ ${lines[0]} == *lwp* ]]
	need cpu
	go -0 cpustat -n -A cpu -c page-faults 0.02 1
	[ "$(awk '$3 == "tick"' <<<"$output" | wc -l)" = "$(cpus | wc -l)" ]
}

@test "cpcplot writes pictures by -o" {
	mistake 2 "invalid argument 'counts.png': -o FILE writes a picture or page" cpcplot run.json counts.png
	mistake 2 "invalid argument '--png': -o FILE writes a picture or page" cpcplot --png run.json
	mistake 2 "too many files: 'a.json' and 'b.json': a picture is of one" cpcplot a.json b.json
	mistake 2 "unknown option '--watch'; cpcplot -h lists the options" cpcplot --watch run.json
	mistake 2 "invalid choice: 'pid' (choose from" cpcplot -b pid run.json
	mistake 2 "argument -o/--output: expected one argument; cpcplot -h lists the options" cpcplot run.json -o
	mistake 1 "/dev/null: empty file: expected csv or json of cputrack or cpustat" cpcplot /dev/null
}

@test "words of other tools for events" {
	local name
	for name in time cpu load user; do
		mistake 2 "unknown event '$name' (did you mean 'task-clock'?)" cputrack -c "$name" true
	done
	mistake 2 "unknown event 'wakeups' (did you mean the tracepoint 'sched:sched_wakeup'? it counts for the LWP that wakes another one; context-switches and run-delay count for the one that waited)" \
		cputrack -c wakeups true
	mistake 2 "unknown event 'Cycles_user' (did you mean 'Cycle_cnt'? it counts user mode, if neither sys nor nouser is given)" \
		cputrack -c pic0=Cycles_user,pic1=Instr_cnt true
	mistake 2 "unknown event 'instr' (did you mean 'instructions'?)" cputrack -c pic1=instr true
	mistake 2 "unknown event 'kernel' (did you mean 'sys'?)" cputrack -c page-faults,kernel true
	mistake 2 "unknown event 'LLC-misses' (did you mean 'cache-misses'?)" cputrack -c LLC-misses true
	mistake 2 "unknown event 'energy-pkg' (did you mean 'power/energy-pkg/'?)" cpustat -c energy-pkg 1 1
	mistake 2 "unknown event '{faults': the events of a -c count together, without braces" \
		cputrack -c '{faults,cs}' true
	mistake 2 "unknown event '*'; cputrack -h lists the events" cputrack -c '*' true
	mistake 2 "did you mean the tracepoint 'signal:signal_generate'?" cpustat -c page-faults,signals 1 1
	mistake 2 "did you mean the tracepoint 'raw_syscalls:sys_enter'?" cputrack -c syscalls true
	printf '#!/bin/sh\n' >"$T/zwqx"
	chmod +x "$T/zwqx"
	PATH=$T:$PATH mistake 2 "unknown event 'zwqx': it is a program, and -c is for events" cputrack -c zwqx true
	PATH=$T:$PATH mistake 2 "unknown event 'zwqx'" cpustat -c zwqx 1 1
}

@test "kinds of events of other tools" {
	mistake 2 "(did you mean 'sched:sched_switch'?)" cputrack -c tracepoint:sched:sched_switch true
	mistake 2 "(did you mean 'faults'?)" cpustat -c software:faults 1 1
	mistake 2 "(did you mean 'cache-misses'?)" cputrack -c hardware:cache-misses true
	mistake 2 "(did you mean 'sdt//lib/libc.so.6:libc:setjmp/'?)" cputrack -c usdt:/lib/libc.so.6:libc:setjmp true
	mistake 2 "(did you mean 'uprobe/func=/bin/bash:readline/'?)" cputrack -c uprobe:/bin/bash:readline true
	mistake 2 "functions of the kernel cannot be counted, but tracepoints" cpustat -c kprobe:vfs_read 1 1
	mistake 2 "unknown event 'uprobe:'; cputrack -h lists the events" cputrack -c uprobe: true
}

@test "an event of a PMU without the PMU" {
	local file=(/sys/bus/event_source/devices/msr/events/tsc)
	[ -e "${file[0]}" ] || skip "this machine has no msr/tsc/"
	mistake 2 "unknown event 'tsc' (did you mean 'msr/tsc/'?)" cpustat -c tsc 1 1
}

@test "what has a meaning elsewhere has it here" {
	local counts by
	for by in cmd program comm; do
		go -0 cputrack --by="$by" -c page-faults true
		[[ ${lines[0]} == *" comm "* ]]
	done
	go -0 cputrack --by=uid --for=1min -c page-faults true
	[[ ${lines[0]} == *user* ]]
	go -0 cputrack -c page-faults -T 100ms --for 1m -o - true
	[ "$(awk '$3 == "exit"' <<<"$output" | wc -l)" = 1 ]
	[ ! -e - ]
	go -0 cputrack -V
	[ "$output" = "$(cputrack --version)" ]
	# the titles of columns are events
	go -0 cputrack -T 0 -c page-faults:uk,page-faults:u:k,page-faults:ku,sys "$WORK/touch-pages" 1000
	read -ra counts <<<"$(awk '$3 == "exit" { print $4, $5, $6 }' <<<"$output")"
	[ "${counts[0]}" -ge 1000 ]
	[ "${counts[0]} ${counts[0]}" = "${counts[1]} ${counts[2]}" ]
}

@test "a -c whose turn never came" {
	mistake 0 "not counted: 'dummy' (its turn never came): each -c counts for one interval" \
		cputrack -c page-faults -c dummy true
	need cpu
	mistake 0 "not counted: 'dummy' (its turn never came): each -c counts for one interval" \
		cpustat -c page-faults -c dummy 0.02 1
	[ "$(awk '$3 == "total" && /dummy/ { print $4 }' <<<"$output")" = - ]
	go -0 cpustat -c page-faults -c dummy 0.02 2
	[ -z "$stderr" ]
}

@test "cpustat -p is a time" {
	need cpu
	start sleeper cat
	if [ "${PIDS[sleeper]}" -gt 100 ]; then
		go -0 cpustat -p "${PIDS[sleeper]}" -c page-faults 0.01 1
		[ "$stderr" = "cpustat: -p ${PIDS[sleeper]} is a time in seconds, for several -c; cputrack -p ${PIDS[sleeper]} counts that process" ]
	fi
	hang_up sleeper
	finish sleeper
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
	mistake 2 "did you mean the tracepoint 'sched:*'?" "${TRACEFS[@]}" cputrack -c sched true
	mistake 2 "did you mean the tracepoint 'raw_syscalls:sys_enter'?" "${TRACEFS[@]}" cputrack -c syscalls true
	for name in syscall:openat syscalls:openat; do
		mistake 2 "unknown event '$name' (did you mean 'syscalls:sys_enter_openat'?)" \
			"${TRACEFS[@]}" cputrack -c "$name" true
	done
	mistake 2 "(did you mean 'sched:sched_switch'?)" "${TRACEFS[@]}" cputrack -c sched:switch true
}
