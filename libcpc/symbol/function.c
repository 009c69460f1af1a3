/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * function.c - functions as the kernel's uprobes need them: an open file and an offset in it.
 *
 * The file is the one whose symbols were read, by its descriptor: its path could name another
 * file when the kernel looks it up.
 */
#include "lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int cpci_function_find(const struct cpci_term *term, struct cpci_symfile *file, int fd,
		       struct cpci_symbol *symbol)
{
	return cpci_symfile_find(file, fd, term->probe ? CPCI_ELF_PROBES : CPCI_ELF_ALL,
				 term->symbol, term->site, symbol);
}

void cpci_lookup_note_clone(const struct cpci_lookup *look, const struct cpci_found *found)
{
	const uint_t i = look->term->site > 0 ? look->term->site - 1 : 0;
	const struct cpci_site *site = &found->symbol.site[i];

	snprintf(look->at->clone, sizeof(look->at->clone), "%s", site->clone ? site->suffix : "");
}

/* Sets the offset of a probe's semaphore in the file.  False: see diag. */
static bool take_counter(const struct cpci_lookup *look, const struct cpci_found *found,
			 const struct cpci_symfile *file)
{
	struct cpci_symbol_addr *at = look->at;
	struct perf_event_attr attr = look->term->attr;

	at->counter = 0;
	if (found->symbol.counter == 0 ||
	    (cpci_elf_offset(&file->elf, found->symbol.counter, &at->counter) &&
	     cpci_uprobe_counter(&attr, at->counter)))
		return true;
	cpci_diag(look->diag, EINVAL, CPC_RESOURCE_UNAVAIL,
		  "cannot count '%s': the kernel cannot switch on the probe of '%s' by its "
		  "semaphore",
		  look->req->name, found->path);
	return false;
}

/* Keeps the file, unless the symbol is not code in it.  1, or -1 and it is closed. */
static int keep_file(const struct cpci_lookup *look, const struct cpci_found *found,
		     struct cpci_symfile *file, int fd)
{
	struct cpci_symbol_addr *at = look->at;
	const struct cpci_segment *segment = cpci_elf_segment(&file->elf, found->symbol.value);
	uint64_t value = found->symbol.value + look->term->attr.probe_offset;

	at->len = 0;
	at->file = -1;
	if (found->symbol.kind == CPCI_SYM_NO_SITE) {
		close(fd);
		return 1;
	}
	if (segment == NULL || !segment->exec || cpci_elf_segment(&file->elf, value) != segment ||
	    !cpci_elf_offset(&file->elf, value, &at->offset)) {
		cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			  "cannot count '%s': '%s' of '%s' is not a function, or the offset leads "
			  "out of the code",
			  look->req->name, look->term->symbol, found->path);
	} else if (take_counter(look, found, file) &&
		   cpci_function_check(look, found, file, fd) == 1 &&
		   cpci_function_check_return(look, found, file, fd) == 1) {
		at->file = fd;
		cpci_lookup_note_clone(look, found);
		return 1;
	}
	close(fd);
	return -1;
}

int cpci_function_locate(const struct cpci_lookup *look, const struct cpci_found *found)
{
	struct cpci_symbol_addr *at = look->at;
	struct cpci_process *process = look->process;
	struct cpci_symfile *file = process->exe;
	struct cpci_mapping m;
	int fd;

	if (found->at == 0)
		fd = fcntl(process->exe_fd, F_DUPFD_CLOEXEC, 0);
	else
		file = cpci_process_file(process, found->at, &m, &fd);
	if (fd == -1)
		return cpci_lookup_cannot_read(look, found->path, errno);
	if (keep_file(look, found, file, fd) == -1)
		return -1;
	at->addr = at->file != -1
			   ? found->bias + found->symbol.value + look->term->attr.probe_offset
			   : CPCI_NO_SITE;
	return 1;
}

/* The path in the process's own root directory, which may differ from ours. */
struct cpci_symfile *cpci_function_open(struct cpci_symfiles *files, const char *path, pid_t tid,
					int *fd)
{
	char inside[PATH_MAX];

	if (tid <= 0 || tid == cpci_self())
		return cpci_symfile_open(files, path, NULL, fd);
	snprintf(inside, sizeof(inside), "/proc/%d/root%s", (int)tid, path);
	return cpci_symfile_open(files, inside, NULL, fd);
}

/*
 * Has a process mapped code of an older file of the same path as `fd`?  Uprobes in the new
 * file do not count calls of the old one.  If its mappings cannot be read, the program was
 * just executed, and has no such mapping.
 */
static bool has_older(pid_t tid, const char *path, int fd)
{
	static const char deleted[] = " (deleted)";
	char link[32], real[PATH_MAX];
	struct cpci_mapping m = {0};
	struct cpci_maps maps;
	bool found = false;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof(real) - 1);
	real[n > 0 ? n : 0] = '\0';
	if (tid == -1 || cpci_maps_open(&maps, tid) == -1)
		return false;
	while (!found && cpci_maps_next_code(&maps, m.end, &m)) {
		size_t len = strlen(m.path);

		if (len < sizeof(deleted) || strcmp(m.path + len - strlen(deleted), deleted) != 0)
			continue;
		len -= strlen(deleted);
		found = (strlen(path) == len && memcmp(m.path, path, len) == 0) ||
			(strlen(real) == len && memcmp(m.path, real, len) == 0);
	}
	cpci_maps_close(&maps);
	return found;
}

int cpci_function_in_file(const struct cpci_lookup *look, struct cpci_symfiles *files, pid_t tid)
{
	const struct cpci_term *term = look->term;
	struct cpci_found found = {0};
	struct cpci_symfile *file;
	int fd;

	cpci_lookup_shorten_path(found.path, sizeof(found.path), term->file);
	file = cpci_function_open(files, term->file, tid, &fd);
	if (file == NULL && errno == ENOENT)
		return cpci_diag(look->diag, ESTALE, CPC_RESOURCE_UNAVAIL,
				 "cannot count '%s': there is no file '%s'", look->req->name,
				 term->file);
	if (file == NULL)
		return cpci_lookup_cannot_read(look, term->file, errno);
	if (has_older(tid, term->file, fd)) {
		close(fd);
		return cpci_diag(
			look->diag, ESTALE, CPC_RESOURCE_UNAVAIL,
			"cannot count '%s': the process has an older '%s' mapped, which was "
			"removed or replaced; to count in that one, leave out the folder",
			look->req->name, found.path);
	}
	if (cpci_function_find(term, file, fd, &found.symbol) == -1) {
		int err = errno;

		close(fd);
		return cpci_lookup_cannot_read(look, term->file, err);
	}
	if (found.symbol.kind == CPCI_SYM_NONE || cpci_lookup_check(look, &found) == -1) {
		close(fd);
		return found.symbol.kind == CPCI_SYM_NONE ? 0 : -1;
	}
	if (keep_file(look, &found, file, fd) == -1)
		return -1;
	/* Not 0, which means "not found" and is the offset of the ELF header. */
	look->at->addr = look->at->file != -1 ? look->at->offset : CPCI_NO_SITE;
	return 1;
}

/* Version numbers may be left out: libm.so.6 also matches libm.so.6.1. */
bool cpci_function_is_elsewhere(const struct cpci_term *term, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
	size_t n = strlen(term->file);

	return n != 0 && (strncmp(base, term->file, n) != 0 ||
			  (base[n] != '\0' && base[n] != '.' && base[n] != ' '));
}
