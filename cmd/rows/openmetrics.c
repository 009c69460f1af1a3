/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * openmetrics.c - running totals as OpenMetrics 1.0, for Prometheus and its like.
 *
 * cpustat has a series for each event and CPU (or core, ...), cputrack for each event and command.
 * Every document is complete.  A CPU that was not counted in the last sample has no series, so
 * that Prometheus sees a gap; its total continues later.
 */
#include "../base/utf8.h"
#include "../base/util.h"
#include "deltas.h"
#include "format.h"
#include "listener.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The series of a CPU (or core, ...), of a service (or user, ...), or of a command. */
struct object {
	struct entry entry; /* its totals; `comm` NULL: of CPUs */
	uint64_t seen;	    /* bit i: event i was counted; for CPUs, in the last sample */
	unsigned ncpus;
	uint64_t incomplete; /* number of incomplete rows */
	/* Of what is served: since when it is counted, and when it lost its rows; 0: it has not. */
	int64_t created_ns; /* since the Epoch */
	int64_t ended_ns;   /* CLOCK_MONOTONIC */
	int64_t last_ns;
	/* By event: the count of the last sample, at `last_ns`; then born_of(). */
	uint64_t last[];
};

struct objects {
	struct ledger ledger;
	unsigned ncpus;	     /* of the last row */
	uint64_t incomplete; /* number of incomplete rows */
	uint64_t late;	     /* of all rows */
	uint64_t printed;    /* bit i: event i is in the current document */
	size_t nended;	     /* objects that have ended */
};

/* Objects that have ended are kept for their readers, but no more than these, of each set. */
#define MAX_ENDED (4 * OPENMETRICS_KEYS)

/* How a document is written. */
struct view {
	bool old;	 /* the text format 0.0.4, not OpenMetrics */
	bool created;	 /* with the times at which totals were 0 */
	int64_t seen_ns; /* series that began later are shown as 0 */
};

struct metrics {
	struct sink sink;
	FILE *file;
	struct style style;
	bool renewed; /* there is a document after each sample */
	struct view view;
	bool served; /* documents go to readers, not to the file */
	struct readers readers;
	const struct run *run;
	size_t nsets;
	struct objects *set;  /* by set */
	struct deltas deltas; /* of programs, if each sample replaces the document */
};

/* ---- names -------------------------------------------------------------------- */

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
	if (run_event_is_clock(event))
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

/* A name as a label: newlines are escaped. */
static char *label_of(const char *name)
{
	return utf8_clean(name, '\n');
}

/* Is it printed as it is, but for quotes? */
static bool is_plain(const char *name)
{
	while (*name >= ' ' && *name <= '~')
		name++;
	return *name == '\0';
}

static void put_label(const struct metrics *m, bool *first, const char *label, const char *text)
{
	char *value = label_of(text);

	fprintf(m->file, "%s%s=\"", *first ? "{" : ",", label);
	for (const char *c = value; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\' || *c == '\n')
			fputc('\\', m->file);
		fputc(*c != '\n' ? *c : 'n', m->file);
	}
	fputc('"', m->file);
	*first = false;
	free(value);
}

static void put_own_labels(const struct metrics *m, bool *first)
{
	for (size_t i = 0; i < m->style.nlabels; i++)
		put_label(m, first, m->style.label[i].name, m->style.label[i].value);
}

static void put_object_labels(const struct metrics *m, bool *first, const struct row *id)
{
	char number[32];

	if (id->comm != NULL) {
		put_label(m, first, "command", id->comm);
	} else if (id->key != NULL) {
		if (id->key_kind == KEY_NAME)
			put_label(m, first, scope_member(id->scope), id->key);
		else
			put_label(m, first, "kind", key_kind_name(id->key_kind));
		if (id->container != NULL)
			put_label(m, first, "container_id", id->container);
		if (id->pod != NULL)
			put_label(m, first, "pod_id", id->pod);
		if (id->outer != NULL)
			put_label(m, first, "outer_container", id->outer);
	} else {
		snprintf(number, sizeof(number), "%d", id->id);
		put_label(m, first, scope_name(id->scope), id->scope == SCOPE_ALL ? "all" : number);
	}
}

