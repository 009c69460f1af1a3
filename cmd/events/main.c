/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc-events - makes event definitions from the event files of vendors.
 */
#include "../base/opts.h"
#include "../base/say.h"
#include "../base/util.h"
#include "../rows/jsonwrite.h"
#include "../rows/outfile.h"
#include "import.h"
#include "standard.h"

#include <cpc_version.h>
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct config {
	const char *cpu, *output;
	bool help, version;
};

static const struct opt opts[] = {
	{'C', "cpu", "NAME", "the CPU of the events", ALWAYS, 0},
	{'h', "help", NULL, "print this text", ALWAYS, OPT_SETS(help)},
	{'o', "output", "FILE", "write to FILE", ALWAYS, 0},
	{'V', "version", NULL, "print the version", ALWAYS, OPT_SETS(version)},
	{0},
};

/*
 * Is it the name of a CPU as in perf(1), or a pattern: "GenuineIntel-6-AD", "0x00000000410fd0c0"?
 * Definitions have it in brackets, so it must not contain "]" alone or a newline.
 */
static bool is_cpu(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t vendor = strspn(name, letters), n;
	const char *rest = name + vendor;
	unsigned dashes = 0;

	if (strcmp(name, "*") == 0)
		return true;
	for (n = 0; rest[n] != '\0' && strchr("0123456789ABCDEFabcdef-_*?[]", rest[n]) != NULL; n++)
		dashes += rest[n] == '-';
	if (strncmp(name, "0x", 2) == 0)
		return strspn(name + 2, "0123456789abcdefABCDEF*?[]-") == strlen(name) - 2 &&
		       (strlen(name) == 18 || strpbrk(name, "*?[") != NULL);
	return vendor > 0 && *rest == '-' && rest[n] == '\0' &&
	       (dashes >= 2 || strchr(rest, '*') != NULL);
}

/* Are all names of a list with commas names of CPUs? */
static bool are_cpus(const char *names)
{
	char *list = xstrdup(names), *rest = list, *name;
	bool good = true;

	while (good && (name = strsep(&rest, ",")) != NULL)
		good = is_cpu(name);
	free(list);
	return good;
}

static int parse(struct config *cfg, int argc, char **argv)
{
	const struct opt *opt;

	while ((opt = opts_next(argc, argv, opts, NULL, cfg)) != NULL) {
		if (opt->code == 0)
			return STATUS_USAGE;
		if (opt->code == 'C')
			cfg->cpu = optarg;
		if (opt->code == 'o')
			cfg->output = optarg;
	}
	if (cfg->help || cfg->version)
		return STATUS_OK;
	if (cfg->cpu != NULL && !are_cpus(cfg->cpu)) {
		say("invalid -C '%s': expected the name of a CPU, such as GenuineIntel-6-AD or "
		    "0x00000000410fd0c0",
		    cfg->cpu);
		return STATUS_USAGE;
	}
	if (argc - optind < 2 || strcmp(argv[optind], "import") != 0) {
		say("missing command: expected import FILE...; see cpc-events -h");
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

static int import_one(struct import *import, const struct standard *standard, size_t i)
{
	size_t referred, unresolved;

	if (standard_is_source(standard, import->file, &referred)) {
		say("'%s': not imported; the other files refer to %zu of its events", import->file,
		    referred);
		return STATUS_OK;
	}
	if (import_file(import, standard_file(standard, i, &unresolved)) == -1)
		return STATUS_FAILED;
	if (import->no_events)
		say("'%s': no events; it describes groups of metrics", import->file);
	if (import->skipped_events + import->skipped_metrics > 0)
		say("'%s': wrote %zu events and %zu metrics; skipped %zu events that definitions "
		    "cannot express, and %zu metrics with more than events, numbers and + - * /",
		    import->file, import->events, import->metrics, import->skipped_events,
		    import->skipped_metrics);
	if (import->unknown > 0)
		say("'%s': %zu of the skipped events have an unknown member, such as '%s', which can "
		    "change what they count",
		    import->file, import->unknown, import->unknown_key);
	if (import->doubled > 0)
		say("'%s': skipped %zu definitions with the name of an earlier one", import->file,
		    import->doubled);
	if (unresolved > 0)
		say("'%s': %zu of the skipped events refer to another file (ArchStdEvent): import it, "
		    "too",
		    import->file, unresolved);
	return STATUS_OK;
}

static int import_all(const struct config *cfg, FILE *out, char **files)
{
	struct standard *standard = standard_read(files);
	struct json_object *written = xmade(json_object_new_object());
	int status = standard != NULL ? STATUS_OK : STATUS_FAILED;
	size_t n = 0;

	fputs("# Made by cpc-events import.\n", out);
	for (size_t i = 0; status == STATUS_OK && files[i] != NULL; i++) {
		struct import import = {
			.file = files[i], .cpu = cfg->cpu, .out = out, .written = written};

		status = import_one(&import, standard, i);
		n += import.events + import.metrics;
	}
	if (status == STATUS_OK && n == 0) {
		say("cannot write any definition: no event can be expressed");
		status = STATUS_FAILED;
	}
	json_object_put(written);
	if (standard != NULL)
		standard_free(standard);
	return status;
}

static int open_output(struct outfile *out, const char *path)
{
	return path != NULL ? outfile_open_replaced(out, path) : outfile_open(out, NULL, false);
}

/* Writes all definitions or none: an incomplete file would look complete. */
static int import(const struct config *cfg, char **files)
{
	struct outfile out;
	FILE *memory;
	size_t n;
	char *text;
	int status, error;

	memory = xmade(open_memstream(&text, &n));
	status = import_all(cfg, memory, files);
	xmade(fclose(memory) == 0 ? text : NULL);
	if (status == STATUS_OK && open_output(&out, cfg->output) == -1)
		status = STATUS_FAILED;
	if (status == STATUS_OK) {
		outfile_begin(&out);
		fwrite(text, 1, n, out.file);
		error = outfile_close(&out);
		if (error != 0 && cfg->output != NULL)
			die("cannot write '%s': %s", cfg->output, strerror(error));
		if (error != 0)
			die("cannot write the standard output: %s", strerror(error));
	}
	free(text);
	return status;
}

int main(int argc, char **argv)
{
	struct config cfg = {0};
	int status;

	guard_streams();
	status = parse(&cfg, argc, argv);
	if (status != STATUS_OK)
		return status;
	if (!cfg.version && !cfg.help)
		return import(&cfg, argv + optind + 1);
	if (cfg.version) {
		printf("cpc-events %s\n", CPC_VERSION);
	} else {
		printf("usage: cpc-events [-C cpu] [-o file] import file.json ...\n");
		opts_print(opts);
	}
	if (fflush(stdout) != 0)
		die("cannot write the standard output: %s", strerror(errno));
	return STATUS_OK;
}
