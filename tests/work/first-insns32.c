/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * first-insns32 - a 32-bit program without libc: it calls functions that begin with instructions
 * which mean something else, or nothing, in 64-bit code.
 *
 * Known: 5 calls of each; exit status 0, or 1 if one of them computed something else.
 */
#define FUNCTION(name, code)                                                                       \
	int name(int n);                                                                           \
	__asm__(".globl " #name "\n.type " #name ", %function\n" #name ":\n" code "\n.size " #name \
		", . - " #name "\n")

/* Each returns n + 3.  In 64-bit code the first byte of f_inc and f_dec is a prefix. */
FUNCTION(f_inc, "inc %eax\nmovl 4(%esp), %eax\naddl $3, %eax\nret");
FUNCTION(f_dec, "dec %eax\nmovl 4(%esp), %eax\naddl $3, %eax\nret");
FUNCTION(f_pusha, "pusha\npopa\nmovl 4(%esp), %eax\naddl $3, %eax\nret");
FUNCTION(f_locked, "lock incl (%esp)\nlock decl (%esp)\nmovl 4(%esp), %eax\naddl $3, %eax\nret");

__attribute__((used)) static void start(void)
{
	int bad = 0;

	for (int n = 0; n < 5; n++)
		bad |= f_inc(n) != n + 3 || f_dec(n) != n + 3 || f_pusha(n) != n + 3 ||
		       f_locked(n) != n + 3;
	__asm__ volatile("int $0x80" : : "a"(1), "b"(bad));
	__builtin_unreachable();
}

__asm__(".globl _start\n_start:\n\tcall start\n");
