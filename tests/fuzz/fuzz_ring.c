/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The ring buffer of overflows, as the kernel and a program that goes astray may leave it.  The
 * input is what it holds, but for its first 8 bytes: what records tell, where the oldest one is,
 * and where they end.
 */
#include "fuzz.h"

#include "../../libcpc/perf/perf.h"

#define FRAMES 127

/* Takes all records, as the library does.  Returns whether there were records only. */
static bool take_all(const struct cpci_ring *ring, uint32_t at, uint32_t head)
{
	uint64_t frame[FRAMES + 1];
	struct cpci_record rec;

	frame[FRAMES] = 0x5a5a5a5a;
	while (at != head) {
		uint32_t n, nkernel;

		if (!cpci_ring_parse(ring, at, head, &rec))
			return false;
		must(rec.nwords > 0 && rec.nwords <= head - at);
		at += rec.nwords;
		if (rec.kind != CPCI_RECORD_SAMPLE)
			continue;
		n = cpci_ring_stack(ring, &rec, frame, FRAMES, &nkernel);
		must(n <= FRAMES && n <= rec.nchain && nkernel <= n);
		must(rec.nchain < rec.nwords);
		must(frame[FRAMES] == 0x5a5a5a5a);
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cpci_ring ring = {.nwords = 1};
	uint32_t at, head;
	uint64_t *word;

	if (size < 8)
		return 0;
	ring.sample_type = ((data[0] & 1) != 0 ? (uint64_t)PERF_SAMPLE_CALLCHAIN : 0) |
			   ((data[0] & 2) != 0 ? (uint64_t)PERF_SAMPLE_PHYS_ADDR : 0);
	/* Positions go round at 2^32, too. */
	at = (uint32_t)((data[0] & 4) != 0 ? 0U - data[1] : data[1]);
	head = at + (uint32_t)(data[2] | data[3] << 8);
	data += 8;
	size -= 8;
	while (ring.nwords * 2 * sizeof(uint64_t) <= size)
		ring.nwords *= 2;
	word = calloc(ring.nwords, sizeof(*word));
	if (word == NULL)
		err(1, NULL);
	memcpy(word, data, size < ring.nwords * sizeof(*word) ? size : ring.nwords * sizeof(*word));
	ring.word = word;
	if (take_all(&ring, at, head))
		must(head - at <= ring.nwords);
	free(word);
	return 0;
}
