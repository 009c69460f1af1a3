/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * utf8.h - text in UTF-8 (RFC 3629).
 */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the character at `s` and returns its length.  Invalid UTF-8: U+FFFD and 1. */
size_t utf8_decode(const char *s, uint32_t *c);

/*
 * Returns text in which bytes that are not UTF-8, and control characters except `keep`, are U+FFFD.
 * Free it.
 */
char *utf8_clean(const char *text, char keep);

#endif /* UTF8_H */
