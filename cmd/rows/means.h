/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * means.h - writers of means over several runs.
 */
#ifndef MEANS_H
#define MEANS_H

#include "format.h"
#include "series.h"

struct means_row {
	const struct series *now, *old; /* `old` without values: it was not counted */
	struct comparison comparison;
};

struct means {
	const struct run *about; /* the first run: the program, its command line, host and start */
	bool compared;		 /* the rows are comparisons */
	double limit;		 /* as for series_compare() */
	size_t n;
	struct means_row *row;
};

void means_table(FILE *file, const struct style *style, const struct means *means);
void means_csv(FILE *file, const struct style *style, const struct means *means);
void means_json(FILE *file, const struct style *style, const struct means *means);

#endif /* MEANS_H */
