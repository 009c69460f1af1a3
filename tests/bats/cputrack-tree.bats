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

@test "--tree: children, theirs, and those that are made meanwhile" {
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

@test "--tree, while children are made: each of them once" {
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
