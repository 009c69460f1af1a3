/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * bare - a program without libc: a loop and _exit(2), no more.
 *
 * Known: it executes exactly 1,000,000 instructions in user mode, from its first to its
 * last.
 */
#if defined(__aarch64__)
__asm__(".globl _start\n"
	"_start:\n\t"
	"ldr x1, =499997\n" /* 1 */
	"1:\tsubs x1, x1, #1\n\t"
	"b.ne 1b\n\t"	  /* 2 * 499997 */
	"nop\n\t"	  /* 1 */
	"nop\n\t"	  /* 1 */
	"mov x0, #0\n\t"  /* 1 */
	"mov x8, #94\n\t" /* 1: exit_group */
	"svc #0\n");	  /* 1 */
#elif defined(__x86_64__)
__asm__(".globl _start\n"
	"_start:\n\t"
	"mov $499997, %ecx\n"
	"1:\tdec %ecx\n\t"
	"jnz 1b\n\t"
	"nop\n\t"
	"nop\n\t"
	"xor %edi, %edi\n\t"
	"mov $231, %eax\n\t" /* exit_group */
	"syscall\n");
#else
#error "a loop of two instructions, please"
#endif
