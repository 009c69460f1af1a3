/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * symbols.c - report which tracked programs have the symbols that events name.
 */
#include "symbols.h"

#include "../../../libcpc/set/counter.h"
#include "../../base/say.h"
#include "../../base/util.h"
#include "../pids.h"

#include <bsd/sys/queue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A program file; an unreadable one belongs to a single process. */
struct image {
	dev_t dev;
	ino_t ino;
	bool *looked; /* by set: its symbols were looked up */
	bool *lacks;  /* by symbol: reported as missing */
	bool *waits;  /* by symbol: reported as not loaded yet */
	LIST_ENTRY(image) link;
};

struct symbol {
	size_t set; /* index of its set */
	size_t i;   /* its own index, over all sets */
	int req;
	char *name;
	bool named;	    /* it names its file, without a path */
	bool seen;	    /* some program had it */
	char nearest[256];  /* a similar symbol of a program that lacks it; "": none */
	char stripped[256]; /* a stripped program or library that lacks it; "": none */
	LIST_ENTRY(symbol) link;
};

struct symbols {
	cpc_t *cpc;
	const struct setgrp *grp;
	bool debug;
	size_t adding; /* the set whose symbols are being collected */
	size_t n;
	LIST_HEAD(symbol_list, symbol) list;
	LIST_HEAD(images, image) images;
};

static void add_symbol(void *arg, int req, const char *name, uint64_t address)
{
	struct symbols *symbols = arg;
	struct symbol *symbol;

	if (symbol_has_path(name)) /* a missing one is an error when the set is bound */
		return;
	symbol = xcalloc(1, sizeof(*symbol));
	symbol->set = symbols->adding;
	symbol->i = symbols->n++;
	symbol->req = req;
	symbol->named = address == CPC_NOT_MAPPED;
	symbol->name = xstrdup(name);
	LIST_INSERT_HEAD(&symbols->list, symbol, link);
}

struct symbols *symbols_new(cpc_t *cpc, const struct setgrp *grp, bool debug)
{
	struct symbols *symbols = xcalloc(1, sizeof(*symbols));

	symbols->cpc = cpc;
	symbols->grp = grp;
	symbols->debug = debug;
	LIST_INIT(&symbols->list);
	LIST_INIT(&symbols->images);
	for (size_t i = 0; i < grp->n; i++) {
		symbols->adding = i;
		cpc_walk_symbols(cpc, grp->set[i].set, symbols, add_symbol);
	}
	return symbols;
}

void symbols_free(struct symbols *symbols)
{
	struct symbol *symbol;
	struct image *image;

	while ((image = LIST_FIRST(&symbols->images)) != NULL) {
		LIST_REMOVE(image, link);
		free(image->looked);
		free(image->lacks);
		free(image->waits);
		free(image);
	}
	while ((symbol = LIST_FIRST(&symbols->list)) != NULL) {
		LIST_REMOVE(symbol, link);
		free(symbol->name);
		free(symbol);
	}
	free(symbols);
}

struct image *symbols_image(struct symbols *symbols, pid_t pid)
{
	char path[32];
	struct image *image;
	struct stat st;
	bool found;

	if (symbols->n == 0)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	found = stat(path, &st) == 0;
	LIST_FOREACH(image, &symbols->images, link) {
		if (found && image->dev == st.st_dev && image->ino == st.st_ino)
			return image;
	}
	image = xcalloc(1, sizeof(*image));
	image->looked = xcalloc(symbols->grp->n, sizeof(bool));
	image->lacks = xcalloc(symbols->n, sizeof(bool));
	image->waits = xcalloc(symbols->n, sizeof(bool));
	if (found) {
		image->dev = st.st_dev;
		image->ino = st.st_ino;
	}
	LIST_INSERT_HEAD(&symbols->images, image, link);
	return image;
}

struct settled {
	struct symbols *symbols;
	struct image *image;
	pid_t pid;
	size_t set;
	const cpc_set_t *bound;
};

static const char *event_of(const struct symbols *symbols, const struct symbol *symbol)
{
	return symbols->grp->set[symbol->set].spec.req[symbol->req].event;
}

static const char *kind_of(const struct symbols *symbols, const struct symbol *symbol)
{
	return strncmp(event_of(symbols, symbol), "sdt/", 4) == 0 ? "probe" : "symbol";
}

