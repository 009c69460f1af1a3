/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * spec.h - event specs, the argument of -c:
 *
 *     [picN=]event[,attr[N][=val]][,[picN=]event[,attr[N][=val]]...]
 *
 * A ratio in place of an event stands for those of its events that are not there before it.
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

/* A ratio, whose events are requests of the spec. */
struct spec_ratio {
	char *name;
	size_t nevents, *req; /* of each of its events, the index of its request */
};

struct spec {
	size_t nreqs;
	struct spec_req *req;
	size_t nratios;
	struct spec_ratio *ratio; /* in the order of the spec */
};

struct spec_names {
	/* Is `name` an attribute?  A word without a value may be an attribute or an event. */
	bool (*is_attr)(void *arg, const char *name);
	/* An event of the ratio `name`; NULL: it has no more, or it is none.  Or NULL. */
	const char *(*ratio_event)(void *arg, const char *name, size_t index);
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
