#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# waits.sh - run-delay and preemptions of LWPs and of commands, against those that the kernel reports in /proc; as
# root.  It also runs on the machine of the tests.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016 # for awk
. ./check.sh
fifo=${TMPDIR:-/tmp}/fifo
said=${TMPDIR:-/tmp}/said
spec=run-delay,preemptions,task-clock

# waits_of PID: what the kernel says of a process that sleeps: "DELAY PREEMPTIONS".
waits_of() {
	awk '{ delay = $2 } /^nonvoluntary/ { n = $2 } FILENAME ~ /schedstat/ { kept = delay }
		END { printf "%s %s\n", kept, n }' "/proc/$1/schedstat" "/proc/$1/status"
}

# wait_for PATTERN FILE
wait_for() {
	until grep -q "$1" "$2" 2>/dev/null; do sleep 0.05; done
}

# competing "TOOL..." MARK OPERAND...: the children of `waits` compete while the tool counts, which has begun when
# its output has MARK.  PID stands for that of `waits`, in the tool.  Afterwards "$said" has the lines of `waits` for
# its children and one for itself: PID DELAY PREEMPTIONS ELAPSED.
competing() {
	tool=$1 mark=$2
	shift 2
	rm -f "$fifo" "$said" "$out"
	mkfifo "$fifo"
	waits "$@" <"$fifo" >"$said" &
	waits=$!
	exec 3>"$fifo"
	wait_for . "$said"
	until [ "$(sed 's/.*) //; s/ .*//' /proc/$waits/stat)" = S ]; do sleep 0.05; done
	before=$(waits_of $waits)
	status=0
	tool=$(echo "$tool" | sed "s/PID/$waits/g")
	# shellcheck disable=SC2086 # several words
	$tool >"$out" 2>"$err" &
	counter=$!
	until grep -q "$mark" "$out" 2>/dev/null || ! kill -0 $counter; do sleep 0.05; done 2>/dev/null
	echo go >&3
	wait_for end "$said"
	until [ "$(sed 's/.*) //; s/ .*//' /proc/$waits/stat)" = S ]; do sleep 0.05; done
	after=$(waits_of $waits)
	kill -INT $counter
	wait $counter || status=$?
	exec 3>&-
	wait $waits
	echo "$waits $((${after% *} - ${before% *})) $((${after#* } - ${before#* })) 0" >>"$said"
	# cputrack detaches, and has then counted all that it was to count.
	case $tool in cputrack*) status=$((status + 130)) ;; esac
	# From Linux 7.0 on an exec of another command can be noticed late.
	same "waits $*: ended by the signal, without a message" "$status $(grep -v unnoticed "$err")" "130 "
}

# sum COLUMN FILE [PATTERN]: over the lines with four columns, or over those whose key is PATTERN.
sum() {
	awk -v c="$1" -v key="${3-}" 'key == "" ? NF == 4 : $2 == key { n += $c } END { printf "%.0f\n", n }' "$2"
}

by_command() {
	competing "cpustat -A command -c $spec 0.1" tick "$@"
	same "waits $*: the nanoseconds of waiting, by command" "$(sum 4 "$out" waits$waits)" "$(sum 2 "$said")"
	same "waits $*: preemptions" "$(sum 5 "$out" waits$waits)" "$(sum 3 "$said")"
}

by_command 8 30 exit
same "the idle task neither waits nor is preempted" "$(sum 4 "$out" '(idle)') $(sum 5 "$out" '(idle)')" "0 0"
by_command 200 1 stop
by_command 6 30 threads
# Without a pause a child that waits is moved to the other CPU, and some are killed while they wait.
[ "$(nproc)" = 1 ] || by_command 8 60 exit 60 3

# Each LWP by itself; stopped children have done all their switches.
competing "cputrack -f -p PID -T 0.1 -c $spec" time 6 30 stop
same "the waits and preemptions of each LWP" "$(awk '$4 == "detach" { print $2, $5, $6 }' "$out" | sort)" \
	"$(awk 'NF == 4 { print $1, $2, $3 }' "$said" | sort)"
# Nothing but running and waiting: within 5 %, as the clocks differ.
check "a child that never sleeps runs or waits" awk 'FILENAME == ARGV[1] { if (NF == 4 && $4 > 0) alive[$1] = $4; next }
	$4 == "detach" && $2 in alive { n++; all = $5 + $7; bad += all < 0.95 * alive[$2] || all > 1.05 * alive[$2] + 2e8 }
	END { exit bad || n != 6 }' "$said" "$out"

# A quota of 10 ms in 100: the kernel counts its waits, and how long it is throttled.
root=/sys/fs/cgroup
if [ -e $root/cpu/cpu.cfs_quota_us ]; then
	root=$root/cpu
else
	mount_cgroups $root 2>/dev/null
	echo +cpu >$root/cgroup.subtree_control 2>/dev/null
