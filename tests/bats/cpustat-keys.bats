#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# cpustat -A and --by with cgroup, service, container, user and command.

# shellcheck disable=SC2154 # run sets status, output, stderr

load helpers

teardown() {
	common_teardown
	local group
	for group in ${GROUP:+"$GROUP"} ${OTHER:+"$OTHER"}; do
		[ ! -e "$group" ] || rmdir "$group"/{rest,a,b} "$group"
	done
}

@test "the header stands above its columns, also over long keys" {
	need_keys
	go -0 cpustat -A cgroup -c page-faults 0.1 1
	[ "$(awk '{ match($0, / (event|tick|total) /); print RSTART + RLENGTH }' <<<"$output" | sort -u | wc -l)" = 1 ]
}

@test "known counts of cgroups, services, containers, users and commands" {
	need_keys
	[ -e /sys/fs/cgroup/cgroup.procs ] || [ -e /sys/fs/cgroup/memory/cgroup.procs ] ||
		skip "no cgroups are mounted"
	cp "$BATS_DIR/../vm/"{check,keys}.sh "$BATS_DIR/tables.sh" "$T"
	cd "$T"
	PATH=$WORK:$PATH TMPDIR=$T go -0 ./keys.sh
}

@test "a sample that fails ends it, after the rows and totals of the samples before" {
	need_keys
	need_command strace
	# LeakSanitizer does not work under strace.
	start cs env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" cpustat -A command -c page-faults 0.02
	eventually grep -q tick "$T/cs.out"
	start fault strace -o "$T/strace" -p "${PIDS[cs]}" -e trace=bpf -e inject=bpf:error=EIO
	finish cs
	[ "$status" -eq 1 ]
	[ "$(grep -v "unnoticed" "$T/cs.err")" = "cpustat: cannot read the counts of the CPUs: Input/output error" ]
	awk '$3 == "tick" { sum += $4 } $3 == "total" { total = $4; marked = / # incomplete$/ }
		END { exit total != sum || !marked }' "$T/cs.out"
	finish fault
}

# Rows without alignment, and without those of names that are not UTF-8, which a record cannot have.
comparable() {
	awk '!/\\M/ { $1 = $1; print }'
}

@test "a record of keys is shown in all formats, and as a summary" {
	need_keys
	go -0 cpustat -O "$T/record" -A command -c page-faults,context-switches 0.2 3
	printf '%s\n' "$output" >"$T/live"
	# It has cycles, though the table shows none: 0.6 s of each CPU, at 1 GHz or more.
	[ "$(jq -s 'map(select(.kind == "tick").cycles) | add' "$T/record")" -gt $(($(nproc) * 300000000)) ]
	go -0 cpustat -I "$T/record"
	diff <(comparable <"$T/live") <(comparable <<<"$output")
	go -0 cpustat -I "$T/record" --by=command
	[ "$(awk '$1 == "total" { print $2 }' <<<"$output")" = "$(awk '$3 == "total" { print $4 }' "$T/live")" ]
	go -0 cpustat -I "$T/record" --format=openmetrics
	grep -q '^cpc_events_total{event="page-faults",kind="kernel"} ' <<<"$output"
	go -0 cpustat -I "$T/record" --format=trace
	python3 -m json.tool >/dev/null <<<"$output"
	go -0 cpustat -I "$T/record" --format=csv
	[ "$(csv_awk '$kind == "tick" && $key_kind == "kernel" && $key == "" && $event == "page-faults" && $count == 0' \
		<<<"$output" | wc -l)" -ge 1 ]
	go -1 cpustat -I "$T/record" --by=service
	[[ $stderr == *"unsupported -A or --by service: the rows are by command" ]]
	go -1 cpustat -I "$T/record" -A core
}

# sum_of FILTER: the page faults of these rows of the record.
sum_of() {
	jq -r "select(.kind == \"tick\" and .key_kind == \"$1\" and .command == $2) | .counts[\"page-faults\"]" "$T/record" |
		awk '{ n += $1 } END { print n + 0 }'
}

