#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# An installation works in any place, and is removed without a trace.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers
load packages

setup() {
	common_setup
	find_packages
}

# The files below a directory, without it.
files_in() {
	(cd "$1" && find . ! -type d | sort)
}

@test "the programs count where they were put" {
	track -0 -T 0 -c page-faults "$WORK/touch-pages" 100
	here=$(sum_of exit)
	go -0 cmake --install "$BUILT" --prefix "$T/at"
	mv "$T/at" "$T/elsewhere"
	go -0 "$T/elsewhere/bin/cputrack" -T 0 -c page-faults -o "$ROWS" "$WORK/touch-pages" 100
	[ "$(sum_of exit)" -ge 100 ]
	[ $(($(sum_of exit) - here)) -le 10 ]
	go -0 "$T/elsewhere/bin/ovfprof" -e page-faults -p 1 "$WORK/hot-functions" 500
	[[ $stderr == *" 1500 "*" hot-functions "*" touch_three"* ]]
	# With static libraries a program is one file.
	go -0 cmake --install "$CPC_BUILD" --prefix "$T/static"
	cp "$T/static/bin/cputrack" "$T/alone"
	rm -r "$T/static"
	go -0 "$T/alone" -T 0 -c page-faults -o "$ROWS" "$WORK/touch-pages" 100
	[ $(($(sum_of exit) - here)) -le 10 ]
}

