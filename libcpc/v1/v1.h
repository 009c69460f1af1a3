/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* v1.h - the obsolete interface, over public calls and the lock of libcpc. */
#ifndef CPCI_V1_H
#define CPCI_V1_H

#include "../sys/sys.h"

#include <libcpc_v1.h>
#include <stdbool.h>

#define CPCI_V1_CPU 1 /* the only cpuver */

#define CPCI_V1_ATTRS 16 /* attributes of a request */

/* The parsed spec of an event; never freed. */
struct cpci_v1_spec {
	uint_t nreqs;
	struct cpci_v1_req {
		char *name;
		uint_t slot;  /* the index in ce_pic */
		uint_t modes; /* CPC_COUNT flags */
		uint_t nattrs;
		cpc_attr_t attr[CPCI_V1_ATTRS];
	} req[CPC_EVENT_PICS];
	char text[]; /* the original text, followed by a copy that names point into */
};

/* ---- handle.c ----------------------------------------------------------------- */

/* The handle used by all calls; NULL and errno. */
cpc_t *cpci_v1_handle(void);
/* Calls the error function.  Returns -1; keeps errno. */
__attribute__((format(printf, 2, 3))) int cpci_v1_fail(const char *fn, const char *fmt, ...);
/* The same with the message of the libcpc call that failed, or else with errno. */
int cpci_v1_fail_libcpc(const char *fn);

/* ---- spec.c ------------------------------------------------------------------- */

/* The spec of an event; safe in signal handlers.  NULL and EINVAL: not of cpc_strtoevent(). */
const struct cpci_v1_spec *cpci_v1_spec(const cpc_event_t *event);
/*
 * Makes a set that counts the spec, from `presets`, or from 0 (NULL).  `on` is added to the
 * flags of its requests, and `off` is removed.  NULL and errno.
 */
cpc_set_t *cpci_v1_set(const struct cpci_v1_spec *spec, uint_t on, uint_t off,
		       const cpc_event_t *presets);
/* Samples the set of an event into the event.  -1 and errno.  Safe in signal handlers. */
int cpci_v1_sample(cpc_set_t *set, cpc_buf_t *buf, uint_t spec, cpc_event_t *event);

#endif /* CPCI_V1_H */
