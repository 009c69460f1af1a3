/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * report.c - the flat profile.
 */
#include "ovfprof.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The count of a function, or of one of its callers. */
struct row {
	struct function fn, caller; /* caller.name "": the function alone */
	uint64_t count, samples;
};

struct table {
	size_t n;
	struct row *row;
	uint64_t count, samples;
};

static void add(struct table *table, const struct function *fn, const struct function *caller,
		const struct slot *slot)
{
	struct row *r = NULL;

	for (size_t i = 0; r == NULL && i < table->n; i++) {
		const struct row *k = &table->row[i];

		if (strcmp(k->fn.name, fn->name) == 0 && strcmp(k->fn.object, fn->object) == 0 &&
		    strcmp(k->caller.name, caller->name) == 0 &&
		    strcmp(k->caller.object, caller->object) == 0)
			r = &table->row[i];
	}
	if (r == NULL) {
		table->row = reallocarray(table->row, table->n + 1, sizeof(*r));
		if (table->row == NULL)
			err(1, NULL);
		r = &table->row[table->n++];
		*r = (struct row){.fn = *fn, .caller = *caller};
	}
	r->count += slot->count;
	r->samples += slot->samples;
}

static void add_lwp(struct table *table, const struct lwp *lwp, const struct maps *maps,
		    const struct options *options)
{
	static const struct function none;

	for (size_t i = 0; i < SLOTS; i++) {
		const struct slot *slot = &lwp->slot[i];
		struct function fn, caller = {.name = "?", .object = "?"};
		uint64_t from;

		if (slot->pc == 0 || slot->samples == 0)
			continue;
		find_function(maps, slot->time, slot->pc, &fn);
		add(table, &fn, &none, slot);
		table->count += slot->count;
		table->samples += slot->samples;
		if (!options->callers)
			continue;
		from = find_caller(maps, slot);
		if (from != 0) /* the call is before the return address */
			find_function(maps, slot->time, from - 1, &caller);
		add(table, &fn, &caller, slot);
	}
}

static int by_count(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->fn.name, y->fn.name);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void print_callers(const struct table *table, const struct row *of, FILE *out)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct row *r = &table->row[i];

		if (r->caller.name[0] != '\0' && strcmp(r->fn.name, of->fn.name) == 0 &&
		    strcmp(r->fn.object, of->fn.object) == 0)
			fprintf(out, "%28s %6.2f%%  from %s (%s)\n", "",
				percent(r->count, of->count), r->caller.name, r->caller.object);
	}
}

/* Is the row printed? */
static bool is_shown(const struct table *table, const struct row *r, const struct options *options)
{
	return r->caller.name[0] == '\0' && percent(r->count, table->count) >= options->least;
}

/* Prints which objects have addresses in the table for want of symbols, each once. */
static void print_stripped(const struct table *table, const struct options *options, FILE *out)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct row *r = &table->row[i];
		bool first = true;

		if (!r->fn.stripped || !is_shown(table, r, options))
			continue;
		for (size_t k = 0; first && k < i; k++) {
			const struct row *earlier = &table->row[k];

			first = !earlier->fn.stripped ||
				strcmp(earlier->fn.object, r->fn.object) != 0;
		}
		if (first)
			fprintf(out,
				"# %s has no symbols: install its debug symbols, or set DEBUGINFOD_URLS\n",
				r->fn.object);
	}
}

static void free_table(struct table *table)
{
	free(table->row);
	*table = (struct table){0};
}

static void print_table(struct table *table, const struct options *options, FILE *out)
{
	qsort(table->row, table->n, sizeof(*table->row), by_count);
	fprintf(out, "%7s %14s %9s  %-20s %s\n", "share", options->event, "samples", "object",
		"function");
	for (size_t i = 0; i < table->n; i++) {
		const struct row *r = &table->row[i];

		if (!is_shown(table, r, options))
			continue;
		fprintf(out, "%6.2f%% %14" PRIu64 " %9" PRIu64 "  %-20s %s\n",
			percent(r->count, table->count), r->count, r->samples, r->fn.object,
			r->fn.name);
		if (options->callers)
			print_callers(table, r, out);
	}
}

/* Prints warnings, because an LWP without counts would look idle. */
static void tell_losses(const char *pid, const struct lwp *lwp)
{
	if (lwp->error != 0)
		fprintf(stderr,
			"ovfprof: process %s, LWP %" PRIu64 ": %s: its profile is incomplete\n",
			pid, lwp->tid, strerror((int)lwp->error));
	else if (lwp->given_up != 0)
		fprintf(stderr,
			"ovfprof: process %s handles a signal of the profiler itself: its profile ends there\n",
			pid);
	else if (lwp->others != 0)
		fprintf(stderr,
			"ovfprof: process %s: some LWPs got no counters, or lost them: their events are missing\n",
			pid);
	if (lwp->no_room != 0)
		fprintf(stderr,
			"ovfprof: process %s, LWP %" PRIu64 ": no room for %" PRIu64
			" samples at too many places\n",
			pid, lwp->tid, lwp->no_room);
}

/* Reports one process; returns the number of LWPs. */
static size_t report_process(const char *dir, const char *name, struct table *all,
			     const struct options *options, FILE *out)
{
	int len = (int)strcspn(name, ".");
	char path[4096], pid[32];
	struct table own = {0};
	struct maps maps;
	struct stat st;
	size_t n = 0;
	void *mem;
	int fd;

	snprintf(pid, sizeof(pid), "%.*s", len, name);
	snprintf(path, sizeof(path), "%s/%.*smaps", dir, (int)strlen(name) - 4, name);
	read_maps(path, &maps);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1)
		err(1, "%s", path);
	mem = st.st_size > 0 ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0) : NULL;
	if (mem == MAP_FAILED)
		err(1, "%s", path);
	for (; mem != NULL && n < (size_t)st.st_size / sizeof(struct lwp); n++) {
		const struct lwp *lwp = (const struct lwp *)mem + n;

		tell_losses(pid, lwp);
		add_lwp(all, lwp, &maps, options);
		if (!options->per_lwp || lwp->samples == 0)
			continue;
		add_lwp(&own, lwp, &maps, options);
		fprintf(out, "process %s, LWP %" PRIu64 "\n", pid, lwp->tid);
		print_table(&own, options, out);
		free_table(&own);
		fprintf(out, "\n");
	}
	if (mem != NULL)
		munmap(mem, (size_t)st.st_size);
	close(fd);
	free_maps(&maps);
	return n;
}

size_t report(const char *dir, const struct options *options, FILE *out)
{
	struct table all = {0};
	struct dirent **file;
	size_t lwps = 0, processes = 0;
	int n = scandir(dir, &file, NULL, versionsort);

	if (n == -1)
		err(1, "%s", dir);
	for (int i = 0; i < n; i++) {
		size_t len = strlen(file[i]->d_name);

		if (len > 5 && strcmp(file[i]->d_name + len - 5, ".lwps") == 0) {
			lwps += report_process(dir, file[i]->d_name, &all, options, out);
			processes++;
		}
		free(file[i]);
	}
	free(file);
	if (lwps == 0)
		return 0;
	fprintf(out, "# %" PRIu64 " %s in %" PRIu64 " samples of %zu LWPs of %zu programs\n",
		all.count, options->event, all.samples, lwps, processes);
	if (all.samples == 0)
		fprintf(out,
			"# no samples: no LWP counted a period of %" PRIu64
			" %s; -p PERIOD sets a shorter one\n",
			options->period, options->event);
	else
		print_table(&all, options, out);
	print_stripped(&all, options, out);
	free_table(&all);
	free_objects();
	return lwps;
}
