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

# packaging/finish.cmake.in explains each override.
# bats test_tags=all
@test "lintian finds neither errors nor warnings" {
	need_command lintian
	go -0 lintian --allow-root --fail-on warning --no-tag-display-limit "${DEBS[@]}"
	[[ $output != *[EW]:* ]]
}

@test "no package has an invented address" {
	for deb in "${DEBS[@]}"; do
		[ "$(dpkg-deb -f "$deb" Maintainer)" = "The cpc authors" ]
		[ "$(dpkg-deb -f "$deb" Homepage)" = "" ]
		dpkg-deb -x "$deb" "$T/all"
	done
	run zgrep -lE 'example\.(org|com|net)|\.invalid' "$T"/all/usr/share/doc/*/{copyright,changelog*}
	[ "$status" = 1 ]
}

@test "the programs use the libraries of Debian's packages, and those of this project's" {
	go -0 dpkg-deb -f "$(deb cpc-tools)" Depends
	[[ $output == "libcpc${VERSION%.*} (= $VERSION-1), "* ]]
	for package in libbsd0 libc6 libjson-c5 libncurses6; do
		[[ ,\ $output == *", $package ("* ]] || { echo "$package is missing: $output"; false; }
	done
	[[ $output == *", libdw1"* ]] # of ovfprof; libdw1t64 in Debian 13
	[[ $output != *python3* ]]
	[[ $(dpkg-deb -f "$(deb libcpc"${VERSION%.*}")" Depends) == *"libpfm4 ("* ]]
	go -0 dpkg-deb -f "$(deb cpcplot)" Depends Architecture
	[ "$output" = "Depends: python3:any, gnuplot-nox | gnuplot
Architecture: all" ]
	for deb in "${DEBS[@]}"; do
		dpkg-deb -x "$deb" "$T/all"
	done
	lib=$(echo "$T"/all/usr/lib/*-linux-gnu)
	for file in "$T"/all/usr/bin/{cputrack,cpustat,ovfprof} "$lib/cpc/ovfprof-preload.so" \
		"$lib"/lib{cpc,pctx}.so."${VERSION%.*}"; do
		go -0 readelf -dW "$file"
		[[ $output != *RPATH* && $output != *RUNPATH* ]]
		[[ $output == *"[libbsd.so.0]"* ]]
	done
	# What dpkg and other packages need to know about the libraries.
	dpkg-deb -e "$(deb libcpc"${VERSION%.*}")" "$T/control"
	[ "$(sort "$T/control/shlibs")" = "libcpc ${VERSION%.*} libcpc${VERSION%.*} (>= $VERSION)
libpctx ${VERSION%.*} libcpc${VERSION%.*} (>= $VERSION)" ]
	[ "$(cat "$T/control/triggers")" = "activate-noawait ldconfig" ]
	for name in cpc pctx; do
		go -0 readelf -dW "$lib/lib$name.so.${VERSION%.*}"
		[[ $output == *"Library soname: [lib$name.so.${VERSION%.*}]"* ]]
		[ "$(readlink "$lib/lib$name.so")" = "lib$name.so.${VERSION%.*}" ]
	done
}

@test "a package's texts: description, licences of its parts, changes" {
	tools=$(deb cpc-tools)
	[ "$(dpkg-deb -f "$tools" Conflicts)" = cpustat ]
	[[ $(dpkg-deb -c "$tools") == *"drwxr-xr-x root/root "*" ./etc/cpc/events.d/"* ]]
	[[ $(dpkg-deb -f "$(deb python3-cpc)" Depends) =~ ^python3,\ .*libpfm4 ]]
	[ "$(dpkg-deb -f "$(deb libcpc-dev)" Depends)" = \
		"libcpc${VERSION%.*} (= $VERSION-1), libc6-dev | libc-dev, libpfm4-dev, libbsd-dev" ]
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
	# The programs contain no foreign code, so these are all licences.
	go -1 grep -rl "The programs contain code of" "$T"/*/usr/share/doc/*/copyright
	go -1 grep -E ' /[^ ]*/lib[^ /]*\.a' <<<"$(ninja -C "$BUILT" -t commands cputrack cpustat)"
}

@test "the tarball has the files that git lists, in a folder of its name" {
	tar -tzf "$PACKAGES/cpc-$VERSION.tar.gz" >"$T/names"
	[ "$(grep -cv "^cpc-$VERSION/" "$T/names")" = 0 ]
	cd "$BATS_TEST_DIRNAME/../.."
	diff <(sed "s,^cpc-$VERSION/,," "$T/names") \
		<(git -c safe.directory='*' ls-files | LC_ALL=C sort)
}
