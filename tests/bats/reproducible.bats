#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The Debian packages, which tests/packages made twice.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers
load packages

setup() {
	find_packages
	[ -d "$PACKAGES/umask077" ] || "$BATS_TEST_DIRNAME/../packages" "$PACKAGES" again
}

# The contents of a package, with modes, owners and times.
contents() {
	dpkg-deb -c "$1"
	dpkg-deb --ctrl-tarfile "$1" | tar -tv
}

@test "two builds, in other folders and environments, are the same bytes" {
	there=$(echo "$PACKAGES"/else/where/cpc-*/build-package)
	[ "$there" != "$BUILT" ]
	for file in cputrack cpustat libcpc.so libpctx.so libcpc.a libpctx.a python/_cpc.so; do
		cmp "$BUILT/$file" "$there/$file"
	done
	[ ${#DEBS[@]} = 5 ]
	for deb in "${DEBS[@]}"; do
		cmp "$deb" "$there/${deb##*/}"
		# The umask does not change the modes of files.
		diff <(contents "$deb") <(contents "$PACKAGES/umask077/${deb##*/}")
	done
}