/*
 * `what`: "event" or "ratio", with its name; or NULL.  `object` NULL: the sample is of all objects
 * of the set.
 */
static void put_labels(const struct metrics *m, size_t k, const struct object *object,
		       const char *what, const char *name)
{
	bool first = true;
	char number[32];

	if (what != NULL)
		put_label(m, &first, what, name);
	if (object != NULL)
		put_object_labels(m, &first, &object->entry.id);
	if (m->run->nsets > 1) {
		snprintf(number, sizeof(number), "%zu", k);
		put_label(m, &first, "set", number);
	}
	put_own_labels(m, &first);
	fputs(first ? " " : "} ", m->file);
}

/* ---- documents ---------------------------------------------------------------- */

static void put_value(FILE *f, const struct run_event *event, uint64_t val)
{
	if (run_event_is_clock(event))
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
	const char *suffix = m->view.old && strcmp(type, "counter") == 0 ? "_total" : "";

	fprintf(m->file, "# HELP %s%s %s\n# TYPE %s%s %s\n", family, suffix, help, family, suffix,
		type);
	if (*unit != '\0')
		fprintf(m->file, "# UNIT %s %s\n", family, unit);
}

/* When the series of each event began; 0: not yet. */
static int64_t *born_of(const struct metrics *m, size_t k, const struct object *object)
{
	return (int64_t *)&object->last[m->run->set[k].nevents];
}

static void put_created(const struct metrics *m, const char *family, size_t k,
			const struct object *object, const struct run_event *event)
{
	fprintf(m->file, "%s_created", family);
	put_labels(m, k, object, "event", event->label);
	fprintf(m->file, "%" PRId64 ".%03d\n", (int64_t)(object->created_ns / NSEC),
		(int)(object->created_ns % NSEC / 1000000));
}

/* The samples of one event of a set. */
static void put_samples(const struct metrics *m, const char *family, size_t k, unsigned i)
{
	const struct run_event *event = &m->run->set[k].event[i];
	const struct entry *entry;

	TAILQ_FOREACH(entry, &m->set[k].ledger.list, next) {
		const struct object *object = (const struct object *)entry;
		bool is_new = born_of(m, k, object)[i] > m->view.seen_ns;

		if ((object->seen >> i & 1) == 0)
			continue;
		fprintf(m->file, "%s%s", family, event->is_signed ? "" : "_total");
		put_labels(m, k, object, "event", event->label);
		put_value(m->file, event, is_new ? 0 : entry->sum->val[i]);
		if (m->view.created && !event->is_signed)
			put_created(m, family, k, object, event);
	}
}

/* All samples of the family of an event, which other events can share. */
static void put_family(struct metrics *m, const struct run_event *event)
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
			if (strcmp(family, other) != 0)
				continue;
			put_samples(m, family, k, i);
			m->set[k].printed |= UINT64_C(1) << i;
		}
	}
}

static void put_gauge(const struct metrics *m, const char *family, size_t k,
		      const struct object *object, uint64_t val)
{
	fputs(family, m->file);
	put_labels(m, k, object, NULL, "");
	fprintf(m->file, "%" PRIu64 "\n", val);
}

static bool has_keys(const struct metrics *m)
{
	return m->run->of_cpus && scope_has_keys(m->run->scope);
}

/* The number of CPUs or incomplete rows of each object; one for all keys, which all CPUs count. */
static void put_gauges(const struct metrics *m, const char *family, const char *help, bool cpus)
{
	const struct entry *entry;

	put_family_header(m, family, "gauge", "", help);
	for (size_t k = 0; k < m->run->nsets; k++) {
		const struct objects *set = &m->set[k];

		if (has_keys(m)) {
			put_gauge(m, family, k, NULL, cpus ? set->ncpus : set->incomplete);
			continue;
		}
		TAILQ_FOREACH(entry, &set->ledger.list, next) {
			const struct object *object = (const struct object *)entry;

			put_gauge(m, family, k, object, cpus ? object->ncpus : object->incomplete);
		}
	}
}

