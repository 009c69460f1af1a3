/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * limit.c - by how much events may grow (--fail-above), and whether they did.
 */
#include "limit.h"

#include "../base/say.h"
#include "../base/util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool limit_parse(struct limit *limit, const char *text)
{
	char *end = NULL;
	double percent = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;

	if (end == NULL || (*end != '\0' && strcmp(end, "%") != 0) || !(percent <= 1e6)) {
		say("invalid --fail-above '%s': expected per cent from 0 to 1000000, such as 3%%",
		    text);
		return false;
	}
	limit->given = true;
	limit->part = percent / 100;
	return true;
}

void limit_note(struct limit *limit, char *note)
{
	limit->note = xrealloc(limit->note, (limit->nnotes + 1) * sizeof(*limit->note));
	limit->note[limit->nnotes++] = note;
}

int limit_status(struct limit *limit, int status)
{
	for (size_t i = 0; i < limit->nnotes; i++) {
		say("%s", limit->note[i]);
		free(limit->note[i]);
	}
	free(limit->note);
	limit->note = NULL;
	limit->nnotes = 0;
	if (status != STATUS_OK)
		return status;
	return limit->above ? STATUS_ABOVE : limit->unknown ? STATUS_FAILED : STATUS_OK;
}
