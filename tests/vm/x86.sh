# shellcheck shell=sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# x86.sh - what the tests of the module of tests/vm/pmu share; to be read by a POSIX shell.
# shellcheck disable=SC1091,SC2154 # files of their own, and what they set
. ./check.sh

# The sums of all events in the csv of the last run's exits and execs: "instructions 1000 cycles 2000".
sums() {
	csv_awk '($kind == "exit" || $kind == "exec") && $count != "" {
		if (!($event in sum)) name[++n] = $event
		sum[$event] += $count
		bad += $incomplete
	} END {
		for (i = 1; i <= n; i++) printf "%s%s %.0f", (i > 1 ? " " : ""), name[i], sum[name[i]]
		if (bad) print " incomplete"
	}' <"$out"
}

cpus=$(nproc)
list=$(seq -s , 0 $((cpus - 1)))
cycles=0x3c # its code

# exact ENGINE: known counts on all CPUs at once, through threads, forks and execs.
exact() {
	e=$1
	tool="cputrack --engine=$e --format=csv -T 0 -c instructions,cycles"
	events="0xc0:1000 $cycles:2000"
	# shellcheck disable=SC2086 # words
	{
		run $tool drive -m "$list" -r 100 $events 0xc0:7:k
		same "$e: one thread, all CPUs" "$status $(sums)" "0 instructions 100000 cycles 200000"
		run $tool drive -t 100 -r 20 -y -b 1000 -m "$list" $events
		same "$e: 100 threads" "$status $(sums)" "0 instructions 2000000 cycles 4000000"
		run $tool -fe drive -t 20 -r 10 -f 5 -y -m "$list" $events
		same "$e: forks" "$status $(sums)" "0 instructions 1200000 cycles 2400000"
		run $tool -fe drive -t 10 -r 10 -x $events -- drive -t 10 -r 10 $events
		same "$e: an exec" "$status $(sums)" "0 instructions 200000 cycles 400000"
	}
}

# The messages of the last run.  The last switch of a CPU that goes offline may be missing, and Linux 7 skips programs
# at tracepoints that interrupt another one.
messages() {
	grep -vE "did not report [0-9]* context switch|changed its command unnoticed" "$err"
}

# start COMMAND...: in the background, until it has printed a sample, and `end` ends it by a signal.
start() {
	: >"$out"
	"$@" >"$out" 2>"$err" 3>&- &
	pid=$!
	until grep -q tick "$out" || ! kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}

# await SECONDS PATTERN: up to that long, until a message matches.
await() {
	limit=$(($1 * 10))
	until grep -qE -- "$2" "$err" || [ $((limit -= 1)) = 0 ]; do sleep 0.1; done
}

end() {
	kill -INT "$pid"
	status=0
	wait "$pid" || status=$?
}

# The sums of the columns of all tick rows of a CPU or command, and the number of incomplete ones.
ticks_of() {
	awk -v row="$1" '{ for (i = 1; i < NF; i++) if ($i == "tick" && $2 == row) {
			a += $(i + 1); b += $(i + 2); bad += /incomplete/ } }
		END { print a + 0, b + 0, bad + 0 }' "$out"
}

# divided: known counts of each CPU, by command, and of all processes.
divided() {
	walk="drive -m $list -r 100 0xc0:1000 $cycles:2000"
	start cpustat -c instructions,cycles 0.5
	$walk
	end
	same "cpustat: all CPUs" "$(awk '/total/ { print $(NF - 1), $NF }' "$out")" "100000 200000"
	start cpustat -A command -c instructions,cycles 0.5
	$walk
	end
	same "cpustat -A: drive" "$(ticks_of drive)" "100000 200000 0"
	start cputrack --all --format=csv -T 0.5 -c instructions,cycles
	$walk
	end
	same "cputrack --all: drive" "$(csv_awk '$kind == "exit" && $comm == "drive" { print $count, $incomplete }' <"$out")" \
		"100000 0
200000 0"
}

# none_in_use: no program has left a counter behind.
none_in_use() {
	same "no program has crashed" "$(dmesg | grep -c segfault)" 0
	same "counters in use at the end" "$(grep -vc ': 0' /dev/fakepmu)" 0
}
