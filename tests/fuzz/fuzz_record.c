/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Records, as -I reads them: the first line names how it is shown, and the rest is the record.
 * One that is shown in full must be shown alike after it was written again by -O.
 */
#include "fuzz.h"
#include "said.h"

#include "../../cmd/base/utf8.h"
#include "../../cmd/rows/output.h"
#include "../../cmd/rows/replay.h"

#include <json-c/json.h>
#include <sys/mman.h>
#include <unistd.h>

struct view {
	const char *name, *format;
	struct output_config config;
};

static const struct view views[] = {
	{"cputrack", NULL, {0}},
	{"cputrack names", NULL, {.style = {.names = true, .comm = true, .cycles = true}}},
	{"cputrack human", NULL, {.human = HUMAN_YES, .style = {.tids = true}, .total = true}},
	{"cputrack csv", "csv", {.style = {.cycles = true}, .total = true}},
	{"cputrack openmetrics", "openmetrics", {0}},
	{"cputrack trace", "trace", {0}},
	{"cputrack lwp", NULL, {.by = SCOPE_LWP, .human = HUMAN_YES}},
	{"cputrack process", "csv", {.by = SCOPE_PROCESS}},
	{"cputrack command", NULL, {.by = SCOPE_COMMAND, .style = {.cycles = true}}},
	{"cputrack stats", NULL, {.stats = true}},
	{"cputrack compare", NULL, {.stats = true, .compare = ""}},
	{"cputrack means csv", "csv", {.stats = true, .compare = ""}},
	{"cputrack means json", "json", {.stats = true}},
	{"cputrack two", NULL, {.stats = true, .pair = true, .human = HUMAN_YES}},
	{"cpustat", NULL, {.style = {.cycles = true, .stamp = 'u'}}},
	{"cpustat names", NULL, {.human = HUMAN_YES, .style = {.names = true}, .changed = true}},
	{"cpustat csv", "csv", {.changed = true}},
	{"cpustat openmetrics", "openmetrics", {.scope = SCOPE_CPU, .cpus = "0,2-2147483647"}},
	{"cpustat trace", "trace", {0}},
	{"cpustat cpu", NULL, {.by = SCOPE_CPU}},
	{"cpustat core", NULL, {.scope = SCOPE_CORE, .style = {.means = true}}},
	{"cpustat socket", "csv", {.scope = SCOPE_SOCKET, .cpus = "0,2-2147483647"}},
	{"cpustat node", "openmetrics", {.scope = SCOPE_NODE}},
	{"cpustat all", NULL, {.scope = SCOPE_ALL, .by = SCOPE_CPU}},
	{"cpustat keys", NULL, {.nkeys = 1, .style = {.cycles = true}}},
	{"cpustat keys openmetrics", "openmetrics", {.nkeys = 2, .changed = true}},
};

#define NVIEWS (sizeof(views) / sizeof(*views))

static const struct view *find_view(const char *name)
{
	unsigned sum = 0;

	for (size_t i = 0; i < NVIEWS; i++) {
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	}
	while (*name != '\0')
		sum += (unsigned char)*name++;
	return &views[sum % NVIEWS];
}

/* ---- files in memory --------------------------------------------------------------- */

struct file {
	int fd;
	char path[32];
	char *text; /* when it was read */
};

static struct file file_new(const char *name)
{
	struct file file = {.fd = memfd_create(name, 0)};

	if (file.fd == -1)
		err(1, "memfd_create");
	snprintf(file.path, sizeof(file.path), "/dev/fd/%d", file.fd);
	return file;
}

/* Empty, and to be written from its start. */
static void file_clear(const struct file *file)
{
	if (ftruncate(file->fd, 0) == -1 || lseek(file->fd, 0, SEEK_SET) == -1)
		err(1, "ftruncate");
}

static void file_write(const struct file *file, const char *text)
{
	size_t size = strlen(text);

	file_clear(file);
	if (write(file->fd, text, size) != (ssize_t)size)
		err(1, "write");
}

/* To be freed. */
static char *file_read(const struct file *file)
{
	off_t size = lseek(file->fd, 0, SEEK_END);
	char *text = malloc((size_t)size + 1);

	if (text == NULL || pread(file->fd, text, (size_t)size, 0) != size)
		err(1, "read");
	text[size] = '\0';
	return text;
}

/* ---- a record is shown ---------------------------------------------------------------- */

struct shown {
	const struct output_config *config;
	unsigned runs;
};

