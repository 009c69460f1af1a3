/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * diag.h - what went wrong, on its way to the error handler, and what was meant instead.
 */
#ifndef CPCI_DIAG_H
#define CPCI_DIAG_H

/* Why something failed: the errno, the subcode, and the text for the error handler. */
struct cpci_diag {
	int err;
	int subcode;
	char text[1024]; /* symbols can be long */
};

__attribute__((format(printf, 4, 5))) void cpci_diag(struct cpci_diag *diag, int err, int subcode,
						     const char *fmt, ...);
/* ENOMEM. */
void cpci_diag_nomem(struct cpci_diag *diag);

/* The known name that is nearest to a misspelt one. */
struct cpci_suggest {
	const char *name;
	unsigned distance; /* of the best so far */
	char best[80];	   /* "": none is near */
};

void cpci_suggest_start(struct cpci_suggest *suggest, const char *name);
void cpci_suggest_try(struct cpci_suggest *suggest, const char *candidate);

#endif /* CPCI_DIAG_H */
