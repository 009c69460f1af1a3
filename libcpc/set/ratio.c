/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* ratio.c - ratios of counts: looks them up among the definitions, and computes them. */
#include "set.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 8    /* nested ratios */
#define MAX_TEXT 16384 /* of the whole expression */

struct expansion {
	const struct cpci_defs *defs;
	FILE *text;
	uint_t depth;
	struct cpci_diag *diag;
};

/*
 * 1: the definition of `name` is a ratio, or a sum that contains some: event->ratio; 0: it is
 * an event; -1: neither: see `diag`.  There is nothing to free.
 */
static int classify(const struct cpci_defs *defs, const char *name, struct cpci_event *event,
		    struct cpci_diag *diag)
{
	int rc;

	*event = (struct cpci_event){.defs = defs};
	rc = cpci_event_resolve(name, CPC_COUNT_USER, event, diag);
	if (rc == 0)
		cpci_event_free(event);
	return rc == 0 ? 0 : diag->subcode == CPC_IS_RATIO && event->ratio != NULL ? 1 : -1;
}

static int expand(struct expansion *x, const struct cpci_def *def);

static int expand_name(struct expansion *x, const char *name)
{
	struct cpci_event event;
	struct cpci_diag why;

	/* An event that cannot be counted is refused later, when it is added to a set. */
	if (classify(x->defs, name, &event, &why) != 1) {
		fprintf(x->text, "%s ", name);
		return 0;
	}
	fputs("( ", x->text);
	if (expand(x, event.ratio) == -1)
		return -1;
	fputs(") ", x->text);
	return 0;
}

/* Writes an expression with all ratios in it replaced by their expressions.  -1: see `diag`. */
static int expand(struct expansion *x, const struct cpci_def *def)
{
	const char *p = def->expr, *word;
	char name[CPCI_MAX_PART];
	enum cpci_token token;
	size_t n;
	int rc = 0;

	if (x->depth == MAX_DEPTH || ftell(x->text) > MAX_TEXT)
		return cpci_diag(x->diag, EINVAL, CPC_INVALID_EVENT,
				 "%s:%d: the definition of '%s' %s", def->file, def->line,
				 def->name,
				 x->depth == MAX_DEPTH ? "refers to itself" : "is too long");
	x->depth++;
	while (rc == 0 && (token = cpci_token_next(&p, &word, &n)) != CPCI_TOKEN_END) {
		snprintf(name, sizeof(name), "%.*s", (int)n, word);
		if (token == CPCI_TOKEN_EVENT)
			rc = expand_name(x, name);
		else
			fprintf(x->text, "%s ", name);
	}
	x->depth--;
	return rc;
}

/* Makes the ratio of a definition.  NULL: see `diag`. */
static cpc_ratio_t *from_def(const struct cpci_defs *defs, const struct cpci_def *def,
			     struct cpci_diag *diag)
{
	char *text = NULL;
	size_t size;
	struct expansion x = {.defs = defs, .text = open_memstream(&text, &size), .diag = diag};
	cpc_ratio_t *ratio = NULL;
	const char *wrong;
	int rc;

	if (x.text == NULL) {
		cpci_diag_nomem(diag);
		return NULL;
	}
	rc = expand(&x, def);
	if (fclose(x.text) != 0) {
		cpci_diag_nomem(diag);
	} else if (rc == 0) {
		text[size - 1] = '\0'; /* remove the last blank */
		ratio = cpci_ratio_parse(text, &wrong);
		if (ratio == NULL)
			cpci_diag(diag, errno, errno == EINVAL ? CPC_INVALID_EVENT : 0,
				  "%s:%d: cannot resolve '%s': %s", def->file, def->line, def->name,
				  wrong);
	}
	free(text);
	return ratio;
}

cpc_ratio_t *cpci_ratio_find(const struct cpci_defs *defs, const char *name,
			     struct cpci_event *event, struct cpci_diag *diag)
{
	cpc_ratio_t *ratio = NULL;
	int rc;

