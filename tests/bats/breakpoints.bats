#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Breakpoints at symbols of the tracked program; tests/work/symbols.c describes the known counts.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need breakpoint
}

# An event: calls of a function, writes to a variable.
x() {
	printf 'breakpoint/addr=%s/' "$1"
}

w() {
	printf 'breakpoint/addr=%s,rw=w/' "$1"
}

@test "per LWP and in all: position-independent, fixed and static programs" {
	for program in symbols symbols-fixed symbols-static; do
		track -0 -v -T 0 -c "$(x called),$(x lib_called),$(x getppid),$(w data)" \
			"$WORK/$program" 100 3
		check_format
		check_sums
		[ "$stderr" = "" ]
		[ "$(counters_of fini_lwp 1)" = "100 107 100 100" ]
		for lwp in 2 3 4; do
			[ "$(counters_of lwp_exit $lwp)" = "100 100 100 100" ]
		done
		[ "$(counters_of exit)" = "400 407 400 400" ]
	done
}

@test "variables in .data and .bss, offsets, and the size of a variable" {
	for program in symbols symbols-fixed symbols-static; do
		track -0 -T 0 -c "$(w data),$(w zeroed),$(w words),$(w words+8)" \
			"$WORK/$program" 50 1
		[ "$(counters_of exit)" = "100 100 200 100" ]
		track -0 -T 0 -c "breakpoint/addr=words+010,len=4,rw=w/,breakpoint/addr=zeroed+4,len=4,rw=w/" \
			"$WORK/$program" 50
		[ "$(counters_of exit)" = "50 50" ]
		track -0 -T 0 -c "breakpoint/addr=words,rw=rw/,$(w words+0x0)" "$WORK/$program" 50
		[ "$(counters_of exit)" = "100 100" ]
	done
}

@test "counters that are off stay off when their symbols are found" {
	track -0 --start-disabled -T 0 -c "$(x lib_called),$(x called)" "$WORK/symbols" 50 1
	[ "$(counters_of exit)" = "0 0" ]
}

@test "children, and the programs that they execute; a program without the symbol is reported once" {
	track -0 -f -T 0 -c "$(x called),$(x lib_called),$(x getppid)" "$WORK/symbols" 20 1 5
	[ "$(count_of exit)" -eq 6 ]
	[ "$(counters_of exit | sort | uniq -c | xargs)" = "5 20 20 20 1 40 47 40" ]
	[ "$stderr" = "" ]

	track -0 -fe -T 0 -c "$(x called),$(x lib_called)" sh -c \
		"'$WORK/symbols' 10; '$WORK/symbols-fixed' 20 1 1; env '$WORK/symbols-static' 30; :"
	check_life
	[ "$(counters_of exit | xargs -n2)" = $'10 17\n20 20\n40 47\n30 37\n0 0' ]
	for symbol in called lib_called; do
		[ "$(grep -c "^cputrack: 'sh' ([0-9]*) has no symbol '$symbol': $(x $symbol) counts 0 in it$" \
			<<<"$stderr")" -eq 1 ]
	done
	# Of the programs that sh executes, of which env is one.
	[ "$(grep -c "'env'" <<<"$stderr")" -eq 2 ]
	[ "$(wc -l <<<"$stderr")" -eq 4 ]
}

@test "exec in a chain: the symbol is searched in each program" {
	track -0 -e -T 0 -c "$(x called),$(x lib_called)" \
		sh -c "exec env env '$WORK/symbols' 10"
	[ "$(counters_of exec | grep -v '#' | xargs -n2)" = $'0 0\n0 0\n0 0' ]
	[ "$(counters_of exit)" = "10 17" ]
	[ "$(wc -l <<<"$stderr")" -eq 4 ] # sh and env once each, for two symbols
}

@test "several specs: the symbol of a set that counts later" {
	start ct cputrack -o "$ROWS" -T 0.05 -c "$(x lib_called)" -c "$(x getppid)" \
		"$WORK/symbols" -e 30
	eventually said ct ready
	# Calls between two turns are not counted: go on until each set counted some.
	bytes=0
	eventually both_counted
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	[ ! -s "$T/ct.err" ]
	a=$(spec_total exit "$(x lib_called)")
	b=$(spec_total exit "$(x getppid)")
	# Each is counted in its turns only.  The constructor has 7 more.
	[ "$a" -ge 30 ]
	[ "$b" -ge 30 ]
	[ $((a + b)) -le $((7 + 30 * bytes)) ]
	[ "$(spec_total tick "$(x lib_called)")" -le "$a" ]
	[ "$(spec_total tick "$(x getppid)")" -le "$b" ]
}

