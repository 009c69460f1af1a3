#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# tests/skipped, by which scripts/check finds skips that are not in the list, and tests/failed, by
# which it repeats what failed.

# shellcheck disable=SC2154 # run sets status, output

bats_require_minimum_version 1.5.0

setup() {
	SKIPPED=$BATS_TEST_DIRNAME/../skipped
	FAILED=$BATS_TEST_DIRNAME/../failed
	LOG=$BATS_TEST_TMPDIR/log
	LIST=$BATS_TEST_TMPDIR/list
	cat >"$LOG" <<-'EOF'
		1/3 Test: unit/test_a
		skipped: no counters here: ENOENT
		[  SKIPPED ] counters
		2/3 Test: bats/b
		ok 1 works
		ok 2 counts # here # skip there is one CPU
		ok 3 counts more # skip there is one CPU
		# skipped: 3 rows
		3/3 Test: bats/c
		ok 1 a case that is not skipped: # of CPUs
	EOF
	printf '%s\n' '# a comment' '' 'unit/test_a -- no counters -- vm/unit' \
		'(bats|asan)/b -- one CPU|[0-9]+ rows -- vm/cpus' >"$LIST"
}

@test "skips that are known: each reason once, and where the same is tested" {
	run -0 "$SKIPPED" "$LOG" "$LIST"
	[ "$output" = "skipped; instead: vm/unit
    unit/test_a: no counters here: ENOENT
skipped; instead: vm/cpus
    bats/b: there is one CPU
    bats/b: 3 rows" ]
}

@test "a skip that is not known, by its reason or its test, is an error" {
	for known in 'unit/test_a -- no breakpoints -- vm/unit' 'test_a -- no counters -- vm/unit'; do
		sed -i "s,.*/unit$,$known," "$LIST"
		run -1 "$SKIPPED" "$LOG" "$LIST"
		[[ $output == *"skipped, and not in $LIST:
    unit/test_a: no counters here: ENOENT" ]]
	done
}

@test "an empty log, no list, and a bad list are errors" {
	run -1 "$SKIPPED" /dev/null "$LIST"
	run -1 "$SKIPPED" "$LOG" "$LIST.not"
	echo 'unit/test_a -- no counters' >>"$LIST"
	run -1 "$SKIPPED" "$LOG" "$LIST"
	[[ $output == *"what is this: unit/test_a -- no counters"* ]]
}

@test "of tests that failed: what they printed from the first failure on, without successes" {
	cat >"$LOG" <<-'EOF'
		1/4 Test: bats/a
		Command: "bats"
		Output:
		----------------------------------------------------------
		1..3
		ok 1 works
		not ok 2 counts
		# 3 != 4
		ok 3 works
		<end of output>
		Test time =   0.04 sec
		----------------------------------------------------------
		Test Failed.
		2/4 Test: unit/b
		Output:
		not ok, but it passed
		Test Passed.
		3/4 Test: vm/c
		Output:
		ok   one
		FAIL two: [ 1 = 2 ]
		     stdout: 1
		Test Failed.
		4/4 Test: d
		Output:
	EOF
	seq 40 >>"$LOG"
	echo "Test Failed." >>"$LOG"
	run -0 "$FAILED" "$LOG"
	[ "$output" = "failed: bats/a
    not ok 2 counts
    # 3 != 4
failed: vm/c
    FAIL two: [ 1 = 2 ]
         stdout: 1
failed: d
$(seq 11 40 | sed 's/^/    /')" ]
}