/* As cmd/program/program.c has it. */
static char *check(void *arg, const struct run *run)
{
	struct shown *s = arg;
	const struct output_config *config = s->config;

	/* The program ends, with a message, when none is left. */
	if (config->cpus != NULL && run->ncpus == 1 && run->cpu[0].id == 1)
		return xstrdup("no CPU");
	if ((s->runs++ == 0 || config->format == NULL || !config->format->whole) &&
	    (config->nkeys == 0 || scope_has_keys(run->scope)) &&
	    (!run->of_cpus || run->scope == SCOPE_CPU ||
	     (config->scope <= SCOPE_CPU && config->cpus == NULL)))
		return NULL;
	return xstrdup("not shown");
}

static bool show(const struct file *record, const char *tool, struct output_config *config)
{
	struct shown s = {.config = config};
	const struct replay_config replay_config = {
		.path = record->path, .tool = tool, .check = check, .arg = &s};
	struct output *output;
	bool whole;

	/* Opening a path in /proc/self/fd begins at the start of the file, not at our offset. */
	said = 0;
	output = output_open(config);
	if (output == NULL) { /* there is nothing to compare with */
		must(said > 0 && config->compare != NULL);
		return false;
	}
	whole = replay(&replay_config, output_sink(output));
	must(output_close(output, true) == 0);
	must(whole ? said == 0 : said > 0);
	return whole;
}

/* ---- what is shown ---------------------------------------------------------------------- */

/* Names in a record cannot forge lines or control a terminal. */
static void check_text(const char *text, bool ascii)
{
	uint32_t c;
	size_t n;

	for (; *text != '\0'; text += n) {
		n = utf8_decode(text, &c);
		must(*text == '\n' || (c >= ' ' && c <= '~') || (!ascii && c >= 0xa0));
		must(c != 0xfffd || n > 1); /* else it is not UTF-8 */
	}
}

static void check_csv(const char *text)
{
	size_t fields = 0, n = 1;
	bool quoted = false;

	for (; *text != '\0'; text++) {
		quoted ^= *text == '"';
		n += *text == ',' && !quoted;
		if (*text != '\n')
			continue;
		must(!quoted);
		must(n == fields || fields == 0);
		fields = n;
		n = 1;
	}
}

static void check_json(const char *text)
{
	json_tokener *tok = json_tokener_new();
	json_object *object;

	json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
	object = json_tokener_parse_ex(tok, text, (int)strlen(text) + 1);
	must(object != NULL && json_tokener_get_parse_end(tok) == strlen(text));
	json_object_put(object);
	json_tokener_free(tok);
}

static void check_shown(const struct view *view, const char *text, bool whole)
{
	const char *format = view->format != NULL ? view->format : "table";
	size_t n = strlen(text);

	check_text(text, strcmp(format, "csv") != 0 && strcmp(format, "openmetrics") != 0);
	if (!whole)
		return;
	must(n == 0 || text[n - 1] == '\n');
	if (strcmp(format, "csv") == 0)
		check_csv(text);
	if (strcmp(format, "trace") == 0)
		check_json(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file record, again, shown;
	char *text = fuzz_text(data, size), *rest = text, *name = strsep(&rest, "\n");
	const struct view *view = find_view(name);
	const char *tool = strncmp(view->name, "cpustat", 7) == 0 ? "cpustat" : "cputrack";
	struct output_config config = view->config, plain = {.format = format_find("json")};
	char *first, *second, *json;

	if (shown.fd == 0) {
		record = file_new("record");
		again = file_new("again");
		shown = file_new("shown");
	}
	config.format = view->format != NULL ? format_find(view->format) : NULL;
	config.path = shown.path;
	config.record = again.path;
	config.compare = config.compare != NULL ? record.path : NULL;
	file_write(&record, rest != NULL ? rest : "");
	file_clear(&again);
	file_clear(&shown);

	bool whole = show(&record, tool, &config);

	first = file_read(&shown);
	check_shown(view, first, whole);
	json = file_read(&again);
	check_text(json, true);
	if (whole) {
		/* The record that was written is read, and shown alike. */
		file_clear(&shown);
		config.record = NULL;
		config.compare = config.compare != NULL ? again.path : NULL;
		must(show(&again, tool, &config));
		second = file_read(&shown);
		must(strcmp(first, second) == 0);
		free(second);
		/* And written alike. */
		file_clear(&shown);
		plain.path = shown.path;
		must(show(&again, tool, &plain));
		second = file_read(&shown);
		must(strcmp(json, second) == 0);
		free(second);
	}
	free(json);
	free(first);
	free(text);
	return 0;
}
