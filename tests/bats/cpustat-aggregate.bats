#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpustat: rows of cores, sockets, nodes, and one for all; means.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need cpu
	CPUS=$(cpus | wc -l)
}

# The units of our CPUs according to the kernel, ascending, in one line.
units() {
	local cpu dir node=0
	for cpu in $(cpus); do
		dir=/sys/devices/system/cpu/cpu$cpu
		case $1 in
		core) sed 's/[-,].*//' "$dir/topology/thread_siblings_list" ;;
		socket) sed 's/-1/0/' "$dir/topology/physical_package_id" ;;
		node)
			node=$(basename "$(echo "$dir"/node[0-9]*)")
			if [[ $node == *'*'* ]]; then node=node0; fi
			echo "${node#node}"
			;;
		all) echo all ;;
		esac
	done | sort -nu | tr '\n' ' '
}

@test "-A: a row for each unit in each sample, sums that add up to the total" {
	for unit in core socket node all; do
		go -0 cpustat -A "$unit" -c context-switches,page-faults 0.05 3
		[ -z "$stderr" ]
		[ "$(awk '$3 == "tick" { printf "%s ", $2 }' <<<"$output")" = \
			"$(units $unit)$(units $unit)$(units $unit)" ]
		check_totals - "$CPUS" <<<"$output"
		grep -qE '^ +0\.[0-9]{3} +(all|[0-9]+)  tick +[0-9]+ +[0-9]+ $' <<<"$output"
	done
}

@test "-A: cpu-clock is the same for all CPUs, and a unit has their sum" {
	go -0 cpustat -A all -c task-clock 0.2 2
	awk -v cpus="$CPUS" '$3 == "tick" && ($4 < 0.15e9 * cpus || $2 != "all") { exit failed = 1 }
		END { exit failed }' <<<"$output"
}

@test "-m: means, with two digits after the point" {
	go -0 cpustat -m -A all -t -c context-switches,page-faults 0.05 3
	head -n2 <<<"$output" | tail -n1 |
		grep -qE '^ +0\.[0-9]{3} all  tick +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2} $'
	# The totals are sums, also with -m.
	awk -v cpus="$CPUS" '
		$3 == "tick" { for (i = 4; i <= 6; i++) sum[i] += $i * cpus }
		$3 == "total" { for (i = 4; i <= 6; i++) if ($i - sum[i] > cpus || sum[i] - $i > cpus) bad = 1
			totals += $2 == cpus }
		END { exit bad || totals != 1 }' <<<"$output"
}

@test "-A with several specs: each has its rows and its total" {
	go -0 cpustat -A all -c context-switches -c page-faults 0.05 4
	check_totals - "$CPUS" <<<"$output"
	[ "$(grep -c ' all  tick .*# context-switches$' <<<"$output")" -eq 2 ]
	[ "$(grep -c ' all  tick .*# page-faults$' <<<"$output")" -eq 2 ]
}

@test "--aggregate and --mean; 2: bad usage" {
	go -0 cpustat --aggregate=node --mean -c page-faults 0.05 1
	[ "$(awk '$3 == "tick" { printf "%s ", $2 }' <<<"$output")" = "$(units node)" ]
	# as on Solaris
	for unit in core:cor socket:soc; do
		go -0 cpustat -A "${unit#*:}" -c page-faults 0.05 1
		[ "$(awk '$3 == "tick" { printf "%s ", $2 }' <<<"$output")" = "$(units "${unit%:*}")" ]
	done
	for bad in '' 'Core' bins co socks; do
		go -2 cpustat -A "$bad" -c page-faults 0.05 1
		[ "$stderr" = "cpustat: unknown -A '$bad': expected cpu, core, socket, node, all, cgroup, service, container, user or command" ]
	done
	go -2 cpustat -m -c page-faults 0.05 1
	[ "${#stderr_lines[@]}" -eq 1 ]
	[ -z "$output" ]
}
