/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * openmetrics.c - running totals as OpenMetrics 1.0, for Prometheus and its like.
 *
 * cpustat has a series for each event and CPU (or core, ...), cputrack for each event and command.
 * Every document is complete.  A CPU that was not counted in the last sample has no series, so
 * that Prometheus sees a gap; its total continues later.
 */
#include "../base/say.h"
#include "../base/util.h"
#include "format.h"
#include "sum.h"

#include <bsd/sys/tree.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The series of a CPU (or core, ...), of a service (or user, ...), or of a command. */
struct owner {
	RB_ENTRY(owner) link;
	enum cpu_scope scope;
	int id;
	const char *key, *container, *pod; /* as those of a row; allocated */
	const char *comm;		   /* NULL: a series of CPUs; allocated */
	uint64_t lost;			   /* bit i: the total of event i went out of range */
	uint64_t seen; /* bit i: event i was counted; for CPUs, in the last sample */
	unsigned ncpus;
	uint64_t incomplete; /* number of incomplete rows */
	uint64_t *last;	     /* counts of the last row, behind the totals */
	uint64_t val[];	     /* totals */
};

RB_HEAD(owner_tree, owner);

struct owners {
	size_t n;
	struct owner **owner; /* in the order of their first rows */
	struct owner_tree tree;
	unsigned ncpus;	     /* of the last row */
	uint64_t incomplete; /* number of incomplete rows */
};

/* The counts of a running process that are already in the totals. */
struct process {
	RB_ENTRY(process) link;
	pid_t pid;
	uint64_t (*val)[RUN_MAX_EVENTS]; /* by set */
};

RB_HEAD(processes, process);

struct metrics {
	struct sink sink;
	FILE *file;
	struct style style;
	const struct run *run;
	size_t nsets;
	struct owners *set; /* by set */
	struct processes processes;
};

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int compare_owners(const struct owner *a, const struct owner *b)
{
	int order =
		a->id != b->id ? (a->id > b->id) - (a->id < b->id) : compare_texts(a->key, b->key);

	return order != 0 ? order : compare_texts(a->comm, b->comm);
}

static int by_pid(const struct process *a, const struct process *b)
{
	return (a->pid > b->pid) - (a->pid < b->pid);
}

/* clang-format off */
RB_GENERATE_INTERNAL(owner_tree, owner, link, compare_owners, __attribute__((unused)) static)
RB_GENERATE_INTERNAL(processes, process, link, by_pid, __attribute__((unused)) static)
/* clang-format on */

/* ---- names -------------------------------------------------------------------- */

/* Clocks count nanoseconds; they are printed in seconds. */
static bool is_clock(const struct run_event *event)
{
	return *event->unit == '\0' &&
	       (strcmp(event->name, "task-clock") == 0 || strcmp(event->name, "cpu-clock") == 0);
}

