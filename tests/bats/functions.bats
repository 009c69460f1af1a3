#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Function events, set in files by uprobes: tests/work/symbols.c and calls.c describe the known
# counts.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # for inner shells; run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need uprobe
}

# An event: calls of a function, returns from it.
f() {
	printf 'uprobe/func=%s/' "$1"
}

ret() {
	printf 'uprobe/func=%s,ret/' "$1"
}

@test "per LWP and in all, in the program and in its library, from the first call on" {
	for program in symbols symbols-fixed symbols-static; do
		track -0 -v -T 0 -c "$(f called),$(f lib_called),$(ret lib_called),$(f getppid)" \
			"$WORK/$program" 100 2
		check_format
		check_sums
		[ "$stderr" = "" ]
		[ "$(counters_of fini_lwp 1)" = "100 107 107 100" ]
		[ "$(counters_of lwp_exit 2)" = "100 100 100 100" ]
		[ "$(counters_of lwp_exit 3)" = "100 100 100 100" ]
		[ "$(counters_of exit)" = "300 307 307 300" ]
	done
}

# Does the kernel probe returns for tracked LWPs only, when BPF programs count?
sessions() {
	printf '%s\n' 6.13 "$(uname -r)" | sort -VC
}

# The calls and returns of $1 in the program `returns`.
both() {
	printf 'uprobe/func=%s/,uprobe/func=%s,ret/' "$WORK/returns:$1" "$WORK/returns:$1"
}

@test "returns of functions that return twice or on another stack, and of programs of Go, are refused" {
	libc=$(awk '$6 ~ /libc\.so/ { print $6; exit }' /proc/self/maps)
	for engine in auto ptrace; do
		use_engine "$engine"
		for function in "$WORK/returns:likewise_vfork" "$libc:vfork" "$libc:_setjmp" "$libc:swapcontext"; do
			go -1 cputrack -T 0 -c "$(ret "$function")" "$WORK/returns" nest 1 1
			[[ $stderr == *"cannot count '$(ret "$function")': '"*" returns twice, or on another stack; a probe of returns would kill the program (without ',ret' calls are counted)"* ]]
		done
		go -1 cputrack -T 0 -c "$(ret "$WORK/returns-go:nested")" "$WORK/returns-go" nest 1 1
		[[ $stderr == *"'$WORK/returns-go' is a program of Go, which moves its stacks; "* ]]
	done
	go -0 cputrack -T 0 -c "$(f "$WORK/returns-go:nested")" "$WORK/returns-go" nest 3 4
	[[ $output =~ " exit        12 "$ ]]
}

@test "nested returns: up to 64 are counted, more are reported" {
	for engine in auto ptrace; do
		use_engine "$engine"
		track -0 -T 0 -c "$(both nested)" "$WORK/returns" nest 63 3
		[ "$(counters_of exit)" = "189 189" ]
		track -0 -T 0 -c "$(both nested)" "$WORK/returns" jump 3 5 # no call returns
		[ "$(counters_of exit)" = "15 0" ]
		track -0 -T 0 -c "$(both exiting)" "$WORK/returns" exit
		[ "$(counters_of exit)" = "1 0" ]
	done
	[ -z "$stderr" ]
	lost=" calls did not return, or were nested too deep: the kernel sees the returns of 64 nested calls at most"
	track -0 -T 0 -c "$(both nested)" "$WORK/returns" nest 65 2
	[ "$(counters_of exit)" = "130 128" ]
	[ "$stderr" = "cputrack: $(ret "$WORK/returns:nested"): 2$lost" ]
	few=$(printf ',page-faults%.0s' {1..61})
	track -1 -r 3 -T 0 -c "$(both nested)$few" "$WORK/returns" nest 1000 1
	[ "$(grep -c "^cputrack: .*: 936$lost$" <<<"$stderr")" = 3 ]
	grep -q ":nested,ret/    3      64\.0      64\.0       0\.0  0\.00%      64\.0      64\.0 # incomplete$" "$ROWS"
	track -0 -T 0 -c "$(both nested)$few,page-faults" "$WORK/returns" nest 1000 1
	[ "$stderr" = "cputrack: caution: '$(ret "$WORK/returns:nested")': returns of deeply nested calls are lost unnoticed in a set of so many events" ]
	by_kernel
	track -1 -T 0 -c "$(both nested)" "$WORK/returns" nest 65 2
	[ "$(counters_of exit)" = "130 128 # incomplete" ]
	[ "${stderr_lines[-1]}" = "cputrack: 1 LWP was not counted all the time: the kernel sees the returns of 64 nested calls at most" ]
	track -1 -T 0 -c "$(both nested)" "$WORK/returns" nest 1000 1
	[ "$(counters_of exit)" = "1000 64 # incomplete" ]
	sessions || return 0
	track -0 -T 0 -c "$(both nested)" "$WORK/returns" nest 64 2
	[ "$(counters_of exit)" = "128 128" ]
}

