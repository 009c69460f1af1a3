/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * caps.c - the capability listing of -h.
 */
#include "caps.h"

#include <string.h>

#define WIDTH 75

/* Writes words into lines, a column in from the margin. */
struct fill {
	FILE *f;
	size_t indent, column;
};

static void fill_word(struct fill *fill, const char *word)
{
	size_t n = strlen(word);

	if (fill->column > fill->indent && fill->column + 1 + n > WIDTH) {
		fputc('\n', fill->f);
		fill->column = 0;
	}
	if (fill->column < fill->indent) {
		fprintf(fill->f, "%*s", (int)(fill->indent - fill->column), "");
		fill->column = fill->indent;
	} else if (fill->column > fill->indent) {
		fputc(' ', fill->f);
		fill->column++;
	}
	fputs(word, fill->f);
	fill->column += n;
}

static void fill_end(struct fill *fill)
{
	fputc('\n', fill->f);
	fill->column = 0;
}

static void list_event(void *arg, const char *event)
{
	fill_word(arg, event);
}

static void print_text(FILE *f, const char *label, const char *text)
{
	struct fill fill = {.f = f, .indent = strlen(label), .column = strlen(label)};
	char word[128];
	size_t n;

	fputs(label, f);
	for (; *text != '\0'; text += n + strspn(text + n, " ")) {
		n = strcspn(text, " ");
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		fill_word(&fill, word);
	}
	fill_end(&fill);
}

void caps_print(FILE *f, cpc_t *cpc)
{
	struct fill fill = {.f = f, .indent = 8};
	char slots[64];

	fprintf(f, "\nCPU performance counter interface:\n");
	print_text(f, "  name:  ", cpc_cciname(cpc));
	snprintf(slots, sizeof(slots), "pic0 to pic%u", cpc_npic(cpc) - 1);
	print_text(f, "  slots: ", slots);
	fprintf(f, "\nevent specification syntax:\n"
		   "  [picN=]event[,attr[N][=val]][,[picN=]event[,attr[N][=val]],...]\n");
	fprintf(f, "\nevents of the kernel that can be counted here:\n");
	cpc_walk_events_all(cpc, &fill, list_event);
	fill_end(&fill);
	fprintf(f, "\nfurther events:\n");
	print_text(f, "        ",
		   "tracepoints (system:event, as under /sys/kernel/tracing/events), the events of "
		   "libpfm4 and, as a number, codes of the CPU's counters");
	fprintf(f, "\nattributes:\n        nouser sys\n\n");
	print_text(f, "", cpc_cpuref(cpc));
}
