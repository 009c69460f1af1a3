/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * The parser of event specs alone.  What it took, written again in another order, it
 * takes for the same.
 */
#include "fuzz.h"

#include "../../cmd/base/spec.h"

static bool is_attr(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "edge") == 0 || strcmp(name, "config1") == 0 ||
	       strcmp(name, "picnum") == 0;
}

static const struct spec_names names = {.is_attr = is_attr};

/*
 * A spec can put the slot behind the name of an attribute only where there is one such,
 * and where that is not another name; large slots are all the same to the parser.
 */
#define MAX_SLOT 999998

static bool can_be_written(const struct spec *spec)
{
	for (size_t i = 0; i < spec->nreqs; i++) {
		if (spec->req[i].slot > MAX_SLOT)
			return false;
		for (size_t j = 0; j < i; j++) {
			if (spec->req[i].slot == spec->req[j].slot)
				return false;
		}
		for (size_t j = 0; j < spec->req[i].nattrs; j++) {
			if (strcmp(spec->req[i].attr[j].name, "config") == 0)
				return false;
		}
	}
	return true;
}

static void write_attrs(FILE *f, const struct spec_req *req)
{
	if (req->nouser)
		fprintf(f, "nouser%u=1,", req->slot);
	if (req->sys)
		fprintf(f, "sys%u=0x1,", req->slot);
	for (size_t i = 0; i < req->nattrs; i++)
		fprintf(f, "%s%u=%#llo,", req->attr[i].name, req->slot,
			(unsigned long long)req->attr[i].val);
}

static char *write_spec(const struct spec *spec)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (f == NULL)
		err(1, NULL);
	/* Attributes come first, for the last event may have a slash that nothing closes. */
	for (size_t i = 0; i < spec->nreqs; i++)
		write_attrs(f, &spec->req[i]);
	for (size_t i = 0; i < spec->nreqs; i++)
		fprintf(f, "%spic%u=%s", i > 0 ? "," : "", spec->req[i].slot, spec->req[i].event);
	fclose(f);
	return text;
}

static void same(const struct spec_req *a, const struct spec_req *b)
{
	must(strcmp(a->event, b->event) == 0);
	must(a->slot == b->slot && a->nouser == b->nouser && a->sys == b->sys);
	must(a->nattrs == b->nattrs);
	for (size_t i = 0; i < a->nattrs; i++) {
		must(strcmp(a->attr[i].name, b->attr[i].name) == 0);
		must(a->attr[i].val == b->attr[i].val);
	}
}

static void again(const struct spec *spec)
{
	char *text = write_spec(spec), why[256] = "";
	struct spec other;

	if (spec_parse(text, &names, &other, why, sizeof(why)) == -1) {
		fprintf(stderr, "'%s': %s\n", text, why);
		abort();
	}
	must(other.nreqs == spec->nreqs);
	for (size_t i = 0; i < spec->nreqs; i++)
		same(&spec->req[i], &other.req[i]);
	spec_free(&other);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), why[64] = "";
	struct spec spec;

	if (spec_parse(text, &names, &spec, why, sizeof(why)) == -1) {
		must(why[0] != '\0' && spec.nreqs == 0 && spec.req == NULL);
	} else {
		must(spec.nreqs > 0);
		for (size_t i = 0; i < spec.nreqs; i++)
			must(spec.req[i].event[0] != '\0' &&
			     (spec.req[i].sys || !spec.req[i].nouser));
		if (can_be_written(&spec))
			again(&spec);
	}
	spec_free(&spec);
	free(text);
	return 0;
}
