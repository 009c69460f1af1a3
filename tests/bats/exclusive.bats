#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# One program at a time counts a CPU: cpustat by root and by others, cputrack beside it,
# owners that are killed, and users who attack the claims.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

AGAIN='Resource temporarily unavailable'

setup() {
	common_setup
	need cpu
	mapfile -t CPUS < <(cpus)
	PLACE=
}

teardown() {
	common_teardown
	if [ -n "$PLACE" ]; then
		rm -rf "$PLACE"
		find /dev/shm -maxdepth 1 -user 0 -perm 666 -name 'cpc-*' -delete
		find /dev/shm -maxdepth 1 -name 'cpc-*' \( -user 65534 -o -user 1000 \) -exec rm -r {} +
	fi
}

# Copies the programs to where other users can reach them, and sets how they are run there.
need_users() {
	need_root
	PLACE=$(mktemp -d "${TMPDIR:-/tmp}/cpc-excl.XXXXXX")
	chmod 755 "$PLACE"
	need_reachable "$PLACE"
	cp "$CPC_BUILD/cputrack" "$CPC_BUILD/cpustat" "$CPC_BUILD/tests/test_exclusive" \
		"$WORK/forge-claims" "$WORK/probe" "$PLACE"
	cp "$(command -v cat)" "$PLACE/setuid"
	chmod -R a+rX "$PLACE"
	chmod 4755 "$PLACE/setuid"
	NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups
		env "PATH=$PLACE:$PATH")
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 0 ]; then
		skip "everybody may count whole CPUs here"
	fi
}

# The user 1000 with CAP_PERFMON.
need_perfmon() {
	PERFMON=(setpriv --reuid=1000 --regid=1000 --clear-groups --inh-caps=+perfmon
		--ambient-caps=+perfmon env "PATH=$PLACE:$PATH")
	"${PERFMON[@]}" probe cpu >/dev/null || skip "no CAP_PERFMON to give"
}

# holds NAME CPUSTAT...: in the background, until it has sampled.
holds() {
	local name=$1
	shift
	start "$name" "$@"
	eventually grep -q ' tick ' "$T/$name.out"
}

interrupt() {
	kill -INT "${PIDS[$1]}"
	finish "$1"
	[ "$status" -eq 130 ]
}

