/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbol.c - where the symbols of a set are in a process: in its program, or in the first
 * of its libraries that has them.
 *
 * No file is passed over: if one that comes first cannot be read, nobody knows which one
 * has the symbol.
 */
#include "symbol.h"

#include "process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is looked for, and who asks. */
struct lookup {
	struct cpci_process *process;
	const struct cpci_req *req;
	const struct cpci_term *term;
	struct cpci_diag *diag;
};

/* A file that has the symbol. */
struct found {
	struct cpci_symbol symbol;
	uint64_t bias;
	bool moved; /* its code is not where it is to be */
	char path[256];
};

/* A path for a message: of a long one the end. */
static void tell_path(char *to, size_t size, const char *path)
{
	size_t n = strlen(path);

	if (n < size)
		snprintf(to, size, "%s", path);
	else
		snprintf(to, size, "...%s", path + n - (size - 4));
}

static const char *reason(int err)
{
	switch (err) {
	case ESTALE:
	case ENOENT:
		return "it was removed or replaced since it was mapped";
	case ENOEXEC:
		return "it is not an ELF file of this machine";
	case EIO:
		return "it is damaged, or ends too early";
	case EFBIG:
		return "reading its symbols takes too much memory";
	case ETIME:
		return "reading its symbols takes too long";
	case ENODATA:
		return "it has no section headers, which tell where its symbols are";
	case ENOTSUP:
		return "its symbols are compressed, or their names are not there";
	case EBUSY:
		return "it is being written";
	default:
		return strerror(err);
	}
}

/* ENOENT and ESRCH have meanings of their own. */
static int errno_for(int err)
{
	switch (err) {
	case EPERM:
		return EACCES;
	case ENOENT:
	case ESRCH:
		return ESTALE;
	default:
		return err;
	}
}

static int cannot_read(const struct lookup *look, const char *path, int err)
{
	char text[256];

	tell_path(text, sizeof(text), path);
	cpci_diag(look->diag, errno_for(err), 0,
		  "cannot count '%s': '%s', which may have the symbol, cannot be read: %s",
		  look->req->name, text, reason(err));
	return -1;
}

static void exe_path(const struct lookup *look, char *path, size_t size)
{
	char link[64], target[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)look->process->tid);
	n = readlink(link, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	tell_path(path, size, target);
}

/* What is wrong with the whole process, with errno. */
static int cannot_look(const struct lookup *look, enum cpci_process_error error)
{
	const char *name = look->req->name;
	int err = errno;

	switch (error) {
	case CPCI_PROCESS_MAPS:
		cpci_diag(look->diag, errno_for(err), 0,
			  "cannot count '%s': what its program has mapped cannot be read: %s", name,
			  err == EFBIG ? "these are too many mappings" : strerror(err));
		break;
	case CPCI_PROCESS_PROGRAM:
		cpci_diag(look->diag, errno_for(err), 0,
			  "cannot count '%s': its program cannot be read: %s", name, reason(err));
		break;
	case CPCI_PROCESS_PLACE:
		cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			  "cannot count '%s': where its program is mapped cannot be known, since "
			  "that was changed",
			  name);
		break;
	case CPCI_PROCESS_LIST:
		cpci_diag(look->diag, errno_for(err), 0,
			  "cannot count '%s': the dynamic linker's list of libraries, in the "
			  "memory of the program, cannot be read: %s",
			  name,
			  err == EBADMSG ? "it is damaged"
			  : err == EFBIG ? "it is too long"
					 : strerror(err));
		break;
	case CPCI_PROCESS_BY_HAND:
		cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			  "cannot count '%s': the program of a dynamic linker that was called as a "
			  "command is not known before it runs",
			  name);
		break;
	case CPCI_PROCESS_OK:
		break;
	}
	return -1;
}

/* What a found symbol is good for: 1, or -1. */
static int judge(const struct lookup *look, const struct found *found)
{
	const char *name = look->req->name, *symbol = look->term->symbol;

	switch (found->symbol.kind) {
	case CPCI_SYM_AMBIGUOUS:
		cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			  "cannot count '%s': the symbol '%s' is ambiguous, %llu of that name are "
			  "in '%s'; write another one near by, with +offset",
			  name, symbol, (unsigned long long)found->symbol.n, found->path);
		return -1;
	case CPCI_SYM_IFUNC:
		cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			  "cannot count '%s': '%s' of '%s' is chosen among several functions when "
			  "the program starts (IFUNC); write the one that this CPU uses",
			  name, symbol, found->path);
		return -1;
	case CPCI_SYM_TLS:
		cpci_diag(
			look->diag, EINVAL, CPC_INVALID_EVENT,
			"cannot count '%s': '%s' of '%s' is thread-local, each thread has its own",
			name, symbol, found->path);
		return -1;
	case CPCI_SYM_FOUND:
	case CPCI_SYM_NONE:
		break;
	}
	if (found->moved) {
		cpci_diag(look->diag, EINVAL, CPC_INVALID_EVENT,
			  "cannot count '%s': '%s' of '%s' is not mapped where it is to be", name,
			  symbol, found->path);
		return -1;
	}
	return 1;
}

