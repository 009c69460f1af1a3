/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * fuzz.h - what the fuzzers share: each defines LLVMFuzzerTestOneInput, which aborts
 * when a property that holds for every input is violated.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <bsd/stdlib.h>
#include <err.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(cond)                                                                         \
	do {                                                                               \
		if (!(cond)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                           \
		}                                                                          \
	} while (0)

/* The input as a string, which ends at its first NUL byte; to be freed. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	if (text == NULL)
		err(1, NULL);
	return text;
}

#endif /* FUZZ_H */
