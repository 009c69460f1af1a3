/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * mistakes.c - detect common mistakes on the command line.
 */
#include "mistakes.h"

#include "../base/say.h"
#include "../base/util.h"
#include "../program/program.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is it an event, or a list of events, that could be counted? */
static bool is_events(cpc_t *cpc, const char *text)
{
	bool known = *text != '\0' && strchr("0123456789-", *text) == NULL;

	while (known) {
		size_t n = cpc_word_length(text);
		char *event = xasprintf("%.*s", (int)n, text);
		cpc_set_t *set = cpc_set_create(cpc);

		known = cpc_set_add_request(cpc, set, event, 0, CPC_COUNT_USER, 0, NULL) != -1;
		cpc_set_destroy(cpc, set);
		free(event);
		if (text[n] == '\0')
			break;
		text += n + 1;
	}
	return known;
}

void mistakes_of_second(char **command, bool given)
{
	static const char option[] = "--fail-above";

	for (char **arg = command + 1; !given && *arg != NULL; arg++) {
		if (strncmp(*arg, option, strlen(option)) == 0)
			say("'%s' is an option of '%s' here: those of cputrack come before the "
			    "commands",
			    *arg, command[0]);
	}
}

/* Reports what the user may have meant by a word that names no program.  False: no idea. */
static bool explain_command(cpc_t *cpc, const char *name)
{
	size_t n = strcspn(name, " \t|<>;&/"); /* of the first word, unless it is a path */

	if (is_events(cpc, name))
		say("'%s' is an event, not a program; events are given by -c: cputrack "
		    "-c %s COMMAND (-e follows an exec)",
		    name, name);
	else if (name[n] != '\0' && name[n] != '/')
		say("there is no program '%s'; a command line of several words takes a "
		    "shell: sh -c '%s'",
		    name, name);
	else if (name[strspn(name, "0123456789.")] == '\0')
		say("there is no program '%s'; -p tracks a process, -T sets the interval, -N the "
		    "number of samples, --delay the start",
		    name);
	else if (strcmp(name, "help") == 0 || strcmp(name, "list") == 0)
		say("there is no program '%s'; cputrack -h lists options and events", name);
	else if (strcmp(name, "record") == 0)
		say("there is no program '%s'; -O FILE makes a record: cputrack -O FILE COMMAND",
		    name);
	else if (strncmp(name, "trace=", 6) == 0)
		say("there is no program '%s'; events are given by -c (-e follows an exec)", name);
	else if (strchr(name, '=') != NULL && strchr(name, '/') == NULL)
		say("there is no program '%s'; env(1) sets variables: cputrack env %s COMMAND",
		    name, name);
	else
		return false;
	return true;
}

int mistakes_of_command(cpc_t *cpc, char **command, bool no_events)
{
	const char *name = command[0];

	if (*name != '\0' && !is_program(name) && explain_command(cpc, name))
		return STATUS_USAGE;
	for (char **arg = command + 1; no_events && arg[0] != NULL && arg[1] != NULL; arg++) {
		if (strcmp(arg[0], "-c") != 0 || !is_events(cpc, arg[1]))
			continue;
		say("'-c %s' is an option of '%s' here: those of cputrack come before the command",
		    arg[1], name);
		break;
	}
	return STATUS_OK;
}

int mistakes_of_both(char **command, const char *option, const char *usage)
{
	const char *secs = command[1];
	int64_t ns;

	if (parse_seconds(command[0], &ns) && !is_program(command[0])) {
		say("cannot start '%s': %s tracks running processes%s; -T %s sets the interval, -N "
		    "the number of samples",
		    command[0], option, strcmp(option, "-p") == 0 ? ", several as in -p 17,18" : "",
		    command[0]);
		return STATUS_USAGE;
	}
	if (strcmp(command[0], "sleep") != 0 || secs == NULL || command[2] != NULL ||
	    !parse_seconds(secs, &ns) || ns == 0)
		return usage_error("%s", usage);
	say("cannot start 'sleep %s': %s tracks running processes; --for=%s counts them for that "
	    "time",
	    secs, option, secs);
	return STATUS_USAGE;
}

/* Is it a program instead of a record?  Reads regular files only: reading a pipe would empty it. */
static bool is_program_file(const char *path)
{
	struct stat st;
	FILE *file;
	int first;

	if (stat(path, &st) == -1)
		return strchr(path, '/') == NULL && is_program(path);
	if (!S_ISREG(st.st_mode) || access(path, X_OK) == -1 || (file = fopen(path, "re")) == NULL)
		return false;
	first = fgetc(file);
	fclose(file);
	return first != '{';
}

int mistakes_of_record(const char *path)
{
	if (!is_program_file(path))
		return STATUS_OK;
	say("invalid --compare '%s': it is a program, not a record; two commands are compared by "
	    "--compare -- %s -- COMMAND",
	    path, path);
	return STATUS_USAGE;
}
