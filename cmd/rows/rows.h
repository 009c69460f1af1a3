/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * rows.h - keeps rows with their own texts and counts.
 */
#ifndef ROWS_H
#define ROWS_H

#include "row.h"

/* Initialize it with zeros. */
struct rows {
	size_t n, size;
	struct row *row;
};

void rows_add(struct rows *rows, const struct run *run, const struct row *row);
/* Forgets all rows. */
void rows_clear(struct rows *rows);
void rows_free(struct rows *rows);

#endif /* ROWS_H */
