/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * say.c - messages on stderr, and escaping of untrusted text.
 */
#include "say.h"

#include "backlog.h"
#include "progress.h"
#include "util.h"

#define LIBBSD_NETBSD_VIS /* selects a variant of strnvis(3), which is not used here */
#include <bsd/vis.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t escape_text(char *to, size_t size, const char *text, enum escape how)
{
	const int flags = VIS_CSTYLE | VIS_NL | VIS_TAB | (how == ESCAPE_WORD ? VIS_SP : 0);
	const char first = how == ESCAPE_WORD ? '!' : ' ';
	size_t n = 0, len;

	for (; *text != '\0'; text++) {
		char c[ESCAPED_SIZE(1)] = {*text};
		bool is_plain = *text >= first && *text <= '~' && *text != '\\';

		/* vis(3) returns NULL if it cannot allocate memory. */
		if (!is_plain && vis(c, (unsigned char)*text, flags, 0) == NULL)
			strcpy(c, "?");
		len = strlen(c);
		if (n + len >= size)
			break;
		memcpy(to + n, c, len);
		n += len;
	}
	to[n] = '\0';
	return n;
}

char *escaped(const char *text, enum escape how)
{
	size_t size = ESCAPED_SIZE(strlen(text));
	char *copy = malloc(size);

	if (copy == NULL)
		die("%s", strerror(errno));
	escape_text(copy, size, text, how);
	return copy;
}

bool word_means(const char *word, const char *text)
{
	char *printed;
	bool means = strcmp(word, text) == 0;

	if (!means && strchr(word, '\\') != NULL) {
		printed = escaped(text, ESCAPE_WORD);
		means = strcmp(word, printed) == 0;
		free(printed);
	}
	return means;
}

void put_escaped(FILE *f, const char *text)
{
	char *copy = escaped(text, ESCAPE_LINE);

	fputs(copy, f);
	free(copy);
}

static struct {
	FILE *file; /* in memory; NULL: messages are not kept */
	char *text;
	size_t n;
} held;

/* ---- the standard error output ------------------------------------------------- */

static struct {
	bool opened, keeps;
	struct backlog backlog;
} errors;

/* If the reader pauses, the text is kept: a process that we trace may wait for us. */
static void put(const char *text, size_t n)
{
	if (!errors.opened) {
		errors.opened = true;
		errors.keeps = backlog_open(&errors.backlog, STDERR_FILENO);
		if (errors.keeps)
			atexit(say_finish);
	}
	if (errors.keeps)
		backlog_put(&errors.backlog, text, n);
	else
		fwrite(text, 1, n, stderr);
}

bool say_push(void)
{
	if (!errors.keeps)
		return true;
	return backlog_push(&errors.backlog) != 0 || errors.backlog.n == 0;
}

void say_finish(void)
{
	if (errors.keeps)
		backlog_wait(&errors.backlog, false);
}

/* ---- messages -------------------------------------------------------------------- */

void say_hold(bool hold)
{
	if (hold && held.file == NULL) {
		held.file = open_memstream(&held.text, &held.n);
	} else if (!hold && held.file != NULL) {
		fclose(held.file);
		held.file = NULL;
		put(held.text, held.n);
		free(held.text);
		held.n = 0;
	}
}

const char *say_held(void)
{
	size_t n = held.n;

	while (n > 1 && held.text[n - 2] != '\n')
		n--;
	return n > 0 ? held.text + n - 1 : NULL;
}

/* Writes the line with one call, so that lines of several programs do not mix. */
void vsay(const char *fmt, va_list ap)
{
	char text[SAY_MAX], line[ESCAPED_SIZE(SAY_MAX)];
	size_t n;
	int len = snprintf(text, sizeof(text), "%s: ", program_invocation_short_name);

	if (len < 0 || (size_t)len >= sizeof(text) / 2)
		len = 0; /* our parent can set any argv[0] */
	vsnprintf(text + len, sizeof(text) - (size_t)len, fmt, ap);
	n = strlen(text);
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	n = escape_text(line, sizeof(line), text, ESCAPE_LINE);
	line[n++] = '\n'; /* replaces the NUL */
	if (held.file != NULL) {
		fwrite(line, 1, n, held.file);
		fflush(held.file);
	} else {
		progress_erase();
		put(line, n);
	}
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
