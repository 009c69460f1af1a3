#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# exact.sh ENGINE [SCENARIO...] - exact page faults, and instructions where they can be counted, in
# the scenarios of exact.rows, or in some of them; as root, where instructions are counted on one CPU.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh
engine=--engine=$1
shift
spec=page-faults,Instr_cnt second=
cputrack -c $spec true >/dev/null 2>&1 || spec=page-faults second=none

# right NAME [ATTACHED]: the tables of 1000 and of 3000 rounds.
right() {
	awk -f exact.awk -v scenario="$1" -v options=-fe -v attached="${2-}" -v second=$second \
		exact.rows /tmp/1000 /tmp/3000 >"$out"
}

totals() {
	awk '($4 == "exec" || $4 == "exit") && $5 != "#" { faults += $5; instructions += $6 }
		END { print instructions; print faults }' /tmp/1000
}

scenarios=${*:-$(awk '!/^#/ { print $1 }' exact.rows)}
for scenario in $scenarios; do
	cputrack "$engine" -fev -T 0 -c $spec exact "$scenario" 1000 >/tmp/1000 2>"$err"
	cputrack "$engine" -fev -T 0.001 -c $spec exact "$scenario" 3000 >/tmp/3000 2>"$err"
	check "$scenario: each LWP, image and process" right "$scenario"
	[ "$second" != none ] || continue
	run inherited-count exact "$scenario" 1000
	same "$scenario: all of them, as inherited events count" "$(cat "$out")" "$(totals)"
done

# ---- attached: from the read(2) that it sleeps in -------------------------------------
fifo=/tmp/exact-$$
mkfifo $fifo
for scenario in plain fork threads leader-first thread-exec nested; do
	case " $scenarios " in
	*[[:space:]]"$scenario"[[:space:]]*) ;;
	*) continue ;;
	esac
	for rounds in 1000 3000; do
		exact "$scenario" $rounds wait <$fifo >/dev/null &
		pid=$!
		: >/tmp/$rounds
		exec 3>$fifo
		until grep -q '^State:.S' /proc/$pid/status; do sleep 0.1; done
		cputrack "$engine" -fev -T 0 -c $spec -p $pid >/tmp/$rounds 2>"$err" 3>&- &
		until grep -q init_lwp /tmp/$rounds; do sleep 0.1; done
		exec 3>&-
		wait
	done
	check "$scenario, attached: each LWP, image and process" right "$scenario" 1
done

if [ "$second" = none ]; then
	finish
	exit
fi

# ---- after a delay ---------------------------------------------------------------------
run cputrack "$engine" --delay 0.5 -fe -T 0 -c Instr_cnt sh -c 'bare; sleep 1; bare; :'
same "delayed: none, then all" \
	"$(awk '$4 == "exit" { n++; if (n == 1 || n == 3) printf "%s ", $5 }' "$out")" "- 1000000 "
finish
