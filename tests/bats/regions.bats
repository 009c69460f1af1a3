#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Regions that a program counts itself in (cpc_region.h).

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need_unsanitized "a sanitized library has page faults of its own"
	export CPC_REGIONS=table:$T/table
}

# regions MODE [N]: its exit status must be $1; its rows are in $T/table.
regions() {
	rm -f "$T/table"
	go -"$1" "$WORK/regions" "${@:2}"
	[ -z "$stderr" ]
}

# row REGION EVENT [LWP]: entries, counted and count of those rows.
row() {
	awk -v region="$1" -v event="$2" -v lwp="${3-}" '
		NR > 2 && $5 == event && $0 ~ (" " region "(  #.*)?$") && (lwp == "" || $1 == lwp) {
			print $2, $3, $4 }' "$T/table"
}

@test "nested regions with different events count each its own, exactly" {
	regions 0 nested 20
	[ "$(row touch-111 page-faults)" = "20 20 2220" ]
	[ "$(row touch-11 page-faults)" = "20 20 220" ]
	[ "$(row touch-11 minor-faults)" = "20 20 220" ]
	[ "$(row touch-1 page-faults)" = "20 20 20" ]
	[ "$(wc -l <"$T/table")" -eq 7 ]
	[[ $(head -n1 "$T/table") =~ ^"# regions of process "[0-9]+$ ]]
}

@test "a recursive region is counted once, however deep it is" {
	regions 0 recurse 20
	[ "$(row recursive page-faults)" = "20 20 20" ]
}

@test "each LWP has its own totals, and there is their sum" {
	regions 0 threads 5
	[ "$(row touch-111 page-faults | sort | uniq -c | tr -s ' ')" = " 1 40 40 4440
 8 5 5 555" ]
	[ "$(row touch-111 page-faults all)" = "40 40 4440" ]
	# Threads that end in a region: it stays open, and is not counted.
	[ "$(row open page-faults all)" = "8 0 -" ]
	[ "$(grep -c '# still open$' "$T/table")" -eq 9 ]
}

@test "a child made by fork counts its own, a region of the parent is the parent's" {
	regions 0 fork 3
	[ "$(grep -c '^# regions' "$T/table")" -eq 2 ]
	[ "$(row touch-11 page-faults)" = "3 3 33" ]
	[ "$(row touch-1 page-faults)" = "3 3 3" ]
	[ "$(row touch-parent page-faults | cut -d' ' -f1,2)" = "1 1" ]
	[ "$(awk '/^#/ { pid = $NF } /touch-1$/ { print pid == $1 }' "$T/table" | sort -u)" = 1 ]
}

@test "a jump out of a region leaves it, uncounted" {
	regions 0 jump 4
	[ "$(row outer page-faults)" = "4 4 28" ]
	[ "$(row jumped page-faults)" = "4 0 -" ]
}

@test "exit tells what is still open; _exit and exec tell nothing" {
	regions 3 exit 2
	[ "$(row touch-111 page-faults)" = "2 2 222" ]
	[ "$(row left page-faults)" = "1 0 -" ]
	regions 4 _exit 2
	[ ! -e "$T/table" ]
	regions 0 exec 2
	[ ! -e "$T/table" ]
}

@test "a region that cannot be counted says why, and the others count" {
	regions 0 refused 4
	[ "$(row touch-3 page-faults)" = "4 4 12" ]
	grep -q "  4          0              - page-fautls          no such event  # not counted: unknown event 'page-fautls' (did you mean 'page-faults'?)$" "$T/table"
	# Only root may count kernel mode everywhere; then the region says that.
	if "$WORK/probe" kernel; then
		[ "$(row 'both modes' page-faults | cut -d' ' -f1,2)" = "4 4" ]
	else
		grep -q 'both modes  # not counted: ' "$T/table"
	fi
}

@test "too many events for one set are counted one region after the other" {
	need breakpoint
	[ "$(uname -m)" = x86_64 ] || skip "other CPUs have other numbers of breakpoints"
	regions 0 limited 3
	[ "$(row first breakpoint/addr=call_1/)" = "3 3 6" ]
	[ "$(row first breakpoint/addr=call_2/)" = "3 3 3" ]
	[ "$(row second breakpoint/addr=call_3/)" = "3 3 3" ]
	[ "$(row 'too many' breakpoint/addr=call_3/)" = "3 0 -" ]
	grep -q 'too many  # not counted: ' "$T/table"
}

@test "JSON: a record for each region and LWP" {
	need_command python3
	export CPC_REGIONS=json
	go -0 "$WORK/regions" threads 2
	printf '%s\n' "$stderr" >"$T/json"
	python3 -c '
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert len(rows) == 8 * 4, len(rows)
assert all(r["counts"]["page-faults"] == 222 and r["counted"] == 2
           for r in rows if r["region"] == "touch-111")
assert all(r["counts"]["page-faults"] is None and r["open"] == 1
           for r in rows if r["region"] == "open")
assert len({r["lwp"] for r in rows}) == 8' "$T/json"
}

@test "off: nothing is counted, and nothing is opened" {
	need_command strace
	CPC_REGIONS=off go -0 strace -f -o "$T/trace" -e trace=perf_event_open,openat "$WORK/regions" threads 5
	[ -z "$stderr" ]
	run -1 grep -E 'perf_event_open|/proc/sys/kernel' "$T/trace"
}

@test "what the environment says must be one of the words; a file must be writable" {
	CPC_REGIONS=frob go -0 "$WORK/regions" nested
	[ "$stderr" = "cpc_region: invalid CPC_REGIONS 'frob': expected off, table, json, table:FILE or json:FILE" ]
	CPC_REGIONS=json:$T/no/file go -0 "$WORK/regions" nested
	[ "${stderr_lines[0]}" = "cpc_region: cannot write '$T/no/file': No such file or directory" ]
	[[ ${stderr_lines[1]} == '{"region":"touch-111",'* ]]
	CPC_REGIONS=table:/dev/full go -0 "$WORK/regions" nested
	[ "$stderr" = "cpc_region: cannot write '/dev/full': No space left on device" ]
}

@test "C++: exceptions leave regions; files of a program share their totals" {
	need_command g++
	cat >"$T/a.cc" <<'END'
#include <cpc_region.h>
void other();
int main()
{
	for (int i = 0; i < 3; i++) {
		try {
			CPC_REGION("thrown", "page-faults") {
				CPC_REGION_SCOPE("same", "page-faults");
				throw i;
			}
		} catch (int) {
		}
		other();
	}
}
END
	cat >"$T/b.cc" <<'END'
#include <cpc_region.h>
void other();
void other()
{
	CPC_REGION("same", "page-faults") {
	}
}
END
	local libs
	mapfile -t libs < <(find "$CPC_BUILD" -maxdepth 1 -name 'libcpc.[as]*' -o -maxdepth 1 -name 'libpctx.[as]*' | sort)
	g++ -std=c++11 -Wall -Wextra -Werror -pedantic -I "$BATS_TEST_DIRNAME/../../include" -o "$T/regions" \
		"$T/a.cc" "$T/b.cc" "${libs[@]}" -lpfm -lbsd -pthread
	go -0 "$T/regions"
	[ "$(row thrown page-faults | cut -d' ' -f1,2)" = "3 3" ]
	[ "$(row same page-faults | cut -d' ' -f1,2)" = "6 6" ]
}
