#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The choice of the engine, and what both engines guarantee.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # for awk and inner shells; run sets status, output, stderr, lines

load helpers

# counted_by ENGINE [REASON] ARGUMENT...: -D prints that this engine counts a command.
counted_by() {
	local want="cputrack: counts in the kernel (tested on Linux 6.1 to 7.3)"
	[ "$1" = kernel ] || want="cputrack: counts with ptrace(2); not in the kernel: $2"
	[ "$1" = kernel ] || shift
	shift
	track -0 -D -T 0 "$@"
	grep -qxF -- "$want" <<<"$stderr"
	[ "$(count_of exit)" -eq 1 ]
}

@test "the kernel engine is used where it can be; -D prints it" {
	by_kernel
	use_engine auto
	counted_by kernel -c page-faults true
	counted_by kernel -fe -c page-faults,task-clock,dummy true
	track -0 -T 0 -c page-faults true
	[ -z "$stderr" ]
	go -2 cputrack --engine=magic true
	[[ $stderr == "cputrack: --engine is auto, kernel or ptrace; "* ]]
}

@test "ptrace(2) counts what the kernel cannot; only -D prints the reason" {
	by_kernel
	local many why="2 specs can have 63 events at most there"
	many=$(printf ',dummy%.0s' {1..31})
	use_engine auto
	track -0 -D -T 0.5 -c "page-faults$many" -c "dummy$many" true
	grep -q "not in the kernel: $why" <<<"$stderr"
	use_engine kernel
	go -1 cputrack -T 0.5 -c "page-faults$many" -c "dummy$many" touch "$T/ran"
	[ "$stderr" = "cputrack: cannot count in the kernel: $why (--engine=ptrace can)" ]
	[ ! -e "$T/ran" ]
	use_engine auto
	if "$WORK/probe" breakpoint; then
		counted_by ptrace "a symbol without the path of its file is looked up in each process" \
			-c breakpoint/addr=main/ "$WORK/touch-pages" 1
		counted_by ptrace "'breakpoint/addr=0x1000/' would make each process on the machine stop there" \
			-c breakpoint/addr=0x1000/ true
	fi
	if "$WORK/probe" uprobe; then
		counted_by ptrace "a symbol without the path of its file is looked up in each process" \
			-c uprobe/func=main/ "$WORK/touch-pages" 1
		counted_by kernel -c "uprobe/func=$WORK/touch-pages:main/" "$WORK/touch-pages" 1
	fi
}

@test "tracepoints of the scheduler: those of the LWP that runs are counted in the kernel" {
	need_tracepoints sched/sched_switch sched/sched_process_fork sched/sched_process_exec
	by_kernel
	use_engine kernel
	track -0 -f -T 0 -c sched:sched_switch,context-switches "$WORK/pingpong" 500
	every_row exit '$4 == $5 && $4 >= 499' 2
	track -0 -fe -T 0 -c sched:sched_process_fork,sched:sched_process_exec sh -c '/bin/true; exec /bin/true'
	[ $(($(sum_of exit) + $(sum_of exec))) -eq 1 ]
	[ "$({ rows_of exec; rows_of exit; } | awk '{ n += $5 } END { print n }')" = 2 ]
	for event in sched:sched_stat_runtime 'sched:sched_stat_*' 'sched:sched_stat_runtime/runtime>0/'; do
		in_tracefs test -r "$TRACING/events/sched/sched_stat_runtime/id" || continue
		go -1 "${TRACEFS[@]}" cputrack -T 0 -c "$event" true
		[ "$stderr" = "cputrack: cannot count in the kernel: '$event' counts for another LWP than that which runs (--engine=ptrace can)" ]
	done
}

# in_cgroup COMMAND...: while $AT is an empty cgroup, of the hierarchy that perf events know.
in_cgroup() {
	# The kernel removes the hierarchy of the last mount some time after that.
	go -0 unshare -m sh -c 'for i in 1 2 3 4 5 6 7 8 9; do
			[ -e /sys/fs/cgroup/cgroup.procs ] || mount -t cgroup -o perf_event none "${0%/*}" && break
			sleep 0.$i
		done
		mkdir "$0" && "$@"; status=$?; rmdir "$0" && exit $status' "$AT" "$@"
}

