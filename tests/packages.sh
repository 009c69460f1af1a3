#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# packages.sh - install, upgrade, use and purge the packages in debs; as root, in tests/debian.
# shellcheck disable=SC1091,SC2154 # a file of its own, and its variables
. ./check.sh

# All files except dpkg's own log and backups.
files() {
	find / -xdev \( -path /w -o -path /tmp -o -path /var/log/dpkg.log -o -path '/var/lib/dpkg/*-old' \) \
		-prune -o -print | sort
}

files >/tmp/before
tools=$(echo debs/cpc-tools_*.deb)
version=$(dpkg-deb -f "$tools" Version)

# An older version, with a file that went since.
mkdir -p /tmp/old/usr/share/cpc
dpkg-deb -R "$tools" /tmp/old
sed -i 's/^Version: .*/Version: 0.0.1-1/; /^Depends:/d' /tmp/old/DEBIAN/control
echo old >/tmp/old/usr/share/cpc/gone.def
dpkg-deb -b /tmp/old /tmp/old.deb >/dev/null
run dpkg -i /tmp/old.deb
same "an older version is installed" "$status" 0
check "with its file" [ -e /usr/share/cpc/gone.def ]

# cpcplot alone needs gnuplot, which is not in this system.
run dpkg -i debs/cpcplot_*.deb
same "cpcplot without gnuplot is refused" "$status" 1
check "with the reason" grep -q 'cpcplot depends on gnuplot-nox' "$err"
run dpkg -P cpcplot

mv debs/cpcplot_*.deb /tmp
run dpkg -i debs/*.deb
same "it is upgraded, and the others installed" "$status" 0
check "no program needs what is not there" [ ! -e /usr/bin/cpcplot ]
for program in /usr/bin/cpu* /usr/bin/cpc-* /usr/bin/ovfprof; do
	run "$program" -h
	same "$program -h" "$status" 0
done
same "the version is the new one" "$(dpkg-query -W -f '${Version} ${Status}' cpc-tools)" \
	"$version install ok installed"
check "the file went" [ ! -e /usr/share/cpc/gone.def ]
lib=libcpc${version%.*} # as its SONAME
run dpkg -V cpc-tools "$lib" libcpc-dev python3-cpc
same "files are as packed" "$(cat "$out")" ""

run cputrack --version
same "cputrack prints its version" "$(cat "$out")" "cputrack ${version%-*} (engines: kernel, ptrace)"
run cputrack -T 0 -c page-faults true
same "cputrack counts" "$status" 0
check "page faults" [ "$(counts exit)" -gt 0 ]
run ovfprof -m 0 -e page-faults -p 1 true
same "ovfprof profiles" "$status" 0
check "page faults, and says why they have no names" grep -qE '^# .* has no symbols: ' "$err"
check "for it has samples" grep -qE '^# [1-9][0-9]* page-faults in ' "$err"
run cpustat -c page-faults 0.01 1
same "cpustat counts" "$status" 0
check "page faults claim no CPU" [ ! -e /run/cpc ]

same "a program needs no directories" "$(pkg-config --cflags --libs libcpc libpctx | sed 's/ *$//')" "-lcpc -lpctx"
run gcc -Wall -Wextra -Werror -o /tmp/faults stranger/faults.c -lcpc
same "a program is built with libcpc-dev" "$status" 0
run /tmp/faults
same "and counts" "$(cat "$out")" 100
# shellcheck disable=SC2046 # words
run gcc -Wall -Wextra -Werror -static -o /tmp/faults stranger/faults.c $(pkg-config --static --libs libcpc)
same "a program is built of archives alone" "$status" 0
run /tmp/faults
same "and counts" "$(cat "$out")" 100

cat >/tmp/faults.py <<'END_PY'
import cpc, mmap

def touch():
    pages = mmap.mmap(-1, 100 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    with cpc.counting("page-faults") as c:
        for i in range(0, len(pages), mmap.PAGESIZE):
            pages[i] = 1
    return c["page-faults"]

touch() # Python itself touches pages when it does something for the first time
print(touch(), cpc.__file__)
END_PY
run python3 /tmp/faults.py
same "Python counts" "$(cat "$out")" "100 /usr/lib/python3/dist-packages/cpc.py"

# Debian's other cpustat.
mkdir -p /tmp/cpustat/DEBIAN
printf '%s\n' 'Package: cpustat' 'Version: 1' 'Architecture: all' 'Maintainer: another <none@cpc.invalid>' \
	'Description: another tool' >/tmp/cpustat/DEBIAN/control
dpkg-deb -b /tmp/cpustat /tmp/cpustat.deb >/dev/null
run dpkg -i /tmp/cpustat.deb
same "the other cpustat is refused" "$status" 1
check "with the reason" grep -q 'cpc-tools conflicts with cpustat' "$err"

run dpkg -P cpc-tools "$lib" libcpc-dev python3-cpc
same "the packages are purged" "$status" 0
same "there is no message" "$(cat "$err")" ""
files >/tmp/after
run diff /tmp/before /tmp/after
same "nothing is left" "$(cat "$out")" ""
finish
