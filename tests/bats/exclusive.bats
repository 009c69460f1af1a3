#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# One program at a time has the core PMU of a CPU: cpustat by root and by other users, cputrack beside
# it, owners that are killed, and users who attack the claims.  Every user may count without
# the core PMU.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

AGAIN='Resource temporarily unavailable'

setup() {
	common_setup
	need cpu
	# These programs see a core PMU, whose cycles are page faults.
	export CPC_PROGRAMS=$CPC_BUILD/tests/fake
	PATH=${PATH/"$CPC_BUILD:"/"$CPC_PROGRAMS:"}
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
	cp "$CPC_PROGRAMS/cputrack" "$CPC_PROGRAMS/cpustat" "$CPC_BUILD/tests/test_exclusive" \
		"$WORK/forge-claims" "$WORK/probe" "$PLACE"
	cp "$(command -v cat)" "$PLACE/setuid"
	chmod -R a+rX "$PLACE"
	chmod 4755 "$PLACE/setuid"
	NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups
		env "PATH=$PLACE:$PATH")
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 0 ]; then
		skip "all users may count whole CPUs here"
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
		grep -qx "cpustat: cpu$cpu - $AGAIN: process $1 (cpustat) counts on CPU $cpu; cpustat --shared counts without a claim" <<<"$stderr"
	done
	[ "${#stderr_lines[@]}" -eq ${#CPUS[@]} ]
	[ -z "$output" ]
}

# No CPU is claimed, and none of the LWPs of NAME is invalidated.
unclaimed() {
	[ -z "$(find /run/cpc /dev/shm -name 'cpc-cpu*')" ]
	[ ! -s "$T/$1.err" ]
}

@test "events without the core PMU are counted side by side by all users" {
	start ct cputrack -T 0.02 -o "$ROWS" -c page-faults,task-clock cat
	eventually grep -q ' tick ' "$ROWS"
	holds cs cpustat -c page-faults,context-switches 0.05
	for spec in page-faults context-switches,task-clock msr/tsc/; do
		[ "$spec" != msr/tsc/ ] || [ -e /sys/bus/event_source/devices/msr ] || continue
		go -0 cpustat -c "$spec" 0.01 1
		[ -z "$stderr" ]
	done
	go -0 cputrack -c page-faults true
	[ -z "$stderr" ]
	unclaimed ct
	# also while another program has the core PMU
	holds core cpustat -c cycles 0.05
	go -0 cpustat -c page-faults 0.01 1
	go -0 cputrack -c page-faults true
	go -1 cputrack -c page-faults,cycles true
	go -1 cpustat -c page-faults,cycles 0.01 1
	refused_by "${PIDS[core]}"
	[ ! -s "$T/core.err" ]
	interrupt core
	interrupt cs
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	unclaimed ct
	run ! grep -qE ' - |incomplete' "$ROWS"
}

# While all CPUs are counted by command, a command that ends has as many page faults as cycles, which are page
# faults here.  The totals may differ, since an interrupt in a page fault may read the counters of a CPU last.
count_keys() {
	local name=known-$BASHPID
	ln -sf "$WORK/touch-pages" "$T/$name"
	holds keys cpustat -A command -c page-faults,cycles 0.05
	"$T/$name" 100
	interrupt keys
	[ ! -s "$T/keys.err" ]
	awk -v name="$name" '$2 == name { faults += $4; cycles += $5 } $3 == "total" { n++ }
		END { print faults, cycles, n; exit faults < 100 || faults != cycles || n != 1 }' "$T/keys.out"
}

@test "counts that are divided among keys neither claim CPUs nor are refused" {
	need_keys
	# beside a tracker of the core PMU
	start ct cputrack -T 0.02 -o "$ROWS" -c cycles cat
	eventually grep -q ' tick ' "$ROWS"
	count_keys
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	[ ! -s "$T/ct.err" ]
	run ! grep -qE ' - |incomplete' "$ROWS"
	# beside a program that has claimed all CPUs, which goes on
	holds core cpustat -c cycles 0.05
	count_keys
	interrupt core
	[ ! -s "$T/core.err" ]
}

@test "cpustat prints once how many trackers it invalidates; --shared prints nothing" {
	warning="cpustat: warning: the counters of 2 processes that count LWPs are invalidated; sharing the CPUs would not invalidate them"
	for name in one two soft; do
		event=cycles
		[ $name != soft ] || event=page-faults
		start $name cputrack -T 0.02 -c $event cat
		eventually grep -q ' tick ' "$T/$name.out"
	done
	if unshare -m mount -t tmpfs cpc /dev/shm 2>/dev/null; then
		# It sees no claims, and is not counted.
		start apart unshare -m sh -c 'mount -t tmpfs -o mode=1777 cpc /dev/shm &&
			mount -t tmpfs cpc /run/cpc && exec "$@"' sh cputrack -T 0.02 -c cycles cat
		eventually grep -q ' tick ' "$T/apart.out"
	fi
	go -0 cpustat --shared -c cycles 0.01 1
	[ -z "$stderr" ]
	go -0 cpustat -c page-faults 0.01 1
	[ -z "$stderr" ]
	go -0 cpustat -c cycles -c instructions 0.01 4
	[ "$stderr" = "$warning" ]
	for name in one two soft; do
		hang_up $name
		finish $name
		if [ $name = soft ]; then
			[ "$status" -eq 0 ]
		else
			[ "$status" -eq 1 ]
		fi
	done
	[ ! -s "$T/soft.err" ]
	go -0 cpustat -c cycles 0.01 1
	[ -z "$stderr" ]
	if [ -n "${PIDS[apart]-}" ]; then
		hang_up apart
		finish apart
		[ "$status" -eq 0 ]
		[ ! -s "$T/apart.err" ]
	fi
}

@test "a second cpustat is refused, and the error names the first; --shared is not refused" {
	holds cs cpustat -c cycles 0.05
	go -1 cpustat -c cycles 0.05 1
	refused_by "${PIDS[cs]}"
	go -0 cpustat --shared -c cycles 0.05 1
	[ -z "$stderr" ]
	interrupt cs
	[ ! -s "$T/cs.err" ]
	check_totals "$T/cs.out" ${#CPUS[@]}
	holds cs cpustat --shared -c cycles 0.05
	go -0 cpustat -c cycles 0.05 1
	interrupt cs
}

@test "on other CPUs a second cpustat runs at the same time" {
	need_command taskset
	[ ${#CPUS[@]} -ge 2 ] || skip "there is one CPU"
	holds cs taskset -c "${CPUS[0]}" cpustat -c cycles 0.05
	go -0 taskset -c "${CPUS[1]}" cpustat -c cycles 0.05 2
	go -1 cpustat -c cycles 0.05 2
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "cpustat: cpu${CPUS[0]} - $AGAIN: "* ]]
	printf '%s\n' "$output" >"$ROWS"
	grep -q '# incomplete$' "$ROWS"
	interrupt cs
}

@test "several -c hold the CPUs in turn" {
	holds cs cpustat -c cycles -c instructions 0.05
	go -1 cputrack -c cycles true
	eventually grep -q 'tick .* instructions' "$T/cs.out"
	interrupt cs
	[ ! -s "$T/cs.err" ]
}

@test "cputrack does not start beside cpustat: nothing runs, nothing is left" {
	holds cs cpustat -c cycles 0.05
	go -1 cputrack -o "$ROWS" -c cycles touch "$T/ran"
	[ ! -e "$T/ran" ]
	[ ! -e "$ROWS" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == "cputrack: $AGAIN: process ${PIDS[cs]} (cpustat) counts on CPU "*"cpustat --shared"* ]]
	go -1 cputrack -c cycles -p $$
	[ "${#stderr_lines[@]}" -eq 1 ]
	untraced $$
	interrupt cs
	track -0 -c cycles true
}

# invalidated_by ENGINE MESSAGE...: $pid is the process.
invalidated_by() {
	local engine=$1
	shift
	need attach
	start crowd "$WORK/thread-pool" 3
	eventually said crowd ready
	pid=${PIDS[crowd]}
	start ct cputrack --engine="$engine" -v -T 0.05 -c cycles -p "$pid"
	eventually grep -q ' tick ' "$T/ct.out"
	go -0 cpustat --shared -c cycles 0.01 1
	[ ! -s "$T/ct.err" ]
	go -0 cpustat -c cycles 0.01 1
	eventually grep -q ' tick  *- $' "$T/ct.out"
	hang_up crowd
	finish crowd
	[ "$status" -eq 0 ]
	finish ct
	[ "$status" -eq 1 ]
	[ "$(sed "s/ $pid/ PID/" "$T/ct.err")" = "$(printf 'cputrack: %s\n' "$@")" ]
	# counts that were shown before are in the total
	cp "$T/ct.out" "$ROWS"
	check_format
	[ "$(rows_of exit | awk '{ print $NF }')" = incomplete ]
	[ "$(rows_of exit | awk '{ print $4 }')" = "$(table | awk '$3 == "tick" && $4 != "-" { s += $4 } END { print s }')" ]
	[ "$(rows_of lwp_exit | grep -c ' -$')" -eq 3 ]
}

@test "a running cputrack is invalidated, says so once, and goes on to the end" {
	invalidated_by ptrace "PID/1: perf counter contents invalidated" \
		"the counters of 4 LWPs were lost"
}

@test "a running cputrack that counts in the kernel is invalidated: the same rows" {
	by_kernel
	invalidated_by kernel "perf counter contents invalidated"
}

@test "an invalidated command is followed to its end; later ones are counted again" {
	by_ptrace
	start ct cputrack -fe -T 0.05 -c cycles sh -c 'read line; sh -c "exit 3"; exit 5'
	eventually grep -q ' tick ' "$T/ct.out"
	go -0 cpustat -c cycles 0.01 1
	tell ct $'\n'
	finish ct
	[ "$status" -eq 1 ]
	cp "$T/ct.out" "$ROWS"
	[ "$(count_of fork)" -eq 1 ]
	[ "$(count_of exit)" -eq 2 ]
	# the child's own
	rows_of exit | grep -Eq '^[0-9]+ 1 exit [1-9][0-9]*$'
	track -0 -c cycles true
}

@test "killed at 40 random moments, cpustat leaves nothing locked" {
	for _ in $(seq 40); do
		cpustat -c cycles 0.001 >/dev/null &
		sleep "$(printf '0.%03d' $((RANDOM % 30)))"
		kill -KILL $!
		wait $! || [ $? -eq 137 ]
	done
	ls -l /run/cpc /dev/shm
	go -0 cputrack -c cycles true
	go -0 cpustat -c cycles 0.01 1
	[ -z "$stderr" ]
	[ -z "$(find /run/cpc -name 'cpc-cpu*')" ]
}

@test "root's claims are seen by ordinary users, whose cputrack is invalidated" {
	need_users
	start ct "${NOBODY[@]}" cputrack -T 0.05 -c cycles cat
	eventually grep -q ' tick ' "$T/ct.out"
	holds cs cpustat -c cycles 0.05
	eventually grep -q invalidated "$T/ct.err"
	hang_up ct
	finish ct
	[ "$status" -eq 1 ]
	go -1 "${NOBODY[@]}" cputrack -c cycles true
	[[ $stderr == "cputrack: $AGAIN: process ${PIDS[cs]} (cpustat) counts on CPU "* ]]
	interrupt cs
	go -0 "${NOBODY[@]}" cputrack -c cycles true
}

@test "a user with CAP_PERFMON claims as root does" {
	need_users
	need_perfmon
	cd /
	go -0 "${PERFMON[@]}" "$PLACE/test_exclusive"
	start ct cputrack -T 0.05 -c cycles cat
	eventually grep -q ' tick ' "$T/ct.out"
	holds cs "${PERFMON[@]}" cpustat -c cycles 0.05
	eventually grep -q invalidated "$T/ct.err"
	go -1 cpustat -c cycles 0.05 1
	refused_by "${PIDS[cs]}"
	go -1 cputrack -c cycles true
	go -1 "${NOBODY[@]}" cputrack -c cycles true
	[[ $stderr == "cputrack: $AGAIN: process ${PIDS[cs]} (cpustat) counts on CPU "* ]]
	kill -KILL "${PIDS[cs]}"
	finish cs
	holds cs cpustat -c cycles 0.05
	go -1 "${PERFMON[@]}" cpustat -c cycles 0.05 1
	refused_by "${PIDS[cs]}"
	interrupt cs
	go -0 "${PERFMON[@]}" cpustat -c cycles 0.05 1
	[ -z "$(find /dev/shm -name 'cpc-cpu*')" ]
}

# While no program counts, none is refused or invalidated.
all_is_free() {
	local user
	go -0 cpustat -c cycles 0.01 1
	[ -z "$stderr" ]
	for user in env "${NOBODY[*]}"; do
		# shellcheck disable=SC2086 # words
		go -0 $user cputrack -T 0.02 -c cycles sleep 0.3
		[ -z "$stderr" ]
	done
}

@test "an ordinary user tries everything: root's cpustat is unaffected" {
	need_users
	go -0 cpustat -c cycles 0.01 1
	(umask 0 && : >/dev/shm/cpc-open) # a file of root's that all users may write, and so link
	start forger "${NOBODY[@]}" forge-claims 0 "$PLACE/setuid"
	eventually said forger ready
	all_is_free
	holds cs cpustat -c cycles 0.05
	start filler "${NOBODY[@]}" forge-claims 5000
	eventually said filler ready
	go -1 cpustat -c cycles 0.05 1
	refused_by "${PIDS[cs]}"
	go -1 "${NOBODY[@]}" cputrack -c cycles true
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

# Gives the copy NAME of a program a file capability.
give_perfmon() {
	need_command setcap
	setcap cap_perfmon=ep "$PLACE/$1" || skip "no file capabilities on this file system"
}

@test "a claim made before an exec that gives the capability is invalid" {
	need_users
	need_perfmon
	cp "$(command -v cat)" "$PLACE/capable"
	give_perfmon capable
	go -0 cpustat -c cycles 0.01 1
	start forger "${NOBODY[@]}" forge-claims 0 "$PLACE/capable"
	eventually said forger ready
	# It has executed that program, and holds the locks.
	eventually pgrep -x capable -P "${PIDS[forger]}"
	grep -q "^CapEff:.*[1-9a-f]" "/proc/$(pgrep -x capable -P "${PIDS[forger]}")/status"
	all_is_free
	go -0 "${PERFMON[@]}" cpustat -c cycles 0.01 1
	hang_up forger
	finish forger
}

@test "cpustat with a file capability claims as root does" {
	need_users
	need_perfmon
	mkdir "$PLACE/plain"
	cp "$PLACE/cpustat" "$PLACE/plain"
	give_perfmon cpustat
	holds cs "${NOBODY[@]}" "$PLACE/cpustat" -c cycles 0.05
	go -1 cpustat -c cycles 0.05 1
	refused_by "${PIDS[cs]}"
	go -1 "${PERFMON[@]}" "$PLACE/plain/cpustat" -c cycles 0.05 1
	refused_by "${PIDS[cs]}"
	go -1 "${NOBODY[@]}" cputrack -c cycles true
	[[ $stderr == "cputrack: $AGAIN: process ${PIDS[cs]} (cpustat) counts on CPU "* ]]
	interrupt cs
}

# The time on the CPU that COMMAND takes, in ms, becomes $cost.
cost_of() {
	local TIMEFORMAT='%U %S' user system
	read -r user system < <({ time "$@" >"$T/cost.out" 2>&1; } 2>&1)
	cost=$((10#${user/./} + 10#${system/./}))
}

# bats test_tags=all
@test "thousands of locks on a file do not slow down a look for claims" {
	need_users
	holds cs cpustat -c cycles 0.05
	kill -KILL "${PIDS[cs]}"
	finish cs
	start locker "${NOBODY[@]}" forge-claims 0 "$PLACE/setuid" 20000
	eventually said locker ready
	# one that root's cpustat left when it was killed is among them
	grep -q '^locked cpc-cpu' "$T/locker.out"
	cost_of "${NOBODY[@]}" cputrack -T 0.1 -c cycles sleep 1
	cat "$T/cost.out"
	grep -q ' exit ' "$T/cost.out"
	[ "$cost" -lt 1000 ]
	cost_of cpustat -c cycles 0.01 1
	grep -q ' total ' "$T/cost.out"
	[ "$cost" -lt 1000 ]
	hang_up locker
	finish locker
}

@test "a look for claims that fails does not mean that there are no claims" {
	need attach
	start victim cat
	holds cs cpustat -c cycles 0.05
	seen=0
	for files in 4 5 6 7 8 9 10 12; do
		go -1 "${WITH_FILES[@]}" "$files" \
			cputrack -T 0 --for 1 -c cycles -p "${PIDS[victim]}"
		[[ $output != *exit* ]]
		[[ $stderr == "cputrack: $AGAIN: "* || $stderr == *"Too many open files"* ]]
		if [[ $stderr == "cputrack: cannot find out whether other programs count CPUs, from /"*": Too many open files" ]]; then
			seen=1
		fi
		go -1 "${WITH_FILES[@]}" "$files" cpustat -c cycles 0.01 1
		[[ $stderr == *"$AGAIN: "* || $stderr == *"Too many open files"* ||
			$stderr == *"RLIMIT_NOFILE is $files"* ]]
		[ -z "$output" ]
	done
	[ "$seen" = 1 ]
	untraced "${PIDS[victim]}"
	interrupt cs
	hang_up victim
	finish victim
}

# in_mounts COMMANDS COMMAND...: in a mount namespace that the shell COMMANDS prepare.
in_mounts() {
	local commands=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	go unshare -m sh -c 'eval "$1" && shift && exec "$@"' sh "$commands" "$@"
}

need_mounts() {
	need_root
	mkdir -p /run/cpc
	unshare -m mount -t tmpfs cpc /run/cpc || skip "nothing can be mounted here"
}

no_claim() {
	[ "$status" -eq 1 ]
	[ "${stderr_lines[0]}" = "cpustat: cannot claim CPU ${CPUS[0]} in $1: $2; cpustat --shared counts without a claim" ]
	[[ $output != *tick* ]]
}

@test "cpustat that cannot claim does not count, unless with --shared" {
	need_mounts
	full='mount -t tmpfs -o nr_inodes=3,mode=1777 cpc'
	for prepare in 'mount -t tmpfs -o ro cpc /run/cpc|Read-only file system' \
		"$full /run/cpc|No space left on device"; do
		in_mounts "${prepare%|*}" cpustat -c cycles 0.01 1
		no_claim /run/cpc "${prepare#*|}"
		in_mounts "${prepare%|*}" cpustat --shared -c cycles 0.01 1
		[ "$status" -eq 0 ]
		in_mounts "${prepare%|*}" cputrack -c cycles true
		[ "$status" -eq 0 ]
	done
	need_users
	need_perfmon
	for prepare in 'mount -t tmpfs -o ro,mode=1777 cpc /dev/shm|Read-only file system' \
		'mount -t tmpfs -o nr_inodes=1,mode=1777 cpc /dev/shm|No space left on device'; do
		in_mounts "${prepare%|*}" "${PERFMON[@]}" "$PLACE/cpustat" -c cycles 0.01 1
		no_claim /dev/shm "${prepare#*|}"
		in_mounts "${prepare%|*}" "${PERFMON[@]}" "$PLACE/cpustat" --shared -c cycles 0.01 1
		[ "$status" -eq 0 ]
	done
}

@test "without a place for claims, one message says so" {
	need_mounts
	# directories of another user
	alien='mount -t tmpfs -o uid=1,mode=1777 cpc'
	in_mounts "$alien /run/cpc && $alien /dev/shm" cpustat -c cycles 0.01 1
	[ "$status" -eq 0 ]
	[ "$stderr" = "cpustat: warning: other programs cannot see which CPUs are counted here: neither /run/cpc nor /dev/shm is a place for claims" ]
	[[ $output == *total* ]]
	# without the first place, root claims in the second
	in_mounts "$alien /run/cpc" cpustat -c cycles 0.01 1
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
}

@test "without random numbers CPUs are claimed all the same" {
	need_unsanitized "LeakSanitizer does not work under strace"
	need_command strace
	go -0 strace -f -qq -o "$T/trace" -e trace=getrandom -e inject=getrandom:error=ENOSYS \
		cpustat -c cycles 0.01 1
	[[ $output == *total* ]]
	[ -z "$stderr" ]
}
