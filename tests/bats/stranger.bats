#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# tests/stranger and tests/clients find the libraries in any place, as an ordinary user, and count.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines
# shellcheck disable=SC2016 # for other shells

load helpers
load packages

setup() {
	common_setup
	find_packages
	# A place that an ordinary user can reach; dpkg-deb keeps the modes of the package.
	PLACE=$(mktemp -d "${TMPDIR:-/tmp}/cpc-stranger.XXXXXX")
	chmod 1777 "$PLACE"
	dpkg-deb -x "$(deb libcpc-dev)" "$PLACE/some where"
	dpkg-deb -x "$(deb libcpc"${VERSION%.*}")" "$PLACE/some where"
	dpkg-deb -x "$(deb cpc-tools)" "$PLACE/some where"
	mv "$PLACE/some where/usr" "$PLACE/opt"
	cp -r "$BATS_TEST_DIRNAME"/../{stranger,clients} "$WORK"/{probe,hot-functions,touch-pages} "$PLACE"
	chmod -R a+rX "$PLACE"/{stranger,clients,probe,hot-functions,touch-pages}
	LIB=$(echo "$PLACE"/opt/lib/*-linux-gnu)
	AS_USER=(env HOME="$PLACE" TMPDIR="$PLACE" LD_LIBRARY_PATH="$LIB")
	if [ "$(id -u)" = 0 ]; then
		need_reachable "$PLACE"
		AS_USER=(setpriv --reuid=65534 --regid=65534 --clear-groups "${AS_USER[@]}")
	fi
	why=$("${AS_USER[@]}" "$PLACE/probe" soft) || skip "an ordinary user cannot count at all here: $why"
	why=$("${AS_USER[@]}" "$PLACE/probe" ptrace) || skip "an ordinary user cannot trace: $why"
	cd "$PLACE" || return
}

teardown() {
	common_teardown
	rm -rf "${PLACE:?}"
}

user() {
	go -0 "${AS_USER[@]}" "$@"
}

STRICT=(-Wall -Wextra -Wshadow -Werror -pedantic)

# compile COMPILER OPTION...: faults, with the flags of pkg-config, counts 100.
compile() {
	local flags
	read -ra flags < <("${PKG_CONFIG[@]}" --cflags --libs libcpc)
	user "$@" "${STRICT[@]}" stranger/faults.c -o faults "${flags[@]}"
	user ./faults
	[ "$output" = 100 ]
}

pkg_config() {
	PKG_CONFIG=(env PKG_CONFIG_PATH="$LIB/pkgconfig" pkg-config --define-variable=prefix="$PLACE/opt" "$@")
}

# needs FILE NAME...: FILE needs exactly these shared libraries, libc aside.
needs() {
	[ "$(readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libstdc\+\+|libm|libgcc_s|ld-linux.*)\.so' | xargs)" = "${*:2}" ]
}

@test "pkg-config: C and C++" {
	pkg_config
	compile gcc -std=c99
	needs faults "libcpc.so.${VERSION%.*}"
	compile g++ -x c++ -std=c++20
	needs faults "libcpc.so.${VERSION%.*}"
}

@test "pkg-config: libpctx alone, and static programs" {
	pkg_config
	read -ra flags < <("${PKG_CONFIG[@]}" --cflags --libs libpctx)
	user gcc -std=c99 "${STRICT[@]}" stranger/forks.c -o forks "${flags[@]}"
	user ./forks sh -c 'true & true & (true); wait'
	[ "$output" = 3 ]
	pkg_config --static
	compile gcc -std=c99 -static
	go -0 readelf -lW faults
	[[ $output != *INTERP* ]]
}

# client COMPILER STANDARD FILE [OPTION...]: with strict options and the installed headers alone.
client() {
	local flags
	read -ra flags < <("${PKG_CONFIG[@]}" --cflags --libs libcpc libpctx)
	user "$1" "$2" "${STRICT[@]}" "clients/$3" -o client "${flags[@]}" "${@:4}"
}

# near N: the last line of the output is N, but for a few page faults of the start of programs.
near() {
	[ "${lines[-1]}" -gt $(($1 - 30)) ] && [ "${lines[-1]}" -lt $(($1 + 30)) ]
}

@test "programs as others wrote them for Solaris: counters" {
	pkg_config
	client g++ -std=c++17 counter-class.cc
	user ./client
	[ "$output" = 4000 ]
	client gcc -std=c11 substrate.c
	user ./client
	[ "$output" = "1000
cpc_set_add_request (1): unknown event 'no-such-event'
cpc_unbind (0): the set is not bound
cpc_unbind (0): the set is not bound
0
-1" ]
	client gcc -std=c11 wrapper-v1.c -include libcpc_v1.h
	user ./client
	[ "$output" = "500 500
1000 1000
cpc_strtoevent: unknown event 'no_such_event'" ]
}

@test "programs as others wrote them for Solaris: a tracker" {
	pkg_config
	client gcc -std=c11 tracker.c
	tree='./touch-pages 0$0 & (exec ./touch-pages 0$0); wait; exit 3'
	user ./client sh -c "$tree" 0
	alone=${lines[1]}
	user ./client sh -c "$tree" 1000
	[ "${lines[0]}" = "status 3" ]
	near $((alone + 2000))
	# At SIGINT it leaves the command alone, as Solaris' cputrack does by cpc_terminate().
	mkfifo -m 666 gate
	"${AS_USER[@]}" ./client sh -c 'echo begun >begun; read -r line <gate; echo $line >ended' >out 3>&- &
	eventually test -s begun
	kill -INT $!
	wait $!
	[[ $(<out) =~ ^[1-9][0-9]+$ ]]
	echo open >gate
	eventually test -s ended
}

@test "programs as others wrote them for Solaris: a script" {
	user clients/rows.pl "$PLACE/opt" ./touch-pages 0
	alone=$output
	user clients/rows.pl "$PLACE/opt" ./touch-pages 1000
	near $((alone + 1000))
}

# bats test_tags=all
@test "find_package: C99 to C23 and C++11 to C++20, gcc and clang" {
	while read -r cc cxx; do
		user cmake -S stranger -B "$cc" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
			-DCMAKE_PREFIX_PATH="$PLACE/opt"
		user cmake --build "$cc" -j 2
		programs=("$cc"/faults-c*)
		[ ${#programs[@]} = 8 ]
		for program in "${programs[@]}"; do
			user "$program"
			[ "$output" = 100 ]
		done
		user "$cc/forks" sh -c 'true & true & (true); wait'
		[ "$output" = 3 ]
	done <<<'gcc g++
clang clang++'
	# The libraries were found in that place.
	grep -qF "cpc_DIR:PATH=$PLACE/opt/lib/" gcc/CMakeCache.txt
	needs gcc/faults-c99 "libcpc.so.${VERSION%.*}"
	needs gcc/forks "libpctx.so.${VERSION%.*}"
	# The archives in the same place: a program with all libraries in it.
	user cmake -S stranger -B archives -DCMAKE_PREFIX_PATH="$PLACE/opt" -DSTATIC=ON
	user cmake --build archives -j 2
	for program in archives/faults-c{99,++11}; do
		needs "$program"
		user "$program"
		[ "$output" = 100 ]
	done
	needs archives/forks
	user archives/forks sh -c 'true & true & (true); wait'
	[ "$output" = 3 ]
}

@test "find_package: the profiler among the examples" {
	pkg-config --exists libdw || skip "no libdw here, so no ovfprof"
	user cmake -S opt/share/doc/libcpc-dev/examples/ovfprof -B prof -DCMAKE_PREFIX_PATH="$PLACE/opt"
	user cmake --build prof -j 2
	user prof/ovfprof -e page-faults -p 1 ./hot-functions -t 2 200
	[[ $stderr == *" of 3 LWPs of 1 programs"*" 1800 "*" touch_three"* ]]
}

# bats test_tags=all
@test "find_package: a library that the archives need is missing: static programs say so" {
	libraries=$(dirname "$(realpath "$(gcc -print-file-name=libpfm.a)")")
	cmake=("${AS_USER[@]}" cmake -S stranger -DCMAKE_IGNORE_PATH="$libraries;${libraries#/usr}")
	# Shared libraries name it themselves.
	go -0 "${cmake[@]}" -B shared -DCMAKE_PREFIX_PATH="$PLACE/opt"
	run "${cmake[@]}" -B static -DCMAKE_PREFIX_PATH="$PLACE/opt" -DSTATIC=ON
	[ "$status" = 1 ]
	[[ $output == *cpc::cpc_static* ]]
	# An installation of archives alone.
	cmake --install "$CPC_BUILD" --prefix "$PLACE/archives-alone"
	chmod -R a+rX "$PLACE/archives-alone"
	run "${cmake[@]}" -B missing -DCMAKE_PREFIX_PATH="$PLACE/archives-alone"
	[ "$status" = 1 ]
	[[ $(tr -s ' \n' ' ' <<<"$output") == *"it needs libpfm, libbsd, libmd"* ]]
	# So is a version with another interface.
	sed -i 's/find_package(cpc 0.1 /find_package(cpc 99 /' stranger/CMakeLists.txt
	run "${AS_USER[@]}" cmake -S stranger -B version -DCMAKE_PREFIX_PATH="$PLACE/opt"
	[ "$status" = 1 ]
	[[ $(tr -s ' \n' ' ' <<<"$output") == *'compatible with requested version "99"'* ]]
}

@test "installed headers compile alone, without feature macros" {
	echo 'extern int unit;' >unit
	for header in opt/include/*.h; do
		for lang in 'gcc -x c -std=c99' 'gcc -x c -std=c2x' 'clang -x c -std=c99' \
			'g++ -x c++ -std=c++11' 'clang++ -x c++ -std=c++20'; do
			# shellcheck disable=SC2086 # words
			user $lang "${STRICT[@]}" -fsyntax-only -Iopt/include -include "$header" unit
		done
	done
	# Declarations that old programs expect from these headers.
	echo 'const char *why(void); const char *why(void) { return strerror(errno); }' >unit
	user gcc -x c -std=c99 "${STRICT[@]}" -fsyntax-only -Iopt/include -include libcpc_v1.h unit
}
