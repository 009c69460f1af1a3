/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* nearest.c - the symbol of a program, its libraries or a file most similar to a misspelt one. */
#include "debugfile.h"
#include "lookup.h"

#include <bsd/string.h>
#include <ctype.h>
#include <string.h>
#include <unistd.h>

/*
 * Formats "ns::A::get" as in the symbols of C++, "2ns1A3get".  False: the name has another form.
 * Parameters in parentheses are left out.
 */
static bool mangle(const char *name, char *mangled, size_t size)
{
	size_t used = 0, n;
	bool scoped = false;

	for (;; name += n + 2) {
		for (n = 0; isalnum((unsigned char)name[n]) || name[n] == '_'; n++)
			;
		if (n == 0 || used + n + 8 > size)
			return false;
		used += (size_t)snprintf(mangled + used, size - used, "%zu%.*s", n, (int)n, name);
		if (name[n] != ':' || name[n + 1] != ':')
			break;
		scoped = true;
	}
	return scoped && (name[n] == '\0' || name[n] == '(');
}

/* Is it the symbol of a function that was named as in the source code of C++? */
static bool try_mangled(struct cpci_suggest *suggest, const char *name)
{
	char mangled[CPCI_MAX_SYMBOL];
	size_t n;

	if (strncmp(name, "_ZN", 3) != 0 || !mangle(suggest->name, mangled, sizeof(mangled)))
		return false;
	name += name[3] == 'K' ? 4 : 3;
	n = strlen(mangled);
	return strncmp(name, mangled, n) == 0 && name[n] == 'E';
}

/* Is it a part of the function, or a clone?  These are better suggestions than similar names. */
static bool try_part(struct cpci_suggest *suggest, const char *name)
{
	const size_t n = strlen(suggest->name);

	if ((!try_mangled(suggest, name) &&
	     (strncmp(name, suggest->name, n) != 0 || name[n] != '.' ||
	      strstr(name + n, ".cold") != NULL)) ||
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

struct wanted {
	const char *name;
	bool found;
};

static void note_wanted(void *arg, const char *provider, const char *name)
{
	struct wanted *wanted = arg;

	(void)provider;
	wanted->found |= strcmp(name, wanted->name) == 0;
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

/* Does the file that is named by its path call a function of that name in a library? */
static bool is_imported(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid)
{
	struct wanted wanted = {.name = term->symbol};
	int fd;

	if (term->probe || term->file[0] != '/' ||
	    cpci_function_open(files, term->file, tid, &fd) == NULL)
		return false;
	cpci_elf_walk(fd, CPCI_ELF_IMPORTS, &wanted, note_wanted);
	close(fd);
	return wanted.found;
}

/* Is a library with the name that the term has stripped? */
static bool has_stripped_library(struct cpci_process *process, const struct cpci_term *term)
{
	struct cpci_mapping m;
	bool stripped = false;
	int fd;

	if (term->file[0] == '\0' || cpci_process_libraries(process) != CPCI_PROCESS_OK)
		return false;
	for (size_t i = 0; !stripped && i < process->n; i++) {
		if (cpci_process_file(process, process->object[i].at, &m, &fd) == NULL)
			continue;
		stripped = !cpci_function_is_elsewhere(term, m.path) && cpci_debug_is_stripped(fd);
		close(fd);
	}
	return stripped;
}

bool cpci_symbols_stripped(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid)
{
	struct cpci_process process;
	bool stripped = false;
	int fd;

	if (term->probe)
		return false;
	if (term->file[0] == '/') {
		if (cpci_function_open(files, term->file, tid, &fd) == NULL)
			return false;
		stripped = cpci_debug_is_stripped(fd);
		close(fd);
		return stripped;
	}
	if (cpci_process_open(&process, files, tid) == CPCI_PROCESS_OK)
		stripped = cpci_function_is_elsewhere(term, process.exe_path)
				   ? has_stripped_library(&process, term)
				   : cpci_debug_is_stripped(process.exe_fd);
	cpci_process_close(&process);
	return stripped;
}

void cpci_symbols_hint(struct cpci_symfiles *files, const struct cpci_term *term, pid_t tid,
		       char *hint)
{
	char name[CPCI_MAX_SYMBOL];

	*hint = '\0';
	if (cpci_symbols_nearest(files, term, tid, name, sizeof(name)))
		snprintf(hint, CPCI_SYMBOL_HINT, " (did you mean '%s'?)", name);
	else if (!term->probe && strstr(term->symbol, "::") != NULL)
		strlcpy(hint, "; symbols of C++ are mangled, as nm(1) lists them",
			CPCI_SYMBOL_HINT);
	if (is_imported(files, term, tid))
		strlcat(hint, "; it is one of a library", CPCI_SYMBOL_HINT);
	else if (cpci_symbols_stripped(files, term, tid))
		strlcat(hint, "; it is stripped", CPCI_SYMBOL_HINT);
}