@test "cgroup-switches, by both engines: all switches of a process that is alone in its cgroup" {
	local engine
	need_root
	need kernel
	need_command python3
	mkdir "$T/cgroups"
	AT=/sys/fs/cgroup/cpc-switches-$$
	[ -e /sys/fs/cgroup/cgroup.procs ] || AT=$T/cgroups/cpc-switches-$$
	unshare -m sh -c 'test -e /sys/fs/cgroup/cgroup.procs || mount -t cgroup -o perf_event none "$0"' "$T/cgroups" ||
		skip "there are no cgroups here"
	for engine in auto ptrace; do
		use_engine "$engine"
		in_cgroup cputrack -e -T 0 -o "$ROWS" -c cgroup-switches,context-switches sh -c \
			'echo $$ >"$0/cgroup.procs" && exec python3 -c "import time
for i in range(50): time.sleep(0.001)"' "$AT"
		every_row exit '$4 == $5 && $4 >= 50' 1
		in_cgroup cputrack -fe -T 0 -o "$ROWS" -c cgroup-switches,context-switches sh -c \
			'echo $$ >"$0/cgroup.procs" && exec "$1" 500' "$AT" "$WORK/pingpong"
		every_row exit '$5 >= 499 && $4 < $5' 2
	done
}

@test "a build without BPF counts with ptrace(2), and refuses engine and keys with the reason" {
	local at=$CPC_BUILD/tests/bats/without-bpf why="this program was built without BPF"
	[ -d "$at" ] || at=$CPC_BUILD
	[[ $(uname -m) =~ ^(x86_64|aarch64)$ ]] || why="only x86-64 and Arm64 are supported"
	go -0 "$at/cputrack" -D -T 0 -fe -o "$ROWS" -c page-faults "$WORK/forks" -p 3 2
	grep -q "counts with ptrace(2); not in the kernel: $why" <<<"$stderr"
	[ "$(count_of exit)" -eq 3 ]
	go -1 "$at/cputrack" --engine=kernel -c page-faults true
	[ "$stderr" = "cputrack: cannot count in the kernel: $why (--engine=ptrace can)" ]
	go -1 "$at/cpustat" -A service -c page-faults 1 1
	[ "$stderr" = "cpustat: cannot divide the counts by service: $why" ]
}

@test "a user without bpf(2), and an ordinary user, get the same rows by ptrace(2)" {
	for error in EPERM EACCES ENOSYS; do
		go -0 "$WORK/deny" bpf "$error" cputrack -D -T 0 -fe -o "$ROWS" -c page-faults \
			"$WORK/forks" -p 3 2
		grep -q "counts with ptrace(2); not in the kernel: " <<<"$stderr"
		[ "$(count_of exit)" -eq 3 ]
		go -0 "$WORK/deny" bpf "$error" cputrack -T 0 -o "$ROWS" -c page-faults true
		[ -z "$stderr" ]
		go -1 "$WORK/deny" bpf "$error" cputrack --engine=kernel -c page-faults touch "$T/ran"
		[[ $stderr == "cputrack: cannot count in the kernel: "*" (--engine=ptrace can)" ]]
		[ ! -e "$T/ran" ]
	done
	need_root
	need_reachable "$WORK"
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${nobody[@]}" "$WORK/probe" soft || skip "an ordinary user cannot do that"
	go -0 "${nobody[@]}" cputrack -T 0 -D -c page-faults true
	[[ $stderr == *"not in the kernel: it requires root, or CAP_BPF and CAP_PERFMON"* ]]
	go -0 "${nobody[@]}" cputrack -T 0 -c page-faults true
	[ -z "$stderr" ]
}

@test "why the kernel denies BPF to root, and to an ordinary user" {
	need_root
	need_reachable "$WORK"
	by_kernel
	for program in "cputrack --all --for=1" "cpustat --by=service 1 1"; do
		# shellcheck disable=SC2086 # options
		go -1 "$WORK/deny" bpf EPERM $program
		[[ $stderr == *": root lacks CAP_BPF or CAP_PERFMON "*" profile "*" forbids bpf(2)"* ]]
	done
	go -1 setpriv --reuid=65534 --regid=65534 --clear-groups cputrack --all -c page-faults
	[[ $stderr == *": it requires root, or CAP_BPF and CAP_PERFMON (--tree -p PID tracks a tree of processes)" ]]
}

@test "--all with an event that only ptrace(2) counts: no advice to use cpustat, which cannot, either" {
	need_root
	by_kernel
	events=(uprobe/func=malloc/)
	[ ! -e /sys/bus/event_source/devices/msr ] || events+=(msr/tsc/)
	! "$WORK/probe" breakpoint || events+=(breakpoint/addr=malloc/)
	for event in "${events[@]}"; do
		go -1 cputrack --all -c "$event"
		[[ $stderr == "cputrack: --all requires counting in the kernel: "*" (--tree -p PID tracks a tree of processes)" ]]
	done
}