@test "threads with the names of fixed keys, or without a name, have rows of their own in all formats" {
	local name
	need_keys
	need_command jq
	start stat cpustat -O "$T/record" -o "$ROWS" -c page-faults -A command 0.2
	eventually test -s "$ROWS"
	"$WORK/change-keys" command "(idle)" "(kernel)" "(others)" 10 500
	"$WORK/change-keys" command "(idle)" "" "(none)" 10 500
	kill -INT "${PIDS[stat]}"
	finish stat
	no_message "$T/stat.err"
	for name in "(kernel)" "(others)" "(none)"; do
		[ "$(sum_of name "\"$name\"")" -eq 5000 ]
		[ "$(awk -v name="\\\\050${name#(}" '$2 == name { n += $4 } END { print n }' "$ROWS")" -eq 5000 ]
	done
	[ "$(sum_of name '""')" -eq 5000 ]
	[ "$(sum_of kernel null)" -lt 5000 ]
	[ "$(awk '$2 == "(empty)" && $3 == "tick" { n += $4 } END { print n }' "$ROWS")" -eq 5000 ]
	go -0 cpustat -I "$T/record"
	diff <(comparable <"$ROWS") <(comparable <<<"$output")
	go -0 cpustat -I "$T/record" --by=command
	[ "$(awk '$1 == "\\050kernel)" || $1 == "(empty)" { print $2 }' <<<"$output" | xargs)" = "5000 5000" ]
	go -0 cpustat -I "$T/record" --format=openmetrics
	grep -qx 'cpc_events_total{event="page-faults",command="(kernel)"} 5000' <<<"$output"
	grep -qx 'cpc_events_total{event="page-faults",command=""} 5000' <<<"$output"
	grep -q '^cpc_events_total{event="page-faults",kind="kernel"} ' <<<"$output"
	go -0 cpustat -I "$T/record" --format=csv
	csv_awk '$key_kind == "name" { n[$key] += $count }
		END { exit n["(kernel)"] != 5000 || n["(others)"] != 5000 || n[""] != 5000 }' <<<"$output"
	# The name is not the sum of the keys without a row.
	go -0 cpustat -I "$T/record" --keys=1 --by=command --format=json
	[ "$(jq -s 'map(select(.kind == "sum" and .key_kind == "others" and .command == null)) | length' <<<"$output")" -eq 1 ]
	go -0 cpustat -I "$T/record" --format=trace
	grep -q '"page-faults \\\\050kernel)"' <<<"$output"
	grep -q '"page-faults (kernel)"' <<<"$output"
}

@test "records: fixed keys of earlier versions; invalid keys are refused" {
	need_command jq
	tail -n +2 "$BATS_DIR/../fuzz/corpus/record/keys" >"$T/old"
	go -0 cpustat -I "$T/old" --format=json
	printf '%s\n' "$output" >"$T/new"
	[ "$(jq -r 'select(.key_kind == "kernel").service' "$T/new" | sort -u)" = null ]
	[ "$(grep -c '"key_kind":"kernel"' "$T/new")" -eq "$(grep -c '"(kernel)"' "$T/old")" ]
	run ! grep '"(kernel)"' "$T/new"
	go -0 cpustat -I "$T/new" --format=json
	diff "$T/new" - <<<"$output"
	diff <(cpustat -I "$T/old") <(cpustat -I "$T/new")
	sed '0,/"key_kind":"kernel"/s//"key_kind":"x"/' "$T/new" >"$T/bad"
	go -1 cpustat -I "$T/bad"
	[[ $stderr == "cpustat: $T/bad:"*": invalid 'key_kind'" ]]
	sed '0,/null,"key_kind":"kernel"/s//"x","key_kind":"kernel"/' "$T/new" >"$T/bad"
	go -1 cpustat -I "$T/bad"
	[[ $stderr == "cpustat: $T/bad:"*": invalid 'service': expected null for a fixed key" ]]
	sed '0,/null,"key_kind":"kernel"/s//null,"key_kind":"name"/' "$T/new" >"$T/bad"
	go -1 cpustat -I "$T/bad"
	[[ $stderr == "cpustat: $T/bad:"*": "*"'service'"* ]]
}

# Cgroups of version 2 cannot be renamed.
@test "a cgroup of version 1 that is renamed has its new name" {
	local root=/sys/fs/cgroup/memory name=renamed-$$
	need_keys
	[ -e $root/cgroup.procs ] || skip "the cgroups are of version 2"
	GROUP=$root/$name
	mkdir "$GROUP" "$GROUP"/{rest,a,b}
	start stat cpustat -o "$ROWS" --format=json -c page-faults -A cgroup 0.2
	eventually has_tick
	"$WORK/change-keys" cgroup "$GROUP"/{rest,a,b}/cgroup.procs 1 500
	eventually grep -q "\"/$name/b\"" "$ROWS"
	mv "$GROUP/a" "$GROUP/c"
	mv "$GROUP/b" "$GROUP/a"
	mv "$GROUP/c" "$GROUP/b"
	eventually has_samples_since "$(jq -r .ns <"$ROWS" | tail -n 1)" 2
	"$WORK/change-keys" cgroup "$GROUP"/{rest,a,b}/cgroup.procs 1 70
	kill -INT "${PIDS[stat]}"
	finish stat
	no_message "$T/stat.err"
	[ "$(jq -r "select(.cgroup == \"/$name/a\").counts[]" "$ROWS" | xargs)" = "500 70" ]
	[ "$(jq -r "select(.cgroup == \"/$name/b\").counts[]" "$ROWS" | xargs)" = "500 70" ]
}

# has_samples_since NS N: as many samples after that time.
has_samples_since() {
	[ "$(jq -r "select(.kind == \"tick\" and .ns > $1).ns" "$ROWS" | sort -u | wc -l)" -ge "$2" ]
}

@test "the keys of each interval add up to what the CPUs can count" {
	need_keys
	go -0 cpustat --format=csv -A user -c task-clock,cpu-clock 0.5 4
	# In no interval, however late it ends, have they more or less than the CPUs, but for a rounding.
	# The first one may begin a little before all of them are counted.
	csv_awk '
		function check() {
			most = (now - before) * 1e9 * ncpus
			bad += ns > most + 1000 || ns < most * (before ? 0.999 : 0.5) || same != ns
			before = now; ns = same = 0; n++
		}
		$kind != "tick" { next }
		$seconds != now { if (now) check(); now = $seconds; ncpus = $cpus }
		$event == "task-clock" { ns += $count }
		$event == "cpu-clock" { same += $count }
		END { check(); exit bad || n != 4 }' <<<"$output"
}

# count_names LAST: the page faults in rows that have the names 1 to LAST.
count_names() {
	awk -v last="$1" '$3 == "tick" && $2 ~ /^[0-9]+$/ && $2 <= last { n += $4 } END { print n + 0 }' "$ROWS"
}

@test "only the CPUs that we may use, or those of --cpus: known counts" {
	local first last options
	need_keys
	need_command taskset
	first=$(cpus | head -n1) last=$(cpus | tail -n1)
	[ "$first" != "$last" ] || skip "we may use one CPU only"
	left_out="cpustat: counting 1 of * online CPUs: the others are not in the affinity mask; --cpus=all counts them"
	for options in "" --cpus="$first" --cpus="$last" --cpus="$first,$last" --cpus=all; do
		rm -f "$ROWS"
		# shellcheck disable=SC2086 # none or one
		start stat taskset -c "$first" cpustat -o "$ROWS" --format=json -A command -c page-faults,task-clock $options 0.2
		eventually test -s "$ROWS"
		for cpu in $first $last; do
			taskset -c "$cpu" "$WORK/change-keys" names $((7000000 + cpu)) $((7000000 + cpu)) 1000
		done
		kill -INT "${PIDS[stat]}"
		finish stat
		case $options in
		"") want="1000 0" ;;
		"--cpus=$first") want="1000 0" ;;
		"--cpus=$last") want="0 1000" ;;
		*) want="1000 1000" ;;
		esac
		[ "$(for cpu in $first $last; do
			jq -s "[.[] | select(.kind == \"tick\" and .command == \"$((7000000 + cpu))\").counts[\"page-faults\"]] | add // 0" "$ROWS"
		done | xargs)" = "$want" ]
		# shellcheck disable=SC2053 # a pattern
		if [ -z "$options" ]; then
			[[ $(grep counting "$T/stat.err") == $left_out ]]
		else
			no_message "$T/stat.err"
		fi
	done
}

