/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * say.h - messages on stderr, and escaping of untrusted text.
 *
 * File names, process names and command lines can contain newlines and escape sequences, which
 * could forge lines or control a terminal.  So say() escapes all messages, and put_escaped() all
 * untrusted text in output.
 */
#ifndef SAY_H
#define SAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Longer messages are cut.  In bytes, before escaping. */
#define SAY_MAX 8192

/*
 * Writes the name of the program, ": " and the escaped message as one line to stderr.  A newline
 * at the end of the message is left out, as those of our libraries have one.
 */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);
__attribute__((format(printf, 1, 0))) void vsay(const char *fmt, va_list ap);

/*
 * Messages wait in memory while the reader of stderr pauses.  Writes what it takes now; true: all.
 * Call it every BACKLOG_MS.
 */
bool say_push(void);
/* Waits for the reader; see backlog_wait().  exit(3) calls it. */
void say_finish(void);

/*
 * While a full-screen program uses the terminal, messages would disturb the screen.  True: keep all
 * messages from now on.  False: write the kept messages, and write further ones at once.
 */
void say_hold(bool hold);
/* Returns the last kept message; NULL: no message is kept. */
const char *say_held(void);

/* As say(), then exits with STATUS_FAILED. */
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *fmt, ...);

/* Both escape all characters except printable ASCII; ESCAPE_WORD also escapes blanks. */
enum escape { ESCAPE_LINE, ESCAPE_WORD };

/* The maximal size of `n` escaped bytes and a NUL: the longest escape of a byte is \M^[. */
#define ESCAPED_SIZE(n) (4 * (n) + 1)

/* Returns the length.  If `to` is too small, only whole characters are written. */
size_t escape_text(char *to, size_t size, const char *text, enum escape how);

/* Returns escaped text; free it. */
char *escaped(const char *text, enum escape how);

/* Is a word the text, or what tables print for it? */
bool word_means(const char *word, const char *text);

/* Writes `text`; everything except printable ASCII is escaped as by vis(3). */
void put_escaped(FILE *f, const char *text);

#endif /* SAY_H */