static int settle(const struct lookup *look, const struct found *found, struct cpci_bp_addr *bp)
{
	if (judge(look, found) == -1)
		return -1;
	bp->addr = found->bias + found->symbol.value + look->term->attr.bp_addr;
	bp->len = look->term->attr.bp_addr == 0 ? found->symbol.size : 0;
	return 1;
}

/* Is the code of a symbol mapped where it is to be?  Data may be anywhere, in .bss. */
static int check_code(const struct lookup *look, const struct cpci_symfile *file,
		      struct found *found)
{
	const struct cpci_segment *s = cpci_elf_segment(&file->elf, found->symbol.value);
	int rc = 1;

	if (found->symbol.kind == CPCI_SYM_FOUND && s != NULL && s->exec)
		rc = cpci_process_has_code(look->process, file, found->bias,
					   found->bias + found->symbol.value);
	found->moved = rc == 0;
	return rc == -1 ? -1 : 0;
}

/* Is the dynamic section of a listed library where the list says? */
static bool is_true(const struct cpci_symfile *file, const struct cpci_object *object,
		    const struct cpci_mapping *m)
{
	uint64_t offset;

	return file->elf.dynamic != 0 && object->at - file->elf.dynamic == object->bias &&
	       cpci_elf_offset(&file->elf, file->elf.dynamic, &offset) &&
	       m->offset + (object->at - m->start) == offset;
}

/* What is mapped as code, and is no library. */
static bool is_no_library(const struct cpci_mapping *m, int err)
{
	return err == ENOEXEC || strncmp(m->path, "/memfd:", 7) == 0 ||
	       strncmp(m->path, "/dev/", 5) == 0 || strncmp(m->path, "/SYSV", 5) == 0 ||
	       m->path[0] != '/';
}

/* Where the file is that was opened: by the list, or by its only mapping. */
static int find_bias(const struct lookup *look, const struct cpci_symfile *file,
		     const struct cpci_object *object, const struct cpci_mapping *m,
		     struct found *found)
{
	int rc;

	if (object->listed) {
		found->bias = object->bias;
		if (is_true(file, object, m))
			return 0;
		errno = EBADMSG;
		return cannot_look(look, CPCI_PROCESS_LIST);
	}
	rc = cpci_process_bias(look->process, file, &found->bias);
	if (rc == -1)
		return cannot_look(look, CPCI_PROCESS_MAPS);
	found->moved = rc == 0;
	return 0;
}

/*
 * Looks into a library.  1: it has the symbol, 0: it has not, -1: see diag.  `linker` is
 * set if it is a dynamic linker.
 */
static int look_into(const struct lookup *look, const struct cpci_object *object,
		     struct found *found, bool *linker)
{
	struct cpci_symfile *file;
	struct cpci_mapping m = {0};
	int fd, rc = -1;

	*found = (struct found){0};
	*linker = false;
	file = cpci_process_file(look->process, object->at, &m, &fd);
	if (file == NULL && errno == EBADMSG) /* it went meanwhile */
		return cannot_look(look, CPCI_PROCESS_LIST);
	if (file == NULL && m.end == 0) /* nobody says what is mapped there */
		return cannot_look(look, CPCI_PROCESS_MAPS);
	if (file == NULL)
		return !object->listed && is_no_library(&m, errno)
			       ? 0
			       : cannot_read(look, m.path, errno);
	if (cpci_symfile_find(file, fd, CPCI_ELF_ALL, look->term->symbol, &found->symbol) == 0)
		rc = cpci_symfile_is_linker(file, fd);
	if (rc == -1) {
		rc = cannot_read(look, m.path, errno);
	} else {
		*linker = rc == 1;
		tell_path(found->path, sizeof(found->path), m.path);
		rc = found->symbol.kind != CPCI_SYM_NONE;
		if (find_bias(look, file, object, &m, found) == -1)
			rc = -1;
		else if (rc == 1 && !found->moved && check_code(look, file, found) == -1)
			rc = cannot_look(look, CPCI_PROCESS_MAPS);
	}
	close(fd);
	return rc;
}

static int ambiguous(const struct lookup *look, const struct found *a, const struct found *b)
{
	cpci_diag(
		look->diag, EINVAL, CPC_INVALID_EVENT,
		"cannot count '%s': '%s' and '%s' both have the symbol '%s', and which comes first "
		"cannot be known",
		look->req->name, a->path, b->path, look->term->symbol);
	return -1;
}

/* What was found so far, in which kind of files. */
struct search {
	struct found found, linker;
	bool have, have_linker;
};

/*
 * In some of the libraries.  1: go on, -1: see diag.  Of those in the list the first one
 * counts; of others there must be only one, since nobody knows their order.
 */
