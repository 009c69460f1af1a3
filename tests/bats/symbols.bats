#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Symbols in the right library, or none: large libraries, removed files, programs that
# change their own memory while it is read.
#
# liba.so and libb.so both have hit().  The program says "ready", waits for a byte, calls
# liba.so's 100 times and, through b_hit(), that of libb.so 7 times; a thread 10 and 1 times.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

EVENT=breakpoint/addr=hit/

setup_file() {
	need_command gcc
	umask 022
	P=$(mktemp -d "${TMPDIR:-/tmp}/cpc-symbols.XXXXXX")
	export P
	chmod 755 "$P"
	cd "$P" || return 1
	echo '__attribute__((noinline)) void hit(void) { __asm__ volatile("" ::: "memory"); }
		void b_hit(void) { hit(); }' >b.c
	# 3 MB of data: the kernel puts it where large pages fit, and leaves holes.
	echo '__attribute__((noinline)) void hit(void) { __asm__ volatile("" ::: "memory"); }
		char data[3 << 20] = {1};' >a.c
	cat >main.c <<-'END'
		#define _GNU_SOURCE
		#include <link.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		void hit(void), b_hit(void), prepare(void);
		static void *work(void *n)
		{
			for (long i = 0; i < (long)n; i++)
				hit();
			for (long i = 0; i < ((long)n == 100 ? 7 : 1); i++)
				b_hit();
			return n;
		}
		#ifndef PREPARE
		#define PREPARE
		#endif
		int main(void)
		{
			pthread_t thread;
			char byte;
			PREPARE;
			puts("ready");
			fflush(stdout);
			if (read(0, &byte, 1) == -1)
				return 1;
			work((void *)100L);
			pthread_create(&thread, NULL, work, (void *)10L);
			pthread_join(thread, NULL);
			_exit(0); /* the dynamic linker may be confused by now */
		}
	END
	gcc -O1 -shared -fPIC -o liba.so a.c
	gcc -O1 -shared -fPIC -Wl,-Bsymbolic -o libb.so b.c
	make_program main
}

teardown_file() {
	rm -rf "$P"
}

# make_program NAME [STATEMENT]: with a statement to run before it is ready.
make_program() {
	gcc -O1 -DPREPARE="${2-}" -o "$P/$1" "$P/main.c" -L"$P" -Wl,--no-as-needed -la -lb \
		-Wl,-rpath,"\$ORIGIN" -pthread
}

setup() {
	common_setup
	need breakpoint
	AS=(env)
}

# A directory with the program and its libraries, of its own: D
a_copy() {
	D=$P/copy-$BATS_TEST_NUMBER
	mkdir "$D"
	cp "$P/main" "$P/liba.so" "$P/libb.so" "$D"
}

# From here on the program and cputrack are run by an ordinary user.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		need_reachable "$P"
		cp "$CPC_BUILD/cputrack" "$WORK/probe" "$P"
		AS=(setpriv --reuid=65534 --regid=65534 --clear-groups env PATH="$P:$PATH")
		"${AS[@]}" "$P/probe" breakpoint >/dev/null ||
			skip "an ordinary user has no breakpoints here"
		"${AS[@]}" "$P/probe" attach >/dev/null || skip "an ordinary user cannot attach here"
	fi
}

# launch COMMAND...: start it, and wait until it is ready.
launch() {
	start prog "${AS[@]}" "$@"
	eventually said prog ready
}

# Attach to it, and let it go on to its end; the status of cputrack becomes $status.
attach() {
	start ct "${AS[@]}" cputrack -v -T 0 -c "$EVENT" -p "${PIDS[prog]}"
	eventually counted_or_ended
	tell prog g
	finish prog
	finish ct
	cp "$T/ct.out" "$ROWS"
	cat "$ROWS"
	stderr=$(<"$T/ct.err")
}

counted_or_ended() {
	grep -q init_lwp "$T/ct.out" || ended "${PIDS[ct]}"
}

# The counts of LWP 2 and of all.
right() {
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ "$(rows_of lwp_exit 2 | awk '{ print $4 }')" = 10 ]
	[ "$(rows_of exit | awk '{ print $4 }')" = 110 ]
}

# Nothing was counted, and the error says why.
refused() {
	[ "$status" -eq 1 ]
	[[ $stderr == "cputrack: cannot count '$EVENT': "$1 ]]
	[ ! -s "$ROWS" ]
}

@test "the first library in the dynamic linker's order, not the nearest: started and attached" {
	go -0 cputrack -v -T 0 -o "$ROWS" -c "$EVENT" "$P/main" <<<g
	right
	launch "$P/main"
	attach
	right
}

