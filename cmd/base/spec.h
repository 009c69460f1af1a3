/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * spec.h - event specs, the argument of -c:
 *
 *     [picN=]event[,attr[N][=val]][,[picN=]event[,attr[N][=val]]...]
 *
 * A ratio in place of an event adds its events, except those that precede it in the spec.
 */
#ifndef SPEC_H
#define SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPEC_MAX_SLOT 63 /* the parser accepts higher slots, but libcpc refuses them */

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
	struct spec_attr *attr; /* for libcpc: without nouser and sys */
};

/* A ratio; its events are requests of the spec. */
struct spec_ratio {
	char *name;
	size_t nevents, *req; /* for each of its events, the index of the request */
};

struct spec {
	size_t nreqs;
	struct spec_req *req;
	size_t nratios;
	struct spec_ratio *ratio; /* in the order of the spec */
};

/* Functions that tell the parser the meaning of names. */
struct spec_names {
	/* Is `name` an attribute, not an event? */
	bool (*is_attr)(void *arg, const char *name);
	/* Returns event `index` of the ratio `name`; NULL: no such event, or not a ratio.  The
	 * function is optional. */
	const char *(*ratio_event)(void *arg, const char *name, size_t index);
	void *arg;
};

/*
 * Parses a spec.  Returns 0, or -1 with the reason in `why`.  libcpc later checks events and slots,
 * and refuses a slot that is used twice.
 */
int spec_parse(const char *text, const struct spec_names *names, struct spec *spec, char *why,
	       size_t why_size);
void spec_free(struct spec *spec);

#endif /* SPEC_H */
