/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * say.h - messages on stderr, and text of others made harmless.
 *
 * Names of files and processes, command lines and messages that contain them may have
 * newlines and escape sequences in them, which could forge lines or control a terminal.
 * All messages go through say(), and text of others in output through put_escaped().
 */
#ifndef SAY_H
#define SAY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* The longest message, in bytes before escaping; what is longer is cut. */
#define SAY_MAX 8192

/* Writes the program's name, ": ", and the message, escaped, as one line to stderr. */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);
__attribute__((format(printf, 1, 0))) void vsay(const char *fmt, va_list ap);

/* The same, then exits with STATUS_FAILED. */
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *fmt, ...);

/* Escape all but printable ASCII; a word has no blanks, either. */
enum escape { ESCAPE_LINE, ESCAPE_WORD };

/* The most that `n` bytes become, with a NUL. */
#define ESCAPED_SIZE(n) (4 * (n) + 1)

/* Returns the length; what does not fit is cut before the character. */
size_t escape_text(char *to, size_t size, const char *text, enum escape how);

/* Writes `text` with all but printable ASCII and blanks escaped as vis(3) does. */
void put_escaped(FILE *f, const char *text);

#endif /* SAY_H */
