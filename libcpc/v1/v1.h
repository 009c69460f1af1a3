/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * v1.h - the obsolete interface, over public calls and the lock of libcpc.
 */
#ifndef CPCI_V1_H
#define CPCI_V1_H

#include "../sys/sys.h"

#include <libcpc_v1.h>
#include <stdbool.h>

#define CPCI_V1_CPU 1 /* the only cpuver */

#define CPCI_V1_ATTRS 16 /* of a request */

/* What an event counts; once it is there, it stays. */
struct cpci_v1_spec {
	char *text;  /* as it was given */
	char *words; /* where the names are */
	uint_t nreqs;
	struct cpci_v1_req {
		char *name;
		uint_t slot;  /* of ce_pic */
		uint_t modes; /* CPC_COUNT flags */
		uint_t nattrs;
		cpc_attr_t attr[CPCI_V1_ATTRS];
	} req[CPC_EVENT_PICS];
};

/* ---- handle.c ----------------------------------------------------------------- */

/* The handle of all calls; NULL and errno. */
cpc_t *cpci_v1_handle(void);
/* Tells the error function.  Returns -1; errno stays as it is. */
__attribute__((format(printf, 2, 3))) int cpci_v1_tell(const char *fn, const char *fmt, ...);
/* The same of what the call to the other interface that failed has told, or else of errno. */
int cpci_v1_told(const char *fn);

/* ---- spec.c ------------------------------------------------------------------- */

/* That of an event; NULL and errno: EINVAL, it was not made by cpc_strtoevent().  Safe in signal
 * handlers. */
const struct cpci_v1_spec *cpci_v1_spec(const cpc_event_t *event);
/*
 * A set that counts it from `presets` on, or from 0 (NULL); its requests have the flags `on`
 * beside their own, but not `off`.  NULL and errno.
 */
cpc_set_t *cpci_v1_set(const struct cpci_v1_spec *spec, uint_t on, uint_t off,
		       const cpc_event_t *presets);
/* Samples a set of an event's into the event.  -1 and errno.  Safe in signal handlers. */
int cpci_v1_sample(cpc_set_t *set, cpc_buf_t *buf, uint_t spec, cpc_event_t *event);

#endif /* CPCI_V1_H */
