/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * machine.h - a loop of known instructions, and the registers of a signal's context, for each
 * machine.  It needs no libc.
 */
#ifndef WORK_MACHINE_H
#define WORK_MACHINE_H

/* Executes 2 * n instructions, and a few to enter the loop.  `n` is at least 1. */
static inline void loop_rounds(unsigned long n)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
#elif defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#elif defined(__riscv)
	__asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(n));
#elif defined(__s390x__)
	__asm__ volatile("1: aghi %0, -1\n\tjnz 1b" : "+d"(n) : : "cc");
#elif defined(__powerpc64__)
	__asm__ volatile("1: addic. %0, %0, -1\n\tbne 1b" : "+r"(n) : : "cr0", "xer");
#else
#error "missing: a loop of two instructions for this machine"
#endif
}

/* REGISTER(PC) and REGISTER(SP) are members of uc_mcontext. */
#define REGISTER(name) REGISTER_##name
#if defined(__x86_64__)
#define REGISTER_PC gregs[REG_RIP]
#define REGISTER_SP gregs[REG_RSP]
#elif defined(__aarch64__)
#define REGISTER_PC pc
#define REGISTER_SP sp
#elif defined(__riscv)
#define REGISTER_PC __gregs[REG_PC]
#define REGISTER_SP __gregs[REG_SP]
#elif defined(__s390x__)
#define REGISTER_PC psw.addr
#define REGISTER_SP gregs[15]
#elif defined(__powerpc64__)
#define REGISTER_PC gp_regs[32]
#define REGISTER_SP gp_regs[1]
#endif

#endif /* WORK_MACHINE_H */
