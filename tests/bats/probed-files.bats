#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Function events where the kernel sets no probe: on some instructions, in some mappings, and in
# other files of the same path.  The count is exact, or an error or a message says so.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # for inner shells; run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need uprobe
}

teardown() {
	common_teardown
	for mounted in "$T/merged" "$T/rest"; do
		mountpoint -q "$mounted" && umount "$mounted"
	done
	true
}

# An event: calls of a function.
f() {
	printf 'uprobe/func=%s/' "$1"
}

# refused TEXT EVENT COMMAND...: by both engines, and on all CPUs; nothing is counted.
refused() {
	local text=$1 event=$2
	shift 2
	for engine in auto ptrace; do
		use_engine "$engine"
		track -1 -T 0 -c "$event" "$@"
		[[ $stderr == *"cannot count '$event': $text"* ]]
	done
	go -1 cpustat --shared -c "$event" 0.1 1
	[[ $stderr == *"cannot count '$event': $text"* ]]
}

@test "functions that begin with unusual instructions are counted exactly" {
	program=$WORK/first-insns
	mapfile -t names < <("$program" -g)
	by_path='' by_name='' all=''
	for name in "${names[@]}"; do
		by_path+=${by_path:+,}$(f "$program:$name")
		by_name+=${by_name:+,}$(f "$name")
		all+="${all:+ }5"
	done
	for engine in auto ptrace; do
		use_engine "$engine"
		track -0 -T 0 -c "$by_path" "$program" 5
		[ "$output" = PASS ]
		[ "$(counters_of exit)" = "$all" ]
	done
	track -0 -T 0 -c "$by_name" "$program" 5
	[ "$output" = PASS ]
	[ "$(counters_of exit)" = "$all" ]
}

@test "functions whose first instruction the kernel cannot probe, or executes wrongly, are refused" {
	program=$WORK/first-insns
	for name in $("$program" -r); do
		refused "the kernel " "$(f "$program:$name")" "$program" 5
		[[ $stderr == *" this instruction of '$program' ("*"...): count breakpoint/addr=$name/, or func=$name+OFFSET"* ]]
	done
	use_engine ptrace
	for name in $("$program" -r); do
		track -1 -T 0 -c "$(f "$name")" "$program" 5
		[[ $stderr == *"cannot count '$(f "$name")': the kernel "* ]]
	done
}

@test "32-bit functions are decoded as such" {
	program=$WORK/first-insns32
	[ -e "$program" ] || skip "32-bit programs are built on x86-64 only"
	"$program" || skip "this kernel runs no 32-bit programs"
	for engine in auto ptrace; do
		use_engine "$engine"
		track -0 -T 0 -c "$(f "$program:f_inc"),$(f "$program:f_dec"),$(f "$program:f_pusha")" "$program"
		[ "$(counters_of exit)" = "5 5 5" ]
	done
	refused "the kernel cannot probe" "$(f "$program:f_locked")" "$program"
}

@test "functions of a file system that is mounted noexec are refused if the kernel must check them" {
	need_root
	mkdir "$T/rest"
	mount -t tmpfs -o noexec none "$T/rest" || skip "nothing can be mounted here"
	cp "$WORK/first-insns" "$T/rest"
	for name in $("$WORK/first-insns" -r | grep locked); do
		go -1 cputrack -c "$(f "$T/rest/first-insns:$name")" true
		[[ $stderr == *": '$T/rest/first-insns' is on a file system that is mounted noexec, where the kernel does not check whether it can probe an instruction" ]]
	done
}

# writable FILE: sets the flag PF_W of its segment of code.
writable() {
	python3 - "$1" <<-'END'
		import struct, sys
		with open(sys.argv[1], "r+b") as f:
		    head = f.read(64)
		    first, size, n = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
		    for at in range(first, first + size * n, size):
		        f.seek(at)
		        kind, flags = struct.unpack("<II", f.read(8))
		        if kind == 1 and flags & 1:
		            f.seek(at + 4)
		            f.write(struct.pack("<I", flags | 2))
	END
}

@test "functions in writable code are refused" {
	cp "$WORK/symbols" "$WORK/libsymbols.so" "$T"
	writable "$T/symbols"
	"$T/symbols" 1 || skip "writable code does not run here"
	refused "'$T/symbols' has writable code" "$(f "$T/symbols:called")" "$T/symbols" 40
}

