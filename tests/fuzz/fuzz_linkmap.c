/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The list of libraries in the memory of a process.  The input is that memory, from
 * address BASE on, but for its first byte: the width of words and where r_debug is.
 */
#include "fuzz.h"

#include "../../libcpc/symbol/linkmap.h"

#include <errno.h>

#define BASE 0x1000

struct input {
	const uint8_t *data;
	size_t size;
	size_t reads;
};

static bool read_input(void *arg, uint64_t addr, void *buf, size_t n)
{
	struct input *input = arg;

	input->reads++;
	if (addr < BASE || addr - BASE > input->size || n > input->size - (addr - BASE)) {
		errno = EFAULT;
		return false;
	}
	memcpy(buf, input->data + (addr - BASE), n);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data + 1, size > 0 ? size - 1 : 0, 0};
	struct cpci_memory memory = {read_input, &input, size > 0 && (data[0] & 1) != 0 ? 4 : 8};
	struct cpci_linkmap map;
	uint64_t addr = BASE;

	if (size > 0 && (data[0] & 2) != 0 &&
	    cpci_linkmap_find(&memory, BASE, input.size, &addr) == -1) {
		must(errno == EBADMSG);
		return 0;
	}
	if (cpci_linkmap_read(&map, &memory, addr) == -1) {
		must(errno == EBADMSG || errno == EFBIG);
		must(map.n == 0 && map.object == NULL);
	} else {
		/* No part of memory is an entry twice in a list. */
		must(map.n <= 64 * (input.size / memory.width));
		must(map.state != CPCI_LINKMAP_NONE || map.n == 0);
	}
	must(input.reads < 1000000);
	cpci_linkmap_free(&map);
	return 0;
}
