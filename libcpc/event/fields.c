/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * fields.c - parts of event names: fields ("kind/field=value,field/"), symbols, modifiers; and
 * the first name of a walk.
 */
#include "event.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int refuse(const char *name, struct cpci_diag *diag, const char *why)
{
	return cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "invalid event '%s': %s", name, why);
}

/* Takes the next field, which ends at a comma outside of quotes and brackets. */
static char *next_field(char **rest)
{
	char *field = *rest, *c = field;
	bool quoted = false;
	int depth = 0;

	if (field == NULL)
		return NULL;
	for (; *c != '\0' && (*c != ',' || quoted || depth > 0); c++) {
		quoted ^= *c == '"';
		if (!quoted)
			depth += (*c == '[') - (*c == ']' && depth > 0);
	}
	*rest = *c != '\0' ? c + 1 : NULL;
	*c = '\0';
	return field;
}

int cpci_event_fields(const char *name, const char *kind, void *arg, cpci_field_fn *parse,
		      struct cpci_diag *diag)
{
	size_t n = strlen(name), skip = strlen(kind);
	const char *why = NULL;
	char text[1024], *rest = text, *field;

	if (strncmp(name, kind, skip) != 0 || name[skip] != '/')
		return 0;
	skip++;
	if (n >= sizeof(text))
		return refuse(name, diag, "it is too long");
	if (name[n - 1] != '/')
		return refuse(name, diag, "it must end with a slash");
	snprintf(text, sizeof(text), "%.*s", n > skip ? (int)(n - 1 - skip) : 0, name + skip);
	if (*text == '\0')
		rest = NULL; /* no fields, rather than an empty one */
	while (why == NULL && (field = next_field(&rest)) != NULL) {
		char *value = field;

		strsep(&value, "=");
		why = parse(arg, field, value);
	}
	if (why == NULL)
		why = parse(arg, NULL, NULL);
	return why == NULL ? 1 : refuse(name, diag, why);
}

const char *cpci_event_symbol(char *text, struct cpci_term *term, uint64_t *offset)
{
	char *end = *text == '"' ? strchr(text + 1, '"') : NULL, *plus;

	*offset = 0;
	if (*text == '"' && end == NULL)
		return "a quote is missing";
	if (end != NULL) {
		*end++ = '\0';
		text++;
	}
	plus = end != NULL ? end : strchr(text, '+');
	if (end != NULL && *end != '\0' && *end != '+')
		return "+offset or the end must follow the quote";
	term->exact = plus != NULL && *plus == '+';
	if (term->exact)
		*plus++ = '\0';
	if (*text == '\0')
		return "the symbol is missing";
	if (*text == '/')
		return "a symbol does not begin with a slash";
	if (end == NULL && strchr(text, '"') != NULL)
		return "a quote does not begin at the symbol";
	if (strlcpy(term->symbol, text, CPCI_MAX_SYMBOL) >= CPCI_MAX_SYMBOL)
		return "the symbol is longer than 255 characters";
	if (term->exact && !cpci_parse_number(plus, offset))
		return "the offset from the symbol must be a number";
	return NULL;
}

bool cpci_event_precise(const char *name, const char *word, size_t n, struct cpci_diag *diag)
{
	static const char option[] = "precise";
	bool letters = n > 0 && (strspn(word, "p") >= n || (n == 1 && *word == 'P'));

	if (!letters && (n < 2 || n >= sizeof(option) || strncmp(word, option, n) != 0))
		return false;
	cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
		  "invalid event '%s': '%.*s' makes samples precise; counts are always exact", name,
		  (int)n, word);
	return true;
}

void cpci_take_first(void *arg, const char *name, const char *desc)
{
	const struct cpci_first *first = arg;

	(void)desc;
	if (*first->name == '\0')
		strlcpy(first->name, name, first->size);
}