# elsewhere COUNTS COMMAND...: 3 short runs in the kernel, of a program that may have another file.
elsewhere() {
	local want=$1 round
	shift
	for round in 1 2 3; do
		echo "round $round"
		track -fe -T 0 --total -c "$(f "$T/probed:called")" "$@"
		total=$(awk '/ total / { $1 = $2 = $3 = $4 = ""; print }' "$ROWS" | xargs)
		# It has ended before cputrack looked.
		if [[ $stderr == "cputrack: process "*" had a root directory or mount namespace of its own, and ended before its '$T/probed' was compared: "* ]]; then
			[ "$total" = "${want%% *} # incomplete" ]
			[ "$status" -eq 1 ]
		elif [[ $want == *incomplete ]]; then
			[[ $stderr == "cputrack: process "*" has another file as '$T/probed', whose calls are not counted" ]]
			[ "$total" = "$want" ]
			[ "$status" -eq 1 ]
		else
			[ -z "$stderr" ]
			[ "$total" = "$want" ]
			[ "$status" -eq 0 ]
		fi
	done
}

@test "short-lived processes that have another file at the path are reported; by ptrace(2) they are counted" {
	need_root
	mkdir -p "$T/root$T"
	unshare -m mount --bind / "$T/root" || skip "nothing can be mounted here"
	cp "$WORK/symbols-static" "$T/probed"
	cp "$WORK/symbols-static" "$T/copy"
	cp "$WORK/symbols-static" "$T/root$T/probed"
	local other=(unshare -m sh -c 'mount --bind "$0" "$1"; exec "$1" 20' "$T/copy" "$T/probed")
	local root=(chroot "$T/root" "$T/probed" 20)
	use_engine ptrace
	for command in other root; do
		declare -n words=$command
		track -0 -fe -T 0 --total -c "$(f "$T/probed:called")" "${words[@]}"
		[ "$(awk '/ total / { print $NF }' "$ROWS")" = 20 ]
	done
	by_kernel
	elsewhere "0 # incomplete" "${other[@]}"
	elsewhere "0 # incomplete" "${root[@]}"
	elsewhere 20 unshare -m "$T/probed" 20
}

# attached EVENT COMMAND...: what cputrack reports that attaches to a command which says "ready" and
# waits; ATTACHED is run meanwhile.
attached() {
	local event=$1
	shift
	start prog "$@"
	eventually said prog ready
	${ATTACHED-:}
	start ct cputrack -v -T 0 -c "$event" -p "${PIDS[prog]}"
	eventually grep -q init_lwp "$T/ct.out"
	tell prog g
	finish prog
	[ "$status" -eq 0 ]
	finish ct
}

# not_probed PATH HOW EVENT COMMAND...: by the current engine.
not_probed() {
	local path=$1 how=$2
	shift 2
	attached "$@"
	[ "$status" -eq 1 ]
	grep -q "has mapped the code of '$path' $how, where the kernel sets no probes" "$T/ct.err"
	[ "$(wc -l <"$T/ct.err")" -eq 1 ]
	grep -qE ' exit +[-0] # incomplete$' "$T/ct.out"
}

@test "attached: code that is mapped shared or writable is reported, other code is counted" {
	need attach
	program=$WORK/map-code
	for engine in auto ptrace; do
		use_engine "$engine"
		for kind in private changed; do
			attached "$(f "$program:hit")" "$program" "$kind" 30
			[ "$status" -eq 0 ]
			[ "$(table "$T/ct.out" | awk '$3 == "exit" { print $4 }')" = 30 ]
		done
		not_probed "$program" "as shared memory (MAP_SHARED)" "$(f "$program:hit")" "$program" shared 30
		not_probed "$program" "as writable code" "$(f "$program:hit")" "$program" writable 30
	done
}

change_program() {
	touch "$program"
}

