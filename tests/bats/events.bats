#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Events by all their names: definitions, PMUs of the kernel, breakpoints.  How each is
# encoded or refused is in tests/specs.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

# Sets $HIT and $STORED, the addresses of hit() and `stored` in function-calls.
need_breakpoints() {
	need breakpoint
	read -r HIT STORED < <("$WORK/function-calls")
}

definitions() {
	cat >"$T/events.def"
	export CPC_EVENTS=$T/events.def
}

@test "a user definition equals the value of its expression, in the same run" {
	definitions <<-'EOF'
		# faults that needed no input or output
		soft = page-faults - major-faults  # the same as minor-faults
		both = page-faults + minor-faults
		SOFT2, soft3 = soft
	EOF
	track -0 -fe -T 0 -c soft,minor-faults,both,soft2,major-faults,soft3 sh -c "'$WORK/touch-pages' 500; '$WORK/touch-pages' 20"
	check_format
	table | awk '
		$3 ~ /^(exec|exit)$/ && $4 != "#" {
			seen++
			if ($4 != $5 || $6 != 2 * $5 + $8 || $7 != $4 || $9 != $4) { print; failed = 1 }
		}
		END { exit failed || seen < 3 }'
}

@test "a user definition comes before names of libpfm4 and the kernel" {
	definitions <<<'minor-faults = context-switches'
	need kernel
	track -0 -T 0 -D -c minor-faults true
	grep -q 'minor-faults: user definition: + type 1, config 0x3,' <<<"$stderr"
}

@test "using a definition that replaces a name of libpfm4 or the kernel is reported" {
	while IFS='|' read -r text spec what; do
		printf '\n%b\n' "$text" >"$T/events.def"
		CPC_EVENTS=$T/events.def go cputrack -o "$ROWS" -c "$spec" -c "$spec" true
		[ "${stderr_lines[0]}" = "cputrack: warning: '${text%% *}' is the definition of $T/events.def:2, not the $what of that name" ]
		[ "$(grep -c warning: <<<"$stderr")" -eq 1 ]
	done <<-'EOF'
		minor-faults = major-faults|minor-faults|event of the kernel
		MINOR-faults = major-faults|minor-faults|event of the kernel
		minor-faults = major-faults\nmine = minor-faults + task-clock|mine|event of the kernel
		EC_ref = major-faults|EC_ref|Solaris event
		PAPI_tot_ins = major-faults|PAPI_tot_ins|generic event
		task-clock = page-faults / major-faults|task-clock|event of the kernel
		minor-faults = ( page-faults + 1 ) * 2|minor-faults|event of the kernel
	EOF
	printf 'minor-faults = major-faults\nmine = page-faults\n' >"$T/events.def"
	CPC_EVENTS=$T/events.def go -0 cputrack -o "$ROWS" -c mine,page-faults true
	[ -z "$stderr" ]
}

# The configuration of $T/home, with definitions from standard input, is the user's.
own_definitions() {
	mkdir -p "$T/home/.config/cpc"
	cat >"$T/home/.config/cpc/events.def"
	unset XDG_CONFIG_HOME
	export HOME=$T/home
}

# not_read WHY: the definitions of own_definitions() are ignored, and a message says so.
not_read() {
	local file=$HOME/.config/cpc/events.def
	go -0 cputrack -o "$ROWS" -c page-faults true
	[ "$stderr" = "cputrack: warning: event definitions '$file' are not read: $1" ]
	go -2 cputrack -c mine true
	[[ ${stderr_lines[1]} == "cputrack: unknown event 'mine'"* ]]
	CPC_EVENTS=$file go -1 cputrack -c page-faults touch "$T/started"
	[ "$stderr" = "cputrack: event definitions '$file' are not read: $1" ]
	[ ! -e "$T/started" ]
}

@test "definitions that other users may write are not read, and a message says so" {
	own_definitions <<<'mine = page-faults'
	go -0 cputrack -o "$ROWS" -c mine true
	[ -z "$stderr" ]
	chmod 664 "$HOME/.config/cpc/events.def"
	not_read "others may write the file (mode 0664)"
	chmod 606 "$HOME/.config/cpc/events.def"
	not_read "others may write the file (mode 0606)"
}

