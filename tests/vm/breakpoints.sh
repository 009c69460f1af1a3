#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# breakpoints.sh [few] - what tests count by breakpoints, which the emulated x86-64 machine has on every host; as root.
# Counts are those of tests/work/symbols.c and its like.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
# shellcheck disable=SC2016,SC2046,SC2086 # for awk and other shells; words
. ./check.sh
[ ! -x cputrack ] || PATH=/w:$PATH # a static one starts faster
use_engine ptrace
work=/cpc/tests/work
few=${1-}

# Calls of a function, and writes to a variable.
x() {
	printf 'breakpoint/addr=%s/' "$1"
}
w() {
	printf 'breakpoint/addr=%s,rw=w/' "$1"
}

# exits [EVENT [LWP]]: the counts of these rows of the last run, on one line.
exits() {
	ROWS=$out counters_of "${1:-exit}" ${2-} | xargs
}

# counted NAME WANT COMMAND...: exit status 0 and the counts of the exit rows; nothing else is said.
counted() {
	name=$1 want=$2
	shift 2
	run "$@"
	same "$name" "$status $(exits) $(cat "$err")" "0 $want "
}

# waiting COMMAND...: in the background, until it has said "ready"; `go` lets it go on to its end.
waiting() {
	rm -f said in
	mkfifo in
	"$@" <in >said &
	pid=$!
	exec 4>in
	until grep -q ready said || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
}
go() {
	echo g >&4
	exec 4>&-
	wait $pid
}

# attached: the last waiting program, from here on; the rest of the arguments are those of cputrack.
attached() {
	: >"$out"
	"$@" -p $pid >"$out" 2>"$err" 4>&- &
	tracker=$!
	until grep -q init_lwp "$out" || ! kill -0 $tracker 2>/dev/null; do sleep 0.05; done
	go
	status=0
	wait $tracker || status=$?
}

run probe breakpoint
same "this machine has breakpoints" "$status" 0

# ---- the library ----------------------------------------------------------------
set -f # patterns, but not of files
for test in "test_bind breakpoints" "test_fork keeps*" "test_fork starts*" "test_inherit first_and_last_calls" \
	"test_overflow breakpoints" "test_ovf_buffered as_unbuffered" "test_ovf_buffered accessed" test_symbol \
	"test_v1_emt emt*"; do
	run $test
	same "$test" "$status $(grep -c '^skipped: ' "$out") $(cat "$out" "$err" | grep -c '  PASSED  \] [1-9]')" "0 0 1"
done
set +f
run regions limited 3
same "regions: one after the other" "$status $(awk '$4 ~ /^[0-9-]+$/ && $5 ~ /call_[1-3]\/$/ {
	printf "%s %s %s ", substr($5, 17, 6), $4, $6 }' "$err")" \
	"0 call_1 6 first call_2 3 first call_3 - too call_3 3 second call_2 3 second "

# ---- symbols: tests/bats/breakpoints.bats --------------------------------------------
for program in symbols symbols-fixed symbols-static; do
	counted "$program: LWPs" "400 407 400 400" \
		cputrack -v -T 0 -c "$(x called),$(x lib_called),$(x getppid),$(w data)" $program 100 3
	same "$program: each LWP" "$(exits fini_lwp 1) $(exits lwp_exit 2) $(exits lwp_exit 4)" \
		"100 107 100 100 100 100 100 100 100 100 100 100"
