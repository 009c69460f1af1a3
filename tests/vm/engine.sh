#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# engine.sh ENGINE [TIMES] - one of the engines of cputrack on this kernel, TIMES times: the unit
# tests below it, calls of a function in threads, and storms of threads and forks, each of which
# must have its own row; as root.  Without TIMES: once, with fewer LWPs.  Before that, once: can the
# kernel load the programs, and probe functions?
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh
engine=$1 times=${2-1} crowd=100 few=
[ $# != 1 ] || crowd=30 few=few

case $engine in
kernel) tests='test_lwps test_lwps_left test_lwps_life' ;;
ptrace) tests='test_pctx test_pctx_handles' few='' ;;
*) exit 2 ;;
esac

run cputrack -D -c page-faults true
check "auto counts in the kernel" grep -q ': counts in the kernel' "$err"

# storm EVENT N COMMAND...: N rows of EVENT, of 7 page faults or more each.
storm() {
	event=$1 n=$2
	shift 2
	run timeout 60 cputrack --engine="$engine" -f -T 0 -c page-faults "$@"
	same "$*: exit status" "$status" 0
	check "$*: nothing is reported" [ ! -s "$err" ]
	same "$*: rows" \
		"$(awk -v event="$event" '$4 == event && $5 >= 7 { n++ } END { print n }' "$out")" "$n"
}

if [ "$engine" = kernel ]; then
	mount_cgroups /sys/fs/cgroup
	for by in cgroup user command; do
		run cpustat -A $by -c page-faults,context-switches,task-clock 0.1 1
		same "cpustat -A $by: status and messages" "$status $(cat "$err")" "0 "
		check "cpustat -A $by: rows" [ "$(grep -c ' tick ' "$out")" -ge 2 ]
	done
fi

# Can the kernel probe them?
insns=$(command -v first-insns)
for name in $(first-insns -g | head -n $((times ? 99 : 2))); do
	run cputrack --engine="$engine" -T 0 -c "uprobe/func=$insns:$name/" first-insns 5
	same "calls of $name()" "$status $(counts exit)" "0 5"
done
for name in $(first-insns -r | head -n $((times ? 99 : 1))); do
	run cputrack --engine="$engine" -T 0 -c "uprobe/func=$insns:$name/" first-insns 5
	reports "$name() is refused" 1 "cannot count '.*': the kernel .* this instruction of '"
done

# Returns: of tracked LWPs only, or a caution says that it is not so.
returns=$(command -v returns)
run cputrack --engine="$engine" -T 0 -c "uprobe/func=$returns:nested/,uprobe/func=$returns:nested,ret/" returns nest 60 2
same "returns of nested calls" "$status $(counts exit)" "0 120 120"
if [ "$engine" = kernel ] && [ "$(printf '%s\n' 6.13 "$(uname -r)" | sort -V | head -n 1)" != 6.13 ]; then
	check "a caution: all processes" grep -q 'caution: .* probes returns in all processes' "$err"
else
	check "returns: nothing is reported" [ ! -s "$err" ]
fi
[ "$engine" != kernel ] ||
	run cputrack --engine=kernel -T 0 -c "uprobe/func=$returns:nested,ret/" returns nest 65 2
[ "$engine" != kernel ] ||
	same "more than 64 returns" "$status $(counts exit)" "1 128 # incomplete"

while [ "$times" -gt 0 ]; do
	times=$((times - 1))
	for test in $tests; do
		run "$test" $few
		same "$test" "$status" 0
	done
	run cputrack --engine="$engine" -T 0 -c "uprobe/func=$(command -v calls):hit/,cgroup-switches" calls 1000 5
	same "calls of a function in 5 threads" "$(counts lwp_exit 6) $(counts exit)" "1000 0 6000 0"
	storm lwp_exit $crowd threads -p 7 $crowd
	storm exit $((crowd + 1)) forks -p 7 $crowd
	storm exit $((crowd + 1)) forks -j -p 7 $crowd
done
finish
