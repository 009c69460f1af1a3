/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/* debugfile.h - finds the separate debug file of a stripped file. */
#ifndef CPCI_DEBUGFILE_H
#define CPCI_DEBUGFILE_H

#include "elffile.h"

/* Opens the debug file of an open file that lacks the table of all symbols.  -1: none. */
int cpci_debug_open(int fd);
/* Is it a file without the table of all symbols, and without a debug file? */
bool cpci_debug_is_stripped(int fd);

#endif /* CPCI_DEBUGFILE_H */
