#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Debian packages with static libraries, built from the source tarball that tests/packages made.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers
load packages

setup() {
	T=$BATS_TEST_TMPDIR
	find_packages
}

@test "static packages: the licences of the libraries in the programs, and of no others" {
	tar -xf "$PACKAGES/cpc-$VERSION.tar.gz" -C "$T"
	cd "$T/cpc-$VERSION"
	go -0 cmake --preset package -DBUILD_SHARED_LIBS=OFF
	go -0 cmake --build --preset package -j 2
	BUILT=$PWD/build-package DEBS=(build-package/*.deb)
	go -0 dpkg-deb -f "$(deb cpc-tools)" Depends
	[[ $output != *libcpc* && $output != *libjson-c* && $output != *ncurses* ]]
	for program in cputrack cpustat; do
		go -0 readelf -dW "$BUILT/$program"
		[[ $output != *libpfm* && $output != *libbsd* ]]
	done
	dpkg-deb -x "$(deb cpc-tools)" "$T/cpc-tools"
	ninja -C "$BUILT" -t commands cputrack cpustat | grep -oE ' /[^ ]*/lib[^ /]*\.a' |
		sed -E 's,.*/(.*)\.a,\1,; s,^libtinfo$,libncurses,' | sort -u >"$T/archives"
	[ "$(wc -l <"$T/archives")" -ge 3 ]
	while read -r library; do
		grep -q "^The programs contain code of $library" "$T/cpc-tools/usr/share/doc/cpc-tools/copyright" ||
			{ echo "the licence of $library is missing"; false; }
	done <"$T/archives"
	! command -v lintian >/dev/null || go -0 lintian --allow-root --fail-on warning "${DEBS[@]}"
}
