/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* fields.c - event names with fields: "kind/field=value,field/". */
#include "event.h"

#include <bsd/string.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int refuse(const char *name, struct cpci_diag *diag, const char *why)
{
	cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "invalid event '%s': %s", name, why);
	return -1;
}

int cpci_event_fields(const char *name, const char *kind, void *arg, cpci_field_fn *parse,
		      struct cpci_diag *diag)
{
	size_t n = strlen(name), skip = strlen(kind);
	const char *why = NULL;
	char text[1024], *next;

	if (strncmp(name, kind, skip) != 0 || name[skip] != '/')
		return 0;
	skip++;
	if (n >= sizeof(text))
		return refuse(name, diag, "it is too long");
	if (name[n - 1] != '/')
		return refuse(name, diag, "it must end with a slash");
	snprintf(text, sizeof(text), "%.*s", n > skip ? (int)(n - 1 - skip) : 0, name + skip);
	for (char *field = *text != '\0' ? text : NULL; why == NULL && field != NULL;
	     field = next) {
		char *value;

		next = strchr(field, ',');
		if (next != NULL)
			*next++ = '\0';
		value = strchr(field, '=');
		if (value != NULL)
			*value++ = '\0';
		why = parse(arg, field, value);
	}
	if (why == NULL)
		why = parse(arg, NULL, NULL);
	return why == NULL ? 1 : refuse(name, diag, why);
}

const char *cpci_event_symbol(char *text, char *symbol, uint64_t *offset)
{
	char *plus = strchr(text, '+');

	*offset = 0;
	if (plus != NULL)
		*plus++ = '\0';
	if (*text == '\0')
		return "the symbol is missing";
	if (strlcpy(symbol, text, CPCI_MAX_SYMBOL) >= CPCI_MAX_SYMBOL)
		return "the symbol is longer than 255 characters";
	if (plus != NULL && !cpci_parse_number(plus, offset))
		return "the offset from the symbol must be a number";
	return NULL;
}
