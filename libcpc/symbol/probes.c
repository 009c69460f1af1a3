/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* probes.c - lists the probes in the libraries that the calling process has mapped. */
#include "symbol.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct probes {
	void *arg;
	cpci_walk_fn *action;
	char desc[64];
	char *last; /* the last name: the sites of a probe are adjacent */
};

static void visit_probe(void *arg, const char *provider, const char *name)
{
	struct probes *probes = arg;
	char event[CPCI_SYMBOL_NAME];

	if ((size_t)snprintf(event, sizeof(event), "sdt/%s:%s/", provider, name) >= sizeof(event) ||
	    (probes->last != NULL && strcmp(probes->last, event) == 0))
		return;
	free(probes->last);
	probes->last = strdup(event);
	probes->action(probes->arg, event, probes->desc);
}

static int visit_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct probes *probes = arg;
	const char *slash = strrchr(info->dlpi_name, '/');
	int fd = slash != NULL ? open(info->dlpi_name, O_RDONLY | O_CLOEXEC) : -1;

	(void)size;
	if (fd == -1) /* the program, or the vDSO */
		return 0;
	snprintf(probes->desc, sizeof(probes->desc), "probe of %s", slash + 1);
	cpci_elf_walk(fd, CPCI_ELF_PROBES, probes, visit_probe);
	close(fd);
	return 0;
}

void cpci_symbols_walk_probes(void *arg, cpci_walk_fn *action)
{
	struct probes probes = {.arg = arg, .action = action};

	dl_iterate_phdr(visit_library, &probes);
	free(probes.last);
}