count_samples() {
	awk '$3 == "tick" && $1 != at { n++; at = $1 } END { print n + 0 }' "$ROWS"
}

has_samples() {
	[ "$(count_samples)" -ge "$1" ]
}

@test "more names than there are slots: those that are quiet make room" {
	need_keys
	start stat cpustat -o "$ROWS" -c page-faults -A command 0.2
	eventually test -s "$ROWS"
	for first in 1 5001 10001; do
		"$WORK/change-keys" names $first $((first + 4999)) 2
		eventually has_samples $(($(count_samples) + 5))
	done
	kill -INT "${PIDS[stat]}"
	finish stat
	no_message "$T/stat.err"
	[ "$(count_names 15000)" -eq 30000 ]
	run ! grep -q others "$ROWS"
}

@test "too many names at a time: their sum is in (others)" {
	need_keys
	start stat cpustat -o "$ROWS" -c page-faults -A command 2
	eventually test -s "$ROWS"
	"$WORK/change-keys" names 1 12000 2
	eventually grep -qx "cpustat: there are too many keys at a time: some are in (others)" "$T/stat.err"
	kill -INT "${PIDS[stat]}"
	finish stat
	[ "$(grep -c "too many keys" "$T/stat.err")" -eq 1 ]
	[ "$(count_names 12000)" -lt 24000 ]
	[ $(($(count_names 12000) + $(awk '$2 == "(others)" { n += $4 } END { print n }' "$ROWS"))) -ge 24000 ]
	grep -q '^[^#]*(others) .* # incomplete$' "$ROWS"
	awk '$3 == "tick" { n += $4 } $3 == "total" { exit n != $4 || /incomplete/ }' "$ROWS"
}

