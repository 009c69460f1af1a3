/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbols.c - which of the symbols that events name the tracked programs have.
 */
#include "symbols.h"

#include "../common/say.h"
#include "../common/util.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A program file that does not have a symbol. */
struct lack {
	dev_t dev;
	ino_t ino;
	LIST_ENTRY(lack) link;
};

struct symbol {
	size_t set;
	int req;
	char *name;
	bool looked; /* for it in some program */
	bool seen;   /* some program had it */
	bool told;   /* some program could not be counted, which was reported */
	LIST_HEAD(lacks, lack) lacks;
	LIST_ENTRY(symbol) link;
};

struct symbols {
	cpc_t *cpc;
	const struct setgrp *grp;
	bool debug;
	size_t adding; /* the set whose symbols are being collected */
	LIST_HEAD(symbol_list, symbol) list;
};

static void add(void *arg, int req, const char *name, uint64_t address)
{
	struct symbols *symbols = arg;
	struct symbol *symbol;

	(void)address;
	if (names_file(name)) /* refused where it is missing */
		return;
	symbol = xcalloc(1, sizeof(*symbol));
	symbol->set = symbols->adding;
	symbol->req = req;
	symbol->name = strdup(name);
	if (symbol->name == NULL)
		die("%s", strerror(errno));
	LIST_INIT(&symbol->lacks);
	LIST_INSERT_HEAD(&symbols->list, symbol, link);
}

struct symbols *symbols_new(cpc_t *cpc, const struct setgrp *grp, bool debug)
{
	struct symbols *symbols = xcalloc(1, sizeof(*symbols));

	symbols->cpc = cpc;
	symbols->grp = grp;
	symbols->debug = debug;
	LIST_INIT(&symbols->list);
	for (size_t i = 0; i < grp->n; i++) {
		symbols->adding = i;
		cpc_walk_symbols(cpc, grp->set[i].set, symbols, add);
	}
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	struct symbol *symbol;
	struct lack *lack;

	while ((symbol = LIST_FIRST(&symbols->list)) != NULL) {
		while ((lack = LIST_FIRST(&symbol->lacks)) != NULL) {
			LIST_REMOVE(lack, link);
			free(lack);
		}
		LIST_REMOVE(symbol, link);
		free(symbol->name);
		free(symbol);
	}
	free(symbols);
}

/* The comm of a process, or "". */
static void read_name(pid_t pid, char *name, size_t size)
{
	char path[32];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	n = f != NULL ? fread(name, 1, size - 1, f) : 0;
	if (n > 0 && name[n - 1] == '\n') /* the kernel's; the name may have others */
		n--;
	name[n] = '\0';
	if (f != NULL)
		fclose(f);
}

/* Is this the first process of its program that lacks the symbol? */
static bool is_news(struct symbol *symbol, pid_t pid)
{
	char path[32];
	struct lack *lack;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (stat(path, &st) == -1)
		return false;
	LIST_FOREACH(lack, &symbol->lacks, link) {
		if (lack->dev == st.st_dev && lack->ino == st.st_ino)
			return false;
	}
	lack = xcalloc(1, sizeof(*lack));
	lack->dev = st.st_dev;
	lack->ino = st.st_ino;
	LIST_INSERT_HEAD(&symbol->lacks, lack, link);
	return true;
}

struct settled {
	struct symbols *symbols;
	pid_t pid;
	size_t set;
};

static void settle(void *arg, int req, const char *name, uint64_t address)
{
	const struct settled *s = arg;
	struct symbol *symbol;
	char program[64];

	LIST_FOREACH(symbol, &s->symbols->list, link) {
		if (symbol->set == s->set && symbol->req == req && strcmp(symbol->name, name) == 0)
			break;
	}
	if (symbol == NULL)
		return;
	symbol->looked = true;
	symbol->seen |= address != 0;
	if (address != 0 && s->symbols->debug) {
		read_name(s->pid, program, sizeof(program));
		say("'%s' (%d) has the symbol '%s': counted at %#llx", program, (int)s->pid, name,
		    (unsigned long long)address);
	} else if (address == 0 && is_news(symbol, s->pid)) {
		read_name(s->pid, program, sizeof(program));
		say("'%s' (%d) has no symbol '%s': %s counts 0 in it", program, (int)s->pid, name,
		    s->symbols->grp->set[s->set].spec.req[req].event);
	}
}

void symbols_settled(struct symbols *symbols, pid_t pid, size_t i, const cpc_set_t *set)
{
	struct settled settled = {.symbols = symbols, .pid = pid, .set = i};

	cpc_walk_symbols(symbols->cpc, set, &settled, settle);
}

void symbols_refused(struct symbols *symbols, size_t i)
{
	struct symbol *symbol;

	LIST_FOREACH(symbol, &symbols->list, link)
		symbol->told |= symbol->set == i;
}

void symbols_unknown(struct symbols *symbols)
{
	struct symbol *symbol;

	LIST_FOREACH(symbol, &symbols->list, link)
		symbol->seen = true;
}

bool symbols_missing(const struct symbols *symbols, const char *hint)
{
	const struct symbol *symbol;
	bool missing = false;

	LIST_FOREACH(symbol, &symbols->list, link) {
		/* A set that never had its turn lacks nothing. */
		if (symbol->seen || !(symbol->looked || symbol->told))
			continue;
		if (!symbol->told)
			say("no tracked program has the symbol '%s', nor a library that it starts "
			    "with%s; those of dlopen(3) are not looked at",
			    symbol->name, hint);
		missing = true;
	}
	return missing;
}
