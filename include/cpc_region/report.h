/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc_region/report.h - what was counted, as a table or JSON: a part of cpc_region.h.
 */
#ifndef CPC_REGION_REPORT_H
#define CPC_REGION_REPORT_H

#include <cpc_region/state.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cpc_region_text {
	char *s;
	size_t n, room;
};

CPC_REGION_ONE_ __attribute__((format(printf, 2, 3))) void
cpc_region_put(struct cpc_region_text *text, const char *fmt, ...)
{
	for (;;) {
		size_t left = text->room - text->n;
		char *more;
		va_list ap;
		int n;

		va_start(ap, fmt);
		n = vsnprintf(left > 0 ? text->s + text->n : NULL, left, fmt, ap);
		va_end(ap);
		if (n >= 0 && (size_t)n < left) {
			text->n += (size_t)n;
			return;
		}
		more = n < 0 ? NULL : (char *)realloc(text->s, text->room * 2 + (size_t)n + 1);
		if (more == NULL)
			return;
		text->s = more;
		text->room = text->room * 2 + (size_t)n + 1;
	}
}

/* A JSON string (RFC 8259). */
CPC_REGION_ONE_ void cpc_region_quote(struct cpc_region_text *text, const char *s)
{
	cpc_region_put(text, "\"");
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			cpc_region_put(text, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			cpc_region_put(text, "\\u%04x", (unsigned)*s);
		else
			cpc_region_put(text, "%c", *s);
	}
	cpc_region_put(text, "\"");
}

CPC_REGION_ONE_ void cpc_region_put_json(struct cpc_region_text *text, long tid,
					 const struct cpc_region_total *total)
{
	const struct cpc_region_info *info = total->info;
	const char *error = info->error != NULL ? info->error : total->error;

	cpc_region_put(text, "{\"region\":");
	cpc_region_quote(text, info->name);
	cpc_region_put(text,
		       ",\"pid\":%ld,\"lwp\":%ld,\"entries\":%llu,\"counted\":%llu,\"open\":%llu",
		       (long)getpid(), tid, (unsigned long long)total->entries,
		       (unsigned long long)total->counted, (unsigned long long)total->open);
	cpc_region_put(text, ",\"counts\":{");
	for (unsigned i = 0; i < info->n; i++) {
		cpc_region_put(text, "%s", i > 0 ? "," : "");
		cpc_region_quote(text, cpc_region_event[info->event[i]].name);
		if (total->counted > 0)
			cpc_region_put(text, ":%llu", (unsigned long long)total->count[i]);
		else
			cpc_region_put(text, ":null");
	}
	cpc_region_put(text, "}");
	if (error != NULL) {
		cpc_region_put(text, ",\"error\":");
		cpc_region_quote(text, error);
	}
	cpc_region_put(text, "}\n");
}

CPC_REGION_ONE_ void cpc_region_put_rows(struct cpc_region_text *text, const char *lwp,
					 const struct cpc_region_total *total)
{
	const struct cpc_region_info *info = total->info;
	const char *error = info->error != NULL ? info->error : total->error;

	for (unsigned i = 0; i < (info->n > 0 ? info->n : 1); i++) {
		cpc_region_put(text, "%8s %10llu %10llu", lwp, (unsigned long long)total->entries,
			       (unsigned long long)total->counted);
		if (info->n > 0 && total->counted > 0)
			cpc_region_put(text, " %14llu", (unsigned long long)total->count[i]);
		else
			cpc_region_put(text, " %14s", "-");
		cpc_region_put(text, " %-20s %s",
			       info->n > 0 ? cpc_region_event[info->event[i]].name : info->events,
			       info->name);
		if (total->open > 0)
			cpc_region_put(text, "  # still open");
		if (error != NULL && total->counted < total->entries - total->open)
			cpc_region_put(text, "  # not counted: %s", error);
		cpc_region_put(text, "\n");
	}
}

