#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Tracepoints: exact counts from the first instruction of an LWP to its last.  getpriority(2) is called by the chores of tests/work only.

# shellcheck disable=SC2016 # for awk
# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

CALL=syscalls:sys_enter_getpriority

setup() {
	common_setup
	need_tracepoints "${CALL/://}"
	set_tracefs
}

# The first process of the table.
root_of() {
	table | awk 'NR == 1 { print $1 }'
}

# Every row with EVENT has exactly COUNT, but those of the first process 0.
all_exactly() {
	rows_of "$1" | awk -v n="$2" -v root="$(root_of)" '
		$4 == "#" { next }
		$4 != ($1 == root ? 0 : n) { print "not " n ": " $0; failed = 1 }
		END { exit failed || !NR }'
}

@test "system calls of a program, exactly" {
	for n in 0 1 1000 123456; do
		track -0 -T 0 -c "$CALL" "$WORK/touch-pages" -s "$n" 0
		[ "$(sum_of exit)" -eq "$n" ]
	done
}

@test "tracefs that is mounted nowhere is found, without a mount that other processes see" {
	# shellcheck disable=SC2016 # for the inner shell
	go unshare -m sh -c 'umount -a -t tracefs; umount -a -t debugfs; ! test -e "$0/events" || exit 77
		"$@" && ! grep -w tracefs /proc/mounts' "$TRACING" \
		cputrack -o "$ROWS" -T 0 -c "$CALL" "$WORK/touch-pages" -s 123 0
	[ "$status" -ne 77 ] || skip "tracefs is not mounted and cannot be unmounted"
	[ "$status" -eq 0 ]
	[ "$output" = "" ]
	[ "$(sum_of exit)" -eq 123 ]
}

@test "one is found where /proc is of a PID namespace that we are not in" {
	need_root
	need_unsanitized "LeakSanitizer needs /proc/self"
	unshare -pf true || skip "no PID namespaces here"
	start box unshare -pmf --mount-proc "$WORK/thread-pool" 1
	eventually said box ready
	go -0 "${TRACEFS[@]}" nsenter -m -t "${PIDS[box]}" "$(command -v cpustat)" -o "$ROWS" -c "$CALL" 0.1 1
	hang_up box
	finish box
	grep -q ' total ' "$ROWS"
}

@test "sums over a pattern, and filters, exactly" {
	track -0 -T 0 -c "syscalls:sys_enter_getp[r]i*,$CALL/which==0/,$CALL/which==1/,syscalls:sys_enter_*,raw_syscalls:sys_enter" \
		"$WORK/touch-pages" -s 1000 0
	read -r a b c all raw <<<"$(rows_of exit | cut -d' ' -f4-)"
	[ "$a $b $c" = "1000 1000 0" ]
	[ "$all" -ge 1000 ]
	[ "$all" -eq "$raw" ] # it makes no calls without a name
}

# The kernel takes up to 60 ms to close each: cputrack does not wait, and the closing process ends,
# too.
@test "a process closes many of them, and its parent can wait for it" {
	need_root
	unshare -pf true || skip "no PID namespaces here"
	cat >"$T/first.py" <<-'END'
		import os, signal, subprocess, sys
		signal.signal(signal.SIGCHLD, lambda sig, frame: None)
		print(subprocess.run(sys.argv[1:]).returncode)
		pid, status = os.wait() # it is left to us
		print(status)
	END
	go -0 "${TRACEFS[@]}" unshare --pid --fork --mount-proc python3 "$T/first.py" \
		"$CPC_BUILD/cputrack" -f -T 0 -o "$ROWS" -c "syscalls:sys_enter_getp*,raw_syscalls:sys_enter" \
		"$WORK/touch-pages" -s 12 0
	[ "$output" = $'0\n0' ]
	[ "$(rows_of exit | awk '{ print ($4 >= 12 && $5 >= $4) }')" = 1 ]
}

