#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# examples/ovfprof: the functions, their shares, all LWPs, each kind of end.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	need_unsanitized "a sanitized object is loaded into sanitized programs only"
	PROF=("$CPC_BUILD/examples/ovfprof/ovfprof")
	[ -x "${PROF[0]}" ] || skip "no libdw here, so no ovfprof"
	export CPC_PROF_EVENT=page-faults TMPDIR=$T
}

# The profile of all LWPs is the last table: lines of FUNCTION.
row() {
	awk -v name="$1" '/^# [0-9]/ { line = "" } $5 == name { line = $0 } END { print line }' "$T/prof"
}

# share FUNCTION N: it has N faults at 3 of 4, or 1 of 4.
has() {
	[ "$(row "$1" | awk '{ print $2 }')" = "$2" ]
}

prof() {
	go "$1" "${PROF[@]}" -m 0 -o "$T/prof" "${@:2}"
	cat "$T/prof"
	# Nothing is left.
	[ -z "$(find "$T" -name 'ovfprof.*')" ]
}

@test "the hot function is the first one, with its share" {
	prof -0 "$WORK/hot-functions" 100000
	[[ $(sed -n 3p "$T/prof") == *" hot-functions "*" touch_three" ]]
	[[ $(sed -n 4p "$T/prof") == *" hot-functions "*" touch_one" ]]
	three=$(row touch_three | awk '{ print $2 }') one=$(row touch_one | awk '{ print $2 }')
	[ "$three" -ge 299900 ]
	[ "$three" -le 300100 ]
	[ "$one" -ge 99900 ]
	[ "$one" -le 100100 ]
}

@test "with a period of 1, each event has a sample" {
	prof -0 -p 1 "$WORK/hot-functions" 500
	has touch_three 1500
	has touch_one 500
}

@test "all threads, and each of them by itself" {
	prof -0 -l -p 1 "$WORK/hot-functions" -t 7 200
	has touch_three 4800
	has touch_one 1600
	[ "$(grep -c '^process .*, LWP' "$T/prof")" -eq 8 ]
	[ "$(awk '$5 == "touch_three" && $2 == 600' "$T/prof" | wc -l)" -eq 8 ]
	[[ $(cat "$T/prof") == *" of 8 LWPs of 1 programs"* ]]
}

@test "threads without counters are reported, and the rest has its profile" {
	PROF=("${WITH_FILES[@]}" 1000 "${PROF[@]}")
	prof -0 -p 1 prlimit --nofile=12:12 "$WORK/hot-functions" -t 7 200
	[[ $stderr == *": some LWPs got no counters, or lost them: their events are missing"* ]]
	three=$(row touch_three | awk '{ print $2 }')
	[ "$three" -ge 600 ]
	[ "$three" -lt 4800 ]
}

@test "children and new programs" {
	prof -0 -p 1 "$WORK/hot-functions" -f 300
	has touch_three 1800
	prof -0 -p 1 "$WORK/hot-functions" -x 300
	has touch_three 1800
	[[ $(cat "$T/prof") == *" of 3 LWPs of 3 programs"* ]]
}

@test "a program that is killed has its profile" {
	prof -137 -p 1 "$WORK/hot-functions" -k 500
	has touch_three 1500
	has touch_one 500
}

