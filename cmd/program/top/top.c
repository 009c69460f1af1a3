/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * top.c - shows each interval on the screen of a terminal, by ncurses(3).
 */
#include "top.h"

#include "../../base/say.h"
#include "../../base/util.h"
#include "page.h"
#include "terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>

#undef columns /* a macro of term.h */

/* The largest screen: ncurses crashes beyond 32767, and each line takes memory. */
#define MAX_LINES 1000
#define MAX_COLUMNS 1000

struct top {
	struct sink sink;
	struct style style;
	FILE *file, *keys;
	SCREEN *screen;
	struct terminal terminal;
	bool ended;		       /* the run */
	bool stale;		       /* the screen does not show the last interval */
	struct sigaction stop, resize; /* the handlers before ours */
	sigset_t mask;		       /* the signal mask before */
	struct page page;
};

static struct top *current; /* the owner of the screen; or NULL */

/* ---- the screen ----------------------------------------------------------------------- */

/* Draws nothing while the terminal is behind: act() will; nor if it could not be opened. */
static void draw(struct top *t)
{
	if (current != t)
		return;
	t->stale = !terminal_show(&t->terminal);
	if (t->stale)
		return;
	page_draw(&t->page);
	terminal_show(&t->terminal);
}

static int smaller(int a, int b)
{
	return a < b ? a : b;
}

/* Adapts the screen to the size of the terminal.  False: it has not changed. */
static bool fit_screen(const struct top *t)
{
	struct winsize size = {0};
	int nrows, ncols;

	if (ioctl(fileno(t->file), TIOCGWINSZ, &size) == -1 || size.ws_row == 0 || size.ws_col == 0)
		return false;
	nrows = smaller(size.ws_row, MAX_LINES);
	ncols = smaller(size.ws_col, MAX_COLUMNS);
	if (!is_term_resized(nrows, ncols))
		return false;
	resizeterm(nrows, ncols);
	clearok(curscr, TRUE);
	return true;
}

/* Restores the terminal while the program is stopped. */
static void suspend(void)
{
	if (current == NULL)
		return;
	endwin();
	terminal_leave(&current->terminal);
}

static void resume(void)
{
	if (current == NULL)
		return;
	terminal_enter(&current->terminal);
	draw(current);
}

static volatile sig_atomic_t must_stop; /* ^Z */

static void on_stop(int sig)
{
	must_stop = sig == SIGTSTP;
}

static enum screen_asks act(void)
{
	struct top *t = current;
	bool changed, goes_on = true;
	int key;

	if (t == NULL)
		return SCREEN_NOTHING;
	if (terminal_is_gone(&t->terminal))
		return SCREEN_GONE;
	if (must_stop) {
		must_stop = 0;
		suspend();
		raise(SIGSTOP);
		resume();
	}
	changed = fit_screen(t) || t->stale;
	while (goes_on && t->page.wanted == SCOPE_NONE && (key = getch()) != ERR) {
		goes_on = page_act(&t->page, key);
		changed = true;
	}
	if (changed)
		draw(t);
	else
		terminal_show(&t->terminal); /* the rest of what was drawn */
	return !goes_on ? SCREEN_QUIT : t->page.wanted != SCOPE_NONE ? SCREEN_UNIT : SCREEN_NOTHING;
}

static enum scope unit(void)
{
	return current->page.wanted;
}

/* ---- the terminal ---------------------------------------------------------------------- */

/* Opens the terminal's input.  Without one there are no keys. */
static FILE *open_keys(struct top *t)
{
	bool standard = fileno(t->file) == STDOUT_FILENO;
	int fd;

	t->page.has_keys = !standard || isatty(STDIN_FILENO);
	if (!t->page.has_keys)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	else if (standard)
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	else
		fd = open(TOP_TERMINAL, O_RDONLY | O_CLOEXEC);
	return fd != -1 ? fdopen(fd, "r") : NULL;
}

static void on_resize(int sig)
{
	(void)sig; /* it ends a wait, and act() looks at the size */
}

/* ncurses installs no handlers where there are some.  ^Z comes only where the program waits. */
static void catch_signals(struct top *t)
{
	const struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	const struct sigaction resize = {.sa_handler = on_resize, .sa_flags = SA_RESTART};
	sigset_t set;

	sigaction(SIGWINCH, &resize, &t->resize);
	sigaction(SIGTSTP, NULL, &t->stop);
	sigemptyset(&set);
	if (t->stop.sa_handler == SIG_DFL) {
		sigaction(SIGTSTP, &stop, NULL);
		sigaddset(&set, SIGTSTP);
	}
	sigprocmask(SIG_BLOCK, &set, &t->mask);
}

static void close_screen(void)
{
	struct top *t = current;

	if (t == NULL)
		return;
	if (t->screen != NULL) {
		endwin();
		/* The last screen stays on the terminal as a table. */
		if (t->ended)
			page_print(&t->page, t->terminal.drawing);
		fflush(t->terminal.drawing);
		terminal_leave(&t->terminal);
		delscreen(t->screen);
	}
	current = NULL;
	sigaction(SIGTSTP, &t->stop, NULL);
	sigaction(SIGWINCH, &t->resize, NULL);
	sigprocmask(SIG_SETMASK, &t->mask, NULL);
	terminal_close(&t->terminal);
	if (t->keys != NULL)
		fclose(t->keys);
	say_hold(false);
}