@test "-h PATTERN finds tracepoints" {
	go -0 "${TRACEFS[@]}" cputrack -h getpriority
	[[ $output == *"$CALL "*"tracepoint of the kernel" ]]
	go -0 "${TRACEFS[@]}" cputrack -h 'syscalls:sys_enter_?etprior*'
	[ "$(awk '{ print $1 }' <<<"$output" | xargs)" = "$CALL syscalls:sys_enter_setpriority" ]
	go -1 "${TRACEFS[@]}" cputrack -h 'sys_enter_?etpriority'
	go -0 "${TRACEFS[@]}" cputrack -h
	[[ $output != *sys_enter_getpriority* ]]
}

@test "writes of a program, exactly" {
	need_tracepoints syscalls/sys_enter_write
	track -0 -T 0 -c syscalls:sys_enter_write dd if=/dev/zero of=/dev/null bs=1 count=777 status=none
	[ "$(sum_of exit)" -eq 777 ]
}

@test "the sum of the ticks and of the rest is the total" {
	start ct "${TRACEFS[@]}" cputrack -o "$ROWS" -v -T 0.05 -c "$CALL" "$WORK/thread-pool" -s 100 10
	eventually said ct ready
	for round in 1 2 3 4 5; do
		tell ct g
		eventually said ct "done" "$round"
	done
	eventually reach 5000
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	[ "$(sum_of tick)" -eq 5000 ]
	[ "$(sum_of exit)" -eq 5000 ]
	every_row lwp_exit '$4 == 500' 10
	[ "$(sum_of fini_lwp 1)" -eq 0 ]
	check_sums
}

reach() {
	[ "$(sum_of tick)" -ge "$1" ]
}

@test "attached: exactly the events from then on" {
	need attach
	start crowd "$WORK/thread-pool" -s 100 10
	eventually said crowd ready
	tell crowd g
	eventually said crowd "done"
	start ct "${TRACEFS[@]}" cputrack -o "$ROWS" -f -T 0.05 -c "$CALL" -p "${PIDS[crowd]}"
	eventually ticked 11
	tell crowd gtf
	eventually said crowd "done" 4
	eventually exited
	eventually lwp_exited
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	[ "$(sum_of lwp_exit)" -eq 100 ]
	[ "$(sum_of exit)" -eq 100 ]
	[ "$(sum_of detach)" -eq 1100 ]
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
}

ticked() {
	[ "$(rows_of tick | awk '{ print $2 }' | sort -u | wc -l)" -eq "$1" ]
}

exited() {
	[ "$(count_of exit)" -eq 1 ]
}

lwp_exited() {
	[ "$(count_of lwp_exit)" -eq 1 ]
}

@test "1000 threads: every one exactly, LWP numbers in the order of creation" {
	track -0 -v -T 0 -c "$CALL" "$WORK/threads" -i -s 1 1000
	every_row lwp_exit '$4 == $2 - 1' 1000
	[ "$(sum_of exit)" -eq 500500 ]
	[ "$(sum_of fini_lwp 1)" -eq 0 ]
	check_sums
}

@test "threads that die by exit_group: every one exactly" {
	for by in '' -t; do
		# shellcheck disable=SC2086 # none or one option
		track -0 -T 0 -c "$CALL" "$WORK/exit-group" $by -s 37 20
		[ "$(rows_of lwp_exit | awk '$4 == 37' | wc -l)" -eq 20 ]
		[ "$(sum_of exit)" -eq 740 ]
	done
}

@test "threads that outlive the leader: every one exactly" {
	track -0 -v -T 0 -c "$CALL" "$WORK/leader-first" -s 37 8
	every_row lwp_exit '$4 == 37' 8
	[ "$(sum_of exit)" -eq 296 ]
	check_sums
}

@test "children by fork: every one exactly, one by one and at once" {
	track -0 -f -T 0 -c "$CALL" "$WORK/forks" -s 19 200
	all_exactly exit 19
	[ "$(count_of exit)" -eq 201 ]
	check_life
	track -0 -f -T 0 -c "$CALL" "$WORK/forks" -j -s 19 100
	all_exactly exit 19
	[ "$(count_of exit)" -eq 101 ]
	check_life
}