@test "a library that was removed: root counts in it, other users get an error" {
	a_copy
	launch "$D/main"
	rm "$D/liba.so"
	attach
	if [ "$(id -u)" = 0 ]; then
		right
	else
		refused "'$D/liba.so (deleted)', which may have the symbol, cannot be read: it was removed or replaced since it was mapped"
	fi
}

@test "an ordinary user: a library that was removed, or replaced by another one" {
	need_command setpriv
	as_user
	a_copy
	launch "$D/main"
	attach
	right

	launch "$D/main"
	cp "$P/libb.so" "$D/new"
	mv "$D/new" "$D/liba.so"
	attach
	refused "'$D/liba.so (deleted)', which may have the symbol, cannot be read: it was removed or replaced since it was mapped"
	# The path that the kernel shows for it may now be that of another file.
	cp "$P/liba.so" "$D/liba.so"
	launch "$D/main"
	rm "$D/liba.so"
	cp "$P/libb.so" "$D/liba.so (deleted)"
	attach
	refused "'$D/liba.so (deleted)', which may have the symbol, cannot be read: it was removed or replaced since it was mapped"
}

@test "newlines in the path of a library" {
	need_command setpriv
	a_copy
	mkdir "$D/new"$'\n'"line"
	mv "$D/main" "$D"/*.so "$D/new"$'\n'"line"
	launch "$D/new"$'\n'"line/main"
	attach
	right
	as_user
	launch "$D/new"$'\n'"line/main"
	attach
	right
}

@test "an ordinary user: a file whose path is longer than the longest that can be opened" {
	need_command setpriv
	cat >"$P/deep.c" <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include <sys/sendfile.h>
		#include <sys/stat.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			char name[250], byte;
			int in = open(argv[1], O_RDONLY), fd;
			sprintf(name, "%0249d", 0);
			for (int i = 0; i < 200; i++)
				if (mkdir(name, 0700) == -1 || chdir(name) == -1)
					return 1;
			fd = open("lib.so", O_RDWR | O_CREAT, 0600);
			while (sendfile(fd, in, NULL, 1 << 20) > 0)
				;
			close(fd);
			fd = open("lib.so", O_RDONLY);
			if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
				return 1;
			puts("ready");
			fflush(stdout);
			return read(0, &byte, 1) == -1;
		}
	END
	gcc -w -o "$P/deep" "$P/deep.c"
	mkdir -m 777 "$P/below"
	as_user
	# shellcheck disable=SC2016 # for sh
	launch sh -c 'cd "$1" && exec "$2" "$3"' sh "$P/below" "$P/deep" "$P/liba.so"
	attach
	rm -r "$P/below"
	refused "'...*/lib.so', which may have the symbol, cannot be read: File name too long"
}

@test "chmod in a loop beside the program and a library changes no count" {
	a_copy
	start changer sh -c "while :; do chmod 711 '$D/main' '$D/liba.so'
		chmod 755 '$D/main' '$D/liba.so'; done"
	for ((round = 0; round < 20; round++)); do
		go -0 cputrack -v -T 0 -o "$ROWS" -c "$EVENT" "$D/main" <<<g
		right
	done
}

@test "a program that changes its auxiliary vector" {
	cat >"$P/auxv.h" <<-'END'
		#include <elf.h>
		#include <fcntl.h>
		#include <linux/prctl.h>
		#include <stdlib.h>
		#include <sys/prctl.h>
		static void no_entry(void)
		{
			static char buf[4096];
			static unsigned long aux[64], v[64];
			int fd = open("/proc/self/stat", O_RDONLY), i = 3;
			long n = read(fd, buf, sizeof(buf) - 1);
			for (char *s = strtok(strrchr(buf, ')') + 2, " "); s; s = strtok(NULL, " "))
				v[i++] = strtoul(s, NULL, 10);
			fd = open("/proc/self/auxv", O_RDONLY);
			n = read(fd, aux, sizeof(aux));
			for (i = 0; i < n / 8; i += 2)
				if (aux[i] == AT_ENTRY)
					aux[i + 1] = 0;
			struct prctl_mm_map m = {v[26], v[27], v[45], v[46], v[47],
				(unsigned long)sbrk(0), v[28], v[48], v[49], v[50], v[51],
				(void *)aux, (unsigned)n, -1};
			if (prctl(PR_SET_MM, PR_SET_MM_MAP, &m, sizeof(m), 0) == -1)
				puts("refused");
		}
	END
	# shellcheck disable=SC2016 # for gcc
	sed '/^#ifndef PREPARE/i #include "auxv.h"' "$P/main.c" >"$P/auxv.c"
	gcc -O1 -w -DPREPARE='no_entry()' -o "$P/auxv" "$P/auxv.c" -L"$P" -Wl,--no-as-needed \
		-la -lb -Wl,-rpath,"\$ORIGIN" -pthread
	go -0 cputrack -v -T 0 -o "$ROWS" -c "$EVENT" "$P/auxv" <<<g
	[[ $output != *refused* ]] || skip "this kernel lets no program change its auxiliary vector"
	right
	launch "$P/auxv"
	attach
	right
}

