/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* spec.c - parses the spec of an event, and makes sets from it. */
#include "v1.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* An event refers to a spec by its index here, plus 1, so that events can be copied freely. */
#define MAX_SPECS 4096
static _Atomic(struct cpci_v1_spec *) specs[MAX_SPECS];

static const char strtoevent[] = "cpc_strtoevent";

/* Cuts off the first word; NULL: none. */
static char *next_word(char **rest)
{
	char *word = *rest, *end;

	if (word == NULL)
		return NULL;
	end = word + cpc_word_length(word);
	*rest = *end != '\0' ? end + 1 : NULL;
	*end = '\0';
	return word;
}

static int refuse(const char *fmt, const char *word)
{
	errno = EINVAL;
	return cpci_v1_fail(strtoevent, fmt, word);
}

static int add_event(struct cpci_v1_spec *spec, char *word, uint_t *next)
{
	struct cpci_v1_req *req = &spec->req[spec->nreqs];
	unsigned long slot = *next;
	char *end;

	if (strncmp(word, "pic", 3) == 0) {
		slot = strtoul(word + 3, &end, 10);
		if (end == word + 3 || *end != '=')
			slot = *next;
		else
			word = end + 1;
	}
	if (*word == '\0')
		return refuse("an event is missing%s", word);
	if (slot >= CPC_EVENT_PICS)
		return refuse("no slot for '%s'", word);
	for (uint_t i = 0; i < spec->nreqs; i++) {
		if (spec->req[i].slot == slot)
			return refuse("the slot of '%s' is taken", word);
	}
	*req = (struct cpci_v1_req){.name = word, .slot = (uint_t)slot, .modes = CPC_COUNT_USER};
	spec->nreqs++;
	if (slot >= *next)
		*next = (uint_t)slot + 1;
	return 0;
}

static bool is_known(cpc_t *cpc, const char *name)
{
	return strcmp(name, "sys") == 0 || strcmp(name, "nouser") == 0 || cpc_is_attr(cpc, name);
}

/* An attribute, separated from its slot and value. */
struct attribute {
	char *name;
	uint64_t val;
	long slot; /* -1: all slots */
};

