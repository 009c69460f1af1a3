#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cputrack --all, --cgroup and --user: processes that are not of one tree.

# shellcheck disable=SC2016 # for inner shells and awk
# shellcheck disable=SC2154 # run sets status, output, stderr

load helpers

setup() {
	CGROUP=/sys/fs/cgroup/memory
	[ -e $CGROUP/cgroup.procs ] || CGROUP=/sys/fs/cgroup
	NAME=select-$$-$BATS_TEST_NUMBER
	INSIDE=() # the command before cputrack
	common_setup
	need_root
	by_kernel
}

teardown() {
	cd "$CGROUP" 2>/dev/null || true # it may be gone with a process that is killed
	common_teardown
	rmdir "$NAME"/* "$NAME" 2>/dev/null || true
}

need_cgroups() {
	[ -e "$CGROUP/cgroup.procs" ] || skip "no cgroups are mounted"
	mkdir -p "$CGROUP/$NAME/sub"
}

# select_for NAME OPTIONS...: track from now on, by a cputrack of this name.
select_for() {
	local name=$1
	shift
	start "$name" "${INSIDE[@]}" cputrack -T 0 -c page-faults:u -o "$T/$name.rows" -v "$@"
	eventually begun "$name"
}

# Its first output comes after it has begun to select.
begun() {
	[ -s "$T/$1.rows" ] || ! kill -0 "${PIDS[$1]}"
}

stop_selecting() {
	kill -INT "${PIDS[$1]}"
	finish "$1"
	# Some virtual machines do not report the switches of process 1.
	if grep -q ' 1 .* # incomplete$' "$T/$1.rows"; then
		[[ $(cat "$T/$1.err") == "cputrack: "*" LWPs of process 1 (--cgroup and --user can leave it out)" ]]
		[ "$status" -eq 1 ]
	else
		[ ! -s "$T/$1.err" ]
		[ "$status" -eq 0 ]
	fi
	run ! awk '/# incomplete$/ && $2 != 1 { found = 1 } END { exit !found }' "$T/$1.rows"
}

# The ids and counts of processes that end as touch-pages.
EXITS='$4 == "exec" && $5 == "#" { own[$2] = /touch-pages (0|300).$/ } $4 == "exit" && own[$2] { print $2, $5 }'

# of_pid NAME PID EVENT: the counts in its rows.
of_pid() {
	awk -v pid="$2" -v event="$3" '$2 == pid && $4 == event { print $5 }' "$T/$1.rows"
}

count_exits() {
	awk '$4 == "exit"' "$T/$1.rows" | wc -l
}

# as_traced NAME N: the N programs touch-pages have the counts that a tracer of their tree gave them.
as_traced() {
	awk "$EXITS" "$T/tree.rows" | sort >"$T/traced"
	awk '$4 == "exit" { print $2, $5 }' "$T/$1.rows" | sort | join - "$T/traced" |
		awk '{ print $1, $2 }' >"$T/selected"
	[ "$(wc -l <"$T/traced")" -eq "$2" ]
	diff "$T/selected" "$T/traced"
}

# Runs a shell script whose children are traced.
traced() {
	"$CPC_BUILD/cputrack" --engine=ptrace -fe -T 0 -c page-faults:u -o "$T/tree.rows" sh -c "$@"
}

@test "--all: short processes of another tree, by two trackers at once" {
	select_for one --all
	select_for two --all
	traced 'for i in $(seq 25); do "$0" 0; "$0" 300; done' "$WORK/touch-pages"
	one=${PIDS[one]} two=${PIDS[two]}
	stop_selecting one
	stop_selecting two
	as_traced one 50
	as_traced two 50
	# Each tracks the other one and this shell, but neither itself nor kernel threads.
	[ -z "$(of_pid one "$one" detach)$(of_pid two "$two" init_lwp)" ]
	[ -n "$(of_pid one "$two" init_lwp)" ]
	[ -n "$(of_pid two "$one" exit)" ]
	[ "$(of_pid one $$ init_lwp)" = 0 ]
	[ -z "$(of_pid one 2 init_lwp)" ]
}

@test "--all: a process that was there before, and its threads" {
	start shell bash -c 'read -r; exec "$0" -p 100 3' "$WORK/threads"
	select_for ct --all
	pid=${PIDS[shell]}
	tell shell $'\n'
	finish shell
	stop_selecting ct
	[ "$(of_pid ct "$pid" lwp_exit | wc -l)" -eq 3 ]
	[ "$(of_pid ct "$pid" lwp_exit | awk '$1 < 100 || $1 > 110' | wc -l)" -eq 0 ]
	[ "$(of_pid ct "$pid" exit | wc -l)" -eq 1 ]
}

@test "--cgroup: what is in it or below it, what enters and what is born there; nothing else" {
	need_cgroups
	select_for ct --cgroup="/$NAME"
	traced 'for at in "$1" "$1/sub"; do
			echo $$ >"$at/cgroup.procs"
			for i in $(seq 10); do "$0" 0; "$0" 300; done
		done' "$WORK/touch-pages" "$CGROUP/$NAME"
	"$WORK/touch-pages" 0
	stop_selecting ct
	as_traced ct 40
	[ "$(awk "$EXITS" "$T/ct.rows" | wc -l)" -eq 40 ] # without the last one
	# A process that is in it before, and the name of the cgroup alone.
	start inside sh -c "echo 0 >$CGROUP/$NAME/sub/cgroup.procs; echo inside; read -r line"
	eventually said inside inside
	select_for name --cgroup="$NAME"
	pid=${PIDS[inside]}
	tell inside $'\n'
	finish inside
	stop_selecting name
	[ "$(of_pid name "$pid" exit | wc -l)" -eq 1 ]
	[ "$(awk 'NR > 1 { print $2 }' "$T/name.rows" | sort -u)" = "$pid" ]
}

@test "--cgroup: a process that is moved counts from its next switch on" {
	need_cgroups
	start moved bash -c 'read -r; exec "$0" user 0 0 0 1 1000' "$WORK/change-keys"
	select_for ct --cgroup="$CGROUP/$NAME"
	pid=${PIDS[moved]}
	echo "$pid" >"$CGROUP/$NAME/cgroup.procs"
	tell moved $'\n'
	finish moved
	stop_selecting ct
	[ "$(of_pid ct "$pid" exit | wc -l)" -eq 1 ]
	[ "$(of_pid ct "$pid" exit)" -ge 2000 ]
	[ "$(of_pid ct "$pid" exit)" -le 2200 ]
}

# Mounts a hierarchy of version 1 as systemd does: CGROUP becomes a link to what is mounted.
mount_linked() {
	start mounts unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /sys/fs/cgroup &&
		cd /sys/fs/cgroup && mkdir cpu,cpuacct && ln -s cpu,cpuacct cpuacct && {
			mount -t cgroup -o cpuacct none cpu,cpuacct 2>/dev/null ||
				mount -t cgroup -o cpu,cpuacct none cpu,cpuacct
		} && echo mounted
		read -r _'
	eventually grep -q . "$T/mounts.out" "$T/mounts.err"
	said mounts mounted || skip "no cgroups of version 1 here: $(head -n1 "$T/mounts.err")"
	INSIDE=(nsenter --mount="/proc/${PIDS[mounts]}/ns/mnt")
	CGROUP=/proc/${PIDS[mounts]}/root/sys/fs/cgroup/cpuacct
}

@test "--cgroup: the hierarchy is mounted where a link leads to" {
	local group
	need_command unshare nsenter
	mount_linked
	need_cgroups
	for group in "$NAME" "/$NAME" "/sys/fs/cgroup/cpuacct/$NAME" "/sys/fs/cgroup/cpu,cpuacct/$NAME"; do
		select_for ct --cgroup="$group"
		traced 'echo $$ >"$1/cgroup.procs"; for i in 1 2 3; do "$0" 0; "$0" 300; done' \
			"$WORK/touch-pages" "$CGROUP/$NAME/sub"
		"$WORK/touch-pages" 0
		stop_selecting ct
		as_traced ct 6
		[ "$(awk "$EXITS" "$T/ct.rows" | wc -l)" -eq 6 ]
		rm "$T"/*.rows
	done
	mistake 2 "there is no such cgroup in /sys/fs/cgroup/cpuacct" "${INSIDE[@]}" cputrack --cgroup=/../..
}

@test "--user: programs that become the user by setuid(2), and what these create" {
	need_reachable "$WORK"
	local uid=$((100000 + $$))
	select_for ct --user=$uid
	traced 'for i in $(seq 10); do
			setpriv --reuid="$1" --clear-groups "$0" 0
			setpriv --reuid="$1" --clear-groups "$0" 300
		done
		setpriv --reuid="$1" --clear-groups sh -c "\$0 0; \$0 300; exit 0" "$0"' "$WORK/touch-pages" "$uid"
	"$WORK/touch-pages" 300
	stop_selecting ct
	as_traced ct 22
	[ "$(count_exits ct)" -eq 23 ] # with that shell, without the last program
}

@test "--cgroup: services, containers and pods as rows name them" {
	need_cgroups
	id=$(printf "%08x" $$)$(printf '%056x' 0)
	uid=01234567-89ab-cdef-0123-$(printf '%012x' $$)
	mkdir -p "$CGROUP/$NAME/docker-$id.scope/inner" "$CGROUP/$NAME/kubepods-pod${uid//-/_}.slice/cri-containerd-$id.scope" \
		"$CGROUP/$NAME/a\\x2d$$.service"
	for name in "docker-${id::12}" "cri-containerd-${id::12}" "pod-$uid" "a\\x2d$$.service" "a\\\\x2d$$.service"; do
		"$CPC_BUILD/cputrack" --cgroup="$name" --for 0.01 -c page-faults
	done
	# The upper one of the container, not one of its own.
	select_for ct --cgroup="docker-${id::12}"
	traced 'echo $$ >"$1/cgroup.procs"; "$0" 300; "$0" 0' "$WORK/touch-pages" "$CGROUP/$NAME/docker-$id.scope"
	stop_selecting ct
	as_traced ct 2
	[ "$(count_exits ct)" -eq 3 ] # with that shell
	find "$CGROUP/$NAME" -mindepth 1 -depth -type d -exec rmdir {} +
}

@test "what cannot be selected is refused with the reason" {
	mistake 2 "only one of a command, -p, --all, --cgroup and --user" cputrack --all true
	mistake 2 "only one of" cputrack --all -p 1
	mistake 2 "only one of" cputrack --all --user=0
	mistake 2 "there is no such user" cputrack --user=nobody-at-all-$$
	mistake 1 "--all requires counting in the kernel: --engine=ptrace cannot" \
		"$CPC_BUILD/cputrack" --engine=ptrace --all -c page-faults
	need_cgroups
	mistake 2 "there is no such cgroup in $CGROUP" cputrack --cgroup=/none-$$
	mistake 2 "has this name" cputrack --cgroup=none-$$
	mkdir -p "$CGROUP/$NAME/sub/$NAME"
	mistake 2 "2 cgroups below $CGROUP have this name; give the path of one: '/$NAME', '/$NAME/sub/$NAME'" cputrack --cgroup="$NAME"
	# Only one of two is root's.
	chown 65534 "$CGROUP/$NAME/sub"
	"$CPC_BUILD/cputrack" --cgroup="$NAME" --for 0.01 -c page-faults
	rmdir "$CGROUP/$NAME/sub/$NAME"
	mkdir "$CGROUP/$NAME/sub/of-user-$$"
	mistake 2 "only a user has a cgroup of this name, '/$NAME/sub/of-user-$$'; to choose it, give its path" \
		cputrack --cgroup="of-user-$$"
	"$CPC_BUILD/cputrack" --cgroup="/$NAME/sub/of-user-$$" --for 0.01 -c page-faults
	rmdir "$CGROUP/$NAME/sub/of-user-$$"
	chown 0 "$CGROUP/$NAME/sub"
	# A cgroup of this name may be in a directory that the user cannot read.
	need_reachable "$CPC_BUILD/cputrack"
	chmod 700 "$CGROUP/$NAME/sub"
	mistake 2 "cannot read all cgroups below $CGROUP: Permission denied" \
		setpriv --reuid=65534 --regid=65534 --clear-groups "$CPC_BUILD/cputrack" --cgroup="$NAME"
}
