#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Closed streams, namespaces, the freezer: counts are right, or reported as missing.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load ../bats/helpers

teardown() {
	[ -z "${GROUP-}" ] || echo 0 >"$GROUP/cgroup.freeze" || true
	common_teardown
	[ -z "${GROUP-}" ] || eventually rmdir "$GROUP"
}

# Runs a command without the streams of $1: some of 0 1 2.
without() {
	local streams=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	"${LIMIT[@]}" bash -c '
		for fd in $0; do exec {fd}>&-; done
		exec 3>&- "$@"' "$streams" "$@"
}

@test "every mixture of closed streams: the table is whole, and no file is written by mistake" {
	for streams in 0 1 2 '0 1' '0 2' '1 2' '0 1 2'; do
		rm -f "$ROWS" "$T/exit" "$T/alone"
		echo "without $streams"
		status=0
		# shellcheck disable=SC2016 # for the inner shell
		without "$streams" cputrack -fe -T 0 -o "$ROWS" -c page-faults sh -c \
			'ls -l /proc/$$/fd | sed "s/.* \([0-2]\) -> /\1 /" >"$0"; exit 7' "$T/exit" || status=$?
		[ "$status" -eq 7 ]
		check_format
		[ "$(count_of exit)" -eq 3 ]
		# Without -o, a table needs an open standard output.
		status=0
		without "$streams" cputrack -T 0 -c page-faults true >"$T/out" 2>"$T/err" || status=$?
		[[ $streams == *1* ]] && want=1 || want=0
		[ "$status" -eq "$want" ]
	done
}

@test "a program in namespaces and a root directory of its own is counted to the last call" {
	need breakpoint
	need_root
	unshare -Urfpmnui true || skip "an ordinary user may not make a namespace"
	read -r address _ < <("$WORK/function-calls")
	track -7 -fe -T 0 -c "breakpoint/addr=$address/" unshare -Urfpmnui --mount-proc sh -c \
		"mount -t tmpfs none /proc; '$WORK/function-calls' 5 2; exit 7"
	[ -z "$stderr" ]
	[ "$(sum_of exit)" -eq 15 ]
	mkdir -p "$T/root"
	cp "$WORK/symbols-static" "$T/root/prog"
	track -0 -fe -T 0 -c breakpoint/addr=called/ chroot "$T/root" /prog 9 1
	[ "$(sum_of exit)" -eq 18 ]
}

# Puts a process into a cgroup of version 2.
put_into_group() {
	local top
	top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -z "$top" ] || ! mkdir "$top/cpc-$$" 2>/dev/null; then
		skip "no freezer of cgroup v2 here"
	fi
	GROUP=$top/cpc-$$
	if [ ! -e "$GROUP/cgroup.freeze" ] || ! echo "$1" >"$GROUP/cgroup.procs"; then
		skip "no freezer of cgroup v2 here"
	fi
}

has_ticks() {
	[ "$(count_of tick)" -ge "$1" ]
}

freeze() {
	echo "$1" >"$GROUP/cgroup.freeze"
	eventually grep -qx "frozen $1" "$GROUP/cgroup.events"
}

@test "a frozen program: ticks go on, ^C is obeyed, and it is thawed unharmed" {
	need_root
	start program "$WORK/thread-pool" 3
	eventually said program ready
	put_into_group "${PIDS[program]}"
	freeze 1
	start ct cputrack -v -T 0.05 -o "$ROWS" -c page-faults -p "${PIDS[program]}"
	eventually has_ticks 8
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	untraced "${PIDS[program]}"
	freeze 0
	tell program g
	hang_up program
	finish program
	[ "$status" -eq 0 ]
}
