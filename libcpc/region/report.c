/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* report.c - the totals of regions as a table or as JSON lines. */
#include "../sys/outpath.h"
#include "region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A total as it is now: its LWP may be counting. */
struct snapshot {
	uint64_t entries, counted, open;
	const char *error;
	uint64_t count[CPCI_REGION_EVENTS];
};

/* A JSON string (RFC 8259). */
static void put_quoted(FILE *text, const char *s)
{
	fputc('"', text);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(text, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(text, "\\u%04x", (unsigned)*s);
		else
			fputc(*s, text);
	}
	fputc('"', text);
}

static void put_json(FILE *text, const struct cpci_region *region, long tid,
		     const struct snapshot *now)
{
	fputs("{\"region\":", text);
	put_quoted(text, region->name);
	fprintf(text,
		",\"pid\":%ld,\"lwp\":%ld,\"entries\":%llu,\"counted\":%llu,\"open\":%llu"
		",\"counts\":{",
		(long)getpid(), tid, (unsigned long long)now->entries,
		(unsigned long long)now->counted, (unsigned long long)now->open);
	for (unsigned i = 0; i < region->nevents; i++) {
		fputs(i > 0 ? "," : "", text);
		put_quoted(text, region->event[i]);
		if (now->counted > 0)
			fprintf(text, ":%llu", (unsigned long long)now->count[i]);
		else
			fputs(":null", text);
	}
	fputc('}', text);
	if (now->error != NULL) {
		fputs(",\"error\":", text);
		put_quoted(text, now->error);
	}
	fputs("}\n", text);
}

static void put_rows(FILE *text, const struct cpci_region *region, const char *lwp,
		     const struct snapshot *now)
{
	for (unsigned i = 0; i < (region->nevents > 0 ? region->nevents : 1); i++) {
		fprintf(text, "%8s %10llu %10llu", lwp, (unsigned long long)now->entries,
			(unsigned long long)now->counted);
		if (region->nevents > 0 && now->counted > 0)
			fprintf(text, " %14llu", (unsigned long long)now->count[i]);
		else
			fprintf(text, " %14s", "-");
		fprintf(text, " %-20s %s", region->nevents > 0 ? region->event[i] : region->events,
			region->name);
		if (now->open > 0)
			fputs("  # still open", text);
		if (now->error != NULL && now->counted < now->entries - now->open)
			fprintf(text, "  # not counted: %s", now->error);
		fputc('\n', text);
	}
}

static void take_snapshot(const struct cpci_region_total *total, struct snapshot *now)
{
	const struct cpci_region *region = total->region;

	now->error = region->error != NULL ? region->error : total->error;
	now->entries = total->entries;
	now->counted = total->counted;
	now->open = total->open;
	for (unsigned i = 0; i < region->nevents; i++)
		now->count[i] = total->count[i];
}

static void add_snapshot(struct snapshot *sum, const struct snapshot *now, unsigned nevents)
{
	sum->entries += now->entries;
	sum->counted += now->counted;
	sum->open += now->open;
	if (now->error != NULL)
		sum->error = now->error;
	for (unsigned i = 0; i < nevents; i++)
		sum->count[i] += now->count[i];
}

/* The rows of a region: one of each LWP that entered it, and their sum if there are several. */
static void put_region(FILE *text, const struct cpci_region *region,
		       const struct cpci_region_lwp *lwps, bool json)
{
	struct snapshot sum = {0};
	unsigned n = 0;

	for (const struct cpci_region_lwp *lwp = lwps; lwp != NULL; lwp = lwp->next) {
		const struct cpci_region_total *total = lwp->totals;
		struct snapshot now;
		char tid[16];

		while (total != NULL && total->region != region)
			total = total->next;
		if (total == NULL)
			continue;
		take_snapshot(total, &now);
		add_snapshot(&sum, &now, region->nevents);
		n++;
		snprintf(tid, sizeof(tid), "%d", lwp->tid);
		if (json)
			put_json(text, region, lwp->tid, &now);
		else
			put_rows(text, region, tid, &now);
	}
	if (n > 1 && !json)
		put_rows(text, region, "all", &sum);
}

static void cannot_write(const char *file, const char *why)
{
	fprintf(stderr, "cpc_region: cannot write '%s': %s\n", file, why);
}

/* -1 after a message. */
static int open_file(const char *file)
{
	struct cpc_outpath at;
	int fd = -1;

	if (cpc_outpath_find(&at, file) == 0)
		fd = cpc_outpath_open(&at, O_WRONLY | O_APPEND);
	if (fd == -1)
		cannot_write(file, at.why);
	cpc_outpath_close(&at);
	return fd;
}

static void write_text(const char *text, size_t size, const char *file)
{
	int fd = STDERR_FILENO;
	size_t done = 0;

	if (file != NULL)
		fd = open_file(file);
	if (fd == -1) {
		fd = STDERR_FILENO;
		file = NULL;
	}
	/* One call for all of it, so that the reports of several processes do not mix. */
	while (done < size) {
		ssize_t n = write(fd, text + done, size - done);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && file != NULL)
			cannot_write(file, strerror(errno));
		if (n == -1)
			break;
		done += (size_t)n;
	}
	if (fd != STDERR_FILENO)
		close(fd);
}

void cpci_region_report(const struct cpci_region *regions, const struct cpci_region_lwp *lwps,
			const char *file, bool json)
{
	char *s = NULL;
	size_t size = 0;
	FILE *text = open_memstream(&s, &size);

	if (text == NULL)
		return;
	if (!json)
		fprintf(text, "# regions of process %ld\n%8s %10s %10s %14s %-20s %s\n",
			(long)getpid(), "lwp", "entries", "counted", "count", "event", "region");
	for (; regions != NULL; regions = regions->next)
		put_region(text, regions, lwps, json);
	if (fclose(text) == 0)
		write_text(s, size, file);
	free(s);
}
