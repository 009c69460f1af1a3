# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# packages.bash - for tests of packages and of their installation.  CPC_PACKAGES names the
# output directory of tests/packages; without it, the tests run tests/packages first.

setup_file() {
	export PACKAGES=${CPC_PACKAGES-}
	if [ -z "$PACKAGES" ]; then
		PACKAGES=$BATS_FILE_TMPDIR/packages
		"$BATS_TEST_DIRNAME/../packages" "$PACKAGES" >&2
	fi
	PACKAGES=$(realpath "$PACKAGES")
}

# For setup: BUILT is the build directory, DEBS are the packages.
find_packages() {
	BUILT=$(echo "$PACKAGES"/here/cpc-*/build-package)
	VERSION=$(sed -n 's/^CMAKE_PROJECT_VERSION:[^=]*=//p' "$BUILT/CMakeCache.txt")
	DEBS=("$BUILT"/*.deb)
	[ -n "$VERSION" ]
	[ -e "${DEBS[0]}" ]
}

# deb PACKAGE: its file.
deb() {
	local file
	for file in "${DEBS[@]}"; do
		if [[ $file == */"$1"_* ]]; then
			echo "$file"
			return
		fi
	done
	echo "no package $1" >&2
	return 1
}