@test "program headers and a dynamic section without an end delay nothing" {
	local linker
	linker=$(readelf -lW "$WORK/symbols" | sed -n 's/.*interpreter: \(.*\)]$/\1/p')
	"$WORK/make-elf" dynamic "$P/dynamic" "$linker"
	go -1 cputrack -T 0 -o "$ROWS" -c breakpoint/addr=nowhere/ "$P/dynamic"
	[[ $stderr == "cputrack: init_lwp: can't watch libraries of process "*": File too large" ]]
	grep -q ' exit  *- # incomplete$' "$ROWS"

	# Reading so many zeroes takes days. They are in a child: its libraries are read, too.
	cat >"$P/headers.c" <<-'END'
		#include <elf.h>
		#include <fcntl.h>
		#include <linux/prctl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <sys/prctl.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			static char buf[4096];
			static unsigned long aux[64], v[64];
			void *zeroes = mmap(NULL, 1UL << 44, PROT_READ,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			int fd = open("/proc/self/stat", O_RDONLY), i = 3;
			long n = read(fd, buf, sizeof(buf) - 1);
			for (char *s = strtok(strrchr(buf, ')') + 2, " "); s; s = strtok(NULL, " "))
				v[i++] = strtoul(s, NULL, 10);
			fd = open("/proc/self/auxv", O_RDONLY);
			n = read(fd, aux, sizeof(aux));
			for (i = 0; i < n / 8; i += 2) {
				if (aux[i] == AT_PHDR)
					aux[i + 1] = (unsigned long)zeroes;
				if (aux[i] == AT_PHNUM)
					aux[i + 1] = 1UL << 38;
			}
			struct prctl_mm_map m = {v[26], v[27], v[45], v[46], v[47],
				(unsigned long)sbrk(0), v[28], v[48], v[49], v[50], v[51],
				(void *)aux, (unsigned)n, -1};
			if (zeroes == MAP_FAILED || prctl(PR_SET_MM, PR_SET_MM_MAP, &m, sizeof(m), 0) == -1)
				puts("refused");
			if (fork() == 0)
				_exit(0);
			return wait(NULL) == -1;
		}
	END
	gcc -w -o "$P/headers" "$P/headers.c"
	[ "$("$P/headers")" != refused ] || skip "this kernel lets no program change its auxiliary vector"
	go -1 cputrack -f -T 0 -o "$ROWS" -c page-faults -c breakpoint/addr=main/ "$P/headers"
	[[ $stderr == "cputrack: init_lwp: can't watch libraries of process "*": File too large" ]]
	[ "$(grep -c ' exit  *- # .* # incomplete$' "$ROWS")" -eq 2 ]
}

@test "a program that changes its list of libraries is reported, not believed" {
	# A circle; another address of a library; an address where no library is mapped.
	number=0
	for change in 'm->l_next->l_next = m' 'm->l_next->l_next->l_addr += 4096' \
		'm->l_next->l_next->l_ld = (void *)4096' 'm->l_next = (void *)8'; do
		number=$((number + 1))
		make_program "change$number" "struct link_map *m = _r_debug.r_map; $change"
		launch "$P/change$number"
		attach
		refused "the dynamic linker's list of libraries, in the memory of the program, cannot be read: it is damaged"
	done
	# Without the library that counts, the symbol could be in either of the other two.
	change='while (!strstr(m->l_name, "liba.so")) m = m->l_next;'
	change+='m->l_prev->l_next = m->l_next; m->l_next->l_prev = m->l_prev'
	make_program out "struct link_map *m = _r_debug.r_map; $change"
	launch "$P/out"
	attach
	refused "'$P/libb.so' and '$P/liba.so' both have the symbol 'hit', and which comes first cannot be known"
}