@test "in the kernel: a child does not return from the call that created it" {
	by_kernel
	sessions || skip "the kernel has no sessions of uprobes"
	for engine in kernel ptrace; do
		use_engine "$engine"
		track -0 -f -T 0 -c "$(both forked)" "$WORK/returns" fork 3
		[ "$(counters_of exit | sort | uniq -c | xargs)" = "3 0 0 1 3 3" ]
	done
}

@test "returns are probed in tracked processes only, or a caution says so" {
	by_kernel
	start ct cputrack -T 0 -o "$ROWS" -c "$(both unwound),$(both switched),$(both nested)" \
		"$WORK/returns" -w nest 2 3
	eventually said ct ready
	if sessions; then
		"$WORK/returns" unwind 3
		"$WORK/returns" switch 10
		"$WORK/returns" nest 65 1
		[ ! -s "$T/ct.err" ]
	else
		grep -qE "^cputrack: caution: '.*' probes returns in all processes that run the file: those that leave the function by an exception, or return on another stack, are killed$" "$T/ct.err"
	fi
	tell ct g
	finish ct
	[ "$status" -eq 0 ]
	[ "$(counters_of exit)" = "0 0 0 0 6 6" ]
}

@test "-D says that copied code is killed" {
	go -0 cputrack -D -T 0 -c "$(f "$WORK/calls:hit")" "$WORK/calls" 3
	[[ $stderr == *"cputrack: caution: '$(f "$WORK/calls:hit")' sets probes in code; a program that copies this code and runs the copy is killed by the copied probe (SIGTRAP)"* ]]
}

@test "200000 calls, and 8 threads at once" {
	track -0 -T 0 -c "$(f hit)" "$WORK/calls" 200000
	[ "$(counters_of exit)" = 200000 ]
	track -0 -T 0 -c "$(f hit)" "$WORK/calls" 20000 8
	[ "$(rows_of lwp_exit | awk '$4 == 20000' | wc -l)" -eq 8 ]
	[ "$(counters_of exit)" = 180000 ]
}

@test "more functions than a CPU has breakpoints, and beside other events" {
	events=$(f called),$(f lib_called),$(f getppid),$(f symbols:called),page-faults
	events+=,$(f libsymbols.so:lib_called),$(ret called),$(f main),$(ret main)
	track -0 -T 0 -c "$events" "$WORK/symbols" 50
	read -r -a n <<<"$(counters_of exit)"
	[ "${n[*]:0:4} ${n[*]:5}" = "50 57 50 50 57 50 1 1" ]
	[ "${n[4]}" -gt 0 ]
}

# Events of files that are named by their paths.
by_path() {
	printf 'uprobe/func=%s/,uprobe/func=%s,ret/,sdt/%s/' "$WORK/symbols:called" "$WORK/libsymbols.so:lib_called" \
		"$WORK/probes:cpc:twice"
}

@test "files named by their paths, by both engines: threads, children, programs, several trackers" {
	local engine
	"$WORK/symbols" 100000 &
	other=$!
	STRAYS+=("$other")
	for engine in auto ptrace; do
		use_engine "$engine"
		start ct cputrack -f -T 0 -c "$(by_path)" "$WORK/symbols" 50 3 2
		track -0 -v -T 0 -c "$(by_path)" "$WORK/symbols" 100 2
		check_format
		check_sums
		[ -z "$stderr" ] || [ "$stderr" = "cputrack: no process opened '$WORK/probes': its functions were not called" ]
		[ "$(counters_of fini_lwp 1)" = "100 107 0" ]
		[ "$(counters_of lwp_exit 2)" = "100 100 0" ]
		[ "$(counters_of exit)" = "300 307 0" ]
		finish ct
		[ "$status" -eq 0 ]
		[ "$(table "$T/ct.out" | awk '$3 == "exit" { print $4, $5, $6 }' | sort | xargs)" = "200 207 0 50 50 0 50 50 0" ]
		track -0 -fe -T 0 -c "$(by_path)" \
			sh -c "'$WORK/symbols' 10; '$WORK/probes' 20; exec '$WORK/symbols' 30 1"
		[ "$(counters_of exit | sort -n | xargs -n3)" = $'0 0 40\n10 17 0\n60 67 0' ]
		track -0 --start-disabled -T 0 -c "$(by_path)" "$WORK/symbols" 50 1
		[ "$(counters_of exit)" = "0 0 0" ]
	done
	wait "$other"
}

