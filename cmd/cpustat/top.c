/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * top.c - shows the last sample on the screen of a terminal, by terminfo(5).
 */
#include "top.h"

#include "../base/say.h"
#include "../base/util.h"
#include "../rows/line.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#ifdef CPC_TERMINFO
#include <curses.h>
#include <term.h>
#endif

#define ID_WIDTH 8
#define MIN_WIDTH 12 /* of a column */

struct entry {
	struct row row;
	uint64_t val[RUN_MAX_EVENTS];
};

struct top {
	struct sink sink;
	FILE *file;
	struct style style;
	const struct run *run;
	size_t n, size;
	struct entry *entry; /* of the current sample */
	size_t key_width;
	bool drawing; /* the terminal is in our mode */
	bool keys;    /* the standard input is a terminal; `before` is its original mode */
	struct termios before, raw;
	struct sigaction stop;	     /* the original handler of SIGTSTP */
	char enter[256], leave[256]; /* sequences to begin and end drawing */
	char *frame;		     /* the last drawn screen */
	size_t frame_size;
	struct line line;
};

/* For the handler of SIGTSTP; NULL: not drawing. */
static struct top *_Atomic current;
_Static_assert(ATOMIC_POINTER_LOCK_FREE == 2, "the handler cannot use locks");

#ifdef CPC_TERMINFO
static const char *capability(const char *name)
{
	const char *text = tigetstr((NCURSES_CONST char *)(uintptr_t)name);

	return text != NULL && text != (const char *)-1 ? text : NULL;
}

bool top_possible(void)
{
	int error;

	if (!isatty(STDOUT_FILENO)) {
		say("cannot use --top: the standard output is not a terminal");
		return false;
	}
	if (setupterm(NULL, STDOUT_FILENO, &error) == OK && capability("clear") != NULL &&
	    capability("home") != NULL && capability("el") != NULL && capability("ed") != NULL)
		return true;
	say("cannot use --top: the terminal (TERM='%s') lacks capabilities",
	    getenv("TERM") != NULL ? getenv("TERM") : "");
	return false;
}
#else
static const char *capability(const char *name)
{
	(void)name;
	return NULL;
}

bool top_possible(void)
{
	say("cannot use --top: this program was built without terminfo");
	return false;
}
#endif

/* Appends a control sequence.  Optional ones can be missing; top_possible() checked the others. */
static void put_control(struct line *line, const char *name)
{
	const char *text = capability(name);

	/* Skip delays such as $<5>: only hardware terminals need them. */
	for (; text != NULL && *text != '\0'; text++) {
		const char one[] = {*text, '\0'};

		if (text[0] == '$' && text[1] == '<' && strchr(text, '>') != NULL)
			text = strchr(text, '>');
		else
			line_word(line, one, 0);
	}
}

static void put_controls(struct top *t, char *text, size_t size, const char *const *names)
{
	for (; *names != NULL; names++)
		put_control(&t->line, *names);
	snprintf(text, size, "%.*s", (int)t->line.n, t->line.text != NULL ? t->line.text : "");
	t->line.n = 0;
}

/* ---- ^Z ------------------------------------------------------------------------------ */

/* For the signal handler, which cannot use stdio. */
static void write_now(const char *text, size_t n)
{
	ssize_t done;

	for (; n > 0 && (done = write(STDOUT_FILENO, text, n)) > 0; n -= (size_t)done)
		text += done;
}

/* Restores the terminal and stops.  After SIGCONT, restores our screen. */
static void on_stop(int sig)
{
	const struct top *t = atomic_load(&current);
	struct sigaction ours;
	sigset_t set, old;
	int error = errno;

	if (t == NULL)
		return;
	write_now(t->leave, strlen(t->leave));
	if (t->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
	sigaction(sig, &t->stop, &ours);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, &old); /* stops here */
	sigprocmask(SIG_SETMASK, &old, NULL);
	sigaction(sig, &ours, NULL);
	if (t->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->raw);
	write_now(t->enter, strlen(t->enter));
	write_now(t->frame, t->frame_size);
	errno = error;
}

static void catch_stop(struct top *t)
{
	struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};

	sigaction(SIGTSTP, NULL, &t->stop);
	atomic_store(&current, t);
	if (t->stop.sa_handler != SIG_IGN) /* SIG_IGN: no job control */
		sigaction(SIGTSTP, &stop, NULL);
}

/* Stores the screen for on_stop(). */
static void keep_frame(struct top *t)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigprocmask(SIG_BLOCK, &set, &old);
	t->frame = xrealloc(t->frame, t->line.n + 1);
	memcpy(t->frame, t->line.text, t->line.n);
	t->frame_size = t->line.n;
	sigprocmask(SIG_SETMASK, &old, NULL);
}

/* ---- the screen ---------------------------------------------------------------------- */

static void start_drawing(struct top *t)
{
	static const char *const enter[] = {"smcup", "civis", "clear", NULL};
	static const char *const leave[] = {"cnorm", "rmcup", NULL};

	put_controls(t, t->enter, sizeof(t->enter), enter);
	put_controls(t, t->leave, sizeof(t->leave), leave);
	t->drawing = true;
	t->keys = tcgetattr(STDIN_FILENO, &t->before) == 0;
	if (t->keys) {
		t->raw = t->before;
		t->raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		t->raw.c_cc[VMIN] = 1;
		t->raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &t->raw);
	}
	fputs(t->enter, t->file);
	catch_stop(t);
}

