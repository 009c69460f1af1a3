#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# Output files beside hostile users, under mounts and in the hands of other programs.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	# Where other users can reach it.
	P=$(mktemp -d "${TMPDIR:-/tmp}/cpc-files.XXXXXX")
	chmod 755 "$P"
	cp "$CPC_BUILD/cputrack" "$WORK/thread-pool" "$WORK/probe" "$P"
	mkdir "$P/own"
	AS_USER=(env)
	if [ "$(id -u)" = 0 ]; then
		AS_USER=(setpriv --reuid=65534 --regid=65534 --clear-groups)
		need_reachable "$P"
		mkdir -m 755 "$P/theirs" "$P/private"
		mkdir -m 1777 "$P/shared"
		chown 65534:65534 "$P/theirs"
		echo precious >"$P/private/file"
		chmod 600 "$P/private/file"
	fi
	cd "$P" || return
}

teardown() {
	common_teardown
	rm -rf "$P"
}

user() {
	"${AS_USER[@]}" "$@"
}

unharmed() {
	[ "$(cat private/file)" = precious ]
	[ "$(stat -c '%a %u' private/file)" = "600 0" ]
	[ "$(ls -A private)" = file ]
}

# All ways of cputrack to write file $1 are refused before the command starts, with the message $2.
refused() {
	local how
	for how in -o -O "--format=openmetrics -o" "--append -o"; do
		# shellcheck disable=SC2086 # words
		go -1 cputrack $how "$1" -c page-faults touch proof
		[ "$stderr" = "cputrack: cannot write '$1': $2" ]
		[ ! -e proof ]
	done
}

@test "root follows no link of another user, at the end of a path or in it" {
	need_root
	local why="of user 65534 is not followed; name its target"
	user ln -s "$P/private/file" theirs/out
	user ln -s "$P/private" theirs/dir
	user ln -s "$P/private/file" shared/out
	user ln -s "$P/private/new" theirs/new
	refused theirs/out "the link 'out' $why"
	refused "$P/theirs/dir/file" "the link 'dir' $why"
	refused theirs/../theirs/dir/new "the link 'dir' $why"
	refused shared/out "the link 'out' $why"
	refused theirs/new "the link 'new' $why"
	# through a link of our own
	ln -s theirs/out own/link
	refused own/link "No such file or directory"
	ln -sf ../theirs/out own/link
	refused own/link "the link 'out' $why"
	unharmed
	# a second name of a link of ours
	ln -s "$P/private/file" own/second
	if ln -P own/second shared/second; then
		refused shared/second "the link 'second' of user 0, which has two names, is not followed; name its target"
		unharmed
	fi
	# our own links lead on, also in a directory of theirs
	ln -s ../private/file theirs/ours
	go -0 cputrack -o theirs/ours -c page-faults true
	[ "$(wc -l <private/file)" -eq 2 ]
}

@test "the other programs do not follow them either" {
	need_root
	local why="the link 'l.html' of user 65534 is not followed; name its target"
	user ln -s "$P/private/file" theirs/l.html
	if "$WORK/probe" cpu; then
		go -1 cpustat --format=csv -o theirs/l.html -c page-faults 0.01 1
		[ "$stderr" = "cpustat: cannot write 'theirs/l.html': $why" ]
	fi
	go -1 cpc-events -o theirs/l.html import "$BATS_TEST_DIRNAME/../import/arm.json"
	[ "${stderr_lines[-1]}" = "cpc-events: cannot write 'theirs/l.html': $why" ]
	go -0 env CPC_REGIONS=table:theirs/l.html "$WORK/regions" nested 1
	[ "${stderr_lines[0]}" = "cpc_region: cannot write 'theirs/l.html': $why" ]
	if [ -x "$CPC_BUILD/cpcplot" ]; then
		go -0 cputrack -O run.json -c page-faults true
		go -1 cpcplot --html -o theirs/l.html run.json
		[ "$stderr" = "cpcplot: cannot write 'theirs/l.html': $why" ]
		go -1 cpcplot -o theirs/none/l.html run.json
		[ "$stderr" = "cpcplot: cannot write 'theirs/none/l.html': No such file or directory" ]
	fi
	if [ -x "$CPC_BUILD/examples/ovfprof/ovfprof" ]; then
		go -1 "$CPC_BUILD/examples/ovfprof/ovfprof" -e task-clock -o theirs/l.html true
		[[ $stderr == "ovfprof: cannot write 'theirs/l.html': it is a link, and other users can change its directory;"* ]]
	fi
	unharmed
}

