#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# The source tarball and the Debian packages, as tests/packages made them.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers
load packages

setup() {
	T=$BATS_TEST_TMPDIR
	find_packages
}

@test "lintian finds no errors" {
	need_command lintian
	go lintian --allow-root --fail-on error --no-tag-display-limit "${DEBS[@]}"
	[ "$status" = 0 ]
	[[ $output != *E:* ]]
}

@test "a package's texts: description, licences of its parts, changes" {
	tools=$(deb cpc-tools)
	[ "$(dpkg-deb -f "$tools" Conflicts)" = cpustat ]
	[[ $(dpkg-deb -f "$(deb python3-cpc)" Depends) =~ ^python3,\ .*libpfm4 ]]
	[[ $(dpkg-deb -f "$tools" Depends) =~ ^libc6\ \(\>=\ 2\.[0-9]+\)$ ]]
	[ "$(dpkg-deb -f "$(deb libcpc-dev)" Depends)" = "libc6-dev | libc-dev, libpfm4-dev, libbsd-dev" ]
	for deb in "${DEBS[@]}"; do
		name=$(dpkg-deb -f "$deb" Package)
		dpkg-deb -x "$deb" "$T/$name"
		doc=$T/$name/usr/share/doc/$name
		[ "$(wc -l < <(dpkg-deb -f "$deb" Description))" -ge 3 ]
		grep -q '^BSD 2-Clause License' "$doc/copyright"
		[ "$(ls "$T/$name/usr/share/doc")" = "$name" ]
		[[ $(zcat "$doc/changelog.gz") == *"## $VERSION - "* ]]
		[[ $(zcat "$doc/changelog.Debian.gz") == *"($VERSION-1) "* ]]
	done
	# Foreign archives that the programs are linked with.
	ninja -C "$BUILT" -t commands cputrack cpustat | grep -oE ' /[^ ]*/lib[^ /]*\.a' |
		sed -E 's,.*/(.*)\.a,\1,; s,^libtinfo$,libncurses,' | sort -u >"$T/archives"
	[ "$(wc -l <"$T/archives")" -ge 3 ]
	while read -r library; do
		grep -q "^The programs contain code of $library" "$T/cpc-tools/usr/share/doc/cpc-tools/copyright" ||
			{ echo "the licence of $library is missing"; false; }
	done <"$T/archives"
}

@test "the tarball has the files that git lists, in a folder of its name" {
	tar -tzf "$PACKAGES/cpc-$VERSION.tar.gz" >"$T/names"
	[ "$(grep -cv "^cpc-$VERSION/" "$T/names")" = 0 ]
	cd "$BATS_TEST_DIRNAME/../.."
	diff <(sed "s,^cpc-$VERSION/,," "$T/names") \
		<(git -c safe.directory='*' ls-files | LC_ALL=C sort)
}