# The counts are in the second of two samples.
@test "--by: after that many samples, known counts of commands and cgroups, and shares of the total" {
	local by root=/sys/fs/cgroup name=by-$$
	need_keys
	[ ! -e $root/memory/cgroup.procs ] || root=$root/memory
	[ -e $root/cgroup.procs ] || skip "no cgroups are mounted"
	GROUP=$root/$name
	mkdir "$GROUP" "$GROUP/rest" "$GROUP/a" "$GROUP/b"
	for by in command cgroup; do
		start $by cpustat --by=$by -O "$T/$by.record" -o "$T/$by" -c page-faults,task-clock 3 2
	done
	for by in command cgroup; do
		eventually grep -q '"tick"' "$T/$by.record"
	done
	"$WORK/change-keys" names 1 20 100
	"$WORK/change-keys" cgroup "$GROUP"/{rest,a,b}/cgroup.procs 10 50
	for by in command cgroup; do
		finish $by
		[ "$status" -eq 0 ]
		no_message "$T/$by.err"
		[ "$(jq -r 'select(.kind == "tick").ns' "$T/$by.record" | sort -u | wc -l)" -eq 2 ]
		diff <(comparable <"$T/$by") <(cpustat -I "$T/$by.record" --by=$by | comparable)
		sort -sc -k2,2nr <(sed '1d; $d' "$T/$by")
		awk 'NR > 1 { row[NR] = $2; share[NR] = $4 }
			NR > 1 && $1 != "total" { n += $2; clock += $3 }
			$1 == "total" { bad = n != $2 || clock != $3 }
			END { for (i in row) { d = share[i] - 100 * row[i] / row[NR]; bad += d > 0.06 || d < -0.06 }
				exit bad }' "$T/$by"
	done
	[ "$(awk '$1 ~ /^[0-9]+$/ { print $2 }' "$T/command" | uniq -c | xargs)" = "20 100" ]
	[ "$(awk -v name="/$name/" 'index($1, name) == 1 && $1 ~ /[ab]$/ { print $2 }' "$T/cgroup" | xargs)" = "500 500" ]
}

