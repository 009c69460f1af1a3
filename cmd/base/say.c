/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * say.c - messages on stderr, and text of others made harmless.
 */
#include "say.h"

#include "util.h"

#define LIBBSD_NETBSD_VIS /* libbsd has two strnvis(3) and wants to know which; none is used */
#include <bsd/vis.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPED_MAX 4 /* bytes that a byte can become: \M^[ */
_Static_assert(ESCAPED_SIZE(1) == ESCAPED_MAX + 1, "as say.h promises");

static bool is_plain(char c)
{
	return c >= ' ' && c <= '~' && c != '\\';
}

/* Returns the length; the result has no NUL at its end. */
static size_t escape(char to[ESCAPED_MAX], char c)
{
	char text[ESCAPED_MAX + 1];
	size_t n;

	/* vis(3) allocates memory, and returns NULL when there is none. */
	if (is_plain(c) || vis(text, (unsigned char)c, VIS_CSTYLE | VIS_NL | VIS_TAB, 0) == NULL) {
		to[0] = is_plain(c) ? c : '?';
		return 1;
	}
	n = strlen(text);
	memcpy(to, text, n);
	return n;
}

void put_escaped(FILE *f, const char *text)
{
	char c[ESCAPED_MAX];
	size_t n;

	while (*text != '\0') {
		for (n = 0; is_plain(text[n]); n++)
			;
		if (n > 0) {
			fwrite(text, 1, n, f);
			text += n;
		} else {
			n = escape(c, *text++);
			fwrite(c, 1, n, f);
		}
	}
}

size_t escape_text(char *to, size_t size, const char *text, enum escape how)
{
	char c[ESCAPED_MAX];
	size_t n = 0;

	for (; *text != '\0'; text++) {
		size_t len = how == ESCAPE_WORD && *text == ' ' ? 2 : escape(c, *text);

		if (how == ESCAPE_WORD && *text == ' ')
			memcpy(c, "\\s", len);
		if (n + len >= size)
			break;
		memcpy(to + n, c, len);
		n += len;
	}
	to[n] = '\0';
	return n;
}

/* In one piece, so that lines of several programs do not mix. */
void vsay(const char *fmt, va_list ap)
{
	char text[SAY_MAX], line[ESCAPED_MAX * SAY_MAX];
	size_t n = 0;
	int len = snprintf(text, sizeof(text), "%s: ", program_invocation_short_name);

	if (len < 0 || (size_t)len >= sizeof(text) / 2)
		len = 0; /* argv[0] is whatever our parent wants */
	vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, ap);
	for (const char *c = text; *c != '\0'; c++)
		n += escape(line + n, *c);
	line[n++] = '\n'; /* there is room: the NUL of text was not copied */
	fwrite(line, 1, n, stderr);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
}

void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay(fmt, ap);
	va_end(ap);
	exit(STATUS_FAILED);
}
