/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * top.c - shows each interval on the screen of a terminal, by ncurses(3).
 */
#include "top.h"

#include "../../base/say.h"
#include "../../base/util.h"
#include "../../rows/columns.h"
#include "terminal.h"
#include "view.h"

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

enum { STATUS_LINE, TITLE_LINE, TOTAL_LINE, FIRST_LINE };

/* The largest screen: ncurses crashes beyond 32767, and each line takes memory. */
#define MAX_LINES 1000
#define MAX_COLUMNS 1000

enum look { PLAIN, TITLE, SORTED, TOTAL };

struct top {
	struct sink sink;
	struct style style;
	FILE *file, *keys;
	SCREEN *screen;
	struct terminal terminal;
	bool has_keys, colours, help;
	bool stale;		       /* the screen does not show the last interval */
	struct sigaction stop, resize; /* the handlers before ours */
	sigset_t mask;		       /* the signal mask before */
	struct view view;
	struct columns list;
	struct line line;
};

static struct top *current; /* the owner of the screen; or NULL */

/* ---- the screen ----------------------------------------------------------------------- */

static int look_of(const struct top *t, enum look look)
{
	static const attr_t plain[] = {A_NORMAL, A_REVERSE, A_REVERSE | A_BOLD, A_BOLD};

	return (int)(t->colours && (look == TITLE || look == SORTED) ? (attr_t)COLOR_PAIR(look)
								     : plain[look]);
}

/* Adds t->line left-aligned.  A longer path is cut at its begin, other names at their end. */
static void put_name(const struct top *t, size_t width)
{
	const char *text = t->line.text;
	size_t n = t->line.n, dots = width > 6 ? 3 : 0;

	if (n <= width)
		printw("%.*s%*s", (int)n, text, (int)(width - n), "");
	else if (memchr(text, '/', n) != NULL)
		printw("%.*s%.*s", (int)dots, "...", (int)(width - dots), text + n - width + dots);
	else
		printw("%.*s%.*s", (int)(width - dots), text, (int)dots, "...");
}

/* Draws a row; NULL: the titles. */
static void draw_row(struct top *t, int y, const struct row *row, enum look look)
{
	bool first = true;

	move(y, 0);
	for (size_t c = 0; c < t->list.n; c++) {
		const struct column *col = &t->list.col[c];

		if (col->shown == 0)
			continue;
		attrset(look_of(t, look));
		if (!first)
			addch(' ');
		first = false;
		if (row == NULL && columns_is_sorted(&t->list, col))
			attrset(look_of(t, SORTED));
		columns_cell(&t->list, col, row, &t->line);
		if (col->kind == COLUMN_NAME)
			put_name(t, col->shown);
		else
			printw("%*s%.*s", (int)(col->shown - t->line.n), "", (int)t->line.n,
			       t->line.text != NULL ? t->line.text : "");
	}
	attrset(look_of(t, look));
	if (row == NULL && getcury(stdscr) == y)
		printw("%*s", COLS - getcurx(stdscr), "");
	else if (row != NULL && row->incomplete && getcury(stdscr) == y &&
		 getcurx(stdscr) + (int)strlen(" # incomplete") <= COLS)
		addstr(" # incomplete");
	attrset(A_NORMAL);
}

/* Adds words to the first line if they fit. */
__attribute__((format(printf, 1, 2))) static void put_status(const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (getcury(stdscr) == STATUS_LINE && getcurx(stdscr) + (int)strlen(text) <= COLS)
		addstr(text);
}

static void draw_status(struct top *t, size_t shown)
{
	const struct view *v = &t->view;
	const size_t left = t->list.nleft;

	move(STATUS_LINE, 0);
	put_status("%.3f s", (double)v->total.time_ns / NSEC);
	put_status(", %zu of %zu rows", shown, v->nrows);
	if (left > 0)
		put_status(", +%zu column%s", left, left == 1 ? "" : "s");
	if (v->paused)
		put_status(", paused");
	t->line.n = 0;
	line_label(&t->line, view_set(v)->event[v->sort].label, 0);
	put_status(", sorted by %.*s", (int)t->line.n, t->line.text);
	if (t->has_keys)
		put_status("; h helps, q quits");
}

static void draw_rows(struct top *t)
{
	const struct view *v = &t->view;
	const char *message = say_held();
	int space = LINES - FIRST_LINE - (message != NULL);
	size_t shown = space > 0 ? (size_t)space : 0;

	if (shown > v->nrows)
		shown = v->nrows;
	t->list.sort = v->sort;
	columns_fit(&t->list, v->row, shown, &v->total, (size_t)COLS, &t->line);
	draw_status(t, shown);
	draw_row(t, TITLE_LINE, NULL, TITLE);
	draw_row(t, TOTAL_LINE, &v->total, TOTAL);
	for (size_t i = 0; i < shown; i++)
		draw_row(t, FIRST_LINE + (int)i, &v->row[i], PLAIN);
	if (message != NULL)
		mvaddnstr(LINES - 1, 0, message, (int)strcspn(message, "\n"));
}

/* Do rows of LWPs have services, or cgroups or containers, and users? */
static bool has_owners(const struct top *t)
{
	return !t->view.run->of_cpus && scope_has_keys(t->view.run->scope);
}

