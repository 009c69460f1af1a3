/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * rows.c - keeps rows with their own texts and counts.
 */
#include "rows.h"

#include "../base/util.h"

#include <stdlib.h>
#include <string.h>

void rows_add(struct rows *rows, const struct run *run, const struct row *row)
{
	size_t size = run->set[row->set].nevents * sizeof(*row->val);
	uint64_t *val = xcalloc(1, size + 1);
	struct row *copy;

	if (rows->n == rows->size) {
		rows->size = rows->size * 2 + 64;
		rows->row = xrealloc(rows->row, rows->size * sizeof(*rows->row));
	}
	memcpy(val, row->val, size);
	copy = &rows->row[rows->n++];
	*copy = *row;
	copy->val = val;
	row_copy_texts(copy);
}

void rows_clear(struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		row_free_texts(&rows->row[i]);
		free((uint64_t *)(uintptr_t)rows->row[i].val);
	}
	rows->n = 0;
}

void rows_free(struct rows *rows)
{
	rows_clear(rows);
	free(rows->row);
	*rows = (struct rows){0};
}
