# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# helpers.bash - functions that all test files use.
#
# CPC_BUILD names the build directory (default: build at the top of the source tree);
# the programs of tests/work are in $CPC_BUILD/tests/work.

bats_require_minimum_version 1.5.0

BATS_DIR=$(dirname "${BASH_SOURCE[0]}")
CPC_BUILD=$(realpath "${CPC_BUILD:-$BATS_DIR/../../build}")
WORK=$CPC_BUILD/tests/work
TRACING=/sys/kernel/tracing
# Ignore the user's settings, and a python3 before that of the system, which may start slowly; add sbin, which may be
# missing in the PATH.
export LC_ALL=C TZ=UTC XDG_CONFIG_HOME=/nonexistent
unset CPC_EVENTS CPC_EVENTS_DIR CPC_CPUID LIBPFM_FORCE_PMU LIBPFM_ENCODE_INACTIVE DEBUGINFOD_URLS MAKEFLAGS MAKELEVEL
PATH=$CPC_BUILD:/usr/bin:$PATH:/usr/sbin:/sbin
# From here on cputrack uses engine $1 instead of choosing one.
use_engine() {
	[ -n "${ENGINE-}" ] || PATH=$(realpath "$BATS_DIR/../engine"):$PATH
	ENGINE=$1
	export CPC_BUILD CPC_ENGINE=$1
}
[ -z "${CPC_ENGINE-}" ] || use_engine "$CPC_ENGINE"
# Definitions that other users may write are not read.
umask 022
# shellcheck source=tests/bats/tables.sh
. "$BATS_DIR/tables.sh"

# ------------------------------------------------------------------ needs

# Skip the test where the machine or the user cannot do THING (see tests/work/probe.c).
need() {
	local thing why
	for thing in "$@"; do
		why=$("$WORK/probe" "$thing") || skip "this machine cannot do that here: $why"
	done
}

# For tests of the use of ptrace(2), or of its limits.
by_ptrace() {
	use_engine ptrace
}

# Skip the test because of $1, the errors of a program that counts in the kernel: but not where it
# must work, for root on x86-64 with BTF and bpf(2).
skip_kernel() {
	if [[ $1 != *"built without BPF"* ]] && has_bpf; then
		echo "$1"
		return 1
	fi
	skip "$2: $1"
}

has_bpf() {
	[ "$(id -u) $(uname -m)" = "0 x86_64" ] && [ -r /sys/kernel/btf/vmlinux ] &&
		printf '%s\n' 5.17 "$(uname -r)" | sort -VC &&
		grep -q '^Seccomp:.0$' /proc/self/status &&
		(($((0x$(awk '/^CapEff:/ { print $2 }' /proc/self/status))) >> 39 & 1))
}

# For tests that no LWP is stopped.
by_kernel() {
	local why
	why=$("$CPC_BUILD/cputrack" --engine=kernel -T 0 -c page-faults true 2>&1 >/dev/null) ||
		skip_kernel "$why" "nothing is counted in the kernel here"
	use_engine kernel
}

need_root() {
	[ "$(id -u)" = 0 ] || skip "only root can do this"
}

# Directory $1 can be reached by other users; TMPDIR says where it is.
need_reachable() {
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$1" ||
		skip "other users cannot reach $1"
}

# The counts of all CPUs can be divided among cgroups, commands, ...
need_keys() {
	local why
	need_root
	need cpu
	why=$(cpustat -A command -c page-faults 0.01 1 2>&1 >/dev/null) ||
		skip_kernel "$why" "counts are not divided here"
}

# File $1 has no message, unless one about keys that other programs of this machine changed.
no_message() {
	awk '!/a running LWP changed its [a-z]+ unnoticed/ { print; found = 1 } END { exit found }' "$1"
}

need_command() {
	local name
	for name in "$@"; do
		command -v "$name" >/dev/null || skip "there is no command $name"
	done
}

# Is this a sanitized build?
is_sanitized() {
	grep -q __asan_init "$CPC_BUILD/cputrack"
}

# need_unsanitized WHY: skip in a sanitized build.
need_unsanitized() {
	! is_sanitized || skip "$1"
}

# with_comma COMMAND...: in a new locale that writes 1,5 for 1.5.
with_comma() {
	[ -d "$T/de_DE.UTF-8" ] || localedef -i de_DE -f UTF-8 "$T/de_DE.UTF-8"
	[ "$(LOCPATH=$T LC_ALL=de_DE.UTF-8 env printf %.1f 1,5)" = 1,5 ]
	LOCPATH=$T LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 "$@"
}

# script(1) can open a terminal.
need_terminal() {
	need_command script
	script -q -e -c true /dev/null >"$T/script.out" 2>&1 </dev/null ||
		skip "script(1) gets no terminal: $(head -n1 "$T/script.out")"
}

# perf(1) is installed and can count.
need_perf() {
	need_command perf
	perf stat -x, -e page-faults:u -o "$T/perf.probe" true 2>"$T/perf.err" ||
		skip "perf stat does not work here: $(head -n1 "$T/perf.err")"
}