static void draw_help(const struct top *t)
{
	int y = 0;

	mvaddstr(y++, 0, "< >    sort by another event");
	if (!t->view.run->of_cpus)
		mvaddstr(y++, 0, "c p l  by command, process, LWP");
	if (has_owners(t))
		mvprintw(y++, 0, "s u    by %s, user", scope_name(t->view.run->scope));
	mvaddstr(y++, 0, "i      show idle rows, too");
	mvaddstr(y++, 0, "space  pause, continue");
	mvaddstr(y++, 0, "^L     draw again");
	mvaddstr(y++, 0, "q      quit");
	mvaddstr(y, 0, "h ?    this help; any key ends it");
}

/* Draws nothing while the terminal is behind: act() will; nor if it could not be opened. */
static void draw(struct top *t)
{
	if (current != t)
		return;
	t->stale = !terminal_show(&t->terminal);
	if (t->stale)
		return;
	erase();
	if (t->help)
		draw_help(t);
	else if (view_is_empty(&t->view))
		mvaddnstr(STATUS_LINE, 0, "The first interval is not over.", COLS);
	else
		draw_rows(t);
	refresh();
	terminal_show(&t->terminal);
}

/* ---- keys ------------------------------------------------------------------------------ */

static void find_columns(struct top *t)
{
	const struct view *v = &t->view;

	columns_find(&t->list, v->run, v->run->of_cpus ? SCOPE_CPU : v->by, v->set);
}

static void regroup(struct top *t, enum scope by)
{
	if (t->view.run->of_cpus || view_is_empty(&t->view) || t->view.by == by)
		return;
	view_group(&t->view, by);
	find_columns(t);
}

/* False: the user asks for the end. */
static bool act_on_key(struct top *t, int key)
{
	if (t->help && key != 'q') {
		t->help = false;
		return true;
	}
	switch (key) {
	case 'q':
		return false;
	case 'h':
	case '?':
		t->help = true;
		break;
	case ' ':
		t->view.paused = !t->view.paused;
		break;
	case '<':
	case KEY_LEFT:
		view_sort(&t->view, -1);
		break;
	case '>':
	case KEY_RIGHT:
		view_sort(&t->view, 1);
		break;
	case 'c':
		regroup(t, SCOPE_COMMAND);
		break;
	case 'p':
		regroup(t, SCOPE_PROCESS);
		break;
	case 'l':
		regroup(t, SCOPE_LWP);
		break;
	case 's':
	case 'u':
		if (has_owners(t))
			regroup(t, key == 'u' ? SCOPE_USER : t->view.run->scope);
		break;
	case 'i':
		t->view.unfolded = !t->view.unfolded;
		if (!view_is_empty(&t->view))
			view_group(&t->view, t->view.by);
		break;
	case 'L' & 0x1f:
		clearok(curscr, TRUE);
		break;
	default:
		break;
	}
	return true;
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
	while (goes_on && (key = getch()) != ERR) {
		goes_on = act_on_key(t, key);
		changed = true;
	}
	if (changed)
		draw(t);
	else
		terminal_show(&t->terminal); /* the rest of what was drawn */
	return goes_on ? SCREEN_NOTHING : SCREEN_QUIT;
}

/* ---- the terminal ---------------------------------------------------------------------- */

static void start_colours(struct top *t)
{
	if (!t->style.colour || !has_colors() || start_color() == ERR)
		return;
	use_default_colors();
	t->colours = init_pair(TITLE, COLOR_BLACK, COLOR_CYAN) == OK &&
		     init_pair(SORTED, COLOR_BLACK, COLOR_YELLOW) == OK;
}

/* Opens the terminal's input.  Without one there are no keys. */
static FILE *open_keys(struct top *t)
{
	bool standard = fileno(t->file) == STDOUT_FILENO;
	int fd;

	t->has_keys = !standard || isatty(STDIN_FILENO);
	if (!t->has_keys)
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
	start_colours(t);
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

	view_begin(&t->view, run);
	open_screen(t);
	draw(t);
}

static void top_row(struct sink *sink, const struct row *row)
{
	view_put(&((struct top *)sink)->view, row);
}

static void top_sampled(struct sink *sink)
{
	struct top *t = (struct top *)sink;
	const struct view *v = &t->view;
	const bool was_empty = view_is_empty(v);
	const size_t set = v->set;

	if (!view_sampled(&t->view))
		return;
	if (was_empty || v->set != set)
		find_columns(t);
	draw(t);
}

static void top_end(struct sink *sink)
{
	(void)sink;
	close_screen();
}

static void top_free(struct sink *sink)
{
	struct top *t = (struct top *)sink;

	if (current == t)
		close_screen();
	view_free(&t->view);
	line_free(&t->line);
	free(t->list.col);
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
	t->list.style = &t->style;
	t->list.screen = true;
	view_init(&t->view, style->group != SCOPE_NONE ? style->group : SCOPE_COMMAND,
		  style->cycles);
	return &t->sink;
}

static const struct screen screen = {.act = act, .suspend = suspend, .resume = resume};

const struct format top_format = {
	.name = "top", .open = top_open, .comm = true, .whole = true, .screen = &screen};