static int search(const struct lookup *look, size_t from, size_t to, struct search *s)
{
	bool done = look->process->state == CPCI_LINKMAP_DONE, is_linker;

	for (size_t i = from; i < to; i++) {
		const struct cpci_object *object = &look->process->object[i];
		struct found one;
		int rc = look_into(look, object, &one, &is_linker);

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
 * In the libraries that the dynamic linker lists, in that order, and others.  While it
 * still maps libraries, the one that it has not listed yet is the next one; and it comes
 * itself last, since libraries take its place where they have the same symbol.
 */
static int find_in_libraries(const struct lookup *look, struct cpci_bp_addr *bp)
{
	struct cpci_process *process = look->process;
	enum cpci_process_error error = cpci_process_listed(process);
	bool done = process->state == CPCI_LINKMAP_DONE;
	struct search s = {0};
	uint64_t sum, *seen;

	if (error != CPCI_PROCESS_OK)
		return cannot_look(look, error);
	if (search(look, 0, process->nlisted, &s) == -1)
		return -1;
	sum = cpci_process_sum(process, look->term->symbol);
	seen = &process->files->seen[sum % (sizeof(process->files->seen) / sizeof(*seen))];
	if (done ? *seen != sum : !s.have) {
		bool listed = s.have;

		error = cpci_process_unlisted(process);
		if (error != CPCI_PROCESS_OK)
			return cannot_look(look, error);
		if (search(look, process->nlisted, process->n, &s) == -1)
			return -1;
		/* What only an unlisted one has is to be found again. */
		if (done && s.have == listed)
			*seen = sum;
	}
	if (s.have)
		return settle(look, &s.found, bp);
	if (s.have_linker && (!s.linker.symbol.local || !process->exe->elf.interpreted))
		return settle(look, &s.linker, bp);
	return 0;
}

/* Anywhere in the process: 1 found, 0 not there, -1 see diag. */
static int find(const struct lookup *look, struct cpci_bp_addr *bp)
{
	struct cpci_process *process = look->process;
	struct cpci_symfile *exe = process->exe;
	struct found found = {0};

	if (process->by_hand)
		return find_in_libraries(look, bp);
	if (cpci_symfile_find(exe, process->exe_fd, CPCI_ELF_ALL, look->term->symbol,
			      &found.symbol) == -1)
		return cannot_look(look, CPCI_PROCESS_PROGRAM);
	if (found.symbol.kind == CPCI_SYM_NONE)
		return find_in_libraries(look, bp);
	found.bias = process->exe_bias;
	if (check_code(look, exe, &found) == -1)
		return cannot_look(look, CPCI_PROCESS_MAPS);
	exe_path(look, found.path, sizeof(found.path));
	return settle(look, &found, bp);
}

/* All that are not found yet, in an open process: as cpci_symbols_find(). */
static int find_all(struct cpci_process *process, const struct cpci_plan *plan,
		    struct cpci_bp_addr *bp, uint_t *missing, struct cpci_diag *diag)
{
	int n = 0;

	for (uint_t i = 0; i < plan->nterms; i++) {
		const struct lookup look = {
			.process = process,
			.req = &plan->req[plan->ref[i].req],
			.term = cpci_plan_nth(plan, i),
			.diag = diag,
		};

		if (look.term->symbol[0] == '\0' || bp[i].addr != 0)
			continue;
		switch (find(&look, &bp[i])) {
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

/* The first term whose symbol is to be found, or nterms. */
static uint_t first_open(const struct cpci_plan *plan, const struct cpci_bp_addr *bp)
{
	uint_t i = 0;

	while (i < plan->nterms && (cpci_plan_nth(plan, i)->symbol[0] == '\0' || bp[i].addr != 0))
		i++;
	return i;
}

int cpci_symbols_find(struct cpci_symfiles *files, const struct cpci_plan *plan, pid_t tid,
		      struct cpci_bp_addr *bp, uint_t *missing, struct cpci_diag *diag)
{
	uint_t first = first_open(plan, bp);
	struct cpci_process process;
	enum cpci_process_error error;
	struct lookup look = {.process = &process, .diag = diag};
	int n;

	if (first == plan->nterms)
		return 0;
	look.req = &plan->req[plan->ref[first].req];
	if (!cpci_own_proc()) {
		cpci_diag(diag, EACCES, 0,
			  "cannot count '%s': symbols are looked up in /proc, which is not mounted "
			  "or is that of another PID namespace",
			  look.req->name);
		return -1;
	}
	cpci_symfiles_trim(files);
	error = cpci_process_open(&process, files, tid);
	n = error == CPCI_PROCESS_OK ? find_all(&process, plan, bp, missing, diag)
				     : cannot_look(&look, error);
	cpci_process_close(&process);
	/* What has ended has no memory any more, and no program. */
	if (n == -1 && cpci_lwp_ended(tid))
		cpci_diag(diag, ESRCH, 0, "the LWP has ended");
	return n;
}

uint_t cpci_symbols_first(const struct cpci_plan *plan)
{
	uint_t i = 0;

	while (i < plan->nterms && cpci_plan_nth(plan, i)->symbol[0] == '\0')
		i++;
	return i;
}
