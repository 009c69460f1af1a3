#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# An ordinary user: own programs in user mode, and clear refusals of the rest.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	UMASK=$(umask)
	umask 022
	# Where an ordinary user can reach the programs: a build directory may be private.
	PLACE=$(mktemp -d "${TMPDIR:-/tmp}/cpc-user.XXXXXX")
	chmod 755 "$PLACE"
	[ "$(id -u)" != 0 ] || need_reachable "$PLACE"
	cp "$CPC_BUILD/cputrack" "$CPC_BUILD/cpustat" "$WORK/touch-pages" "$WORK/threads" \
		"$WORK/thread-pool" "$WORK/forks" "$WORK/print-ids" "$WORK/probe" "$WORK/symbols" "$WORK/libsymbols.so" "$PLACE"
	AS_USER=(env PATH="$PLACE:$PATH")
	if [ "$(id -u)" = 0 ]; then
		AS_USER=(setpriv --reuid=65534 --regid=65534 --clear-groups "${AS_USER[@]}")
	fi
	PARANOID=$(cat /proc/sys/kernel/perf_event_paranoid)
	why=$(as_user "$PLACE/probe" soft) ||
		skip "an ordinary user cannot count at all here (perf_event_paranoid $PARANOID): $why"
	why=$(as_user "$PLACE/probe" ptrace) || skip "an ordinary user cannot trace: $why"
}

teardown() {
	common_teardown
	rm -rf "$PLACE"
	umask "$UMASK"
}

# Run as nobody, without groups and privileges, unless we are an ordinary user already.
as_user() {
	"${AS_USER[@]}" "$@"
}

# user [-N] COMMAND...: the same with go; standard output is put into $ROWS, too.
user() {
	local want=() bad=0
	if [[ $1 =~ ^-[0-9]+$ ]]; then
		want=("$1")
		shift
	fi
	cd /
	go "${want[@]}" "${AS_USER[@]}" "$@" || bad=1
	printf '%s\n' "$output" >"$ROWS"
	return $bad
}

# The refusal names perf_event_paranoid, its value, and what to change.
names_the_remedy() {
	grep -Fq "perf_event_paranoid" <<<"$stderr"
	grep -Eq -- "(^|[^0-9-])$PARANOID([^0-9]|\$)" <<<"$stderr"
	grep -q 'CAP_PERFMON' <<<"$stderr"
	grep -q 'sysctl' <<<"$stderr" || grep -q 'kernel[./]perf_event_paranoid' <<<"$stderr"
}

user_needs() {
	why=$(as_user "$PLACE/probe" "$1") || skip "an ordinary user cannot do that here: $why"
}

# For tests of refusals: an ordinary user may not do THING.
need_paranoid() {
	if as_user "$PLACE/probe" "$1" >/dev/null; then
		skip "ordinary users may do that here (perf_event_paranoid $PARANOID)"
	fi
}

@test "page faults of one's own program, the same as root counts" {
	user -0 cputrack -T 0 -c page-faults "$PLACE/touch-pages" 5000
	check_format
	[ "$(sum_of exit)" -ge 5000 ]
	[ "$(sum_of exit)" -lt 5500 ]
	[ -z "$stderr" ]
}

@test "threads, children and images of one's own" {
	user -0 cputrack -fev -T 0 -c page-faults,task-clock sh -c \
		"$PLACE/threads -p 5 50; $PLACE/forks -p 5 10; exit 0"
	check_format
	check_sums
	check_life
	[ "$(count_of lwp_create)" -eq 50 ]
	[ "$(count_of fork)" -eq 12 ]
}

@test "breakpoints by symbol, of the program and of its libraries" {
	user_needs breakpoint
	b=breakpoint/addr
	user -0 cputrack -T 0 -c "$b=called/,$b=lib_called/,$b=getppid/" "$PLACE/symbols" 10 1
	[ "$(rows_of exit)" = "0 1 exit 20 27 20" ]
	[ -z "$stderr" ]
}

@test "attaching to one's own process" {
	user_needs attach
	start crowd "${AS_USER[@]}" "$PLACE/thread-pool" 5
	eventually said crowd ready
	user -0 cputrack -T 0.05 -N 2 -c page-faults -p "${PIDS[crowd]}"
	[ "$(count_of tick)" -eq 12 ]
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
}

@test "attaching to another user's process is refused" {
	need_root
	start crowd "$WORK/thread-pool" 1
	eventually said crowd ready
	user -1 cputrack -T 0.05 -N 2 -c page-faults -p "${PIDS[crowd]}"
	[ -z "$output" ]
	[[ ${stderr_lines[0]} == cputrack:* ]]
	[ "${#stderr_lines[@]}" -eq 1 ]
	user -1 cputrack -c page-faults -p 1
	[[ ${stderr_lines[0]} == cputrack:* ]]
	untraced "${PIDS[crowd]}"
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
}

@test "context switches are refused, with the reason and the remedy" {
	need_paranoid kernel
	user -1 cputrack -T 0 -c context-switches "$PLACE/touch-pages" 1
	[[ ${stderr_lines[0]} == "cputrack: "* ]]
	names_the_remedy
	grep -q 'context-switches' <<<"$stderr"
	[ "$(count_of exit)" -eq 0 ]
}

@test "so are they as root in a user namespace of one's own" {
	need_paranoid kernel
	as_user unshare -Ur true 2>/dev/null || skip "an ordinary user may not make a namespace"
	user -1 unshare -Ur cputrack -c context-switches true
	names_the_remedy
}

