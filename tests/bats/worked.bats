#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The examples of the programs' manual pages, as man(1) prints them; only with
# shorter times and with our own programs.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

MAN1=$BATS_TEST_DIRNAME/../../man1

# The commands of a page's examples, as man(1) prints them: with the line breaks and blanks that a
# reader copies.  A form feed ends each.  An assignment belongs to the commands after it.
examples() {
	mandoc -Tascii -O width=80 "$MAN1/$1.1" | col -bx | awk '
		/^[A-Z]/ { on = /EXAMPLES/ }
		!on { next }
		/^ +[$#] [a-z]+=[^ ]*$/ { set = substr($0, match($0, /[$#]/) + 2) "\n"; begun = 0; next }
		/^ +[$#] / { put(substr($0, match($0, /[$#]/))); next }
		!NF { begun = 0; set = ""; next }
		/ (share|event)( |$)/ { begun = 0 } # the header of a table
		begun { command[n] = command[n] "\n" $0 }
		END { for (i = 1; i <= n; i++) printf "%s\f", command[i] }
		function put(text) { command[++n] = substr(text, 1, 2) set substr(text, 3); begun = 1 }'
}

setup() {
	common_setup
	need_command mandoc
	mkdir -p "$T/bin" "$T/home" "$T/etc"
	cd "$T" || return
	# A make(1) and a program that end soon, and a script.
	printf '#!/bin/sh\nls >/dev/null; sort /etc/passwd | wc -l\n' | tee bin/make bin/program script.sh old new >a.out
	chmod +x bin/* a.out old new
	start nginx "$WORK/set-comm" nginx
	eventually said nginx ready
	export HOME=$T/home PATH=$T/bin:$PATH
	unset XDG_CONFIG_HOME
	LIBC=$(ldd "$WORK/touch-pages" | awk '/libc\.so/ { print $3 }')
	# Events that this machine may not have, and the error for each.
	MISSING='^(cputrack|cpustat): (cannot count|no tracked program|.*(tracefs|tracepoint|[Bb]reakpoint|uprobe|counter))'
}

# The command as it is written, with other times, names and places.
ours() {
	sed -zE "s/-p 4242/-p ${PIDS[nginx]}/; s/--for 10/--for 0.2/; s/-T 10/-T 0.05/
		s|/usr/lib/libplugin.so:work|$LIBC:malloc|g; s|/lib/x86_64-linux-gnu/libc.so.6|$LIBC|
		s|/var/lib/prometheus/node-exporter|$T|; s|/etc/cpc|$T/home/.config/cpc|
		/^. cpustat/s/-p 60/-p 0.2/; s/:10047/:0/
		/^. cpustat/s/ (1|5|10|15|60)( [0-9]+)?( *\\|| *>|\$)/ 0.05 2\\3/
		/^. cpustat( -T d -c [a-z,0-9-]+)?\$/s/\$/ 0.05 2/
		s/^. cpustat/cpustat/; s/^[\$#] //"
}

# Where tracefs can be mounted, commands find it.
find_tracefs() {
	if [ "$(id -u)" != 0 ] || ! in_tracefs true 2>/dev/null; then
		TRACEFS=()
	fi
}

# Runs all examples of page $1: each works, or reports that its event is missing here.
work() {
	local line n=0
	find_tracefs
	while IFS= read -rd $'\f' line; do
		n=$((n + 1))
		if [[ $line == '#'* ]] && { [ "$(id -u)" != 0 ] || ! "$WORK/probe" cpu >"$T/why"; }; then
			continue
		fi
		printf %s "$line" | ours >"$T/command"
		run --separate-stderr "${LIMIT[@]}" "${TRACEFS[@]}" bash -o pipefail "$T/command" </dev/null
		printf '%s\n%s\nstatus %s\n%s\n%s\n' "$line" "$(cat "$T/command")" "$status" "$output" "$stderr"
		if [[ $line == *--check* ]]; then
			[ "$status" -le 1 ]
		elif [ "$status" -ne 0 ]; then
			[ "$status" -lt 126 ] # the command line was one of cputrack
			grep -qE "$MISSING" <<<"$stderr"
			[[ $line =~ cycles|instructions|breakpoint|uprobe|: ]]
		elif [[ $line != *" -o "* && $line != *--listen* && $line != *">"* && $line != *mkdir* ]]; then
			[ -n "$output" ]
		fi
	done < <(examples "$1")
	[ "$n" -ge 10 ]
}

@test "the examples of cputrack(1) work" {
	work cputrack
	# The examples use files of each other.
	[ -s build.out ] && [ -s run.json ] && [ -s before.json ]
}

@test "the examples of cpustat(1) work" {
	need cpu
	work cpustat
	[ -s day.json ] && [ -s day.csv ] && [ -s cpustat.prom ]
}