@test "in a shared directory, files of other users and second names of ours are refused" {
	need_root
	user mkfifo shared/fifo
	user sh -c 'umask 0; echo theirs >shared/file; echo own >theirs/file'
	refused shared/file \
		"it belongs to user 65534, in a directory where other users can write; remove it or choose another directory"
	refused shared/fifo \
		"it belongs to user 65534, in a directory where other users can write; remove it or choose another directory"
	[ "$(cat shared/file)" = theirs ]
	ln private/file shared/hard
	go -1 cputrack -o shared/hard -c page-faults true
	[ "$stderr" = "cputrack: cannot write 'shared/hard': it has 2 names (hard links), in a directory where other users can write; remove it or choose another directory" ]
	# what is replaced is the name
	go -0 cputrack --format=openmetrics -o shared/hard -c page-faults true
	unharmed
	[ "$(stat -c '%a %h' shared/hard)" = "600 1" ]
	# a user's file in a directory of this user stays the user's
	for how in "-o" "--format=openmetrics -o"; do
		# shellcheck disable=SC2086 # words
		go -0 cputrack $how theirs/file -c page-faults true
		[ "$(stat -c '%a %u %g' theirs/file)" = "666 65534 65534" ]
	done
	grep -qx '# EOF' theirs/file
	# a name that other users can predict does not stop us
	user sh -c 'mkdir theirs/.m.prom.new; mkdir shared/.m.prom.new'
	go -0 cputrack --format=openmetrics -o theirs/m.prom -c page-faults true
	go -0 cputrack --format=openmetrics -o shared/m.prom -c page-faults true
	[ "$(ls -A theirs)" = "$(printf '%s\n' .m.prom.new file m.prom)" ]
}

@test "a directory that is renamed meanwhile: the file stays in it" {
	need_root
	local first
	user mkdir theirs/logs
	start ct ./cputrack --engine=ptrace -T 0.02 --format=openmetrics -o theirs/logs/file -c page-faults ./thread-pool 1
	eventually test -s theirs/logs/file
	user sh -c "mv theirs/logs theirs/old; ln -s '$P/private' theirs/logs"
	first=$(stat -c %i theirs/old/file)
	eventually newer "$first"
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	unharmed
	[ "$(ls -A theirs/old)" = file ]
}

newer() {
	[ "$(stat -c %i theirs/old/file)" != "$1" ]
}