@test "children by vfork and clone: every one exactly" {
	track -0 -f -T 0 -c "$CALL" "$WORK/vforks" -s 19 20
	[ "$output" = PASS ]
	all_exactly exit 19
	track -0 -fe -T 0 -c "$CALL" "$WORK/vforks" -x -s 19 20
	[ "$output" = PASS ]
	all_exactly exec 19
	all_exactly exit 19
	track -0 -f -T 0 -c "$CALL" "$WORK/clones" -s 19
	[ "$output" = PASS ]
	all_exactly exit 19
	[ "$(count_of exit)" -eq 5 ]
}

@test "images: exactly, and from 0 again after each exec" {
	track -0 -e -T 0 -c "$CALL" "$WORK/execs" -f -s 23 50
	every_row exec '$4 == "#" || $4 == 23' 100
	[ "$(sum_of exit)" -eq 23 ]
}

@test "a thread that executes: the old image's LWPs, then the new image, exactly" {
	track -0 -e -v -T 0 -c "$CALL" "$WORK/exec-thread" -s 11 6
	[ "$output" = PASS ]
	[ "$(sum_of exec)" -eq 77 ]
	[ "$(sum_of exit)" -eq 11 ]
	check_sums
}

@test "a daemon: exactly" {
	track -0 -f -T 0 -c "$CALL" "$WORK/daemon" -s 41 "$T/pid"
	daemon=$(cat "$T/pid")
	table | awk -v pid="$daemon" '
		$3 == "exit" && $4 != ($1 == pid ? 41 : 0) { print; failed = 1 }
		END { exit failed }'
	[ "$(count_of exit)" -eq 3 ]
}

@test "the last system call of an LWP and of a process is counted" {
	need_tracepoints syscalls/sys_enter_exit syscalls/sys_enter_exit_group
	track -0 -f -T 0 -c syscalls:sys_enter_exit,syscalls:sys_enter_exit_group "$WORK/forks" 50
	every_row exit '$4 == 0 && $5 == 1' 51
	track -0 -T 0 -c syscalls:sys_enter_exit,syscalls:sys_enter_exit_group "$WORK/threads" 50
	every_row lwp_exit '$4 == 1 && $5 == 0' 50
	every_row exit '$4 == 50 && $5 == 1' 1
}

@test "the kernel counts as many births as the table has" {
	need_tracepoints sched/sched_process_fork
	track -0 -T 0 -c sched:sched_process_fork "$WORK/forks" 33
	[ "$(sum_of exit)" -eq 33 ]
	track -0 -f -T 0 -c sched:sched_process_fork "$WORK/thread-pool" 7 < <(printf tftf)
	[ "$(sum_of exit)" -eq 11 ]
	[ $(($(count_of fork) + $(count_of lwp_create))) -eq 11 ]
	track -0 -fe -T 0 -c sched:sched_process_fork sh -c 'ls | sort | wc -l; /bin/true'
	[ $(($(sum_of exit) + $(sum_of exec))) -eq \
		$(($(count_of fork) + $(count_of lwp_create))) ]
}

@test "perf stat sees as many forks and execs as the table has, pipeline and make" {
	need_tracepoints sched/sched_process_fork sched/sched_process_exec
	need_command make gcc
	need_perf
	mkdir "$T/project"
	cp "$BATS_TEST_DIRNAME"/../work/{touch-pages,threads}.c "$BATS_TEST_DIRNAME/../work/work.h" \
		"$T/project"
	printf '%s: %s.c\n\tgcc -O1 -pthread -o $@ $<\n' touch-pages touch-pages threads threads \
		>"$T/project/Makefile"
	unset MAKEFLAGS MAKELEVEL
	build="make -s -C '$T/project' -j2 touch-pages threads && rm '$T/project/touch-pages' '$T/project/threads'"
	for command in 'ls | sort | wc -l' "$build"; do
		in_tracefs perf stat -x, -e sched:sched_process_fork -e sched:sched_process_exec \
			-o "$T/perf" sh -c "$command"
		forks=$(awk -F, '/sched_process_fork/ { print $1 }' "$T/perf")
		execs=$(awk -F, '/sched_process_exec/ { print $1 }' "$T/perf")
		track -0 -fe -T 0 -c page-faults sh -c "$command"
		check_life
		echo "perf: $forks forks, $execs execs"
		[ $(($(count_of fork) + $(count_of lwp_create))) -eq "$forks" ]
		# the exec that starts the command has no rows, the others have two
		[ $(($(count_of exec) / 2 + 1)) -eq "$execs" ]
	done
}

