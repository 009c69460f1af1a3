#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Event specs by a table, tests/specs/specs.txt: their encoding, and the errors of bad ones.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

@test "every spec of the table means, and every bad one is refused, as it says" {
	need kernel cpu
	# Without tracefs the rows of tracepoints are skipped.
	in_tracefs true 2>/dev/null || TRACEFS=()
	# No definitions of the user, only those of the table.
	go -0 "${TRACEFS[@]}" env -u CPC_EVENTS XDG_CONFIG_HOME="$T" PATH="$WORK:$PATH" \
		"$BATS_TEST_DIRNAME/../specs/run"
	sed -n 's/^skipped: /# &/p' <<<"$output" >&3
	[ "$(sed -n 's/ rows, 0 failed.*//p' <<<"$output")" -ge 150 ]
}