/* Keeps a similar name, for symbols_missing(). */
static void note_nearest(const struct settled *s, struct symbol *symbol)
{
	const char *word = symbol->named ? strchr(symbol->name, ':') + 1 : symbol->name;
	const char *known[2] = {symbol->nearest};
	char name[sizeof(symbol->nearest)];

	if (symbol->seen ||
	    !cpc_nearest_symbol(s->symbols->cpc, s->bound, symbol->name, name, sizeof(name)))
		return;
	known[1] = name;
	if (symbol->nearest[0] == '\0' || cpc_nearest(word, known, 2) == name)
		snprintf(symbol->nearest, sizeof(symbol->nearest), "%s", name);
}

static void note_stripped(struct symbol *symbol, const char *program)
{
	const int n = symbol->named ? (int)strcspn(symbol->name, ":") : -1;

	snprintf(symbol->stripped, sizeof(symbol->stripped), "%.*s", n,
		 symbol->named ? symbol->name : program);
}

static void report_waiting(const struct settled *s, const struct symbol *symbol)
{
	const struct symbol *other;
	char program[COMM_SIZE] = "";

	if (s->image->waits[symbol->i])
		return;
	LIST_FOREACH(other, &s->symbols->list, link) {
		if (strcmp(other->name, symbol->name) == 0)
			s->image->waits[other->i] = true;
	}
	pid_read_comm(s->pid, program);
	say("'%s' (%d) has not loaded the library of '%s': until then it is stopped at its system "
	    "calls; the path of the library, /PATH/%s, avoids this",
	    program, (int)s->pid, symbol->name, symbol->name);
}

/* Reports a symbol that was looked up in a process: found, missing, or not loaded yet. */
static void note_address(void *arg, int req, const char *name, uint64_t address)
{
	const struct settled *s = arg;
	struct symbol *symbol;
	char program[COMM_SIZE] = "";

	LIST_FOREACH(symbol, &s->symbols->list, link) {
		if (symbol->set == s->set && symbol->req == req && strcmp(symbol->name, name) == 0)
			break;
	}
	if (symbol == NULL)
		return;
	if (address == CPC_NOT_MAPPED) {
		report_waiting(s, symbol);
		return;
	}
	symbol->seen |= address != 0;
	if (address != 0 && s->symbols->debug) {
		pid_read_comm(s->pid, program);
		say("'%s' (%d) has the symbol '%s': counted at %#llx", program, (int)s->pid, name,
		    (unsigned long long)address);
	} else if (address == 0 && !s->image->lacks[symbol->i]) {
		s->image->lacks[symbol->i] = true;
		note_nearest(s, symbol);
		pid_read_comm(s->pid, program);
		if (cpc_set_stripped(s->symbols->cpc, s->bound, name) == 1)
			note_stripped(symbol, program);
		say("'%s' (%d) has no %s '%s': %s counts 0 in it", program, (int)s->pid,
		    kind_of(s->symbols, symbol), name, event_of(s->symbols, symbol));
	}
}

void symbols_settled(struct symbols *symbols, struct image *image, pid_t pid, size_t i,
		     const cpc_set_t *set)
{
	struct settled settled = {
		.symbols = symbols, .image = image, .pid = pid, .set = i, .bound = set};

	if (image == NULL)
		return;
	image->looked[i] = true;
	cpc_walk_symbols(symbols->cpc, set, &settled, note_address);
}

static bool looked_in_all(const struct symbols *symbols, const struct symbol *symbol)
{
	const struct image *image;

	LIST_FOREACH(image, &symbols->images, link) {
		if (!image->looked[symbol->set])
			return false;
	}
	return true;
}

bool symbols_missing(const struct symbols *symbols, const char *hint)
{
	const struct symbol *symbol;
	char nearest[sizeof(symbol->nearest) + 24], why[sizeof(symbol->stripped) + 24];
	bool missing = false;

	LIST_FOREACH(symbol, &symbols->list, link) {
		if (symbol->seen || !looked_in_all(symbols, symbol))
			continue;
		snprintf(nearest, sizeof(nearest), "%s%s%s",
			 symbol->nearest[0] != '\0' ? " (did you mean '" : "", symbol->nearest,
			 symbol->nearest[0] != '\0' ? "'?)" : "");
		why[0] = '\0';
		if (symbol->stripped[0] != '\0')
			snprintf(why, sizeof(why), "; '%s' is stripped", symbol->stripped);
		else if (nearest[0] == '\0' && strstr(symbol->name, "::") != NULL)
			snprintf(why, sizeof(why),
				 "; symbols of C++ are mangled, as nm(1) lists them");
		say("no tracked program has the %s '%s'%s, nor a library that it %s%s%s%s",
		    kind_of(symbols, symbol), symbol->name, nearest,
		    symbol->named ? "loaded" : "starts with", hint,
		    symbol->named ? "" : "; those of dlopen(3) are not looked at", why);
		missing = true;
	}
	return missing;
}
