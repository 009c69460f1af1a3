/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * utf8.c - text in UTF-8 (RFC 3629).
 */
#include "utf8.h"

#include "util.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

size_t utf8_decode(const char *s, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *u = (const unsigned char *)s;
	size_t n = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;

	*c = n < 2 ? u[0] : u[0] & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			n = 0;
		*c = *c << 6 | (u[i] & 0x3f);
	}
	if (n == 0 || *c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000)) {
		*c = 0xfffd;
		return 1;
	}
	return n;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

char *utf8_clean(const char *text, char keep)
{
	char *clean = xrealloc(NULL, strlen(text) * strlen(REPLACEMENT) + 1), *to = clean;
	uint32_t c;

	while (*text != '\0') {
		size_t n;
		bool good;

		if (*text >= ' ' && *text <= '~') { /* most are */
			*to++ = *text++;
			continue;
		}
		n = utf8_decode(text, &c);
		good = c != 0xfffd && (!is_control(c) || *text == keep);

		memcpy(to, good ? text : REPLACEMENT, good ? n : strlen(REPLACEMENT));
		to += good ? n : strlen(REPLACEMENT);
		text += n;
	}
	*to = '\0';
	return clean;
}
