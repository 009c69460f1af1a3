#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cputrack -p --tree: a process and all its descendants.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need attach
}

@test "--tree: children, grandchildren, and those that are created meanwhile" {
	local tree
	start tree bash -c 'for i in 1 2 3; do (sleep 1000 & sleep 1000 & wait) & done; wait'
	tree=${PIDS[tree]}
	eventually tree_has "$tree" 10
	go -0 cputrack --tree -c page-faults -T 0 --for 0.3 -p "$tree"
	descendants "$tree" | sort >"$T/want"
	awk '$4 == "detach" { print $2 }' <<<"$output" | sort >"$T/got"
	[ -z "$(comm -23 "$T/want" "$T/got")" ]
	# shellcheck disable=SC2034 # for teardown
	mapfile -t STRAYS <"$T/want"
	go -2 cputrack --tree -c page-faults true
	[[ $stderr == *"--tree is for -p"* ]]
}

# The process and its descendants.
descendants() {
	ps -e -o pid= -o ppid= -o comm= | awk -v root="$1" '
		{ parent[$1] = $2; name[$1] = $3 }
		END {
			for (p in parent) {
				for (q = p; q != root && q > 1; q = parent[q]) ;
				if (q == root && name[p] != "ps") print p
			}
		}'
}

tree_has() {
	[ "$(descendants "$1" | wc -l)" -ge "$2" ]
}

@test "--tree, while children are created: each of them once" {
	# shellcheck disable=SC2016 # for the inner shell
	start tree bash -c 'make() { for ((i = 0; i < 200; i++)); do sleep 1000 & pids+=($!); done; }
		make; echo half; read -r
		make; echo made; read -r
		kill "${pids[@]}"; wait; exit 0'
	eventually said tree half
	start ct cputrack --tree -T 0 -c page-faults -o "$ROWS" -p "${PIDS[tree]}"
	tell tree $'\n'
	eventually said tree made
	eventually test -s "$ROWS"
	tell tree $'\n'
	finish tree
	finish ct
	[ "$status" -eq 0 ]
	[ ! -s "$T/ct.err" ]
	[ "$(count_of exit)" -eq 401 ]
	[ "$(rows_of exit | cut -d' ' -f1 | sort -u | wc -l)" -eq 401 ]
}

# Count the tree of $1; done when its first $2 LWPs have rows.
count_tree() {
	rm -f "$ROWS"
	start ct cputrack --tree -v -T 0 -o "$ROWS" -c page-faults -p "${PIDS[$1]}"
	eventually has_begun "$2"
}

has_begun() {
	[ "$(count_of init_lwp)" -ge "$1" ]
}

@test "--tree follows execs" {
	# shellcheck disable=SC2016 # for the inner shell
	start tree sh -c 'while read -r line; do "$0" 300; echo "done"; done' "$WORK/touch-pages"
	count_tree tree 1
	tell tree $'1\n2\n'
	eventually said tree "done" 2
	hang_up tree
	finish tree
	finish ct
	[ "$status" -eq 0 ]
	[ "$(rows_of exec | grep -c "# '$WORK/touch-pages 300'")" -eq 2 ]
	[ "$(rows_of exit | awk '$4 >= 300' | wc -l)" -eq 2 ]
}

# relays USEC: each relay has come to a process that is tracked, however short its processes live.
relays() {
	local pid
	start relays "$WORK/relays" -c "$1" 20
	eventually said relays ready
	count_tree relays 1
	hang_up relays
	finish relays
	[ "$status" -eq 0 ]
	finish ct
	[ "$status" -eq 0 ]
	[ ! -s "$T/ct.err" ]
	[ "$(wc -l <"$T/relays.out")" -eq 21 ]
	while read -r _ pid; do
		rows_of exit | grep -q "^$pid "
	done < <(grep last "$T/relays.out")
}

@test "--tree: orphans that a subreaper gets meanwhile, which live 100 ms or 1 ms" {
	for _ in $(rounds 3); do
		relays 100000
		relays 1000
	done
}

@test "--tree: a child that vanishes meanwhile is not an error" {
	# shellcheck disable=SC2016 # for the inner shell
	start busy sh -c 'while :; do x=$(echo a); /bin/true; done'
	for _ in $(rounds 20); do
		go -0 cputrack --tree -T 0 --for 0.02 -c page-faults -p "${PIDS[busy]}"
		[ -z "$stderr" ]
	done
}

@test "--tree: the descendants of a process that cannot be tracked are tracked, and the reason is reported once" {
	by_ptrace
	# shellcheck disable=SC2016 # for the inner shell
	start other cputrack -T 0 -o "$T/other" -c page-faults sh -c \
		'sleep 1000 & pids=$!; sleep 1000 & echo ready; read -r line; kill $pids $!; wait'
	eventually said other ready
	child_of "${PIDS[other]}"
	go -1 cputrack --tree --total -O "$T/record" -T 0 --for 0.05 -c page-faults -p "$CHILD"
	[ "$stderr" = "cputrack: cannot track process $CHILD: it is already traced, by process ${PIDS[other]}" ]
	[ "$(grep -c detach <<<"$output")" -eq 2 ]
	[[ ${lines[-1]} == *" total "*" # incomplete" ]]
	go -0 "$CPC_BUILD/cputrack" -I "$T/record" --total
	[[ ${lines[-1]} == *" total "*" # incomplete" ]]
	go -0 "$CPC_BUILD/cputrack" -I "$T/record" --by=process
	[[ ${lines[-1]} == *" total "*" # incomplete" ]]
	tell other $'\n'
	finish other
}

# many N: a process with N children, which sleep.
many() {
	start many python3 -c '
import os, signal, sys
children = []
for i in range(int(sys.argv[1])):
    children.append(os.fork())
    if children[-1] == 0:
        signal.pause()
print("ready", flush=True)
sys.stdin.read(1)
for child in children:
    os.kill(child, signal.SIGKILL)' "$1"
	eventually said many ready
}

is_traced() {
	! untraced "$1"
}

@test "--tree of 1000 children: all of them, or, after a signal, the ones so far" {
	many 1000
	go -0 cputrack --tree -T 0 --for 0.01 -c page-faults -o "$ROWS" -p "${PIDS[many]}"
	[ "$(count_of detach)" -eq 1001 ]
	by_ptrace
	start ct cputrack --tree -T 0 -c page-faults -o "$ROWS" -p "${PIDS[many]}"
	eventually is_traced "${PIDS[many]}"
	kill -INT "${PIDS[ct]}"
	finish ct
	[ "$status" -eq 0 ]
	[ ! -s "$T/ct.err" ]
	[ "$(count_of detach)" -ge 1 ]
	[ "$(count_of detach)" -lt 1001 ]
	tell many x
	finish many
}
