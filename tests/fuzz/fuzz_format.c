/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Formats of fields, "config1:0-7,32-35": 8 bytes are the value, the rest is the format.
 */
#include "fuzz.h"

#include "../../libcpc/perf/perf.h"

static int count_bits(const struct perf_event_attr *t, uint64_t invert)
{
	return __builtin_popcountll(t->config ^ invert) +
	       __builtin_popcountll(t->config1 ^ invert) +
	       __builtin_popcountll(t->config2 ^ invert);
}

static void put(const char *format, uint64_t val)
{
	struct perf_event_attr zero = {0}, ones = {.config = UINT64_MAX,
						   .config1 = UINT64_MAX,
						   .config2 = UINT64_MAX};
	uint64_t max, max_again;
	bool fits = cpci_pmu_put_bits(&zero, format, val, &max);
	int width;

	must(fits == (val <= max));
	must((max & (max + 1)) == 0);
	width = __builtin_popcountll(max);
	/* What a field is set to does not depend on what was there; one word is touched. */
	must(cpci_pmu_put_bits(&ones, format, val, &max_again) == fits && max == max_again);
	must((zero.config != 0) + (zero.config1 != 0) + (zero.config2 != 0) <= 1);
	must((ones.config != UINT64_MAX) + (ones.config1 != UINT64_MAX) +
		     (ones.config2 != UINT64_MAX) <=
	     1);
	/* Where no bit is named twice, all of the value is there. */
	if (fits && width < 64 && count_bits(&zero, 0) + count_bits(&ones, UINT64_MAX) == width)
		must(count_bits(&zero, 0) == __builtin_popcountll(val));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t val;
	char *format;

	if (size < sizeof(val))
		return 0;
	memcpy(&val, data, sizeof(val));
	format = fuzz_text(data + sizeof(val), size - sizeof(val));
	put(format, val);
	free(format);
	return 0;
}