# Every CPU was refused because of process $1, a cpustat.
refused_by() {
	local cpu
	for cpu in "${CPUS[@]}"; do
		grep -qx "cpustat: cpu$cpu - $AGAIN: process $1 (cpustat) counts on CPU $cpu; cpustat --shared would count beside it" <<<"$stderr"
	done
	[ "${#stderr_lines[@]}" -eq ${#CPUS[@]} ]
	[ -z "$output" ]
}

@test "a second cpustat is refused, and told who counts; --shared is not" {
	holds cs cpustat -c page-faults 0.05
	go -1 cpustat -c page-faults 0.05 1
	refused_by "${PIDS[cs]}"
	go -0 cpustat --shared -c page-faults 0.05 1
	[ -z "$stderr" ]
	interrupt cs
	[ ! -s "$T/cs.err" ]
	check_totals "$T/cs.out" ${#CPUS[@]}
	holds cs cpustat --shared -c page-faults 0.05
	go -0 cpustat -c page-faults 0.05 1
	interrupt cs
}

@test "on other CPUs a second cpustat runs at the same time" {
	need_command taskset
	[ ${#CPUS[@]} -ge 2 ] || skip "there is one CPU"
	holds cs taskset -c "${CPUS[0]}" cpustat -c page-faults 0.05
	go -0 taskset -c "${CPUS[1]}" cpustat -c page-faults 0.05 2
	go -1 cpustat -c page-faults 0.05 2
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "cpustat: cpu${CPUS[0]} - $AGAIN: "* ]]
	printf '%s\n' "$output" >"$ROWS"
	grep -q '# incomplete$' "$ROWS"
	interrupt cs
}

@test "several -c hold the CPUs in turn" {
	holds cs cpustat -c page-faults -c minor-faults 0.05
	go -1 cputrack -c page-faults true
	eventually grep -q 'tick .* minor' "$T/cs.out"
	interrupt cs
	[ ! -s "$T/cs.err" ]
}

@test "cputrack does not start beside cpustat: nothing runs, nothing is left" {
	holds cs cpustat -c page-faults 0.05
	go -1 cputrack -o "$ROWS" -c page-faults touch "$T/ran"
	[ ! -e "$T/ran" ]
	[ ! -e "$ROWS" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "cputrack: $AGAIN: process ${PIDS[cs]} (cpustat) counts on CPU "*"cpustat --shared"* ]]
	go -1 cputrack -c page-faults -p $$
	[ "${#stderr_lines[@]}" -eq 1 ]
	untraced $$
	interrupt cs
	track -0 -c page-faults true
}

@test "a running cputrack is invalidated, says so for each LWP, and goes on to the end" {
	need attach
	start crowd "$WORK/thread-pool" 3
	eventually said crowd ready
	pid=${PIDS[crowd]}
	start ct cputrack -v -T 0.05 -c page-faults -p "$pid"
	eventually grep -q ' tick ' "$T/ct.out"
	go -0 cpustat --shared -c page-faults 0.01 1
	[ ! -s "$T/ct.err" ]
	go -0 cpustat -c page-faults 0.01 1
	eventually grep -q ' tick  *- $' "$T/ct.out"
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
	finish ct
	[ "$status" -eq 1 ]
	for lwp in 1 2 3 4; do
		grep -qx "cputrack: $pid/$lwp: perf counter contents invalidated" "$T/ct.err"
	done
	[ "$(wc -l <"$T/ct.err")" -eq 4 ]
	# counts that were shown before are in the total
	cp "$T/ct.out" "$ROWS"
	check_format
	[ "$(rows_of exit | awk '{ print $NF }')" = incomplete ]
	[ "$(rows_of exit | awk '{ print $4 }')" = "$(table | awk '$3 == "tick" && $4 != "-" { s += $4 } END { print s }')" ]
	[ "$(rows_of lwp_exit | grep -c ' -$')" -eq 3 ]
}

@test "an invalidated command is followed to its end; later ones are counted again" {
	start ct cputrack -fe -T 0.05 -c page-faults sh -c 'read line; sh -c "exit 3"; exit 5'
	eventually grep -q ' tick ' "$T/ct.out"
	go -0 cpustat -c page-faults 0.01 1
	tell ct $'\n'
	finish ct
	[ "$status" -eq 1 ]
	cp "$T/ct.out" "$ROWS"
	[ "$(count_of fork)" -eq 1 ]
	[ "$(count_of exit)" -eq 2 ]
	# the child's own
	rows_of exit | grep -Eq '^[0-9]+ 1 exit [1-9][0-9]*$'
	track -0 -c page-faults true
}

@test "killed at 100 random moments, cpustat leaves nothing locked" {
	for _ in $(seq 100); do
		cpustat -c page-faults 0.001 >/dev/null &
		sleep "$(printf '0.%03d' $((RANDOM % 30)))"
		kill -KILL $!
		wait $! || [ $? -eq 137 ]
	done
	ls -l /run/cpc /dev/shm
	go -0 cputrack -c page-faults true
	go -0 cpustat -c page-faults 0.01 1
	[ -z "$stderr" ]
	[ -z "$(find /run/cpc -name 'cpc-cpu*')" ]
}

@test "root's claims are seen by ordinary users, whose cputrack is invalidated" {
	need_users
	start ct "${NOBODY[@]}" cputrack -T 0.05 -c page-faults cat
	eventually grep -q ' tick ' "$T/ct.out"
	holds cs cpustat -c page-faults 0.05
	eventually grep -q invalidated "$T/ct.err"
	hang_up ct
	finish ct
	[ "$status" -eq 1 ]
	go -1 "${NOBODY[@]}" cputrack -c page-faults true
	[[ $stderr == "cputrack: $AGAIN: process ${PIDS[cs]} (cpustat) counts on CPU "* ]]
	interrupt cs
	go -0 "${NOBODY[@]}" cputrack -c page-faults true
}

@test "a user with CAP_PERFMON claims as root does" {
	need_users
	need_perfmon
	cd /
	go -0 "${PERFMON[@]}" "$PLACE/test_exclusive"
	start ct cputrack -T 0.05 -c page-faults cat
	eventually grep -q ' tick ' "$T/ct.out"
	holds cs "${PERFMON[@]}" cpustat -c page-faults 0.05
	eventually grep -q invalidated "$T/ct.err"
	go -1 cpustat -c page-faults 0.05 1
	refused_by "${PIDS[cs]}"
	go -1 cputrack -c page-faults true
	go -1 "${NOBODY[@]}" cputrack -c page-faults true
	[[ $stderr == "cputrack: $AGAIN: process ${PIDS[cs]} (cpustat) counts on CPU "* ]]
	kill -KILL "${PIDS[cs]}"
	finish cs
	holds cs cpustat -c page-faults 0.05
	go -1 "${PERFMON[@]}" cpustat -c page-faults 0.05 1
	refused_by "${PIDS[cs]}"
	interrupt cs
	go -0 "${PERFMON[@]}" cpustat -c page-faults 0.05 1
	[ -z "$(find /dev/shm -name 'cpc-cpu*')" ]
}

# When nobody counts, nobody is refused or invalidated.
all_is_free() {
	local user
	go -0 cpustat -c page-faults 0.01 1
	[ -z "$stderr" ]
	for user in env "${NOBODY[*]}"; do
		# shellcheck disable=SC2086 # words
		go -0 $user cputrack -T 0.02 -c page-faults sleep 0.3
		[ -z "$stderr" ]
	done
}

@test "an ordinary user tries everything: root's cpustat is unaffected" {
	need_users
	go -0 cpustat -c page-faults 0.01 1
	(umask 0 && : >/dev/shm/cpc-open) # a file of root's that anybody may write, and so link
	start forger "${NOBODY[@]}" forge-claims 0 "$PLACE/setuid"
	eventually said forger ready
	all_is_free
	holds cs cpustat -c page-faults 0.05
	start filler "${NOBODY[@]}" forge-claims 5000
	eventually said filler ready
	go -1 cpustat -c page-faults 0.05 1
	refused_by "${PIDS[cs]}"
	go -1 "${NOBODY[@]}" cputrack -c page-faults true
	interrupt cs
	[ ! -s "$T/cs.err" ]
	check_totals "$T/cs.out" ${#CPUS[@]}
	all_is_free
	for name in forger filler; do
		hang_up $name
		finish $name
		[ "$status" -eq 0 ]
		[ "$(cat "$T/$name.out")" = ready ]
	done
}