/* The unit of an event as a part of a name; "": none. */
static void unit_name(const struct run_event *event, char *word, size_t size)
{
	size_t n = 0;

	for (const char *c = event->unit; *c != '\0' && n + 1 < size; c++) {
		if ((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9'))
			word[n++] = *c;
		else if (*c >= 'A' && *c <= 'Z')
			word[n++] = (char)(*c - 'A' + 'a');
		else
			word[n++] = '_';
	}
	word[n] = '\0';
	if (is_clock(event))
		snprintf(word, size, "seconds");
}

/* Events with the same unit share a family. */
static void family_name(const struct run_event *event, char *name, size_t size)
{
	char unit[64];

	unit_name(event, unit, sizeof(unit));
	snprintf(name, size, "cpc_%s%s%s", event->is_signed ? "differences" : "events",
		 *unit != '\0' ? "_" : "", unit);
}

/* Prints a label.  Its value is escaped first for terminals, then for OpenMetrics. */
static void put_label(const struct metrics *m, bool *first, const char *label, const char *text)
{
	size_t size = ESCAPED_SIZE(strlen(text));
	char *escaped = xcalloc(1, size);

	escape_text(escaped, size, text, ESCAPE_LINE);
	fprintf(m->file, "%s%s=\"", *first ? "{" : ",", label);
	for (const char *c = escaped; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', m->file);
		fputc(*c, m->file);
	}
	fputc('"', m->file);
	*first = false;
	free(escaped);
}

static void put_owner_labels(const struct metrics *m, bool *first, const struct owner *owner)
{
	char number[32];

	if (owner->comm != NULL) {
		put_label(m, first, "command", owner->comm);
	} else if (owner->key != NULL) {
		put_label(m, first, cpu_scope_name(owner->scope), owner->key);
		if (owner->container != NULL)
			put_label(m, first, "container_id", owner->container);
		if (owner->pod != NULL)
			put_label(m, first, "pod_id", owner->pod);
	} else {
		snprintf(number, sizeof(number), "%d", owner->id);
		put_label(m, first, cpu_scope_name(owner->scope),
			  owner->scope == SCOPE_ALL ? "all" : number);
	}
}

/*
 * `what`: "event" or "ratio", with its name; or NULL.  `owner` NULL: the sample is of all owners
 * of the set.
 */
static void put_labels(const struct metrics *m, size_t k, const struct owner *owner,
		       const char *what, const char *name)
{
	bool first = true;
	char number[32];

	if (what != NULL)
		put_label(m, &first, what, name);
	if (owner != NULL)
		put_owner_labels(m, &first, owner);
	if (m->run->nsets > 1) {
		snprintf(number, sizeof(number), "%zu", k);
		put_label(m, &first, "set", number);
	}
	fputs(first ? " " : "} ", m->file);
}

/* ---- documents ---------------------------------------------------------------- */

static void put_value(FILE *f, const struct run_event *event, uint64_t val)
{
	if (is_clock(event))
		fprintf(f, "%" PRIu64 ".%09d\n", val / (uint64_t)NSEC, (int)(val % (uint64_t)NSEC));
	else if (event->scale != 1) /* a scale of exactly 1: a plain count */
		fprintf(f, "%.17g\n", count_real(event, val) * event->scale);
	else if (event->is_signed)
		fprintf(f, "%" PRId64 "\n", (int64_t)val);
	else
		fprintf(f, "%" PRIu64 "\n", val);
}

/*
 * Samples x_total belong to family x in OpenMetrics, but to family x_total in the older text
 * format. The node exporter expects the older format in its files.
 */
static void put_family_header(const struct metrics *m, const char *family, const char *type,
			      const char *unit, const char *help)
{
	const char *suffix = m->style.replaced && strcmp(type, "counter") == 0 ? "_total" : "";

	fprintf(m->file, "# HELP %s%s %s\n# TYPE %s%s %s\n", family, suffix, help, family, suffix,
		type);
	if (*unit != '\0')
		fprintf(m->file, "# UNIT %s %s\n", family, unit);
}

/* The samples of one event of a set. */
static void put_samples(const struct metrics *m, const char *family, size_t k, unsigned i)
{
	const struct run_event *event = &m->run->set[k].event[i];

	for (size_t o = 0; o < m->set[k].n; o++) {
		const struct owner *owner = m->set[k].owner[o];

		if ((owner->seen >> i & 1) == 0)
			continue;
		fprintf(m->file, "%s%s", family, event->is_signed ? "" : "_total");
		put_labels(m, k, owner, "event", event->label);
		put_value(m->file, event, owner->val[i]);
	}
}

/* All samples of the family of an event. */
static void put_family(const struct metrics *m, const struct run_event *event)
{
	char family[128], other[128], unit[64], help[128];

	family_name(event, family, sizeof(family));
	unit_name(event, unit, sizeof(unit));
	snprintf(help, sizeof(help), "%s since the start%s%s.",
		 event->is_signed ? "Differences of events" : "Events",
		 *unit != '\0' ? ", in " : "", unit);
	put_family_header(m, family, event->is_signed ? "gauge" : "counter", unit, help);
	for (size_t k = 0; k < m->run->nsets; k++) {
		for (unsigned i = 0; i < m->run->set[k].nevents; i++) {
			family_name(&m->run->set[k].event[i], other, sizeof(other));
			if (strcmp(family, other) == 0)
				put_samples(m, family, k, i);
		}
	}
}

/* Was the family printed with an earlier event? */
static bool family_is_printed(const struct run *run, size_t set, unsigned event)
{
	char family[128], other[128];

	family_name(&run->set[set].event[event], family, sizeof(family));
	for (size_t k = 0; k <= set; k++) {
		for (unsigned i = 0; i < (k < set ? run->set[k].nevents : event); i++) {
			family_name(&run->set[k].event[i], other, sizeof(other));
			if (strcmp(family, other) == 0)
				return true;
		}
	}
	return false;
}

static void put_health_of(const struct metrics *m, const char *family, const char *help)
{
	bool cpus = m->run->of_cpus;

	put_family_header(m, family, "gauge", "", help);
	for (size_t k = 0; k < m->run->nsets; k++) {
		for (size_t o = 0; o < m->set[k].n; o++) {
			const struct owner *owner = m->set[k].owner[o];

			fputs(family, m->file);
			put_labels(m, k, owner, NULL, "");
			fprintf(m->file, "%" PRIu64 "\n", cpus ? owner->ncpus : owner->incomplete);
		}
	}
}

/* All CPUs count all keys. */
static void put_health_of_keys(const struct metrics *m)
{
	put_family_header(m, "cpc_counted_cpus", "gauge", "", "CPUs counted in the last sample.");
	for (size_t k = 0; k < m->run->nsets; k++) {
		fputs("cpc_counted_cpus", m->file);
		put_labels(m, k, NULL, NULL, "");
		fprintf(m->file, "%u\n", m->set[k].ncpus);
	}
	put_family_header(m, "cpc_incomplete_rows", "gauge", "",
			  "Rows since the start whose counts lack something or have too much.");
	for (size_t k = 0; k < m->run->nsets; k++) {
		fputs("cpc_incomplete_rows", m->file);
		put_labels(m, k, NULL, NULL, "");
		fprintf(m->file, "%" PRIu64 "\n", m->set[k].incomplete);
	}
}

static void put_health(const struct metrics *m)
{
	if (m->run->of_cpus && scope_has_keys(m->run->scope))
		put_health_of_keys(m);
	else if (m->run->of_cpus)
		put_health_of(m, "cpc_counted_cpus", "CPUs counted in the last sample.");
	else
		put_health_of(m, "cpc_incomplete_rows", "Totals that lack some thread.");
}

/* NaN, such as 0 / 0, has no sample. */
static void put_ratio(const struct metrics *m, size_t k, unsigned i, bool last)
{
	for (size_t o = 0; o < m->set[k].n; o++) {
		const struct owner *owner = m->set[k].owner[o];
		const struct row row = {
			.set = k, .val = last ? owner->last : owner->val, .valid = owner->seen};
		double val = row_ratio(m->run, &row, i);

		if (isnan(val))
			continue;
		fputs("cpc_ratio", m->file);
		put_labels(m, k, owner, "ratio", m->run->set[k].ratio[i].label);
		fprintf(m->file, RATIO_FORMAT "\n", val);
	}
}

/*
 * A gauge is a current value.  If each sample of CPUs replaces the document, this is the ratio of
 * the last sample; Prometheus can divide the counters for longer times.
 */
static void put_ratios(const struct metrics *m)
{
	bool last = m->run->of_cpus && m->style.replaced;
	unsigned n = 0;

	for (size_t k = 0; k < m->run->nsets; k++)
		n += m->run->set[k].nratios;
	if (n == 0)
		return;
	put_family_header(m, "cpc_ratio", "gauge", "",
			  last ? "Ratios of events in the last sample."
			       : "Ratios of events since the start.");
	for (size_t k = 0; k < m->run->nsets; k++) {
		for (unsigned i = 0; i < m->run->set[k].nratios; i++)
			put_ratio(m, k, i, last);
	}
}

static void put_document(const struct metrics *m)
{
	for (size_t k = 0; k < m->run->nsets; k++) {
		for (unsigned i = 0; i < m->run->set[k].nevents; i++) {
			if (!family_is_printed(m->run, k, i))
				put_family(m, &m->run->set[k].event[i]);
		}
	}
	put_ratios(m);
	put_health(m);
	fputs("# EOF\n", m->file);
}

/* ---- rows --------------------------------------------------------------------- */

static struct owner *find_owner(struct metrics *m, const struct row *row, const char *comm)
{
	struct owners *set = &m->set[row->set];
	size_t nevents = m->run->set[row->set].nevents;
	struct owner wanted = {.scope = row->scope, .id = row->id, .key = row->key, .comm = comm};
	struct owner *owner = RB_FIND(owner_tree, &set->tree, &wanted);

	if (owner != NULL)
		return owner;
	owner = xcalloc(1, sizeof(*owner) + 2 * nevents * sizeof(*owner->val));
	owner->last = owner->val + nevents;
	owner->scope = row->scope;
	owner->id = row->id;
	owner->key = copy_text(row->key);
	owner->comm = copy_text(comm);
	owner->container = copy_text(row->container);
	owner->pod = copy_text(row->pod);
	RB_INSERT(owner_tree, &set->tree, owner);
	set->owner = xrealloc(set->owner, (set->n + 1) * sizeof(*set->owner));
	set->owner[set->n++] = owner;
	return owner;
}

static void free_owner(struct owner *owner)
{
	free((char *)owner->comm);
	free((char *)owner->key);
	free((char *)owner->container);
	free((char *)owner->pod);
	free(owner);
}

static struct process *find_process(struct metrics *m, pid_t pid)
{
	struct process key = {.pid = pid};

	return RB_FIND(processes, &m->processes, &key);
}

static struct process *new_process(struct metrics *m, pid_t pid)
{
	struct process *process = xcalloc(1, sizeof(*process));

	process->pid = pid;
	process->val = xcalloc(m->nsets, sizeof(*process->val));
	RB_INSERT(processes, &m->processes, process);
	return process;
}

static void free_process(struct metrics *m, struct process *process)
{
	RB_REMOVE(processes, &m->processes, process);
	free(process->val);
	free(process);
}

/* Adds `count` - `less`.  After an overflow, the total is never printed again. */
static void add_count(struct owner *owner, const struct run_event *event, unsigned i,
		      uint64_t count, uint64_t less)
{
	if (!count_sub(event, &count, less) || !count_add(event, &owner->val[i], count)) {
		owner->lost |= UINT64_C(1) << i;
		owner->incomplete++;
	}
}

/*
 * If each sample replaces the document, the totals include the samples of running processes.  The
 * row at the end of a process adds the rest.
 */
static void count_process(struct metrics *m, const struct row *row, struct owner *owner)
{
	struct process *process = find_process(m, row->pid);
	bool tick = row->kind == ROW_TICK;

	if (tick && process == NULL)
		process = new_process(m, row->pid);
	for (unsigned i = 0; i < m->run->set[row->set].nevents; i++) {
		uint64_t *counted = process != NULL ? &process->val[row->set][i] : NULL;

		if ((row->valid >> i & 1) == 0)
			continue;
		add_count(owner, &m->run->set[row->set].event[i], i, row->val[i],
			  tick || counted == NULL ? 0 : *counted);
		if (tick)
			*counted += row->val[i];
	}
	if (!tick && process != NULL && row->set + 1 == m->nsets)
		free_process(m, process);
}

static void openmetrics_row(struct sink *sink, const struct row *row)
{
	struct metrics *m = (struct metrics *)sink;
	bool live = row->kind == ROW_TICK && m->style.replaced;
	bool cpus = m->run->of_cpus;
	const char *comm = cpus ? NULL : row->comm != NULL ? row->comm : "";
	bool ends = row_is_program_total(row);
	struct owner *owner;

	if (cpus ? row->kind != ROW_TICK : !ends && !live)
		return;
	owner = find_owner(m, row, comm);
	owner->seen = cpus ? row->valid : owner->seen | row->valid;
	owner->ncpus = row->ncpus;
	owner->incomplete += row->incomplete || (row->valid == 0 && (cpus || ends));
	m->set[row->set].ncpus = row->ncpus;
	m->set[row->set].incomplete += row->incomplete;
	if (!cpus) {
		count_process(m, row, owner);
		owner->seen &= ~owner->lost;
		return;
	}
	for (unsigned i = 0; i < m->run->set[row->set].nevents; i++) {
		owner->last[i] = row->valid >> i & 1 ? row->val[i] : 0;
		add_count(owner, &m->run->set[row->set].event[i], i, owner->last[i], 0);
	}
	owner->seen &= ~owner->lost;
}

/*
 * A key that gives its row up is in no document any more.  Were its total moved, another series
 * would show counts at a time at which there were none.  A single document has no time.
 */
static void openmetrics_forget(struct sink *sink, size_t k, const char *key)
{
	struct metrics *m = (struct metrics *)sink;
	struct owners *set = &m->set[k];
	struct owner wanted = {.key = key}, *others;
	struct owner *owner = RB_FIND(owner_tree, &set->tree, &wanted);
	size_t at = 0;

	if (owner == NULL)
		return;
	wanted.key = ROW_OTHERS;
	others = RB_FIND(owner_tree, &set->tree, &wanted);
	if (!m->style.replaced && others != NULL) {
		for (unsigned i = 0; i < m->run->set[k].nevents; i++)
			add_count(others, &m->run->set[k].event[i], i, owner->val[i], 0);
	}
	RB_REMOVE(owner_tree, &set->tree, owner);
	while (set->owner[at] != owner)
		at++;
	set->n--;
	memmove(&set->owner[at], &set->owner[at + 1], (set->n - at) * sizeof(*set->owner));
	free_owner(owner);
}

static void clear(struct metrics *m)
{
	struct process *process;

	while ((process = RB_MIN(processes, &m->processes)) != NULL)
		free_process(m, process);
	for (size_t k = 0; k < m->nsets; k++) {
		for (size_t o = 0; o < m->set[k].n; o++)
			free_owner(m->set[k].owner[o]);
		free(m->set[k].owner);
	}
	free(m->set);
	m->set = NULL;
	m->nsets = 0;
}

static void openmetrics_begin(struct sink *sink, const struct run *run)
{
	struct metrics *m = (struct metrics *)sink;

	clear(m);
	m->run = run;
	m->nsets = run->nsets;
	m->set = xcalloc(run->nsets, sizeof(*m->set));
}

static void openmetrics_sampled(struct sink *sink)
{
	struct metrics *m = (struct metrics *)sink;

	if (m->style.replaced)
		put_document(m);
}

static void openmetrics_end(struct sink *sink)
{
	struct metrics *m = (struct metrics *)sink;

	put_document(m);
	clear(m);
}

static void openmetrics_free(struct sink *sink)
{
	struct metrics *m = (struct metrics *)sink;

	clear(m);
	free(m);
}

struct sink *openmetrics_open(FILE *file, const struct style *style)
{
	static const struct sink_ops ops = {.begin = openmetrics_begin,
					    .row = openmetrics_row,
					    .sampled = openmetrics_sampled,
					    .forget = openmetrics_forget,
					    .end = openmetrics_end,
					    .free = openmetrics_free};
	struct metrics *m = xcalloc(1, sizeof(*m));

	m->sink.ops = &ops;
	RB_INIT(&m->processes);
	m->file = file;
	m->style = *style;
	return &m->sink;
}
