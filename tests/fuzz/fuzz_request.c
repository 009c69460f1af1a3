/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * From the spec to the requests of a set: the parser, all resolvers, attributes and
 * slots.  Nothing is opened.
 */
#include "fuzz.h"

#include "../../cmd/base/spec.h"

#include <errno.h>
#include <libcpc.h>

static int told; /* how often the error handler was called */

static void handler(const char *fn, int subcode, const char *fmt, va_list ap)
{
	char text[512];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	must(strcmp(fn, "cpc_set_add_request") == 0 && subcode >= 0);
	must(n > 0 && (size_t)n < sizeof(text) && strchr(text, '\n') == &text[n - 1]);
	told++;
}

static cpc_t *handle(void)
{
	static cpc_t *cpc;

	if (cpc == NULL) {
		/* No definitions but the shipped ones. */
		unsetenv("CPC_EVENTS");
		setenv("XDG_CONFIG_HOME", "/nowhere", 1);
		cpc = cpc_open(CPC_VER_CURRENT);
		if (cpc == NULL)
			err(1, "cpc_open");
		cpc_seterrhndlr(cpc, handler);
	}
	return cpc;
}

static bool is_attr(void *arg, const char *name)
{
	return cpc_is_attr(arg, name) != 0;
}

static int request(cpc_t *cpc, cpc_set_t *set, const struct spec_req *req)
{
	uint_t flags = (req->nouser ? 0 : CPC_COUNT_USER) | (req->sys ? CPC_COUNT_SYSTEM : 0);
	cpc_attr_t *attrs = calloc(req->nattrs + 1, sizeof(*attrs));
	char picnum[] = "picnum", text[512];
	uint_t n = 0;
	int rc;

	if (attrs == NULL)
		err(1, NULL);
	for (size_t i = 0; i < req->nattrs; i++)
		attrs[n++] = (cpc_attr_t){req->attr[i].name, req->attr[i].val};
	if (req->placed)
		attrs[n++] = (cpc_attr_t){picnum, req->slot};
	told = errno = 0;
	rc = cpc_set_add_request(cpc, set, req->event, 0, flags, n, attrs);
	must(rc == -1 ? told == 1 && errno != 0 : told == 0);
	must(rc == -1 || cpc_set_describe(cpc, set, rc, text, sizeof(text)) == 0);
	free(attrs);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), why[256];
	cpc_t *cpc = handle();
	const struct spec_names names = {.is_attr = is_attr, .arg = cpc};
	cpc_set_t *set = cpc_set_create(cpc);
	struct spec spec;

	if (set == NULL)
		err(1, NULL);
	if (spec_parse(text, &names, &spec, why, sizeof(why)) == 0) {
		for (size_t i = 0; i < spec.nreqs; i++) {
			if (request(cpc, set, &spec.req[i]) == -1)
				break;
		}
		spec_free(&spec);
	}
	cpc_set_destroy(cpc, set);
	free(text);
	return 0;
}
