/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * loader.h - run the loader of a light skeleton.
 */
#ifndef LOADER_H
#define LOADER_H

#include <stdbool.h>
#include <stddef.h>

struct loader {
	const void *insns; /* the loader, as bpftool made it: instructions */
	size_t insns_size;
	const void *data; /* what it works with: it gets a copy */
	size_t data_size;
	void *context; /* struct bpf_loader_ctx, and what follows it */
	bool (*wanted)(const void *context, const char *program); /* is it to be loaded? */
};

/*
 * Create the maps and load the programs that are wanted, as bpf_load_and_run() of
 * <bpf/skel_internal.h> does; those that are not get a file descriptor that is none of a program.
 * Returns 0, or -1 with errno from bpf(2), or EOPNOTSUPP: the loader has an instruction that is
 * not known here.
 */
int loader_run(const struct loader *loader);

#endif /* LOADER_H */
