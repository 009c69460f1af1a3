/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbol.c - finds the symbols of a set in a process: in its program, or in the first of its
 * libraries that has them.
 *
 * An unreadable file is an error; it is never skipped: it might be the first one with the
 * symbol.
 */
#include "lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_address(const struct cpci_lookup *look, const struct cpci_found *found)
{
	if (cpci_lookup_check(look, found) == -1)
		return -1;
	if (cpci_perf_is_uprobe(&look->term->attr))
		return cpci_function_locate(look, found);
	cpci_lookup_note_clone(look, found);
	look->at->addr = found->bias + found->symbol.value + look->term->attr.bp_addr;
	look->at->len = look->term->attr.bp_addr == 0 ? found->symbol.size : 0;
	return 1;
}

static int is_file_backed(const struct cpci_lookup *look, const struct cpci_found *found)
{
	struct cpci_mapping m;
	int rc = cpci_maps_at(&look->process->maps, found->bias + found->symbol.value, &m);

	return rc == 1 ? m.file.ino != 0 : rc;
}

/* Is the code of a symbol mapped at its address?  Data need not be mapped from the file (.bss). */
static int check_code(const struct cpci_lookup *look, const struct cpci_symfile *file,
		      struct cpci_found *found)
{
	const struct cpci_segment *s = cpci_elf_segment(&file->elf, found->symbol.value);
	int rc = 1;

	if (found->symbol.kind == CPCI_SYM_NO_SITE)
		return 0;
	if (found->symbol.kind == CPCI_SYM_FOUND && s != NULL && s->exec)
		rc = cpci_process_has_code(look->process, file, found->bias,
					   found->bias + found->symbol.value);
	/* A breakpoint is set in memory, but a uprobe in the file. */
	if (rc == 1 && cpci_perf_is_uprobe(&look->term->attr))
		rc = is_file_backed(look, found);
	found->moved = rc == 0;
	return rc == -1 ? -1 : 0;
}

/* Is the dynamic section of a listed library where the list says? */
static bool entry_is_valid(const struct cpci_symfile *file, const struct cpci_object *object,
			   const struct cpci_mapping *m)
{
	uint64_t offset;

	return file->elf.dynamic != 0 && object->at - file->elf.dynamic == object->bias &&
	       cpci_elf_offset(&file->elf, file->elf.dynamic, &offset) &&
	       m->offset + (object->at - m->start) == offset;
}

/* Is it mapped as code but not a library? */
static bool is_not_library(const struct cpci_mapping *m, int err)
{
	return err == ENOEXEC || strncmp(m->path, "/memfd:", 7) == 0 ||
	       strncmp(m->path, "/dev/", 5) == 0 || strncmp(m->path, "/SYSV", 5) == 0 ||
	       m->path[0] != '/';
}

/* Finds the bias of the open file: by the list, or by its only mapping. */
static int find_bias(const struct cpci_lookup *look, const struct cpci_symfile *file,
		     const struct cpci_object *object, const struct cpci_mapping *m,
		     struct cpci_found *found)
{
	if (object->listed) {
		found->bias = object->bias;
		if (entry_is_valid(file, object, m))
			return 0;
		errno = EBADMSG;
		return cpci_lookup_cannot_look(look, CPCI_PROCESS_LIST);
	}
	found->moved = !cpci_process_bias(look->process, file, &found->bias);
	return 0;
}

/* Searches a library.  1: it has the symbol, 0: not, -1: see diag.  `linker`: it is a linker. */
static int search_library(const struct cpci_lookup *look, const struct cpci_object *object,
			  struct cpci_found *found, bool *linker)
{
	struct cpci_symfile *file;
	struct cpci_mapping m = {0};
	int fd, rc = -1;

