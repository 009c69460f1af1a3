/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * expr.c - expressions of definitions: sums of events, which are counted as one event, and
 * ratios, which are computed from counts.
 *
 * Names can contain the characters of operators, so operators need blanks around.  Parentheses
 * need none.  In a ratio a decimal number is a constant.
 */
#include "event.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPS 4096 /* of a ratio */

/* ---- words -------------------------------------------------------------------------- */

/* Counts the parentheses at the end of a word that are not opened in the word. */
static size_t closing(const char *word, size_t n)
{
	size_t last = 0;
	long open = 0;

	for (size_t i = 0; i < n; i++)
		open += (word[i] == '(') - (word[i] == ')');
	while (open < 0 && last < n && word[n - 1 - last] == ')') {
		last++;
		open++;
	}
	return last;
}

/* The decimal point does not depend on the program's locale. */
static locale_t c_locale;

static void make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Is the word a decimal number, "1", "0.5" or "2e-3"? */
static bool read_decimal(const char *word, size_t n, long double *val)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t digits = strspn(word, "0123456789");
	char *end;

	/* strtold(3) also accepts "1.", "0x1" and blanks. */
	if (digits == 0 || strspn(word, "0123456789.eE+-") < n ||
	    (digits < n && word[digits] == '.' && !isdigit((unsigned char)word[digits + 1])))
		return false;
	pthread_once(&once, make_locale);
	*val = strtold_l(word, &end, c_locale);
	return end == word + n;
}

enum cpci_token cpci_token_next(const char **p, const char **word, size_t *n)
{
	long double number;

	*p += strspn(*p, " \t");
	*word = *p;
	if (**p == '\0') {
		*n = 0;
		return CPCI_TOKEN_END;
	}
	*n = **p == '(' || **p == ')' ? 1 : strcspn(*p, " \t");
	if (*n > 1)
		*n -= closing(*p, *n);
	*p += *n;
	if (*n == 1 && strchr("+-*/()", **word) != NULL)
		return CPCI_TOKEN_OPERATOR;
	return read_decimal(*word, *n, &number) ? CPCI_TOKEN_NUMBER : CPCI_TOKEN_EVENT;
}

bool cpci_expr_is_ratio(const char *expr)
{
	enum cpci_token token;
	const char *word;
	size_t n;

	if (strpbrk(expr, "*/()") == NULL) /* the fast path of most definitions */
		return false;
	while ((token = cpci_token_next(&expr, &word, &n)) != CPCI_TOKEN_END) {
		if (token == CPCI_TOKEN_OPERATOR && strchr("*/()", *word) != NULL)
			return true;
	}
	return false;
}

/* ---- ratios ------------------------------------------------------------------------- */

struct parser {
	const char *p;
	enum cpci_token token;
	const char *word;
	size_t n;
	uint_t nest;
	struct cpc_ratio *ratio;
	const char *wrong; /* the first error; NULL: none */
};

static const char no_memory[] = "there is no memory for it";

static void next_token(struct parser *p)
{
	p->token = cpci_token_next(&p->p, &p->word, &p->n);
}

static void add_op(struct parser *p, const struct cpci_op *op)
{
	struct cpc_ratio *ratio = p->ratio;
	struct cpci_op *ops;

	if (p->wrong != NULL)
		return;
	if (ratio->nops == MAX_OPS) {
		p->wrong = "the expression is too long";
		return;
	}
	ops = reallocarray(ratio->op, ratio->nops + 1U, sizeof(*ops));
	if (ops == NULL) {
		p->wrong = no_memory;
		return;
	}
	ratio->op = ops;
	ops[ratio->nops++] = *op;
}

/* The index of the event of a word, which may occur earlier in the expression. */
static uint_t event_index(struct parser *p)
{
	struct cpc_ratio *ratio = p->ratio;
	char **events;

	for (uint_t i = 0; i < ratio->nevents; i++) {
		if (strlen(ratio->event[i]) == p->n && memcmp(ratio->event[i], p->word, p->n) == 0)
			return i;
	}
	events = reallocarray(ratio->event, ratio->nevents + 1U, sizeof(char *));
	if (events != NULL) {
		ratio->event = events;
		events[ratio->nevents] = strndup(p->word, p->n);
		if (events[ratio->nevents] != NULL)
			return ratio->nevents++;
	}
	p->wrong = no_memory;
	return 0;
}

static bool is_operator(const struct parser *p, const char *which)
{
	return p->wrong == NULL && p->token == CPCI_TOKEN_OPERATOR &&
	       strchr(which, *p->word) != NULL;
}

static void parse_sum(struct parser *p);

static void parse_factor(struct parser *p)
{
	struct cpci_op op = {.what = 'e'};

	if (is_operator(p, "(")) {
		if (++p->nest > CPCI_MAX_NEST)
			p->wrong = "too many parentheses within each other";
		next_token(p);
		parse_sum(p);
		if (!is_operator(p, ")")) {
			p->wrong = p->wrong != NULL ? p->wrong : "a parenthesis is not closed";
			return;
		}
		p->nest--;
	} else if (p->wrong == NULL && p->token == CPCI_TOKEN_NUMBER) {
		op.what = 'n';
		read_decimal(p->word, p->n, &op.number);
		add_op(p, &op);
	} else if (p->wrong == NULL && p->token == CPCI_TOKEN_EVENT && p->n < CPCI_MAX_PART &&
		   (memchr(p->word, ',', p->n) == NULL || memchr(p->word, '/', p->n) != NULL)) {
		op.event = event_index(p);
		add_op(p, &op);
	} else if (p->wrong == NULL) {
		p->wrong = "a ratio is made of events, numbers, + - * / and parentheses";
		return;
	}
	next_token(p);
}

static void parse_product(struct parser *p)
{
	parse_factor(p);
	while (is_operator(p, "*/")) {
		const struct cpci_op op = {.what = *p->word};

		next_token(p);
		parse_factor(p);
		add_op(p, &op);
	}
}

static void parse_sum(struct parser *p)
{
	parse_product(p);
	while (is_operator(p, "+-")) {
		const struct cpci_op op = {.what = *p->word};

		next_token(p);
		parse_product(p);
		add_op(p, &op);
	}
}

struct cpc_ratio *cpci_ratio_parse(const char *expr, const char **wrong)
{
	struct parser p = {.p = expr, .ratio = calloc(1, sizeof(*p.ratio))};

	if (p.ratio == NULL) {
		*wrong = no_memory;
		errno = ENOMEM;
		return NULL;
	}
	next_token(&p);
	parse_sum(&p);
	if (p.wrong == NULL && p.token != CPCI_TOKEN_END)
		p.wrong = "an operator is missing, or a parenthesis";
	if (p.wrong == NULL && p.ratio->nevents == 0)
		p.wrong = "a ratio has an event at least";
	if (p.wrong == NULL && (p.ratio->text = strdup(expr)) == NULL)
		p.wrong = no_memory;
	*wrong = p.wrong;
	if (p.wrong == NULL)
		return p.ratio;
	cpci_ratio_free(p.ratio);
	errno = p.wrong == no_memory ? ENOMEM : EINVAL;
	return NULL;
}

void cpci_ratio_free(struct cpc_ratio *ratio)
{
	if (ratio == NULL)
		return;
	for (uint_t i = 0; i < ratio->nevents; i++)
		free(ratio->event[i]);
	free(ratio->event);
	free(ratio->op);
	free(ratio->text);
	free(ratio);
}
