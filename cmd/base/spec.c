/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * spec.c - the parser of event specs.  It knows only the syntax, no events.
 */
#include "spec.h"

#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <libcpc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_SLOT 999999 /* stands for all larger numbers; not a slot */

struct parser {
	const struct spec_names *names;
	struct spec *spec;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3))) static int refuse(const struct parser *p, const char *fmt,
							...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, p->why_size, fmt, ap);
	va_end(ap);
	return -1;
}

/* Parses all of `s` as a number; base 0 accepts the prefixes 0x and 0. */
static bool parse_number(const char *s, int base, uint64_t *val)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*val = strtoull(s, &end, base);
	return *end == '\0' && errno == 0;
}

/* Parses "picN" into N. */
static bool parse_pic(const char *s, size_t n, unsigned *slot)
{
	unsigned long val;

	if (n < 4 || strncmp(s, "pic", 3) != 0 || strspn(s + 3, "0123456789") != n - 3)
		return false;
	val = strtoul(s + 3, NULL, 10);
	*slot = val < NO_SLOT ? (unsigned)val : NO_SLOT;
	return true;
}

static struct spec_req *find_slot(const struct spec *spec, unsigned slot)
{
	for (size_t i = 0; i < spec->nreqs; i++) {
		if (spec->req[i].slot == slot)
			return &spec->req[i];
	}
	return NULL;
}

static void add_event(struct spec *spec, const char *name, bool placed, unsigned slot)
{
	spec->req = xrealloc(spec->req, (spec->nreqs + 1) * sizeof(*spec->req));
	spec->req[spec->nreqs++] =
		(struct spec_req){.event = xstrdup(name), .slot = slot, .placed = placed};
}

/* The index of the request for an event of a ratio. */
static size_t find_or_add(struct spec *spec, const char *event)
{
	for (size_t i = 0; i < spec->nreqs; i++) {
		if (strcmp(spec->req[i].event, event) == 0)
			return i;
	}
	add_event(spec, event, false, 0);
	return spec->nreqs - 1;
}

static void add_ratio(struct parser *p, const char *name)
{
	const struct spec_names *names = p->names;
	struct spec *spec = p->spec;
	struct spec_ratio *ratio;
	const char *event;

	for (size_t i = 0; i < spec->nratios; i++) {
		if (strcmp(spec->ratio[i].name, name) == 0)
			return;
	}
	spec->ratio = xrealloc(spec->ratio, (spec->nratios + 1) * sizeof(*ratio));
	ratio = &spec->ratio[spec->nratios++];
	*ratio = (struct spec_ratio){.name = xstrdup(name)};
	while ((event = names->ratio_event(names->arg, name, ratio->nevents)) != NULL) {
		ratio->req = xrealloc(ratio->req, (ratio->nevents + 1) * sizeof(*ratio->req));
		ratio->req[ratio->nevents++] = find_or_add(spec, event);
	}
}

static bool is_ratio(const struct parser *p, const char *name)
{
	return p->names->ratio_event != NULL &&
	       p->names->ratio_event(p->names->arg, name, 0) != NULL;
}

static bool is_mode(const char *name)
{
	return strcmp(name, "nouser") == 0 || strcmp(name, "sys") == 0;
}

static int set_attr(struct parser *p, struct spec_req *req, const char *name, uint64_t val)
{
	if (is_mode(name) && val > 1)
		return refuse(p, "invalid value of attribute '%s': expected 0 or 1", name);
	if (strcmp(name, "nouser") == 0) {
		req->nouser = val != 0;
		return 0;
	}
	if (strcmp(name, "sys") == 0) {
		req->sys = val != 0;
		return 0;
	}
	req->attr = xrealloc(req->attr, (req->nattrs + 1) * sizeof(*req->attr));
	req->attr[req->nattrs++] = (struct spec_attr){.name = xstrdup(name), .val = val};
	return 0;
}

/* Solaris uses these attributes internally. */
static bool is_sibling(const char *name)
{
	return strncmp(name, "count_sibling_", 14) == 0;
}

/*
 * The length of the attribute name in "name" or "nameN", where N is a slot; names can end in
 * digits, too.  0: not an attribute.
 */
static size_t attr_length(const struct parser *p, char *word)
{
	bool is = false;

	for (size_t n = strlen(word); n > 0; n--) {
		char next = word[n];

		word[n] = '\0';
		is = is_mode(word) || p->names->is_attr(p->names->arg, word);
		word[n] = next;
		if (is)
			return n;
		if (!isdigit((unsigned char)word[n - 1]))
			break;
	}
	return 0;
}

/* "name" sets the attribute for all slots, "nameN" for slot N. */
static int apply_attr(struct parser *p, char *name, uint64_t val)
{
	size_t n = strlen(name), stem = attr_length(p, name);
	struct spec_req *req = NULL;
	uint64_t slot;

	for (size_t i = n; stem == 0 && i > 0; i--) {
		if (!isdigit((unsigned char)name[i - 1]))
			stem = i;
	}
	if (stem == 0)
		return refuse(p, "unknown attribute '%s'", name);
	if (stem < n) {
		if (parse_number(name + stem, 10, &slot) && slot < NO_SLOT)
			req = find_slot(p->spec, (unsigned)slot);
		if (req == NULL)
			return refuse(p, "invalid attribute '%s': no event on pic%s", name,
				      name + stem);
		name[stem] = '\0';
	}
	if (strcmp(name, "picnum") == 0)
		return refuse(p, "unsupported attribute '%s'; write picN=event", name);
	if (is_sibling(name))
		return refuse(p, "unsupported attribute '%s'", name);
	if (stem < n)
		return set_attr(p, req, name, val);
	for (size_t i = 0; i < p->spec->nreqs; i++) {
		if (set_attr(p, &p->spec->req[i], name, val) == -1)
			return -1;
	}
	return 0;
}