/* Parses a word as an attribute.  0: it is not one; -1: invalid. */
static int read_attribute(cpc_t *cpc, char *word, struct attribute *attr)
{
	char *value = strchr(word, '='), *digits, first;

	*attr = (struct attribute){.name = word, .val = 1, .slot = -1};
	if (value != NULL)
		*value = '\0';
	digits = word + strlen(word);
	while (digits > word && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	if (!is_known(cpc, word)) {
		first = *digits;
		attr->slot = strtol(digits, NULL, 10);
		*digits = '\0';
		if (first == '\0' || !is_known(cpc, word)) {
			*digits = first;
			if (value != NULL)
				*value = '=';
			return 0;
		}
	}
	if (value != NULL && !cpci_parse_number(value + 1, &attr->val))
		return refuse("the value of attribute '%s' is not a number", word);
	return 1;
}

static int apply(struct cpci_v1_req *req, const struct attribute *attr)
{
	bool sys = strcmp(attr->name, "sys") == 0;

	if (sys || strcmp(attr->name, "nouser") == 0) {
		uint_t mode = sys ? CPC_COUNT_SYSTEM : CPC_COUNT_USER;

		req->modes = sys == (attr->val != 0) ? req->modes | mode : req->modes & ~mode;
		return 0;
	}
	if (strcmp(attr->name, "picnum") == 0)
		return refuse("attribute '%s' cannot be given; write picN=event", attr->name);
	if (req->nattrs == CPCI_V1_ATTRS)
		return refuse("too many attributes: '%s'", attr->name);
	req->attr[req->nattrs++] = (cpc_attr_t){.ca_name = attr->name, .ca_val = attr->val};
	return 0;
}

static int apply_all(struct cpci_v1_spec *spec, const struct attribute *attr)
{
	bool any = false;

	for (uint_t i = 0; i < spec->nreqs; i++) {
		if (attr->slot != -1 && spec->req[i].slot != (unsigned long)attr->slot)
			continue;
		any = true;
		if (apply(&spec->req[i], attr) == -1)
			return -1;
	}
	return any ? 0 : refuse("attribute '%s' is for a slot without an event", attr->name);
}

static int parse(cpc_t *cpc, struct cpci_v1_spec *spec)
{
	struct attribute attr[2 * CPCI_V1_ATTRS];
	char *rest = spec->text + strlen(spec->text) + 1, *word;
	uint_t next = 0, nattrs = 0;
	int rc;

	while ((word = next_word(&rest)) != NULL) {
		if (nattrs == sizeof(attr) / sizeof(*attr))
			return refuse("too many attributes: '%s'", word);
		rc = read_attribute(cpc, word, &attr[nattrs]);
		if (rc == -1)
			return -1;
		nattrs += (uint_t)rc;
		if (rc == 0 && spec->nreqs == CPC_EVENT_PICS)
			return refuse("too many events: '%s'", word);
		if (rc == 0 && add_event(spec, word, &next) == -1)
			return -1;
	}
	if (spec->nreqs == 0)
		return refuse("no event%s", "");
	for (uint_t i = 0; i < nattrs; i++) {
		if (apply_all(spec, &attr[i]) == -1)
			return -1;
	}
	return 0;
}

/* Stores a spec, or finds an equal one: its index plus 1.  0 and errno: the table is full. */
static uint_t intern_spec(struct cpci_v1_spec *spec)
{
	uint_t i;

	cpci_lock();
	for (i = 0; i < MAX_SPECS && specs[i] != NULL; i++) {
		if (strcmp(specs[i]->text, spec->text) == 0)
			break;
	}
	if (i == MAX_SPECS || specs[i] != NULL)
		free(spec);
	else
		specs[i] = spec;
	cpci_unlock();
	if (i < MAX_SPECS)
		return i + 1;
	errno = ENOMEM;
	return 0;
}

int cpc_strtoevent(int cpuver, const char *text, cpc_event_t *event)
{
	cpc_t *cpc = cpci_v1_handle();
	size_t size = strlen(text) + 1;
	struct cpci_v1_spec *spec;
	cpc_set_t *set;

	if (cpc == NULL)
		return cpci_v1_fail(strtoevent, "%s", strerror(errno));
	if (cpuver != CPCI_V1_CPU)
		return refuse("the spec '%s' is for another machine", text);
	spec = calloc(1, sizeof(*spec) + 2 * size);
	if (spec == NULL)
		return cpci_v1_fail(strtoevent, "%s", strerror(errno));
	memcpy(spec->text, text, size);
	memcpy(spec->text + size, text, size);
	if (parse(cpc, spec) == -1) {
		free(spec);
		return -1;
	}
	set = cpci_v1_set(spec, 0, 0, NULL);
	if (set == NULL) {
		cpci_v1_fail_libcpc(strtoevent);
		free(spec);
		return -1;
	}
	cpc_set_destroy(cpc, set);
	memset(event, 0, sizeof(*event));
	event->ce_cpuver = cpuver;
	event->ce_spec = intern_spec(spec);
	return event->ce_spec != 0 ? 0 : cpci_v1_fail(strtoevent, "too many specs: '%s'", text);
}

const struct cpci_v1_spec *cpci_v1_spec(const cpc_event_t *event)
{
	uint_t i = event->ce_spec;

	if (event->ce_cpuver == CPCI_V1_CPU && i > 0 && i <= MAX_SPECS && specs[i - 1] != NULL)
		return specs[i - 1];
	errno = EINVAL;
	return NULL;
}

char *cpc_eventtostr(cpc_event_t *event)
{
	const struct cpci_v1_spec *spec = cpci_v1_spec(event);

	return spec != NULL ? strdup(spec->text) : NULL;
}

static int add_requests(cpc_t *cpc, cpc_set_t *set, const struct cpci_v1_spec *spec, uint_t on,
			uint_t off, const cpc_event_t *presets)
{
	for (uint_t i = 0; i < spec->nreqs; i++) {
		const struct cpci_v1_req *req = &spec->req[i];
		uint64_t preset = presets != NULL ? presets->ce_pic[req->slot] : 0;

		if (cpc_set_add_request(cpc, set, req->name, preset, (req->modes | on) & ~off,
					req->nattrs, req->attr) == -1)
			return -1;
	}
	return 0;
}

cpc_set_t *cpci_v1_set(const struct cpci_v1_spec *spec, uint_t on, uint_t off,
		       const cpc_event_t *presets)
{
	cpc_t *cpc = cpci_v1_handle();
	cpc_set_t *set = cpc != NULL ? cpc_set_create(cpc) : NULL;

	if (set == NULL || add_requests(cpc, set, spec, on, off, presets) == 0)
		return set;
	cpc_set_destroy(cpc, set);
	return NULL;
}

int cpci_v1_sample(cpc_set_t *set, cpc_buf_t *buf, uint_t id, cpc_event_t *event)
{
	const struct cpci_v1_spec *spec = specs[id - 1];
	cpc_t *cpc = cpci_v1_handle();

	if (cpc_set_sample(cpc, set, buf) == -1)
		return -1;
	memset(event, 0, sizeof(*event));
	event->ce_cpuver = CPCI_V1_CPU;
	event->ce_spec = id;
	event->ce_hrt = cpc_buf_hrtime(cpc, buf);
	event->ce_tick = cpc_buf_tick(cpc, buf);
	for (uint_t i = 0; i < spec->nreqs; i++)
		cpc_buf_get(cpc, buf, (int)i, &event->ce_pic[spec->req[i].slot]);
	return 0;
}

void cpc_event_accum(cpc_event_t *accum, cpc_event_t *event)
{
	for (int i = 0; i < CPC_EVENT_PICS; i++)
		accum->ce_pic[i] += event->ce_pic[i];
	accum->ce_tick += event->ce_tick;
	if (accum->ce_hrt < event->ce_hrt)
		accum->ce_hrt = event->ce_hrt;
}

void cpc_event_diff(cpc_event_t *diff, cpc_event_t *after, cpc_event_t *before)
{
	cpc_event_t result = *after;

	for (int i = 0; i < CPC_EVENT_PICS; i++)
		result.ce_pic[i] -= before->ce_pic[i];
	result.ce_tick -= before->ce_tick;
	if (result.ce_hrt < before->ce_hrt)
		result.ce_hrt = before->ce_hrt;
	*diff = result;
}
