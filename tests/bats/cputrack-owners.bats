#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cputrack --by=cgroup, service, container and user: system calls whose numbers are known.

# shellcheck disable=SC2016 # for inner shells and awk
# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr

load helpers

CALLS=syscalls:sys_enter_getpriority

setup() {
	common_setup
	need_root
	need_tracepoints "${CALLS/://}"
	CGROUP=/sys/fs/cgroup/memory
	[ -e $CGROUP/cgroup.procs ] || CGROUP=/sys/fs/cgroup
	NAME=owners$$-$BATS_TEST_NUMBER.slice
}

teardown() {
	common_teardown
	rmdir "$CGROUP/$NAME"/* "$CGROUP/$NAME" 2>/dev/null || true
}

need_cgroups() {
	[ -e "$CGROUP/cgroup.procs" ] || skip "no cgroups are mounted"
}

# by_engines FUNCTION: call it with each engine that there is here.
by_engines() {
	need cpu
	"$1" ptrace
	if cputrack --engine=kernel -T 0 -c page-faults true 2>/dev/null >&2; then
		"$1" kernel
	fi
}

# owned ENGINE BY ARGUMENT...: the rows of a summary, without shares; there are no messages.
owned() {
	local engine=$1 by=$2
	shift 2
	run --separate-stderr "${TRACEFS[@]}" "$CPC_BUILD/cputrack" --engine="$engine" --by="$by" -c "$CALLS" "$@"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	rows=$(awk '{ print $1, $2, $3 }' <<<"$output" | sort)
}

# Six programs in two cgroups, which exist only meanwhile, call getpriority() 303 and 14 times.  Each
# program has a shell before it, which enters the cgroup.
IN_CGROUPS='mkdir "$1" "$1/$2" "$1/$3"
for n in 100 101 102; do
	(echo $BASHPID >"$1/$2/cgroup.procs"; exec "$0" -s $n 0)
	(echo $BASHPID >"$1/$3/cgroup.procs"; exec "$0" -s $((n == 100 ? 0 : 7)) 0)
done
while [ -e "$1/$2" ]; do rmdir "$1/$2"; done
while [ -e "$1" ]; do rmdir "$1/$3" "$1"; done 2>"$4/rmdir.err"'

run_in_cgroups() {
	owned "$1" "$2" "${@:5}" bash -c "$IN_CGROUPS" "$WORK/touch-pages" "$CGROUP/$NAME" "$3" "$4" "$T"
}

services() {
	run_in_cgroups "$1" service a.service b.service
	grep -qx "a.service 6 303" <<<"$rows"
	grep -qx "b.service 6 14" <<<"$rows"
	[[ $rows == *$'\n'"total "*" 317"* ]]
}

@test "services: processes of cgroups that are gone at the end" {
	need_cgroups
	by_engines services
}

cgroups() {
	run_in_cgroups "$1" cgroup a.service b.service
	grep -qx "/$NAME/a.service 6 303" <<<"$rows"
	grep -qx "/$NAME/b.service 6 14" <<<"$rows"
}

containers() {
	local id=0123456789ab
	local full=$id$id$id$id${id}0123
	run_in_cgroups "$1" container "docker-$full.scope" b.service
	grep -qx "docker-$id 6 303" <<<"$rows"
	grep -q "^(none) [0-9]* 14$" <<<"$rows"
	run_in_cgroups "$1" container "docker-$full.scope" b.service --format=json
	[ "$(jq -r 'select(.container == "docker-'$id'") | "\(.by) \(.container_id) \(.runs) \(.counts[])"' <<<"$output")" = "container $full 6 303" ]
}

# What a user creates in a cgroup of its own is the user's.
containers_of_user() {
	local id=0123456789ab
	local docker=docker-$id$id$id$id${id}0123.scope
	local IN_CGROUPS=$IN_CGROUPS
	# The cgroup of the user stays.
	IN_CGROUPS=${IN_CGROUPS/mkdir \"\$1\"/mkdir}
	IN_CGROUPS=${IN_CGROUPS/while \[ -e \"\$1\" ]; do rmdir \"\$1\/\$3\" \"\$1\"/while [ -e \"\$1\/\$3\" ]; do rmdir \"\$1\/\$3\"}
	mkdir -p "$CGROUP/$NAME"
	chown 65534 "$CGROUP/$NAME"
	run_in_cgroups "$1" container "$docker" nginx.service --format=json
	[ "$(jq -r 'select(.container != null and .container_id == null) | "\(.container) \(.runs) \(.counts[])"' <<<"$output")" = \
		"$NAME/docker-$id 6 303" ]
	run_in_cgroups "$1" service "$docker" nginx.service
	grep -qx "$NAME 12 317" <<<"$rows"
}

@test "containers of a user" {
	need_cgroups
	need_command jq
	by_engines containers_of_user
}

@test "cgroups and containers" {
	need_cgroups
	need_command jq
	by_engines cgroups
	by_engines containers
}

# setpriv(1) has changed its user when it executes the program.
users() {
	owned "$1" user sh -c 'for n in 5 6; do setpriv --reuid=65533 --clear-groups "$0" -s $n 0; done
		"$0" -s 9 0' "$WORK/touch-pages"
	grep -qx "65533 4 11" <<<"$rows"
	grep -q "^root [0-9]* 9$" <<<"$rows"
}

@test "users, by name or number" {
	need_reachable "$WORK/touch-pages"
	by_engines users
}

intervals() {
	run_in_cgroups "$1" service a.service b.service -T 0.02 -O "$T/$1.json"
	# The intervals and then the whole.
	awk '$2 == "a.service" { sum += $4 } $1 == "a.service" { whole = $3 }
		END { exit !(sum == 303 && whole == 303) }' <<<"$output"
	cputrack -I "$T/$1.json" --by=service >"$T/again"
	grep -q "^ *a.service *6 *303 " "$T/again"
	cputrack -I "$T/$1.json" --by=user >"$T/again"
	grep -q "^ *$(id -un) *[0-9]* *317 " "$T/again"
	[ "$(cputrack -I "$T/$1.json" --by=user --format=json | jq -r 'select(.kind == "run").unit')" = user ]
	cputrack -I "$T/$1.json" --by=cgroup >"$T/again" 2>"$T/err" && return 1
	[ "$(cat "$T/err")" = "cputrack: $T/$1.json:1: unsupported --by cgroup: the record lacks them; make one with -O and --by=cgroup" ]
	sed '1s/"unit":"service"/"unit":"command"/' "$T/$1.json" >"$T/forged"
	cputrack -I "$T/forged" 2>"$T/err" && return 1
	[ "$(cat "$T/err")" = "cputrack: $T/forged:1: invalid 'unit': LWPs have none of these" ]
}

@test "summaries of intervals, and a record" {
	need_cgroups
	need_command jq
	by_engines intervals
}

# A tree in two cgroups: a shell and a child of it that are there before, and what they start.
TREE='echo $$ >"$0/a.service/cgroup.procs"
(echo $BASHPID >"$0/b.service/cgroup.procs"; read -r line <"$2"; "$1" -s 11 0; exec "$1" -s 13 0) &
echo ready; read -r line
echo go >"$2"; wait
"$1" -s 5 0; "$1" -s 5 0; exit 0'

# count_tree ENGINE BY: csv of a summary of each interval, and of the whole, in $T/csv.
count_tree() {
	mkdir -p "$CGROUP/$NAME/a.service" "$CGROUP/$NAME/b.service"
	rm -f "$T/csv" "$T/go"
	mkfifo "$T/go"
	start tree bash -c "$TREE" "$CGROUP/$NAME" "$WORK/touch-pages" "$T/go"
	eventually said tree ready
	eventually in_cgroup b.service
	# By ptrace(2), a sample during an exec has the new name for the old program: take few.
	local interval=0.05
	[ "$1" != ptrace ] || interval=1
	start counting "${TRACEFS[@]}" "$CPC_BUILD/cputrack" --engine="$1" --tree --by="$2" -T $interval --format=csv \
		-c "$CALLS" -o "$T/csv" -p "${PIDS[tree]}"
	eventually grep -q ,tick, "$T/csv"
	tell tree $'\n'
	finish tree
	finish counting
	[ "$status" -eq 0 ]
	no_message "$T/counting.err"
}

in_cgroup() {
	grep -q . "$CGROUP/$NAME/$1/cgroup.procs"
}

# The keys of the rows of a kind, with their runs and counts.
rows_of_kind() {
	csv_awk -v want="$1" '$kind == want { name = $pid != "" ? $pid : $comm $key
			nruns[name] = want == "sum" ? $runs : "-"; n[name] += $count }
		END { for (name in n) print name, nruns[name], n[name] }' <"$T/csv" | sort
}

trees() {
	local by
	for by in service user process; do
		count_tree "$1" "$by"
		rows_of_kind sum >"$T/rows"
		cat "$T/rows"
		case $by in
		service) printf '%s\n' "a.service 5 10" "b.service 4 24" | diff - "$T/rows" ;;
		user) printf '%s\n' "root 9 34" | diff - "$T/rows" ;;
		process) [ "$(awk '{ print $3 }' "$T/rows" | sort -n | xargs)" = "0 5 5 11 13" ] ;;
		esac
		# The intervals add up to the whole.
		diff <(rows_of_kind tick | awk '{ print $1, $3 }') <(awk '{ print $1, $3 }' "$T/rows")
		[ "$(csv_awk '$kind == "total" { print $count }' <"$T/csv")" -eq 34 ]
	done
}

@test "--tree: each summary of a tree in two cgroups, and its intervals" {
	need attach
	need_cgroups
	by_engines trees
}

two_ticks() {
	[ "$(csv_awk '$kind == "tick" { print $seconds }' <"$T/csv" | sort -u | wc -l)" -eq 2 ]
}

# The program goes on to run after the last sample.
two_samples() {
	local by
	mkdir -p "$CGROUP/$NAME/a.service"
	for by in service process; do
		: >"$T/csv"
		start counting "${TRACEFS[@]}" "$CPC_BUILD/cputrack" --engine="$1" --by=$by -T 0.8 -N 2 --format=csv \
			-o "$T/csv" -c "$CALLS,task-clock" bash -c 'echo $$ >"$0"; "$1" -s 303 0; "$1" -s 14 0; read -r line' \
			"$CGROUP/$NAME/a.service/cgroup.procs" "$WORK/touch-pages"
		eventually two_ticks
		tell counting $'\n'
		finish counting
		[ "$status" -eq 0 ]
		no_message "$T/counting.err"
		two_ticks
		csv_awk -v calls="$CALLS" '{ n[$kind " " $event] += $count }
			END { for (sum in n) print sum, n[sum]
				exit n["sum " calls] != 317 || n["tick " calls] != 317 || n["total " calls] != 317 ||
					n["tick task-clock"] != n["total task-clock"] }' <"$T/csv"
	done
}

@test "-N: that many intervals, which have all that the whole has" {
	need_cgroups
	by_engines two_samples
}

# A process that lives on is where it is at the end, without an exec in between.
living() {
	mkdir -p "$CGROUP/$NAME/$1.service"
	start sleeper sh -c 'echo $$ >"$0"; read -r line; "$1" -s 3 0; read -r line' \
		"$CGROUP/$NAME/$1.service/cgroup.procs" "$WORK/touch-pages"
	eventually grep -q . "$CGROUP/$NAME/$1.service/cgroup.procs"
	owned "$1" service -p "${PIDS[sleeper]}" --for 0.1
	[ "$rows" = "$1.service 1 0
service runs $CALLS
total 1 0" ]
	tell sleeper $'\n\n'
	finish sleeper
}

@test "a process that lives on" {
	need_cgroups
	by_engines living
}

# The kernel engine sees the cgroup at the end; the tracer sees that of version 1 at the last exec.
@test "a process that moves without an exec" {
	need_cgroups
	by_kernel
	mkdir -p "$CGROUP/$NAME/late.service"
	owned kernel service bash -c 'exec 3>"$0"; echo $$ >&3' "$CGROUP/$NAME/late.service/cgroup.procs"
	[[ $rows == "late.service 1 0"* ]]
}

# The tool stands still while there are more cgroups than it remembers.
# bats test_tags=all
@test "thousands of cgroups" {
	need_cgroups
	by_kernel
	mkdir -p "$CGROUP/$NAME/rest.service"
	owned kernel cgroup sh -c '"$0" -s 2 "$1" 8100; kill -STOP $PPID; "$0" -s 2 "$1" 200; kill -CONT $PPID' \
		"$WORK/cgroup-children" "$CGROUP/$NAME"
	grep -qx "/$NAME/rest.service 8300 16600" <<<"$rows"
	[ "$(grep -Ec "^/$NAME/[0-9]+ (1 2|2 4)$" <<<"$rows")" -eq 8100 ]
	[[ $rows == *$'\n'"total "*" 33200"* ]]
}

# The tracer knows the names of those outside in part, and that this is so.
@test "another cgroup namespace" {
	need_cgroups
	unshare -C true || skip "no cgroup namespace can be made"
	need cpu
	TRACEFS+=(unshare -C)
	run_in_cgroups ptrace cgroup a.service b.service
	grep -qx "\.\.\./$NAME/a.service 6 303" <<<"$rows"
	grep -qx "\.\.\./$NAME/b.service 6 14" <<<"$rows"
	run_in_cgroups ptrace service a.service b.service
	grep -qx "\.\.\. 12 317" <<<"$rows"
}

# A process that has left a container has the ids of none.
left_container() {
	local id=0123456789ab
	local from=docker-$id$id$id$id${id}0123.scope to=$1-to.service
	mkdir -p "$CGROUP/$NAME/$from" "$CGROUP/$NAME/$to"
	start sleeper sh -c 'echo $$ >"$0"; echo in; read -r line' "$CGROUP/$NAME/$from/cgroup.procs"
	eventually said sleeper in
	start counting "${TRACEFS[@]}" "$CPC_BUILD/cputrack" --engine="$1" --by=service --format=json -T 0.05 \
		-c "$CALLS" -p "${PIDS[sleeper]}" -o "$T/$1.json"
	eventually grep -q '"container_id"' "$T/$1.json"
	echo "${PIDS[sleeper]}" >"$CGROUP/$NAME/$to/cgroup.procs"
	eventually grep -q '"service":"'"$to" "$T/$1.json"
	hang_up sleeper
	finish counting
	finish sleeper
	[ "$(jq -r 'select(.service) | "\(.service) \(has("container_id"))"' "$T/$1.json" | sort -u)" = "docker-$id true
$to false" ]
}

@test "a process that has left a container" {
	need_cgroups
	need_command jq
	by_engines left_container
}

# The leader has exited when the other LWPs move: the process is where they are.
leaderless() {
	local tid from=$1-from.service to=$1-to.service procs
	mkdir -p "$CGROUP/$NAME/$from" "$CGROUP/$NAME/$to"
	start sleeper sh -c 'echo $$ >"$0"; echo in; read -r line; exec "$1" -w -s 3 2' \
		"$CGROUP/$NAME/$from/cgroup.procs" "$WORK/leader-first"
	eventually said sleeper in
	start counting "${TRACEFS[@]}" "$CPC_BUILD/cputrack" --engine="$1" --by=service -e -T 0.05 -c "$CALLS" \
		-p "${PIDS[sleeper]}" -o "$T/$1.rows"
	eventually grep -q "$from" "$T/$1.rows"
	tell sleeper $'\n'
	eventually said sleeper ready
	procs=$CGROUP/$NAME/$to/tasks
	[ -e "$procs" ] || procs=$CGROUP/$NAME/$to/cgroup.procs
	for tid in "/proc/${PIDS[sleeper]}/task"/*; do
		[ "${tid##*/}" = "${PIDS[sleeper]}" ] || echo "${tid##*/}" >"$procs"
	done
	eventually grep -q "$to" "$T/$1.rows"
	hang_up sleeper
	finish counting
	finish sleeper
	[ "$(awk '$1 ~ /service$/ { print $1, $2, $3 }' "$T/$1.rows")" = "service runs $CALLS
$to 1 6
$from 1 0" ]
	[ -z "$(awk '$2 == "/"' "$T/$1.rows")" ]
}

@test "a process whose leader has exited" {
	need_cgroups
	by_engines leaderless
}

@test "what is refused" {
	run -2 --separate-stderr cputrack --by=cpu true
	[[ $stderr == "cputrack: unsupported --by=cpu: cpustat has it"* ]]
	run -2 --separate-stderr cputrack --by=pod true
	[[ $stderr == "cputrack: unknown --by 'pod': expected lwp, process, command, cgroup, service, container or user"* ]]
}