/* Both keys of a change count it. */
static void put_late(const struct metrics *m)
{
	put_family_header(m, "cpc_late_changes", "gauge", "",
			  "Changes of keys noticed late since the start.");
	for (size_t k = 0; k < m->run->nsets; k++)
		put_gauge(m, "cpc_late_changes", k, NULL, m->set[k].late);
}

static void put_health(const struct metrics *m)
{
	if (m->run->of_cpus)
		put_gauges(m, "cpc_counted_cpus", "CPUs counted in the last sample.", true);
	if (has_keys(m) || !m->run->of_cpus)
		put_gauges(m, "cpc_incomplete_rows",
			   "Rows since the start whose counts lack something or have too much.",
			   false);
	if (has_keys(m))
		put_late(m);
}

/* NaN, such as 0 / 0, has no sample. */
static void put_ratio(const struct metrics *m, size_t k, unsigned i, bool last)
{
	const struct entry *entry;

	TAILQ_FOREACH(entry, &m->set[k].ledger.list, next) {
		const struct object *object = (const struct object *)entry;
		const struct row row = {.set = k,
					.val = last ? object->last : entry->sum->val,
					.valid = object->seen};
		double val = row_ratio(m->run, &row, i);

		if (isnan(val))
			continue;
		fputs("cpc_ratio", m->file);
		put_labels(m, k, object, "ratio", m->run->set[k].ratio[i].label);
		fprintf(m->file, RATIO_FORMAT "\n", val);
	}
}

/*
 * A gauge is a current value.  If there is a document after each sample of CPUs, this is the ratio
 * of the last sample; Prometheus can divide the counters for longer times.
 */
static void put_ratios(const struct metrics *m)
{
	bool last = m->run->of_cpus && m->renewed;
	unsigned n = 0;

	for (size_t k = 0; k < m->run->nsets; k++)
		n += m->run->set[k].nratios;
	if (n == 0)
		return;
	put_family_header(m, "cpc_ratio", "gauge", "", "Ratios of events.");
	for (size_t k = 0; k < m->run->nsets; k++) {
		for (unsigned i = 0; i < m->run->set[k].nratios; i++)
			put_ratio(m, k, i, last);
	}
}

static void put_document(struct metrics *m)
{
	for (size_t k = 0; k < m->run->nsets; k++)
		m->set[k].printed = 0;
	for (size_t k = 0; k < m->run->nsets; k++) {
		for (unsigned i = 0; i < m->run->set[k].nevents; i++) {
			if ((m->set[k].printed >> i & 1) == 0)
				put_family(m, &m->run->set[k].event[i]);
		}
	}
	put_ratios(m);
	put_health(m);
	fputs("# EOF\n", m->file);
}

/* ---- rows --------------------------------------------------------------------- */

/*
 * The CPUs or the command that a row counts.  Names that are printed alike are one object: a second
 * sample with the same labels would make the document invalid.
 */
static struct object *object_of(struct metrics *m, const struct row *row)
{
	struct row id = row_object(row);
	const char **name = m->run->of_cpus ? &id.key : &id.comm;
	struct object *object;
	char *clean = NULL;

	if (!m->run->of_cpus)
		id = (struct row){.comm = row->comm != NULL ? row->comm : ""};
	if (*name != NULL && !is_plain(*name))
		*name = clean = label_of(*name);
	object = ledger_get(&m->set[row->set].ledger, &id);
	if (object->created_ns == 0)
		object->created_ns = row->wall_ns - row->span_ns;
	if (object->ended_ns != 0)
		m->set[row->set].nended--;
	object->ended_ns = 0;
	free(clean);
	return object;
}

static void note_births(int64_t *born_ns, unsigned nevents, uint64_t seen)
{
	for (unsigned i = 0; i < nevents; i++) {
		if ((seen >> i & 1) != 0 && born_ns[i] == 0)
			born_ns[i] = now_ns();
	}
}

/* Adds the counts of a row.  After an overflow, the total is never printed again. */
static void add_counts(const struct metrics *m, struct object *object, const struct row *row)
{
	struct sum *sum = object->entry.sum;
	const uint64_t overflow = sum->overflow;

	sum_add(sum, &m->run->set[row->set], row);
	object->incomplete += (unsigned)__builtin_popcountll(sum->overflow & ~overflow);
	object->seen = m->run->of_cpus ? row->valid & ~sum->overflow : sum->valid;
	if (m->served)
		note_births(born_of(m, row->set, object), m->run->set[row->set].nevents,
			    object->seen);
}

