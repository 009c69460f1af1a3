#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# each.sh "TEST [OPERAND]..."... - run tests one after the other; status 1 when one of them failed.
# shellcheck disable=SC2086 # words
status=0
for test; do
	echo "== $test"
	$test || status=1
done
exit $status
