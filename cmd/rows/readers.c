/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * readers.c - which readers have read which running totals.
 */
#include "readers.h"

#include "../base/util.h"

#include <stdlib.h>
#include <string.h>

/* More than there can be connections: those that have one are not forgotten. */
#define READERS_MAX 256

static struct reader *add(struct readers *readers, const char *name, int64_t seen_ns)
{
	struct reader *reader = xcalloc(1, sizeof(*reader));

	reader->id = ++readers->last_id;
	reader->name = xstrdup(name);
	reader->seen_ns = reader->before_ns = seen_ns;
	TAILQ_INSERT_TAIL(&readers->list, reader, next);
	readers->n++;
	return reader;
}

static void forget(struct readers *readers, struct reader *reader)
{
	TAILQ_REMOVE(&readers->list, reader, next);
	readers->n--;
	free(reader->name);
	free(reader);
}

void readers_init(struct readers *readers, int64_t now_ns)
{
	*readers = (struct readers){0};
	TAILQ_INIT(&readers->list);
	add(readers, "", now_ns)->came_ns = now_ns;
}

void readers_clear(struct readers *readers)
{
	while (readers->n > 0)
		forget(readers, TAILQ_FIRST(&readers->list));
}

/*
 * The reader with this connection; or the one of the same name without a connection that has not
 * come for longest, since readers come in turn.  NULL: it is a new one.
 */
static struct reader *find(const struct readers *readers, const char *name, const void *connection)
{
	struct reader *reader, *closed = NULL;

	TAILQ_FOREACH(reader, &readers->list, next) {
		if (strcmp(reader->name, name) != 0)
			continue;
		if (reader->connection == connection)
			return reader;
		if (reader->connection == NULL && closed == NULL)
			closed = reader;
	}
	return closed;
}

/* The reader without a connection that has not come for longest. */
static struct reader *most_absent(const struct readers *readers)
{
	struct reader *reader;

	TAILQ_FOREACH(reader, &readers->list, next) {
		if (reader->connection == NULL)
			return reader;
	}
	return TAILQ_FIRST(&readers->list);
}

struct reading readers_come(struct readers *readers, const char *name, const void *connection,
			    int64_t now_ns)
{
	struct reader *reader;

	readers_expire(readers, now_ns);
	reader = find(readers, name, connection);
	if (reader == NULL && readers->n == READERS_MAX)
		forget(readers, most_absent(readers));
	if (reader == NULL)
		reader = add(readers, name, now_ns - READERS_STAY_NS);
	reader->connection = connection;
	reader->came_ns = now_ns;
	TAILQ_REMOVE(&readers->list, reader, next);
	TAILQ_INSERT_TAIL(&readers->list, reader, next);
	return (struct reading){reader->id, reader->seen_ns, now_ns};
}

void readers_got(struct readers *readers, const struct reading *reading)
{
	struct reader *reader;

	TAILQ_FOREACH(reader, &readers->list, next) {
		if (reader->id != reading->reader)
			continue;
		reader->before_ns = reading->seen_ns;
		reader->seen_ns = reading->made_ns;
	}
}

void readers_hang_up(struct readers *readers, const void *connection)
{
	struct reader *reader;

	TAILQ_FOREACH(reader, &readers->list, next) {
		if (reader->connection == connection)
			reader->connection = NULL;
	}
}

void readers_expire(struct readers *readers, int64_t now_ns)
{
	struct reader *reader;

	while ((reader = TAILQ_FIRST(&readers->list)) != NULL &&
	       reader->came_ns + READERS_STAY_NS <= now_ns)
		forget(readers, reader);
}

bool readers_saw_end(const struct readers *readers, int64_t born_ns, int64_t ended_ns)
{
	const struct reader *reader;

	TAILQ_FOREACH(reader, &readers->list, next) {
		if (reader->before_ns < born_ns || reader->seen_ns < ended_ns)
			return false;
	}
	return true;
}