static void count_cpus(struct metrics *m, const struct row *row)
{
	struct object *object = object_of(m, row);
	struct objects *set = &m->set[row->set];

	object->ncpus = set->ncpus = row->ncpus;
	object->incomplete += row->incomplete || row->valid == 0;
	set->incomplete += row->incomplete;
	set->late += row->late;
	for (unsigned i = 0; i < m->run->set[row->set].nevents; i++) {
		if (object->last_ns != row->time_ns)
			object->last[i] = 0;
		object->last[i] += row->valid >> i & 1 ? row->val[i] : 0;
	}
	object->last_ns = row->time_ns;
	add_counts(m, object, row);
}

static void openmetrics_row(struct sink *sink, const struct row *row)
{
	struct metrics *m = (struct metrics *)sink;
	struct object *object;

	if (m->run->of_cpus) {
		if (row->kind == ROW_TICK)
			count_cpus(m, row);
		return;
	}
	if (m->renewed)
		deltas_add(&m->deltas, row);
	if (!row_is_program_total(row))
		return;
	object = object_of(m, row);
	object->incomplete += row->incomplete || row->valid == 0;
	if (!m->renewed)
		add_counts(m, object, row);
}

/* What a program counted since the last sample: the totals include running processes. */
struct taker {
	struct sink sink;
	struct metrics *metrics;
};

static void taker_row(struct sink *sink, const struct row *row)
{
	struct metrics *m = ((struct taker *)sink)->metrics;

	if (row_is_program_total(row))
		add_counts(m, object_of(m, row), row);
}

static void take_deltas(struct metrics *m)
{
	static const struct sink_ops ops = {.row = taker_row};
	struct taker taker = {{.ops = &ops}, m};

	if (m->deltas.run != NULL)
		deltas_take(&m->deltas, &taker.sink);
}

/* A single document, which shows no times, adds the counts of a key without a row to (others). */
static void move_to_others(const struct metrics *m, size_t k, const struct object *object)
{
	struct row id = {0}, row = {.set = k};
	struct object *others;
	uint64_t seen;

	row_set_fixed_key(&id, KEY_OTHERS);
	others = ledger_get(&m->set[k].ledger, &id);
	sum_fill_row(object->entry.sum, &row);
	seen = others->seen;
	add_counts(m, others, &row);
	others->seen = (seen | row.valid) & ~others->entry.sum->overflow;
}

/*
 * A key that loses its row is in no further file.  If (others) got its total, Prometheus would see
 * counts at a wrong time.  Readers of what is served get its last total first.
 */
static void openmetrics_forget(struct sink *sink, size_t k, const char *key)
{
	struct metrics *m = (struct metrics *)sink;
	struct objects *set = &m->set[k];
	char *clean = label_of(key);
	struct row id = {.key = clean};
	struct object *object = ledger_find(&set->ledger, &id);

	free(clean);
	if (object == NULL || object->ended_ns != 0)
		return;
	if (m->served) {
		object->ended_ns = now_ns();
		set->nended++;
		ledger_move_last(&set->ledger, &object->entry);
		return;
	}
	if (!m->renewed)
		move_to_others(m, k, object);
	ledger_remove(&set->ledger, &object->entry);
}

/* Its series stay in a file, which has no known readers. */
static void openmetrics_ended(struct sink *sink, size_t k, const char *key)
{
	if (((struct metrics *)sink)->served)
		openmetrics_forget(sink, k, key);
}

/*
 * Frees objects that have ended and whose last totals all readers have read.  Of too many, frees
 * those that ended first: readers that still come have most likely read them.
 */
