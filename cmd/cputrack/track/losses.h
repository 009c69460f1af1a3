/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * losses.h - what the kernel engine has not counted, and why.
 */
#ifndef LOSSES_H
#define LOSSES_H

#include "records.h"

/* Are counts or records missing? */
bool losses_lack(const struct records *records);
/* At the end, reports which. */
void losses_print(struct records *records);

#endif /* LOSSES_H */
