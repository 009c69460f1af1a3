/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Output to a reader that pauses: nothing waits for it until too much is kept, and nothing is lost.
 * The code under test keeps MAX_KEPT bytes, which is 64 KiB here.
 */
#include "unit.h"

#include "../../cmd/base/backlog.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define LINES 40000
#define LINE 8 /* bytes */

static void put_line(struct backlog *b, unsigned i)
{
	char line[LINE + 1];

	snprintf(line, sizeof(line), "%07u\n", i);
	assert_int_equal(backlog_put(b, line, LINE), 0);
}

/* Reads to the end and checks all lines.  Returns their number. */
static void *read_all(void *arg)
{
	FILE *f = fdopen(*(int *)arg, "r");
	char line[LINE + 1];
	uintptr_t n = 0;

	while (fread(line, 1, LINE, f) == LINE) {
		line[LINE] = '\0';
		if ((uintptr_t)atoi(line) != n)
			return NULL;
		n++;
	}
	fclose(f);
	return (void *)n;
}

/* Writes without a reader, and reads all later. */
static void check_pause(int in, int out)
{
	const int flags = fcntl(out, F_GETFL);
	unsigned n = 0;
	struct backlog b;
	pthread_t reader;
	void *got;

	assert_true(backlog_open(&b, out));
	while (b.n < 32768)
		put_line(&b, n++);
	assert_int_equal(backlog_lines(&b), b.n / LINE + (b.n % LINE != 0));
	assert_int_equal(fcntl(out, F_GETFL), flags);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &in), 0);
	while (n < LINES)
		put_line(&b, n++);
	assert_int_equal(backlog_wait(&b, false), 0);
	assert_int_equal(b.n, 0);
	backlog_close(&b);
	close(out);
	pthread_join(reader, &got);
	assert_int_equal((uintptr_t)got, LINES);
}

static void pipes(void **state)
{
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	check_pause(fd[0], fd[1]);
}

static void sockets(void **state)
{
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	check_pause(fd[0], fd[1]);
}

/* A FIFO without a reader cannot be opened again: room is looked for before each write. */
static void not_opened_again(void **state)
{
	int fd[2];
	struct backlog b;
	char text[PIPE_BUF];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_true(backlog_open(&b, fd[1]));
	assert_true(b.own != -1);
	close(b.own);
	b.own = -1;
	memset(text, 'x', sizeof(text));
	while (b.n == 0)
		assert_int_equal(backlog_put(&b, text, sizeof(text)), 0);
	assert_int_equal(backlog_wait(&b, true), EINTR);
	assert_int_equal(b.n, sizeof(text));
	assert_int_equal(read(fd[0], text, sizeof(text)), sizeof(text));
	assert_int_equal(backlog_wait(&b, false), 0);
	close(fd[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(backlog_put(&b, text, 1), EPIPE);
	assert_int_equal(backlog_wait(&b, false), EPIPE);
	backlog_close(&b);
	close(fd[1]);
}

static bool is_asked_to_end;

static bool asked(void)
{
	return is_asked_to_end;
}

/* After a signal, more than MAX_KEPT is kept, and only one wait is for a reader that pauses. */
static void signalled(void **state)
{
	struct timespec begin, end;
	struct backlog b;
	unsigned n = 0;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_true(backlog_open(&b, fd[1]));
	backlog_on_signals(asked);
	is_asked_to_end = true;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (n < LINES)
		put_line(&b, n++);
	assert_int_equal(backlog_wait(&b, false), EINTR);
	clock_gettime(CLOCK_MONOTONIC, &end);
	assert_true(end.tv_sec - begin.tv_sec < 10); /* 20,000 waits would be hours */
	assert_true(b.n > 100000);
	backlog_close(&b);
	close(fd[0]);
	close(fd[1]);
	is_asked_to_end = false;
}

static void files(void **state)
{
	struct backlog b;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_false(backlog_open(&b, fd));
	close(fd);
	assert_false(backlog_open(&b, fd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipes),
		cmocka_unit_test(sockets),
		cmocka_unit_test(not_opened_again),
		cmocka_unit_test(signalled),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