@test "few open files: ptrace(2) still starts the command, which inherits the limit" {
	local started=0 step=4
	! in_short || step=16
	for n in $(seq 8 $step 80); do
		for kind in -S "-S -H"; do
			limited=(bash -c "ulimit $kind -n $n && exec \"\$@\"" bash cputrack -T 0 -c page-faults)
			go "${limited[@]}" --engine=ptrace true
			[ "$status" -eq 0 ] || continue
			go -0 "${limited[@]}" --engine=auto bash -c 'ulimit -S -n'
			[ "${lines[0]}" = "$n" ] || [ "${lines[1]}" = "$n" ]
			[ "$(grep -c ' exit ' <<<"$output")" -eq 1 ]
			started=$((started + 1))
		done
	done
	[ "$started" -gt 0 ]
}

@test "command lines: empty arguments at the end are shown" {
	local engine
	for engine in auto ptrace; do
		use_engine "$engine"
		track -0 -e -T 0 -c page-faults sh -c 'exec true a "" ""'
		rows_of exec | grep -q "# 'true a  '\$"
	done
}

@test "an event that is requested twice has the same count twice, clocks too" {
	by_kernel
	track -0 -fe -T 0.001 --total -c task-clock,page-faults,task-clock,page-faults \
		"$WORK/threads" -p 3 200
	[ "$(table "$ROWS" | awk '$4 ~ /^[0-9]+$/ && $4 != $6 || $5 != $7' | wc -l)" -eq 0 ]
	[ "$(count_of lwp_exit)" -eq 200 ]
}

@test "cputrack waits for children that become its own" {
	by_kernel
	start ct cputrack -fe -T 0 -o "$ROWS" -c page-faults sh -c "'$WORK/clones'; echo made; read line; exit 3"
	eventually said ct made
	zombies() {
		grep -l '^State:.*Z' /proc/[0-9]*/status 2>/dev/null |
			xargs -r grep -c "^PPid:[[:space:]]*${PIDS[ct]}\$"
	}
	eventually eval '! zombies | grep -qx 1'
	hang_up ct
	finish ct
	[ "$status" -eq 3 ]
	[ "$(count_of exit)" -eq 6 ]
}

@test "a child that makes cputrack its tracer is detached" {
	by_kernel
	track -0 -e -T 0 -c page-faults "$WORK/clone-flags" stay "$T/stays"
	pid=$(<"$T/stays")
	STRAYS+=("$pid")
	untraced "$pid"
	kill -WINCH "$pid"
	eventually sleeping "$pid"
}

@test "cputrack killed: the command and a daemon that it has left run on" {
	by_kernel
	start ct cputrack -fe -T 0 -o "$ROWS" -c page-faults sh -c \
		'echo $$ >"$0.sh"; setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >"$0"; wait' "$T/daemon"
	eventually test -s "$T/daemon"
	STRAYS+=("$(<"$T/daemon")" "$(<"$T/daemon.sh")")
	eventually grep -q "# 'sleep 1000'" "$ROWS"
	kill -KILL "${PIDS[ct]}"
	eventually ended "${PIDS[ct]}"
	eventually sleeping "$(<"$T/daemon")"
	eventually sleeping "$(<"$T/daemon.sh")"
}

@test "after -N, cputrack killed: the command runs on" {
	start ct cputrack -T 0.01 -N 1 -o "$ROWS" -c page-faults "$WORK/thread-pool" 2
	eventually said ct ready
	eventually grep -q ' detach ' "$ROWS"
	child_of "${PIDS[ct]}"
	STRAYS+=("$CHILD")
	eventually untraced "$CHILD"
	kill -KILL "${PIDS[ct]}"
	eventually ended "${PIDS[ct]}"
	sleeping "$CHILD"
}

@test "a cpustat of its own CPUs: counts of the kernel are unknown from then on, and a message says so" {
	need cpu
	by_kernel
	export CPC_PROGRAMS=$CPC_BUILD/tests/fake # whose cycles are page faults
	start ct cputrack -T 0.02 -fe --total -o "$ROWS" -c cycles sh -c '/bin/true; cat; /bin/true'
	eventually grep -q ' tick ' "$ROWS"
	go -0 "$CPC_PROGRAMS/cpustat" -c cycles 0.01 1
	eventually grep -q ' tick  *- *$' "$ROWS"
	hang_up ct
	finish ct
	[ "$status" -eq 1 ]
	# the totals have the counts of the ticks; processes without a tick have none
	[ "$(grep -cE '^.* exit  +([0-9]+|-) # incomplete$' "$ROWS")" -eq 3 ]
	grep -qE '^.* exit  +- # incomplete$' "$ROWS"
	pid=$(rows_of fork | head -n 1 | cut -d ' ' -f 1)
	[ "$(rows_of exit | sed -n "s/^$pid 1 exit \(.*\) # incomplete/\1/p")" = \
		"$(rows_of tick | awk -v pid="$pid" '$1 == pid && $4 != "-" { n += $4 } END { print n + 0 }')" ]
	[[ $(tail -n 1 "$ROWS") == *' total '*[0-9]' # incomplete' ]]
	[ "$(cat "$T/ct.err")" = "cputrack: perf counter contents invalidated" ]
}

