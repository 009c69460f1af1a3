/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
#ifndef ENTRIES_H
#define ENTRIES_H

/* The assembler of GCC takes other characters only in quotes, and Clang would keep the quotes. */
#ifdef __clang__
#define SYMBOL(name) name
#else
#define SYMBOL(name) "\"" name "\""
#endif

/* A function whose symbol is `name`. */
#define FUNCTION(link, function, name)                           \
	link void function(void) __asm__(SYMBOL(name));          \
	__attribute__((noinline, used)) link void function(void) \
	{                                                        \
		__asm__ volatile("");                            \
	}

#endif /* ENTRIES_H */