/* Is the token, up to `eq` if it has a value, an attribute and not an event? */
static bool is_attr(const struct parser *p, char *token, const char *eq)
{
	/* In event names of libpfm4 and sysfs, '=' follows a ':' or '/'. */
	if (eq != NULL)
		return memchr(token, ':', (size_t)(eq - token)) == NULL &&
		       memchr(token, '/', (size_t)(eq - token)) == NULL;
	return attr_length(p, token) > 0 || is_sibling(token);
}

/* Is it a misspelled slot, such as "pic=", "PIC1=" or "pic1.5="? */
static bool is_bad_pic(const char *token, const char *eq)
{
	return strncasecmp(token, "pic", 3) == 0 && !isalpha((unsigned char)token[3]) &&
	       token[3] != '_' && token + strcspn(token, ":/=") == eq;
}

/*
 * Attributes also apply to events after them.  So there are two passes: first events, then
 * attributes.
 */
static int parse_token(struct parser *p, char *token, bool event_pass)
{
	char *eq = strchr(token, '=');
	uint64_t val = 1;
	unsigned slot = 0;

	/* Filters between slashes can contain blanks: libcpc checks these. */
	if (strcspn(token, " \t\r\n") < strcspn(token, "/"))
		return refuse(p, "invalid blank in '%s'; a spec has no blanks", token);
	if (parse_pic(token, eq != NULL ? (size_t)(eq - token) : strlen(token), &slot)) {
		if (!event_pass)
			return 0;
		if (eq == NULL || eq[1] == '\0')
			return refuse(p, "missing event after '%s'", token);
		if (slot == NO_SLOT)
			return refuse(p, "invalid slot in '%s'", token);
		if (is_ratio(p, eq + 1))
			return refuse(p, "invalid slot in '%s': a ratio has no slot", token);
		add_event(p->spec, eq + 1, true, slot);
		return 0;
	}
	if (eq != NULL && is_bad_pic(token, eq))
		return refuse(p, "invalid slot in '%s': expected picN=event with a number N",
			      token);
	if (!is_attr(p, token, eq)) {
		if (event_pass && is_ratio(p, token))
			add_ratio(p, token);
		else if (event_pass)
			add_event(p->spec, token, false, 0);
		return 0;
	}
	if (event_pass)
		return 0;
	if (eq != NULL) {
		if (!parse_number(eq + 1, 0, &val))
			return refuse(p, "invalid value in '%s': expected a number", token);
		*eq = '\0';
	}
	return apply_attr(p, token, val);
}

static int parse_all(struct parser *p, const char *text, bool event_pass)
{
	for (;;) {
		size_t n = cpc_word_length(text);
		char *token = xasprintf("%.*s", (int)n, text);
		int rc = n == 0 ? refuse(p, "missing event") : parse_token(p, token, event_pass);

		free(token);
		if (rc == -1 || text[n] == '\0')
			return rc;
		text += n + 1;
	}
}

static void choose_slots(struct spec *spec)
{
	int *slot = xcalloc(spec->nreqs + 1, sizeof(*slot));

	for (size_t i = 0; i < spec->nreqs; i++)
		slot[i] = spec->req[i].placed ? (int)spec->req[i].slot : -1;
	cpc_choose_slots(spec->nreqs, slot);
	for (size_t i = 0; i < spec->nreqs; i++)
		spec->req[i].slot = (unsigned)slot[i];
	free(slot);
}

static int check_modes(const struct parser *p)
{
	if (p->spec->nreqs == 0)
		return refuse(p, "missing event: the spec has only attributes");
	for (size_t i = 0; i < p->spec->nreqs; i++) {
		const struct spec_req *req = &p->spec->req[i];

		if (req->nouser && !req->sys)
			return refuse(
				p,
				"invalid attributes of '%s': with nouser but without sys it counts nothing",
				req->event);
	}
	return 0;
}

int spec_parse(const char *text, const struct spec_names *names, struct spec *spec, char *why,
	       size_t why_size)
{
	struct parser p = {.names = names, .spec = spec, .why = why, .why_size = why_size};

	*spec = (struct spec){0};
	if (parse_all(&p, text, true) == 0) {
		choose_slots(spec);
		if (parse_all(&p, text, false) == 0 && check_modes(&p) == 0)
			return 0;
	}
	spec_free(spec);
	return -1;
}

void spec_free(struct spec *spec)
{
	for (size_t i = 0; i < spec->nreqs; i++) {
		struct spec_req *req = &spec->req[i];

		for (size_t j = 0; j < req->nattrs; j++)
			free(req->attr[j].name);
		free(req->attr);
		free(req->event);
	}
	for (size_t i = 0; i < spec->nratios; i++) {
		free(spec->ratio[i].name);
		free(spec->ratio[i].req);
	}
	free(spec->req);
	free(spec->ratio);
	*spec = (struct spec){0};
}
