/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * Event files of vendors, as cpc-events reads them: the first line is the CPU that they are
 * for, and the rest is the file.  What is made of one is read as definitions, each of them.
 */
#include "fuzz.h"
#include "said.h"

#include "../../cmd/events/import.h"
#include "../../cmd/events/read.h"
#include "../../libcpc/event/event.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct file {
	int fd;
	char path[32];
};

static struct file file_new(const char *name)
{
	struct file file = {.fd = memfd_create(name, 0)};

	/* Files that other users may write are not read. */
	if (file.fd == -1 || fchmod(file.fd, 0600) == -1)
		err(1, "memfd_create");
	snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
	return file;
}

static void file_write(const struct file *file, const char *text, size_t size)
{
	if (ftruncate(file->fd, 0) == -1 || pwrite(file->fd, text, size, 0) != (ssize_t)size)
		err(1, "write");
}

/* All are there; the only message is that a name is an attribute's, too. */
static void check_defs(size_t n)
{
	struct cpci_diag diag = {0};
	struct cpci_defs *defs = cpci_defs_new(&diag);
	size_t found = 0;

	must(defs != NULL);
	for (size_t i = 0; i < defs->n; i++) {
		if (defs->def[i].source != CPCI_DEF_USER)
			continue;
		must(defs->def[i].error == NULL);
		found++;
	}
	for (size_t i = 0; i < defs->nwarnings; i++)
		must(strstr(defs->warning[i], "not that of an attribute") != NULL);
	must(found + defs->nwarnings == n);
	cpci_defs_free(defs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct file events, defs;
	char *text = fuzz_text(data, size), *rest = text, *cpu = strsep(&rest, "\n"), *made;
	struct json_object *json = NULL;
	struct import import = {.cpu = *cpu != '\0' ? cpu : NULL};
	size_t n;
	int rc;

	if (events.path[0] == '\0') {
		events = file_new("events.json");
		defs = file_new("events.def");
		setenv("CPC_EVENTS", defs.path, 1);
		setenv("XDG_CONFIG_HOME", "/nowhere", 1);
	}
	/* For all machines, or for Arm's. */
	if (import.cpu != NULL)
		import.cpu = strncmp(cpu, "0x", 2) == 0 ? "0x*" : "*";
	import.file = events.path;
	import.written = json_object_new_object();
	import.out = open_memstream(&made, &n);
	if (import.out == NULL)
		err(1, NULL);
	file_write(&events, rest != NULL ? rest : "", rest != NULL ? strlen(rest) : 0);
	said = 0;
	rc = read_json(import.file, &json) ? import_file(&import, json) : -1;
	must(rc == 0 ? said == 0 : said > 0);
	if (fclose(import.out) != 0)
		err(1, NULL);
	must(strlen(made) == n);
	if (rc == 0) {
		file_write(&defs, made, n);
		check_defs(import.events + import.metrics);
	}
	json_object_put(json);
	json_object_put(import.written);
	free(made);
	free(text);
	return 0;
}
