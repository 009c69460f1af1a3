/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* symfile.c - caches the symbols of programs and libraries by file. */
#include "symfile.h"
#include "debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_FILES 1024

struct cpci_answer {
	enum cpci_elf_table which;
	int err;
	struct cpci_symbol symbol;
	LIST_ENTRY(cpci_answer) link;
	char name[];
};

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_contents(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       same_time(&a->st_mtim, &b->st_mtim);
}

/* The inode number of a deleted file may be reused, so compare the times, too. */
static bool same_file(const struct stat *a, const struct stat *b)
{
	return same_contents(a, b) && same_time(&a->st_ctim, &b->st_ctim);
}

static struct cpci_symfile *add_file(struct cpci_symfiles *files, int fd, const struct stat *st)
{
	struct cpci_symfile *file = calloc(1, sizeof(*file));

	if (file == NULL)
		return NULL;
	file->st = *st;
	/* If the file cannot be mapped or identified, this is the best guess. */
	if (cpci_maps_identify(fd, &file->id) == -1)
		file->id = (struct cpci_file_id){st->st_dev, st->st_ino};
	if (cpci_elf_read(&file->elf, fd) == -1) {
		file->err = errno;
		if (file->err == ENOMEM) {
			free(file);
			errno = ENOMEM;
			return NULL;
		}
	}
	LIST_INIT(&file->answers);
	LIST_INIT(&file->verdicts);
	LIST_INSERT_HEAD(&files->list, file, link);
	return file;
}

static struct cpci_symfile *get_file(struct cpci_symfiles *files, int fd)
{
	struct cpci_symfile *file;
	struct stat st;

	if (fstat(fd, &st) == -1)
		return NULL;
	if (!S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : ENOEXEC;
		return NULL;
	}
	LIST_FOREACH(file, &files->list, link) {
		if (same_file(&file->st, &st)) {
			LIST_REMOVE(file, link);
			LIST_INSERT_HEAD(&files->list, file, link);
			return file;
		}
	}
	return add_file(files, fd, &st);
}

struct cpci_symfile *cpci_symfile_open(struct cpci_symfiles *files, const char *path,
				       const struct cpci_file_id *id, int *fd)
{
	struct cpci_symfile *file;
	int err;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fd == -1)
		return NULL;
	file = get_file(files, *fd);
	if (file == NULL)
		err = errno;
	else
		err = id != NULL && !cpci_same_file_id(file->id, *id) ? ESTALE : file->err;
	if (err == 0)
		return file;
	close(*fd);
	*fd = -1;
	errno = err;
	return NULL;
}

/* Would another attempt fail with the same error? */
static bool is_lasting(int err)
{
	return err == 0 || err == ENOEXEC || err == EFBIG || err == ETIME || err == ENODATA ||
	       err == ENOTSUP || err == EIO;
}

/* Searches the debug file of a stripped file, which has the same addresses.  An errno, or 0. */
static int search_debug_file(const struct cpci_symfile *file, int fd, const char *name,
			     struct cpci_symbol *symbol)
{
	/* Versions are in the stripped file. */
	const int debug = strchr(name, '@') == NULL ? cpci_debug_open(fd) : -1;
	int err = 0;

	if (debug == -1)
		return 0;
	if (cpci_elf_search(&file->elf, debug, CPCI_ELF_ALL, name, symbol) == -1)
		err = errno;
	close(debug);
	return err;
}

static int search_file(const struct cpci_symfile *file, int fd, enum cpci_elf_table which,
		       const char *name, struct cpci_symbol *symbol)
{
	struct stat st;
	int err = 0;

	if (which == CPCI_ELF_ALL)
		err = search_debug_file(file, fd, name, symbol);
	if (err == 0 && symbol->kind == CPCI_SYM_NONE &&
	    cpci_elf_search(&file->elf, fd, which, name, symbol) == -1)
		err = errno;
	if (err != 0)
		return err;
	if (fstat(fd, &st) == -1)
		err = errno;
	else if (!same_contents(&file->st, &st))
		err = EBUSY;
	if (err != 0) {
		free(symbol->site);
		*symbol = (struct cpci_symbol){0};
	}
	return err;
}

/* Takes one of the sites; 0: the only one, or the symbol itself. */
static void choose_site(struct cpci_symbol *symbol, unsigned site)
{
	const unsigned i = site > 0 ? site - 1 : 0;

	if (symbol->kind != CPCI_SYM_FOUND)
		return;
	if (i >= symbol->n || i >= CPCI_MAX_SITES) {
		symbol->kind = CPCI_SYM_NO_SITE;
		return;
	}
	symbol->value = symbol->site[i].value;
	symbol->size = symbol->site[i].size;
	symbol->counter = symbol->site[i].counter;
}

int cpci_symfile_find(struct cpci_symfile *file, int fd, enum cpci_elf_table which,
		      const char *name, unsigned site, struct cpci_symbol *symbol)
{
	struct cpci_answer *answer;

	LIST_FOREACH(answer, &file->answers, link) {
		if (answer->which == which && strcmp(answer->name, name) == 0)
			break;
	}
	*symbol = (struct cpci_symbol){0};
	if (answer == NULL) {
		int err = search_file(file, fd, which, name, symbol);

		if (!is_lasting(err))
			return cpci_errno(err);
		answer = calloc(1, sizeof(*answer) + strlen(name) + 1);
		if (answer == NULL) {
			free(symbol->site);
			return -1;
		}
		strcpy(answer->name, name);
		answer->which = which;
		answer->err = err;
		answer->symbol = *symbol;
		LIST_INSERT_HEAD(&file->answers, answer, link);
	}
	*symbol = answer->symbol;
	choose_site(symbol, site);
	errno = answer->err;
	return answer->err == 0 ? 0 : -1;
}

/* Is it a dynamic linker?  It is recognized by the symbols for debuggers of glibc and musl. */
int cpci_symfile_is_linker(struct cpci_symfile *file, int fd)
{
	static const char *const name[] = {"_r_debug", "_dl_debug_addr"};
	struct cpci_symbol symbol;

	if (file->elf.interpreted || !file->elf.shared || file->elf.dynamic == 0)
		return 0;
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		if (cpci_symfile_find(file, fd, CPCI_ELF_DYNAMIC, name[i], 0, &symbol) == -1)
			return -1;
		if (symbol.kind == CPCI_SYM_FOUND && !symbol.local)
			return 1;
	}
	return 0;
}

static void free_file(struct cpci_symfile *file)
{
	struct cpci_answer *answer;
	struct cpci_verdict *verdict;

	while ((answer = LIST_FIRST(&file->answers)) != NULL) {
		LIST_REMOVE(answer, link);
		free(answer->symbol.site);
		free(answer);
	}
	while ((verdict = LIST_FIRST(&file->verdicts)) != NULL) {
		LIST_REMOVE(verdict, link);
		free(verdict);
	}
	LIST_REMOVE(file, link);
	cpci_elf_free(&file->elf);
	free(file);
}

void cpci_symfiles_trim(struct cpci_symfiles *files)
{
	struct cpci_symfile *file, *next;
	size_t n = 0;

	LIST_FOREACH_SAFE(file, &files->list, link, next)
	{
		if (++n > MAX_FILES)
			free_file(file);
	}
}

void cpci_symfiles_free(struct cpci_symfiles *files)
{
	while (!LIST_EMPTY(&files->list))
		free_file(LIST_FIRST(&files->list));
}