@test "in a PID namespace, processes that become those of cputrack leave no zombies" {
	by_kernel
	unshare -pf --mount-proc true || skip "no PID namespaces here"
	go -0 unshare -pf --mount-proc "$CPC_BUILD/cputrack" --engine=kernel -fe -T 0 -o "$ROWS" \
		-c page-faults sh -c 'setsid sh -c "for i in 1 2 3 4 5 6 7 8; do (sleep 0.02 &); done
			sleep 0.3; grep -l \"^State:.Z\" /proc/[0-9]*/status | wc -l" &'
	[ "$output" = 0 ]
	[ -z "$stderr" ]
}

# They have id 0 in that namespace, as the command has before its start.
@test "in a PID namespace, programs that start outside are not taken for the command" {
	by_kernel
	unshare -pf --mount-proc true || skip "no PID namespaces here"
	rounds=$(rounds 40 | wc -l)
	start outside sh -c 'while :; do /bin/true; done'
	go -0 unshare -pf --mount-proc sh -c 'i=0
		while [ $((i += 1)) -le "$0" ]; do
			"$@" || exit
		done' "$rounds" "$CPC_BUILD/cputrack" --engine=kernel -f -T 0 -c page-faults:u "$WORK/touch-pages" 123
	[ -z "$stderr" ]
	[ "$(awk '$4 == "exit" && $2 != 0 && $5 > 123' <<<"$output" | wc -l)" -eq "$rounds" ]
}

# The clock of that namespace may be days ahead of the kernel's.
@test "in a time namespace, times count from the start, too" {
	by_kernel
	unshare -T --monotonic 100000 true || skip "no time namespaces here"
	unshare -T --monotonic 100000 "$CPC_BUILD/cputrack" --engine=kernel -fev -T 0.01 -o "$ROWS" \
		-c page-faults "$WORK/forks" 20
	check_format
	awk '/init|exit/ { if ($1 > 1000) { print; bad = 1 } } END { exit bad || NR < 61 }' "$ROWS"
}

# among_cpus LIST -N COMMAND...: where /sys lists these CPUs as possible; rows in $ROWS.
among_cpus() {
	local possible=/sys/devices/system/cpu/possible
	need_root
	printf '%s\n' "$1" >"$T/possible"
	unshare -m mount --bind "$T/possible" $possible || skip "nothing can be mounted here"
	go "$2" "${TRACEFS[@]}" unshare -m sh -c 'mount --bind "$0" "$1" && shift && exec "$@"' \
		"$T/possible" $possible "${@:3}"
	printf '%s\n' "$output" >"$ROWS"
}

# on_cpu CPU LIST STATUS: 50 processes there, where /sys lists these CPUs.
on_cpu() {
	among_cpus "$2" "-$3" taskset -c "$1" \
		cputrack -f -T 0 -c syscalls:sys_enter_getpriority "$WORK/forks" -s 3 50
	[ "$(count_of exit)" -eq 51 ]
}

all_are_right() {
	[ "$(rows_of exit | awk '$4 == 3' | wc -l)" -eq 50 ]
	[ -z "$stderr" ]
}

none_is_whole() {
	[ "$(grep -c ' exit .*# incomplete$' "$ROWS")" -eq 51 ]
	[[ $stderr == "cputrack: 51 LWPs were not counted all the time: $1" ]]
}

@test "possible CPUs that /sys does not list: processes that run there are incomplete" {
	local first last others="another program took the counters of a CPU, or it was put online or offline"
	need_tracepoints syscalls/sys_enter_getpriority
	need_command taskset
	by_kernel
	first=$(cpus | head -n 1)
	last=$(cpus | tail -n 1)
	[ "$first" != "$last" ] || skip "there is one CPU"
	on_cpu "$last" "$first,$last" 0
	all_are_right
	on_cpu "$first" "0-$first" 0
	all_are_right
	on_cpu "$last" "0-$first" 1
	none_is_whole "the machine has other CPUs than /sys lists"
	on_cpu "$last" "$last" 0
	all_are_right
	on_cpu "$first" "$last" 1
	none_is_whole "$others"
}

