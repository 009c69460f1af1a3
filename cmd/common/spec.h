/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * spec.h - event specs, the argument of -c:
 *
 *     [picN=]event[,attr[N][=val]][,[picN=]event[,attr[N][=val]]...]
 */
#ifndef SPEC_H
#define SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEC_MAX_SLOT 63 /* highest slot there is; a spec may ask for any number */

struct spec_attr {
	char *name;
	uint64_t val;
};

struct spec_req {
	char *event;
	unsigned slot;
	bool placed; /* written with picN= */
	bool nouser, sys;
	size_t nattrs;
	struct spec_attr *attr; /* passed to libcpc: all but nouser and sys */
};

struct spec {
	size_t nreqs;
	struct spec_req *req;
};

/*
 * Is `name` an attribute?  A word without a value may be an attribute or an event.
 */
struct spec_names {
	bool (*is_attr)(void *arg, const char *name);
	void *arg;
};

/*
 * Parses a spec.  Returns 0, or -1 with the reason in `why`.  libcpc checks later whether
 * events and slots exist, and whether a slot is taken twice.
 */
int spec_parse(const char *text, const struct spec_names *names, struct spec *spec, char *why,
	       size_t why_size);
void spec_free(struct spec *spec);

#endif /* SPEC_H */
