/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * process.h - the program of a process and its libraries, in the order in which symbols are
 * looked up.
 */
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
	uint64_t exe_bias;
	bool by_hand; /* it is a dynamic linker, started as a command to run a program */
	/* Its libraries, once these were requested. */
	bool have_listed, have_unlisted;
	enum cpci_linkmap_state state;
	size_t nlisted, n, room;
	struct cpci_object *object;
	hrtime_t deadline; /* for the whole lookup */
};

/* What failed, for a message; errno has the reason. */
enum cpci_process_error {
	CPCI_PROCESS_OK,
	CPCI_PROCESS_MAPS,    /* its mappings cannot be read */
	CPCI_PROCESS_PROGRAM, /* its program cannot be read */
	CPCI_PROCESS_PLACE,   /* the address of its program is unknown */
	CPCI_PROCESS_LIST,    /* the list of its libraries cannot be read, or is forged */
	CPCI_PROCESS_BY_HAND, /* the program that the dynamic linker will run is unknown */
};

enum cpci_process_error cpci_process_open(struct cpci_process *process, struct cpci_symfiles *files,
					  pid_t tid);
void cpci_process_close(struct cpci_process *process);
/* The path of its program; "": it cannot be read. */
void cpci_process_exe_path(pid_t tid, char *path, size_t size);

/* Finds the libraries that the dynamic linker lists; only the first call does. */
enum cpci_process_error cpci_process_listed(struct cpci_process *process);
/* Appends the files with code that are not listed; only the first call does. */
enum cpci_process_error cpci_process_unlisted(struct cpci_process *process);
/* A hash of the listed libraries and their addresses. */
uint64_t cpci_process_sum(const struct cpci_process *process, const char *name);

/*
 * Opens the file that is mapped at `addr`, and gets its mapping.  NULL and errno: ESTALE, the
 * file no longer exists.
 */
struct cpci_symfile *cpci_process_file(struct cpci_process *process, uint64_t addr,
				       struct cpci_mapping *m, int *fd);
/* Is code of this file mapped with this bias at `addr`?  -1 and errno. */
int cpci_process_has_code(struct cpci_process *process, const struct cpci_symfile *file,
			  uint64_t bias, uint64_t addr);
/* The bias with which the code of a file is mapped.  False: none or several. */
bool cpci_process_bias(const struct cpci_process *process, const struct cpci_symfile *file,
		       uint64_t *bias);

#endif /* CPCI_PROCESS_H */