@test "in the kernel: short-lived threads and processes are as fast as without" {
	by_kernel
	track -0 -T 0 -c "$(by_path)" "$WORK/symbols" 3 2000
	[ "$(counters_of lwp_exit | sort | uniq -c | xargs)" = "2000 3 3 0" ]
	track -0 -f -T 0 -c "$(by_path)" "$WORK/symbols" 3 0 1000
	[ "$(counters_of exit | sort | uniq -c | xargs)" = "1 3 10 0 1000 3 3 0" ]
}

@test "in the kernel: a place that the file does not have counts 0" {
	by_kernel
	track -0 -T 0 -c "page-faults,sdt/$WORK/probes:cpc:never/,$(f "$WORK/calls:hit")" "$WORK/calls" 40
	[[ $(counters_of exit) =~ ^[0-9]+\ 0\ 40$ ]]
}

# One line says that file $1 was changed, or that a process has another one: it depends on when
# cputrack looks.
reports_other() {
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "cputrack: '$1' was changed or replaced meanwhile: counts of its functions may lack calls since then (--engine=ptrace looks it up in each process)" ]] ||
		[[ $stderr == "cputrack: process "*" has another file as '$1', whose calls are not counted" ]]
}

# changed STATUS SCRIPT: what a shell does with the probed copy $0 meanwhile; $1 is another copy.
changed() {
	cp "$WORK/libsymbols.so" "$T"
	cp "$WORK/symbols" "$T/probed"
	cp "$WORK/symbols" "$T/copy"
	track "-$1" -fe -T 0 --total -c "$(f "$T/probed:called")" sh -c "$2" "$T/probed" "$T/copy"
}

@test "in the kernel: other files of that path are reported, wherever they come from" {
	by_kernel
	changed 1 '"$0" 10; cp "$1" "$0.n"; mv "$0.n" "$0"; "$0" 20; rm "$0"'
	reports_other "$T/probed"
	changed 1 'mv "$0" "$0.o"; cp "$1" "$0"; "$0" 20; mv "$0.o" "$0"'
	reports_other "$T/probed"
	changed 1 'cp -p "$0" "$0.o"; cat "$1" >"$0"; touch -r "$0.o" "$0"'
	reports_other "$T/probed"
	changed 0 'touch "$0"; chmod 700 "$0"; cp "$0" "$0.o"; mv "$0.o" "$0.p"; "$0" 20'
	[ -z "$stderr" ]
	[ "$(awk '/ total / { print $NF }' "$ROWS")" = 20 ]
}