@test "ld.so as a command: an attach counts, at the start the program is unknown" {
	linker=$(readelf -lW "$P/main" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
	launch "$linker" "$P/main"
	attach
	right
	go -1 cputrack -o "$ROWS" -c "$EVENT" "$linker" "$P/main"
	[[ $stderr == *"the program of a dynamic linker that was called as a command is not known before it runs" ]]
}

# injected FAULT: count it while strace makes system calls of cputrack fail.
injected() {
	: >"$ROWS"
	go strace -o "$T/strace" -e trace="${1%%:*}" -e inject="$1" "$CPC_BUILD/cputrack" -v -T 0 \
		-o "$ROWS" -c "$EVENT" "$P/main" <<<g
	cat "$ROWS"
}

@test "ESRCH for a living LWP is not taken for its end" {
	need_command strace
	need_unsanitized "LeakSanitizer does not work under strace"
	local again=0 faults=0 told=0 why="the kernel reports that the LWP has ended, but it is alive"
	for ((nth = 1; nth <= 8; nth++)); do
		# once, as if its id had been that of an LWP that ended
		injected "perf_event_open:error=ESRCH:when=$nth"
		grep -q INJECTED "$T/strace" || break
		if [ "$status" -eq 0 ]; then
			right
			again=$((again + 1))
		else # cputrack tried by itself
			[[ $stderr == "cputrack: cannot count '$EVENT': $why" ]]
		fi
		injected "perf_event_open:error=ESRCH:when=$nth+"
		[ "$status" -eq 1 ]
		[[ $stderr == *"cannot count '$EVENT': $why"* ]]
		faults=$((faults + 1))
		if [ -s "$ROWS" ]; then # the command was run
			every_row exit '/# incomplete/'
			told=$((told + 1))
		fi
	done
	[ "$nth" -gt 3 ]
	# at least for either LWP
	[ "$again" -ge 2 ]
	[ "$faults" -ge 2 ]
	[ "$told" -ge 2 ]
}

@test "where process_vm_readv(2) is forbidden the libraries are found" {
	need_command strace
	need_unsanitized "LeakSanitizer does not work under strace"
	injected process_vm_readv:error=EPERM
	grep -q INJECTED "$T/strace"
	right
}

@test "files with tables that would need much time or memory" {
	cat >"$P/maps.c" <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			char byte;
			int fd = open(argv[argc - 1], O_RDONLY);
			if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
				return 1;
			puts("ready");
			fflush(stdout);
			return read(0, &byte, 1) == -1;
		}
	END
	gcc -o "$P/maps" "$P/maps.c"
	"$WORK/make-elf" sparse "$P/sparse"
	"$WORK/make-elf" endless "$P/endless"
	"$WORK/make-elf" compressed "$P/compressed"
	launch "$P/maps" "$P/sparse"
	attach
	refused "'$P/sparse', which may have the symbol, cannot be read: reading its symbols takes too much memory"
	launch "$P/maps" "$P/compressed"
	attach
	refused "'$P/compressed', which may have the symbol, cannot be read: its symbols are compressed, or their names are not there"
	# A name of megabytes costs no more than a short one: the limit is in seconds of CPU time.
	ulimit -t 5
	launch "$P/maps" "$P/endless"
	attach
	[ "$stderr" = "cputrack: cannot count '$EVENT': the program has no symbol 'hit'" ]
}

@test "32-bit programs" {
	linker=/lib/ld-linux.so.2
	[ "$(uname -m)" = x86_64 ] && [ -e "$linker" ] || skip "no 32-bit dynamic linker here"
	mkdir -p "$P/32"
	cat >"$P/32/main.c" <<-'END'
		void hit(void), b_hit(void);
		static long call(long n, long a, long b, long c)
		{
			long ret;
			__asm__ volatile("push %%ebx; mov %2, %%ebx; int $0x80; pop %%ebx"
					 : "=a"(ret) : "a"(n), "r"(a), "c"(b), "d"(c) : "memory");
			return ret;
		}
		void _start(void)
		{
			char byte;
			call(4, 1, (long)"ready\n", 6);
			call(3, 0, (long)&byte, 1);
			for (int i = 0; i < 110; i++)
				hit();
			for (int i = 0; i < 7; i++)
				b_hit();
			call(1, 0, 0, 0);
			__builtin_unreachable();
		}
	END
	gcc -m32 -O1 -nostdlib -shared -fPIC -o "$P/32/liba.so" "$P/a.c"
	gcc -m32 -O1 -nostdlib -shared -fPIC -Wl,-Bsymbolic -o "$P/32/libb.so" "$P/b.c"
	gcc -m32 -O1 -fno-stack-protector -nostdlib -fno-pie -no-pie -o "$P/32/main" \
		"$P/32/main.c" -L"$P/32" -Wl,--no-as-needed -la -lb -Wl,-rpath,"\$ORIGIN" \
		-Wl,--dynamic-linker="$linker"
	go -0 cputrack -T 0 -o "$ROWS" -c "$EVENT" "$P/32/main" <<<g
	[ "$(rows_of exit | awk '{ print $4 }')" = 110 ]
	launch "$P/32/main"
	attach
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ "$(rows_of exit | awk '{ print $4 }')" = 110 ]
}