static void free_ended(struct metrics *m, size_t k)
{
	struct objects *set = &m->set[k];
	struct entry *entry, *next;

	if (set->nended == 0)
		return;
	TAILQ_FOREACH_SAFE(entry, &set->ledger.list, next, next)
	{
		const struct object *object = (const struct object *)entry;
		const int64_t *born_ns = born_of(m, k, object);
		int64_t last_ns = 0;
		bool read;

		if (object->ended_ns == 0)
			continue;
		for (unsigned i = 0; i < m->run->set[k].nevents; i++)
			last_ns = born_ns[i] > last_ns ? born_ns[i] : last_ns;
		read = readers_saw_end(&m->readers, last_ns, object->ended_ns);
		if (!read && set->nended <= MAX_ENDED)
			continue;
		set->incomplete += !read;
		set->nended--;
		ledger_remove(&set->ledger, entry);
	}
}

static void openmetrics_free(struct sink *sink)
{
	struct metrics *m = (struct metrics *)sink;

	deltas_clear(&m->deltas);
	readers_clear(&m->readers);
	for (size_t k = 0; k < m->nsets; k++)
		ledger_clear(&m->set[k].ledger);
	free(m->set);
}

static void openmetrics_begin(struct sink *sink, const struct run *run)
{
	struct metrics *m = (struct metrics *)sink;

	m->run = run;
	m->nsets = run->nsets;
	m->set = xcalloc(run->nsets, sizeof(*m->set));
	for (size_t k = 0; k < run->nsets; k++)
		ledger_init(&m->set[k].ledger,
			    sizeof(struct object) +
				    run->set[k].nevents * (sizeof(uint64_t) + sizeof(int64_t)),
			    1);
	if (!run->of_cpus && m->renewed)
		deltas_begin(&m->deltas, run);
}

static void openmetrics_sampled(struct sink *sink)
{
	struct metrics *m = (struct metrics *)sink;

	if (!m->renewed)
		return;
	take_deltas(m);
	if (!m->served) {
		put_document(m);
		return;
	}
	readers_expire(&m->readers, now_ns());
	for (size_t k = 0; k < m->nsets; k++)
		free_ended(m, k);
}

static void openmetrics_end(struct sink *sink)
{
	struct metrics *m = (struct metrics *)sink;

	take_deltas(m);
	if (!m->served)
		put_document(m);
}

static struct metrics *make(const struct style *style)
{
	static const struct sink_ops ops = {.begin = openmetrics_begin,
					    .row = openmetrics_row,
					    .sampled = openmetrics_sampled,
					    .forget = openmetrics_forget,
					    .ended = openmetrics_ended,
					    .end = openmetrics_end,
					    .free = openmetrics_free};
	struct metrics *m = sink_new(sizeof(*m), &ops, NULL);

	m->style = *style;
	return m;
}

struct sink *openmetrics_open(FILE *file, const struct style *style)
{
	struct metrics *m = make(style);

	m->file = file;
	m->renewed = style->replaced;
	m->view = (struct view){.old = style->replaced, .seen_ns = INT64_MAX};
	TAILQ_INIT(&m->readers.list);
	return &m->sink;
}

/* ---- readers ------------------------------------------------------------------ */

/* A document for one reader.  Before the first sample, it has no series. */
static struct reading serve_document(void *arg, FILE *file, const struct document_request *request)
{
	struct metrics *m = arg;
	struct reading reading = {.seen_ns = INT64_MAX};

	if (request->reader != NULL)
		reading = readers_come(&m->readers, request->reader, request->connection, now_ns());
	m->file = file;
	m->view = (struct view){.old = !request->openmetrics,
				.created = request->openmetrics,
				.seen_ns = reading.seen_ns};
	if (m->run != NULL)
		put_document(m);
	else if (request->openmetrics)
		fputs("# EOF\n", file);
	return reading;
}

static void served_document(void *arg, const struct reading *reading)
{
	readers_got(&((struct metrics *)arg)->readers, reading);
}

static void hung_up(void *arg, const void *connection)
{
	readers_hang_up(&((struct metrics *)arg)->readers, connection);
}

struct sink *openmetrics_serve(struct listener *listener, const struct style *style)
{
	static const struct document_ops ops = {
		.write = serve_document, .sent = served_document, .hung_up = hung_up};
	struct metrics *m = make(style);

	m->served = true;
	m->renewed = true;
	readers_init(&m->readers, now_ns());
	listener->document = &ops;
	listener->arg = m;
	return &m->sink;
}