@test "events of the kernel ignore nouser and sys; several -c" {
	track -0 -T 0 -c "$CALL,$CALL,nouser1,sys1,$CALL,sys2" "$WORK/touch-pages" -s 50 0
	every_row exit '$4 == 50 && $5 == 50 && $6 == 50' 1
	track -0 -T 0 -c "$CALL" -c page-faults "$WORK/touch-pages" -s 50 0
	[ "$(rows_of exit | awk -v spec="$CALL" '$NF == spec' | wc -l)" -eq 1 ]
	[ "$(rows_of exit | awk '$NF == "page-faults"' | wc -l)" -eq 1 ]
}

# libpfm4 finds tracepoints there, and takes them for events of a PMU.
@test "the same where debugfs is mounted: patterns, and what does not exist" {
	need_root
	unshare -m mount -t debugfs nodev /sys/kernel/debug || skip "no debugfs here"
	# shellcheck disable=SC2016 # for the inner shell
	with_debugfs=(unshare -m sh -c 'mount -t debugfs nodev /sys/kernel/debug && exec "$@"' "")
	go -0 "${with_debugfs[@]}" cputrack -f -T 0 -o "$ROWS" -c "syscalls:sys_enter_?etpriority" \
		"$WORK/touch-pages" -s 12 0
	[ "$(sum_of exit)" -eq 12 ]
	go -2 "${with_debugfs[@]}" cputrack -T 0 -c syscalls:sys_enter_no_such_call true
	[[ $stderr == "cputrack: unknown event 'syscalls:sys_enter_no_such_call'"* ]]
}

@test "a tracepoint that does not exist is unknown" {
	track -2 -T 0 -c syscalls:sys_enter_no_such_call true
	[[ $stderr == "cputrack: unknown event 'syscalls:sys_enter_no_such_call'"* ]]
	track -2 -T 0 -c no_such_system:no_such_event true
	[[ ${stderr_lines[0]} == "cputrack: unknown event "* ]]
}

@test "a filter that the kernel does not take is a wrong spec" {
	local tool why="the kernel does not accept the filter 'nosuch<1' of sched:sched_switch"
	need_tracepoints sched/sched_switch
	for tool in 'cputrack' 'cputrack --split' 'cpustat --shared'; do
		# shellcheck disable=SC2086 # words
		go -2 "${TRACEFS[@]}" $tool -c 'sched:sched_switch/nosuch<1/' \
			"$([ "${tool#cpustat}" = "$tool" ] && echo true || echo 1)"
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ $stderr == "${tool%% *}: cannot count 'sched:sched_switch/nosuch<1/': $why"* ]]
	done
}

@test "the error says where a filter is wrong" {
	local name=syscalls:sys_enter_openat where tool
	need_tracepoints syscalls/sys_enter_openat
	while IFS='|' read -r filter where; do
		for tool in 'cputrack' 'cputrack --engine=ptrace'; do
			# shellcheck disable=SC2086 # words
			go -2 "${TRACEFS[@]}" $tool -T 0 -c "$name/$filter/" true
			[[ $stderr == "cputrack: cannot count '$name/$filter/': the kernel does not accept the filter '$filter' of $name (at character $where), whose fields are: "*flags* ]]
		done
	done <<-'EOF'
		filename.ustring=="x|19, '"x': the matching quote is missing
		(flags==1|1, '(flags==1': the ')' is missing
		flags==1)|9, ')': there is no '(' before it
		flags==|8: a value is missing
		flags==1 && nosuch<1|13, 'nosuch<1': unknown field
		flags=="x"|1, 'flags=="x"': the field is a number, without quotes
		flags==1 dfd>1|10, 'dfd>1': && or || is missing before it
		flags|6: an operator (== != < <= > >= & ~) is missing
	EOF
}