	*found = (struct cpci_found){0};
	*linker = false;
	if (look->term->file[0] != '\0') {
		rc = cpci_maps_at(&look->process->maps, object->at, &m);
		if (rc == -1)
			return cpci_lookup_cannot_look(look, CPCI_PROCESS_MAPS);
		if (rc == 1 && cpci_function_is_elsewhere(look->term, m.path))
			return 0;
		look->at->mapped = true;
		rc = -1;
	}
	found->at = object->at;
	file = cpci_process_file(look->process, object->at, &m, &fd);
	if (file == NULL && errno == EBADMSG) /* it was unmapped meanwhile */
		return cpci_lookup_cannot_look(look, CPCI_PROCESS_LIST);
	if (file == NULL && m.end == 0) /* the mapping is unknown */
		return cpci_lookup_cannot_look(look, CPCI_PROCESS_MAPS);
	if (file == NULL)
		return !object->listed && is_not_library(&m, errno)
			       ? 0
			       : cpci_lookup_cannot_read(look, m.path, errno);
	if (cpci_function_find(look->term, file, fd, &found->symbol) == 0)
		rc = cpci_symfile_is_linker(file, fd);
	if (rc == -1) {
		rc = cpci_lookup_cannot_read(look, m.path, errno);
	} else {
		*linker = rc == 1;
		cpci_lookup_shorten_path(found->path, sizeof(found->path), m.path);
		rc = found->symbol.kind != CPCI_SYM_NONE;
		if (find_bias(look, file, object, &m, found) == -1)
			rc = -1;
		else if (rc == 1 && !found->moved && check_code(look, file, found) == -1)
			rc = cpci_lookup_cannot_look(look, CPCI_PROCESS_MAPS);
	}
	close(fd);
	return rc;
}

static int ambiguous(const struct cpci_lookup *look, const struct cpci_found *a,
		     const struct cpci_found *b)
{
	return cpci_diag(
		look->diag, EINVAL, CPC_INVALID_EVENT,
		"cannot count '%s': '%s' and '%s' both have the symbol '%s', and which comes first "
		"cannot be known",
		look->req->name, a->path, b->path, look->term->symbol);
}

/* The results so far, and the kind of file that has them. */
struct search {
	struct cpci_found found, linker;
	bool have, have_linker;
};

/*
 * Searches some of the libraries.  1: go on, -1: see diag.  Among listed libraries the first
 * one with the symbol counts; among others only one may have it, because their order is
 * unknown.
 */
static int search_libraries(const struct cpci_lookup *look, size_t from, size_t to,
			    struct search *s)
{
	bool done = look->process->state == CPCI_LINKMAP_DONE, is_linker;

	for (size_t i = from; i < to; i++) {
		const struct cpci_object *object = &look->process->object[i];
		struct cpci_found one;
		int rc = search_library(look, object, &one, &is_linker);

		if (rc == -1)
			return -1;
		if (rc == 0)
			continue;
		if (is_linker && !done) {
			s->linker = one;
			s->have_linker = true;
			continue;
		}
		if (s->have)
			return ambiguous(look, &s->found, &one);
		s->found = one;
		s->have = true;
		if (object->listed)
			break;
	}
	return 1;
}

/*
 * Searches the libraries that the dynamic linker lists, in that order, and then others.
 * While it still maps libraries, the one that it has not listed yet is the next one.  The
 * linker itself comes last, because libraries override its symbols.
 */
static int find_in_libraries(const struct cpci_lookup *look)
{
	struct cpci_process *process = look->process;
	enum cpci_process_error error = cpci_process_libraries(process);
	struct search s = {0};

	if (error != CPCI_PROCESS_OK)
		return cpci_lookup_cannot_look(look, error);
	if (search_libraries(look, 0, process->nlisted, &s) == -1)
		return -1;
	if ((process->state == CPCI_LINKMAP_DONE || !s.have) &&
	    search_libraries(look, process->nlisted, process->n, &s) == -1)
		return -1;
	if (s.have)
		return set_address(look, &s.found);
	if (s.have_linker && (!s.linker.symbol.local || !process->exe->elf.interpreted))
		return set_address(look, &s.linker);
	return 0;
}

/* Searches the whole process: 1 found, 0 missing, -1 see diag. */
static int find_in_process(const struct cpci_lookup *look)
{
	struct cpci_process *process = look->process;
	struct cpci_symfile *exe = process->exe;
	struct cpci_found found = {0};

	cpci_lookup_shorten_path(found.path, sizeof(found.path), process->exe_path);
	if (process->runs_linker || cpci_function_is_elsewhere(look->term, found.path))
		return find_in_libraries(look);
	look->at->mapped = true;
	if (cpci_function_find(look->term, exe, process->exe_fd, &found.symbol) == -1)
		return cpci_lookup_cannot_look(look, CPCI_PROCESS_PROGRAM);
	if (found.symbol.kind == CPCI_SYM_NONE)
		return find_in_libraries(look);
	found.bias = process->exe_bias;
	if (check_code(look, exe, &found) == -1)
		return cpci_lookup_cannot_look(look, CPCI_PROCESS_MAPS);
	return set_address(look, &found);
}