@test "a process that /proc hides" {
	need_root
	unshare -pf --mount-proc true || skip "no PID namespaces here"
	# shellcheck disable=SC2016 # for the inner shell
	go -1 unshare -pf --mount-proc sh -c 'mount -t proc -o hidepid=2 proc /proc; "$@"; exit $?' \
		sh "${AS_USER[@]}" cputrack -c page-faults -p 1
	[[ $stderr == "cputrack: cannot track process 1: /proc hides it (hidepid); root may"* ]]
}

@test "-h prints why they are not listed" {
	need_paranoid kernel
	user -0 cputrack -h
	[ "$(grep -cw cgroup-switches "$ROWS")" -eq 0 ]
	grep -A4 '^not listed:' "$ROWS" | grep -q perf_event_paranoid
	user -1 cputrack -h context
	names_the_remedy
}

@test "so is counting in kernel mode" {
	need_paranoid kernel
	user -1 cputrack -T 0 -c page-faults,sys "$PLACE/touch-pages" 1
	[[ ${stderr_lines[0]} == "cputrack: "* ]]
	names_the_remedy
}

@test "a refused event makes its whole set refused" {
	need_paranoid kernel
	user -1 cputrack -T 0 -c page-faults,cpu-migrations "$PLACE/touch-pages" 1
	names_the_remedy
	grep -q 'cpu-migrations' <<<"$stderr"
}

@test "a tracepoint is refused, with a reason" {
	need_paranoid kernel
	user cputrack -T 0 -c sched:sched_switch "$PLACE/touch-pages" 1
	[ "$status" -eq 1 ]
	[[ ${stderr_lines[0]} == "cputrack: "* ]]
	grep -q 'sched:sched_switch' <<<"$stderr"
	grep -Eq 'perf_event_paranoid|tracefs|/sys/kernel/tracing' <<<"$stderr"
}

@test "a pattern of tracepoints is refused, with a reason" {
	need_paranoid kernel
	user cputrack -c 'sched:*' true
	[[ $stderr != *"unknown event"* ]]
	grep -Eq 'perf_event_paranoid|tracefs|/sys/kernel/tracing' <<<"$stderr"
}

@test "cpustat is refused, with the reason and the remedy" {
	need_paranoid cpu
	for event in page-faults context-switches; do
		user -1 cpustat -c "$event" 0.1 1
		[[ ${stderr_lines[0]} == "cpustat: "* ]]
		names_the_remedy
		[ "$(grep -c tick "$ROWS")" -eq 0 ]
	done
}

@test "-h and bad usage need no privileges" {
	user -0 cputrack -h
	user -0 cpustat -h
	user -2 cputrack -c no_such_event true
	user -2 cpustat -c no_such_event 1 1
}

@test "a set-uid program runs without its privileges, and a message says so" {
	need_root
	chown 0 "$PLACE/print-ids"
	chmod 4755 "$PLACE/print-ids"
	[ "$(as_user "$PLACE/print-ids")" = "uid 65534 euid 0" ] ||
		skip "set-uid programs do not work on this file system"
	user -0 cputrack -T 0 -c page-faults "$PLACE/print-ids" -p 500
	[ "${lines[0]}" = "uid 65534 euid 65534" ] || grep -qx 'uid 65534 euid 65534' "$ROWS"
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ ${stderr_lines[0]} == cputrack:*ids* ]]
	[ "$(grep -c ' exit ' "$ROWS")" -eq 1 ]
	# Without -e tracking ends at the exec, when the kernel has dropped the privileges.
	# shellcheck disable=SC2016 # for the inner shell
	user -0 cputrack -T 0 -c page-faults sh -c 'exec "$0"' "$PLACE/print-ids"
	grep -qx 'uid 65534 euid 65534' "$ROWS"
	[[ $stderr == cputrack:*ids* ]]
}

@test "a program with capabilities runs without them, and a message says so" {
	need_root
	need_command setcap
	setcap cap_net_raw=ep "$PLACE/print-ids" || skip "this file system has no capabilities"
	user -0 cputrack -T 0 -c page-faults "$PLACE/print-ids"
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ ${stderr_lines[0]} == cputrack:*ids\ without\ its\ capabilities,* ]]
	go -0 cputrack -T 0 -o "$ROWS" -c page-faults "$PLACE/print-ids"
	[ -z "$stderr" ]
}

@test "a privileged program does not read files that its user's environment names" {
	need_root
	echo 'our_event = page-faults' >"$PLACE/own.def"
	mkdir "$PLACE/events.d" "$PLACE/cpc"
	printf '[*]\nour_vendor = page-faults\n' >"$PLACE/events.d/a.def"
	echo 'our_config = page-faults' >"$PLACE/cpc/events.def"
	chmod -R a+rX "$PLACE"
	environment=(env CPC_EVENTS="$PLACE/own.def" CPC_EVENTS_DIR="$PLACE/events.d"
		XDG_CONFIG_HOME="$PLACE" CPC_CPUID=GenuineIntel-6-AD-1)
	for name in our_event our_vendor our_config; do
		go -0 "${AS_USER[@]}" "${environment[@]}" cputrack -T 0 -c $name true
	done
	chmod 4755 "$PLACE/cputrack"
	for name in our_event our_vendor our_config; do
		go -2 "${AS_USER[@]}" "${environment[@]}" cputrack -T 0 -c $name true
		[[ $stderr == "cputrack: unknown event '$name'"* ]]
	done
}

@test "an unreadable program's counts are never a frozen number" {
	need_root
	chmod 711 "$PLACE/touch-pages"
	chown 0 "$PLACE/touch-pages"
	# root tracks it; the user who runs it may not read it
	go -0 cputrack -o "$ROWS" -e -T 0 -c page-faults \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$PLACE/touch-pages" 5000
	cat "$ROWS"
	# counted in full, or marked as incomplete
	rows_of exit | awk '
		$4 + 0 >= 5000 || $4 == "-" || /incomplete/ { good = 1 }
		END { exit !good }'
}
