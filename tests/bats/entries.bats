#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Functions with several entries: versions, and clones that compilers make; probes with many places;
# names with commas and colons.  tests/work/entries.c describes the known counts.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # for inner shells; run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need uprobe
	PROGRAM=$WORK/entries
	LIBRARY=$WORK/libentries.so
}

# An event: calls of a function.
f() {
	printf 'uprobe/func=%s/' "$1"
}

# counts EVENTS COUNTS [N]: of the program, by each engine that counts such events.
counts() {
	local engine
	for engine in "${ENGINES[@]}"; do
		use_engine "$engine"
		track -0 -T 0 -c "$1" "$PROGRAM" "${3:-1}"
		[ "$(counters_of exit)" = "$2" ]
	done
}

@test "all versions of a function are counted, or the one that is named, also in stripped files" {
	need_command strip
	cp "$PROGRAM" "$LIBRARY" "$T"
	strip "$T/entries" "$T/libentries.so"
	for PROGRAM in "$WORK/entries" "$T/entries"; do
		lib=${PROGRAM%/*}/libentries.so
		ENGINES=(auto ptrace)
		counts "$(f "$lib:power"),$(f "$lib:power@V1"),$(f "$lib:power@V2"),$(f "$lib:power@@V2"),$(f "$lib:same"),uprobe/func=$lib:power,ret/" \
			"303 3 300 300 30 303" 3
		[ "$stderr" = "" ]
		ENGINES=(ptrace)
		counts "$(f power),$(f power@V1),$(f libentries.so:power@V2),$(f same)" "101 1 100 10"
		[ "$stderr" = "" ]
	done
	go -1 cputrack -T 0 -c "$(f "$LIBRARY:power@V3")" "$PROGRAM" 1
	[[ $stderr == "cputrack: cannot count '$(f "$LIBRARY:power@V3")': '$LIBRARY' has no symbol 'power@V3'"* ]]
}

@test "a stripped file with a separate debug file, by its name or its build id" {
	need_command strip objcopy
	ENGINES=(auto ptrace)
	mkdir "$T/p" "$T/p/.debug"
	for debug in "$T/p/entries.debug" "$T/p/.debug/entries.debug"; do
		cp "$LIBRARY" "$PROGRAM" "$T/p"
		objcopy --only-keep-debug "$PROGRAM" "$debug"
		strip "$T/p/entries"
		go -1 cputrack -T 0 -c "$(f "$T/p/entries:scaled")" "$T/p/entries" 1
		[[ $stderr == *" has no symbol 'scaled'"* ]]
		objcopy --add-gnu-debuglink="$debug" "$T/p/entries"
		PROGRAM=$T/p/entries counts "$(f "$T/p/entries:scaled"),$(f "$T/p/entries:main")" "101 1"
		# One of another program is not used.
		objcopy --only-keep-debug "$WORK/calls" "$debug"
		go -1 cputrack -T 0 -c "$(f "$T/p/entries:scaled")" "$T/p/entries" 1
		rm "$debug"
	done
}

@test "a debug file whose checksum takes too long is not used" {
	need_command gcc objcopy
	echo 'int main(void) { return 0; }' >"$T/main.c"
	gcc -g -Wl,--build-id=none -o "$T/linked" "$T/main.c"
	objcopy --only-keep-debug "$T/linked" "$T/linked.debug"
	objcopy --strip-all --add-gnu-debuglink="$T/linked.debug" "$T/linked"
	track -0 -T 0 -c "$(f "$T/linked:main")" "$T/linked"
	[ "$(counters_of exit)" = 1 ]
	truncate -s 100G "$T/linked.debug"
	for event in "$(f "$T/linked:main")" "uprobe/func=$T/linked:main,ret/"; do
		go -1 timeout 60 cputrack -T 0 -c "$event" "$T/linked"
		[[ $stderr == *" has no symbol 'main'; it is stripped" ]]
	done
}

@test "clones are counted with their function, and a message says so; its pieces are not" {
	ENGINES=(auto ptrace)
	counts "$(f "$PROGRAM:scaled")" "202" 2
	[ "$stderr" = "cputrack: $(f "$PROGRAM:scaled") also counts '$PROGRAM:scaled.constprop.0', a clone that the compiler made of the function" ]
	counts "$(f "$PROGRAM:only"),$(f "$PROGRAM:scaled+0"),$(f "$PROGRAM:scaled.constprop.0")" "5 1 100"
	[ "$stderr" = "cputrack: $(f "$PROGRAM:only") also counts '$PROGRAM:only.isra.0', a clone that the compiler made of the function" ]
	counts "$(f "$PROGRAM:split.part.0")" 6
	ENGINES=(ptrace)
	counts "$(f scaled),$(f only)" "101 5"
	[ "${#stderr_lines[@]}" -eq 2 ]
	[ "${stderr_lines[0]}" = "cputrack: $(f scaled) also counts 'scaled.constprop.0', a clone that the compiler made of the function" ]
	go -1 cputrack -T 0 -c "$(f "$PROGRAM:split")" "$PROGRAM" 1
	[ "$stderr" = "cputrack: cannot count '$(f "$PROGRAM:split")': '$PROGRAM' has no symbol 'split' (did you mean 'split.part.0'?)" ]
	go -1 cputrack -T 0 -c "$(f split)" "$PROGRAM" 1
	[[ $stderr == *"no tracked program has the symbol 'split' (did you mean 'split.part.0'?)"* ]]
}

@test "on all CPUs, too" {
	need cpu
	start cs cpustat --shared -c "$(f "$LIBRARY:power"),$(f "$PROGRAM:scaled"),sdt/$PROGRAM:cpc:many/" 600 1
	eventually has_counters "${PIDS[cs]}"
	eventually sleeping "${PIDS[cs]}" # until the end of the interval
	"$PROGRAM" 2
	kill -INT "${PIDS[cs]}"
	finish cs
	[ "$(awk '$3 == "total" { print $4, $5, $6 }' "$T/cs.out")" = "202 202 36" ]
	grep -qF "also counts '$PROGRAM:scaled.constprop.0'" "$T/cs.err"
	[ "$(wc -l <"$T/cs.err")" -eq 1 ]
}

# cpustat $1 has opened all its counters.
has_counters() {
	[ "$(find "/proc/$1/fd" -lname '*perf_event*' | wc -l)" -ge "$(($(cpus | wc -l) * 22))" ]
}

@test "a global function that hides local ones of its name is refused, but for +0" {
	need_command gcc nm
	echo 'void other(void);
		__attribute__((noinline)) void hit(void) { __asm__ volatile("" ::: "memory"); }
		int main(void) { for (int i = 0; i < 5; i++) { hit(); other(); other(); } return 0; }' >"$T/main.c"
	echo '__attribute__((noinline)) static void hit(void) { __asm__ volatile("" ::: "memory"); }
		void other(void) { hit(); __asm__ volatile("" ::: "memory"); }' >"$T/other.c"
	gcc -O1 -o "$T/hidden" "$T/main.c" "$T/other.c"
	far=$(nm "$T/hidden" | awk '$3 == "hit" { at[$2] = $1 } END { print "0x" at["t"], "- 0x" at["T"] }')
	for engine in auto ptrace; do
		use_engine "$engine"
		for event in "uprobe/func=$T/hidden:hit/" uprobe/func=hit/ breakpoint/addr=hit/; do
			go -1 cputrack -T 0 -c "$event" "$T/hidden"
			[[ $stderr == *"cannot count '$event': '$T/hidden' has a global function 'hit' and 1 local of that name; write hit+0 for the global one, "* ]]
		done
		track -0 -T 0 -c "uprobe/func=$T/hidden:hit+0/,uprobe/func=hit+0/,uprobe/func=$T/hidden:hit+$((far))/" "$T/hidden"
		[ "$(counters_of exit)" = "5 5 10" ]
	done
}

@test "a global function with more local ones of its name than are kept" {
	need_command gcc
	echo '__attribute__((noinline)) static void hit(void) { __asm__ volatile("" ::: "memory"); }
		__attribute__((used)) static void other(void) { hit(); __asm__ volatile("" ::: "memory"); }' >"$T/1.c"
	echo '__attribute__((noinline)) void hit(void) { __asm__ volatile("" ::: "memory"); }
		int main(void) { for (int i = 0; i < 5; i++) hit(); return 0; }' >"$T/main.c"
	gcc -O1 -c -o "$T/1.o" "$T/1.c"
	for ((n = 1; n < 512; n *= 2)); do
		gcc -r -nostdlib -o "$T/$((2 * n)).o" "$T/$n.o" "$T/$n.o"
	done
	gcc -O1 -o "$T/hidden" "$T/main.c" "$T/512.o"
	for engine in auto ptrace; do
		use_engine "$engine"
		go -1 cputrack -T 0 -c "$(f "$T/hidden:hit")" "$T/hidden"
		[[ $stderr == *" has a global function 'hit' and "*" local of that name; write hit+0 for the global one, "* ]]
		track -0 -T 0 -c "$(f "$T/hidden:hit+0")" "$T/hidden"
		[ "$(counters_of exit)" = 5 ]
	done
}

@test "a breakpoint, which has one address, names one of them" {
	need breakpoint
	while read -r event names; do
		go -1 cputrack -T 0 -c "breakpoint/addr=$event/" "$PROGRAM" 1
		[[ $stderr == *"cannot count 'breakpoint/addr=$event/': "*" has several versions or clones of '$event', which uprobe/func=$event/ counts together; write one of: $names"* ]]
	done <<-EOF
		power power@@V2, power@V1
		scaled scaled+0, scaled.constprop.0
	EOF
	track -0 -T 0 -c "breakpoint/addr=power@V1/,breakpoint/addr=same/,breakpoint/addr=scaled+0/,breakpoint/addr=scaled.constprop.0/" "$PROGRAM" 1
	[ "$(counters_of exit)" = "1 10 1 100" ]
}

@test "a probe in 18 places" {
	ENGINES=(auto ptrace)
	counts "sdt/$PROGRAM:cpc:many/" 54 3
	ENGINES=(ptrace)
	counts "sdt/cpc:many/,sdt/entries:cpc:many/" "18 18"
}

@test "names with commas, colons and blanks" {
	ENGINES=(auto ptrace)
	counts "$(f "$PROGRAM:\"main.Map[int,go.shape.string]\""),$(f "$PROGRAM:main.Map[int,go.shape.string]"),$(f "$PROGRAM:\"type:.eq.example.com/a.T\""),uprobe/func=$PROGRAM:\"ns::f(int, char)\",ret/" \
		"7 7 8 9"
	ENGINES=(ptrace)
	counts "$(f "\"main.Map[int,go.shape.string]\"+0x0"),$(f "entries:\"type:.eq.example.com/a.T\""),$(f "\"ns::f(int, char)\"")" "7 8 9"
	for name in 'ns::f(int)' 'type:.eq.T' "$PROGRAM:ns::f(int)"; do
		go -2 cputrack -T 0 -c "$(f "$name")" true
		[[ $stderr == *": write a symbol with colons in quotes, func=[FILE:]\"SYMBOL\"; those of C++ are mangled, as nm(1) lists them" ]]
	done
	go -2 cputrack -T 0 -c "$(f '"main')" true
	[[ $stderr == *": a quote is missing" ]]
	go -2 cputrack -T 0 -c "$(f '"main"x')" true
	[[ $stderr == *": +offset or the end must follow the quote" ]]
}