/* A total as it is now; its LWP may be at it. */
CPC_REGION_ONE_ void cpc_region_look(const struct cpc_region_total *total,
				     struct cpc_region_total *now)
{
	memset(now, 0, sizeof(*now));
	now->info = total->info;
	now->error = __atomic_load_n(&total->error, __ATOMIC_ACQUIRE);
	now->entries = __atomic_load_n(&total->entries, __ATOMIC_RELAXED);
	now->counted = __atomic_load_n(&total->counted, __ATOMIC_RELAXED);
	now->open = __atomic_load_n(&total->open, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < total->info->n; i++)
		now->count[i] = __atomic_load_n(&total->count[i], __ATOMIC_RELAXED);
}

/* The rows of a region: of each LWP that was in it, and the sum if there are several. */
CPC_REGION_ONE_ void cpc_region_tell(struct cpc_region_text *text,
				     const struct cpc_region_info *info)
{
	struct cpc_region_lwp *lwp = __atomic_load_n(&cpc_region_lwps, __ATOMIC_ACQUIRE);
	struct cpc_region_total sum, now;
	unsigned lwps = 0;
	char name[24];

	memset(&sum, 0, sizeof(sum));
	sum.info = info;
	for (; lwp != NULL; lwp = lwp->next) {
		struct cpc_region_total *t = __atomic_load_n(&lwp->totals, __ATOMIC_ACQUIRE);

		while (t != NULL && t->info != info)
			t = t->next;
		if (t == NULL)
			continue;
		cpc_region_look(t, &now);
		lwps++;
		sum.entries += now.entries;
		sum.counted += now.counted;
		sum.open += now.open;
		if (now.error != NULL)
			sum.error = now.error;
		for (unsigned i = 0; i < info->n; i++)
			sum.count[i] += now.count[i];
		snprintf(name, sizeof(name), "%ld", lwp->tid);
		if (cpc_region_json)
			cpc_region_put_json(text, lwp->tid, &now);
		else
			cpc_region_put_rows(text, name, &now);
	}
	if (lwps > 1 && !cpc_region_json)
		cpc_region_put_rows(text, "all", &sum);
}

CPC_REGION_ONE_ int cpc_region_open_file(void)
{
	int fd = open(cpc_region_file, O_WRONLY | O_CREAT | O_APPEND, 0666);

	if (fd != -1)
		return fd;
	fprintf(stderr, "cpc_region: cannot write '%s': %s\n", cpc_region_file, strerror(errno));
	return STDERR_FILENO;
}

CPC_REGION_ONE_ void cpc_region_report(void)
{
	struct cpc_region_text text = {0, 0, 0};
	struct cpc_region_info *info = __atomic_load_n(&cpc_region_first, __ATOMIC_ACQUIRE);
	int fd = STDERR_FILENO;
	size_t done = 0;

	if (__atomic_load_n(&cpc_region_lwps, __ATOMIC_ACQUIRE) == NULL)
		return;
	if (!cpc_region_json)
		cpc_region_put(&text, "# regions of process %ld\n%8s %10s %10s %14s %-20s %s\n",
			       (long)getpid(), "lwp", "entries", "counted", "count", "event",
			       "region");
	for (; info != NULL; info = info->next)
		cpc_region_tell(&text, info);
	if (cpc_region_file != NULL)
		fd = cpc_region_open_file();
	/* At once, so that reports of several processes do not mix. */
	while (done < text.n) {
		ssize_t n = write(fd, text.s + done, text.n - done);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && cpc_region_file != NULL)
			fprintf(stderr, "cpc_region: cannot write '%s': %s\n", cpc_region_file,
				strerror(errno));
		if (n == -1)
			break;
		done += (size_t)n;
	}
	if (fd != STDERR_FILENO)
		close(fd);
	free(text.s);
}

#ifdef __cplusplus
}
#endif

#endif /* CPC_REGION_REPORT_H */