@test "strings of the program are matched with .ustring, and refused without" {
	need_tracepoints syscalls/sys_enter_openat
	local name=syscalls:sys_enter_openat tool
	for tool in 'cputrack' 'cputrack --engine=ptrace' 'cpustat --shared'; do
		# shellcheck disable=SC2086 # words
		go -2 "${TRACEFS[@]}" $tool -c "$name/flags<9 && filename~\"*libc*\"/" \
			"$([ "${tool#cpustat}" = "$tool" ] && echo true || echo 1)"
		[ "$stderr" = "${tool%% *}: invalid event '$name/flags<9 && filename~\"*libc*\"/': at 'filename~\"*libc*\"': the string is in the memory of the program, where the kernel looks only with FIELD.ustring" ]
	done
	[ "$(printf '5.17\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 5.17 ] || return 0 # it has no .ustring
	for engine in auto ptrace; do
		use_engine "$engine"
		track -0 -T 0 -c "$name/filename.ustring~\"*cpc-no-such*\"/" \
			sh -c 'for i in 1 2 3; do true 2>/dev/null <"/cpc-no-such-$i"; done; true'
		[ "$(sum_of exit)" -eq 3 ]
	done
}

@test "cpustat: a whole machine's system calls, exactly" {
	need_tracepoints syscalls/sys_enter_sched_rr_get_interval
	start cs "${TRACEFS[@]}" cpustat -c syscalls:sys_enter_sched_rr_get_interval 0.05
	eventually grep -q ' tick ' "$T/cs.out"
	"$WORK/syscalls" 4321
	kill -INT "${PIDS[cs]}"
	finish cs
	[ "$(awk '$3 == "total" { print $4 }' "$T/cs.out")" -eq 4321 ]
	check_totals "$T/cs.out" "$(cpus | wc -l)"
}

@test "sched:sched_switch on all CPUs: all known switches, and no more than perf stat counts" {
	need_tracepoints sched/sched_switch
	need_perf
	# perf counts before cpustat begins and after it ends, and both count all of the
	# 200000 switches; other programs switch meanwhile, too.
	start perf "${TRACEFS[@]}" perf stat -x, -o "$T/perf" -a -e sched:sched_switch \
		sh -c 'echo counting; exec cat'
	eventually said perf counting
	start cs "${TRACEFS[@]}" cpustat -c sched:sched_switch 0.1
	eventually grep -q ' tick ' "$T/cs.out"
	"$WORK/pingpong" 100000
	kill -INT "${PIDS[cs]}"
	finish cs
	hang_up perf
	finish perf
	[ "$status" -eq 0 ]
	total=$(awk '$3 == "total" { print $4 }' "$T/cs.out")
	reference=$(perf_value "$T/perf")
	echo "cpustat $total, perf stat $reference"
	[ "$total" -ge 200000 ]
	[ "$total" -le "$reference" ]
}

@test "overflows of a tracepoint, exactly" {
	go -0 "${TRACEFS[@]}" "$WORK/overflow-kinds" calls
	[ "$output" = PASS ]
}

@test "many tracepoints: where the exit waits for the kernel, a line on the terminal says so" {
	local mask reaps=0
	need_terminal
	in_tracefs script -q -e -c "cputrack -T 0 -c 'syscalls:sys_enter_[s-w]*' -o '$ROWS' true" "$T/terminal"
	[ "$(sum_of exit)" -gt 0 ]
	# If process 1 waits for orphans, a process of libcpc closes them meanwhile.
	while read -r mask; do
		reaps=$((reaps | (16#${mask: -8} >> 16 & 1)))
	done < <(sed -nE 's/^Sig(Blk|Ign|Cgt):[[:space:]]*//p' /proc/1/status)
	go sed -n 's/.*waiting until the kernel has closed \([0-9]*\) counters of tracepoints and functions.*/\1/p' "$T/terminal"
	if [ "$reaps" = 1 ]; then
		[ -z "$output" ]
	else
		[ "$output" -ge 40 ]
	fi
}
