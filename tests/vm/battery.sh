#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# battery.sh [-n TIMES] [-s SEED] [-E ENGINE] [PATTERN] - tracked workloads behave as if untracked,
# and no count is lost, on this kernel and with hardware counters; as root.
#
# Each workload of tests/work/battery, or those that match PATTERN, is run TIMES times (1)
# alone, followed from its start, and with cputrack attached in its midst, at moments that
# SEED draws, by ENGINE (ptrace).  scripts/stress does the same on the host.  By hand, from the top:
#
#   tests/vm/vm -k 6.12 -n 2 -m 1024 -t 3000 -f tests/work/battery battery.sh
#
# All of it takes 5 minutes, and several times as long with -i none, in real time.
# shellcheck disable=SC1091,SC2154 # files of their own, and what they set
# shellcheck disable=SC2016,SC2086 # for awk; a line of the battery is words
. ./check.sh

times=1 seed=1 engine=ptrace
while getopts n:s:E: opt; do
	case $opt in
	n) times=$OPTARG ;;
	s) seed=$OPTARG ;;
	E) engine=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
events=page-faults,Cycle_cnt,Instr_cnt
cputrack -c $events true >/dev/null 2>&1 || events=${events%,*} # in real time
cputrack -c $events true >/dev/null 2>&1 || events=page-faults # without a PMU
T=/tmp/battery ROWS=/tmp/battery/rows
mkdir -p $T

# What a workload needs that this machine lacks, if anything.
lacks() {
	case $1 in
	fork-exec32) echo "x86-64" ;;
	esac
}

# complain WHY [FILE]...: with the files' contents.
complain() {
	echo "$way: $1"
	shift
	for file; do
		[ ! -s "$file" ] || tail -n 25 "$file" | sed "s,^,    ${file##*/}: ,"
	done
	bad=1
}

# Runs COMMAND in a directory of its own; what it says, returns and leaves is in $T.
run_in() {
	rm -rf $T/dir
	mkdir $T/dir
	(cd $T/dir && printf %s "$input" | "$@" >$T/stdout 2>$T/stderr)
	echo $? >$T/status
	ls -A $T/dir >$T/files
}

same_as_alone() {
	for what in status stdout stderr files; do
		cmp -s $T/$what $T/alone.$what ||
			complain "its $what differs" $T/alone.$what $T/$what
	done
}

# right FUNCTION: of tables.sh, on the table.
right() {
	"$1" >$T/check 2>&1 || complain "$1" $T/check $ROWS
}

# Every count was read.
check_read() {
	! table | awk '{ for (i = 4; i <= NF && $i != "#"; i++) if ($i == "-") { print; next } }' | grep .
}

# The last two counters: no fewer cycles than instructions, and as many on one CPU.
check_cycles() {
	[ "${events##*,}" = Instr_cnt ] || return 0
	table | sed 's/ *#.*//' | awk -v cpus="$(nproc)" '
	NF > 3 { d = $(NF - 1) - $NF; if (d < -100 || (cpus == 1 && d > 100)) { print; failed = 1 } }
	END { exit failed }'
}

counted() {
	table | awk '($3 == "exec" || $3 == "exit") && $4 != "#" { n += $4 } END { print n + 0 }'
}

alone() {
	way=alone
	run_in check-leftovers 60 "$@"
	[ "$(cat $T/status)" != 124 ] || complain "something is left" $T/stderr
	! grep -q FAIL $T/stdout || complain "it failed" $T/stdout
	for what in status stdout stderr files; do
		cp $T/$what $T/alone.$what
	done
}

followed() {
	way=followed
	run_in check-leftovers 60 cputrack --engine=$engine -fev -T 0.01 -c syscalls:sys_enter_getpriority,$events -o $ROWS "$@"
	same_as_alone
	for function in format sums life read cycles; do
		right check_$function
	done
	calls=${calls%,*}
	[ "$calls" = - ] || [ "$(counted)" = "$calls" ] ||
		complain "$(counted) calls, not $calls" $ROWS
}

# attached OPTIONS COMMAND...
attached() {
	options=$1
	way="attached $1"
	shift
	rm -f $ROWS $T/left
	: >$T/said
	seed=$((seed + 1))
	# cputrack takes about 20 ms to attach: the command may start after it.
	run_in check-leftovers -a "$(awk -v s=$seed 'BEGIN { srand(s); print int((rand() * rand() - rand()) * 30000) }')" \
		"cputrack --engine=$engine $options -T 0.01 -c $events -o $ROWS -p \$PID 2>$T/said ||
			echo \$? >$T/left" 60 "$@"
	same_as_alone
	sed -i '/^cputrack: not counted: /d' $T/said # without -f or -e
	# It may have ended before, or be ending.
	if grep -qvE ': (no such process|it has ended)$' $T/said; then
		complain words $T/said
	elif [ ! -s $T/said ] && [ -e $T/left ]; then
		complain status $T/left
	fi
	[ -s $ROWS ] || return
	midst=$((midst + 1))
	right check_format
	right check_read
	right check_cycles
	! grep -q ' exit ' $ROWS || right check_sums
}

# workload COMMAND...: with its $flags, $calls and $input.
workload() {
	bad=0
	alone "$@"
	[ $flags = f ] || followed "$@"
	for options in $attach; do
		[ $flags != f ] || options=${options#-f}
		attached "-${options#-}" "$@"
	done
	return $bad
}

midst=0 attaches=0
grep -v '^#' battery | grep -E -- "${1-}" >$T/lines
while [ $times -gt 0 ]; do
	times=$((times - 1))
	while read -r flags calls command <&3; do
		reason=$(lacks $command)
		if [ -n "$reason" ]; then
			echo "skipped: $command needs $reason"
			continue
		fi
		input=
		# The kernel engine follows what ptrace(2) cannot.
		if [ $engine = kernel ]; then
			calls=${calls#*,}
			[ $flags != f ] || flags=-
		fi
		case $flags in i=*) input=${flags#i=} ;; esac
		attach='-fev -v'
		attaches=$((attaches + 2))
		: >$err
		workload $command >$out
		check "$command" [ $? = 0 ]
	done 3<$T/lines
done
rm -rf $T
check "attached to $midst of $attaches before their ends" [ $midst -gt 0 ]
finish