@test "definitions of another user are not read, and a message says so" {
	need_root
	own_definitions <<<'mine = page-faults'
	chown 1000 "$HOME/.config/cpc/events.def"
	not_read "the file is another user's (uid 1000)"
	chown 0 "$HOME/.config/cpc/events.def"
	go -0 cputrack -o "$ROWS" -c mine true
	[ -z "$stderr" ]
	# an ordinary user reads definitions of root, and its own
	PLACE=$(mktemp -d "${TMPDIR:-/tmp}/cpc-defs.XXXXXX")
	chmod 755 "$PLACE"
	need_reachable "$PLACE"
	cp "$CPC_BUILD/cputrack" "$PLACE"
	echo 'mine = page-faults' >"$PLACE/events.def"
	for owner in 0:0 65534:0 1000:1; do
		chown "${owner%:*}" "$PLACE/events.def"
		go "-${owner#*:}" setpriv --reuid=65534 --regid=65534 --clear-groups env CPC_EVENTS="$PLACE/events.def" \
			"$PLACE/cputrack" -c mine true
	done
	rm -r "$PLACE"
}

@test "a binary file has no definitions: status 1, as no event is wrong" {
	mkfifo "$T/fifo"
	mkdir "$T/directory"
	printf 'a = cs\n\0b = cs\n' >"$T/nul"
	echo 'a = cs' >"$T/text"
	while IFS='|' read -r file why; do
		CPC_EVENTS=$T/$file go -1 cputrack -c a touch "$T/started"
		[ "$stderr" = "cputrack: ${why/@/\'$T/$file\'}" ]
		[ ! -e "$T/started" ]
	done <<-'EOF'
		fifo|cannot read event definitions @: not a regular file
		directory|cannot read event definitions @: Is a directory
		nul|event definitions @ are not text: they contain a NUL byte
	EOF
	CPC_EVENTS=/dev/null go -1 cputrack -c page-faults true
	own_definitions <<<''
	rm "$HOME/.config/cpc/events.def"
	mkfifo "$HOME/.config/cpc/events.def"
	go -1 cputrack -c page-faults true
	[[ $stderr == *": not a regular file" ]]
	need_command strace
	for error in ENOMEM EMFILE EIO; do
		CPC_EVENTS=$T/text go -1 strace -qq -o "$T/trace" -P "$T/text" -e trace=openat \
			-e "inject=openat:error=$error" cputrack -c a true
		[[ $stderr == "cputrack: cannot read event definitions '$T/text': "* ]]
	done
}

