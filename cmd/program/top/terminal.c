/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * terminal.c - the terminal of a screen: nothing waits for it, and it is restored at the end.
 *
 * ncurses repeats a write(2) until the terminal takes all, whatever signals come.  So it draws to
 * a file in memory, whose text is sent as that of other output.
 */
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAVE_SIZE 128

/* What a signal handler needs to restore the terminal. */
static struct {
	int fd, out;
	struct termios modes;
	char text[LEAVE_SIZE];
	size_t n;
} last;

/* All signals are blocked here: a background process may set the modes. */
static void on_death(int sig)
{
	const int saved = errno;
	ssize_t n;

	tcsetattr(last.fd, TCSANOW, &last.modes);
	n = write(last.out, last.text, last.n);
	(void)n; /* nothing can be done if the terminal takes no output */
	signal(sig, SIG_DFL);
	raise(sig); /* it comes when this handler returns */
	errno = saved;
}

/* Does the signal kill a program that does not handle it? */
static bool is_deadly(int sig)
{
	static const int others[] = {SIGCHLD, SIGCONT, SIGKILL, SIGSTOP, SIGTSTP,
				     SIGTTIN, SIGTTOU, SIGURG,	SIGWINCH};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (sig == others[i])
			return false;
	}
	return true;
}

static void catch_deadly(struct terminal *t)
{
	struct sigaction act = {.sa_handler = on_death}, old;

	sigfillset(&act.sa_mask);
	sigemptyset(&t->deadly);
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		if (is_deadly(sig) && sigaction(sig, NULL, &old) == 0 &&
		    old.sa_handler == SIG_DFL && sigaction(sig, &act, NULL) == 0)
			sigaddset(&t->deadly, sig);
	}
}

static void release_deadly(const struct terminal *t)
{
	for (int sig = 1; sig <= SIGRTMAX; sig++) {
		if (sigismember(&t->deadly, sig) == 1)
			signal(sig, SIG_DFL);
	}
}

bool terminal_open(struct terminal *t, int fd)
{
	int copy = -1;

	*t = (struct terminal){.frame = memfd_create("screen", MFD_CLOEXEC), .backlog.own = -1};
	sigemptyset(&t->deadly);
	if (t->frame != -1)
		copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy != -1)
		t->drawing = fdopen(copy, "w");
	return t->drawing != NULL && tcgetattr(fd, &t->before) == 0 &&
	       backlog_open(&t->backlog, fd);
}

void terminal_begin(struct terminal *t, const char *leave, size_t n)
{
	tcgetattr(t->backlog.fd, &t->during);
	dup3(t->frame, fileno(t->drawing), O_CLOEXEC);
	last.fd = t->backlog.fd;
	last.out = t->backlog.own != -1 ? t->backlog.own : last.fd;
	last.modes = t->before;
	last.n = n < LEAVE_SIZE ? n : 0;
	memcpy(last.text, leave, last.n);
	catch_deadly(t);
}

bool terminal_show(struct terminal *t)
{
	off_t left = lseek(t->frame, 0, SEEK_CUR), at = 0;
	char text[4096];
	ssize_t n = 1;

	while (at < left && n > 0) {
		n = pread(t->frame, text,
			  left - at < (off_t)sizeof(text) ? (size_t)(left - at) : sizeof(text), at);
		if (n > 0)
			backlog_put(&t->backlog, text, (size_t)n);
		at += n;
	}
	lseek(t->frame, 0, SEEK_SET);
	return backlog_push(&t->backlog) == 0 && t->backlog.n == 0;
}

bool terminal_is_gone(const struct terminal *t)
{
	struct pollfd out = {.fd = t->backlog.fd};

	return t->backlog.error != 0 ||
	       (poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0);
}

void terminal_leave(struct terminal *t)
{
	tcsetattr(t->backlog.fd, TCSANOW, &t->before);
	if (terminal_show(t))
		return;
	/* If ^S has stopped the output, continue it: else the screen would stay. */
	tcflow(t->backlog.fd, TCOOFF);
	tcflow(t->backlog.fd, TCOON);
	backlog_wait(&t->backlog, true);
}

void terminal_enter(const struct terminal *t)
{
	tcsetattr(t->backlog.fd, TCSANOW, &t->during);
}

void terminal_close(struct terminal *t)
{
	release_deadly(t);
	if (t->drawing != NULL)
		fclose(t->drawing);
	if (t->frame != -1)
		close(t->frame);
	backlog_close(&t->backlog);
}
