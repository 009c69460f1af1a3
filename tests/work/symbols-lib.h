/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
#ifndef SYMBOLS_LIB_H
#define SYMBOLS_LIB_H

void lib_called(void);
void chosen(void);

#endif /* SYMBOLS_LIB_H */