@test "a malformed definition is reported with its line, and spoils nothing else" {
	while IFS='|' read -r text why; do
		printf '# a comment\n\n%b\n' "$text" >"$T/events.def"
		CPC_EVENTS=$T/events.def go -0 cputrack -o "$ROWS" -c page-faults true
		[ "$stderr" = "cputrack: warning: $T/events.def:$why" ]
	done <<-'EOF'
		nonsense|3: a definition is: name = event [+|- event]...  # description
		= cycles|3: the name of an event cannot contain blanks, commas, colons or slashes
		a b = cycles|3: the name of an event cannot contain blanks, commas, colons or slashes
		a, b c = cs|3: the name of an event cannot contain blanks, commas, colons or slashes
		a =|3: an event is missing after '='
		any = cs|3: the name of an event cannot be an attribute or a number
		12 = cs|3: the name of an event cannot be an attribute or a number
		a = cs,sys|3: a definition has no attributes: ":k" after a name of libpfm4 is for kernel mode
		[skl|3: a section is [pmu,...] or [*]
	EOF
	CPC_EVENTS=$T/nowhere go -1 cputrack -c page-faults touch "$T/started"
	[ "$stderr" = "cputrack: cannot read event definitions '$T/nowhere': No such file or directory" ]
	[ ! -e "$T/started" ]
}

@test "a definition that cannot be resolved says where it is and why" {
	definitions <<-'EOF'
		c = no-such-thing + cs
		d = d
		e = f + cs
		f = e
	EOF
	while IFS='|' read -r name why; do
		go -2 cputrack -c "$name" true
		[ "$stderr" = "cputrack: $T/events.def:${why//@/$T/events.def:}" ]
	done <<-'EOF'
		c|1: cannot resolve 'c': unknown event 'no-such-thing'
		d|2: cannot resolve 'd': @2: the definition of 'd' refers to itself
	EOF
}

@test "only a use of a malformed definition fails" {
	definitions <<-'EOF'
		a = page-faults -
		b = page-faults minor-faults
		c = minor-faults
	EOF
	malformed="an expression is event [+|- event]..."
	go -0 cputrack -o "$ROWS" -c c true
	[ "${#stderr_lines[@]}" -eq 2 ]
	for name in a b; do
		line=$((1 + $(printf '%d' "'$name") - 97))
		go -2 cputrack -c "$name" true
		[ "${stderr_lines[line - 1]}" = "cputrack: warning: $T/events.def:$line: $malformed" ]
		[ "${stderr_lines[2]}" = "cputrack: $T/events.def:$line: '$name' is not an event: $malformed" ]
	done
}

@test "shipped definitions equal the kernel's generic events" {
	[ "$(find /sys/bus/event_source/devices/*/ -maxdepth 1 -name cpus | wc -l)" -le 1 ] ||
		skip "several kinds of cores: each event is encoded for each"
	export LIBPFM_FORCE_PMU=perf # a CPU without definitions of its own
	run --separate-stderr cputrack -D -c EC_hit,PAPI_tot_ins,pic2=Cycle_cnt true
	[[ ${stderr_lines[0]} == "cputrack: pic0 EC_hit: Solaris name: + type 0, config 0x2, counts in user mode - type 0, config 0x3, counts in user mode" ]]
	[[ ${stderr_lines[1]} == "cputrack: pic1 PAPI_tot_ins: generic name: + type 0, config 0x1, counts in user mode" ]]
	[[ ${stderr_lines[2]} == "cputrack: pic2 Cycle_cnt: Solaris name: + type 0, config 0x0, counts in user mode" ]]
	run --separate-stderr cputrack -D -c inst_retired,inst_retired,nouser1,sys1 true
	[[ ${stderr_lines[1]} == *"config 0x1, counts in kernel mode" ]]
}

@test "-h lists what can be opened here, wraps, and is quick to search" {
	go -0 cputrack -h
	awk 'length > 76 { print; failed = 1 } END { exit failed }' <<<"$output"
	sed -n '/^software events:/,/^$/p' <<<"$output" | grep -qw page-faults
	# Each name that is listed can be counted.
	sed -n '/^software events:/,/^$/p; /^events of PMUs/,/^$/p' <<<"$output" |
		grep '^ ' | tr -s ' ' '\n' | grep . | grep -v ':$' >"$T/events"
	[ "$(wc -l <"$T/events")" -gt 5 ]
	while read -r event; do
		cputrack -c "$event" -o "$T/table" true
	done <"$T/events"
	go -0 cpustat -h major
	[[ $output == major-faults* ]]
	go -1 cputrack -h there_is_no_such_event
	[[ $stderr == "cputrack: unknown event: none that "*" matches 'there_is_no_such_event'"* ]]
}

@test "a Solaris name where there is no hardware counter: the reason" {
	if "$WORK/probe" pmu; then
		skip "this machine has hardware counters"
	fi
	for spec in pic0=EC_ref,pic1=EC_hit EC_ref,EC_hit pic0=Cycle_cnt,pic1=Instr_cnt; do
		go -1 cputrack -c "$spec" true
		[[ $stderr == "cputrack: cannot count '"*"': the kernel has no hardware counters"* ]]
	done
}

@test "a breakpoint counts calls exactly, per LWP and in all" {
	need_breakpoints
	track -0 -v -T 0 -c "breakpoint/addr=$HIT/,breakpoint/addr=$STORED,len=4,rw=w/" \
		"$WORK/function-calls" 1000 3
	check_format
	check_sums
	for pic in 0 1; do
		[ "$(sum_of exit '' "$pic")" -eq 4000 ]
		for lwp in 2 3 4; do
			[ "$(sum_of lwp_exit "$lwp" "$pic")" -eq 1000 ]
		done
	done
}

@test "the error says what is wrong with a breakpoint" {
	while IFS='|' read -r event why; do
		go -2 cputrack -c "$event" true
		[ "$stderr" = "cputrack: invalid event '$event': $why" ]
	done <<-'EOF'
		breakpoint/addr=1|it must end with a slash
		breakpoint/len=1/|addr is missing
		breakpoint/addr=1,len=3/|len is 1, 2, 4 or 8
		breakpoint/addr=1,rw=q/|rw is x, r, w or rw
		breakpoint/addr/|a breakpoint is breakpoint/addr=ADDRESS[,len=BYTES][,rw=x|r|w|rw]/
		breakpoint/addr=1,foo=2/|its fields are addr, len and rw
	EOF
}

@test "events of the kernel's PMUs: msr/tsc/ grows like the clock" {
	need kernel
	[ -e /sys/bus/event_source/devices/msr/events/tsc ] || skip "this kernel has no msr/tsc/"
	track -0 -t -T 0 -c msr/tsc/,msr/event=0/ "$WORK/spin" 0.3
	# The cycles of -t are computed from the time that the LWP ran: the same within 1 %.
	table | awk '
		$3 == "exit" { a = $4; b = $5; c = $6; seen = 1 }
		function near(x, y) { return x > 0.99 * y && x < 1.01 * y }
		END { print a, b, c; exit !seen || !near(a, b) || !near(b, c) }'
}