static void stop_drawing(struct top *t)
{
	if (!t->drawing)
		return;
	sigaction(SIGTSTP, &t->stop, NULL);
	atomic_store(&current, NULL);
	fputs(t->leave, t->file);
	fflush(t->file);
	if (t->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
	t->drawing = false;
}

static void top_begin(struct sink *sink, const struct run *run)
{
	struct top *t = (struct top *)sink;

	t->run = run;
	t->key_width = KEY_WIDTH;
	start_drawing(t);
}

static void top_row(struct sink *sink, const struct row *row)
{
	struct top *t = (struct top *)sink;
	struct entry *entry;

	if (row->kind != ROW_TICK || row->ncpus == 0)
		return;
	if (t->n == t->size) {
		t->size = t->size * 2 + 16;
		t->entry = xrealloc(t->entry, t->size * sizeof(*t->entry));
	}
	entry = &t->entry[t->n++];
	entry->row = *row;
	memcpy(entry->val, row->val, t->run->set[row->set].nevents * sizeof(*entry->val));
}

/* Sorts by the count of the first event, largest first, unknown as 0; then by id. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	uint64_t m = x->row.valid & 1 ? x->val[0] : 0, n = y->row.valid & 1 ? y->val[0] : 0;

	if (m != n)
		return m < n ? 1 : -1;
	if (x->row.key != NULL)
		return strcmp(x->row.key, y->row.key);
	return (x->row.id > y->row.id) - (x->row.id < y->row.id);
}

/*
 * Ends the line that began at *begin, and begins the next one.  Cuts it at the width of the screen,
 * between words: a part of a number would be a wrong number.
 */
static void end_line(struct top *t, size_t *begin, size_t width, bool last)
{
	if (t->line.n > *begin + width) {
		size_t n = *begin + width;

		while (n > *begin && t->line.text[n] != ' ')
			n--;
		t->line.n = n;
	}
	put_control(&t->line, "el");
	if (!last)
		line_word(&t->line, "\r\n", 0);
	*begin = t->line.n;
}

static size_t width_of(const char *label)
{
	size_t n = strlen(label) + strlen("/s");

	return n > MIN_WIDTH ? n : MIN_WIDTH;
}

static void put_titles(struct top *t, const struct run_set *set)
{
	if (scope_has_keys(t->run->scope))
		line_key(&t->line, cpu_scope_name(t->run->scope), &t->key_width);
	else
		line_word(&t->line, cpu_scope_name(t->run->scope), ID_WIDTH);
	for (unsigned i = 0; i < set->nevents; i++) {
		line_blank(&t->line);
		line_title(&t->line, &t->style, set->event[i].label, width_of(set->event[i].label));
	}
	for (unsigned i = 0; i < set->nratios; i++) {
		line_blank(&t->line);
		line_label(&t->line, set->ratio[i].label, width_of(set->ratio[i].label));
	}
}

static void put_entry(struct top *t, const struct run_set *set, struct entry *entry)
{
	if (entry->row.key != NULL)
		line_key(&t->line, entry->row.key, &t->key_width);
	else if (entry->row.scope == SCOPE_ALL)
		line_word(&t->line, cpu_scope_name(SCOPE_ALL), ID_WIDTH);
	else
		line_number(&t->line, (uint64_t)entry->row.id, false, ID_WIDTH);
	entry->row.val = entry->val;
	for (unsigned i = 0; i < set->nevents; i++) {
		line_blank(&t->line);
		line_count(&t->line, &t->style, t->run, &entry->row, i,
			   width_of(set->event[i].label));
	}
	for (unsigned i = 0; i < set->nratios; i++) {
		line_blank(&t->line);
		line_ratio(&t->line, t->run, &entry->row, i, width_of(set->ratio[i].label));
	}
}

/* Draws a screen: the time, the titles, and as many rows as fit. */
static void top_sampled(struct sink *sink)
{
	struct top *t = (struct top *)sink;
	struct winsize size = {0};
	size_t width, height, shown, begin;

	if (t->n == 0)
		return;
	ioctl(fileno(t->file), TIOCGWINSZ, &size);
	width = size.ws_col > 0 ? size.ws_col : 80;
	height = size.ws_row > 2 ? size.ws_row : 24;
	shown = t->n < height - 2 ? t->n : height - 2;
	qsort(t->entry, t->n, sizeof(*t->entry), compare_entries);
	put_control(&t->line, "home");
	begin = t->line.n;
	line_time(&t->line, t->entry[0].row.time_ns);
	line_word(&t->line, " s, ", 0);
	line_number(&t->line, shown, false, 0);
	line_word(&t->line, " of ", 0);
	line_number(&t->line, t->n, false, 0);
	line_word(&t->line, " rows", 0);
	line_word(&t->line, t->keys ? "; q quits" : "", 0);
	end_line(t, &begin, width, false);
	put_titles(t, &t->run->set[t->entry[0].row.set]);
	end_line(t, &begin, width, false);
	for (size_t i = 0; i < shown; i++) {
		put_entry(t, &t->run->set[t->entry[i].row.set], &t->entry[i]);
		end_line(t, &begin, width, i + 1 == shown);
	}
	put_control(&t->line, "ed");
	keep_frame(t);
	line_write(&t->line, t->file);
	t->n = 0;
}

static void top_end(struct sink *sink)
{
	stop_drawing((struct top *)sink);
}

static void top_free(struct sink *sink)
{
	struct top *t = (struct top *)sink;

	line_free(&t->line);
	free(t->frame);
	free(t->entry);
	free(t);
}

static struct sink *top_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = top_begin,
					    .row = top_row,
					    .sampled = top_sampled,
					    .end = top_end,
					    .free = top_free};
	struct top *t = xcalloc(1, sizeof(*t));

	t->sink.ops = &ops;
	t->file = file;
	t->style = *style;
	return &t->sink;
}

const struct format top_format = {.name = "top", .open = top_open, .whole = true};
