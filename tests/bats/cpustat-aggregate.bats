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
		[ "$stderr" = "cpustat: unknown -A '$bad': expected cpu, core, socket, node, kind, all, cgroup, service, container, user or command" ]
	done
	go -2 cpustat -m -c page-faults 0.05 1
	[ "${#stderr_lines[@]}" -eq 1 ]
	[ -z "$output" ]
}

# A record of two CPUs of one kind and one of another, with the counts 1, 2 and 4.
record_of_kinds() {
	cat <<-'EOF'
	{"kind":"run","schema":1,"tool":"cpustat","command":["cpustat"],"host":"h","start":"2026-01-31T23:59:58.000000000Z","cycles":"tsc","sets":[{"spec":"a","events":[{"event":"a","name":"a","pic":0,"unit":"","scale":1,"signed":false}]}],"unit":"cpu","cpus":[{"cpu":0,"core":0,"socket":0,"node":0,"pmu":"cpu_core"},{"cpu":1,"core":0,"socket":0,"node":0,"pmu":"cpu_atom"},{"cpu":2,"core":0,"socket":0,"node":0,"pmu":"cpu_core"}]}
	EOF
	local cpu
	for cpu in 0 1 2; do
		echo '{"kind":"tick","ns":1000000000,"time":"2026-01-31T23:59:59.000000000Z","cpu":'$cpu',"ncpus":1,"set":0,"counts":{"a":'$((1 << cpu))'},"cycles":7}'
	done
	cat <<-'EOF'
	{"kind":"total","ns":1000000000,"time":"2026-01-31T23:59:59.000000000Z","all":0,"ncpus":3,"set":0,"counts":{"a":7},"cycles":21}
	{"kind":"end","rows":4}
	EOF
}

@test "-A kind: the names of PMUs, in all formats" {
	record_of_kinds >"$T/record"
	go -0 cpustat -I "$T/record" -A kind
	[ "$(awk '{ print $2, $3, $4 }' <<<"$output")" = $'kind event pic0\ncpu_core tick 5\ncpu_atom tick 2\nall total 7' ]
	[ "$(cpustat -I "$T/record" -A pmu -m | awk '$3 == "tick" { print $2, $4 }')" = $'cpu_core 2.50\ncpu_atom 2.00' ]
	[ "$(cpustat -I "$T/record" -A kind --format=csv | csv_awk '$kind == "tick" { print $key_kind, $key, $cpu, $cpus, $count }')" = \
		$'name cpu_core  2 5\nname cpu_atom  1 2' ]
	cpustat -I "$T/record" -A kind --format=openmetrics | grep -x 'cpc_events_total{event="a",pmu="cpu_core"} 5'
	cpustat -I "$T/record" -A kind --format=openmetrics | grep -x 'cpc_counted_cpus{pmu="cpu_atom"} 1'
	cpustat -I "$T/record" -A kind --format=json -o "$T/json"
	[ "$(cpustat -I "$T/json")" = "$output" ]
	grep -q '"pmu":"cpu_atom","key_kind":"name","ncpus":1' "$T/json"
	sed 's/,"pmu":"[a-z_]*"//g' "$T/record" >"$T/old"
	mistake 1 "unsupported -A kind: the record has no kinds of cores" cpustat -I "$T/old" -A kind
}

@test "-A kind: the kinds of this machine" {
	go -0 cpustat -A kind -c context-switches,page-faults 0.05 2
	for file in /sys/bus/event_source/devices/*/cpus; do
		[ ! -e "$file" ] || basename "$(dirname "$file")"
	done >"$T/kinds"
	if [ ! -s "$T/kinds" ] && "$WORK/probe" pmu; then
		echo cpu >"$T/kinds"
	fi
	[ -s "$T/kinds" ] || echo '(none)' >"$T/kinds"
	[ "$(awk '$3 == "tick" { print $2 }' <<<"$output" | sort -u)" = "$(sort "$T/kinds")" ]
	awk '$3 == "tick" { a += $4; b += $5 } $3 == "total" { good = a == $4 && b == $5 } END { exit !good }' <<<"$output"
}
