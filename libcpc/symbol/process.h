/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* process.h - the program and libraries of a process, in the order of symbol lookup. */
#ifndef CPCI_PROCESS_H
#define CPCI_PROCESS_H

#include "linkmap.h"
#include "symfile.h"

/* A library, or another file whose code is mapped. */
struct cpci_object {
	struct cpci_file_id file;
	uint64_t at;   /* an address in one of its mappings */
	uint64_t bias; /* only if it is listed */
	bool listed;   /* by the dynamic linker; objects are in the order of its list */
};

struct cpci_process {
	pid_t tid;
	struct cpci_symfiles *files;
	struct cpci_maps maps;
	struct cpci_memory memory;
	/* The program. */
	struct cpci_symfile *exe;
	int exe_fd;
	char exe_path[PATH_MAX]; /* "": unknown */
	uint64_t exe_bias;
	bool runs_linker; /* it is a dynamic linker, started as a command to run a program */
	/* Its libraries, once these were requested. */
	bool have_libraries;
	enum cpci_linkmap_state state;
	size_t nlisted, n, room; /* the listed ones come first */
	struct cpci_object *object;
	hrtime_t deadline; /* for the whole lookup, in CPU time of this thread */
};

/* What failed, for a message; errno has the reason. */
enum cpci_process_error {
	CPCI_PROCESS_OK,
	CPCI_PROCESS_MAPS,    /* its mappings cannot be read */
	CPCI_PROCESS_PROGRAM, /* its program cannot be read */
	CPCI_PROCESS_ADDRESS, /* the address of its program is unknown */
	CPCI_PROCESS_LIST,    /* the list of its libraries cannot be read, or is forged */
	CPCI_PROCESS_LINKER,  /* the program that the dynamic linker will run is unknown */
};

enum cpci_process_error cpci_process_open(struct cpci_process *process, struct cpci_symfiles *files,
					  pid_t tid);
void cpci_process_close(struct cpci_process *process);

/*
 * Finds the libraries: those that the dynamic linker lists, then other files with code.  Once they
 * are found, calls have no effect.
 */
enum cpci_process_error cpci_process_libraries(struct cpci_process *process);

/* Opens the file that is mapped at `addr`.  NULL and errno: ESTALE, it no longer exists. */
struct cpci_symfile *cpci_process_file(struct cpci_process *process, uint64_t addr,
				       struct cpci_mapping *m, int *fd);
/* Is code of this file mapped with this bias at `addr`?  -1 and errno. */
int cpci_process_has_code(struct cpci_process *process, const struct cpci_symfile *file,
			  uint64_t bias, uint64_t addr);
/* The bias with which the code of a file is mapped.  False: none or several. */
bool cpci_process_bias(const struct cpci_process *process, const struct cpci_symfile *file,
		       uint64_t *bias);

#endif /* CPCI_PROCESS_H */