@test "as many events as a set can have are counted in the kernel" {
	local spec
	by_kernel
	spec=$(yes page-faults | head -n 64 | paste -sd ,)
	go -0 cputrack -T 0 -c "$spec" "$WORK/touch-pages" 700
	[ "$(awk '$3 == "exit" { for (i = 4; i <= NF; i++) n[$i]++ } END { for (v in n) print n[v], (v > 700) }' <<<"$output")" = "64 1" ]
	go -0 cpustat -A command -c "$spec" 0.1 1
# a sample may interrupt a fault that some of its events have counted already
	awk -v cpus="$(cpus | wc -l)" '$3 == "total" { for (i = 5; i <= NF; i++) { d = $i - $4; bad += d * d > cpus * cpus } n = NF - 3 }
		END { exit bad || n != 64 }' <<<"$output"
}

@test "if the possible CPUs are unknown, ptrace(2) counts" {
	local list
	by_kernel
	for list in '' none 1- 3-1 0-x 0,0 99999999; do
		among_cpus "$list" -1 cputrack --engine=kernel -c page-faults touch "$T/ran"
		[ "$stderr" = "cputrack: cannot count in the kernel: the CPUs are not known: /sys/devices/system/cpu/possible: it has no list of CPUs (--engine=ptrace can)" ]
		[ ! -e "$T/ran" ]
	done
	among_cpus '' -0 cputrack --engine=auto -D -T 0 -c page-faults true
	grep -q "counts with ptrace(2); not in the kernel: the CPUs are not known: " <<<"$stderr"
}

@test "many processes at once: each has its rows, and missing ones are reported" {
	local ids
	by_kernel
	start many bash -c 'for ((i = 0; i < 300; i++)); do sleep 1000 & done; echo $(jobs -p); read -r
		kill $(jobs -p); wait; exit 0'
	eventually test -s "$T/many.out"
	read -ra ids <"$T/many.out"
	[ "${#ids[@]}" -eq 300 ]
	go -1 cputrack -T 0.01 -N 1 -c page-faults -o "$ROWS" -p "$(IFS=,; echo "${ids[*]},999999999")"
	tell many $'\n'
	finish many
	[ "$stderr" = "cputrack: cannot track process 999999999: no such process" ]
	[ "$(count_of detach)" -eq 300 ]
	diff <(rows_of detach | cut -d' ' -f1 | sort) <(printf '%s\n' "${ids[@]}" | sort)
}

# bats test_tags=all
@test "--max-lwps: more processes at a time have no rows of their own, and that is reported" {
	local n many='for ((i = 0; i < 1200; i++)); do sleep 1000 & done; kill $(jobs -p); wait'
	by_kernel
	track -0 -fe -T 0 --max-lwps=1300 -c page-faults bash -c "$many"
	[ "$(count_of exit)" -eq 1202 ] # $(jobs -p) is one
	track -1 -fe -T 0 --max-lwps=1 --comm -c page-faults bash -c "$many"
	[[ $stderr =~ ^cputrack:\ [0-9]+\ LWPs?\ w[a-z]+\ too\ many\ to\ be\ counted\ apart\;\ .*\(--max-lwps\ counts\ more\) ]]
	n=$(grep -c ' exit ' "$ROWS")
	[ "$n" -gt 100 ]
	[ "$n" -lt 1202 ]
	grep -qF '(others)' "$ROWS"
	go -2 cputrack --max-lwps=0 true
	[ "$stderr" = "cputrack: invalid --max-lwps '0': expected a number from 1 to 4000000" ]
}

@test "the kernel engine: a process that is exiting has ended" {
	by_kernel
	use_engine kernel
	# The first process of a namespace exits when its parent has waited for all others.
	start exiting python3 -c 'if True:
		import ctypes, os, signal, sys, time
		if ctypes.CDLL(None).unshare(0x20000000) == -1: # CLONE_NEWPID
		    sys.exit(77)
		first = os.fork()
		if first == 0:
		    time.sleep(1000)
		other = os.fork()
		if other == 0:
		    time.sleep(1000)
		os.kill(first, signal.SIGKILL)
		print(first, flush=True)
		sys.stdin.read()
		os.waitpid(other, 0)
		os.waitpid(first, 0)'
	eventually test -s "$T/exiting.out"
	first=$(cat "$T/exiting.out")
	eventually sh -c "[ \$((\$(sed 's/.*) //' /proc/$first/stat | cut -d' ' -f7) & 4)) = 4 ]"
	go -1 cputrack -T 0 -c page-faults -p "$first"
	[ "$stderr" = "cputrack: cannot track process $first: it has ended" ]
	hang_up exiting
	finish exiting
}
