#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# x86-kinds.sh - known counts on any number of CPUs, half of which are of the second kind:
# vm -a x86_64 -n 8 -c Skylake-Client,model=254 -P "atom=4-7 general=8".
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./x86.sh

exact ptrace
exact kernel
divided
start cpustat -A kind -c instructions,cycles 0.5
drive -m "$list" -r $((2 * cpus)) 0xc0:1000 0x3c:2000
end
same "cpustat -A kind" "$(ticks_of cpu_core) $(ticks_of cpu_atom)" \
	"$((cpus * 1000)) $((cpus * 2000)) 0 $((cpus * 1000)) $((cpus * 2000)) 0"
none_in_use
finish
