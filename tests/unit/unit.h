/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * unit.h - cmocka and the headers that it requires; an error handler; reasons for skips.
 */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cmocka 2 has another name for assert_in_range(), which cmocka 1 does not know. */
#define CMOCKA_DISABLE_DEPRECATION_WARNINGS
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libcpc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* scripts/check lists the lines that begin so. */
#define skip_because(...)                               \
	do {                                            \
		print_message("skipped: " __VA_ARGS__); \
		print_message("\n");                    \
		skip();                                 \
	} while (0)

/*
 * Skips after a call that failed because the machine lacks something.  Any other error is one of
 * the library.
 */
static inline bool machine_lacks_it(int err)
{
	return err == EINVAL || err == ENOENT || err == ENODEV || err == EOPNOTSUPP ||
	       err == EACCES || err == EPERM || err == ENOSPC;
}

#define skip_lacking(what)                                                                      \
	do {                                                                                    \
		if (!machine_lacks_it(errno))                                                   \
			fail_msg("no %s here? %s: %s", what, strerror(errno), last_error.text); \
		skip_because("no %s here: %s", what, last_error.text);                          \
	} while (0)

/*
 * ThreadSanitizer gives signals to their handlers when the program calls what it knows, so that
 * counts at a signal are not exact; and it knows no threads of a forked child.
 */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN true
#else
#define UNDER_TSAN false
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN true
#else
#define UNDER_ASAN false
#endif
#define skip_under_tsan(why)                                  \
	do {                                                  \
		if (UNDER_TSAN)                               \
			skip_because("ThreadSanitizer " why); \
	} while (0)

/* Of page faults: its own memory faults now and then. */
#define assert_count(count, expected)                       \
	do {                                                \
		if (UNDER_TSAN)                             \
			assert_true((count) >= (expected)); \
		else                                        \
			assert_int_equal(count, expected);  \
	} while (0)

/* The last call of the error handler, and the number of its calls. */
static struct {
	unsigned calls;
	int subcode;
	char fn[64], text[1200];
} last_error;

/* Removes the newline that a message of a library ends in. */
static inline void end_message(char *text)
{
	char *end = strchr(text, '\n');

	assert_non_null(end);
	assert_string_equal(end, "\n");
	*end = '\0';
}

/* An error handler for cpc_seterrhndlr(3). */
__attribute__((format(printf, 3, 0))) static inline void hear(const char *fn, int subcode,
							      const char *fmt, va_list ap)
{
	last_error.calls++;
	last_error.subcode = subcode;
	snprintf(last_error.fn, sizeof(last_error.fn), "%s", fn);
	vsnprintf(last_error.text, sizeof(last_error.text), fmt, ap);
	end_message(last_error.text);
	errno = 0; /* the caller sees the library's errno, whatever a handler does to it */
}

/* A child that does nothing until it is killed, or the test program ends by a failed assertion. */
static inline pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

/* Counts the open files of the process whose target is `wanted`.  -1: unknown. */
static inline int count_files_if(bool (*wanted)(const char *target))
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[64];
	int n = 0;

	if (dir == NULL)
		return -1;
	while ((entry = readdir(dir)) != NULL) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		n += len > 0 && wanted(target);
	}
	closedir(dir);
	return n;
}

/* A look at claims has these open for a moment: a child has them that is forked just then. */
static inline bool is_of_no_claim(const char *target)
{
	return strncmp(target, "/run/cpc", 8) != 0 && strncmp(target, "/dev/shm", 8) != 0;
}

static inline int count_files(void)
{
	return count_files_if(is_of_no_claim);
}

#endif /* UNIT_H */