@test "several specs: a set that never had its turn reports no missing symbol" {
	track -0 -T 1000 -c "$(x called)" -c "$(x nowhere)" "$WORK/symbols" 5
	[ "$(counters_of exit | head -n1)" = "5 # $(x called)" ]
	[[ $stderr == "cputrack: not counted: '$(x nowhere)' (its turn never came)"* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
	track -1 -T 1000 -c "$(x nowhere)" -c "$(x called)" "$WORK/symbols" 5
	[[ ${stderr_lines[1]} == "cputrack: no tracked program has the symbol 'nowhere', nor"* ]]
	[ "${#stderr_lines[@]}" -eq 2 ]
}

@test "several specs: a symbol of a program that ended before the turn of its set" {
	# shellcheck disable=SC2016 # for the inner shell
	start ct cputrack -fe -o "$ROWS" -T 0.2 -c page-faults -c "$(x called)" \
		sh -c 'read line; "$0" 5' "$WORK/symbols"
	eventually grep -q "'sh' .* has no symbol 'called'" "$T/ct.err"
	tell ct $'go\n'
	finish ct
	[ "$status" -eq 0 ]
	[ "$(wc -l <"$T/ct.err")" -eq 1 ]
	# The symbol was searched in all programs, also in those of forked children: none has it.
	start ct cputrack -fe -o "$ROWS" -T 0.2 -c page-faults -c "$(x nowhere)" sh -c '(:); read line; (:)'
	eventually grep -q "'sh' .* has no symbol 'nowhere'" "$T/ct.err"
	tell ct $'go\n'
	finish ct
	[ "$status" -eq 1 ]
	grep -q "no tracked program has the symbol 'nowhere'" "$T/ct.err"
	[ "$(wc -l <"$T/ct.err")" -eq 2 ]
}

# spec_total EVENT SPEC: the sum of the rows of one of several sets.
spec_total() {
	rows_of "$1" | awk -v spec="$2" '$NF == spec { n += $4 + $5 } END { print n + 0 }'
}

both_counted() {
	tell ct g
	bytes=$((bytes + 1))
	[ "$(spec_total tick "$(x lib_called)")" -ge 37 ] &&
		[ "$(spec_total tick "$(x getppid)")" -ge 30 ]
}

@test "attached: counted from there on, also when the program was removed" {
	need attach
	for program in symbols symbols-fixed symbols-static; do
		cp "$WORK/$program" "$T/gone"
		cp "$WORK/libsymbols.so" "$T"
		start prog "$T/gone" -w 100 2
		eventually said prog ready
		rm -f "$T/gone" "$ROWS"
		# The files can then be opened by /proc/PID/map_files only, which requires root.
		[ "$(id -u)" != 0 ] || rm "$T/libsymbols.so"
		start ct cputrack -v -T 0 -o "$ROWS" -c "$(x called),$(x lib_called),$(x getppid)" \
			-p "${PIDS[prog]}"
		eventually grep -q init_lwp "$ROWS"
		tell prog g
		finish prog
		finish ct
		[ "$status" -eq 0 ]
		[ "$(counters_of lwp_exit 3)" = "100 100 100" ]
		[ "$(counters_of exit)" = "300 300 300" ]
	done
}

@test "attached, without such a symbol: an error at once, the program runs on" {
	need attach
	start prog "$WORK/symbols" -w 1
	eventually said prog ready
	go -1 cputrack -o "$ROWS" -c "$(x nowhere)" -p "${PIDS[prog]}"
	[ "$stderr" = "cputrack: cannot count '$(x nowhere)': the program has no symbol 'nowhere'" ]
	[ ! -s "$ROWS" ]
	eventually untraced "${PIDS[prog]}"
	tell prog g
	finish prog
	[ "$status" -eq 0 ]
}

@test "no program has the symbol: it counts 0, and the exit status is 1" {
	for program in symbols symbols-static; do
		track -1 -fe -T 0 -c "$(x nowhere),$(x called)" "$WORK/$program" 5
		[ "$(counters_of exit)" = "0 5" ]
		[[ ${stderr_lines[0]} == "cputrack: 'symbols"*"' ("*") has no symbol 'nowhere': $(x nowhere) counts 0 in it" ]]
		[ "${stderr_lines[1]}" = "cputrack: no tracked program has the symbol 'nowhere', nor a library that it starts with; those of dlopen(3) are not looked at" ]
		[ "${#stderr_lines[@]}" -eq 2 ]
	done
	track -1 -T 0 -c "$(x nowhere)" "$WORK/symbols" 5
	[[ ${stderr_lines[1]} == *"'nowhere', nor"*"(-f tracks children, too, -e what they execute)"* ]]
}

@test "a stripped program has its dynamic symbols, and no others" {
	strip -o "$T/stripped" "$WORK/symbols"
	cp "$WORK/libsymbols.so" "$T"
	track -0 -T 0 -c "$(x called),$(x lib_called),$(x twin)" "$T/stripped" 10
	[ "$(counters_of exit)" = "10 17 17" ] # the library's twin()
	strip "$T/libsymbols.so"
	track -1 -T 0 -c "$(x called),$(x lib_called),$(x twin)" "$T/stripped" 10
	[ "$(counters_of exit)" = "10 17 0" ]
}

@test "names without exactly one address are refused; nothing is run" {
	while IFS='|' read -r symbol why; do
		go -1 cputrack -c "$(x "$symbol")" "$WORK/symbols-static" 1000000000
		[[ $stderr == "cputrack: cannot count '$(x "$symbol")': "$why ]]
		[ "$output" = "" ]
	done <<-'EOF'
		twin|the symbol 'twin' is ambiguous, 2 of that name are in '/*/symbols-static'; *
		own|'own' of '/*/symbols-static' is thread-local, each thread has its own
		chosen|'chosen' of '/*' is chosen among several functions when the program starts (IFUNC); *
	EOF
	# In a library that shows when it is mapped.
	track -1 -T 0 -c "$(x chosen)" "$WORK/symbols" 1
	[[ $stderr == "cputrack: init_lwp: can't bind perf counters to lwp1 - "*"(IFUNC)"* ]]
	[ "$(counters_of exit)" = "- # incomplete" ]
}

@test "-D prints where symbols are" {
	go -0 cputrack -o "$ROWS" -D -c "$(x called+1)" "$WORK/symbols-fixed" 1
	at=$(nm "$WORK/symbols-fixed" | awk '$3 == "called" { print $1 }')
	[[ $stderr == *"cputrack: 'symbols-fixed' ("*") has the symbol 'called': counted at $(printf '%#x' $((0x$at + 1)))"* ]]
}

@test "a fifth one is one too many on x86; the command is not run" {
	[ "$(uname -m)" = x86_64 ] || skip "other CPUs have other numbers"
	b=$(x called)
	track -0 -T 0 -c "$b,$b,$b,$b" "$WORK/symbols" 10
	[ "$(counters_of exit)" = "10 10 10 10" ]
	go -1 cputrack -c "$b,$b,$b,$b,$b" touch "$T/started"
	[[ $stderr == *"this CPU has 4 registers"* ]]
	[ ! -e "$T/started" ]
}

@test "the error says what is wrong with a bad one; cpustat has no program to look into" {
	long=$(printf 's%.0s' {1..256})
	while IFS='|' read -r addr why; do
		go -2 cputrack -c "$(x "$addr")" true
		[ "$stderr" = "cputrack: invalid event '$(x "$addr")': $why" ]
	done <<-EOF
		$long|the symbol is longer than 255 characters
		main+|the offset from the symbol must be a number
		main+x|the offset from the symbol must be a number
		+8|addr is a number, or a symbol with or without +offset
		12main|addr is not a number
	EOF
	go -1 cpustat -c "$(x main)" 1 1
	[ "$stderr" = "cpustat: unsupported symbol in '$(x main)': it belongs to one process; use cputrack, or count all processes by uprobe/func=/PATH:FUNCTION/ or sdt//PATH:PROVIDER:NAME/" ]
	go -1 cputrack -c "breakpoint/addr=data+1,len=4,rw=w/" "$WORK/symbols" 1
	[[ $stderr == *"is addr a multiple of len?" ]]
}

@test "if the libraries of a program cannot be watched, the symbol is not reported as missing" {
	need_unsanitized "LeakSanitizer does not work under strace(1)"
	need_command strace
	local trace=(strace -e trace=openat -e signal=none) n refused=0
	"${trace[@]}" -o "$T/trace" cputrack -c breakpoint/addr=lib_called/ -o "$ROWS" "$WORK/symbols" 3
	# It is read for several purposes; for some there is another way.
	# shellcheck disable=SC2013 # words
	for n in $(grep '^openat' "$T/trace" | grep -n '/auxv"' | cut -d: -f1); do
		run "${trace[@]}" -o "$T/trace" -e inject=openat:error=EACCES:when="$n" \
			cputrack -c breakpoint/addr=lib_called/ -o "$ROWS" "$WORK/symbols" 3
		[[ $output != *"has no symbol"* ]]
		[ "$status" != 0 ] || grep -qE ' exit +10 *$' "$ROWS"
		[ "$status" = 0 ] || grep -q '# incomplete$' "$ROWS"
		[[ $output != *"can't watch libraries of process "*": Permission denied"* ]] || refused=1
	done
	[ "$refused" = 1 ]
}