CALLS=syscalls:sys_enter_getpriority

@test "tracepoints and ratios by command, known counts" {
	need_keys
	need_tracepoints "${CALLS/://}"
	need_command jq
	start stat "${TRACEFS[@]}" "$CPC_BUILD/cpustat" -o "$ROWS" --format=json -A command -c "$CALLS,faults-per-ms" 0.2
	eventually has_tick
	for calls in 303 14; do
		"$WORK/touch-pages" -s $calls 100
	done
	kill -INT "${PIDS[stat]}"
	finish stat
	no_message "$T/stat.err"
	[ "$(jq 'select(.kind == "tick" and .command == "touch-pages").counts["'$CALLS'"]' "$ROWS" | awk '{ n += $1 } END { print n }')" -eq 317 ]
	jq -e -s 'map(select(.kind == "tick" and .counts["task-clock"] > 0)) | length > 3 and all(
		(.ratios["faults-per-ms"] - .counts["page-faults"] * 1e6 / .counts["task-clock"]) | fabs < 0.001)' "$ROWS"
}

has_tick() {
	grep -q '"tick"' "$ROWS"
}

# perf(1) counts in cgroups of version 2, or of perf_event; the keys may be in another hierarchy.
@test "by cgroup: the counts of perf stat --for-each-cgroup, and known ones" {
	local mine=/sys/fs/cgroup other=/sys/fs/cgroup group
	need_keys
	need_perf
	need_tracepoints "${CALLS/://}"
	[ ! -e $mine/memory/cgroup.procs ] || mine=$mine/memory
	for group in unified perf_event; do
		[ ! -e /sys/fs/cgroup/$group/cgroup.procs ] || other=/sys/fs/cgroup/$group
	done
	[ -e $mine/cgroup.procs ] && [ -e $other/cgroup.procs ] || skip "no cgroups are mounted"
	GROUP=$mine/perf-$$
	OTHER=$other/perf-$$
	mkdir -p "$GROUP"/{rest,a,b} "$OTHER"/{rest,a,b}
	start stat "${TRACEFS[@]}" "$CPC_BUILD/cpustat" -o "$ROWS" --format=json -A cgroup -c "$CALLS" 0.2
	eventually has_tick
	# shellcheck disable=SC2016 # for the inner shell
	go "${TRACEFS[@]}" perf stat -x, -o "$T/perf" -a -e "$CALLS" --for-each-cgroup "perf-$$/a,perf-$$/b" \
		bash -c 'for i in {1..20}; do
			for group in a b; do
				(echo $BASHPID >"$0/$group/cgroup.procs"; echo $BASHPID >"$1/$group/cgroup.procs"
					exec "$2" -s $([ $group = a ] && echo 10 || echo $i) 5)
			done
		done' "$GROUP" "$OTHER" "$WORK/touch-pages"
	# Another program may have mounted the hierarchy of perf_event elsewhere. perf of Linux 7 fails then.
	[[ $stderr != *"event is not supported"* ]] || skip "perf counts nothing in these cgroups"
	[ "$status" -eq 0 ]
	kill -INT "${PIDS[stat]}"
	finish stat
	# 20 times 10, and 1 to 20
	[ "$(for group in a b; do
		jq 'select(.kind == "tick" and .cgroup == "/perf-'$$/$group'").counts[]' "$ROWS" | awk '{ n += $1 } END { print n }'
	done | xargs)" = "200 210" ]
	! grep -q "<not supported>" "$T/perf" || skip "perf counts nothing in these cgroups"
	[ "$(awk -F, -v event="$CALLS" '$3 == event { print $1 }' "$T/perf" | xargs)" = "200 210" ]
}

