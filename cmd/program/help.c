/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * help.c - what -h and --version print.
 */
#include "help.h"

#include "../base/say.h"
#include "../base/util.h"
#include "program.h"
#include "trial.h"

#include <cpc_version.h>
#include <fnmatch.h>
#include <string.h>

#define WIDTH 75

/* Fills lines of WIDTH columns with words, indented. */
struct fill {
	size_t indent, column;
};

static void fill_end(struct fill *fill)
{
	putchar('\n');
	fill->column = 0;
}

static void fill_word(struct fill *fill, const char *word)
{
	size_t n = strlen(word), blanks;

	if (fill->column > fill->indent && fill->column + 1 + n > WIDTH)
		fill_end(fill);
	blanks = fill->column > fill->indent ? 1 : fill->indent - fill->column;
	printf("%*s", (int)blanks, "");
	put_escaped(stdout, word);
	fill->column += blanks + n;
}

void help_print_text(const char *label, const char *text)
{
	struct fill fill = {.indent = strlen(label), .column = strlen(label)};
	char word[128];
	size_t n;

	fputs(label, stdout);
	for (; *text != '\0'; text += n + strspn(text + n, " ")) {
		n = strcspn(text, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		fill_word(&fill, word);
	}
	fill_end(&fill);
}

static const char *const titles[] = {
	[CPC_GROUP_USER] = "your event definitions",
	[CPC_GROUP_GENERIC] = "generic events",
	[CPC_GROUP_SOLARIS] = "Solaris names",
	[CPC_GROUP_PLATFORM] = "platform events, by libpfm4",
	[CPC_GROUP_PMU] = "events of PMUs, by the kernel",
	[CPC_GROUP_SOFTWARE] = "software events",
	[CPC_GROUP_VENDOR] = "event of an event file",
	[CPC_GROUP_TRACEPOINT] = "tracepoint of the kernel",
	[CPC_GROUP_FUNCTION] = "function or probe of a program",
	[CPC_GROUP_RATIO] = "ratios of events",
	[CPC_GROUP_CPUS] = "of whole CPUs, which only cpustat counts",
};

/* The state of the listing of events.  A group without events gets no title. */
struct listing {
	struct fill fill;
	int group;	/* of the last event; -1: none yet */
	bool of_cpus;	/* the program counts CPUs */
	char slots[24]; /* the first word of a group, as on Solaris */
	bool hardware;	/* there are hardware events of this CPU */
};

static void list_event(void *arg, enum cpc_event_group group, const char *event, const char *desc)
{
	struct listing *l = arg;
	char unit[80];

	l->hardware |= group == CPC_GROUP_PLATFORM;
	/* Skip long groups: -h PATTERN finds their events. */
	if (group == CPC_GROUP_TRACEPOINT || group == CPC_GROUP_VENDOR ||
	    group == CPC_GROUP_FUNCTION ||
	    (group == CPC_GROUP_PLATFORM && strchr(event, ':') != NULL))
		return;
	if (l->group != (int)group) {
		if (l->group != -1)
			fill_end(&l->fill);
		printf("\n%s%s:\n", group == CPC_GROUP_CPUS && l->of_cpus ? "events " : "",
		       titles[group]);
		l->group = (int)group;
		/* Scripts would take ratios, and units, for events. */
		if (group != CPC_GROUP_RATIO && group != CPC_GROUP_CPUS)
			fill_word(&l->fill, l->slots);
	}
	fill_word(&l->fill, event);
	if (group == CPC_GROUP_CPUS && *desc != '\0') {
		snprintf(unit, sizeof(unit), "(%s)", desc);
		fill_word(&l->fill, unit);
	}
}

static void list_attr(void *arg, const char *attr)
{
	if (strcmp(attr, "picnum") != 0) /* specs write picN= instead */
		fill_word(arg, attr);
}

static const char *user_refusal(cpc_t *cpc)
{
	static const char *const user = "page-faults";

	return trial_refusal(cpc, &user, 1, false);
}

/* Why this user cannot count in user mode, or in the kernel; NULL: both can be counted. */
static const char *any_refusal(cpc_t *cpc)
{
	static const char *const kernel = "context-switches";
	const char *reason = user_refusal(cpc);

	return reason != NULL ? reason : trial_refusal(cpc, &kernel, 1, false);
}

/* Prints the slots of the machine, which only a user who may count can find. */
static void print_slots(cpc_t *cpc)
{
	const uint_t n = cpc_npic(cpc);
	char slots[64];

	if (user_refusal(cpc) != NULL)
		return;
	if (n == 1)
		snprintf(slots, sizeof(slots), "pic0");
	else
		snprintf(slots, sizeof(slots), "pic0 to pic%u", n - 1);
	help_print_text("  slots: ", slots);
}

/* Prints what can be counted here, and the syntax.  -1: cpcerr_text() is the reason. */
static int print_events(cpc_t *cpc, bool of_cpus)
{
	struct listing l = {.fill = {.indent = 8}, .group = -1, .of_cpus = of_cpus};
	const unsigned npic = cpc_npic(cpc);
	const char *reason;

	printf("\nCPU performance counter interface:\n");
	help_print_text("  name:  ", cpc_cciname(cpc));
	print_slots(cpc);
	if (npic == 1)
		snprintf(l.slots, sizeof(l.slots), "event0:");
	else
		snprintf(l.slots, sizeof(l.slots), "event[0-%u]:", npic - 1);
	printf("\nevent specification syntax:\n"
	       "  [picN=]event[,attr[N][=val]][,[picN=]event[,attr[N][=val]],...]\n");
	if (cpc_walk_events_desc(cpc, &l, list_event) == -1)
		return -1;
	fill_end(&l.fill);
	reason = any_refusal(cpc);
	if (reason != NULL && l.group == -1) {
		help_print_text("no events: ", reason);
	} else if (reason != NULL) {
		printf("\nnot listed:\n");
		help_print_text("        ", reason);
	}
	printf("\nfurther events:\n");
	help_print_text(
		"        ",
		"tracepoints (system:event; -h PATTERN finds them), breakpoints "
		"(breakpoint/addr=ADDRESS or FUNCTION/) and functions (uprobe/func=FUNCTION/, sdt/PROVIDER:NAME/)");
	if (l.hardware)
		help_print_text("        ", "as a number, a code of the CPU's counters");
	printf("\nattributes:\n");
	fill_word(&l.fill, "nouser");
	fill_word(&l.fill, "sys");
	cpc_walk_attrs(cpc, &l.fill, list_attr);
	fill_end(&l.fill);
	putchar('\n');
	help_print_text("", cpc_cpuref(cpc));
	return 0;
}

struct search {
	const char *pattern;
	size_t found;
};

/* A pattern with * ? [ must match the whole text, other patterns a part of it. */
static bool matches(const char *text, const char *pattern)
{
	return strpbrk(pattern, "*?[") != NULL ? fnmatch(pattern, text, FNM_CASEFOLD) == 0
					       : strcasestr(text, pattern) != NULL;
}

static void match_event(void *arg, enum cpc_event_group group, const char *event, const char *desc)
{
	struct search *s = arg;

	if (!matches(event, s->pattern) && !matches(desc, s->pattern))
		return;
	put_escaped(stdout, event);
	printf("%*s", strlen(event) < 33 ? 33 - (int)strlen(event) : 1, "");
	put_escaped(stdout, *desc != '\0' ? desc : titles[group]);
	putchar('\n');
	s->found++;
}

int help_print(cpc_t *cpc, const struct program *prog, bool version, const char *pattern)
{
	struct search search = {.pattern = pattern};
	int rc = 0;

	if (version) {
		printf("%s %s", prog->name, CPC_VERSION);
		if (prog->has != NULL)
			printf(" (%s)", prog->has);
		putchar('\n');
	} else if (pattern != NULL) {
		rc = cpc_walk_events_desc(cpc, &search, match_event);
	} else {
		fputs(prog->usage, stdout);
		opts_print(prog->opts);
		rc = print_events(cpc, prog->of_cpus);
	}
	if (rc == -1) {
		say("%s", cpcerr_text());
		return STATUS_FAILED;
	}
	if (pattern != NULL && !version && search.found == 0) {
		const char *reason = any_refusal(cpc);

		if (reason != NULL)
			say("unknown event: none that this user can count matches '%s'; not all "
			    "are listed: %s",
			    pattern, reason);
		else
			say("unknown event: none that can be counted here matches '%s'; %s --check names "
			    "the reasons",
			    pattern, prog->name);
		return STATUS_FAILED;
	}
	return STATUS_OK;
}
