/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbol.c - where the symbols of a set are in a process: in its program, or in the
 * first of its libraries that has them.
 */
#include "symbol.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Code of a file that is mapped. */
struct mapping {
	uint64_t start, end, offset, ino;
	uint64_t distance; /* from the dynamic linker, which was the first */
	char *path;
};

struct mappings {
	size_t n, room;
	struct mapping *m;
};

/* What the kernel told the program at its start; 0: nothing. */
struct auxv {
	uint64_t entry, base;
};

/* Words are as wide as the program's; the wrong width finds no end of the vector. */
static struct auxv parse_auxv(const unsigned char *p, size_t n, size_t width)
{
	struct auxv auxv = {0};

	for (; n >= 2 * width; p += 2 * width, n -= 2 * width) {
		uint64_t type = 0, val = 0;

		/* Of a 32-bit program on a little-endian machine, too. */
		memcpy(&type, p, width);
		memcpy(&val, p + width, width);
		if (type == AT_ENTRY)
			auxv.entry = val;
		else if (type == AT_BASE)
			auxv.base = val;
	}
	return auxv;
}

static struct auxv read_auxv(pid_t tid)
{
	unsigned char buf[1024];
	struct auxv auxv;
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd != -1) {
		n = read(fd, buf, sizeof(buf));
		close(fd);
	}
	if (n <= 0)
		return (struct auxv){0};
	auxv = parse_auxv(buf, (size_t)n, sizeof(uint64_t));
	return auxv.entry != 0 ? auxv : parse_auxv(buf, (size_t)n, sizeof(uint32_t));
}

static int add_mapping(struct mappings *maps, const struct mapping *m)
{
	if (maps->n == maps->room) {
		size_t room = maps->room != 0 ? 2 * maps->room : 64;
		struct mapping *p = reallocarray(maps->m, room, sizeof(*p));

		if (p == NULL)
			return -1;
		maps->m = p;
		maps->room = room;
	}
	maps->m[maps->n] = *m;
	maps->m[maps->n].path = strdup(m->path);
	return maps->m[maps->n].path != NULL ? (int)maps->n++ : -1;
}

static void free_mappings(struct mappings *maps)
{
	for (size_t i = 0; i < maps->n; i++)
		free(maps->m[i].path);
	free(maps->m);
}

static int by_distance(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	return (x->distance > y->distance) - (x->distance < y->distance);
}

/*
 * The code that is mapped, in the order of mapping: the kernel maps the dynamic linker
 * first, and then everything next to what is there already.  The linker itself counts
 * as the last, since libraries take its place where they have the same symbol.
 */
static int read_mappings(pid_t tid, uint64_t base, struct mappings *maps)
{
	char path[64], perms[8], *line = NULL;
	uint64_t linker = 0;
	size_t size = 0;
	int at, rc = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)tid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	while (rc != -1 && getline(&line, &size, f) > 0) {
		struct mapping m = {0};

		if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %n", &m.start, &m.end, perms, &m.offset,
			   &m.ino, &at) != 5 ||
		    line[at] != '/')
			continue;
		if (m.start == base)
			linker = m.ino;
		m.path = line + at;
		m.path[strcspn(m.path, "\n")] = '\0';
		m.distance = m.start > base ? m.start - base : base - m.start;
		if (perms[2] == 'x')
			rc = add_mapping(maps, &m);
	}
	free(line);
	fclose(f);
	for (size_t i = 0; i < maps->n; i++) {
		if (maps->m[i].ino == linker)
			maps->m[i].distance = UINT64_MAX;
	}
	qsort(maps->m, maps->n, sizeof(*maps->m), by_distance);
	return rc == -1 ? -1 : 0;
}

/*
 * Looks into a mapped file.  The kernel's own link to it, which not everybody may follow,
 * is right also when the file was removed; or else it is what has its name, in the
 * process's view or in ours.
 */
static const struct cpci_symbol *look_into(struct cpci_symfiles *files, pid_t tid,
					   const struct mapping *m, const char *name)
{
	char path[PATH_MAX + 64];
	const struct cpci_symbol *symbol;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)tid, m->start, m->end);
	symbol = cpci_symfile_find(files, path, m->ino, name);
	if (symbol != NULL)
		return symbol;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)tid, m->path);
	symbol = cpci_symfile_find(files, path, m->ino, name);
	return symbol != NULL ? symbol : cpci_symfile_find(files, m->path, m->ino, name);
}

