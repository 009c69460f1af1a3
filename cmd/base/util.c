/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * util.c - helpers of all programs.
 */
#include "util.h"

#include "say.h"

#include <bsd/string.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void guard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			continue;
		/* This opens `fd`, the lowest closed descriptor.  Its mode makes I/O fail. */
		open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	}
}

void raise_file_limit(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

bool is_identifier(const char *name)
{
	const char *c = name;

	while (isalnum((unsigned char)*c) || *c == '_')
		c++;
	return *c == '\0' && c > name && !isdigit((unsigned char)*name);
}

bool is_program(const char *name)
{
	const char *path = getenv("PATH");
	size_t n;

	if (strchr(name, '/') != NULL || path == NULL)
		return is_file(name);
	for (; *path != '\0'; path += n + (path[n] == ':')) {
		char *file;
		bool found;

		n = strcspn(path, ":");
		file = xasprintf("%.*s%s%s", (int)n, path, n > 0 ? "/" : "", name);
		found = is_file(file);
		free(file);
		if (found)
			return true;
	}
	return false;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC + ts.tv_nsec;
}

int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t next_on_grid(int64_t last_ns, int64_t step_ns)
{
	const int64_t late_ns = now_ns() - (last_ns + step_ns);

	return last_ns + step_ns + (late_ns > 0 ? (late_ns / step_ns + 1) * step_ns : 0);
}

/* The seconds of a unit, as in sleep(1), and of "ms"; 0: there is no such unit. */
static double seconds_of(const char *unit)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"", 1},	{"s", 1},    {"sec", 1},  {"ms", 1e-3},
		     {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit, units[i].name) == 0)
			return units[i].seconds;
	}
	return 0;
}

bool parse_seconds(const char *text, int64_t *ns)
{
	/* strtod(3) also accepts "nan", "0x1p3" and " 1". */
	const char *unit = text + strspn(text, "0123456789.eE+-");
	char *end;
	double s;

	errno = 0;
	s = strtod(text, &end);
	if (end == text || end != unit || errno != 0)
		return false;
	s *= seconds_of(unit);
	if (s < 0 || s > 1e6 || seconds_of(unit) == 0)
		return false;
	*ns = (int64_t)llround(s * 1e9);
	/* Refuse less than a nanosecond: 0 has a special meaning. */
	return *ns > 0 || s == 0;
}

size_t parse_cpu_list(const char *text, struct cpu_range **range)
{
	char *end;
	size_t n = 0;

	*range = NULL;
	do {
		unsigned long first, last;

		first = last = strtoul(text, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (!isdigit((unsigned char)*text) || first > last || last > INT_MAX ||
		    (*end != ',' && *end != '\0')) {
			free(*range);
			*range = NULL;
			return 0;
		}
		*range = xrealloc(*range, (n + 1) * sizeof(**range));
		(*range)[n++] = (struct cpu_range){(unsigned)first, (unsigned)last};
		text = end + 1;
	} while (*end == ',');
	return n;
}

const char *synonym_find(const struct synonym *table, const char *word)
{
	while (table->word != NULL && strcasecmp(table->word, word) != 0)
		table++;
	return table->here;
}

/* Global, since the error handler of libcpc has no argument for it. */
static struct {
	bool debug;
	int subcode;
	char text[1100];
} last_error;

/* Messages of libcpc name the cause; add the options of our programs that help. */
static const char *advice(int subcode)
{
	switch (subcode) {
	case CPC_CPU_CLAIMED:
	case CPC_CLAIM_FAILED:
		return "; cpustat --shared counts without a claim";
	case CPC_NEEDS_SYSTEM:
		return "; add the attribute sys";
	default:
		return "";
	}
}

static void keep_message(const char *fn, int subcode, const char *fmt, va_list ap)
{
	size_t n = 0;

	if (subcode == CPC_WARNING) {
		vsnprintf(last_error.text, sizeof(last_error.text), fmt, ap);
		say("warning: %s", last_error.text);
		last_error.text[0] = '\0';
		return;
	}
	last_error.subcode = subcode;
	if (last_error.debug)
		n = (size_t)snprintf(last_error.text, sizeof(last_error.text), "%s: ", fn);
	vsnprintf(last_error.text + n, sizeof(last_error.text) - n, fmt, ap);
	n = strlen(last_error.text);
	if (n > 0 && last_error.text[n - 1] == '\n')
		last_error.text[n - 1] = '\0';
	strlcat(last_error.text, advice(subcode), sizeof(last_error.text));
}

void cpcerr_install(cpc_t *cpc, bool debug)
{
	last_error.debug = debug;
	cpc_seterrhndlr(cpc, keep_message);
}

const char *cpcerr_text(void)
{
	return last_error.text[0] != '\0' ? last_error.text : strerror(errno);
}

int cpcerr_subcode(void)
{
	return last_error.subcode;
}

bool cpcerr_is_usage(void)
{
	switch (last_error.subcode) {
	case CPC_INVALID_EVENT:
	case CPC_INVALID_PICNUM:
	case CPC_PIC_NOT_CAPABLE:
	case CPC_INVALID_ATTRIBUTE:
	case CPC_ATTRIBUTE_OUT_OF_RANGE:
	case CPC_REQ_INVALID_FLAGS:
		return true;
	default:
		return false;
	}
}

void *xmade(const void *p)
{
	if (p == NULL)
		die("%s", strerror(errno));
	return (void *)(uintptr_t)p;
}

void *xcalloc(size_t n, size_t size)
{
	return xmade(calloc(n, size));
}

void *xrealloc(void *p, size_t size)
{
	return xmade(realloc(p, size));
}

char *xstrdup(const char *text)
{
	return xmade(strdup(text));
}

char *copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	return xmade(n != -1 ? text : NULL);
}