fi
group=$root/waits$$
mkdir $group 2>/dev/null
# In microseconds, as cpu.stat of version 2.
throttled() {
	awk '$1 == "throttled_usec" { print $2 } $1 == "throttled_time" { printf "%.0f\n", int($2 / 1000) }' $group/cpu.stat
}
# set_quota MICROSECONDS|max PERIOD
set_quota() {
	if [ -e $group/cpu.max ]; then
		echo "$1 $2" >$group/cpu.max
	else
		echo "$2" >$group/cpu.cfs_period_us
		echo "$1" | sed 's/max/-1/' >$group/cpu.cfs_quota_us
	fi
}
throttle() {
	waits 1 100 exit <"$fifo" >"$said" &
	exec 3>"$fifo"
	echo $! >$group/cgroup.procs
	echo go >&3
	wait_for end "$said"
	set_quota max 100000
	# The kernel has noted the end of the last throttling; now a task of the group runs.
	exec 3>&-
	wait $!
}
if [ -e $group/cpu.max ] || [ -e $group/cpu.cfs_quota_us ]; then
	rm -f "$fifo" "$out"
	mkfifo "$fifo"
	cpustat -A cgroup -c throttled-time,run-delay,task-clock 0.1 >"$out" 2>"$err" &
	counter=$!
	wait_for tick "$out"
	set_quota 10000 100000
	throttle 2>/dev/null
	kill -INT $counter
	wait $counter
	want=$(throttled)
	same "microseconds of throttling" "$(awk '$3 == "tick" { n += $4 } END { printf "%.0f\n", int(n / 1000) }' "$out")" "$want"
	check "...of which there are some" [ "$want" -gt 0 ]
	# Counting begins while the cgroup is throttled: this time is not lost.
	set_quota 10000 1000000
	before=$(throttled)
	waits 1 100 exit <"$fifo" >"$said" &
	waits=$!
	exec 3>"$fifo"
	echo $waits >$group/cgroup.procs
	echo go >&3
	until [ "$(throttled)" -gt "$before" ] || grep -q end "$said"; do sleep 0.1; done
	sleep 0.1
	rm -f "$out"
	before=$(throttled)
	cpustat -A cgroup -c throttled-time 0.1 >"$out" 2>"$err" 3>&- &
	counter=$!
	wait_for tick "$out"
	begun=$(throttled)
	set_quota max 100000
	wait_for end "$said"
	exec 3>&-
	wait $waits
	kill -INT $counter
	wait $counter
	want=$(throttled)
	got=$(awk '$3 == "tick" { n += $4 } END { printf "%.0f\n", n / 1000 }' "$out")
	check "...that had begun before: $got of $before, $begun, $want" \
		[ "$got" -ge $((want - begun - 2)) ] && [ "$got" -le $((want - before + 2)) ]
	rmdir $group
fi

# Other commands take the CPU: against the switches that the kernel reports to tracepoints.
[ -e /sys/kernel/tracing/events ] || mount -t tracefs none /sys/kernel/tracing 2>/dev/null
if [ -e /sys/kernel/tracing/events/sched/sched_switch ]; then
	# 0x100, TASK_REPORT_MAX: it was preempted; 0: it yielded.
	left='(prev_state==256||prev_state==0)&&prev_comm=="waitsPID"'
	others=$left'&&next_comm!="waitsPID"&&next_pid!=0'
	echo go | waits 1 1500 exit >/dev/null &
	beside=$!
	spec="run-delay,preemptions,preemptions-by-others,sched:sched_switch/$others/"
	by_command 3 200 exit
	wait $beside
	same "preemptions by others" "$(sum 6 "$out" waits$waits)" "$(awk '$3 == "tick" { n += $7 } END { print n }' "$out")"
	check "...of which there are some" [ "$(sum 6 "$out" waits$waits)" -gt 0 ]
	# Two cgroups of one service are not others to each other.
	root=/sys/fs/cgroup
	[ -e $root/cgroup.controllers ] || root=$root/memory
	service=$root/waits$$.service
	mkdir $service $service/a $service/b 2>/dev/null
	if [ -e $service/b/cgroup.procs ]; then
		rm -f "$fifo" "$out"
		mkfifo "$fifo"
		waits 2 150 exit <"$fifo" >"$said" &
		a=$!
		exec 3>"$fifo"
		rm -f "$fifo"
		mkfifo "$fifo"
		waits 2 150 exit <"$fifo" >"$said.b" 3>&- &
		b=$!
		exec 4>"$fifo"
		echo $a >$service/a/cgroup.procs
		echo $b >$service/b/cgroup.procs
		wait_for . "$said"
		wait_for . "$said.b"
		left='(prev_state==256||prev_state==0)&&next_pid!=0'
		for command in waits$a waits$b; do left="$left&&next_comm!=\"$command\""; done
		left="$left&&(prev_comm==\"waits$a\"||prev_comm==\"waits$b\")"
		cpustat -A service -c "preemptions,preemptions-by-others,sched:sched_switch/$left/" 0.1 \
			>"$out" 2>"$err" 3>&- 4>&- &
		counter=$!
		wait_for tick "$out"
		echo go >&3
		echo go >&4
		wait_for end "$said"
		wait_for end "$said.b"
		exec 3>&- 4>&-
		wait $a $b
		kill -INT $counter
		wait $counter
		same "preemptions by other services" "$(sum 5 "$out" waits$$.service)" \
			"$(awk '$3 == "tick" { n += $6 } END { print n + 0 }' "$out")"
		check "...unlike those within the service" [ "$(sum 4 "$out" waits$$.service)" -gt "$(sum 5 "$out" waits$$.service)" ]
		rmdir $service/a $service/b $service
	fi
	# Those of a command that runs when counting begins.
	left='(prev_state==256||prev_state==0)&&prev_comm=="cpustat"'
	for i in 1 2 3 4 5; do
		cpustat -A command -c "preemptions,sched:sched_switch/$left/" 0.1 1 >"$out" 2>"$err"
		same "preemptions of cpustat, $i" "$(awk '$2 == "cpustat" && $3 == "tick" { n += $4 } END { print n + 0 }' "$out")" \
			"$(awk '$3 == "tick" { n += $5 } END { print n + 0 }' "$out")"
	done
fi
finish