@test "pkg-config: an installation that was moved is found, and /usr needs no flags" {
	# The static libcpc, and the shared one.
	for build in "$CPC_BUILD" "$BUILT"; do
		rm -rf "$T"/{at,elsewhere,root}
		go -0 cmake --install "$build" --prefix "$T/at"
		mv "$T/at" "$T/elsewhere"
		pc=$(dirname "$(find "$T/elsewhere" -name libcpc.pc)")
		read -ra flags < <(PKG_CONFIG_LIBDIR=$pc pkg-config --cflags --libs libcpc)
		[[ " ${flags[*]}" == " -I$pc/"*" -L$pc/"*" -lcpc"* ]]
		# As cpc(3) says.
		echo 'int main(void) { return cpc_close(cpc_open(CPC_VER_CURRENT)); }' >"$T/open.c"
		go -0 gcc -o "$T/open" -include libcpc.h "$T/open.c" "${flags[@]}"
		[ -e "${flags[1]#-L}/libcpc.a" ]

		DESTDIR=$T/root go -0 cmake --install "$build" --prefix /usr
		pc=$(dirname "$(find "$T/root" -name libcpc.pc)")
		dir=${pc#"$T/root"}
		PKG_CONFIG_LIBDIR=$pc go -0 pkg-config --variable=libdir libcpc
		[ "$output" = "${dir%/pkgconfig}" ]
		for library in libcpc libpctx; do
			PKG_CONFIG_LIBDIR=$pc go -0 pkg-config --cflags --libs $library
			if [[ $dir == /usr/lib/*-linux-gnu/pkgconfig ]]; then
				[[ $output != *-L* ]]
			fi
			[[ $output != *-I* && $output == *"-l${library#lib}"* ]]
		done
		PKG_CONFIG_LIBDIR=$pc go -0 pkg-config --define-variable=prefix=/opt/cpc --cflags libcpc
		[ "${output% }" = "-I/opt/cpc/include" ]
	done
	PKG_CONFIG_LIBDIR=$pc go -0 pkg-config --libs libcpc
	[ "${output% }" = -lcpc ]
}

@test "DESTDIR is honoured, and uninstall leaves other files there" {
	export DESTDIR=$T/root
	go -0 cmake --install "$BUILT"
	for file in bin/cputrack bin/cpustat bin/ovfprof bin/cpcplot share/man/man1/ovfprof.1 share/man/man1/cpcplot.1 include/libcpc.h include/libpctx.h include/cpc_types.h \
		include/cpc_version.h share/man/man1/cputrack.1 share/man/man1/cpustat.1 share/man/man5/cpc-formats.5 share/man/man7/cpc-events.7 \
		share/man/man3/cpc_open.3 share/man/man3/cpc_close.3 \
		share/bash-completion/completions/cputrack share/bash-completion/completions/cpustat \
		share/zsh/vendor-completions/_cputrack share/zsh/vendor-completions/_cpustat \
		share/fish/vendor_completions.d/cputrack.fish share/fish/vendor_completions.d/cpustat.fish \
		lib/python3/dist-packages/cpc.py lib/python3/dist-packages/_cpc.so \
		share/cpc/solaris.def share/cpc/generic.def lib/tmpfiles.d/cpc.conf lib/systemd/system/cpustat-export.service \
		share/doc/cpc-tools/LICENSE share/doc/cpc-tools/README.md share/doc/cpc-tools/CHANGELOG.md \
		share/doc/cpc-tools/ci.md share/doc/cpc-tools/fleet.md share/doc/cpc-tools/cpc-dashboard.json; do
		[ -s "$DESTDIR/usr/$file" ] || { echo "no $file"; false; }
	done
	for file in cpc/ovfprof-preload.so libcpc.so libpctx.so libcpc.a libpctx.a pkgconfig/libcpc.pc pkgconfig/libpctx.pc cmake/cpc/cpcConfig.cmake; do
		[ -s "$(echo "$DESTDIR"/usr/lib/*-linux-gnu)/$file" ] || { echo "no $file"; false; }
	done
	# No file contains the build directory, and none is outside the prefix.
	run grep -rlF -e "$PACKAGES" -e "$DESTDIR" "$DESTDIR"
	[ "$output" = "" ]
	[ "$(ls "$DESTDIR")" = usr ]
	# The directory of root's claims is the one that the programs use.
	grep -qx 'd /run/cpc 0755 root root -' "$DESTDIR/usr/lib/tmpfiles.d/cpc.conf"
	grep -qaF /run/cpc "$DESTDIR"/usr/lib/*/libcpc.so

	touch "$DESTDIR/usr/share/cpc/mine.def" "$DESTDIR/usr/bin/mine"
	go -0 cmake --build "$BUILT" --target uninstall
	[ "$(files_in "$DESTDIR/usr")" = "$(printf '%s\n' ./bin/mine ./share/cpc/mine.def)" ]
	run find "$DESTDIR" -depth -path '*/cpc*' -type d
	[ "$output" = "$DESTDIR/usr/share/cpc" ]
}

@test "Python finds the module, or the installation says how" {
	local count='import cpc
with cpc.counting("page-faults") as c: pass
print(cpc.__file__, c["page-faults"] >= 0)'
	env -u DESTDIR cmake --install "$CPC_BUILD" --component python --prefix "$T/at" >"$T/out"
	grep -qx -- "-- Python does not look for modules in this prefix; import cpc requires PYTHONPATH=$T/at/lib/python3/dist-packages" "$T/out"
	PYTHONPATH=$T/at/lib/python3/dist-packages go -0 /usr/bin/python3 -c "$count"
	[ "$output" = "$T/at/lib/python3/dist-packages/cpc.py True" ]
	# In /usr/local it is found as it is; the machine's own directory is hidden meanwhile.
	need_root
	# shellcheck disable=SC2016 # for the inner shell
	go unshare -m sh -c 'mount -t tmpfs none /usr/local/lib &&
		cmake --install "$0" --component python --prefix /usr/local && cd / && /usr/bin/python3 -c "$1"' \
		"$CPC_BUILD" "$count"
	[[ $stderr != *unshare:* && $stderr != *mount:* ]] || skip "no mounts here: $stderr"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == "/usr/local/lib/python3"*"-packages/cpc.py True" ]]
	[[ $output != *PYTHONPATH* ]]
}

@test "a missing install_manifest.txt is reported" {
	run cmake -DMANIFEST="$T/install_manifest.txt" -P "$BATS_TEST_DIRNAME/../../cmake/uninstall.cmake"
	[ "$status" = 1 ]
	[[ $output == *"nothing is known to be installed"* ]]
}

@test "each function has a manual page of its name, and all pages have the version" {
	go -0 cmake --install "$BUILT" --prefix "$T/at"
	man=$T/at/share/man
	for page in "$man"/man[1357]/*; do
		if [[ $(head -n 1 "$page") == ".so "* ]]; then
			real=$man/$(sed 's/^\.so //' "$page")
			name=$(basename "$page" .3)
			grep -qE "^\.Nm $name( |\$)" "$real" || { echo "$page is not in $real"; false; }
			continue
		fi
		grep -qx "\.Os cpc $VERSION" "$page" || { echo "$page: no version"; false; }
		while read -r name; do
			[ -e "$man/man${page##*.}/$name.${page##*.}" ] || { echo "no page $name"; false; }
		done < <(sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([A-Za-z0-9_-]*\).*/\1/p' "$page")
	done
}

@test "there is one version" {
	go -0 cmake --install "$BUILT" --prefix "$T/at"
	go -0 "$T/at/bin/cputrack" --version
	[ "${output%% (*}" = "cputrack $VERSION" ]
	go -0 "$T/at/bin/cpustat" --version
	[ "$output" = "cpustat $VERSION" ]
	[ "$(sed -n 's/^#define CPC_VERSION //p' "$T/at/include/cpc_version.h")" = "\"$VERSION\"" ]
	IFS=. read -r major minor patch <<<"$VERSION"
	grep -qx "#define CPC_VERSION_MAJOR $major" "$T/at/include/cpc_version.h"
	grep -qx "#define CPC_VERSION_MINOR $minor" "$T/at/include/cpc_version.h"
	grep -qx "#define CPC_VERSION_PATCH $patch" "$T/at/include/cpc_version.h"
	for name in libcpc libpctx; do
		[ "$(PKG_CONFIG_PATH=$(echo "$T"/at/lib/*/pkgconfig) pkg-config --modversion $name)" = "$VERSION" ]
	done
	grep -q "set(PACKAGE_VERSION \"$VERSION\")" "$T"/at/lib/*/cmake/cpc/cpcConfigVersion.cmake
	for deb in "${DEBS[@]}"; do
		[ "$(dpkg-deb -f "$deb" Version)" = "$VERSION-1" ]
	done
	[ -e "$PACKAGES/cpc-$VERSION.tar.gz" ]
	[[ $(grep -m 1 '^## ' "$T/at/share/doc/cpc-tools/CHANGELOG.md") == "## $VERSION - "* ]]
	# No other file contains the version.
	tar -xf "$PACKAGES/cpc-$VERSION.tar.gz" -C "$T"
	cd "$T/cpc-$VERSION"
	grep -rlF "$VERSION" . --include=CMakeLists.txt --include='*.in' --include='*.cmake' \
		--include='*.[ch1357]' --include='*.md' --include='*.json' | sort >"$T/places"
	diff "$T/places" <(printf './%s\n' CHANGELOG.md CMakeLists.txt)
}

@test "setcap cap_perfmon=ep lets ordinary users run an installed cpustat" {
	[ "$(id -u)" = 0 ] || skip "giving capabilities requires root"
	cp "$CPC_BUILD/cpustat" "$T"
	chmod 755 "$T/cpustat"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR" 2>/dev/null || :
	setcap cap_perfmon=ep "$T/cpustat" || skip "no file capabilities on this file system"
	AS_USER=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${AS_USER[@]}" test -x "$T/cpustat" || skip "other users cannot reach $T"
	setpriv --bounding-set=-perfmon true || skip "no CAP_PERFMON to give"
	go -0 "${AS_USER[@]}" "$T/cpustat" -c context-switches 0.05 1
	[[ $output == *total* ]]
}

# hardened FILE: a program with all hardening of the compiler and the linker.
hardened() {
	local header=$T/header
	readelf -hldWs "$1" >"$header" &&
		grep -qE 'Type: +DYN' "$header" &&
		grep -q INTERP "$header" && # so a program
		grep -q GNU_RELRO "$header" &&
		grep -qE 'FLAGS_1.*NOW' "$header" &&
		grep -qE 'GNU_STACK.* RW +0x' "$header" &&
		grep -q __stack_chk_fail "$header" &&
		grep -q __fprintf_chk "$header" &&
		! grep -qE 'RPATH|RUNPATH' "$header"
}

@test "programs and libraries are hardened" {
	# First show that the compiler does not harden by default.
	echo 'int main(void) { return 0; }' >"$T/soft.c"
	gcc -o "$T/soft" "$T/soft.c"
	run hardened "$T/soft"
	[ "$status" != 0 ]

	for dir in "$CPC_BUILD" "$BUILT" "$PACKAGES"-arm64/arm64/cpc-*/build-package-arm64; do
		[ -d "$dir" ] || continue # the one for Arm64 is only made where there is a compiler
		if [ "$dir" = "$BUILT" ]; then
			dpkg-deb -x "$(deb cpc-tools)" "$T/tools"
			cp "$T"/tools/usr/bin/* "$T/tools"
			cp "$BUILT"/lib*.a "$T/tools"
			dir=$T/tools
		fi
		case $(readelf -hW "$dir/cputrack") in
		*X86-64*) property='x86 feature: IBT, SHSTK' ;;
		*AArch64*) property='AArch64 feature: BTI, PAC' ;;
		esac
		for program in cputrack cpustat; do
			hardened "$dir/$program" || { echo "$dir/$program"; cat "$T/header"; false; }
		done
		# A program has it only if all its objects have it, also those of libpfm and libbsd.
		for lib in libcpc libpctx; do
			objects=$(ar t "$dir/$lib.a" | wc -l)
			[ "$(readelf -nW "$dir/$lib.a" | grep -c "$property")" = "$objects" ]
		done
	done
}

# bats test_tags=all
@test "cmake: unsupported machines are refused; packages have Debian's names of the supported ones" {
	local cross=(cmake -S "$BATS_TEST_DIRNAME/../.." -DCMAKE_SYSTEM_NAME=Linux)
	go -1 "${cross[@]}" -B "$T/armv7l" -DCMAKE_SYSTEM_PROCESSOR=armv7l
	[[ $(tr -s '[:space:]' ' ' <<<"$stderr") == *" cpc cannot be built for 64-bit armv7l: it supports 64-bit x86_64, aarch64, riscv64, s390x, ppc64le "* ]]
	for machine in x86_64:amd64 aarch64:arm64 riscv64:riscv64 ppc64le:ppc64el; do
		go -0 "${cross[@]}" -B "$T/${machine%:*}" -DCMAKE_SYSTEM_PROCESSOR="${machine%:*}"
		grep -qxF "set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE \"${machine#*:}\")" "$T/${machine%:*}/CPackConfig.cmake"
	done
}
