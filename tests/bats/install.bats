#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Copyright (c) 2026 The cpc authors
#
# What is installed works where it was put.

# shellcheck disable=SC2030,SC2031,SC2154 # run sets status, output, stderr, lines

load helpers

setup() {
	common_setup
	go -0 cmake --install "$CPC_BUILD" --prefix "$T/at"
}

@test "the programs find their libraries" {
	track -0 -T 0 -c page-faults "$WORK/touch-pages" 100
	here=$(sum_of exit)
	PATH=$T/at/bin:/usr/bin:/bin
	go -0 cputrack -T 0 -c page-faults -o "$ROWS" "$WORK/touch-pages" 100
	[ "$(sum_of exit)" -ge 100 ]
	[ $(($(sum_of exit) - here)) -le 10 ]
}

@test "setcap cap_perfmon=ep lets ordinary users run an installed cpustat" {
	need_unsanitized "LeakSanitizer does not work in privileged programs"
	[ "$(id -u)" = 0 ] || skip "giving capabilities takes root"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR" 2>/dev/null || :
	setcap cap_perfmon=ep "$T/at/bin/cpustat" || skip "no file capabilities on this file system"
	AS_USER=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${AS_USER[@]}" test -x "$T/at/bin/cpustat" || skip "other users cannot reach $T"
	setpriv --bounding-set=-perfmon true || skip "no CAP_PERFMON to give"
	go -0 "${AS_USER[@]}" "$T/at/bin/cpustat" -c context-switches 0.05 1
	[[ $output == *total* ]]
}

@test "a program of one's own is built with what pkg-config says" {
	need_unsanitized "sanitized libraries want a sanitized program"
	export PKG_CONFIG_PATH
	PKG_CONFIG_PATH=$(dirname "$(find "$T/at" -name libcpc.pc)")
	cat >"$T/own.c" <<'END_C'
#include <inttypes.h>
#include <libcpc.h>
#include <stdio.h>
#include <sys/mman.h>

int main(void)
{
	cpc_t *cpc = cpc_open(CPC_VER_CURRENT);
	cpc_set_t *set = cpc_set_create(cpc);
	int faults = cpc_set_add_request(cpc, set, "page-faults", 0, CPC_COUNT_USER, 0, NULL);
	cpc_buf_t *before = cpc_buf_create(cpc, set), *after = cpc_buf_create(cpc, set);
	volatile char *p = mmap(NULL, 4096 * 100, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t count;

	madvise((void *)p, 4096 * 100, MADV_NOHUGEPAGE);
	cpc_bind_curlwp(cpc, set, 0);
	cpc_set_sample(cpc, set, before);
	for (int i = 0; i < 100; i++)
		p[4096 * i] = 1;
	cpc_set_sample(cpc, set, after);
	cpc_buf_sub(cpc, after, after, before);
	cpc_buf_get(cpc, after, faults, &count);
	printf("%" PRIu64 "\n", count);
	return cpc_close(cpc);
}
END_C
	# shellcheck disable=SC2046 # words
	"${CC:-cc}" -Wall -Wextra -Werror -o "$T/own" "$T/own.c" $(pkg-config --cflags --libs libcpc)
	go -0 "$T/own"
	[ "$output" = 100 ]
}