/*
 * Is term `i` a further site of a function or probe that has no more sites, or was not found?
 * Then it is like the site before, which was looked up first.
 */
static bool is_like_last(const struct cpci_term *term, struct cpci_symbol_addr *at, uint_t i)
{
	if (term->site < 2 || (at[i - 1].addr != 0 && at[i - 1].addr != CPCI_NO_SITE))
		return false;
	at[i] = at[i - 1];
	return true;
}

/* Searches an open process for all symbols not found yet: see cpci_symbols_find(). */
static int find_all(struct cpci_process *process, const struct cpci_plan *plan,
		    struct cpci_symbol_addr *bp, uint_t *missing, struct cpci_diag *diag)
{
	int n = 0;

	for (uint_t i = 0; i < plan->nterms; i++) {
		const struct cpci_lookup look = {
			.process = process,
			.req = &plan->req[plan->ref[i].req],
			.term = cpci_plan_nth(plan, i),
			.diag = diag,
			.at = &bp[i],
		};

		if (look.term->symbol[0] == '\0' || bp[i].addr != 0)
			continue;
		if (is_like_last(look.term, bp, i)) {
			n += bp[i].addr == 0;
			continue;
		}
		bp[i].mapped = false;
		switch (find_in_process(&look)) {
		case -1:
			return -1;
		case 0:
			if (n++ == 0)
				*missing = i;
			break;
		default:
			break;
		}
	}
	return n;
}

uint_t cpci_symbols_first(const struct cpci_plan *plan, const struct cpci_symbol_addr *bp)
{
	uint_t i = 0;

	while (i < plan->nterms &&
	       (cpci_plan_nth(plan, i)->symbol[0] == '\0' || (bp != NULL && bp[i].addr != 0)))
		i++;
	return i;
}

int cpci_symbols_find(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
		      struct cpci_symbol_addr *bp, uint_t *missing, struct cpci_diag *diag)
{
	uint_t first = cpci_symbols_first(plan, bp);
	struct cpci_process process;
	enum cpci_process_error error;
	struct cpci_lookup look = {.process = &process, .diag = diag};
	int n;

	if (first == plan->nterms)
		return 0;
	look.req = &plan->req[plan->ref[first].req];
	if (!cpci_own_proc())
		return cpci_diag(
			diag, EACCES, 0,
			"cannot count '%s': symbols are looked up in /proc, which is not mounted "
			"or is that of another PID namespace",
			look.req->name);
	cpci_symfiles_trim(files);
	error = cpci_process_open(&process, files, tid);
	n = error == CPCI_PROCESS_OK ? find_all(&process, plan, bp, missing, diag)
				     : cpci_lookup_cannot_look(&look, error);
	cpci_process_close(&process);
	/* A process that has exited has no memory and no program. */
	if (n == -1 && cpci_lwp_ended(tid))
		cpci_diag(diag, ESRCH, 0, "the LWP has ended");
	return n;
}

int cpci_symbols_in_files(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
			  struct cpci_symbol_addr *at, struct cpci_diag *diag)
{
	char hint[CPCI_SYMBOL_HINT];

	for (uint_t i = 0; i < plan->nterms; i++) {
		const struct cpci_lookup look = {
			.req = &plan->req[plan->ref[i].req],
			.term = cpci_plan_nth(plan, i),
			.diag = diag,
			.at = &at[i],
		};

		if (look.term->file[0] != '/' || at[i].addr != 0 || is_like_last(look.term, at, i))
			continue;
		switch (cpci_function_in_file(&look, files, tid)) {
		case -1:
			return -1;
		case 0:
			cpci_symbols_hint(files, look.term, tid, hint);
			return cpci_diag(diag, ENOENT, CPC_RESOURCE_UNAVAIL,
					 "cannot count '%s': '%s' has no %s '%s'%s", look.req->name,
					 look.term->file, look.term->probe ? "probe" : "symbol",
					 look.term->symbol, hint);
		default:
			break;
		}
	}
	return 0;
}

void cpci_symbol_name(const struct cpci_term *term, char *name)
{
	snprintf(name, CPCI_SYMBOL_NAME, "%s%s%s", term->file, term->file[0] != '\0' ? ":" : "",
		 term->symbol);
}