@test "a replaced file keeps its mode, owner and group; a link stays" {
	local how
	for how in cputrack plot; do
		[ "$how" = cputrack ] || [ -x "$CPC_BUILD/cpcplot" ] || continue
		rm -rf own/*
		echo old >own/real
		chmod 640 own/real
		[ "$(id -u)" != 0 ] || chown 65534:65533 own/real
		ln -s real own/link.html
		if [ "$how" = cputrack ]; then
			go -0 cputrack --format=openmetrics -O run.json -o own/link.html -c page-faults true
			grep -qx '# EOF' own/real
		else
			go -0 cpcplot -o own/link.html run.json
			grep -q '</html>' own/real
		fi
		[ -L own/link.html ]
		[ "$(stat -c '%a %h' own/real)" = "640 1" ]
		[ "$(id -u)" != 0 ] || [ "$(stat -c '%u %g' own/real)" = "65534 65533" ]
		[ "$(ls -A own)" = "$(printf '%s\n' link.html real)" ]
	done
}

@test "extended attributes and an access control list stay; a default one of the directory does not widen the mode" {
	local acl=system.posix_acl_access
	echo old >own/real
	chmod 640 own/real
	attribute own/real $acl "$(acl 4 65533:6)" 2>/dev/null || skip "no access control lists here"
	attribute own/real user.note kept
	attribute own/real >before
	grep -q $acl before
	go -0 cputrack --format=openmetrics -o own/real -c page-faults true
	attribute own/real | cmp - before
	grep -qx '# EOF' own/real
	rm own/real
	echo old >own/real
	chmod 640 own/real
	attribute own system.posix_acl_default "$(acl 4 65533:6)"
	go -0 cputrack --format=openmetrics -o own/real -c page-faults true
	[ "$(stat -c %a own/real)" = 640 ]
	[ -z "$(attribute own/real)" ]
	# a new file gets it
	go -0 cputrack --format=openmetrics -o own/new -c page-faults true
	attribute own/new | grep -q $acl
}

# attribute FILE [NAME VALUE]: sets an extended attribute, or prints all but those of security modules.
attribute() {
	python3 -c '
import os, sys
path, *new = sys.argv[1:]
if new:
    os.setxattr(path, new[0], os.fsencode(new[1]) if new[0][:5] == "user." else bytes.fromhex(new[1]))
for name in [] if new else sorted(os.listxattr(path)):
    if not name.startswith("security."):
        print(name, os.getxattr(path, name).hex())' "$@"
}

# acl GROUP UID:PERMISSIONS: an access control list with another user, as the kernel has it, in hexadecimal.
acl() {
	python3 -c '
import struct, sys
uid, perm = map(int, sys.argv[2].split(":"))
none = 2**32 - 1
print((struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in
      ((1, 6, none), (2, perm, uid), (4, int(sys.argv[1]), none), (16, 6, none), (32, 0, none)))).hex())' "$@"
}

@test "a user's own links lead on; a file in a directory that may not be written is written in place" {
	[ "$(id -u)" != 0 ] || chown 65534:65534 own
	why=$(user ./probe soft) && why=$(user ./probe ptrace) || skip "an ordinary user cannot track here: $why"
	user sh -c 'cd own && echo old >real && ln -s real link && ln -s none new'
	go -0 "${AS_USER[@]}" ./cputrack --format=openmetrics -o own/link -c page-faults true
	[ -L own/link ]
	grep -qx '# EOF' own/real
	go -0 "${AS_USER[@]}" ./cputrack -o own/new -c page-faults true
	[ "$(wc -l <own/none)" -eq 2 ]
	# longer contents before
	user sh -c 'seq 10000 >own/real; chmod 555 own'
	go -0 "${AS_USER[@]}" ./cputrack --format=openmetrics -o own/real -c page-faults true
	grep -qx '# EOF' own/real
	[ "$(wc -l <own/real)" -lt 20 ]
	go -1 "${AS_USER[@]}" ./cputrack --format=openmetrics -o own/other -c page-faults touch proof
	[ "$stderr" = "cputrack: cannot write 'own/other': Permission denied" ]
	user chmod 755 own
	user sh -c 'ln -s link2 own/link1; ln -s link1 own/link2'
	go -1 "${AS_USER[@]}" ./cputrack -o own/link1 -c page-faults true
	[ "$stderr" = "cputrack: cannot write 'own/link1': Too many levels of symbolic links" ]
	go -1 "${AS_USER[@]}" ./cputrack -o own/real/x -c page-faults true
	[ "$stderr" = "cputrack: cannot write 'own/real/x': Not a directory" ]
	go -1 "${AS_USER[@]}" ./cputrack -o own/none/ -c page-faults true
	[ "$stderr" = "cputrack: cannot write 'own/none/': Is a directory" ]
}

@test "a file that is a mount point is written in place, or refused before the start" {
	need_root
	unshare -m true 2>/dev/null || skip "no namespaces can be made"
	seq 10000 >other
	: >mounted
	# shellcheck disable=SC2016 # for the inner shell
	go -0 unshare -m sh -c 'mount --bind other mounted && exec "$@"' sh \
		./cputrack -T 0.02 --format=openmetrics -o mounted -c page-faults sleep 0.1
	[ -z "$stderr" ]
	[ "$(tail -n 1 other)" = '# EOF' ]
	[ "$(grep -c '# EOF' other)" -eq 1 ]
	[ ! -s mounted ]
	# shellcheck disable=SC2016 # for the inner shell
	go -1 unshare -m sh -c 'mount --bind other mounted && mount -o remount,bind,ro mounted && exec "$@"' sh \
		./cputrack --format=openmetrics -o mounted -c page-faults touch proof
	[ "$stderr" = "cputrack: cannot write 'mounted': Read-only file system" ]
	[ ! -e proof ]
	# the directory only
	# shellcheck disable=SC2016 # for the inner shell
	go -0 unshare -m sh -c 'mount --bind own own && : >own/mounted && mount --bind other own/mounted &&
		mount -o remount,bind,ro own && exec "$@"' sh \
		./cputrack --format=openmetrics -o own/mounted -c page-faults true
	[ "$(tail -n 1 other)" = '# EOF' ]
	[ -z "$(find . -name '.*.new')" ]
}

@test "a file has one writer" {
	local how
	for how in -o -O "--format=openmetrics -o"; do
		rm -f file
		# shellcheck disable=SC2086 # words
		start ct ./cputrack --engine=ptrace -T 0.02 $how "$P/file" -c page-faults ./thread-pool 1
		eventually test -s file
		# shellcheck disable=SC2086 # words
		go -1 cputrack $how file -c page-faults touch proof
		[ "$stderr" = "cputrack: cannot write 'file': cputrack (pid ${PIDS[ct]}) is writing it" ]
		[ ! -e proof ]
		hang_up ct
		finish ct
		[ "$status" -eq 0 ]
		# shellcheck disable=SC2086 # words
		go -0 cputrack $how file -c page-faults true
	done
	# A descriptor is shared, by intent.
	go -0 sh -c "cputrack -T 0 -n -o /dev/fd/3 -c page-faults sh -c 'cputrack -T 0 -n -o /dev/fd/3 -c page-faults true' 3>file"
	[ "$(wc -l <file)" -eq 2 ]
}

@test "two that begin at the same time: one writes each row once, the other is refused" {
	local n same
	need cpu
	for _ in {1..10}; do
		rm -f file record*
		for n in 1 2; do
			start "cs$n" cpustat -n -o file -O "record$n" -c page-faults 0.05 4
		done
		same=0
		for n in 1 2; do
			finish "cs$n"
			if [ "$status" -eq 1 ]; then
				grep -qxE "cpustat: cannot write 'file': (cpustat \(pid [0-9]+\)|another program) is writing it" "$T/cs$n.err"
				[ ! -e "record$n" ]
				continue
			fi
			[ "$status" -eq 0 ]
			go -0 "$CPC_BUILD/cpustat" -n -I "record$n"
			[ "$(cat file)" != "$output" ] || same=$((same + 1))
		done
		# one of them, also if the second began after the end of the first
		[ "$same" -eq 1 ]
	done
}

@test "two that append to one descriptor, more than a buffer at a time: all rows are whole" {
	local n
	for n in 1 2; do
		# shellcheck disable=SC2016 # for the inner shell
		start "ct$n" sh -c 'exec 3>>file; exec cputrack --format=csv -n -T 0.05 -N 4 -o /dev/fd/3 -O "$0" \
			-c page-faults,context-switches,task-clock,minor-faults ./thread-pool 500' "record$n"
		hang_up "ct$n"
	done
	for n in 1 2; do
		finish "ct$n"
		[ "$status" -eq 0 ]
		cputrack -I "record$n" --format=csv -n >>rows
	done
	[ "$(stat -c %s rows)" -gt $((2 * 65536)) ]
	sort rows | cmp - <(sort file)
}

@test "a file that another program copies and truncates has no gap" {
	start ct ./cputrack --engine=ptrace -n -T 0.02 -o "$P/file" -c page-faults ./thread-pool 1
	eventually longer_than 400
	cp file copy
	truncate -s 0 file
	eventually longer_than 100
	hang_up ct
	finish ct
	[ "$status" -eq 0 ]
	[ "$(tr -d -c '\0' <file | wc -c)" -eq 0 ]
	[ "$(grep -cvE '^ *[0-9.]+ +[0-9]+ +(tick|lwp_exit|exit) +[0-9]+ $' file)" = 0 ]
}

longer_than() {
	[ "$(stat -c %s file)" -gt "$1" ]
}
