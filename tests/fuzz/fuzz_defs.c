/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Files of event definitions: they are read, and every name in them is resolved; ratios are
 * computed.
 */
#include "fuzz.h"

#include "../../libcpc/set/set.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NAMES 16 /* that are resolved: an unknown part takes long */

/* A file that CPC_EVENTS names. */
static int file(void)
{
	static int fd = -1;
	char path[64];

	if (fd == -1) {
		fd = memfd_create("events.def", 0);
		/* Files that other users may write are not read. */
		if (fd == -1 || fchmod(fd, 0600) == -1)
			err(1, "memfd_create");
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		setenv("CPC_EVENTS", path, 1);
		setenv("XDG_CONFIG_HOME", "/nowhere", 1);
	}
	return fd;
}

/* A ratio has a text, which means the same again. */
static void compute(const struct cpci_defs *defs, const char *name)
{
	struct cpci_event event;
	struct cpci_diag diag = {0};
	cpc_ratio_t *ratio = cpci_ratio_find(defs, name, &event, &diag), *again;
	long double *count;
	double a, b;

	if (ratio == NULL) {
		must(diag.err != 0 && diag.text[0] != '\0');
		return;
	}
	count = calloc(cpc_ratio_nevents(ratio), sizeof(*count));
	must(count != NULL);
	for (uint_t i = 0; i < cpc_ratio_nevents(ratio); i++)
		count[i] = i % 3;
	again = cpc_ratio_parse(cpc_ratio_text(ratio));
	must(again != NULL && cpc_ratio_nevents(again) == cpc_ratio_nevents(ratio));
	a = cpc_ratio_value(ratio, count);
	b = cpc_ratio_value(again, count);
	must(isnan(a) ? isnan(b) : isfinite(a) && !(a < b) && !(a > b));
	free(count);
	cpc_ratio_free(again);
	cpc_ratio_free(ratio);
}

static void resolve(const struct cpci_defs *defs, const char *name)
{
	struct cpci_event event = {.defs = defs};
	struct cpci_diag diag = {0};

	if (cpci_event_resolve(name, CPC_COUNT_USER, &event, &diag) == -1) {
		must(diag.err != 0 && diag.text[0] != '\0');
		must((diag.subcode == CPC_IS_RATIO) <= (event.ratio != NULL));
		if (diag.subcode == CPC_IS_RATIO)
			compute(defs, name);
	} else {
		must(event.nterms >= 1 && event.nterms <= CPCI_MAX_TERMS);
	}
	cpci_event_free(&event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cpci_diag diag = {0};
	struct cpci_defs *defs;
	int fd = file();

	if (ftruncate(fd, 0) == -1 || pwrite(fd, data, size, 0) != (ssize_t)size)
		err(1, "writing the definitions");
	defs = cpci_defs_new(&diag);
	if (defs == NULL) {
		must(diag.err != 0 && diag.text[0] != '\0');
		return 0;
	}
	for (size_t i = 0; i < defs->n && i < MAX_NAMES; i++) {
		if (defs->def[i].source == CPCI_DEF_USER)
			resolve(defs, defs->def[i].name);
	}
	cpci_defs_free(defs);
	return 0;
}
