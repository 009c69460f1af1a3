/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * cpc-events - event definitions from the event files of vendors.
 */
#include "../base/opts.h"
#include "../base/say.h"
#include "../base/util.h"
#include "import.h"

#include <cpc_version.h>
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_VERSION = 256 };

static const struct opt opts[] = {
	{'C', "cpu", "NAME", "the CPU that the events are for", ALWAYS},
	{'h', "help", NULL, "print this", ALWAYS},
	{'o', "output", "FILE", "write to FILE", ALWAYS},
	{OPT_VERSION, "version", NULL, "print the version", ALWAYS},
	{0},
};

struct config {
	const char *cpu, *output;
	bool help, version;
};

static void print_usage(FILE *f)
{
	fputs("usage: cpc-events [-C cpu] [-o file] import file.json ...\n", f);
	opts_print(f, opts);
}

/*
 * As perf(1) names CPUs, or a pattern: "GenuineIntel-6-AD", "0x00000000410fd0c0".  It is
 * written in brackets: neither can it end them nor begin another line.
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

/* Several have commas between them. */
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
	int c;

	while ((c = opts_next(argc, argv, opts)) != -1) {
		switch (c) {
		case 'C':
			cfg->cpu = optarg;
			break;
		case 'h':
			cfg->help = true;
			break;
		case 'o':
			cfg->output = optarg;
			break;
		case OPT_VERSION:
			cfg->version = true;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	if (cfg->help || cfg->version)
		return STATUS_OK;
	if (cfg->cpu != NULL && !are_cpus(cfg->cpu)) {
		say("-C: '%s' is not the name of a CPU, such as GenuineIntel-6-AD or "
		    "0x00000000410fd0c0",
		    cfg->cpu);
		return STATUS_USAGE;
	}
	if (argc - optind < 2 || strcmp(argv[optind], "import") != 0) {
		say("write: import FILE...; -h tells more");
		return STATUS_USAGE;
	}
	return STATUS_OK;
}

static int import_one(struct import *import)
{
	size_t referred;

	if (standard_is_source(import->standard, import->file, &referred)) {
		say("'%s': the other files refer to %zu of its events", import->file, referred);
		return STATUS_OK;
	}
	if (import_file(import) == -1)
		return STATUS_FAILED;
	if (import->no_events)
		say("'%s': it tells of groups of metrics, and has no events", import->file);
	if (import->skipped_events + import->skipped_metrics > 0)
		say("'%s': %zu events and %zu metrics; left out: %zu that cannot be "
		    "written as definitions, and %zu metrics that take more than "
		    "events, numbers and + - * /",
		    import->file, import->events, import->metrics, import->skipped_events,
		    import->skipped_metrics);
	if (import->unknown > 0)
		say("'%s': %zu of those left out have a member that is not known and may change "
		    "what they count, such as '%s'",
		    import->file, import->unknown, import->unknown_key);
	if (import->doubled > 0)
		say("'%s': %zu have the name of another definition: the first is written",
		    import->file, import->doubled);
	if (import->unresolved > 0)
		say("'%s': events of another file (ArchStdEvent), which is to be given, too: %zu of "
		    "those left out",
		    import->file, import->unresolved);
	return STATUS_OK;
}

static int import_all(const struct config *cfg, FILE *out, char **files)
{
	struct standard *standard = standard_read(files);
	struct json_object *written = json_object_new_object();
	int status = STATUS_OK;
	size_t n = 0;

	fputs("# Made by cpc-events import.\n", out);
	for (; status == STATUS_OK && *files != NULL; files++) {
		struct import import = {.file = *files,
					.cpu = cfg->cpu,
					.out = out,
					.standard = standard,
					.written = written};

		status = import_one(&import);
		n += import.events + import.metrics;
	}
	if (status == STATUS_OK && n == 0) {
		say("there is nothing that can be written as a definition");
		status = STATUS_FAILED;
	}
	json_object_put(written);
	standard_free(standard);
	return status;
}

/* All or nothing: half a file of definitions would be read as the whole. */
static int import(const struct config *cfg, char **files)
{
	FILE *out = stdout, *text;
	size_t n;
	char *p;
	int status;

	text = open_memstream(&p, &n);
	if (text == NULL)
		die("%s", strerror(errno));
	status = import_all(cfg, text, files);
	if (fclose(text) != 0)
		die("%s", strerror(errno));
	if (status == STATUS_OK && cfg->output != NULL && (out = fopen(cfg->output, "we")) == NULL)
		die("cannot write '%s': %s", cfg->output, strerror(errno));
	if (status == STATUS_OK &&
	    (fwrite(p, 1, n, out) != n || fflush(out) != 0 || (out != stdout && fclose(out) != 0)))
		die("write error: %s", strerror(errno));
	free(p);
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
	if (cfg.version)
		printf("cpc-events %s\n", CPC_VERSION);
	else
		print_usage(stdout);
	if (fflush(stdout) != 0)
		die("write error: %s", strerror(errno));
	return STATUS_OK;
}
