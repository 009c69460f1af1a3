#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# A system call that a seccomp profile denies for good: no loop tries it for ever.  The programs
# count all the same, or end with one line that has the reason.  No process stays stopped.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines
# shellcheck disable=SC2016 # for the inner shell

load helpers

setup() {
	common_setup
	need attach
	need_unsanitized "the sanitizer's runtime makes the denied calls, too"
	# shellcheck disable=SC2034 # for go
	LIMIT=("${FRESH[@]}" timeout --foreground -s KILL 100)
	"$WORK/deny" ppoll EPERM true || skip "system calls cannot be denied here"
	ENGINES=(ptrace)
	! cputrack --engine=kernel -T 0 -c page-faults true || ENGINES+=(kernel)
}

# How COMMAND ends if each CALL is denied: "CALL STATUS MESSAGE", where status 0 has no message.
ends() {
	local name=$1 table=$2 call want message error number
	declare -A reasons=([EPERM]="Operation not permitted" [ENOSYS]="Function not implemented")
	shift 2
	while read -r call want message; do
		[ -n "$call" ] || continue
		for error in EPERM ENOSYS; do
			rm -f "$T/proof"
			go "-$want" "$WORK/deny" "$call" $error "$@"
			number=$(sed -E 's/process [0-9]+/process N/' <<<"$stderr")
			[ "$number" = "${message:+$name: $message: ${reasons[$error]}}" ]
		done
	done <<<"$table"
}

@test "a command runs on to its end, or is never run" {
	local started='"$@"; : >"$0"'
	local untraced='until grep -q "TracerPid:.0$" "/proc/$$/status"; do :; done; : >"$0"'
	for engine in "${ENGINES[@]}"; do
		same="rt_sigaction 1 cannot handle signals
			rt_sigprocmask 0
			pidfd_open 0"
		if [ "$engine" = ptrace ]; then
			ends cputrack "$same
				wait4 1 cannot start program 'sh': wait4(2)" \
				cputrack --engine="$engine" -fe -T 0.05 -c page-faults -o "$ROWS" sh -c "$started" "$T/proof" true
			[ ! -e "$T/proof" ]
			# it loses control, and the command, which ends no sooner, runs on
			for call in waitid rt_sigtimedwait; do
				ends cputrack "$call 1 lost control of process N" \
					cputrack --engine="$engine" -fe -T 0.05 -c page-faults -o "$ROWS" \
					sh -c "$untraced" "$T/proof"
				[ -e "$T/proof" ]
			done
		else
			ends cputrack "$same
				wait4 1 cannot wait for the end of the command
				waitid 0
				rt_sigtimedwait 0
				ppoll 1 cannot wait for the next event" \
				cputrack --engine="$engine" -fe -T 0.05 -c page-faults -o "$ROWS" sh -c "$started" "$T/proof" sleep 0.1
			[ -e "$T/proof" ]
		fi
	done
}

@test "an attached process runs on" {
	start sleeper cat
	eventually executes sleeper cat
	for engine in "${ENGINES[@]}"; do
		table="rt_sigaction 1 cannot handle signals
			wait4 0"
		if [ "$engine" = ptrace ]; then
			table+="
			ppoll 0
			waitid 1 lost control of process N
			rt_sigtimedwait 1 lost control of process N"
		else
			table+="
			waitid 0
			ppoll 1 cannot wait for the next event"
		fi
		ends cputrack "$table" cputrack --engine="$engine" --for 0.05 -T 0 -c page-faults -o "$ROWS" -p "${PIDS[sleeper]}"
		eventually untraced "${PIDS[sleeper]}"
		eventually sleeping "${PIDS[sleeper]}"
	done
	# its end cannot be reaped
	start ct "$WORK/deny" wait4 EPERM cputrack --engine=ptrace -T 0 -c page-faults -o "$ROWS" -p "${PIDS[sleeper]}"
	eventually tracked "${PIDS[sleeper]}"
	hang_up sleeper
	finish ct
	[ "$status" -eq 1 ]
	[[ $(cat "$T/ct.err") == "cputrack: lost control of process "*": Operation not permitted" ]]
}

tracked() {
	[ "$(tracer "$1")" -gt 0 ]
}

@test "signals reach the command, and end the programs" {
	local call
	for engine in "${ENGINES[@]}"; do
		for call in pidfd_send_signal pidfd_open tgkill; do
			: >"$ROWS"
			start ct "$WORK/deny" $call EPERM cputrack --engine="$engine" -T 0.02 -c page-faults -o "$ROWS" sleep 1000
			eventually grep -q tick "$ROWS"
			kill "${PIDS[ct]}"
			finish ct
			[ "$status" -eq 143 ]
			[ ! -s "$T/ct.err" ]
		done
	done
	need cpu
	start cs "$WORK/deny" tgkill EPERM cpustat --shared -c page-faults 0.02
	eventually grep -q tick "$T/cs.out"
	kill "${PIDS[cs]}"
	finish cs
	[ "$status" -eq 143 ]
}

@test "cpustat" {
	need cpu
	ends cpustat "ppoll 1 cannot wait for the next sample
		rt_sigaction 1 cannot handle signals
		rt_sigprocmask 0
		sched_getaffinity 1 cannot get the affinity mask
		wait4 0" cpustat --shared -c page-faults -o "$ROWS" 0.02 2
}
