/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* nearest.c - the symbol of a program, its libraries or a file most similar to a misspelt one. */
#include "debugfile.h"
#include "lookup.h"

#include <bsd/string.h>
#include <string.h>
#include <unistd.h>

/* Is it a part of the function, or a clone?  These are better suggestions than similar names. */
static bool try_part(struct cpci_suggest *suggest, const char *name)
{
	const size_t n = strlen(suggest->name);

	if (strncmp(name, suggest->name, n) != 0 || name[n] != '.' ||
	    strstr(name + n, ".cold") != NULL ||
	    strlcpy(suggest->best, name, sizeof(suggest->best)) >= sizeof(suggest->best))
		return false;
	suggest->distance = 0;
	return true;
}

static void try_name(void *arg, const char *provider, const char *name)
{
	char text[CPCI_MAX_SYMBOL], *version;
	/* Names in a crafted file can be megabytes long: snprintf() must not read all of them. */
	int len = (int)strnlen(name, sizeof(text));

	if (provider != NULL) {
		snprintf(text, sizeof(text), "%.*s:%.*s", (int)strnlen(provider, sizeof(text)),
			 provider, len, name);
	} else {
		snprintf(text, sizeof(text), "%.*s", len, name);
		version = strchr(text, '@');
		if (version != NULL)
			*version = '\0';
	}
	if (provider != NULL || !try_part(arg, text))
		cpci_suggest_try(arg, text);
}

static void try_file(const struct cpci_term *term, int fd, struct cpci_suggest *suggest)
{
	const int debug = term->probe ? -1 : cpci_debug_open(fd);

	cpci_elf_walk(fd, term->probe ? CPCI_ELF_PROBES : CPCI_ELF_ALL, suggest, try_name);
	if (debug == -1)
		return;
	cpci_elf_walk(debug, CPCI_ELF_ALL, suggest, try_name);
	close(debug);
}

static void try_program(const struct cpci_process *process, const struct cpci_term *term,
			struct cpci_suggest *suggest)
{
	if (!cpci_function_is_elsewhere(term, process->exe_path))
		try_file(term, process->exe_fd, suggest);
}

static void try_libraries(struct cpci_process *process, const struct cpci_term *term,
			  struct cpci_suggest *suggest)
{
	struct cpci_mapping m;
	int fd;

	if (cpci_process_libraries(process) != CPCI_PROCESS_OK)
		return;
	for (size_t i = 0; i < process->n; i++) {
		if (cpci_process_file(process, process->object[i].at, &m, &fd) == NULL)
			continue;
		if (!cpci_function_is_elsewhere(term, m.path))
			try_file(term, fd, suggest);
		close(fd);
	}
}

bool cpci_symbols_nearest(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid,
			  char *name, size_t size)
{
	struct cpci_suggest suggest;
	struct cpci_process process;
	int fd;

	cpci_suggest_start(&suggest, term->symbol);
	/* A strict limit: there are thousands of symbols, so some would be similar to any word. */
	suggest.distance = strlen(term->symbol) < 5 ? 2 : 3;
	if (term->file[0] == '/') {
		if (cpci_function_open(files, term->file, tid, &fd) != NULL) {
			try_file(term, fd, &suggest);
			close(fd);
		}
	} else {
		if (cpci_process_open(&process, files, tid) == CPCI_PROCESS_OK) {
			try_program(&process, term, &suggest);
			try_libraries(&process, term, &suggest);
		}
		cpci_process_close(&process);
	}
	snprintf(name, size, "%s", suggest.best);
	return suggest.best[0] != '\0';
}

void cpci_symbols_hint(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid,
		       char *hint)
{
	char name[CPCI_MAX_SYMBOL];

	*hint = '\0';
	if (cpci_symbols_nearest(files, term, tid, name, sizeof(name)))
		snprintf(hint, CPCI_SYMBOL_HINT, " (did you mean '%s'?)", name);
}
