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

#define SPEC_MAX_SLOT 63 /* of those that are there; any number can be asked for */

struct spec_attr {
	char *name;
	uint64_t val;
};

struct spec_req {
	char *event;
	unsigned slot;
	bool placed; /* by picN=, not in the order written */
	bool nouser, sys;
	size_t nattrs;
	struct spec_attr *attr; /* those that the library is to look at */
};

struct spec {
	size_t nreqs;
	struct spec_req *req;
};

/*
 * Is that the name of an attribute?  Asked about words without a value, which else are
 * events.
 */
struct spec_names {
	bool (*is_attr)(void *arg, const char *name);
	void *arg;
};

/*
 * Parses a spec.  Returns 0, or -1 with the reason in `why`.  Whether events and slots
 * exist, or a slot is taken twice, is not looked at: libcpc does.
 */
int spec_parse(const char *text, const struct spec_names *names, struct spec *spec, char *why,
	       size_t why_size);
void spec_free(struct spec *spec);

#endif /* SPEC_H */