static struct {
	char text[100];
	size_t n;
} leave; /* the text that ends the screen */

static int add_to_leave(int c)
{
	if (leave.n < sizeof(leave.text))
		leave.text[leave.n++] = (char)c;
	return c;
}

static void find_leave(void)
{
	const char *const texts[] = {exit_attribute_mode, orig_pair, keypad_local, cursor_normal,
				     exit_ca_mode};

	leave.n = 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (texts[i] != NULL)
			tputs(texts[i], 1, add_to_leave);
	}
}

static void open_screen(struct top *t)
{
	static bool registered;

	current = t;
	catch_signals(t);
	use_env(FALSE); /* fit_screen() sets the size */
	errno = 0;
	if (!terminal_open(&t->terminal, fileno(t->file)) || (t->keys = open_keys(t)) == NULL ||
	    (t->screen = newterm(NULL, t->terminal.drawing, t->keys)) == NULL) {
		t->sink.error = errno != 0 ? errno : EIO;
		close_screen();
		return;
	}
	if (!registered)
		atexit(close_screen); /* for die() */
	registered = true;
	say_hold(isatty(STDERR_FILENO));
	cbreak();
	noecho();
	curs_set(0);
	set_escdelay(25); /* ms */
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	page_start_colours(&t->page);
	find_leave();
	terminal_begin(&t->terminal, leave.text, leave.n);
	fit_screen(t);
}

/* Can the terminal do what the screen requires? */
static bool can_draw(int fd)
{
	static const char *const names[] = {"cup", "clear"};
	bool can = true;
	int error;

	if (setupterm(NULL, fd, &error) != OK)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *text = tigetstr((NCURSES_CONST char *)(uintptr_t)names[i]);

		can &= text != NULL && text != (const char *)-1;
	}
	del_curterm(cur_term);
	return can;
}

bool top_possible(const char *path)
{
	int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : STDOUT_FILENO;
	bool possible = fd != -1 && isatty(fd);

	if (!possible && path != NULL)
		say("cannot use --top: there is no terminal");
	else if (!possible)
		say("cannot use --top: the standard output is not a terminal");
	if (possible && !can_draw(fd)) {
		say("cannot use --top: TERM='%s' is unknown, or lacks capabilities",
		    getenv("TERM") != NULL ? getenv("TERM") : "");
		possible = false;
	}
	if (possible && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) == 0) {
		say("cannot use --top: the output of the terminal is stopped; ^Q continues it");
		possible = false;
	}
	if (path != NULL && fd != -1)
		close(fd);
	return possible;
}

/* ---- the sink ---------------------------------------------------------------------------- */

static void top_begin(struct sink *sink, const struct run *run)
{
	struct top *t = (struct top *)sink;

	view_begin(&t->page.view, run);
	t->page.wanted = SCOPE_NONE;
	t->page.first = 0;
	if (current != t)
		open_screen(t);
	draw(t);
}

static void top_row(struct sink *sink, const struct row *row)
{
	view_put(&((struct top *)sink)->page.view, row);
}

static void top_sampled(struct sink *sink)
{
	struct top *t = (struct top *)sink;
	const struct view *v = &t->page.view;
	const bool was_empty = view_is_empty(v);
	const size_t set = v->set;

	if (!view_sampled(&t->page.view))
		return;
	if (was_empty || v->set != set)
		page_find_columns(&t->page);
	draw(t);
}

/* Unless a run by another unit follows. */
static void top_end(struct sink *sink)
{
	struct top *t = (struct top *)sink;
	const struct view *v = &t->page.view;

	if (t->page.wanted != SCOPE_NONE)
		return;
	/* The end of a run of LWPs is also that of its last sample. */
	if (!v->run->of_cpus && v->time_ns > v->last_ns)
		top_sampled(sink);
	t->ended = true;
	close_screen();
}

static void top_free(struct sink *sink)
{
	struct top *t = (struct top *)sink;

	if (current == t)
		close_screen();
	view_free(&t->page.view);
	line_free(&t->page.line);
	line_free(&t->page.cell);
	free(t->page.list.col);
}

static struct sink *top_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = top_begin,
					    .row = top_row,
					    .sampled = top_sampled,
					    .end = top_end,
					    .free = top_free};
	struct top *t = sink_new(sizeof(*t), &ops, NULL);

	t->file = file;
	t->style = *style;
	t->page.style = t->page.list.style = &t->style;
	t->page.list.screen = true;
	view_init(&t->page.view, style->group != SCOPE_NONE ? style->group : SCOPE_COMMAND,
		  style->cycles);
	return &t->sink;
}

static const struct screen screen = {
	.act = act, .unit = unit, .suspend = suspend, .resume = resume};

const struct format top_format = {
	.name = "top", .open = top_open, .comm = true, .whole = true, .screen = &screen};