done
waiting symbols -w 100 2
attached cputrack -v -T 0 -c "$(x called),$(x lib_called),$(x getppid)"
same "attached" "$status $(exits lwp_exit 3) $(exits) $(cat "$err")" "0 100 100 100 300 300 300 "
# A write to one of several variables hits others again in QEMU, so each is alone.
for variable in data:50 zeroed:50 words:100 words+010,len=4:50; do
	counted "writes to $variable" ${variable##*:} cputrack -T 0 -c "$(w ${variable%:*})" symbols 50
done
run cputrack --start-disabled -T 0 -c "$(x lib_called),$(x called)" symbols 50 1
same "off until a thread enables them" "$status $(exits)" "0 0 0"
run cputrack -f -T 0 -c "$(x called),$(x lib_called),$(x getppid)" symbols 20 1 5
same "children" "$status $(ROWS=$out counters_of exit | sort | uniq -c | xargs)" "0 5 20 20 20 1 40 47 40"
run cputrack -fe -T 0 -c "$(x called),$(x lib_called)" \
	sh -c 'symbols 10; symbols-fixed 20 1 1; exec symbols-static 30'
same "programs that they execute" "$status $(ROWS=$out counters_of exit | sort -n | xargs) $(wc -l <"$err")" \
	"0 10 17 20 20 30 37 40 47 2"
check "the shell has no such symbol" grep -qF "has no symbol 'called': $(x called) counts 0 in it" "$err"
run cputrack -T 0 -c "$(x nowhere),$(x called)" symbols 5
same "no program has it" "$status $(exits)" "1 0 5"
check "no program has it: a message says so" grep -q "no tracked program has the symbol 'nowhere'" "$err"
run cputrack -T 1000 -c "$(x called)" -c "$(x nowhere)" symbols 5
same "a set without its turn looks for no symbol" "$(wc -l <"$err") $(grep -c 'its turn never came' "$err")" "1 1"
run cputrack -c "$(x twin)" symbols-static 1
reports "two of a name" 1 "the symbol 'twin' is ambiguous, 2 of that name are in"
run cputrack -c "$(x own)" symbols-static 1
reports "a thread-local one" 1 "is thread-local"
run cputrack -c "$(x chosen)" symbols-static 1
reports "an IFUNC" 1 "is chosen among several functions"
run cputrack -c "$(w data+1),$(w data+2)" symbols 1
reports "not aligned" 1 "is addr a multiple of len"
run cpustat -c "$(x main)" 1 1
reports "cpustat" 1 "it belongs to one process; use cputrack"
counted "versions and clones" "1 10 1 100" \
	cputrack -T 0 -c "$(x power@V1),$(x same),$(x scaled+0),$(x scaled.constprop.0)" entries 1
run cputrack -T 0 -c "$(x power)" entries 1
reports "several of a name" 1 "has several versions or clones of 'power', .*: power@@V2, power@V1"
set -- $(function-calls | tr -c '0-9a-fx' ' ')
counted "by address" "400 400" cputrack -T 0 -c "$(x $1),breakpoint/addr=$2,len=4,rw=w/" function-calls 100 3
run cputrack --compare -r 3 --fail-above=3% -c "$(x hit)" -- function-calls 100 -- function-calls 110
same "10 % more calls" "$status $(cat "$err")" "3 cputrack: $(x hit) grew by 10.00%, above the limit of 3%"
run cputrack --engine=kernel -T 0 -c "$(x main)" true
reports "in the kernel" 1 "a symbol without the path of its file is looked up in each process"

# ---- files and processes that change: tests/bats/symbols.bats, tests/hostile ----------------
dir="/tmp/new
line"
mkdir "$dir"
cp $work/symbols $work/libsymbols.so "$dir"
chmod -R go+rX "$dir"
waiting "$dir/symbols" -w 100
rm "$dir/libsymbols.so"
attached cputrack -v -T 0 -c "$(x called),$(x lib_called)"
same "a library that was removed, with a newline in its path" "$status $(exits) $(cat "$err")" "0 100 100 "
linker=$(echo /lib*/ld-linux-x86-64.so.2)
waiting $linker $work/symbols -w 100
attached cputrack -v -T 0 -c "$(x called),$(x lib_called)"
same "attached to ld.so as a command" "$status $(exits) $(cat "$err")" "0 100 100 "
run cputrack -c "$(x called)" $linker $work/symbols 1
reports "ld.so as a command" 1 "the program of a dynamic linker that was called as a command is not known before it runs"
run deny process_vm_readv EPERM cputrack -fe -T 0 -c "$(x lib_called)" symbols 7 2
same "where process_vm_readv(2) is denied" "$status $(exits)" "0 28"
mkdir root
cp $work/symbols-static root/prog
run cputrack -fe -T 0 -c "$(x called)" chroot root /prog 9 1
same "a program in a root directory of its own" "$status $(ROWS=$out sum_of exit)" "0 18"
level=$(cat /proc/sys/kernel/perf_event_paranoid)
echo 2 >/proc/sys/kernel/perf_event_paranoid
run su -s /bin/sh nobody -c "cputrack -T 0 -c $(x called),$(x lib_called) symbols 10 1"
same "an ordinary user" "$status $(exits)" "0 20 27"
echo "$level" >/proc/sys/kernel/perf_event_paranoid
if [ "$few" != few ]; then
	run cputrack -fev -T 0 -o rows -c "$(x $(clone-flags))" clone-flags all 7
	followed=$(cut -d' ' -f2 "$out")
	same "mixtures of clone flags and PTRACE_TRACEME" "$status $(ROWS=rows sum_of exit)" "0 $((followed * 7))"
fi

# ---- off and on: tests/bats/enable.bats -------------------------------------------------
hit=$(x $(enable-disable))
run cputrack -T 0 --start-disabled -c "page-faults,$hit" enable-disable -n 2 -t 4 50
same "brackets of threads" "$status $(exits lwp_exit 2) $(exits lwp_exit 5) $(exits)" "0 100 100 400 400 1000 1000"
run cputrack -T 0 -c "$hit" enable-disable -n 2 -t 4 50
same "on until a thread disables them" "$status $(exits lwp_exit 2) $(exits lwp_exit 5) $(exits)" "0 200 800 2000"
run cputrack -fe -T 0 --start-disabled -c "page-faults,$hit" sh -c 'touch-pages 500; enable-disable 20; exec enable-disable 30'
same "children and new programs start off" "$status $(ROWS=$out sum_of exit) $(ROWS=$out sum_of exit '' 1)" "0 50 50"

# ---- more than there are: tests/bats/split.bats -----------------------------------------
b=$(x called)
counted "as many as there are" "10 10 10 10" cputrack -T 0 -c $b,$b,$b,$b symbols 10
run cputrack -c $b,$b,$b,$b,$b symbols 10
reports "one more" 1 "this CPU has 4 registers"
run cputrack --split -T 600 -c $b,$b,$b,$b,$b symbols 100 2
same "a turn that never comes" "$status $(exits | cut -d' ' -f2-)" "0 300 300 300 300 # $b,$b,$b,$b - - # $b"
check "a turn that never comes: a message says so" grep -qF "counted 0.0% of the time: '$b' (its turn never came)" "$err"
run cputrack --split -T 600 -c "pic2=page-faults,$b,$b,$b,$b,$(x getppid),minor-faults,sys2" symbols 10
same "each event has a set" "$(ROWS=$out rows_of exit | sed 's/.*# //' | xargs)" \
	"pic2=page-faults,$b,$b,$b,$b,minor-faults,sys2 $(x getppid)"
finish
