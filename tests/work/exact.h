/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 The cpc authors */
/*
 * exact.h - the code of exact that is specific to a machine: entry, system calls, clone.
 */
#ifndef WORK_EXACT_H
#define WORK_EXACT_H

#include <asm/unistd.h>
#include <linux/sched.h>

/*
 * Makes an LWP that begins with `fn`(`arg`), on a stack of its own or, 0, a copy of ours.
 * The two are passed through by the kernel, which has no use for them with these flags.
 * The first thing that both do is to write to their stack.
 */
long spawn(long flags, char *stack, void (*fn)(long), long arg);

#if defined(__x86_64__)
__asm__(".globl _start, spawn\n"
	"_start:\tmov %rsp, %rdi\n\t"
	"mov $slices + 4096, %esp\n\t"
	"call run\n"
	"spawn:\tmov %rcx, %r10\n\t"
	"mov $56, %eax\n\t"
	"syscall\n\t"
	"movl $0, -64(%rsp)\n\t"
	"test %eax, %eax\n\t"
	"jnz 1f\n\t"
	"mov %r10, %rdi\n\t"
	"call *%rdx\n"
	"1:\tret\n");

__attribute__((noinline)) static long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "+a"(nr)
			 : "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return nr;
}
#elif defined(__i386__)
__asm__(".globl _start, spawn\n"
	"_start:\tmov %esp, %eax\n\t"
	"mov $slices + 4096, %esp\n\t"
	"push %eax\n\t"
	"call run\n"
	"spawn:\tpush %ebx\n\t"
	"push %esi\n\t"
	"mov 12(%esp), %ebx\n\t"
	"mov 16(%esp), %ecx\n\t"
	"mov 20(%esp), %edx\n\t"
	"mov 24(%esp), %esi\n\t"
	"mov $120, %eax\n\t"
	"int $0x80\n\t"
	"movl $0, -64(%esp)\n\t"
	"test %eax, %eax\n\t"
	"jnz 1f\n\t"
	"push %esi\n\t"
	"call *%edx\n"
	"1:\tpop %esi\n\t"
	"pop %ebx\n\t"
	"ret\n");

__attribute__((noinline)) static long call(long nr, long a, long b, long c, long d)
{
	__asm__ volatile("int $0x80" : "+a"(nr) : "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return nr;
}
#elif defined(__aarch64__)
__asm__(".globl _start, spawn\n"
	"_start:\tmov x0, sp\n\t"
	"ldr x1, =slices + 4096\n\t"
	"mov sp, x1\n\t"
	"bl run\n"
	"spawn:\tmov x8, #220\n\t"
	"svc #0\n\t"
	"str xzr, [sp, #-64]\n\t"
	"cbnz x0, 1f\n\t"
	"mov x0, x3\n\t"
	"br x2\n"
	"1:\tret\n");

__attribute__((noinline)) static long call(long nr, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}
#else
#error "system calls, please"
#endif

#endif /* WORK_EXACT_H */