@test "which cgroups it divides by; a container of bubblewrap" {
	local box root=/sys/fs/cgroup version="version 2" id=0123456789ab
	need_keys
	need_command jq
	[ ! -e $root/memory/cgroup.procs ] || version=memory root=$root/memory
	[ -e $root/cgroup.procs ] || skip "no cgroups are mounted"
	need_command bwrap
	box=(bwrap --unshare-all --dev-bind / / --proc /proc)
	"${box[@]}" true || skip "no namespaces can be made"
	GROUP=$root/libpod-$id$id$id$id${id}0123.scope
	mkdir -p "$GROUP"/{rest,a,b}
	start stat cpustat -D -o "$ROWS" --format=json -A container -c page-faults 0.2
	eventually has_tick
	# shellcheck disable=SC2016 # for the inner shell
	sh -c 'echo $$ >"$0/a/cgroup.procs"; exec "$@"' "$GROUP" "${box[@]}" "$WORK/change-keys" names 1 1 10000
	kill -INT "${PIDS[stat]}"
	finish stat
	grep -qx "cpustat: the cgroups are those of $version" "$T/stat.err"
	[ "$(jq 'select(.container == "libpod-'$id'").counts[]' "$ROWS" | awk '{ n += $1 } END { print n - n % 1000 }')" -eq 10000 ]
	[ "$(jq -r 'select(.container == "libpod-'$id'").container_id' "$ROWS" | sort -u)" = $id$id$id$id${id}0123 ]
}

@test "several specs take turns" {
	need_keys
	go -0 cpustat -A command -c page-faults -c context-switches --format=json 0.2 4
	jq -s -e '[.[] | select(.kind == "total").counts | add] as $totals |
		[range(2) as $set | map(select(.kind == "tick" and .set == $set).counts[]) | add] == $totals and
		($totals | length) == 2 and $totals[1] > 0' <<<"$output"
}

@test "what cannot be divided is refused with the reason" {
	local options
	while read -r options; do
		# shellcheck disable=SC2086 # several words
		go -2 cpustat $options
		[ "${#stderr_lines[@]}" -eq 1 ]
	done <<-'END'
		-A service -m 1 1
		-A service -s 1 1
		-A service --by=user 1 1
		-A user --by=cpu 1 1
		-A service --depth=2 1 1
		-A cgroup --depth=0 1 1
		-A slice 1 1
		-A core --keys=3 1 1
		--keys=3 1 1
		-A service --keys=0 1 1
		--by=lwp 1 1
		--by=service --cpus=0 -I /dev/null
		--depth=2 1 1
	END
	need_keys
	if [ -e /sys/bus/event_source/devices/msr ]; then
		go -1 cpustat -A service -c msr/tsc/ 1 1
		[[ $stderr == *": 'msr/tsc/' cannot be divided, unlike software events, tracepoints, breakpoints and events of the core PMU" ]]
	fi
}

@test "an ordinary user is refused with the capabilities that are missing" {
	need_root
	need_command setpriv
	need_reachable "$CPC_BUILD/cpustat"
	go -1 setpriv --reuid=65534 --regid=65534 --clear-groups cpustat -A service -c page-faults 1 1
	[[ $stderr == *"CAP_BPF and CAP_PERFMON"* ]]
}

@test "without a hierarchy of cgroups, only users and commands are counted" {
	need_keys
	# shellcheck disable=SC2016 # for the inner shell
	bare=(unshare -m sh -c 'umount -R /sys/fs/cgroup 2>/dev/null || :; exec "$@"' sh)
	for unit in cgroup service container; do
		mistake 1 "the hierarchy of cgroups: it is not mounted; run mount -t cgroup2 cgroup2 /sys/fs/cgroup" \
			"${bare[@]}" "$CPC_BUILD/cpustat" -A "$unit" -c page-faults 0.1 1
		mistake 1 "the hierarchy of cgroups: it is not mounted" \
			"${bare[@]}" "$CPC_BUILD/cputrack" --by="$unit" -c page-faults true
	done
	go -0 "${bare[@]}" "$CPC_BUILD/cpustat" -A user -c page-faults 0.1 1
	go -0 "${bare[@]}" "$CPC_BUILD/cpustat" -A command -c page-faults 0.1 1
}
