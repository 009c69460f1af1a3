# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# check.sh - what the tests in the emulated machine share; to be read by a POSIX shell.
# shellcheck disable=SC1091 # a file of tests/bats
# Each check has a name and a line of output; a failure does not stop the next one.

# Checks of tables.
. ./tables.sh

checks=0 failed=0
out=${TMPDIR:-/tmp}/out err=${TMPDIR:-/tmp}/err

# From here on cputrack uses engine $1, if that is not empty.  By ptrace it starts in a fifth of the time.
use_engine() {
	[ -n "$1" ] || return 0
	mkdir -p /tmp/engine
	printf '#!/bin/sh\nexec %s --engine=%s "$@"\n' "$(command -v cputrack)" "$1" >/tmp/engine/cputrack
	chmod 755 /tmp/engine /tmp/engine/cputrack
	PATH=/tmp/engine:$PATH
}

# check NAME COMMAND...: the command must succeed.
check() {
	name=$1
	shift
	checks=$((checks + 1))
	if "$@"; then
		echo "ok   $name"
	else
		echo "FAIL $name: $*"
		sed 's/^/     stdout: /' "$out"
		sed 's/^/     stderr: /' "$err"
		failed=$((failed + 1))
	fi
}

# same NAME GOT WANT
same() {
	check "$1" [ "$2" = "$3" ]
}

# run COMMAND...: its output goes to "$out" and "$err", its exit status to $status.
run() {
	status=0
	"$@" >"$out" 2>"$err" || status=$?
}

# reports NAME STATUS PATTERN: the last run ended with that status, and said one line, which
# matches, to standard error.
reports() {
	same "$1: exit status" "$status" "$2"
	same "$1: one line" "$(wc -l <"$err")" 1
	check "$1: which says $3" grep -qE -- "$3" "$err"
}

# The counters of the last row with EVENT in a table without -f: counts EVENT [LWP]
counts() {
	awk -v event="$1" -v lwp="${2-}" '$3 == event && (lwp == "" || $2 == lwp) {
		row = ""
		for (i = 4; i <= NF; i++) row = row (i > 4 ? " " : "") $i
	} END { print row }' "$out"
}

# In a table with -fe, the last counters of the exit rows of all processes that run bare.
exits_of_bare() {
	awk '$4 == "exec" && $5 == "#" { bare[$2] = $0 ~ /'\''bare'\''/ }
	$4 == "exit" && bare[$2] { printf "%s%s", n++ ? " " : "", $NF }' "$out"
}

# To be called last.
# mount_cgroups FOLDER: of version 2, unless cgroups are mounted there.  It enables a controller, as systemd does:
# only then has the kernel its own counters of cgroups.
mount_cgroups() {
	[ -e "$1/cgroup.procs" ] || { mount -t cgroup2 none "$1" && echo +pids >"$1/cgroup.subtree_control"; }
}

finish() {
	rm -f "$out" "$err"
	echo "$((checks - failed)) of $checks checks passed"
	[ $failed = 0 ]
}