# The tracepoints SYSTEM/NAME... can be read, in a mount namespace of our own if need be.
need_tracepoints() {
	local name
	need_root
	need cpu
	in_tracefs true 2>/dev/null || skip "tracefs is not mounted and cannot be"
	for name in "$@"; do
		in_tracefs test -r "$TRACING/events/$name/id" ||
			skip "this kernel has no tracepoint $name"
	done
}

# Run a command that finds tracefs mounted.
in_tracefs() {
	set_tracefs
	"${TRACEFS[@]}" "$@"
}

# From here on track finds tracefs mounted, and so does a command after "${TRACEFS[@]}".
set_tracefs() {
	TRACEFS=()
	if [ ! -r "$TRACING/events/header_page" ]; then
		# shellcheck disable=SC2016 # for the inner shell
		TRACEFS=(unshare -m sh -c 'mount -t tracefs nodev "$0" && exec "$@"' "$TRACING")
	fi
}

# From here on track runs without address space randomization, which makes page faults
# repeatable; so does a command after "${STILL[@]}".  Where a container forbids that, nothing
# changes.
still() {
	if setarch -R true 2>/dev/null; then
		STILL=(setarch -R)
	fi
}

# Are the cases with the tag all left out?
in_short() {
	[[ ${CPC_BATS_OPTIONS-} == *"!all"* ]]
}

# Of N rounds that look for a rare race, a quarter where they are: for _ in $(rounds N)
rounds() {
	if in_short; then
		seq $((($1 + 3) / 4))
	else
		seq "$1"
	fi
}

# ------------------------------------------------------------------ running

# For each test: a directory T, a file name ROWS for a table, and an empty standard input.
common_setup() {
	exec </dev/null
	T=$BATS_TEST_TMPDIR
	ROWS=$T/rows
	declare -gA PIDS=() CTL=()
	STRAYS=()
	STILL=()
	TRACEFS=()
	need soft ptrace
}

# Kill the processes that a test left behind, by process group and by id.
common_teardown() {
	local name pid fd
	for name in "${!CTL[@]}"; do
		fd=${CTL[$name]}
		exec {fd}>&-
	done
	for pid in "${PIDS[@]}"; do
		kill -CONT -- "-$pid" 2>/dev/null || true
		kill -KILL -- "-$pid" "$pid" 2>/dev/null || true
	done
	for pid in "${STRAYS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	for pid in "${PIDS[@]}"; do
		wait "$pid" 2>/dev/null || true
	done
}

setup() {
	common_setup
}

teardown() {
	common_teardown
}

# Signals at their defaults: a shell ignores some in its background commands.
# A command that hangs is killed. The limit is so long that a busy machine does not reach it.
FRESH=(env --default-signal)
LIMIT=("${FRESH[@]}" timeout --foreground -s KILL 500)

# "${WITH_FILES[@]}" N COMMAND...: with the standard streams alone, whatever else the runner
# has open, and room for N files.
# shellcheck disable=SC2016,SC2034 # for the inner shell, for the tests
WITH_FILES=(bash -c 'for fd in /proc/$$/fd/*; do
		[ "${fd##*/}" -le 2 ] || eval "exec ${fd##*/}>&-"
	done
	ulimit -n "$1" && shift && exec "$@"' with_files)

# go [-N] COMMAND...: run with bats' run, standard error apart, with the limit; -N says
# which exit status it must have.  Its output is shown when the test fails.
go() {
	local want='' warned=()
	if [[ $1 =~ ^-[0-9]+$ ]]; then
		want=${1#-}
		shift
	fi
	[ "$want" != 127 ] || warned=(-127) # else bats has doubts
	run --separate-stderr "${warned[@]}" "${LIMIT[@]}" "$@"
	# shellcheck disable=SC2154 # from run
	printf 'status %s\nstdout: %s\nstderr: %s\n' "$status" "$output" "$stderr"
	[ -z "$want" ] || [ "$status" -eq "$want" ]
}

# mistake STATUS TEXT COMMAND...: fails with STATUS and one line of error, which contains TEXT.
mistake() {
	local want=$1 text=$2
	shift 2
	go "-$want" "$@"
	# shellcheck disable=SC2154 # from run
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *"$text"* ]]
}

# track [-N] ARGUMENT...: cputrack with its table in $ROWS, which is shown, too.
track() {
	local want=() bad=0
	if [[ $1 =~ ^-[0-9]+$ ]]; then
		want=("$1")
		shift
	fi
	go "${want[@]}" "${STILL[@]}" "${TRACEFS[@]}" cputrack -o "$ROWS" "$@" || bad=1
	if [ -e "$ROWS" ]; then
		head -n 60 "$ROWS"
	fi
	return $bad
}

# start NAME COMMAND...: run in the background, in a process group of its own.  Its
# standard input is a pipe that tell and hang_up write; its output goes to the files
# $T/NAME.out and $T/NAME.err; its process id is ${PIDS[NAME]}.
start() {
	local name=$1 fd
	shift
	mkfifo "$T/$name.in"
	exec {fd}<>"$T/$name.in"
	: >"$T/$name.out"
	: >"$T/$name.err"
	set -m
	(
		trap - EXIT ERR DEBUG
		for other in "${CTL[@]}"; do
			exec {other}>&-
		done
		exec {fd}>&- 3>&-
		exec "${FRESH[@]}" "$@"
	) <"$T/$name.in" >>"$T/$name.out" 2>>"$T/$name.err" &
	PIDS[$name]=$!
	set +m
	CTL[$name]=$fd
}