@test "attached: a program that overlayfs has copied since its start is reported" {
	need attach
	need_root
	mkdir "$T/lower" "$T/rest" "$T/merged"
	cp "$WORK/libsymbols.so" "$T/lower"
	cp "$WORK/symbols" "$T/lower/auto"
	cp "$WORK/symbols" "$T/lower/ptrace"
	mount -t tmpfs none "$T/rest" || skip "nothing can be mounted here"
	mkdir "$T/rest/upper" "$T/rest/work"
	mount -t overlay -o "lowerdir=$T/lower,upperdir=$T/rest/upper,workdir=$T/rest/work" none "$T/merged" ||
		skip "no overlayfs can be mounted here"
	for engine in auto ptrace; do
		use_engine "$engine"
		program=$T/merged/$engine
		ATTACHED=
		attached "$(f "$program:called")" "$program" -w 30
		[ "$(table "$T/ct.out" | awk '$3 == "exit" { print $4 }')" = 30 ]
		ATTACHED=change_program
		not_probed "$program" "as it was before a change (overlayfs has copied the file)" \
			"$(f "$program:called")" "$program" -w 30
	done
}

# not_opened PATH EVENT COMMAND...: a message says so, and only that; the count is 0.
not_opened() {
	local path=$1 event=$2
	shift 2
	track -0 -T 0 -c "$event" "$@"
	[ "$stderr" = "cputrack: no process opened '$path': its functions were not called" ]
	[ "$(counters_of exit)" = 0 ]
}

@test "a file that no process opened is reported: the wrong copy, program or probe" {
	need_root
	lib=$T/libsymbols.so
	cp "$WORK/libsymbols.so" "$WORK/symbols" "$T"
	mkdir "$T/other"
	cp "$WORK/libsymbols.so" "$WORK/probes" "$T/other" # other tests may open those of the build
	ln "$lib" "$T/hard.so"
	ln -s "$lib" "$T/soft.so"
	need open
	for engine in auto ptrace; do
		use_engine "$engine"
		not_opened "$T/other/libsymbols.so" "$(f "$T/other/libsymbols.so:lib_called")" "$T/symbols" 10
		not_opened "$T/symbols" "$(f "$T/symbols:called")" "$WORK/symbols" 10
		not_opened "$T/other/probes" "sdt/$T/other/probes:cpc:twice/" true
		for name in "$lib" "$T/hard.so" "$T/soft.so"; do
			track -0 -T 0 -c "$(f "$name:lib_called")" "$T/symbols" 10
			[ -z "$stderr" ]
			[ "$(counters_of exit)" = 17 ]
		done
		track -0 -T 0 -c "$(f "$WORK/symbols:called")" "$WORK/symbols" 0 # opened, but not called
		[ -z "$stderr" ]
		[ "$(counters_of exit)" = 0 ]
		go -127 cputrack -c "$(f "$T/symbols:called")" "$T/nosuch"
		[[ $stderr != *"no process opened"* ]]
	done
	# Another file of that name is counted by ptrace(2), so the name is not enough.
	track -0 -fe -T 0 --total -c "$(f "$T/symbols:called")" \
		sh -c 'cp "$0" "$0.n"; mv "$0.n" "$0"; "$0" 20' "$T/symbols"
	[ -z "$stderr" ]
	[ "$(awk '/ total / { print $NF }' "$ROWS")" = 20 ]
	start prog "$WORK/symbols" -w 5
	eventually said prog ready
	go -0 cputrack --for 0.1 -T 0 -c "$(f "$WORK/symbols:called"),$(f "$T/symbols:called")" -p "${PIDS[prog]}"
	[ "$stderr" = "cputrack: no process opened '$T/symbols': its functions were not called" ]
	hang_up prog
	finish prog
}

@test "two paths of one file: the library that is loaded is the merged one of an overlay" {
	need_root
	lib=$T/lower/libsymbols.so
	mkdir "$T/lower" "$T/rest" "$T/merged"
	cp "$WORK/libsymbols.so" "$T/lower"
	ln -s "$T/merged/libsymbols.so" "$T/libsymbols.so"
	cp "$WORK/symbols" "$T"
	mount -t tmpfs none "$T/rest" || skip "nothing can be mounted here"
	mkdir "$T/rest/upper" "$T/rest/work"
	mount -t overlay -o "lowerdir=$T/lower,upperdir=$T/rest/upper,workdir=$T/rest/work" none "$T/merged" ||
		skip "no overlayfs can be mounted here"
	for engine in auto ptrace; do
		use_engine "$engine"
		for path in "$lib" "$T/merged/libsymbols.so"; do
			track -0 -T 0 -c "$(f "$path:lib_called")" "$T/symbols" 10 1
			[ -z "$stderr" ]
			[ "$(counters_of exit)" = 27 ]
		done
	done
}
