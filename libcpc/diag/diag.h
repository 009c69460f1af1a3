/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* diag.h - the description of an error on its way to the error handler, and similar names. */
#ifndef CPCI_DIAG_H
#define CPCI_DIAG_H

/* Why a call failed: errno, subcode, and the text for the error handler. */
struct cpci_diag {
	int err;
	int subcode;
	char text[1024]; /* symbols can be long */
};

/* Both return -1. */
__attribute__((format(printf, 4, 5))) int cpci_diag(struct cpci_diag *diag, int err, int subcode,
						    const char *fmt, ...);
int cpci_diag_nomem(struct cpci_diag *diag);

/* Finds the known name that is most similar to a misspelt one. */
struct cpci_suggest {
	const char *name;
	unsigned distance; /* of the best name so far */
	char best[80];	   /* "": no name is similar */
};

void cpci_suggest_start(struct cpci_suggest *suggest, const char *name);
/* `suggest` is a struct cpci_suggest: functions that visit names can call this. */
void cpci_suggest_try(void *suggest, const char *candidate);

#endif /* CPCI_DIAG_H */
