#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# package.sh - the programs of the package for Arm64, unpacked in usr, and faults, built with
# the files of libcpc-dev.
# shellcheck disable=SC1091,SC2154 # a file of its own, and its variables
. ./check.sh

run usr/bin/cputrack --version
check "the version" grep -qE '^cputrack [0-9.]+ [(]engines: kernel, ptrace[)]$' "$out"
run usr/bin/cputrack -T 0 -c Instr_cnt bare
same "it counts each instruction" "$(counts exit)" 1000000
run usr/bin/cpustat -c Instr_cnt 0.1 1
same "cpustat counts" "$status" 0
run ./faults
same "a program of another project counts" "$(cat "$out")" 100
finish