/* What a found symbol is good for: 1, 0 or -1 as below. */
static int judge(const struct cpci_symbol *symbol, const struct cpci_req *req, const char *name,
		 const char *file, struct cpci_diag *diag)
{
	switch (symbol->kind) {
	case CPCI_SYM_FOUND:
		return 1;
	case CPCI_SYM_AMBIGUOUS:
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "cannot count '%s': the symbol '%s' is ambiguous, %u of that name are in "
			  "'%s'; write another one near by, with +offset",
			  req->name, name, symbol->n, file);
		return -1;
	case CPCI_SYM_IFUNC:
		cpci_diag(diag, EINVAL, CPC_INVALID_EVENT,
			  "cannot count '%s': '%s' of '%s' is chosen among several functions when "
			  "the program starts (IFUNC); write the one that this CPU uses",
			  req->name, name, file);
		return -1;
	case CPCI_SYM_TLS:
		cpci_diag(
			diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': '%s' of '%s' is thread-local, each thread has its own",
			req->name, name, file);
		return -1;
	case CPCI_SYM_NONE:
		break;
	}
	return 0;
}

static void set_address(struct cpci_bp_addr *bp, const struct cpci_term *term,
			const struct cpci_symbol *symbol, uint64_t bias)
{
	bp->addr = bias + symbol->value + term->attr.bp_addr;
	bp->len = term->attr.bp_addr == 0 ? symbol->size : 0;
}

/* In the libraries: 1 found, 0 not there, -1 see `diag`. */
static int find_in_libraries(struct cpci_symfiles *files, pid_t tid, uint64_t base,
			     const struct cpci_req *req, const struct cpci_term *term,
			     struct cpci_bp_addr *bp, struct cpci_diag *diag)
{
	struct mappings maps = {0};
	int rc = read_mappings(tid, base, &maps);

	if (rc == -1)
		cpci_diag_nomem(diag);
	for (size_t i = 0; rc == 0 && i < maps.n; i++) {
		const struct mapping *m = &maps.m[i];
		const struct cpci_symbol *symbol = look_into(files, tid, m, term->symbol);

		if (symbol == NULL)
			continue;
		for (uint_t s = 0; rc == 0 && s < symbol->nsegments; s++) {
			if (symbol->segment[s].offset != m->offset)
				continue;
			rc = judge(symbol, req, term->symbol, m->path, diag);
			if (rc == 1)
				set_address(bp, term, symbol, m->start - symbol->segment[s].addr);
		}
	}
	free_mappings(&maps);
	return rc;
}

/* Anywhere in the process: 1 found, 0 not there, -1 see `diag`. */
static int find(struct cpci_symfiles *files, pid_t tid, const struct cpci_req *req,
		const struct cpci_term *term, struct cpci_bp_addr *bp, struct cpci_diag *diag)
{
	char exe[64], file[PATH_MAX];
	const struct cpci_symbol *symbol;
	struct auxv auxv;
	ssize_t n;
	int rc;

	if (!cpci_own_proc()) {
		cpci_diag(diag, EACCES, 0,
			  "cannot count '%s': symbols are looked up in /proc, which is not mounted "
			  "or is that of another PID namespace",
			  req->name);
		return -1;
	}
	errno = ENOENT;
	auxv = read_auxv(tid);
	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)tid);
	symbol = auxv.entry != 0 ? cpci_symfile_find(files, exe, 0, term->symbol) : NULL;
	if (symbol == NULL) {
		if (errno == ENOENT || errno == ESRCH)
			cpci_diag(diag, ESRCH, 0, "the LWP has ended");
		else
			cpci_diag(diag, errno == EPERM ? EACCES : errno, 0,
				  "cannot count '%s': its program cannot be read: %s", req->name,
				  strerror(errno));
		return -1;
	}
	if (symbol->kind == CPCI_SYM_NONE)
		return find_in_libraries(files, tid, auxv.base, req, term, bp, diag);
	n = readlink(exe, file, sizeof(file) - 1);
	file[n > 0 ? n : 0] = '\0';
	rc = judge(symbol, req, term->symbol, file, diag);
	if (rc == 1)
		set_address(bp, term, symbol, auxv.entry - symbol->entry);
	return rc;
}

int cpci_symbols_find(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
		      struct cpci_bp_addr *bp, uint_t *missing, struct cpci_diag *diag)
{
	int n = 0;

	for (uint_t i = 0; i < plan->nterms; i++) {
		const struct cpci_term *term = cpci_plan_nth(plan, i);

		if (term->symbol[0] == '\0' || bp[i].addr != 0)
			continue;
		switch (find(files, tid, &plan->req[plan->ref[i].req], term, &bp[i], diag)) {
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

uint_t cpci_symbols_first(const struct cpci_plan *plan)
{
	uint_t i = 0;

	while (i < plan->nterms && cpci_plan_nth(plan, i)->symbol[0] == '\0')
		i++;
	return i;
}