@test "a child that resets all signals lives on, and has its profile" {
	cat >"$T/reset.c" <<'END_C'
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void touch(char *p) { for (int i = 0; i < 100; i++) ((volatile char *)p)[4096 * i] = 1; }
/* By signal(), as git does, by sigaction(), and with an overflow in between that waits. */
static void reset(int by_signal)
{
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP || (sig >= 32 && sig < SIGRTMIN))
			continue;
		if (by_signal ? signal(sig, SIG_DFL) == SIG_ERR : sigaction(sig, &act, NULL) == -1)
			exit(100);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
int main(int argc, char *argv[])
{
	char *p = mmap(0, 4096 * 100, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t all, old;
	int status;

	madvise(p, 4096 * 100, MADV_NOHUGEPAGE);
	sigfillset(&all);
	for (int by_signal = 0; argc > 0 && by_signal < 2; by_signal++) {
		sigprocmask(SIG_BLOCK, &all, &old);
		if (fork() == 0) {
			reset(by_signal);
			touch(p);
			execv(argv[1], argv + 1);
			_exit(127);
		}
		sigprocmask(SIG_SETMASK, &old, NULL);
		if (wait(&status) == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
			return 1;
	}
	return 0;
}
END_C
	"${CC:-cc}" -O1 -o "$T/reset" "$T/reset.c"
	[ "$(getconf PAGESIZE)" = 4096 ] || skip "it is written for pages of 4096 bytes"
	prof -0 -p 1 "$T/reset" "$WORK/hot-functions" 300
	has touch 200
	has touch_three 1800
}

@test "a program that sends itself the signal dies of it, or ignores it" {
	cat >"$T/stkflt.c" <<'END_C'
#include <signal.h>
int main(int argc, char *argv[])
{
	(void)argv;
	if (argc > 1)
		signal(SIGSTKFLT, SIG_IGN);
	raise(SIGSTKFLT);
	return 3;
}
END_C
	"${CC:-cc}" -o "$T/stkflt" "$T/stkflt.c"
	prof -$((128 + 16)) -p 1 "$T/stkflt"
	prof -3 -p 1 "$T/stkflt" ignored
}

@test "a program that handles the signal itself gets its own signals only" {
	for mode in unbind stack; do
		go -0 "$WORK/overflows" $mode
		prof -0 -p 1 "$WORK/overflows" $mode
		[[ $output == *PASS* ]]
		[[ $stderr =~ "ovfprof: process "[0-9]+" handles a signal of the profiler itself: its profile ends there" ]]
	done
}

@test "callers" {
	cat >"$T/calls.c" <<'END_C'
#include <sys/mman.h>
__attribute__((noinline)) void touch(volatile char *p) { for (int i = 0; i < 100; i++) p[4096 * i] = 1; }
__attribute__((noinline)) int thrice(char *p) { touch(p); return 1; }
__attribute__((noinline)) int once(char *p) { touch(p); return 1; }
int main(void)
{
	char *p = mmap(0, 4096 * 100, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, 4096 * 100, MADV_NOHUGEPAGE);
	for (int i = 0; i < 4; i++) {
		int sum = i < 3 ? thrice(p) : once(p);
		madvise(p, 4096 * 100 * sum, MADV_DONTNEED);
	}
}
END_C
	"${CC:-cc}" -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls \
		-o "$T/calls" "$T/calls.c"
	[ "$(getconf PAGESIZE)" = 4096 ] || skip "it is written for pages of 4096 bytes"
	prof -0 -c -p 1 "$T/calls"
	has touch 400
	grep -qE '^ +75.00%  from thrice \(calls\)$' "$T/prof"
	grep -qE '^ +25.00%  from once \(calls\)$' "$T/prof"
	# For a stripped program the report has addresses in the file.
	address=$(nm "$T/calls" | awk '$3 == "touch" { print $1 }')
	strip "$T/calls"
	prof -0 -p 1 "$T/calls"
	[ "$(awk '$4 == "calls" && $5 ~ /^0x/ { n += $2 } END { print n }' "$T/prof")" -ge 400 ]
	hot=$(awk '$2 == 400 { print $5 }' "$T/prof")
	[ $((hot - 0x$address)) -ge 0 ]
	[ $((hot - 0x$address)) -lt 64 ]
}

@test "functions of libraries that are loaded and unloaded" {
	for lib in a b; do
		sed "s/NAME/in_$lib/" >"$T/$lib.c" <<'END_C'
void NAME(volatile char *p, int n);
void NAME(volatile char *p, int n) { for (int i = 0; i < n; i++) p[4096 * i] = 1; }
END_C
		"${CC:-cc}" -O1 -shared -fPIC -o "$T/$lib.so" "$T/$lib.c"
	done
	cat >"$T/loads.c" <<'END_C'
#include <dlfcn.h>
#include <sys/mman.h>
static void run(char *p, const char *file, const char *name, int n)
{
	void *lib = dlopen(file, RTLD_NOW);
	((void (*)(char *, int))dlsym(lib, name))(p, n);
	madvise(p, 4096 * 1000, MADV_DONTNEED);
	dlclose(lib);
}
int main(int argc, char **argv)
{
	char *p = mmap(0, 4096 * 1000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, 4096 * 1000, MADV_NOHUGEPAGE);
	for (int i = 0; argc > 2 && i < 3; i++) {
		run(p, argv[1], "in_a", 100);
		run(p, argv[2], "in_b", 200);
	}
}
END_C
	"${CC:-cc}" -O1 -o "$T/loads" "$T/loads.c" -ldl
	[ "$(getconf PAGESIZE)" = 4096 ] || skip "it is written for pages of 4096 bytes"
	prof -0 -p 1 "$T/loads" "$T/a.so" "$T/b.so"
	# A function costs at most one more fault, for its code.
	a=$(row in_a | awk '{ print $2 }') b=$(row in_b | awk '{ print $2 }')
	[ "$a" -ge 300 ]
	[ "$a" -le 303 ]
	[ "$b" -ge 600 ]
	[ "$b" -le 603 ]
}

# A library whose function in_lib, not a dynamic symbol, has 200 faults, and a program that calls it.
make_stripped() {
	[ "$(getconf PAGESIZE)" = 4096 ] || skip "it is written for pages of 4096 bytes"
	cat >"$T/lib.c" <<'END_C'
#include <sys/mman.h>
__attribute__((noinline)) static void in_lib(volatile char *p) { for (int i = 0; i < 200; i++) p[4096 * i] = 1; }
void call(void);
void call(void)
{
	char *p = mmap(0, 4096 * 200, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, 4096 * 200, MADV_NOHUGEPAGE);
	in_lib(p);
	munmap(p, 4096 * 200);
}
END_C
	echo 'void call(void); int main(void) { call(); }' >"$T/main.c"
	mkdir -p "$T/lib"
	LIB=$T/lib/libstripped.so
	"${CC:-cc}" -O1 -g -shared -fPIC -Wl,--build-id -o "$LIB" "$T/lib.c"
	"${CC:-cc}" -o "$T/main" "$T/main.c" "$LIB"
	BUILD_ID=$(readelf -nW "$LIB" | sed -n 's/.*Build ID: //p')
	[ ${#BUILD_ID} = 40 ]
	objcopy --only-keep-debug "$LIB" "$T/debug"
	strip "$LIB"
}

# The function has its name; no line says that symbols are missing.
named() {
	prof -0 -p 1 "$T/main"
	n=$(row in_lib | awk '{ print $2 }')
	[ "$n" -ge 200 ]
	[ "$n" -le 201 ]
	go -1 grep '^# libstripped.so' "$T/prof"
}

@test "a stripped library: addresses, and a line that says why" {
	make_stripped
	unset DEBUGINFOD_URLS
	prof -0 -l -p 1 "$T/main"
	[ "$(awk '$4 == "libstripped.so" && $5 ~ /^0x/ && $2 >= 200' "$T/prof" | wc -l)" = 2 ] # one for the LWP
	[ "$(grep -xc '# libstripped.so has no symbols: install its debug symbols, or set DEBUGINFOD_URLS' "$T/prof")" = 1 ]
	go -1 grep '^# main has no symbols' "$T/prof"
	# No line names a file without rows.
	go -0 "${PROF[@]}" -p 1 -m 99.9 -o "$T/prof" "$T/main"
	go -1 grep 'has no symbols' "$T/prof"
}

@test "a stripped library: its debug file beside it, by .gnu_debuglink" {
	make_stripped
	unset DEBUGINFOD_URLS
	mv "$T/debug" "$T/lib/libstripped.so.debug"
	(cd "$T/lib" && objcopy --add-gnu-debuglink=libstripped.so.debug libstripped.so)
	named
	mkdir "$T/lib/.debug"
	mv "$T/lib/libstripped.so.debug" "$T/lib/.debug"
	named
}

@test "a stripped library: its debug file by build id in /usr/lib/debug" {
	make_stripped
	unset DEBUGINFOD_URLS
	dir=/usr/lib/debug/.build-id/${BUILD_ID:0:2}
	# In a mount namespace of its own: nothing is left in /usr.
	unshare -m true 2>/dev/null || skip "nothing can be mounted here"
	# shellcheck disable=SC2016 # for the inner shell
	PROF=(unshare -m sh -c 'mkdir -p /usr/lib/debug && mount -t tmpfs debug /usr/lib/debug && mkdir -p "$1" &&
		cp "$2" "$1/$3.debug" && shift 3 && exec "$@"' sh "$dir" "$T/debug" "${BUILD_ID:2}" "${PROF[@]}")
	had=$([ -d /usr/lib/debug ] && echo yes || :)
	named
	[ -n "$had" ] || rmdir /usr/lib/debug
}

@test "a stripped library: its debug file from a server, by build id" {
	compgen -G '/usr/lib/*/libdebuginfod.so.1' || skip "no libdebuginfod here"
	make_stripped
	mkdir -p "$T/www/buildid/$BUILD_ID"
	mv "$T/debug" "$T/www/buildid/$BUILD_ID/debuginfo"
	cat >"$T/server.py" <<'END_PY'
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
print(server.server_port, flush=True)
server.serve_forever()
END_PY
	start server python3 "$T/server.py" "$T/www"
	eventually grep -q . "$T/server.out"
	DEBUGINFOD_URLS=http://127.0.0.1:$(head -n 1 "$T/server.out")
	export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH=$T/cache no_proxy=127.0.0.1 DEBUGINFOD_TIMEOUT=20
	named
}

@test "a program that cannot be profiled is refused, and unprofiled threads are reported" {
	cp "$(command -v "${PROF[0]}")" "$T/alone"
	go -1 "$T/alone" -e page-faults touch "$T/ran"
	[[ $stderr == "alone: cannot find ovfprof-preload.so: "* && ${#stderr_lines[@]} -eq 1 ]]
	[ ! -e "$T/ran" ]
	go -1 "${PROF[@]}" -e no-such-event true
	[[ $stderr == "ovfprof: unknown event 'no-such-event'"* ]]
	mistake 2 "invalid -p '0': a period is a number of events" "${PROF[@]}" -p 0 true
	mistake 2 "missing command: ovfprof profiles a command that it starts" "${PROF[@]}" -p $$
	mistake 2 "unknown option '-F'; -p PERIOD sets the events between two samples" "${PROF[@]}" -F 99 true
	mistake 2 "unknown option '-g'; -c shows callers" "${PROF[@]}" -sg true
	mistake 2 "unknown option '--pid'; ovfprof -h lists the options" "${PROF[@]}" --pid 1
	mistake 2 "unknown option '-x'; ovfprof -h lists the options" "${PROF[@]}" -x true
	mistake 2 "missing argument of option '-e'" "${PROF[@]}" -e
	mistake 2 "invalid -m 'x': expected a percentage" "${PROF[@]}" -m x true
	mistake 1 "cannot write '$T/none/x': No such file or directory" "${PROF[@]}" -o "$T/none/x" true
	mistake 127 "ovfprof: cannot find program '$T/none'" "${PROF[@]}" "$T/none"
	mistake 126 "ovfprof: cannot execute program '$T'" "${PROF[@]}" "$T"
	go -0 "${PROF[@]}" -e page-faults -p 1000000000 true
	[[ ${stderr_lines[1]} == "# no samples: no LWP counted a period of 1000000000 page-faults; -p PERIOD sets a shorter one" ]]
	[ "${#stderr_lines[@]}" = 2 ]
	go -0 "${PROF[@]}" -o "$T/prof" "$WORK/symbols-static" 1
	[[ $stderr == *"nothing was profiled: statically linked programs"* ]]
}

@test "a clock with a period that would stop the program is refused before it runs" {
	for clock in task-clock cpu-clock; do
		go -1 "${PROF[@]}" -e "$clock" -p 99999 touch "$T/ran"
		[[ $stderr == *"'$clock' every 99999 ns"*"shortest period is 100000 ns"* ]]
		[ ! -e "$T/ran" ]
	done
	prof -0 -e task-clock -p 100000 "$WORK/spin" 0.2
}

@test "the CPU time" {
	prof -0 -e task-clock -p 1000000 "$WORK/spin" 0.2
	[ "$(awk '/^# [0-9]/ { print ($2 > 150000000 && $2 < 400000000) }' "$T/prof")" = 1 ]
}