@test "in the kernel: totals that lack calls of a replaced file say so, in each format" {
	local swap='"$0" 10; cp "$0" "$0.n"; mv "$0.n" "$0"; "$1" 20' run

	by_kernel
	cp "$WORK/symbols" "$T/copy"
	run=(-fe -c "$(f "$T/probed:called")" sh -c "$swap" "$T/probed" "$T/copy")
	changed 1 "$swap"
	reports_other "$T/probed"
	[[ $(grep ' total ' "$ROWS") =~ \ 10\ \#\ incomplete$ ]]
	cp "$WORK/symbols" "$T/probed"
	go -1 cputrack --by=command "${run[@]}"
	[[ $(grep ' total ' <<<"$output") =~ \ 10\ .*\#\ incomplete$ ]]
	cp "$WORK/symbols" "$T/probed"
	go -1 cputrack --format=json "${run[@]}"
	[[ $(grep '"kind":"end"' <<<"$output") == *'"incomplete":true'* ]]
	cp "$WORK/symbols" "$T/probed"
	go -1 cputrack --compare -r 2 --fail-above=3% -c "$(f "$T/probed:called")" \
		-- "$T/copy" 30 -- sh -c "$swap" "$T/probed" "$T/copy"
	[[ $output == *"cannot tell: counts are incomplete"* ]]
}

@test "in the kernel: descendants that have another file are reported" {
	by_kernel
	need attach
	cp "$WORK/symbols" "$WORK/libsymbols.so" "$T"
	start prog sh -c 'exec 3<&0; "$0" -w 30 <&3 & wait' "$T/symbols"
	eventually said prog ready
	cp "$T/symbols" "$T/symbols.new"
	mv "$T/symbols.new" "$T/symbols"
	go -1 cputrack -v --tree --for 0.1 -T 0 -c "$(f "$T/symbols:called")" -p "${PIDS[prog]}"
	[[ $stderr == "cputrack: process "*" has another file as '$T/symbols', whose calls are not counted" ]]
	[ "$(grep -c ' detach  *0 # incomplete$' <<<"$output")" -eq 1 ]
	hang_up prog
	finish prog
}

@test "in the kernel: a file that is replaced meanwhile is reported" {
	by_kernel
	cp "$WORK/symbols" "$WORK/libsymbols.so" "$T"
	track -1 -fe -T 0 -c "$(f "$T/symbols:called")" \
		sh -c '"$0" 10; cp "$0" "$0.new"; mv "$0.new" "$0"; "$0" 20' "$T/symbols"
	[ "$(rows_of exit | awk '$4 == 10' | wc -l)" -eq 1 ] # the old file ran once
	[ "$(counters_of exit | grep -cE '^0( # incomplete)?$')" -eq 4 ]
	reports_other "$T/symbols"
}

@test "a process that has another file by that path is counted by ptrace(2)" {
	by_kernel
	use_engine auto
	need attach
	mkdir "$T/root"
	unshare -m mount --bind / "$T/root" || skip "nothing can be mounted here"
	cp "$WORK/symbols" "$WORK/libsymbols.so" "$T"
	cp "$WORK/symbols" "$T/other"
	start prog unshare -m sh -c 'mount --bind "$0" "$1" && exec "$1" -w 30' "$T/other" "$T/symbols"
	eventually said prog ready
	pid=${PIDS[prog]}
	start ct cputrack -D -v -T 0 -c "$(f "$T/symbols:called")" -p "$pid"
	eventually grep -q init_lwp "$T/ct.out"
	tell prog g
	finish prog
	finish ct
	[ "$status" -eq 0 ]
	grep -qxF "cputrack: counts with ptrace(2); not in the kernel: process $pid has another file as '$T/symbols'" "$T/ct.err"
	[ "$(table "$T/ct.out" | awk '$3 == "exit" { print $4 }')" = 30 ]
}

@test "a library that is loaded by dlopen(3), by its path, from its constructor on" {
	lib=$WORK/libsymbols.so
	track -0 -v -T 0 -c "$(f "$lib:lib_called"),$(ret "$lib:lib_called"),$(f hit)" \
		"$WORK/calls" -l "$lib" 1000 2
	[ "$stderr" = "" ]
	[ "$(counters_of fini_lwp 1)" = "1007 1007 1000" ]
	[ "$(counters_of exit)" = "3007 3007 3000" ]
}

@test "a library that is loaded by dlopen(3), by its name: by threads, children, executed programs" {
	lib=$WORK/libsymbols.so
	name=libsymbols.so:lib_called
	track -0 -v -T 0 -c "$(f $name),$(ret $name),$(f hit)" "$WORK/calls" -d "$lib" 1000 2
	[[ $stderr == "cputrack: 'calls' ("*") has not loaded the library of '$name': until then it is stopped at its system calls; the path of the library, /PATH/$name, avoids this" ]]
	[ "$(counters_of fini_lwp 1)" = "1007 1007 1000" ]
	[ "$(counters_of exit)" = "3007 3007 3000" ]
	track -0 -f -T 0 -c "$(f $name)" "$WORK/calls" -f -d "$lib" 50 3
	[ "$(counters_of exit | xargs)" = "207 0" ]
	track -0 -fe -T 0 -c "$(f $name)" -c "$(f hit)" \
		sh -c "'$WORK/calls' -d '$lib' 10 2; '$WORK/symbols' 5; exec '$WORK/calls' -l '$lib' 20"
	[ "$(rows_of exit | awk -v f="$(f $name)" '$NF == f { print $4 }' | xargs)" = "37 12 27" ]
	track -0 --start-disabled -T 0 -c "$(f $name)" "$WORK/calls" -l "$lib" 10
	[ "$(counters_of exit)" = 0 ]
	track -1 -T 0 -c "$(f libsymbols.so:nosuch)" "$WORK/calls" -l "$lib" 10
	[[ ${stderr_lines[1]} == *" has no symbol 'libsymbols.so:nosuch': "* ]]
	[[ ${stderr_lines[2]} == "cputrack: no tracked program has the symbol 'libsymbols.so:nosuch', nor a library that it loaded"* ]]
}

@test "a library that is unloaded, and loaded again: exact, or incomplete and reported" {
	lib=$WORK/libsymbols.so
	track -0 -T 0 -c "$(f "$lib:lib_called")" "$WORK/calls" -u "$lib" 100 2
	[ "$stderr" = "" ]
	[ "$(counters_of exit)" = 314 ]
	track -0 -T 0 -c "$(f libsymbols.so:lib_called)" "$WORK/calls" -u "$lib" 100
	[ "$(counters_of exit)" = 114 ]
	# Threads that start while the library is unloaded.
	track -1 -T 0 -c "$(f libsymbols.so:lib_called)" "$WORK/calls" -u "$lib" 100 2
	[ "$(rows_of lwp_exit | awk '{ print $4 }' | xargs)" = "- -" ]
	[ "$(rows_of exit)" = "0 1 exit 114 # incomplete" ]
	[[ ${stderr_lines[1]} == "cputrack: init_lwp: can't count lwp"*" has unloaded a library that is named without its path, and could load it again" ]]
	[ "${stderr_lines[2]}" = "cputrack: 2 LWPs could not be counted" ]
}

@test "with a named library that is mapped at the start, no LWP stops at system calls" {
	need_command strace
	need_unsanitized "LeakSanitizer does not work under strace"
	go -0 strace -e trace=ptrace -o "$T/trace" "$CPC_BUILD/cputrack" -T 0 -c "$(f libsymbols.so:lib_called)" \
		"$WORK/symbols" 1000
	awk '/PTRACE_SYSCALL/ { n++ } END { exit !(n > 0 && n < 300) }' "$T/trace"
}

@test "children and the programs that they execute; other processes of the same file are not counted" {
	"$WORK/symbols" 100000 &
	other=$!
	STRAYS+=("$other")
	track -0 -f -T 0 -c "$(f called),$(f lib_called)" "$WORK/symbols" 20 1 3
	[ "$(count_of exit)" -eq 4 ]
	[ "$(counters_of exit | sort | uniq -c | xargs)" = "3 20 20 1 40 47" ]
	wait "$other"

	track -0 -fe -T 0 -c "$(f "$WORK/symbols:called"),$(f called)" \
		sh -c "'$WORK/symbols' 10; '$WORK/symbols-static' 20; exec '$WORK/symbols' 30 1"
	[ "$(counters_of exit | sort -n | xargs -n2)" = $'0 20\n10 10\n60 60' ]
}

@test "counters that are off stay off" {
	track -0 --start-disabled -T 0 -c "$(f lib_called),$(f called)" "$WORK/symbols" 50 1
	[ "$(counters_of exit)" = "0 0" ]
	[ "$stderr" = "cputrack: the counters were never on: no tracked LWP called cpc_enable(3)" ]
}

@test "attached: from there on, also when the program and its library were removed" {
	need attach
	cp "$WORK/symbols" "$WORK/libsymbols.so" "$T"
	start prog "$T/symbols" -w 100 2
	eventually said prog ready
	go -1 cputrack -c "$(f libnone.so:main)" -p "${PIDS[prog]}"
	[ "$stderr" = "cputrack: cannot count '$(f libnone.so:main)': the process has not loaded 'libnone.so'; what it loads later is named by its path: /PATH/libnone.so:main" ]
	rm "$T/symbols" "$T/libsymbols.so"
	start ct cputrack -v -T 0 -c "$(f called),$(f lib_called)" -p "${PIDS[prog]}"
	eventually grep -q init_lwp "$T/ct.out"
	tell prog g
	finish prog
	finish ct
	[ "$status" -eq 0 ]
	cp "$T/ct.out" "$ROWS"
	[ "$(counters_of exit)" = "300 300" ]
}

@test "attached: a path whose file was replaced since it was mapped is refused" {
	need attach
	cp "$WORK/symbols" "$WORK/libsymbols.so" "$T"
	start prog "$T/symbols" -w 100
	eventually said prog ready
	cp "$T/libsymbols.so" "$T/new"
	mv "$T/new" "$T/libsymbols.so"
	start ct cputrack -T 0 -c "$(f "$T/libsymbols.so:lib_called")" -p "${PIDS[prog]}"
	eventually grep -q "has an older '$T/libsymbols.so' mapped, which was removed or replaced" \
		"$T/ct.err"
	kill "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 1 ]
	grep -q ' detach  *- # incomplete$' "$T/ct.out"
	start ct cputrack -v -T 0 -c "$(f libsymbols.so:lib_called)" -p "${PIDS[prog]}"
	eventually grep -q init_lwp "$T/ct.out"
	tell prog g
	finish prog
	finish ct
	[ "$status" -eq 0 ]
	cp "$T/ct.out" "$ROWS"
	[ "$(counters_of exit)" = 100 ]
}

@test "functions of a file on all CPUs" {
	need cpu
	cp "$WORK/symbols" "$WORK/libsymbols.so" "$T"
	go -0 cpustat -c "$(f "$T/symbols:called"),$(ret "$T/libsymbols.so:lib_called")" --shared 0.1 1
	[[ $stderr == "cpustat: caution: '"*"' probes returns in all processes that run the file: "* ]]
	[[ ${lines[-1]} =~ " 0         0 "$ ]]
	start cs cpustat --shared -c "$(f "$T/symbols:called"),$(f "$T/libsymbols.so:lib_called")" 600 1
	eventually has_counters "${PIDS[cs]}"
	eventually sleeping "${PIDS[cs]}" # until the end of the interval
	"$T/symbols" 100 3 2
	kill -INT "${PIDS[cs]}"
	finish cs
	[ "$(awk '$3 == "total" { print $4, $5 }' "$T/cs.out")" = "600 607" ]
}

# cputrack $1 has opened all its counters.
has_counters() {
	[ "$(find "/proc/$1/fd" -lname '*perf_event*' | wc -l)" -ge "$(($(cpus | wc -l) * 2))" ]
}

@test "probes of sys/sdt.h: several places, semaphores, by name and by path" {
	go -0 "$WORK/probes" 1000 # no program counts: the semaphore is 0
	probe() {
		printf 'sdt/%s/' "$1"
	}
	track -0 -v -T 0 -c "$(probe cpc:twice),$(probe cpc:guarded),$(probe probes:cpc:never)" \
		"$WORK/probes" 1000 2
	[ "$stderr" = "" ]
	[ "$(counters_of fini_lwp 1)" = "2000 1000 0" ]
	[ "$(counters_of exit)" = "6000 3000 0" ]
	track -0 -fe -T 0 -c "$(probe "$WORK/probes:cpc:twice"),$(probe "$WORK/probes:cpc:guarded")" \
		sh -c "'$WORK/probes' 10; '$WORK/probes' 20"
	[ "$(counters_of exit | xargs -n2)" = $'20 10\n40 20\n0 0' ]
	go -1 cputrack -T 0 -c "$(probe cpc:nosuch)" "$WORK/probes" 1
	[[ $stderr == *"no tracked program has the probe 'cpc:nosuch'"* ]]
}

# The kernel closes them one by one, but the program does not wait for that.
@test "functions of many LWPs, some of which end while new ones start" {
	track -0 -T 0 -c "$(f called),$(f lib_called),$(ret getppid)" "$WORK/symbols" 7 12
	[ "$(counters_of lwp_exit | sort | uniq -c | xargs)" = "12 7 7 7" ]
	[ "$(counters_of exit)" = "91 98 91" ]
	track -0 -f -T 0 -c "$(f called),$(f lib_called),$(ret getppid)" "$WORK/symbols" 7 0 12
	[ "$(counters_of exit | sort | uniq -c | xargs)" = "1 7 14 7 12 7 7 7" ]
}

# Process 1 waits for one child, and not for the orphans of that child.
@test "the process that closes them at the end is not left to a process 1 that does not reap it" {
	need_root
	unshare -pf true || skip "no PID namespaces here"
	cat >"$T/first.py" <<-'END'
		import os, subprocess, sys
		print(subprocess.run(sys.argv[1:]).returncode,
		      [name for name in os.listdir("/proc") if name.isdigit()])
	END
	go -0 unshare --pid --fork --mount-proc python3 "$T/first.py" \
		"$CPC_BUILD/cputrack" -T 0 -o "$ROWS" -c "$(f called)" "$WORK/symbols" 10
	[ "$output" = "0 ['1']" ]
	[ "$(counters_of exit)" = 10 ]
}

@test "-h PATTERN and suggestions show the syntax, and the probes of libraries" {
	go -0 cputrack -h 'calls of a function'
	[[ $output == "uprobe/func=FUNCTION/ "*"calls of a function of a program or library" ]]
	go -0 cputrack -h
	[[ $output != *FUNCTION,ret/*calls* ]]
	go -2 cputrack -c "breakpont/addr=main/" true
	[[ $stderr == *"(did you mean 'breakpoint'?)" ]]
	go -2 cputrack -c "sdtt/cpc:twice/" true
	[[ $stderr == *"(did you mean 'sdt'?)" ]]
	need_command gcc
	need_unsanitized "the sanitizer's runtime is to be the first library"
	gcc -shared -fPIC -D_GNU_SOURCE -Dmain=other -w -o "$T/libours.so" "$BATS_TEST_DIRNAME/../work/probes.c"
	LD_PRELOAD=$T/libours.so go -0 cputrack -h cpc:twi
	[ "$output" = "sdt/cpc:twice/                   probe of libours.so" ]
	for word in cpc:twice cpc:twce ccp:twice; do
		LD_PRELOAD=$T/libours.so go -2 cputrack -c $word true
		[ "$stderr" = "cputrack: unknown event '$word' (did you mean 'sdt/cpc:twice/'?)" ]
	done
}

@test "the error suggests a name for a misspelt function, probe or file" {
	while read -r event meant; do
		go -1 cputrack -T 0 -c "$event" "$WORK/probes" 1
		[[ $stderr == *" has no "*"(did you mean '$meant'?)"* ]] ||
			[[ $stderr == *" has the "*"(did you mean '$meant'?), nor "* ]]
	done <<-EOF
		$(f mian) main
		$(f probes:mian) main
		$(f "$WORK/probes:mian") main
		$(f libc.so.6:getpidd) getpid
		sdt/cpc:twcie/ cpc:twice
		sdt/probes:ccp:twice/ cpc:twice
		sdt/$WORK/probes:cpc:guared/ cpc:guarded
	EOF
	go -1 cputrack -T 0 -c "$(f zzzzzzzzzz)" "$WORK/probes" 1
	[[ $stderr != *"did you mean"* ]]
	go -2 cputrack -T 0 -c "$(f work:u)" true
	[[ $stderr == *": functions are counted in user mode, so write no mode; to count a function of that name, write the path of its file" ]]
	need attach
	start prog "$WORK/symbols" -w 1
	eventually said prog ready
	go -1 cputrack -c "$(f caled)" -p "${PIDS[prog]}"
	[ "$stderr" = "cputrack: cannot count '$(f caled)': the program has no symbol 'caled' (did you mean 'called'?)" ]
	hang_up prog
	finish prog
}

@test "the error names a symbol that is not a function, or is missing" {
	while IFS='|' read -r status want; do
		read -r event why <<<"$want"
		go "-$status" cputrack -T 0 -c "$(f "$event")" "$WORK/symbols" 1
		[[ $stderr == *"cannot count '$(f "$event")': "$why* ]]
	done <<-EOF
		1|data 'data' of '$WORK/symbols' is not a function
		1|/nosuch:main there is no file '/nosuch'
		1|$WORK/symbols:nosuch '$WORK/symbols' has no symbol 'nosuch'
		1|$WORK/libsymbols.so:chosen 'chosen' of '$WORK/libsymbols.so' is chosen among several functions
		1|called+0x100000 'called' of '$WORK/symbols' is not a function, or the offset leads out of the code
	EOF
	go -1 cputrack -T 0 -c "$(f nosuch)" "$WORK/symbols" 1
	[[ $stderr == *"no tracked program has the symbol 'nosuch'"* ]]
	go -1 cputrack -T 0 -c "$(f libnone.so:main)" "$WORK/symbols" 1
	[[ $stderr == *"no tracked program has the symbol 'libnone.so:main'"* ]]
	go -1 cpustat -c "$(f main)" 1 1
	[[ $stderr == *"uprobe/func=/PATH:FUNCTION/ or sdt//PATH:PROVIDER:NAME/" ]]
}

@test "the error says that a file is stripped or a directory, calls a library, or mangles names" {
	need_command gcc objcopy strip
	strip -o "$T/stripped" "$WORK/calls"
	cp "$WORK/calls" "$T/linked"
	objcopy --only-keep-debug "$WORK/calls" "$T/linked.debug"
	strip "$T/linked"
	objcopy --add-gnu-debuglink="$T/linked.debug" "$T/linked"
	echo '__attribute__((noinline)) void get(void) __asm__("_ZNK2ns1A3getEi");
		__attribute__((noinline)) void get(void) { __asm__ volatile("" ::: "memory"); }
		int main(void) { get(); return 0; }' >"$T/mangled.c"
	gcc -O1 -o "$T/mangled" "$T/mangled.c"
	for engine in auto ptrace; do
		use_engine "$engine"
		while IFS='|' read -r event why; do
			go -1 cputrack -T 0 -c "$(f "$event")" "$T/stripped" 1
			[ "$stderr" = "cputrack: cannot count '$(f "$event")': $why" ]
		done <<-EOF
			$T/stripped:hit|'$T/stripped' has no symbol 'hit'; it is stripped
			$T/linked:hot|'$T/linked' has no symbol 'hot' (did you mean 'hit'?)
			$WORK/symbols:getppid|'$WORK/symbols' has no symbol 'getppid'; it is one of a library
			$T:hit|'$T', which may have the symbol, cannot be read: it is a directory
			$T/mangled:"ns::A::get"|'$T/mangled' has no symbol 'ns::A::get' (did you mean '_ZNK2ns1A3getEi'?)
			$T/mangled:"ns::A::get(int)"|'$T/mangled' has no symbol 'ns::A::get(int)' (did you mean '_ZNK2ns1A3getEi'?)
			$T/mangled:"ns::A::put_it"|'$T/mangled' has no symbol 'ns::A::put_it'; symbols of C++ are mangled, as nm(1) lists them
		EOF
	done
	go -1 cputrack -T 0 -c "$(f hit)" "$T/stripped" 1
	[[ $stderr == *"no tracked program has the symbol 'hit'"*"; 'stripped' is stripped" ]]
	go -1 cputrack -T 0 -c "$(f '"ns::A::get"')" "$T/mangled"
	[[ $stderr == *"no tracked program has the symbol 'ns::A::get' (did you mean '_ZNK2ns1A3getEi'?)"* ]]
	go -1 cputrack -T 0 -c "$(f '"ns::A::put_it"')" "$T/mangled"
	[[ $stderr == *"; symbols of C++ are mangled, as nm(1) lists them" ]]
}

@test "the error tells an ordinary user the required privilege" {
	need_root
	need_command setpriv
	dir=$(mktemp -d "${TMPDIR:-/tmp}/cpc-functions.XXXXXX")
	chmod 755 "$dir"
	cp "$CPC_BUILD/cputrack" "$WORK/calls" "$dir"
	need_reachable "$dir"
	user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	go -1 "${user[@]}" "$dir/cputrack" -c "$(f hit)" "$dir/calls" 3
	denied="cputrack: cannot count '$(f hit)': this kernel sets probes of functions for root, with CAP_SYS_ADMIN, only"
	[ "$stderr" = "$denied; a breakpoint on the function requires no privilege" ]
	# Kernels permitted it with CAP_PERFMON until mid-2025.
	for caps in +perfmon +perfmon,+sys_admin; do
		go "${user[@]}" --inh-caps=-all,$caps --ambient-caps=-all,$caps --bounding-set=-all,$caps \
			"$dir/cputrack" -T 0 -c "$(f hit)" "$dir/calls" 3
		[ "$status" -eq 0 ] && [ "$(awk '$3 == "exit" { print $4 }' <<<"$output")" = 3 ] && continue
		[ "$caps" = +perfmon ]
		[ "$stderr" = "$denied (older ones also with CAP_PERFMON); a breakpoint on the function requires no privilege" ]
	done
	rm -r "$dir"
}
