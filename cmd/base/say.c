/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * say.c - messages on stderr, and escaping of untrusted text.
 */
#include "say.h"

#include "progress.h"
#include "util.h"

#define LIBBSD_NETBSD_VIS /* selects a variant of strnvis(3), which is not used here */
#include <bsd/vis.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPED_MAX 4 /* the longest escape of a byte: \M^[ */
_Static_assert(ESCAPED_SIZE(1) == ESCAPED_MAX + 1, "ESCAPED_SIZE in say.h is too small");

static bool is_plain(char c)
{
	return c >= ' ' && c <= '~' && c != '\\';
}

/* Returns the length.  `to` gets no NUL. */
static size_t escape(char to[ESCAPED_MAX], char c)
{
	char text[ESCAPED_MAX + 1];
	size_t n;

	/* vis(3) returns NULL if it cannot allocate memory. */
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

static struct {
	bool on;
	char *text;
	size_t n;
} held;

void say_hold(bool hold)
{
	held.on = hold;
	if (hold)
		return;
	if (held.n > 0)
		fwrite(held.text, 1, held.n, stderr);
	free(held.text);
	held.text = NULL;
	held.n = 0;
}

const char *say_held(void)
{
	size_t n = held.n;

	while (n > 1 && held.text[n - 2] != '\n')
		n--;
	return n > 0 ? held.text + n - 1 : NULL;
}

/* False: there is no memory for the line. */
static bool hold_back(const char *line, size_t n)
{
	char *text = realloc(held.text, held.n + n + 1);

	if (text == NULL)
		return false;
	memcpy(text + held.n, line, n);
	held.text = text;
	held.n += n;
	text[held.n] = '\0';
	return true;
}

/* Writes the line with one call, so that lines of several programs do not mix. */
void vsay(const char *fmt, va_list ap)
{
	char text[SAY_MAX], line[ESCAPED_MAX * SAY_MAX];
	size_t n = 0;
	int len = snprintf(text, sizeof(text), "%s: ", program_invocation_short_name);

	if (len < 0 || (size_t)len >= sizeof(text) / 2)
		len = 0; /* our parent can set any argv[0] */
	vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, ap);
	for (const char *c = text; *c != '\0'; c++)
		n += escape(line + n, *c);
	line[n++] = '\n'; /* fits: the NUL of `text` was not copied */
	if (held.on && hold_back(line, n))
		return;
	progress_erase();
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
