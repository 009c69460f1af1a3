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
#elif defined(__riscv)
__asm__(".globl _start\n"
	"_start:\n\t"
	"lui t0, 122\n\t"    /* 1: 122 * 4096 + 285 = 499997 */
	"addi t0, t0, 285\n" /* 1 */
	"1:\taddi t0, t0, -1\n\t"
	"bnez t0, 1b\n\t" /* 2 * 499997 */
	"nop\n\t"	  /* 1 */
	"li a0, 0\n\t"	  /* 1 */
	"li a7, 94\n\t"	  /* 1: exit_group */
	"ecall\n");	  /* 1 */
#elif defined(__s390x__)
__asm__(".globl _start\n"
	"_start:\n\t"
	"lgfi %r2, 499997\n" /* 1 */
	"1:\taghi %r2, -1\n\t"
	"jnz 1b\n\t"	    /* 2 * 499997 */
	"nopr\n\t"	    /* 1 */
	"nopr\n\t"	    /* 1 */
	"lghi %r2, 0\n\t"   /* 1 */
	"lghi %r1, 248\n\t" /* 1: exit_group */
	"svc 0\n");	    /* 1 */
#elif defined(__powerpc64__)
__asm__(".globl _start\n"
	"_start:\n\t"
	"lis 3, 7\n\t"	    /* 1: 7 * 65536 + 41245 = 499997 */
	"ori 3, 3, 41245\n" /* 1 */
	"1:\taddic. 3, 3, -1\n\t"
	"bne 1b\n\t"	/* 2 * 499997 */
	"nop\n\t"	/* 1 */
	"li 3, 0\n\t"	/* 1 */
	"li 0, 234\n\t" /* 1: exit_group */
	"sc\n");	/* 1 */
#else
#error "missing: a loop of two instructions for this machine"
#endif
