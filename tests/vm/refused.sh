#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# refused.sh REASON - a kernel in which nothing can be counted by BPF programs: the reason, and that
# auto counts by ptrace(2); as root.
# shellcheck disable=SC1091,SC2154 # a file of its own, and what it sets
. ./check.sh
mount -t securityfs securityfs /sys/kernel/security

run cputrack --engine=kernel -c page-faults true
reports "kernel" 1 "^cputrack: cannot count in the kernel: $1 \\(--engine=ptrace can\\)\$"
run cputrack -D -c page-faults true
check "auto" grep -qxF "cputrack: counts with ptrace(2); not in the kernel: $1" "$err"
run cputrack -c page-faults touch-pages 1000
same "counted by ptrace" "$status" 0
check "counted by ptrace: no fewer than are known" [ "$(counts exit)" -ge 1000 ]

# ---- counts of CPUs are divided in the kernel alone ----
run cpustat -A command -c page-faults 0.1 1
reports "keys" 1 "^cpustat: cannot divide the counts by command: $1\$"
finish