# The started command $1 executes program $2.  Attached before, it would be lost at its exec.
executes() {
	[ "$(cat "/proc/${PIDS[$1]}/comm")" = "$2" ]
}

tell() {
	printf '%s' "$2" >&"${CTL[$1]}"
}

hang_up() {
	local fd=${CTL[$1]}
	exec {fd}>&-
	unset "CTL[$1]"
}

# Wait for the end of a started command; its exit status becomes $status.
finish() {
	local name=$1
	if ! eventually ended "${PIDS[$name]}"; then
		cat "$T/$name.out" "$T/$name.err"
		return 1
	fi
	status=0
	wait "${PIDS[$name]}" || status=$?
	unset "PIDS[$name]"
	if [ -n "${CTL[$name]-}" ]; then
		hang_up "$name"
	fi
	rm -f "$T/$name.in"
	printf '%s ended with status %s\n' "$name" "$status"
	cat "$T/$name.err"
}

# Poll until COMMAND succeeds.  The bound is for hangs only.
eventually() {
	local i
	for ((i = 0; i < 4000; i++)); do
		if "$@" >/dev/null 2>&1; then
			return 0
		fi
		sleep 0.05
	done
	echo "never came true: $*"
	return 1
}

# eventually its output NAME.out has N lines LINE
said() {
	[ "$(grep -cx -- "$2" "$T/$1.out")" -ge "${3:-1}" ]
}

# The state letter of a process: R S D T t Z; nothing when there is no such process.
state() {
	sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null || true
}

ended() {
	[[ $(state "$1") =~ ^[ZX]?$ ]]
}

# Process $1 has executed the program NAME.
is_program() {
	[ "$(cat "/proc/$1/comm")" = "$2" ]
}

stopped() {
	[[ $(state "$1") =~ ^[Tt]$ ]]
}

sleeping() {
	[ "$(state "$1")" = S ]
}

untraced() {
	local task
	for task in /proc/"$1"/task/*; do
		grep -q '^TracerPid:[[:space:]]*0$' "$task/status" || return 1
	done
}

tracer() {
	sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$1/status"
}

# Wait for the first child of a process, and set $CHILD to it: for cputrack, the command.
child_of() {
	eventually find_child "$1"
}

find_child() {
	local status
	for status in /proc/[0-9]*/status; do
		if grep -q "^PPid:[[:space:]]*$1\$" "$status" 2>/dev/null; then
			status=${status#/proc/}
			# shellcheck disable=SC2034 # for the tests
			CHILD=${status%/status}
			return 0
		fi
	done
	return 1
}

# ------------------------------------------------------------------ cpustat

# The CPUs that are online and that we may use, one per line.
cpus() {
	{
		expand_list "$(cat /sys/devices/system/cpu/online)"
		expand_list "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
	} | sort -n | uniq -d
}

expand_list() {
	local part
	for part in ${1//,/ }; do
		seq "${part%-*}" "${part#*-}"
	done
}

# Each row of a table of cpustat is formatted as the manual says: printing its words with the
# formats gives the same line; -T lines are left out.
check_cpustat_format() {
	awk '
	function bad(why) { print why ": \"" $0 "\" is not \"" want "\""; failed = 1 }
	/^ *time cpu event / {
		want = sprintf("%7s %3s %5s ", "time", "cpu", "event")
		for (i = 4; i <= NF; i++)
			if ($i == "tsc" || $i == "tick") want = want sprintf("%9s ", $i)
			else want = want sprintf("%8s%-2d", "pic", substr($i, 4))
		if ($0 != want) bad("header")
		next
	}
	/^[0-9]+$/ || /^[A-Z]/ { next }
	{
		words = $0; comment = ""
		at = index($0, "#")
		if (at) { words = substr($0, 1, at - 1); comment = substr($0, at) }
		n = split(words, w, " ")
		want = sprintf("%7.3f %3d %5s ", w[1], w[2], w[3])
		for (i = 4; i <= n; i++) want = want sprintf("%9.0f ", w[i])
		if ($0 != want comment) bad("layout")
		if (w[3] != "tick" && w[3] != "total") bad("event")
		if (w[1] + 0 < last) bad("time")
		last = w[1] + 0
		rows++
	}
	END { if (!rows) print "no rows"; exit failed || !rows }' "$1"
}

# ------------------------------------------------------------------ perf stat

# The value of the first event in a file written by perf stat -x, -o.
perf_value() {
	awk -F, '!/^#/ && NF > 2 { print $1; exit }' "$1"
}

within_1_percent() {
	awk -v a="$1" -v b="$2" 'BEGIN { d = a > b ? a - b : b - a; exit !(b > 0 && d <= b / 100) }'
}
