#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Exact page faults of each LWP and image in the scenarios of tests/work/exact.rows.

# shellcheck disable=SC2030,SC2031,SC2153,SC2154 # run sets status, output, stderr

load helpers

setup() {
	common_setup
	TABLE=$BATS_TEST_DIRNAME/../work/exact
	mapfile -t SCENARIOS < <(awk '!/^#/ { print $1 }' "$TABLE.rows")
	[ ${#SCENARIOS[@]} -gt 10 ]
	# For cases that repeat others in another way, and sanitized programs, which take several times as long.
	SOME=(vfork exit-group leader-first thread-exec exec-fails nested)
	if grep -q __asan_init "$CPC_BUILD/cputrack"; then
		SCENARIOS=("${SOME[@]}")
	fi
	PROGRAMS=("$WORK/exact")
	if [ -x "$WORK/exact32" ]; then
		if "$WORK/exact32" plain; then
			PROGRAMS+=("$WORK/exact32")
		else
			echo "# skipped: exact32: this kernel runs no 32-bit programs" >&3
		fi
	fi
	SPEC=page-faults
	SECOND=
	if "$WORK/probe" kernel; then
		SPEC=page-faults,page-faults,nouser1,sys1
		SECOND=kernel
	fi
}

# exactly SCENARIO [-OPTIONS [VARIABLE=VALUE...]]: the table has exactly the expected rows.
exactly() {
	local variable set=()
	for variable in "${@:3}" "${SECOND:+second=$SECOND}"; do
		set+=(-v "${variable:-second=}")
	done
	awk -f "$TABLE.awk" -v scenario="$1" -v options="${2-}" "${set[@]}" "$TABLE.rows" "$ROWS" &&
		check_sums
}

# Runs a command; its output is shown only when it fails.
quietly() {
	"$@" >"$T/log" 2>&1 || { cat "$T/log" && false; }
}

@test "from the start to the end, with ticks and without, 64 bits and 32" {
	for scenario in "${SCENARIOS[@]}"; do
		quietly track -0 -fev -T 0.001 -c "$SPEC" "$WORK/exact" "$scenario"
		exactly "$scenario" -fe
		for program in "${PROGRAMS[@]}"; do
			quietly track -0 -fev -T 0 -c "$SPEC" "$program" "$scenario"
			exactly "$scenario" -fe
		done
	done
}

@test "without -f, without -e, without both" {
	for scenario in "${SOME[@]}"; do
		for options in -f -e ''; do
			quietly track -0 -v ${options:+"$options"} -T 0 -c "$SPEC" "$WORK/exact" "$scenario"
			exactly "$scenario" "$options"
		done
	done
}

@test "attached: from there on" {
	need attach
	for scenario in "${SCENARIOS[@]}"; do
		rm -f "$ROWS"
		start work "$WORK/exact" "$scenario" 1000 wait
		eventually said work ready
		start ct cputrack -fev -T 0 -c "$SPEC" -o "$ROWS" -p "${PIDS[work]}"
		eventually grep -q init_lwp "$ROWS"
		hang_up work
		quietly finish work
		[ "$status" -eq 0 ]
		quietly finish ct
		[ "$status" -eq 0 ]
		exactly "$scenario" -fe attached=1
	done
}

@test "detached: up to there" {
	# The second half of the workload runs after the detach.
	start ct cputrack -T 1 -N 1 -c "$SPEC" -o "$ROWS" "$WORK/exact" halves
	eventually grep -q detach "$ROWS"
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	[ "$(sum_of tick)" -eq 9 ]
	[ "$(sum_of detach)" -eq 9 ]
	[ "$(count_of exit)" -eq 0 ]
}

# A scenario that starts and ends between two turns has no count.
@test "counts of sets that take turns do not exceed the real ones" {
	all=0
	for scenario in "${SCENARIOS[@]}"; do
		quietly track -0 -fe -T 0.001 -c page-faults -c page-faults,minor-faults \
			"$WORK/exact" "$scenario"
		got=$(awk -v scenario="$scenario" '
			NR == FNR && $1 == scenario {
				for (i = 2; i <= NF; i++) {
					split($i, w, /[:=+]/)
					if (w[2] != "lwp_exit") want += 7 * w[3] + w[4]
				}
			}
			NR != FNR && $4 ~ /^ex/ && $5 ~ /^[0-9]+$/ { got += $5 }
			END { print got + 0; exit got > want }
			' "$TABLE.rows" "$ROWS")
		all=$((all + got))
	done
	[ "$all" -gt 0 ]
}

# Short programs, too, are counted by the set whose turn it is: together the sets count all faults
# but those between two turns.
@test "sets that take turns share the counts of short programs" {
	local n=20000 programs=30
	track -0 -fe -T 0.05 --total -c page-faults -c minor-faults \
		sh -c "for i in \$(seq $programs | tr '\n' ' '); do '$WORK/touch-pages' $n; done; true"
	awk -v least=$((n * programs / 2)) -v most=$(((n + 1000) * programs)) '
		# An LWP that has a second row at the same time begins another sample.
		$4 == "tick" && ($1 != last || $2 in seen) { split("", seen); last = $1; spec = $NF }
		$4 == "tick" { seen[$2]; if ($NF != spec) { print "two sets in a sample at", $1; bad = 1 } }
		$4 == "total" { n++; sum += $5; bad = bad || $5 == 0 }
		END { print n, sum; exit bad || n != 2 || sum < least || sum > most }' "$ROWS"
}

# The command begins with the first; the others have no turn before it ends.
@test "sets that take turns: counts of a set without a turn are unknown" {
	track -0 -T 600 -c page-faults -c minor-faults -c dummy true
	[ "$(awk '$3 == "exit" { print ($4 ~ /^[0-9]+$/) $5 $6 }' "$ROWS")" = $'1#page-faults\n0#minor-faults\n0#dummy' ]
}

@test "programs that are not readable, or set-id" {
	need_root
	need_command setpriv
	chmod 711 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/test "$T"
	need_reachable "$T"
	for mode in 711 4755 2755 6711; do
		cp "$WORK/exact" "$T/copy"
		chmod $mode "$T/copy"
		[ $mode = 711 ] || SOME=(vfork leader-first thread-exec exec3)
		for scenario in "${SOME[@]}"; do
			quietly track -0 -fev -T 0 -c "$SPEC" setpriv --reuid 65534 --regid 65534 \
				--clear-groups "$T/copy" "$scenario"
			exactly "$scenario" -fe skip=1
		done
	done
}

# The totals of all images together, counter $1.
total() {
	echo $(($(sum_of exit '' "$1") + $(sum_of exec '' "$1")))
}

@test "perf stat counts the same, also in kernel mode and for the exec of the command" {
	need_perf
	still
	first=
	for scenario in "${SOME[@]}" fork exec3; do
		quietly track -0 -fe -T 0 -c "$SPEC" "$WORK/exact" "$scenario"
		"${STILL[@]}" perf stat -x, -e "page-faults:u${SECOND:+,page-faults:k}" -o "$T/perf" \
			"$WORK/exact" "$scenario"
		mapfile -t theirs < <(awk -F, '!/^#/ && NF > 2 { print $1 }' "$T/perf")
		echo "$scenario: cputrack $(total 0) $(total 1), perf ${theirs[*]}"
		[ "$(total 0)" -eq "${theirs[0]}" ]
		# The number depends on the address of the stack, which is fixed without randomization.
		if [ -n "$SECOND" ] && [ ${#STILL[@]} -gt 0 ]; then
			: "${first:=$((theirs[1] - $(total 1)))}"
			[ $((theirs[1] - $(total 1))) -eq "$first" ]
		fi
	done
}