	cpci_lock();
	rc = classify(defs, name, event, diag);
	if (rc == 1)
		ratio = from_def(defs, event->ratio, diag);
	else if (rc == 0)
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT, "'%s' is an event, not a ratio", name);
	cpci_unlock();
	return ratio;
}

/* Makes a ratio known to the public calls.  NULL and errno: `ratio` is NULL, or out of memory. */
static cpc_ratio_t *publish(cpc_ratio_t *ratio)
{
	bool known;

	if (ratio == NULL)
		return NULL;
	cpci_lock();
	known = known_add(&cpci_known_ratios, ratio);
	cpci_unlock();
	if (known)
		return ratio;
	cpci_ratio_free(ratio);
	errno = ENOMEM;
	return NULL;
}

static bool is_ratio(const cpc_ratio_t *ratio)
{
	return known_has(&cpci_known_ratios, ratio);
}

enum cpc_name cpc_name_kind(cpc_t *cpc, const char *name)
{
	struct cpci_event event = {0};
	const struct cpci_defs *defs;
	struct cpci_diag diag;
	int rc = 0;

	if (cpci_check_handle(cpc) == -1)
		return CPC_NAME_UNKNOWN;
	defs = cpci_defs(cpc, "cpc_name_kind", &diag);
	cpci_lock();
	if (defs != NULL)
		rc = classify(defs, name, &event, &diag);
	cpci_unlock();
	if (rc == 1)
		return CPC_NAME_RATIO;
	return event.unknown ? CPC_NAME_UNKNOWN : CPC_NAME_EVENT;
}

cpc_ratio_t *cpc_ratio_find(cpc_t *cpc, const char *name)
{
	static const char fn[] = "cpc_ratio_find";
	cpc_ratio_t *ratio = NULL;
	struct cpci_event event;
	const struct cpci_defs *defs;
	struct cpci_diag diag;

	if (cpci_check_handle(cpc) == -1)
		return NULL;
	defs = cpci_defs(cpc, fn, &diag);
	if (defs != NULL) {
		ratio = cpci_ratio_find(defs, name, &event, &diag);
		if (ratio != NULL && publish(ratio) == NULL) {
			ratio = NULL;
			cpci_diag_nomem(&diag);
		}
	}
	cpci_warn_vendor(cpc, fn);
	if (ratio == NULL)
		cpci_fail(cpc, fn, &diag);
	else
		cpci_warn_redefined(cpc, fn, &event);
	return ratio;
}

cpc_ratio_t *cpc_ratio_parse(const char *text)
{
	const char *wrong;

	return publish(cpci_ratio_parse(text, &wrong));
}

void cpc_ratio_free(cpc_ratio_t *ratio)
{
	bool known;

	cpci_lock();
	known = known_remove(&cpci_known_ratios, ratio);
	cpci_unlock();
	if (known)
		cpci_ratio_free(ratio);
}

const char *cpc_ratio_text(const cpc_ratio_t *ratio)
{
	return is_ratio(ratio) ? ratio->text : NULL;
}

uint_t cpc_ratio_nevents(const cpc_ratio_t *ratio)
{
	return is_ratio(ratio) ? ratio->nevents : 0;
}

const char *cpc_ratio_event(const cpc_ratio_t *ratio, uint_t index)
{
	return is_ratio(ratio) && index < ratio->nevents ? ratio->event[index] : NULL;
}

static long double apply(char what, long double a, long double b)
{
	switch (what) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	default:
		return b != 0 ? a / b : (long double)NAN;
	}
}

double cpc_ratio_value(const cpc_ratio_t *ratio, const long double *count)
{
	long double stack[CPCI_RATIO_STACK] = {0};
	size_t n = 0;
	double val;

	if (!is_ratio(ratio))
		return (double)NAN;
	for (uint_t i = 0; i < ratio->nops; i++) {
		const struct cpci_op *op = &ratio->op[i];

		if (op->what == 'e') {
			stack[n++] = count[op->event];
		} else if (op->what == 'n') {
			stack[n++] = op->number;
		} else {
			n--;
			stack[n - 1] = apply(op->what, stack[n - 1], stack[n]);
		}
	}
	val = (double)stack[0];
	return isfinite(val) ? val : (double)NAN;
}
